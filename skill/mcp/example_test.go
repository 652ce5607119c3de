package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

// Run keeps the connection to the server and reports when its tools change.
func Example() {
	type in struct {
		Name string `json:"name"`
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "greet", Description: "Greets a person."}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})
	service := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	defer func() { service.CloseClientConnections(); service.Close() }()

	// The default client reaches public addresses only, and the server is on this machine.
	loaded, err := mcp.New(mcp.Config{HTTP: service.Client()}).Load(skill.Config{Name: "greeter", Description: "Greets.", Endpoint: service.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := loaded.(*mcp.Server)
	ctx, cancel := context.WithCancel(context.Background())
	changed, ended := make(chan struct{}, 8), make(chan struct{})
	go func() {
		defer close(ended)
		server.Run(ctx, func() { changed <- struct{}{} })
	}()
	defer func() { cancel(); <-ended }()
	<-changed
	for _, t := range server.Tools() {
		fmt.Println(t.Definition().Name)
		result, err := t.Call(ctx, json.RawMessage(`{"name":"Ada"}`))
		fmt.Println(result.Text, err)
	}
	// Output:
	// mcp__greeter__greet
	// Hello, Ada <nil>
}
