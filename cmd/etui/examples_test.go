package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/secret"
)

// exchange is a request of a route and the gateway's answer. Both are examples in openapi.json.
type exchange struct {
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

// exchanges are the requests, in the order in which they are sent; {WORD} in a path is what an earlier answer
// had under that name, see kept.
func exchanges() []struct{ pattern, path, body string } {
	return []struct{ pattern, path, body string }{
		{"GET /healthz", "/healthz", ""},
		{"GET /readyz", "/readyz", ""},
		{"GET /console/session", "/console/session", ""},
		{"POST /admin/console", "/admin/console", `{"role":"operator","name":"ann"}`},
		{"DELETE /console/session", "/console/session", ""},
		{"POST /console/session", "/console/session", `{"secret":"{link}"}`},
		{"GET /mcp/client.json", "/mcp/client.json", ""},
		{"GET /.well-known/agent-card.json", "/.well-known/agent-card.json", ""},
		{"GET /a2a/{agent}/.well-known/agent-card.json", "/a2a/main/.well-known/agent-card.json", ""},

		{"POST /admin/tasks", "/admin/tasks", `{"when":"0 9 * * 1-5","zone":"Europe/Berlin","text":"weather in Berlin?","user":"ann"}`},
		{"GET /admin/tasks", "/admin/tasks", ""},
		{"POST /admin/tasks/{id}/{change}", "/admin/tasks/{id}/pause", `{}`},
		{"DELETE /admin/tasks/{id}", "/admin/tasks/{id}", ""},

		{"POST /api/whoami", "/api/whoami", `{"user":"ann","channel":"api"}`},
		{"POST /api/chat", "/api/chat", `{"text":"weather in Berlin?","user":"ann","session":"mine"}`},
		{"POST /api/command", "/api/command", `{"text":"/status","user":"ann","session":"mine"}`},
		{"POST /api/select", "/api/select", `{"text":"weather in Berlin?","user":"ann","limit":1}`},
		{"POST /api/why", "/api/why", `{"user":"ann","session":"mine","turns":1}`},
		{"GET /api/status", "/api/status", ""},
		{"GET /api/agents", "/api/agents", ""},
		{"PUT /api/agents/{name}", "/api/agents/main", `{"groups":""}`},
		{"GET /api/tools", "/api/tools?name=get_weather", ""},
		{"POST /api/tools/{name}", "/api/tools/get_weather", `{"user":"ann","arguments":{"city":"Berlin"}}`},
		{"POST /api/tools/{name}/judge", "/api/tools/get_weather/judge", `{"user":"ann","arguments":{"city":"Berlin"}}`},
		{"GET /api/skills", "/api/skills", ""},
		{"PUT /api/skills", "/api/skills", `{"agent":"main","skill":"full"}`},
		{"GET /api/workflows", "/api/workflows", ""},
		{"GET /api/usage", "/api/usage?limit=1", ""},
		{"DELETE /api/usage", "/api/usage?user=ann", ""},
		{"GET /api/sessions", "/api/sessions?user=ann", ""},
		{"GET /api/sessions/{key}", "/api/sessions/{key}?user=ann&limit=2", ""},
		{"GET /admin/sessions", "/admin/sessions?limit=1", ""},
		{"GET /admin/sessions/{key}", "/admin/sessions/{key}?limit=2", ""},
		{"POST /api/sessions/{key}/stop", "/api/sessions/{key}/stop?user=ann", `{}`},
		{"POST /admin/sessions/{key}/stop", "/admin/sessions/{key}/stop", `{}`},
		{"PUT /api/memory", "/api/memory", `{"user":"ann","base":"","new":"Ann likes tea."}`},
		{"POST /api/memory", "/api/memory", `{"user":"ann"}`},

		{"", "/api/chat", `{"text":"write hello to the file a.txt","user":"ann","session":"one"}`},
		{"GET /admin/approvals", "/admin/approvals", ""},
		{"GET /api/approvals", "/api/approvals?user=ann", ""},
		{"POST /admin/approvals/{id}", "/admin/approvals/{id}", `{"approved":true,"lasts":"session"}`},
		{"", "/api/chat", `{"text":"write hello to the file a.txt","user":"ann","session":"two"}`},
		{"", "/admin/approvals", ""},
		{"", "/api/chat", `{"text":"/approve {id} always","user":"ann","session":"two"}`},
		{"DELETE /admin/approvals/{id}", "/admin/approvals/{id}", ""},
		{"", "/api/chat", `{"text":"write hello to the file a.txt","user":"ann","session":"three"}`},
		{"", "/admin/approvals", ""},
		{"POST /api/approvals/{id}", "/api/approvals/{id}", `{"user":"ann","approved":false,"reason":"not today"}`},
		{"GET /admin/audit", "/admin/audit?limit=1", ""},
		{"GET /admin/audit/verify", "/admin/audit/verify", ""},
		{"GET /admin/calls", "/admin/calls?limit=1", ""},
		{"POST /admin/ranking/evaluate", "/admin/ranking/evaluate", `{"questions":[{"text":"is it warm in Berlin?","tools":["get_weather"]}]}`},
		{"POST /admin/ranking/examples", "/admin/ranking/examples", `{"tool":"get_weather","example":"is it warm in Berlin?"}`},
		{"GET /admin/skills", "/admin/skills", ""},
		{"GET /admin/skills/{name}", "/admin/skills/get_weather", ""},
		{"GET /admin/skills/{name}/calls", "/admin/skills/get_weather/calls?limit=1", ""},
		{"POST /admin/skills/{name}/{change}", "/admin/skills/get_weather/disable", `{"by":"ann","reason":"it is slow"}`},
		{"POST /admin/skills/reload", "/admin/skills/reload", `{"by":"ann"}`},
		{"GET /admin/inbox", "/admin/inbox", ""},
		{"GET /admin/running", "/admin/running", ""},
		{"GET /admin/people", "/admin/people", ""},
		{"GET /admin/ranking", "/admin/ranking", ""},
		{"GET /admin/turns", "/admin/turns?limit=1", ""},
		{"GET /admin/channels", "/admin/channels", ""},
		{"POST /admin/keys", "/admin/keys", `{"name":"phone","user":"ann"}`},
		{"GET /admin/keys", "/admin/keys", ""},
		{"DELETE /admin/keys/{name}", "/admin/keys/phone", ""},
		{"GET /admin/configuration", "/admin/configuration", ""},
		{"POST /admin/configuration/check", "/admin/configuration/check", `{"text":"models: []\nagent: main\n","base":""}`},
		{"POST /admin/configuration/preview", "/admin/configuration/preview", `{"text":"{text}# A comment.\n","base":""}`},
		{"PUT /admin/configuration", "/admin/configuration", `{"text":"{text}# A comment.\n","base":"{base}"}`},
		{"POST /admin/configuration/undo", "/admin/configuration/undo", `{"text":"","base":"{base}"}`},
		{"POST /admin/tools/{name}/{change}", "/admin/tools/get_weather/disable", `{"base":"{base}"}`},

		{"GET /v1/models", "/v1/models", ""},
		{"GET /v1/models/{id}", "/v1/models/main", ""},
		{"POST /v1/chat/completions", "/v1/chat/completions", `{"model":"main","messages":[{"role":"user","content":"weather in Berlin?"}]}`},
		{"POST /v1/completions", "/v1/completions", `{"model":"main","prompt":"hello"}`},
		{"POST /v1/messages", "/v1/messages", `{"model":"main","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`},
		{"POST /v1/messages/count_tokens", "/v1/messages/count_tokens", `{"model":"main","messages":[{"role":"user","content":"hello"}]}`},
		{"POST /v1/conversations", "/v1/conversations", `{}`},
		{"POST /v1/responses", "/v1/responses", `{"model":"main","input":"hello"}`},
		{"GET /v1/responses/{id}", "/v1/responses/{id}", ""},
		{"GET /v1/responses/{id}/input_items", "/v1/responses/{id}/input_items", ""},
		{"DELETE /v1/responses/{id}", "/v1/responses/{id}", ""},
		{"POST /mcp", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"POST /mcp/{agent}", "/mcp/main", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"POST /a2a/{agent}", "/a2a/main", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"m1","parts":[{"kind":"text","text":"hello"}]}}}`},
		{"DELETE /admin/skills/{name}", "/admin/skills/get_weather", `{"by":"ann","reason":"it is replaced"}`},
		{"DELETE /admin/sessions/{key}", "/admin/sessions/{key}", ""},
		{"", "/api/sessions?user=ann", ""},
		{"DELETE /api/sessions/{key}", "/api/sessions/{key}?user=ann", ""},
		{"DELETE /admin/users/{user}", "/admin/users/ann", ""},
	}
}

// examplesWorkspace is the configuration of the gateway.
const examplesWorkspace = `models: [{name: m, provider: offline}]
agents: [{name: main}]
users: [{name: ann, identities: ["telegram:42"], roles: [admin]}]
usage: {keep: true}
policy: {rules: [{name: writes, ask: [write_file]}]}
api: {url: "https://etui.example.com", agui: true, a2a: {main: Answers questions about the weather.}}
sandbox: {mode: "off"}
skills: {toolsets: [{name: office, description: Office work, tools: [get_weather]}]}
`

const examplesSkill = `name: get_weather
description: Get the weather of a city
provider: command
command: [echo, '"18 °C"']
risk_level: read
parameters:
  type: object
  properties: {city: {type: string, description: Name of the city}}
  required: [city]
  additionalProperties: false
`

// TestGeneratedExamples sends a request to each route of a real gateway, and holds the answers to openapi.json. With
// -update it keeps those of a new form as the examples of that document.
func TestGeneratedExamples(t *testing.T) {
	const file = "../../server/testdata/examples.json"
	kept := map[string]exchange{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	handler := examplesGateway(t)
	found := map[string]string{}
	send := func(method, path, body string) (int, string, []byte) {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code, w.Header().Get("Content-Type"), w.Body.Bytes()
	}
	_, _, doc := send("GET", "/openapi.json", "")
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	for _, a := range exchanges() {
		for name, value := range found {
			a.path = strings.ReplaceAll(a.path, "{"+name+"}", value)
			in, _ := json.Marshal(value) // texts always marshal
			a.body = strings.ReplaceAll(a.body, "{"+name+"}", strings.Trim(string(in), `"`))
		}
		method, pattern, named := strings.Cut(a.pattern, " ")
		if !named {
			method = map[bool]string{true: "POST", false: "GET"}[a.body != ""]
		}
		status, media, body := send(method, a.path, a.body)
		if status != http.StatusOK {
			t.Errorf("%s %s: %d %.300s", method, a.path, status, body)
			continue
		}
		media, _, _ = strings.Cut(media, ";")
		body = one(media, body)
		noteIDs(found, body)
		if !named {
			continue
		}
		at := "openapi.json#/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(strings.ReplaceAll(pattern, "...", "")) + "/" + strings.ToLower(method)
		at += "/responses/200/content/" + strings.ReplaceAll(documented(media), "/", "~1") + "/schema"
		schema, err := compiler.Compile(strings.NewReplacer("{", "%7B", "}", "%7D").Replace(at))
		if err != nil {
			t.Errorf("%s: %v", a.pattern, err)
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: the answer does not fit its schema: %v\n%.500s", a.pattern, err, body)
			continue
		}
		now := exchange{Response: example(value)}
		if a.body != "" {
			now.Request = json.RawMessage(constant(a.body))
		}
		if before := kept[a.pattern]; *update && (before.Response == nil || formOf(before.Response) != formOf(now.Response)) {
			kept[a.pattern] = now
		} else if !*update && before.Response == nil {
			t.Errorf("%s has no example: go test -run Generated ./cmd/etui -update", a.pattern)
		}
	}
	if *update && !t.Failed() {
		made, _ := json.MarshalIndent(kept, "", " ") // it was unmarshalled
		if err := os.WriteFile(file, append(made, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// examplesGateway returns the handler of a gateway whose workspace has a person, a tool and a policy that asks.
func examplesGateway(t *testing.T) http.Handler {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"etui.yaml": examplesWorkspace, "skills/get_weather.yaml": examplesSkill} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workdir.Open(dir, "", []string{"HOME=" + dir, "XDG_STATE_HOME=" + t.TempDir(), "ETUI_TRUST=" + dir, "DATABASE=postgres://plain@value", "LEVEL=debug"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), w, app.Config{Secrets: &secret.Set{}, Version: "v1.0.0", Log: slog.New(slog.DiscardHandler), Stored: true, Records: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // the folders are removed
	return a.HTTP
}

// one is the first line of a stream of JSON, or the first event of another one.
func one(media string, body []byte) []byte {
	switch media {
	case "application/x-ndjson":
		body, _, _ = bytes.Cut(body, []byte("\n"))
	case "text/event-stream":
		_, body, _ = bytes.Cut(body, []byte("data: "))
		body, _, _ = bytes.Cut(body, []byte("\n"))
	}
	return body
}

// documented is the media type under which openapi.json describes an answer.
func documented(media string) string {
	if media == "text/event-stream" { // the same objects, where a client asks for a stream
		return "application/json"
	}
	return media
}

// noteIDs notes what later requests need of an answer.
func noteIDs(found map[string]string, body []byte) {
	var has map[string]any
	_ = json.Unmarshal(body, &has) // a list has nothing that is needed
	for _, name := range []string{"id", "text", "base"} {
		if text, ok := has[name].(string); ok {
			found[name] = text
		}
	}
	for _, within := range []struct{ list, name string }{{"sessions", "key"}, {"waiting", "id"}} {
		if list, _ := has[within.list].([]any); len(list) > 0 {
			next, _ := list[0].(map[string]any)
			for _, one := range list { // a call that was just approved may still be there
				one, _ := one.(map[string]any)
				if id, _ := one["id"].(string); within.list == "waiting" && found["seen "+id] == "" {
					next, found["seen "+id] = one, id
					break
				}
			}
			found[within.name], _ = next[within.name].(string)
		}
	}
	if path, ok := has["path"].(string); ok {
		_, found["link"], _ = strings.Cut(path, "#")
	}
}

// volatile are the parts of an answer that are others each time.
var volatile = []struct {
	part *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`etui_[A-Za-z0-9_-]{20,}`), "KEY"},
	{regexp.MustCompile(`/console/#[A-Za-z0-9_-]+`), "/console/#SECRET"},
	{regexp.MustCompile(`("secret": ?)"[A-Za-z0-9_-]+"`), `$1"SECRET"`},
	{regexp.MustCompile(`("proof": ?)"[A-Za-z0-9_-]+"`), `$1"PROOF"`},
	{regexp.MustCompile(`/[^" ]*/TestGeneratedExamples\d+/\d+`), "/home/ann/work"},
	{regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "2026-05-04T12:00:00Z"},
}

func constant(text string) string {
	for _, c := range volatile {
		text = c.part.ReplaceAllString(text, c.by)
	}
	return text
}

// Bounds of an example: members of a list, and characters of a text.
const mostMembers, mostText = 2, 300

// example is an answer as the document shows it: shortened, without what is different each time.
func example(value any) json.RawMessage {
	var shorten func(any) any
	shorten = func(v any) any {
		switch v := v.(type) {
		case []any:
			v = v[:min(len(v), mostMembers)]
			for i := range v {
				v[i] = shorten(v[i])
			}
			return v
		case map[string]any:
			for name, x := range v {
				v[name] = shorten(x)
			}
		case string:
			if r := []rune(v); len(r) > mostText {
				return string(r[:mostText]) + "…"
			}
		}
		return v
	}
	text, _ := json.Marshal(shorten(value)) // it was unmarshalled
	return json.RawMessage(constant(string(text)))
}

// formOf names the fields of a value.
func formOf(text json.RawMessage) string {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return ""
	}
	paths := map[string]bool{}
	var walk func(string, any)
	walk = func(at string, v any) {
		paths[at] = true
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(at+"[]", x)
			}
		case map[string]any:
			for name, x := range v {
				walk(at+"."+name, x)
			}
		}
	}
	walk("", value)
	return strings.Join(slices.Sorted(maps.Keys(paths)), "\n")
}

// TestCheckHidesEnvironment: who checks a configuration does not read the variables of the gateway's environment,
// and a good one may name them.
func TestCheckHidesEnvironment(t *testing.T) {
	handler := examplesGateway(t)
	for _, c := range []struct{ text, want string }{
		{"models: []\nlog: {level: \"${LEVEL}\"}\n", `{"problems":[]}`},
		{"models: []\nlog: {level: \"${DATABASE}\"}\n", "log.level is \\\"${DATABASE}\\\""},
		{"models: []\nlog: {level: \"$\\u007bDATABASE}\"}\n", "${DATABASE}"},
		{"models: []\nlog: {level: \"${NONE:-${DATABASE}}\"}\n", "${DATABASE}"},
		{"models: []\nagents: [{name: a, model: \"${DATABASE}\"}]\n", "${DATABASE}"},
		{"models: []\nvisibility: {rules: [{name: a, allow: [\"*\"], when: 'x == \"${DATABASE}\"'}]}\n", "rule"},
		{"models: []\nlog: {level: \"${LEVEL}\"}\nagent: x\n", "unknown key"},
	} {
		for _, path := range []string{"/admin/configuration/check", "/admin/configuration"} {
			body, _ := json.Marshal(map[string]string{"text": c.text, "base": ""}) // texts always marshal
			r := httptest.NewRequest(map[bool]string{true: "POST", false: "PUT"}[strings.HasSuffix(path, "check")], "http://localhost"+path, bytes.NewReader(body))
			r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})))
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if says := w.Body.String(); strings.Contains(says, "plain@value") || strings.HasSuffix(path, "check") && !strings.Contains(says, c.want) {
				t.Errorf("%s %q: %d %s", path, c.text, w.Code, says)
			}
		}
	}
}
