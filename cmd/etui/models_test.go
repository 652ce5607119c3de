package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/doctor"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/modeltest"
)

// etui runs the program in this process and returns what it printed.
func etui(t *testing.T, want int, args ...string) (out, errs string) {
	t.Helper()
	var o, e lockedBuffer
	if code := run(context.Background(), args, &terminal.Console{In: strings.NewReader(""), Out: &o, Err: &e}); code != want {
		t.Fatalf("etui %v ended with code %d, want %d\n%s%s", args, code, want, o.String(), e.String())
	}
	return o.String(), e.String()
}

// TestLanguageModels holds a conversation through the program with each
// provider's protocol: the environment alone chooses the model.
func TestLanguageModels(t *testing.T) {
	for name, c := range map[string]struct {
		server modeltest.Protocol
		env    map[string]string
		suffix string
	}{
		"openai":    {modeltest.OpenAI, map[string]string{"OPENAI_API_KEY": modeltest.Key, "OPENAI_MODEL": "m"}, "OPENAI_BASE_URL"},
		"anthropic": {modeltest.Anthropic, map[string]string{"ANTHROPIC_API_KEY": modeltest.Key, "ANTHROPIC_MODEL": "m"}, "ANTHROPIC_BASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			logs := `{"namespace":"prod","pod":"checkout","level":"error"}`
			server := c.server(
				modeltest.Reply{Text: []string{"I will ", "look."}, Calls: []chat.Call{{Name: "get_pod_logs", Arguments: []byte(logs)}}},
				modeltest.Reply{Text: []string{"The payment provider times out."}},
				modeltest.Reply{Calls: []chat.Call{{Name: "call_tool", Arguments: []byte(`{"name":"get_weather","arguments":{"city":"Paris"}}`)}, {Name: "find_tools", Arguments: []byte(`{"query":"vacation days left"}`)}}},
				modeltest.Reply{Text: []string{"It is sunny."}},
			)
			defer server.Close()
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			t.Setenv("ETUI_LISTEN", "127.0.0.1:0")
			t.Setenv(c.suffix, server.URL)
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			out, errs := etui(t, exitOK, "--demo", "chat", "--session", "s", "-m", "show me the error logs of the checkout pod in namespace prod")
			if out != "I will look.\nThe payment provider times out.\n" || !strings.Contains(errs, "get_pod_logs "+logs) {
				t.Errorf("out %q\nerr %q", out, errs)
			}
			if out, _ = etui(t, exitOK, "--demo", "chat", "--session", "s", "-m", "and the weather in Paris?"); out != "It is sunny.\n" {
				t.Errorf("out %q", out)
			}
			if problems := server.Problems(); len(problems) > 0 {
				t.Errorf("the provider would not take this: %v", problems)
			}
			if kept := server.Kept(); kept < 0.97 {
				t.Errorf("only %.3f of a request's bytes begin the next one", kept)
			}
			requests := server.Requests()
			last := string(requests[len(requests)-1].Body)
			for _, part := range []string{"Paris now: ", "get_leave_balance("} {
				if !strings.Contains(last, part) {
					t.Errorf("the last request has no %q:\n%s", part, last)
				}
			}
		})
	}
}

// TestFallbackChain: the first model is away, the second answers, and the log
// says so.
func TestFallbackChain(t *testing.T) {
	away := modeltest.OpenAI(modeltest.Reply{Status: 503}, modeltest.Reply{Status: 503})
	defer away.Close()
	there := modeltest.Anthropic(modeltest.Reply{Text: []string{"Here I am."}, Usage: model.Tokens{Input: 3, Output: 3}})
	defer there.Close()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("KEY", modeltest.Key)
	t.Setenv("ETUI_TRUST", dir)
	text := `listen: 127.0.0.1:0
models:
  - {name: first, provider: openai, model: m, base_url: "` + away.URL + `", api_key: "${KEY}", retries: 0}
  - {name: second, provider: anthropic, model: m, base_url: "` + there.URL + `", api_key: "${KEY}"}
agents:
  - {name: main, model: first, fallback: [second]}
`
	if err := os.WriteFile(filepath.Join(dir, "etui.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs := etui(t, exitOK, "-w", dir, "chat", "-m", "hello")
	if out != "Here I am.\n" || !strings.Contains(errs, "503") || strings.Contains(errs, modeltest.Key) {
		t.Errorf("out %q\nerr %q", out, errs)
	}
}

// TestFallbackRests: a model over its limit is asked once, not with every message, and
// the status says so.
func TestFallbackRests(t *testing.T) {
	limited := modeltest.OpenAI(modeltest.Reply{Status: 429, Header: map[string]string{"Retry-After": "3000"}})
	defer limited.Close()
	there := modeltest.OpenAI(slices.Repeat([]modeltest.Reply{{Text: []string{"Here I am."}}}, 3)...)
	defer there.Close()
	t.Setenv("ETUI_MODELS", `[{name: first, provider: openai, model: m1, base_url: "`+limited.URL+`", api_key: `+modeltest.Key+`}, {name: second, provider: openai, model: m2, base_url: "`+there.URL+`", api_key: `+modeltest.Key+`}]`)
	t.Setenv("ETUI_AGENTS", `[{name: main, model: first, fallback: [second]}]`)
	dir := t.TempDir()
	url := startGateway(t, "-w", dir, "serve")
	for range 3 {
		if out, _ := etui(t, exitOK, "--url", url, "chat", "-m", "hello"); out != "Here I am.\n" {
			t.Errorf("out %q", out)
		}
	}
	if n := len(limited.Requests()); n != 1 {
		t.Errorf("the model over its limit was asked %d times for 3 messages", n)
	}
	if out, _ := etui(t, exitOK, "--url", url, "agents", "list"); !strings.Contains(out, "openai/m1 failed: the provider's rate limit is reached (HTTP 429)") || !strings.Contains(out, "avoided until") {
		t.Errorf("agents list says\n%s", out)
	}
	if out, _ := etui(t, exitOK, "-w", dir, "doctor", "--json"); !strings.Contains(out, "the gateway avoids openai/m1 until") {
		t.Errorf("doctor says\n%s", out)
	}
}

// TestDoctorAsksProviders: an address that nobody answers at, a forgotten /v1, a model
// that the server does not have.
func TestDoctorAsksProviders(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"data":[{"id":"llama:latest"},{"id":"qwen"}]}`)
	}))
	defer server.Close()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("ETUI_LISTEN", "127.0.0.1:0")
	t.Setenv("ETUI_SANDBOX", "{mode: off}") // no attack on the walls
	for _, tt := range []struct {
		model, url, want string
		ok               bool
	}{
		{"llama", server.URL + "/v1", "openai/llama: the server answers and has the model", true},
		{"gpt", server.URL + "/v1", "openai/gpt: the server answers, but its list has no model gpt; it has llama:latest, qwen", false},
		{"llama", server.URL, "does base_url need /v1 at its end?", false},
		{"llama", "http://127.0.0.1:1/v1", "openai/llama: the provider is not available: dial tcp", false},
	} {
		t.Setenv("ETUI_MODELS", `[{name: a, provider: openai, model: `+tt.model+`, base_url: "`+tt.url+`", retries: 0}]`)
		var out lockedBuffer
		run(t.Context(), []string{"-w", t.TempDir(), "doctor", "--json"}, &terminal.Console{In: strings.NewReader(""), Out: &out, Err: io.Discard})
		var report []doctor.Finding
		if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(report, func(f doctor.Finding) bool { return f.Check == "model" && strings.Contains(f.Says, tt.want) })
		if i < 0 {
			t.Errorf("%s at %s: doctor does not say %q:\n%s", tt.model, tt.url, tt.want, out.String())
		} else if report[i].OK != tt.ok {
			t.Errorf("%s at %s: ok is %t", tt.model, tt.url, report[i].OK)
		}
	}
}

// TestModelFailures: what a user reads, without the key.
func TestModelFailures(t *testing.T) {
	dir := t.TempDir()
	for says, reply := range map[string]modeltest.Reply{
		"the provider refused the key (HTTP 401)":                {Status: 401, Message: "Incorrect API key provided: " + modeltest.Key},
		"the provider does not have the model (HTTP 404)":        {Status: 404, Message: "no such model"},
		"the request is too long for the model":                  {TooLong: true},
		"the provider is not available":                          {Text: []string{"I thi"}, Drop: true},
		"the provider is not available (HTTP 500)":               {Status: 500},
		"the provider's rate limit is reached (HTTP 429)":        {Status: 429, Header: map[string]string{"Retry-After": "3600"}},
		"model openai/m: the provider refused the key (HTTP 403": {Status: 403},
	} {
		server := modeltest.OpenAI(slices.Repeat([]modeltest.Reply{reply}, 3)...)
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		t.Setenv("ETUI_LISTEN", "127.0.0.1:0")
		t.Setenv("ETUI_MODELS", `[{name: a, provider: openai, model: m, base_url: "`+server.URL+`", api_key: `+modeltest.Key+`, retries: 0}]`)
		_, errs := etui(t, exitFailed, "-w", dir, "chat", "-m", "hello")
		if !strings.Contains(errs, says) || strings.Contains(errs, modeltest.Key) {
			t.Errorf("got  %q\nwant %q", errs, says)
		}
		server.Close()
	}
}
