package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/tool"
)

// between is a service that a test stands before.
func between(t *testing.T, before func(w http.ResponseWriter, r *http.Request, method string) (answered bool)) (*sdk.Server, string) {
	s := newServer()
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
	})
	return s, listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Method string }
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if m.Method == "server/discover" {
			http.NotFound(w, r)
			return
		}
		if !before(w, r, m.Method) {
			inner.ServeHTTP(w, r)
		}
	})).URL
}

// TestExpiredSession: a service that has forgotten the session has run nothing, so the call
// is repeated in another one, and nobody reads of it.
func TestExpiredSession(t *testing.T) {
	t.Parallel()
	for name, forgets := range map[string]func(http.ResponseWriter){
		"404": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"JSON-RPC": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32001,"message":"Session not found"}}`)
		},
		"400": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "Bad Request: No valid session ID provided")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var old string
			greetings, runs := 0, 0
			s, url := between(t, func(w http.ResponseWriter, r *http.Request, method string) bool {
				mu.Lock()
				defer mu.Unlock()
				if method == "initialize" {
					greetings++
				}
				id := r.Header.Get("Mcp-Session-Id")
				if method == "tools/call" && old == "" {
					old = id
				}
				if id != "" && id == old {
					forgets(w)
					return true
				}
				return false
			})
			add(s, "do", "Does it.", func(args string) (*sdk.CallToolResult, error) { runs++; return text(args), nil })
			r := start(t, mcp.Config{}, skill.Config{Endpoint: url})
			r.untilTools("mcp__srv__do")
			if got, err := r.call("mcp__srv__do", `{"a":"x"}`); err != nil || got.Text != `{"a":"x"}` {
				t.Errorf("%q, %v", got.Text, err)
			}
			if greetings != 2 || runs != 1 {
				t.Errorf("%d sessions and %d runs, want 2 and 1", greetings, runs)
			}
			if st := r.Status(); st.Restarts != 0 {
				t.Errorf("%d restarts", st.Restarts)
			}
		})
	}
}

// TestRefusals: the model reads what a service says.
func TestRefusals(t *testing.T) {
	t.Parallel()
	times := 0
	s, url := between(t, func(w http.ResponseWriter, r *http.Request, method string) bool {
		if method != "tools/call" {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		var m struct {
			Params struct{ Arguments struct{ A string } }
		}
		_ = json.Unmarshal(body, &m)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		says := func(code int, header, words string) bool {
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, words)
			return true
		}
		switch m.Params.Arguments.A {
		case "401":
			return says(401, "", "no token")
		case "403":
			return says(403, "", `{"error":"insufficient_scope","error_description":"needs files:write"}`)
		case "429":
			return says(429, "3600", `{"error":{"message":"quota used up"}}`)
		case "busy":
			if times++; times < 3 {
				return says(429, "0", "")
			}
			return false
		case "502":
			return says(502, "", "<html><head><title>Bad gateway at example</title></head></html>")
		case "html":
			w.Header().Set("Content-Type", "text/html")
			return says(200, "", "<title>Please sign in</title>")
		case "empty":
			return says(200, "", "")
		}
		return says(200, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":"-32050","message":"the disk is full","data":{"free":0}}}`, idOf(body)))
	})
	add(s, "do", "Does it.", func(string) (*sdk.CallToolResult, error) { return text("done"), nil })
	r := start(t, mcp.Config{}, skill.Config{Endpoint: url})
	r.untilTools("mcp__srv__do")
	for says, want := range map[string]struct {
		status int
		words  string
	}{
		"401":   {502, "refuses the login"},
		"403":   {500, "403 Forbidden: needs files:write"},
		"429":   {502, "429 Too Many Requests: quota used up; it wants to be asked again in 1h0m0s"},
		"502":   {502, "502 Bad Gateway: Bad gateway at example"},
		"html":  {500, "failed: the server's answer is no message, but \"text/html\": Please sign in"},
		"empty": {500, "failed: the server's answer is no message: it is empty"},
		"rpc":   {500, `error -32050: the disk is full {"free":0}`},
	} {
		_, err := r.call("mcp__srv__do", `{"a":"`+says+`"}`)
		if skill.Status(err) != want.status || !strings.Contains(fmt.Sprint(err), want.words) {
			t.Errorf("%s: %d, %v; want %d, %s", says, skill.Status(err), err, want.status, want.words)
		}
	}
	if got, err := r.call("mcp__srv__do", `{"a":"busy"}`); err != nil || got.Text != "done" || times != 3 {
		t.Errorf("busy: %q, %v after %d times", got.Text, err, times)
	}
	if st := r.Status(); st.Restarts != 0 || st.Phase != mcp.Connected {
		t.Errorf("%+v", st)
	}
}

func idOf(message []byte) string {
	var m struct{ ID json.RawMessage }
	_ = json.Unmarshal(message, &m)
	return string(m.ID)
}

// TestOlderTransport: a service of the older transport is found and used, also when a proxy has
// hidden its scheme.
func TestOlderTransport(t *testing.T) {
	t.Parallel()
	s := newServer()
	add(s, "one", "First.", echo)
	r := start(t, mcp.Config{}, skill.Config{Endpoint: listen(t, sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)).URL + "/sse"})
	r.untilTools("mcp__srv__one")
	if got, err := r.call("mcp__srv__one", `{"a":"x"}`); err != nil || got.Text != `{"a":"x"}` {
		t.Errorf("%q, %v", got.Text, err)
	}
	add(s, "two", "Second.", echo)
	r.untilTools("mcp__srv__one", "mcp__srv__two")
	if st := r.Status(); st.Restarts != 0 {
		t.Errorf("%+v", st)
	}
}

// TestSilentService: a service that does not answer in the newer protocol is asked in the older
// one after a moment.
func TestSilentService(t *testing.T) {
	t.Parallel()
	s := newServer()
	add(s, "one", "First.", echo)
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
	})
	web := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), "server/discover") {
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	}))
	r := start(t, mcp.Config{}, skill.Config{Endpoint: web.URL})
	r.untilTools("mcp__srv__one")
}

// TestProgress: the time limit counts from the last progress, which the host is told.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := newServer()
	const limit = time.Second
	over := make(chan struct{})
	defer close(over)
	s.AddTool(&sdk.Tool{Name: "slow", Description: "Takes its time.", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if string(r.Params.Arguments) == `{"silent":true}` {
			<-over
		}
		for begun := time.Now(); time.Since(begun) < limit*3/2; {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2})
			time.Sleep(10 * time.Millisecond)
		}
		return text("done"), nil
	})
	r := start(t, mcp.Config{}, skill.Config{Endpoint: serve(t, s, false).URL, Timeout: limit})
	r.untilTools("mcp__srv__slow")
	var mu sync.Mutex
	var told tool.Progress
	ctx := tool.WithHost(t.Context(), tool.Host{Progress: func(p tool.Progress) {
		mu.Lock()
		defer mu.Unlock()
		told = p
	}})
	if got, err := r.tool("mcp__srv__slow").Call(ctx, json.RawMessage(`{}`)); err != nil || got.Text != "done" {
		t.Errorf("%q, %v", got.Text, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if told.Done != 1 || told.Total != 2 {
		t.Errorf("the host was told %+v", told)
	}
	if _, err := r.call("mcp__srv__slow", `{"silent":true}`); skill.Status(err) != 504 || !strings.Contains(err.Error(), "within 1s") {
		t.Error(err)
	}
}

// TestReach: resources and prompts are tools of the server, and a server without them has none.
func TestReach(t *testing.T) {
	t.Parallel()
	s := newServer()
	add(s, "one", "First.", echo)
	r := start(t, mcp.Config{}, skill.Config{Endpoint: serve(t, s, false).URL})
	r.untilTools("mcp__srv__one")
	s.AddResource(&sdk.Resource{URI: "file:///notes.txt", Name: "notes", Description: "Where the keys of the boat are."},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "file:///notes.txt", Text: "under the mat\u202e"}}}, nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "review", Description: "Reviews code.", Arguments: []*sdk.PromptArgument{{Name: "code", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Review " + r.Params.Arguments["code"]}}}}, nil
		})
	r = start(t, mcp.Config{}, skill.Config{Endpoint: serve(t, s, false).URL, RiskLevel: tool.Read})
	r.untilTools("mcp__srv__list_resources", "mcp__srv__one", "mcp__srv__prompt_review", "mcp__srv__read_resource")
	for _, c := range []struct{ name, args, want string }{
		{"list_resources", `{"words":"boat keys"}`, "file:///notes.txt (notes) Where the keys of the boat are."},
		{"list_resources", `{"words":"car"}`, "no resource has these words; the server has 1 resource"},
		{"read_resource", `{"uri":"file:///notes.txt"}`, "resource file:///notes.txt:\nunder the mat"},
		{"prompt_review", `{"code":"x := 1"}`, "Review x := 1"},
	} {
		if got, err := r.call("mcp__srv__"+c.name, c.args); err != nil || got.Text != c.want {
			t.Errorf("%s %s: %q, %v", c.name, c.args, got.Text, err)
		}
	}
	if _, err := r.call("mcp__srv__read_resource", `{"uri":"file:///other"}`); err == nil {
		t.Error("a resource that is none was read")
	}
	d := r.tool("mcp__srv__read_resource").Definition()
	if !strings.Contains(d.Body, "boat") || strings.Contains(d.Description, "boat") || d.Risk != tool.Read || strings.Join(d.Groups, "") != "srv" {
		t.Errorf("%+v", d)
	}
	r = start(t, mcp.Config{}, skill.Config{Endpoint: serve(t, s, false).URL, Exclude: []string{"*_resource*", "prompt_*"}})
	r.untilTools("mcp__srv__one")
}

// TestTasks: a tool that requires it runs as a task, whose end is waited for.
func TestTasks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ states, want string }{
		"completed": {"working working completed", "the result"},
		"failed":    {"failed", "the result"},
		"cancelled": {"working cancelled", "cancelled the task. no time"},
		"at once":   {"", "at once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states := strings.Fields(c.states)
			url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct {
					ID     json.RawMessage
					Method string
					Params struct{ Task json.RawMessage }
				}
				_ = json.NewDecoder(r.Body).Decode(&m)
				var result string
				switch m.Method {
				case "":
					return
				case "initialize":
					result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"t","version":"1"}}`
				case "tools/list":
					result = `{"tools":[{"name":"long","description":"Takes long.","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`
				case "tools/call":
					switch {
					case m.Params.Task == nil:
						result = `{"isError":true,"content":[{"type":"text","text":"no task"}]}`
					case len(states) == 0:
						result = `{"content":[{"type":"text","text":"at once"}]}`
					default:
						result = `{"task":{"taskId":"7","status":"working","ttl":1000,"pollInterval":1}}`
					}
				case "tasks/get":
					result, states = `{"taskId":"7","status":"`+states[0]+`","statusMessage":"no time","pollInterval":1}`, states[1:]
				case "tasks/result":
					result = `{"content":[{"type":"text","text":"the result"}]}`
				default:
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
			})).URL
			r := start(t, mcp.Config{}, skill.Config{Endpoint: url})
			r.untilTools("mcp__srv__long")
			got, err := r.call("mcp__srv__long", `{}`)
			if said := got.Text + fmt.Sprint(errors.Join(err)); !strings.Contains(said, c.want) || got.Failed != (name == "failed") {
				t.Errorf("%s, failed %v; want %s", said, got.Failed, c.want)
			}
		})
	}
}

// TestRoots: a program is told the folders that it was granted, and one without any of none.
func TestRoots(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := self("roots")
	file.Write = []string{folder}
	r := start(t, mcp.Config{}, file)
	r.untilTools("mcp__srv__roots")
	if got, err := r.call("mcp__srv__roots", `{}`); err != nil || got.Text != fmt.Sprintf(`[{"name":%q,"uri":"file://%s"}]`, filepath.Base(folder), folder) {
		t.Errorf("%q, %v", got.Text, err)
	}
	r = start(t, mcp.Config{}, self("roots"))
	r.untilTools("mcp__srv__roots")
	if got, err := r.call("mcp__srv__roots", `{}`); err != nil || got.Text != "[]" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

// TestAnswersOfServices: an answer in another form than the protocol's is read.
func TestAnswersOfServices(t *testing.T) {
	t.Parallel()
	for name, writes := range map[string]func(w http.ResponseWriter, answer string){
		"text": func(w http.ResponseWriter, answer string) {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, answer)
		},
		"no type": func(w http.ResponseWriter, answer string) {
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, "\ufeff"+answer)
		},
		"batch": func(w http.ResponseWriter, answer string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `[`+answer+`,{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}]`)
		},
		"another ID": func(w http.ResponseWriter, answer string) {
			w.Header().Set("Content-Type", "application/json")
			_, rest, _ := strings.Cut(answer, `,"result"`)
			fmt.Fprint(w, `{"id":"server","result"`+rest)
		},
		"events as bytes": func(w http.ResponseWriter, answer string) {
			w.Header().Set("Content-Type", "application/octet-stream")
			fmt.Fprintf(w, "data: %s\n\n", answer)
		},
		"odd events": func(w http.ResponseWriter, answer string) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprintf(w, "\ufeff: hello\r\nretry\r\nevent: message\r\ndata:%s\r\n\r\ndata: [DONE]\n\n", strings.Replace(answer, ",", ",\r\ndata: ", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				var m struct {
					ID     json.RawMessage
					Method string
				}
				_ = json.Unmarshal(body, &m)
				result := map[string]string{
					"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":true}}`,
					"tools/list": `{"tools":[{"name":"one","description":"First.","inputSchema":{"type":"object"}}]}`,
					"tools/call": `"fine"`,
				}[m.Method]
				if result == "" {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				writes(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
			})).URL
			r := start(t, mcp.Config{}, skill.Config{Endpoint: url})
			r.untilTools("mcp__srv__one")
			if got, err := r.call("mcp__srv__one", `{}`); err != nil || got.Text != "fine" {
				t.Errorf("%q, %v", got.Text, err)
			}
		})
	}
}

// TestUnlisted: a service that does not list what it says it has costs no tool.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	s, url := between(t, func(w http.ResponseWriter, _ *http.Request, method string) bool {
		if !strings.HasPrefix(method, "resources/") && !strings.HasPrefix(method, "prompts/") {
			return false
		}
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	add(s, "one", "First.", echo)
	s.AddResource(&sdk.Resource{URI: "a://b", Name: "b"}, nil)
	r := start(t, mcp.Config{}, skill.Config{Endpoint: url})
	r.untilTools("mcp__srv__one")
	if loose := strings.Join(r.Status().Loose, "; "); !strings.Contains(loose, "does not list") {
		t.Error(loose)
	}
}
