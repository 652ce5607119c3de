package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/internal/terminal"
)

// lockedBuffer takes what several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startGateway runs the program with a state folder of its own, and returns the
// URL of its gateway. It ends with the test.
func startGateway(t *testing.T, args ...string) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", home)
	t.Setenv("ETUI_LISTEN", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	var out lockedBuffer
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, &terminal.Console{In: bytes.NewReader(nil), Out: &out, Err: &out}) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != exitOK {
			t.Errorf("%v ended with code %d:\n%s", args, code, out.String())
		}
	})
	for range 2000 {
		if found, _ := filepath.Glob(filepath.Join(home, "etui", "*", "instance.json")); len(found) == 1 {
			if url := instance(filepath.Dir(found[0])).URL; url != "" && client.IsGateway(ctx, url) {
				return url
			}
		}
		select {
		case code := <-ended:
			ended <- code
			t.Fatalf("%v ended with code %d:\n%s", args, code, out.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("the gateway did not start within 10 s")
	return ""
}

// TestOpenAIClient drives the demo with OpenAI's own client from npm.
func TestOpenAIClient(t *testing.T) {
	if _, err := os.Stat("testdata/openai/node_modules/openai"); err != nil {
		leftout.Without(t, "OpenAI's client from npm")
	}
	url := startGateway(t, "demo")
	cmd := exec.CommandContext(t.Context(), "node", "client.mjs", url)
	cmd.Dir = "testdata/openai"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("node client.mjs: %v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}

// TestClientTools drives a gateway with the clients of OpenAI and Anthropic from npm, which bring
// their own tools: over each API, whole and streamed.
func TestClientTools(t *testing.T) {
	if _, err := os.Stat("testdata/openai/node_modules/@anthropic-ai/sdk"); err != nil {
		leftout.Without(t, "the clients of OpenAI and Anthropic from npm")
	}
	dir := t.TempDir()
	t.Setenv("ETUI_TRUST", dir)
	for name, text := range map[string]string{
		"etui.yaml": "models: [{name: m, provider: scripted, script: answers.yaml}]\nagents: [{name: main, model: m}]\n",
		"note.txt":  "A short note.\n",
		"answers.yaml": `answers:
  - text: Reading.
    calls:
      - {name: etui_read_file, arguments: {path: note.txt}}
      - {name: read_file, arguments: {path: a.txt}}
      - {name: read_file, arguments: {path: b.txt}}
  - text: The note is short, and both files were read.
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := startGateway(t, "-w", dir, "serve")
	cmd := exec.CommandContext(t.Context(), "node", "tools.mjs", url)
	cmd.Dir = "testdata/openai"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("node tools.mjs: %v\n%s", err, out)
	}
}
