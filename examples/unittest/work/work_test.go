package work_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/unittest/lang"
	"example.com/unittest/lang/golang"
	"example.com/unittest/work"
	"github.com/etui-run/etui/tool"
)

// open is the work on the Go sample, without anything that runs.
func open(t *testing.T) (root string, call func(tool, args string, key ...string) (string, bool)) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(root, os.DirFS("../samples/go")); err != nil {
		t.Fatal(err)
	}
	w, err := work.Open(work.Config{Project: &lang.Project{Root: root, Bench: t.TempDir()}, Language: golang.New(), Target: "rate/rate.go", Goal: 80, Mutants: 60})
	if err != nil {
		t.Fatal(err)
	}
	return root, func(name, args string, key ...string) (string, bool) {
		t.Helper()
		for _, tl := range work.Tools(w) {
			if tl.Definition().Name == name {
				ctx := tool.WithHost(t.Context(), tool.Host{Key: strings.Join(key, "")})
				r, err := tl.Call(ctx, json.RawMessage(args))
				if err != nil {
					return err.Error(), false
				}
				return r.Text, !r.Failed
			}
		}
		t.Fatalf("there is no tool %s", name)
		return "", false
	}
}

// TestWrites tries to write what is no new test.
func TestWrites(t *testing.T) {
	t.Parallel()
	root, call := open(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "away")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"rate/rate.go": "only these are written; write rate/rate_test.go", "go.mod": "only these are written", "../x_test.go": "not in the project",
		"rate/zone_test.go": "was there before and stays as it is", "/etc/x_test.go": "not in the project", "away/x_test.go": "escapes",
	} {
		if says, ok := call("FileSystem", `{"action":"write","path":"`+path+`","content":"package x"}`); ok || !strings.Contains(says, want) {
			t.Errorf("%s: %v, %s; want %s", path, ok, says, want)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("something was written outside: %v, %v", left, err)
	}
	if says, ok := call("FileSystem", `{"action":"write","path":"rate/rate_test.go","content":"package rate\n"}`); !ok {
		t.Error(says)
	}
}

// TestRunsAgain repeats calls, as after a crash: with their keys they write the same once more,
// without they would insert twice.
func TestRunsAgain(t *testing.T) {
	t.Parallel()
	root, call := open(t)
	const file = "rate/rate_test.go"
	for _, c := range []struct{ key, args, want string }{
		{"1", `{"action":"write","path":"` + file + `","content":"package rate\n"}`, "package rate\n"},
		{"2", `{"action":"replace","path":"` + file + `","old":"rate\n","content":"// new\nrate\n"}`, "package // new\nrate\n"},
		{"2", `{"action":"replace","path":"` + file + `","old":"rate\n","content":"// new\nrate\n"}`, "package // new\nrate\n"},
		{"3", `{"action":"replace","path":"` + file + `","old":"rate\n","content":"// new\nrate\n"}`, "package // new\n// new\nrate\n"},
	} {
		if says, ok := call("FileSystem", c.args, c.key); !ok {
			t.Error(says)
		}
		if text, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(text) != c.want {
			t.Errorf("call %s: %q, %v, want %q", c.key, text, err, c.want)
		}
	}
}

// TestReads calls the tools that only read.
func TestReads(t *testing.T) {
	t.Parallel()
	_, call := open(t)
	for _, c := range []struct{ tool, args, want string }{
		{"FileSystem", `{"action":"read","path":"rate/zone.go","from":3}`, "   3  // ZoneOf returns"},
		{"Directory", `{"path":".","tests":true}`, "rate/zone_test.go"},
		{"SymbolFinder", `{"name":"Zone"}`, "rate/rate.go:12: type Zone string\n"},
		{"KnowledgeBase", `{"query":"how do we compare errors","limit":1}`, "errors.Is against the package's sentinels"},
		{"BuildInspector", `{}`, "module example.com/shipping"},
		{"BoundaryAnalyzer", `{"target":"","function":"tier"}`, `"values":["1999","2000","2001"]`},
		{"StyleAnalyzer", `{"example":true}`, "func TestZoneOf"},
		{"TestSkeleton", `{}`, "Write it to rate/rate_test.go"},
	} {
		if says, ok := call(c.tool, c.args); !ok || !strings.Contains(says, c.want) {
			t.Errorf("%s %s: %v, %s", c.tool, c.args, ok, says)
		}
	}
	for tool, want := range map[string]string{"SyntaxChecker": "no tests have been written yet", "Coverage": "MavenExecutor runs them", "TestReport": "have not run yet", "MutationChecker": "MavenExecutor runs them"} {
		if says, ok := call(tool, `{}`); ok || !strings.Contains(says, want) {
			t.Errorf("%s: %v, %s", tool, ok, says)
		}
	}
}
