package etui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel/telegram/telegramtest"
)

// program builds the n-th program of a page in a module of its own, as a reader would, and
// returns its path.
func program(t *testing.T, page string, n, count int) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1)
	if len(found) != count {
		t.Fatalf("%s has %d programs, want %d", page, len(found), count)
	}
	source := found[n][1]
	if lines := bytes.Count(source, []byte("\n")); lines > 60 {
		t.Errorf("%s: program %d has %d lines, want at most 60", page, n+1, lines)
	}
	if formatted, err := format.Source(source); err != nil || !bytes.Equal(formatted, source) {
		t.Errorf("%s: program %d is not as gofmt writes it (%v)", page, n+1, err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("go.mod") // with what etui requires, Go looks at no other module
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"main.go": string(source),
		"go.sum":  string(sums),
		"go.mod":  strings.Replace(string(own), "module "+module, "module reader", 1) + "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + here + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"build", "-mod=mod", "-ldflags=-s -w", "-o", "program", "."}, {"vet", "-mod=mod", "."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=-trimpath")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: program %d: go %v: %v\n%s", page, n+1, args, err, out)
		}
	}
	return filepath.Join(dir, "program")
}

// openAI is a model behind OpenAI's API that calls a tool for each question, and then says what it
// returned.
func openAI(t *testing.T, call string) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct{ Role, Content string }
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &in); err != nil {
			t.Error(err)
		}
		delta := `{"tool_calls":[{"index":0,"id":"call1","type":"function","function":` + call + `}]}`
		if last := in.Messages[len(in.Messages)-1]; last.Role == "tool" {
			text, _ := json.Marshal("It says: " + last.Content) // a text
			delta = `{"content":` + string(text) + `}`
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", delta)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// output runs a program in its own folder and returns what it prints.
func output(t *testing.T, path string, environ ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Dir, cmd.Env = filepath.Dir(path), append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// TestReadme runs the program of the README.
func TestReadme(t *testing.T) {
	t.Parallel()
	url := openAI(t, `{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}`)
	if got := output(t, program(t, "README.md", 0, 1), "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+url); !strings.Contains(got, "It says: It is sunny in Paris.") {
		t.Errorf("it prints %q", got)
	}
}

// TestEmbedding runs the programs of docs/embedding.md: selection alone, an agent with tools,
// and a bot on a channel with a store, skills, approvals and the HTTP API.
func TestEmbedding(t *testing.T) {
	const page = "docs/embedding.md"
	t.Run("selection", func(t *testing.T) {
		t.Parallel()
		got := output(t, program(t, page, 0, 3))
		_, oncall, _ := strings.Cut(got, "[oncall]")
		if !strings.Contains(got, "restart_server false") || !strings.Contains(oncall, "restart_server true") {
			t.Errorf("it prints %s", got)
		}
	})
	t.Run("agent", func(t *testing.T) {
		t.Parallel()
		url := openAI(t, `{"name":"restart_server","arguments":"{\"name\":\"web1\"}"}`)
		if got := output(t, program(t, page, 1, 3), "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+url); !strings.Contains(got, "calls restart_server") || !strings.Contains(got, "does not allow this call here") {
			t.Errorf("it prints %s", got)
		}
	})
	t.Run("bot", func(t *testing.T) {
		t.Parallel()
		path := program(t, page, 2, 3)
		dir := filepath.Dir(path)
		for name, text := range map[string]string{
			"skills/rules/SKILL.md": "---\nname: rules\ndescription: The rules of cancelling orders.\n---\nBe kind.\n",
			"skills/orders.yaml":    "name: orders\ndescription: Orders of customers.\ntools: [cancel_order]\n",
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		platform := telegramtest.Start()
		defer platform.Close()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		cmd := exec.CommandContext(ctx, path)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TELEGRAM_TOKEN="+platform.Token, "TELEGRAM_URL="+platform.URL, "LISTEN=127.0.0.1:0",
			"OPENAI_API_KEY=k", "OPENAI_BASE_URL="+openAI(t, `{"name":"cancel_order","arguments":"{\"Number\":7}"}`))
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		says := func(text string) {
			t.Helper()
			said := func() bool {
				list := platform.Sent("42")
				return len(list) > 0 && strings.Contains(list[len(list)-1].Text, text)
			}
			if err := platform.Wait(ctx, said); err != nil {
				t.Fatalf("it never says %q: %v, %+v\n%s", text, err, platform.Sent("42"), &log)
			}
		}
		write := func(text string) {
			platform.Write(telegramtest.Object{"text": text, "from": telegramtest.Object{"id": 42, "first_name": "Ann"}, "chat": telegramtest.Object{"id": 42, "type": "private"}})
		}
		write("cancel my order 7")
		says("cancel_order")
		write("/approve")
		says("It says: Order 7 is cancelled.")
		stop()
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "state", "etui.db")); err != nil || log.Len() > 0 {
			t.Errorf("it ends with %v and prints %s", err, &log)
		}
	})
}
