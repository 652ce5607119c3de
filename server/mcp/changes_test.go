package mcp_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/tool"
)

// TestListChanged: a client of the list hears when it changes.
func TestListChanged(t *testing.T) {
	r := catalog.NewRegistry(nil)
	named := func(name string) tool.Tool {
		return tool.Func(tool.Definition{Name: name, Risk: tool.Read}, func(context.Context, struct{}) (string, error) { return "", nil })
	}
	if err := r.Register(named("first")); err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New()}}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.New(e, server.Config{}))
	defer web.Close()
	heard := make(chan struct{}, 10)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard <- struct{}{} },
	}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp?tools=list"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := r.RegisterWithFilter(named("hidden"), func(chat.Facts) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if err := r.Register(named("second")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
	case <-t.Context().Done():
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 {
		t.Errorf("the list is %+v, %v", list, err)
	}
}
