package shell_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/builtin/shell"
	"github.com/etui-run/etui/internal/sandbox"
	"github.com/etui-run/etui/tool"
)

// open is a shell without isolation: what isolates is the sandbox's to prove.
func open(t *testing.T) (dir string, call func(session, name, args string) string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	box, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	s := shell.New(shell.Config{Sandbox: box, Dir: dir, ReadOnly: []string{filepath.Join(dir, "none")}})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, func(session, name, args string) string {
		t.Helper()
		for _, tl := range shell.Tools(s) {
			if tl.Definition().Name != name {
				continue
			}
			schema, err := tool.CompileSchema(tl.Definition().Schema())
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate([]byte(args)); err != nil {
				t.Fatalf("%s %s: %v", name, args, err)
			}
			ctx := tool.WithHost(context.Background(), tool.Host{Facts: chat.Facts{Agent: "main", Session: session}})
			r, err := tl.Call(ctx, json.RawMessage(args))
			if err != nil {
				return "! " + err.Error()
			}
			return r.Text
		}
		t.Fatalf("there is no tool %s", name)
		return ""
	}
}

func want(t *testing.T, got, says string) {
	t.Helper()
	if !strings.Contains(got, says) || strings.HasPrefix(got, "! ") != strings.HasPrefix(says, "! ") {
		t.Errorf("got %.300q, want %q", got, says)
	}
}

func TestExec(t *testing.T) {
	dir, call := open(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	want(t, call("a", "exec", `{"command":"echo out; echo err >&2; echo more; exit 3"}`), "out\nerr\nmore\n\n(exit status 3, sandbox: off)")
	want(t, call("a", "exec", `{"command":"basename \"$PWD\"","dir":"sub"}`), "sub\n")
	want(t, call("a", "exec", `{"command":"true","dir":"`+dir+`/sub"}`), "(no output)")
	want(t, call("a", "exec", `{"command":"sleep 60","timeout":1}`), "its time is over")
	want(t, call("a", "exec", `{"command":"yes | head -c 300000"}`), "; write long outputs to a file, and read that, sandbox: off)")
	want(t, call("a", "exec", `{"command":"printf '10%%\\r100%%\\r\\ndone \\033[31mred\\033[0m\\r\\n'"}`), "100%\ndone red\n")
	if got := call("a", "exec", `{"command":"yes 宽 | head -c 300000"}`); len(got) > 32<<10 {
		t.Errorf("one call gives %d bytes", len(got))
	}
	for _, out := range []string{"..", "/", "none", "root", "sub/../.."} {
		want(t, call("a", "exec", `{"command":"true","dir":"`+out+`"}`), "! ")
	}
}

func TestBackground(t *testing.T) {
	_, call := open(t)
	want(t, call("a", "background_output", `{"id":"cmd-1"}`), "! no command runs in the background")
	want(t, call("a", "exec", `{"command":"echo one; sleep 600","background":true}`), "It runs as cmd-1 (sandbox: off)")
	want(t, call("a", "exec", `{"command":"cat; echo at; sleep 600","background":true}`), "cmd-2")
	want(t, call("a", "background_output", `{"id":"cmd-1","wait":20}`), "one\n")
	want(t, call("b", "background_output", `{"id":"cmd-1"}`), "! no command runs in the background")
	want(t, call("b", "stop_background", `{"id":"cmd-1"}`), "! no command")
	want(t, call("a", "background_output", `{"id":"cmd-9"}`), `! there is no command "cmd-9"; there are [cmd-1 cmd-2]`)
	want(t, call("a", "background_output", `{"id":"cmd-2","wait":20}`), "at\n\n(it runs on)")
	want(t, call("a", "background_output", `{"id":"cmd-2","wait":0}`), "(nothing new; it runs on)")
	want(t, call("a", "stop_background", `{"id":"cmd-2"}`), "cmd-2 has ended.")
	want(t, call("a", "exec", `{"command":"yes 宽 | head -c 100000; sleep 600","background":true}`), "cmd-3")
	for read := 0; read < 100_000; {
		got := call("a", "background_output", `{"id":"cmd-3","wait":20}`)
		if read += len(got) - len("\n(it runs on)"); len(got) > 32<<10 || strings.Contains(got, "\uFFFD") {
			t.Fatalf("one call gives %d bytes", len(got))
		}
	}
}

// TestPlaces: a command that has ended makes room for another one, one that runs
// does not.
func TestPlaces(t *testing.T) {
	_, call := open(t)
	for range 8 {
		want(t, call("a", "exec", `{"command":"sleep 600","background":true}`), "It runs as")
	}
	want(t, call("a", "exec", `{"command":"sleep 600","background":true}`), "! 8 commands run in the background already")
	want(t, call("a", "stop_background", `{"id":"cmd-3"}`), "has ended")
	want(t, call("a", "background_output", `{"id":"cmd-3","wait":50}`), "(the program ended")
	want(t, call("a", "exec", `{"command":"true","background":true}`), "It runs as cmd-9")
}
