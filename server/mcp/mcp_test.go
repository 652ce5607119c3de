package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

type said struct {
	Text string `json:"text"`
}

// book is a skill of two files.
type book struct{}

func (book) Read(_ context.Context, file string) (string, error) {
	switch file {
	case "":
		return "Read the forecast first.", nil
	case "tables/wind.md":
		return "12 is a hurricane.", nil
	}
	return "", fmt.Errorf("the skill has no file %q", file)
}

// serve starts a server of an agent with some tools and returns its address, and the keys of alice, of
// bob, and of a client that may speak for others.
func serve(t testing.TB) (url string, keys map[string]string) {
	t.Helper()
	url, keys, _ = serveStuck(t)
	return url, keys
}

// serveStuck is serve, and tells when the tool that never ends has begun.
func serveStuck(t testing.TB) (url string, keys map[string]string, begun chan struct{}) {
	t.Helper()
	begun = make(chan struct{}, 1)
	r := catalog.NewRegistry(nil)
	say := func(name, about string, risk tool.Risk) tool.Tool {
		return tool.Func(tool.Definition{Name: name, Description: about, Risk: risk}, func(_ context.Context, in said) (chat.Result, error) {
			return chat.Result{
				Text: name + " of " + in.Text, Images: []chat.File{{MediaType: "image/png", Data: []byte("png")}},
				View: &chat.View{Data: json.RawMessage(`{"about":"` + in.Text + `"}`), Files: []chat.File{{Name: "a.pdf", MediaType: chat.PDF, Data: []byte("pdf")}}},
			}, nil
		})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.Register(
		say("forecast", "Tell the weather of a city tomorrow", tool.Read), say("ship", "Ship a parcel", tool.Write),
		say("wipe", "Erase a disk", tool.Destructive), tool.Func(tool.Definition{Name: "stuck", Description: "Never ends"}, func(ctx context.Context, _ struct{}) (string, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		}),
	))
	must(r.RegisterWithFilter(say("payroll", "Show salaries", tool.Read), func(f chat.Facts) bool { return f.User == "alice" }))
	_, err := r.SetSkills(catalog.Skill{Name: "sailing", Description: "Plan a trip", Guide: book{}}, catalog.Skill{Name: "post", Description: "Parcels", Tools: []string{"ship"}})
	must(err)
	policy, err := rules.Compile(rules.Policy, []rules.Rule{{Name: "careful", Ask: []string{"wipe"}}}, nil)
	must(err)
	users, err := identity.New([]identity.User{{Name: "alice"}, {Name: "bob"}})
	must(err)
	e, err := engine.New(engine.Config{
		Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New()}, {Name: "desk", Model: fake.New(), Groups: "none"}},
		Turn: turn.Config{Decide: policy.Decide}, Users: func(*catalog.Catalog) *identity.Users { return users },
	})
	must(err)
	ring := &identity.Keys{}
	keys = map[string]string{}
	for _, k := range []identity.Key{{Name: "alice", User: "alice"}, {Name: "bob", User: "bob"}, {Name: "client", ForOthers: true}} {
		keys[k.Name], err = ring.Add(k, time.Now())
		must(err)
	}
	web := httptest.NewServer(server.New(e, server.Config{Keys: ring, Users: func() *identity.Users { return users }}))
	t.Cleanup(web.Close)
	return web.URL, keys, begun
}

// with adds headers to all requests.
type with map[string]string

func (h with) RoundTrip(r *http.Request) (*http.Response, error) {
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, address string, headers map[string]string) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: with(headers)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func call(t *testing.T, s *mcp.ClientSession, name string, args any) (text string, result *mcp.CallToolResult) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, result
}

type object = map[string]any

func TestTools(t *testing.T) {
	url, keys := serve(t)
	s := connect(t, url+"/mcp", map[string]string{"Authorization": "Bearer " + keys["bob"]})
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 3 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, c := range []struct {
		tool   string
		args   object
		failed bool
		says   string
		hides  string
	}{
		{"find_tools", object{"queries": []string{"weather tomorrow"}}, false, "forecast(text: string)", "payroll"},
		{"find_tools", object{"query": "show salaries"}, false, "", "payroll"},
		{"find_tools", object{"queries": 7}, true, "cannot be read", ""},
		{"describe_tools", object{"names": []string{"forecast", "payroll", "nope"}}, false, `"missing":["payroll","nope"]`, "salaries"},
		{"describe_tools", object{"name": "forecast"}, false, `"risk":"read"`, ""},
		{"call_tool", object{"name": "forecast", "arguments": object{"text": "Paris"}}, false, "forecast of Paris", ""},
		{"call_tool", object{"name": "forecast", "arguments": object{"city": "Paris"}}, true, "text", ""},
		{"call_tool", object{"name": "forecas", "arguments": object{"text": "Paris"}}, true, "forecast", ""},
		{"call_tool", object{"name": "payroll", "arguments": object{"text": "ann"}}, true, "no tool", "salaries"},
		{"call_tool", object{"name": "wipe", "arguments": object{"text": "sda"}}, true, "approval", ""},
	} {
		text, result := call(t, s, c.tool, c.args)
		if result.IsError != c.failed || !strings.Contains(text, c.says) || c.hides != "" && strings.Contains(text, c.hides) {
			t.Errorf("%s %v: %v %q, want %v, with %q and without %q", c.tool, c.args, result.IsError, text, c.failed, c.says, c.hides)
		}
	}
	_, result := call(t, s, "call_tool", object{"name": "forecast", "arguments": object{"text": "Rome"}})
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"type":"image"`, `"blob":"cGRm"`, `"structuredContent":{"about":"Rome"}`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %s", raw, want)
		}
	}
	alice := connect(t, url+"/mcp", map[string]string{"Authorization": "Bearer " + keys["alice"]})
	if text, _ := call(t, alice, "call_tool", object{"name": "payroll", "arguments": object{"text": "ann"}}); text != "payroll of ann" {
		t.Errorf("alice reads %q", text)
	}
	other := connect(t, url+"/mcp/desk", map[string]string{"Authorization": "Bearer " + keys["alice"]})
	if text, result := call(t, other, "call_tool", object{"name": "payroll", "arguments": object{"text": "ann"}}); !result.IsError {
		t.Errorf("an agent without tools answers %q", text)
	}
}

func TestList(t *testing.T) {
	url, keys := serve(t)
	for query, want := range map[string]string{"": "forecast ship stuck wipe", "&skill=post": "ship"} {
		s := connect(t, url+"/mcp?tools=list"+query, map[string]string{"Authorization": "Bearer " + keys["bob"]})
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range list.Tools {
			names = append(names, d.Name)
			if d.Annotations.ReadOnlyHint != (d.Name == "forecast") {
				t.Errorf("%s: %+v", d.Name, d.Annotations)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: the tools are %s, want %s", query, got, want)
		}
		if text, _ := call(t, s, "ship", object{"text": "x"}); text != "ship of x" {
			t.Errorf("%s: %q", query, text)
		}
		if text, result := call(t, s, "payroll", object{"text": "x"}); !result.IsError {
			t.Errorf("%s: %q", query, text)
		}
	}
}

func TestSkills(t *testing.T) {
	url, keys := serve(t)
	s := connect(t, url+"/mcp", map[string]string{"Authorization": "Bearer " + keys["bob"]})
	prompts, err := s.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "sailing" {
		t.Fatalf("%+v, %v", prompts, err)
	}
	prompt, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "sailing"})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Read the forecast first." {
		t.Errorf("%+v, %v", prompt, err)
	}
	if _, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "post"}); err == nil {
		t.Error("a toolset has instructions")
	}
	resources, err := s.ListResources(t.Context(), nil)
	if err != nil || len(resources.Resources) != 1 {
		t.Fatalf("%+v, %v", resources, err)
	}
	for uri, want := range map[string]string{
		resources.Resources[0].URI: "Read the forecast first.", "skill://sailing/tables/wind.md": "12 is a hurricane.",
		"skill://sailing/nope": "", "skill://gone/SKILL.md": "", "file:///etc/passwd": "",
	} {
		got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if (err == nil) != (want != "") || err == nil && got.Contents[0].Text != want {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
}

// TestRefused: who may not come in reads why in HTTP's own words, and learns of no tool.
func TestRefused(t *testing.T) {
	url, keys := serve(t)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, c := range []struct {
		path, key, body string
		header          []string
		status          int
	}{
		{"/mcp", "wrong", list, nil, 401},
		{"/mcp", keys["bob"], list, nil, 200},
		{"/mcp", keys["bob"], list, []string{"Accept", "*/*"}, 200},
		{"/mcp", keys["bob"], list, []string{"X-Etui-User", "alice"}, 403},
		{"/mcp", keys["client"], list, []string{"X-Etui-User", "alice"}, 200},
		{"/mcp", keys["bob"], list, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"/mcp/nobody", keys["bob"], list, nil, 404},
		{"/mcp?tool=list", keys["bob"], list, nil, 400},
		{"/mcp?tools=all", keys["bob"], list, nil, 400},
		{"/mcp", keys["bob"], `{"jsonrpc":`, nil, 400},
		{"/mcp", keys["bob"], `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":[` + strings.Repeat("{},", 100_000) + `{}]}}}`, nil, 413},
		{"/mcp", keys["bob"], "[" + strings.Repeat(list+",", 20) + list + "]", nil, 413},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.key)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s %q: %d, want %d", c.path, c.header, res.StatusCode, c.status)
		}
	}
}

// TestGone: the tool of a client that has gone ends.
func TestGone(t *testing.T) {
	url, keys, begun := serveStuck(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"stuck"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+keys["bob"])
	r.Header.Set("Content-Type", "application/json")
	go func() { <-begun; cancel() }()
	if res, err := http.DefaultClient.Do(r); err == nil {
		_ = res.Body.Close()
		t.Errorf("the answer has status %d", res.StatusCode)
	}
	// The server closes only when all its requests have ended, which the end of the test waits for.
}

func FuzzServe(f *testing.F) {
	url, keys := serve(f)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"forecast","arguments":{"text":"x"}}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":null,"method":"prompts/get","params":{"name":"sailing"}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`[{}]`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"skill://sailing/../x"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "stuck") {
			t.Skip("a tool that never ends")
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp?tools=list", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+keys["bob"])
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode >= 500 {
			t.Errorf("%q: %d", body, res.StatusCode)
		}
	})
}

// TestOneMeaning: a call does not reach another tool than the one that a program in front reads in it.
func TestOneMeaning(t *testing.T) {
	url, keys := serve(t)
	s := connect(t, url+"/mcp", map[string]string{"Authorization": "Bearer " + keys["alice"]})
	for args, want := range map[string]string{
		`{"name":"forecast","name":"ship","arguments":{"text":"x"}}`: "duplicate",
		`{"name":"forecast","Name":"ship","arguments":{"text":"x"}}`: "forecast of x",
	} {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := json.Marshal(r.Content[0]); err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s: %s, %v; want %q", args, raw, err, want)
		}
	}
}
