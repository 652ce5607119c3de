package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

// TestRealServers: servers from npm do their whole work in mode strong, with the folders
// that they need and without a network.
func TestRealServers(t *testing.T) {
	t.Parallel()
	share := t.TempDir()
	if err := os.WriteFile(filepath.Join(share, "picture.png"), onePixel, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, command string
		env           map[string]skill.Secret
		write         []string
		calls         [][3]string // a tool, its arguments, a part of its answer; in order
	}{
		{name: "everything", command: "server-everything", calls: [][3]string{
			{"echo", `{"message":"hello"}`, "hello"},
			{"get-sum", `{"a":1,"b":2}`, "3"},
			{"get-env", `{}`, "HOME"},
			{"get-tiny-image", `{}`, "image/png"},
			{"get-annotated-message", `{"messageType":"success"}`, "completed"},
			{"get-resource-links", `{"count":2}`, "resource"},
			{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "resource"},
			{"get-structured-content", `{"location":"New York"}`, "temperature"},
			{"gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`, "resource"},
			{"toggle-simulated-logging", `{}`, "logging"},
			{"toggle-subscriber-updates", `{}`, "updates"},
			{"trigger-long-running-operation", `{"duration":0.1,"steps":1}`, "completed"},
			{"simulate-research-query", `{"topic":"salt"}`, "salt"},
			{"get-roots-list", `{}`, "testdata/npm"},
			{"trigger-elicitation-request", `{}`, "cancel"},
			{"trigger-url-elicitation", `{"url":"https://example.com"}`, "cancel"},
			{"list_resources", `{"words":"text"}`, "demo://resource/dynamic/text/{resourceId}"},
			{"read_resource", `{"uri":"demo://resource/dynamic/text/1"}`, "resource demo://resource/dynamic/text/1"},
			{"prompt_simple-prompt", `{}`, "simple prompt"},
			{"prompt_args-prompt", `{"city":"Oslo"}`, "Oslo"},
			{"prompt_completable-prompt", `{"department":"Sales","name":"David"}`, "David"},
			{"prompt_resource-prompt", `{"resourceType":"Text","resourceId":"1"}`, "resource"},
		}},
		{name: "files", command: "server-filesystem " + share, write: []string{share}, calls: [][3]string{
			{"list_allowed_directories", `{}`, share},
			{"create_directory", `{"path":"SHARE/a"}`, "created"},
			{"write_file", `{"path":"SHARE/a/b.txt","content":"one\ntwo\n"}`, "wrote"},
			{"read_text_file", `{"path":"SHARE/a/b.txt"}`, "two"},
			{"read_file", `{"path":"SHARE/a/b.txt"}`, "two"},
			{"read_media_file", `{"path":"SHARE/picture.png"}`, "image/png"},
			{"read_multiple_files", `{"paths":["SHARE/a/b.txt"]}`, "two"},
			{"edit_file", `{"path":"SHARE/a/b.txt","edits":[{"oldText":"two","newText":"three"}]}`, "+three"},
			{"list_directory", `{"path":"SHARE/a"}`, "b.txt"},
			{"list_directory_with_sizes", `{"path":"SHARE/a"}`, "b.txt"},
			{"directory_tree", `{"path":"SHARE"}`, "b.txt"},
			{"search_files", `{"path":"SHARE","pattern":"**/*.txt"}`, "b.txt"},
			{"get_file_info", `{"path":"SHARE/a/b.txt"}`, "size"},
			{"move_file", `{"source":"SHARE/a/b.txt","destination":"SHARE/c.txt"}`, "moved"},
		}},
		{name: "memory", command: "server-memory", env: map[string]skill.Secret{"MEMORY_FILE_PATH": "{state}/memory.jsonl"}, calls: [][3]string{
			{"create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tea"]},{"name":"Bo","entityType":"person","observations":[]}]}`, "Ann"},
			{"create_relations", `{"relations":[{"from":"Ann","to":"Bo","relationType":"knows"}]}`, "knows"},
			{"add_observations", `{"observations":[{"entityName":"Bo","contents":["likes salt"]}]}`, "salt"},
			{"read_graph", `{}`, "tea"},
			{"search_nodes", `{"query":"salt"}`, "Bo"},
			{"open_nodes", `{"names":["Ann"]}`, "tea"},
			{"delete_observations", `{"deletions":[{"entityName":"Bo","observations":["likes salt"]}]}`, "deleted"},
			{"delete_relations", `{"relations":[{"from":"Ann","to":"Bo","relationType":"knows"}]}`, "deleted"},
			{"delete_entities", `{"entityNames":["Bo"]}`, "deleted"},
			{"list_resources", `{}`, "memory://"},
			{"read_resource", `{"uri":"memory://knowledge-graph"}`, "memory://"},
		}},
		{name: "thinking", command: "server-sequential-thinking", calls: [][3]string{
			{"sequentialthinking", `{"thought":"one","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":2}`, "thoughtHistoryLength"},
			{"sequentialthinking", `{"thought":"two","nextThoughtNeeded":false,"thoughtNumber":2,"totalThoughts":2}`, `"thoughtHistoryLength": 2`},
		}},
		{name: "commands", command: "mcp-server-commands/build/index.js", calls: [][3]string{
			{"run_command", `{"command":"echo hello && id -u"}`, "hello"},
			{"prompt_run_command", `{"command":"echo hello"}`, "hello"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := startReal(t, t.TempDir(), c.name, c.command, c.env, c.write)
			st := r.until("connected", func(st mcp.Status) bool { return st.Phase == mcp.Connected })
			for _, h := range st.Held {
				t.Errorf("%s is held back: %s", h.Tool, h.Why)
			}
			for _, f := range st.Refused {
				t.Errorf("%s is refused: %s", f.Tool, f.Why)
			}
			left := slices.Clone(st.Tools)
			for _, call := range c.calls {
				name := "mcp__" + c.name + "__" + call[0]
				left = slices.DeleteFunc(left, func(other string) bool { return other == name })
				got, err := r.call(name, strings.ReplaceAll(call[1], "SHARE", share))
				if err != nil {
					t.Fatalf("%s: %v", call[0], err)
				}
				if got.Failed {
					t.Errorf("%s fails: %s", call[0], got.Text)
				}
				if !strings.Contains(got.Text, call[2]) {
					t.Errorf("%s: %q does not contain %q", call[0], got.Text, call[2])
				}
			}
			if len(left) > 0 {
				t.Errorf("not called: %v", left)
			}
		})
	}
}

// startReal starts a server from npm in mode strong.
func startReal(t *testing.T, state, name, command string, env map[string]skill.Secret, write []string) *running {
	t.Helper()
	packages, err := filepath.Abs("testdata/npm")
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(command)
	program := filepath.Join(packages, "node_modules", args[0])
	if !strings.Contains(args[0], "/") {
		program = filepath.Join(packages, "node_modules/@modelcontextprotocol", args[0], "dist/index.js")
	}
	if _, err := os.Stat(program); err != nil {
		leftout.Without(t, args[0]+" from npm")
	}
	return startNode(t, state, name, append([]string{program}, args[1:]...), env, packages, write)
}

// startNode starts a program for Node.js in mode strong.
func startNode(t *testing.T, state, name string, command []string, env map[string]skill.Secret, reads string, write []string) *running {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		leftout.Without(t, "Node.js")
	}
	var read []string
	if node, err = filepath.EvalSymlinks(node); err == nil && !strings.HasPrefix(node, "/usr/") {
		read = []string{filepath.Dir(filepath.Dir(node))}
	}
	walls, err := sandbox.New(sandbox.Config{Mode: sandbox.Strong, Read: read})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = walls.Close() })
	return start(t, mcp.Config{Sandbox: walls, State: state}, skill.Config{
		Name: name, Command: append([]string{"node"}, command...), Env: env, Read: []string{reads}, Write: write,
	})
}

// TestStateLasts: a server finds its private folder again, and no other server's.
func TestStateLasts(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	state, env := t.TempDir(), map[string]skill.Secret{"DIARY": "{state}/diary.txt"}
	for _, c := range []struct {
		server, text string
		want         bool // it knows Ann
	}{{"one", "Ann", true}, {"one", "Bo", true}, {"two", "Bo", false}} {
		r := startNode(t, state, c.server, []string{filepath.Join(folder, "diary.js")}, env, folder, nil)
		r.until("connected", func(st mcp.Status) bool { return st.Phase == mcp.Connected })
		got, err := r.call("mcp__"+c.server+"__note", `{"text":"`+c.text+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got.Text, "Ann") != c.want || !strings.Contains(got.Text, c.text) {
			t.Errorf("server %s: %s", c.server, got.Text)
		}
		r.stop()
	}
}

// TestErrorsNameTheSandbox: a failure that the sandbox causes says so, and what to change.
func TestErrorsNameTheSandbox(t *testing.T) {
	t.Parallel()
	r := startReal(t, t.TempDir(), "memory", "server-memory", nil, nil) // its default file is beside its program
	r.until("connected", func(st mcp.Status) bool { return st.Phase == mcp.Connected })
	got, err := r.call("mcp__memory__create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":[]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Failed {
		t.Error("it has written beside its program")
	}
	if want := "memory.yaml grants more with read: [...] and write: [...]"; !strings.Contains(got.Text, want) {
		t.Errorf("%q does not contain %q", got.Text, want)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	r = startReal(t, t.TempDir(), "files", "server-filesystem "+gone, nil, []string{gone})
	st := r.until("away", func(st mcp.Status) bool { return st.Err != "" })
	if want := "a folder to write"; !strings.Contains(st.Err, want) {
		t.Errorf("%q does not contain %q", st.Err, want)
	}
}

// TestAdvice: a file whose program would fetch its package says how to install it, if etui can, and
// never to do what cannot work.
func TestAdvice(t *testing.T) {
	t.Parallel()
	walls, err := sandbox.New(sandbox.Config{Mode: sandbox.Strong})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = walls.Close() })
	for command, want := range map[string]string{
		"npx -y some-server":          "Install it once: etui mcp add srv --force -- npx -y some-server. Or name the hosts that it needs, as in network: [registry.npmjs.org]",
		"uvx some-server":             "Install it once: etui mcp add srv --force -- uvx some-server. Or name the hosts that it needs, as in network: [pypi.org, files.pythonhosted.org]",
		"pnpm dlx some-server":        "Install it once: etui mcp add srv --force -- pnpm dlx some-server",
		"go run example.com/x@latest": "the sandbox gives it none. Name the hosts that it needs with the key network",
	} {
		s, err := mcp.New(mcp.Config{Sandbox: walls, State: t.TempDir()}).Load(skill.Config{Name: "srv", Command: strings.Fields(command)})
		if err != nil {
			t.Fatal(err)
		}
		if unmet := strings.Join(skill.DetailsOf(s).Unmet, "; "); !strings.Contains(unmet, want) {
			t.Errorf("%s: %q does not contain %q", command, unmet, want)
		}
	}
}

// TestKeyAsArgument: a program that wants its key as an argument gets it from its environment, and
// neither the file nor the identity of the server has it.
func TestKeyAsArgument(t *testing.T) {
	t.Parallel()
	c := self("argument")
	c.Command = append(c.Command, "--key={env:KEY}")
	c.Env["KEY"], c.Expanded = "s3cret-key", []skill.Secret{"s3cret-key"}
	r := start(t, mcp.Config{}, c)
	r.untilTools("mcp__srv__args")
	got, err := r.call("mcp__srv__args", `{}`)
	if err != nil || !strings.Contains(got.Text, "10 bytes of key") {
		t.Errorf("it got %q, %v", got.Text, err)
	}
	if id := r.Status().Identity; !strings.HasSuffix(id, "--key={env:KEY}") {
		t.Errorf("its identity is %s", id)
	}
}

// TestClosedFolders: no server is granted etui's state, its configuration, a home or a
// place of keys.
func TestClosedFolders(t *testing.T) {
	p := mcp.New(mcp.Config{Closed: []string{"/srv/etui/state", "/srv/etui/etui.yaml"}})
	for _, folder := range []string{"/srv/etui/state", "/srv/etui/state/mcp", "/srv/etui", "/srv", "/", "/etc", "/root", "~/.ssh", "relative"} {
		for _, c := range []skill.Config{{Read: []string{folder}}, {Write: []string{folder}}} {
			c.Name, c.Command = "a", []string{"x"}
			if _, err := p.Load(c); err == nil {
				t.Errorf("%s is granted", folder)
			}
		}
	}
	c := skill.Config{Name: "a", Command: []string{"x"}, Write: []string{"/srv/etui/notes"}}
	if _, err := p.Load(c); err != nil {
		t.Error(err)
	}
}
