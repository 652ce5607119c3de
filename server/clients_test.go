package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/server"
)

// A key reaches the doors of both protocols under both headers, refusals have the door's own form, and
// a key made without client tools brings none through any of them.
func TestKeysOfOtherClients(t *testing.T) {
	keys := &identity.Keys{}
	secret, err := keys.Add(identity.Key{Name: "plain", ForOthers: true, NoClientTools: true}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, server.Config{Key: "right", Keys: keys}, func(c *engine.Config) {
		c.Agents = []engine.Agent{{Name: "main", Model: offline.New(offline.Config{})}}
	})
	user := `"model":"main","max_tokens":5,"messages":[{"role":"user","content":"hello"}]`
	for _, c := range []struct {
		path, body, header, key string
		status                  int
		says                    string
	}{
		{"/v1/messages", "{" + user + "}", "X-Api-Key", secret, 200, `"type":"message"`},
		{"/v1/messages", "{" + user + "}", "Authorization", "Bearer " + secret, 200, `"type":"message"`},
		{"/v1/messages", "{" + user + "}", "X-Api-Key", "wrong", 401, `{"type":"error","error":{"type":"authentication_error"`},
		{"/v1/responses", `{"model":"main","input":"x"}`, "Authorization", "Bearer wrong", 401, `{"error":{"message":"a valid`},
		{"/v1/completions", `{"model":"main","prompt":"x"}`, "Authorization", "Bearer wrong", 401, `{"error":{"message":"a valid`},
		{"/v1/completions", `{"model":"main","prompt":"x"}`, "Authorization", "Bearer " + secret, 200, `"object":"text_completion"`},
		{"/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "Bearer wrong", 401, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000`},
		{"/mcp/nobody", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "Bearer wrong", 401, `"a valid API key is needed`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c","content":"y"}]}`, "Authorization", "Bearer " + secret, 400, `"param":"messages[1].tool_call_id"`},
		{"/v1/responses", `{"input":[{"role":"user","content":"x"},{"type":"function_call_output","call_id":"c","output":"y"}]}`, "Authorization", "Bearer " + secret, 400, `"param":"input[1]"`},
		{"/v1/messages", `{"max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"y"}]}]}`, "X-Api-Key", secret, 400, "messages.0"},
		{"/api/chat", `{"session":"s","results":[{"call_id":"c","text":"y"}]}`, "Authorization", "Bearer " + secret, 400, "waits for a result"},
		{"/v1/messages", `{"tools":[{"name":"a"}],` + user + "}", "X-Api-Key", secret, 403, `{"type":"error","error":{"type":"permission_error"`},
		{"/v1/chat/completions", "{" + user + "}", "X-Api-Key", "right", 200, `"object":"chat.completion"`},
		{"/v1/chat/completions", `{"tools":[{"type":"function","function":{"name":"a"}}],` + user + "}", "X-Api-Key", secret, 403, `"code":"forbidden"`},
		{"/v1/responses", `{"model":"main","input":"x","tools":[{"type":"function","name":"a"}]}`, "X-Api-Key", secret, 403, `"code":"forbidden"`},
		{"/api/chat", `{"text":"x","client_tools":{"tools":[{"name":"a"}]}}`, "X-Api-Key", secret, 403, `"code":"forbidden"`},
	} {
		status, body := ask(t.Context(), s, "POST", "http://localhost"+c.path, c.body, c.header, c.key)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s with %s %.20s: %d %s, want %d and %s", c.path, c.header, c.key, status, body, c.status, c.says)
		}
	}
	status, body := ask(t.Context(), s, "GET", "http://localhost/v1/models", "", "X-Api-Key", secret, "Anthropic-Version", "2023-06-01")
	if status != 200 || !strings.Contains(body, `"has_more":false`) {
		t.Errorf("%d %s", status, body)
	}
}
