package main

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/secret"
)

// demoGateway is the gateway of `etui demo`, with its database.
func demoGateway(tb testing.TB) *engine.Engine {
	dir := tb.TempDir()
	c, err := config.Parse("etui.yaml", []byte("demo: true\nmodels: [{name: offline, provider: offline}]\n"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	a := &app{streams: streams{out: io.Discard, err: io.Discard}, secrets: &secret.Known{}}
	b, err := a.build(context.Background(), &workspace{dir: dir, file: filepath.Join(dir, "etui.yaml"), state: filepath.Join(dir, "state"), config: c}, true, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
	})
	return b.gateway
}

// BenchmarkOfflineTurn answers a question of the demo, each time in a new
// session: selection, a call over HTTP, and everything stored.
func BenchmarkOfflineTurn(b *testing.B) {
	g := demoGateway(b)
	for b.Loop() {
		for _, err := range g.Send(b.Context(), engine.Message{Text: "show me the error logs of the checkout pod in namespace prod", Session: newSession()}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
