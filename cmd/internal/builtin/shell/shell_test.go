package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/builtin/shell"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
	"github.com/etui-run/etui/tool"
)

// open returns a shell without isolation, which the tests of package sandbox cover.
func open(t *testing.T) (dir string, call func(session, name, args string) string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	box, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		t.Fatal(err)
	}
	return openIn(t, box)
}

// openIn returns a shell whose commands run in a sandbox.
func openIn(t *testing.T, box *sandbox.Sandbox) (dir string, call func(session, name, args string) string) {
	t.Helper()
	dir = t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil { // root's commands run as another user
		t.Fatal(err)
	}
	guard, err := protect.New(protect.Config{Dir: dir, Names: []string{filepath.Join(dir, "etui.yaml"), filepath.Join(dir, "skills")}, Mode: box.Mode()})
	if err != nil {
		t.Fatal(err)
	}
	s := shell.New(shell.Config{Sandbox: box, Dir: dir, ReadOnly: []string{filepath.Join(dir, "none")}, Guard: guard})
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), guard.Close()); err != nil {
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
	t.Parallel()
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
	want(t, call("a", "exec", `{"command":"sleep 60","timeout":1}`), "timed out")
	want(t, call("a", "exec", `{"command":"yes | head -c 300000"}`), "; write long outputs to a file, and read that, sandbox: off)")
	want(t, call("a", "exec", `{"command":"printf '10%%\\r100%%\\r\\ndone \\033[31mred\\033[0m\\r\\n'"}`), "100%\ndone red\n")
	if got := call("a", "exec", `{"command":"yes 宽 | head -c 300000"}`); len(got) > 32<<10 {
		t.Errorf("one call gives %d bytes", len(got))
	}
	for _, out := range []string{"..", "/", "none", "root", "sub/../.."} {
		want(t, call("a", "exec", `{"command":"true","dir":"`+out+`"}`), "! ")
	}
}

// TestWordsAreNotCut: what long output says in one word comes in one result, where secrets
// are looked for.
func TestWordsAreNotCut(t *testing.T) {
	t.Parallel()
	_, call := open(t)
	want(t, call("a", "exec", `{"command":"yes '' | head -c 30710 > long; echo tr0ub4dor-and-more >> long; cat long; touch written; sleep 600","background":true}`), "cmd-1")
	want(t, call("a", "exec", `{"command":"until test -e written; do sleep 0.1; done; echo there"}`), "there")
	for {
		got := call("a", "background_output", `{"id":"cmd-1","wait":20}`)
		if strings.Contains(got, "tr0ub") || strings.Contains(got, "more") || strings.HasPrefix(got, "!") {
			want(t, got, "tr0ub4dor-and-more")
			return
		}
	}
}

// TestNoHalfWords: where output is left out, neither the beginning nor the end of a word stays, in
// which a secret would not be found.
func TestNoHalfWords(t *testing.T) {
	t.Parallel()
	_, call := open(t)
	word := strings.Repeat("tr0ub4dor", 9)
	for _, before := range []int{15300, 15340, 15400} { // the first half of what is shown ends in a word
		command := fmt.Sprintf(`yes a | head -c %d; echo %s; yes b | head -c 40000; echo; echo %[2]s; yes c | head -c %[1]d`, before, word)
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		got := call("a", "exec", string(args))
		if left := strings.ReplaceAll(got, word, ""); strings.ContainsAny(left, "04") && strings.Contains(left, "tr0") || strings.Contains(left, "4dor") {
			t.Errorf("%d bytes before the word: a part of it is shown", before)
		}
		want(t, got, "bytes left out")
	}
	want(t, call("a", "exec", `{"command":"yes `+word+` | head -c 300000; touch all; sleep 600","background":true}`), "cmd-1")
	want(t, call("a", "exec", `{"command":"until test -e all; do sleep 0.1; done; sleep 0.3"}`), "no output")
	got := call("a", "background_output", `{"id":"cmd-1"}`)
	want(t, got, "bytes before this were dropped")
	if _, shown, _ := strings.Cut(got, "\n"); !strings.HasPrefix(shown, word) {
		t.Errorf("it begins with %.100q", shown)
	}
}

func TestBackground(t *testing.T) {
	t.Parallel()
	_, call := open(t)
	want(t, call("a", "background_output", `{"id":"cmd-1"}`), "! no command is running in the background")
	want(t, call("a", "exec", `{"command":"echo one; sleep 600","background":true}`), "Running as cmd-1 (sandbox: off)")
	want(t, call("a", "exec", `{"command":"cat; echo at; sleep 600","background":true}`), "cmd-2")
	want(t, call("a", "background_output", `{"id":"cmd-1","wait":20}`), "one\n")
	want(t, call("b", "background_output", `{"id":"cmd-1"}`), "! no command is running in the background")
	want(t, call("b", "stop_background", `{"id":"cmd-1"}`), "! no command")
	want(t, call("a", "background_output", `{"id":"cmd-9"}`), `! there is no command "cmd-9"; there are [cmd-1 cmd-2]`)
	want(t, call("a", "background_output", `{"id":"cmd-2","wait":20}`), "at\n\n(still running)")
	want(t, call("a", "background_output", `{"id":"cmd-2","wait":0}`), "(nothing new; still running)")
	want(t, call("a", "stop_background", `{"id":"cmd-2"}`), "cmd-2 has ended.")
	want(t, call("a", "exec", `{"command":"yes 宽 | head -c 100000; sleep 600","background":true}`), "cmd-3")
	for read := 0; read < 100_000; {
		got := call("a", "background_output", `{"id":"cmd-3","wait":20}`)
		if read += len(got) - len("\n(still running)"); len(got) > 32<<10 || strings.Contains(got, "\uFFFD") {
			t.Fatalf("one call gives %d bytes", len(got))
		}
	}
}

// TestPlaces checks that conversations share the places: one that has fewer than another gets
// one of its, and none is taken from those that have as few.
func TestPlaces(t *testing.T) {
	t.Parallel()
	_, call := open(t)
	begin := func(who, says string) {
		t.Helper()
		want(t, call(who, "exec", `{"command":"sleep 600","background":true}`), says)
	}
	for range 16 {
		begin("a", "Running as")
	}
	begin("a", "! 16 commands are already running in the background")
	want(t, call("a", "stop_background", `{"id":"cmd-3"}`), "has ended")
	want(t, call("a", "background_output", `{"id":"cmd-3","wait":50}`), "(the program ended")
	begin("a", "Running as cmd-17")
	for n := range 8 {
		begin("b", fmt.Sprintf("Running as cmd-%d", 18+n))
	}
	begin("b", "! 16 commands")
	want(t, call("a", "background_output", `{"id":"cmd-17","wait":0}`), "another conversation had fewer.)")
	want(t, call("a", "background_output", `{"id":"cmd-1","wait":0}`), "still running")
	for n := range 14 {
		begin(fmt.Sprint("c", n), "Running as")
	}
	begin("late", "! 16 commands")
	want(t, call("a", "background_output", `{"id":"cmd-1","wait":0}`), "still running")
	want(t, call("b", "background_output", `{"id":"cmd-18","wait":0}`), "still running")
}

// TestProtected checks that trusted files stay unchanged in every mode, and that the
// result says so.
func TestProtected(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the modes are Linux's")
	}
	for _, mode := range []sandbox.Mode{sandbox.Strong, sandbox.Landlock} {
		box, err := sandbox.New(sandbox.Config{Mode: mode, Require: mode})
		if err != nil {
			t.Fatal(err)
		}
		dir, call := openIn(t, box)
		files := map[string]string{"etui.yaml": "log: {}", "skills/a.yaml": "name: a", ".git/HEAD": "ref", ".git/hooks/pre-commit": "mine", ".git/config": "[core]\n\tpager = mine\n"}
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		script := "exec 2>&1; for f in etui.yaml skills/a.yaml skills/b.yaml .git/hooks/pre-commit .git/config .envrc; do echo evil > $f; done; " +
			"rm -rf skills; mv etui.yaml x; mv .git g; mkdir -p .git/hooks; echo evil > .git/hooks/post-commit; mkdir .vscode; echo evil > .vscode/tasks.json; chmod 500 .vscode"
		want(t, call("a", "exec", `{"command":"`+script+`"}`), ".vscode is a name that other programs trust; it is etui-aside-")
		want(t, call("a", "exec", `{"command":"`+script+`; echo done; sleep 600","background":true}`), "cmd-1")
		for !strings.Contains(call("a", "background_output", `{"id":"cmd-1","wait":20}`), "done\n") {
		}
		want(t, call("a", "stop_background", `{"id":"cmd-1"}`), "cmd-1 has ended.")
		for name, text := range files {
			if now, err := os.ReadFile(filepath.Join(dir, name)); name != ".git/HEAD" && string(now) != text {
				t.Errorf("%s: %s is %q, %v", mode, name, now, err)
			}
		}
		for _, name := range []string{"skills/b.yaml", ".envrc", ".vscode", ".git/hooks/post-commit"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s: there is %s", mode, name)
			}
		}
	}
}

// TestNetwork checks that the model learns which hosts commands may reach.
func TestNetwork(t *testing.T) {
	t.Parallel()
	box, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	guard, err := protect.New(protect.Config{Dir: dir, Mode: box.Mode()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = guard.Close() }()
	s := shell.New(shell.Config{Sandbox: box, Dir: dir, Guard: guard, Network: []string{"pypi.org", "*.example.org"}})
	for _, tl := range s.Registered() {
		d := tl.Definition()
		if told := strings.Contains(d.Description, "pypi.org, *.example.org."); told != (d.Name == "exec") || told != strings.Contains(d.Translations["zh"], "pypi.org") {
			t.Errorf("%s: %s", d.Name, d.Description)
		}
		if d.Name != "exec" {
			continue
		}
		r, err := tl.Call(t.Context(), json.RawMessage(`{"command":"true"}`))
		if err != nil {
			t.Fatal(err)
		}
		want(t, r.Text, "(exit status 0, sandbox: off, network: pypi.org, *.example.org)")
	}
}

// TestClose: closing ends the commands that callers wait for, and checks what they left.
func TestClose(t *testing.T) {
	t.Parallel()
	box, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	guard, err := protect.New(protect.Config{Dir: dir, Mode: box.Mode()})
	if err != nil {
		t.Fatal(err)
	}
	s := shell.New(shell.Config{Sandbox: box, Dir: dir, Guard: guard})
	ended := make(chan error)
	for _, tl := range shell.Tools(s) {
		if tl.Definition().Name == "exec" {
			go func() {
				_, err := tl.Call(context.Background(), json.RawMessage(`{"command":"touch .envrc started; sleep 600","timeout":600}`))
				ended <- err
			}()
		}
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
			break
		}
		runtime.Gosched()
	}
	if err := errors.Join(s.Close(), guard.Close()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || strings.Contains(err.Error(), "already closed") {
		t.Errorf("the command ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".envrc")); err == nil {
		t.Error(".envrc is there")
	}
}
