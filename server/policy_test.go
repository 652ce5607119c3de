package server_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// leaking is a server whose tools, memory and instructions have a key, with a policy that asks
// about wipe.
func leaking(t *testing.T, key string) (*server.Server, *fake.Model) {
	t.Helper()
	known := &secret.Set{}
	if err := known.Set("test", secret.Value(key)); err != nil {
		t.Fatal(err)
	}
	r := catalog.NewRegistry(nil)
	type in struct {
		Text string `json:"text"`
	}
	leak := func(name string, risk tool.Risk) tool.Tool {
		return tool.Func(tool.Definition{Name: name, Description: name, Risk: risk}, func(_ context.Context, in in) (string, error) {
			return "got " + in.Text + " with " + key, nil
		})
	}
	if err := r.Register(leak("look", tool.Read), leak("wipe", tool.Destructive)); err != nil {
		t.Fatal(err)
	}
	list, err := rules.Compile(rules.Policy, []rules.Rule{{Name: "careful", Ask: []string{"wipe"}, When: `user.id != "ann"`}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "memory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "memory", "MEMORY.md"), []byte("The key is "+key+"."), 0o600); err != nil {
		t.Fatal(err)
	}
	m := fake.New(fake.Step{Text: "ok"}, fake.Step{Text: "ok"})
	e, err := engine.New(engine.Config{
		Registry: r, Agents: []engine.Agent{{Name: "main", Model: m, Instructions: "You know " + key, Memory: memory.New(memory.Config{Workspace: folder})}},
		Turn: turn.Config{Decide: list.Decide, Secrets: known},
	})
	if err != nil {
		t.Fatal(err)
	}
	return server.New(e, server.Config{Status: api.Config{Policy: list.Status}}), m
}

// TestPolicyOverHTTP: the API judges as a turn does, and no secret passes: neither
// one that a tool returns, nor one that a user writes.
func TestPolicyOverHTTP(t *testing.T) {
	const key = "tr0ub4dor&3"
	s, m := leaking(t, key)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/api/tools/look", `{"arguments":{"text":"x"}}`, 200, `"text":"got x with (hidden)"`},
		{"POST", "/api/tools/wipe", `{"user":"bob","arguments":{"text":"x"}}`, 403, "needs an approval"},
		{"POST", "/api/tools/wipe", `{"user":"bob","arguments":{}}`, 400, "do not fit"},
		{"POST", "/api/tools/look", `{"user":"bob","arguments":{"text":"a","text":"b"}}`, 400, `\"arguments.text\" appears twice`},
		{"POST", "/api/tools/find_tools/judge", `{}`, 200, `"effect":"allow"`},
		{"POST", "/api/tools/use_skill/judge", `{}`, 200, `"depends":true`},
		{"POST", "/api/tools/wipe", `{"user":"ann","arguments":{"text":"x"}}`, 200, "got x with"},
		{"POST", "/api/tools/none", `{}`, 404, "there is no tool"},
		{"POST", "/api/tools/wipe/judge", `{"user":"bob"}`, 200, `"effect":"ask","stage":"policy","rule":"rule careful","reason":"rule careful asks for an approval"`},
		{"POST", "/api/tools/wipe/judge", `{"user":"ann"}`, 200, `{"tool":"wipe","effect":"allow"`},
		{"POST", "/api/select", `{"text":"wipe it","user":"bob"}`, 200, `"refused":[{"tool":"wipe","effect":"ask"`},
		{"POST", "/api/chat", `{"text":"my key is ` + key + `","user":"bob","session":"s"}`, 200, `"usable"`},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"system","content":"` + key + `"},{"role":"user","content":"` + key + `"},{"role":"assistant","content":"` + key + `"},{"role":"user","content":"Which?"}]}`, 200, "ok"},
		{"POST", "/api/why", `{"user":"bob","session":"s"}`, 200, `"text":"my key is (hidden)"`},
		{"POST", "/api/why", `{"user":"bob","session":"s","own":true}`, 200, `"refused":[{"tool":"wipe","effect":"ask","stage":"policy"}]`},
		{"GET", "/api/status", "", 200, `"policy":[{"rule":"rule careful","ask":["wipe"]`},
		{"POST", "/api/approvals/k3f9ab", `{"user":"ann"}`, 400, "say what you decide"},
		{"POST", "/api/approvals/k3f9ab", `{"user":"ann","approved":true,"answer":"red"}`, 400, "say what you decide"},
		{"POST", "/api/approvals/k3f9ab", `{"user":"ann","approved":false}`, 404, "no such approval"},
		{"POST", "/admin/approvals/k3f9ab", `{"reason":"no"}`, 400, "say what you decide"},
		{"POST", "/admin/approvals/k3f9ab", `{"withdrawn":true}`, 404, "no such approval"},
	} {
		status, text := ask(t.Context(), s, c.method, "http://localhost"+c.path, c.body)
		if status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body, status, text, c.status, c.says)
		}
		if strings.Contains(text, "tr0ub4dor") {
			t.Errorf("%s %s: the answer contains the secret: %s", c.path, c.body, text)
		}
	}
	asked, _ := json.Marshal(m.Requests())
	if strings.Contains(string(asked), "tr0ub4dor") {
		t.Errorf("the model received the secret: %s", asked)
	}
	for _, text := range []string{"You know (hidden)", "The key is (hidden)."} {
		if n := strings.Count(string(asked), text); n != 2 {
			t.Errorf("%q reached the model %d times, want 2: %s", text, n, asked)
		}
	}
}
