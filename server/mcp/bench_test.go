package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/tool"
)

// BenchmarkFind: find_tools among 1,000 tools, by the engine and over the protocol.
func BenchmarkFind(b *testing.B) {
	r := catalog.NewRegistry(nil)
	for i := range 1000 {
		if err := r.Register(tool.Func(tool.Definition{
			Name: fmt.Sprintf("tool_%d", i), Risk: tool.Read,
			Description: fmt.Sprintf("Read the %s of the %s in region %d", []string{"price", "weather", "owner", "size"}[i%4], []string{"house", "ship", "mill"}[i%3], i),
		}, func(context.Context, said) (string, error) { return "", nil })); err != nil {
			b.Fatal(err)
		}
	}
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New()}}})
	if err != nil {
		b.Fatal(err)
	}
	const args = `{"queries":["weather of the ship in region 501"]}`
	b.Run("engine", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Call(b.Context(), engine.Message{Channel: "api", Trusted: true}, "find_tools", json.RawMessage(args)); err != nil {
				b.Fatal(err)
			}
		}
	})
	web := httptest.NewServer(server.New(e, server.Config{}))
	defer web.Close()
	b.Run("mcp", func(b *testing.B) {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_tools","arguments":` + args + `}}`
		for b.Loop() {
			res, err := http.Post(web.URL+"/mcp", "application/json", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			_, err = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK {
				b.Fatal(res.Status, err)
			}
		}
	})
}
