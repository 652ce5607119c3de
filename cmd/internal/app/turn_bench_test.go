package app

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/secret"
)

// demoGateway is the gateway of `etui demo`, with its database.
func demoGateway(tb testing.TB) *engine.Engine {
	dir := tb.TempDir()
	c, err := config.Parse("etui.yaml", []byte("demo: true\nmodels: [{name: offline, provider: offline}]\n"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	w := &workdir.Workspace{Dir: dir, File: filepath.Join(dir, "etui.yaml"), State: filepath.Join(dir, "state"), Config: c}
	a, err := New(context.Background(), w, Config{Stored: true, Secrets: &secret.Set{}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.Close(); err != nil {
			tb.Error(err)
		}
	})
	return a.Engine
}

// BenchmarkOfflineTurn answers a question of the demo, each time in a new
// session: selection, a call over HTTP, and everything stored.
func BenchmarkOfflineTurn(b *testing.B) {
	g := demoGateway(b)
	for b.Loop() {
		for _, err := range g.Send(b.Context(), engine.Message{Text: "show me the error logs of the checkout pod in namespace prod", Session: rand.Text()}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
