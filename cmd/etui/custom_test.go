package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/terminal"
)

// TestCustomStrategy: an agent says what its strategy custom includes; a message may
// leave out more.
func TestCustomStrategy(t *testing.T) {
	read := make(chan string, 1)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		read <- string(body)
		w.WriteHeader(http.StatusBadRequest) // the turn need not go on
	}))
	defer model.Close()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("ETUI_MODELS", `[{name: m, provider: openai, model: m, base_url: "`+model.URL+`/v1", api_key: x, retries: 0}]`)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"memory/MEMORY.md":      "The office cat is called Mimi.",
		"skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets people\n---\nSay hello.\n",
		"etui.yaml": `
agents:
  - {name: all, strategy: custom}
  - {name: memory, strategy: custom, custom: {runtime: false}, skills: [none]}
  - {name: runtime, strategy: custom, custom: {memory: false}}
  - {name: full, custom: {memory: false}}
`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args                    []string
		memory, runtime, skills bool
	}{
		{[]string{"--agent", "all"}, true, true, true},
		{[]string{"--agent", "all", "--no-memory"}, false, true, true},
		{[]string{"--agent", "all", "--include-skill", "none"}, true, true, false},
		{[]string{"--agent", "memory"}, true, false, false},
		{[]string{"--agent", "runtime"}, false, true, true},
		{[]string{"--agent", "runtime", "--no-runtime"}, false, false, true},
		{[]string{"--agent", "full"}, true, true, true},
		{[]string{"--agent", "full", "--strategy", "custom"}, false, true, true},
	} {
		args := append([]string{"-w", dir, "chat", "-m", "hello"}, tt.args...)
		var said lockedBuffer
		run(t.Context(), args, &terminal.Console{In: strings.NewReader(""), Out: &said, Err: &said})
		request := ""
		select {
		case request = <-read:
		default:
			t.Fatalf("%v: the model was not asked: %s", tt.args, said.String())
		}
		for _, part := range []struct {
			what, text string
			want       bool
		}{
			{"the memory", "Mimi", tt.memory},
			{"the runtime facts", ", channel cli]", tt.runtime},
			{"the skill", "Greets people", tt.skills},
		} {
			if got := strings.Contains(request, part.text); got != part.want {
				t.Errorf("%q: the request contains %s: %t", tt.args, part.what, got)
			}
		}
	}
}
