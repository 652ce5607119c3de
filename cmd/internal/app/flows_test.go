package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/secret"
)

// serving makes an App of a workspace with a configuration and files of workflows, by name.
func serving(t *testing.T, dir string, files map[string]string, before func()) *App {
	t.Helper()
	for name, text := range files {
		place(t, filepath.Join(dir, name), text)
	}
	w, err := workdir.Open(dir, "", []string{"ETUI_STATE=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before()
	}
	a, err := New(t.Context(), w, Config{Secrets: &secret.Set{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func place(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const mend = "phases:\n  - name: mend\n    next: [{to: done}]\n"

// TestFlowsStatus: the status says what is wrong with the files of workflows and with the
// configuration for as long as it is, whichever changes meanwhile.
func TestFlowsStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := serving(t, dir, map[string]string{"etui.yaml": "skills: {global: []}\n", "workflows/mend.yaml": mend}, nil)
	r := a.reloader
	says := func(when, want string) {
		t.Helper()
		if got := r.status.Load().Error; (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: the status says %q, want %q", when, got, want)
		}
		if names := a.Engine.Agents().Workflows().Names(); !slices.Contains(names, "mend") {
			t.Errorf("%s: workflows %v", when, names)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	r.look(t.Context())
	says("at the start", "")

	move("workflows", "away")
	place(t, filepath.Join(dir, "workflows"), "no folder")
	r.lookAtFlows(t.Context())
	says("the folder cannot be read", "not a directory")
	if err := os.Remove(filepath.Join(dir, "workflows")); err != nil {
		t.Fatal(err)
	}
	move("away", "workflows")
	r.lookAtFlows(t.Context())
	says("the folder is back as it was", "")

	place(t, filepath.Join(dir, "etui.yaml"), "")
	r.look(t.Context())
	says("etui.yaml is empty", "the file is empty")
	place(t, filepath.Join(dir, "workflows", "more.yaml"), mend)
	r.lookAtFlows(t.Context())
	says("etui.yaml is still empty", "the file is empty")
	place(t, filepath.Join(dir, "etui.yaml"), "skills: {global: []}\n")
	r.look(t.Context())
	says("etui.yaml is back as it was", "")
}

// TestFlowsAtStart: a workflow that changes between the first reading and the first look takes
// effect.
func TestFlowsAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := serving(t, dir, map[string]string{"etui.yaml": "skills: {global: []}\n"}, func() { place(t, filepath.Join(dir, "workflows", "mend.yaml"), mend) })
	a.reloader.lookAtFlows(t.Context())
	if got := a.Engine.Agents().Workflows().Names(); !slices.Equal(got, []string{"mend"}) {
		t.Errorf("workflows %v", got)
	}
}

// TestFlowsOfCommands: a workflow that a running command may have written is not put in effect
// together with a changed configuration. It follows when the command has ended.
func TestFlowsOfCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := serving(t, dir, map[string]string{"etui.yaml": "skills: {global: []}\n"}, nil)
	r := a.reloader
	r.look(t.Context())
	running := true
	r.steady = func(path string) func() bool {
		return func() bool { return !running || filepath.Base(path) != config.FlowFolder } // the file is sealed
	}
	place(t, filepath.Join(dir, "workflows", "mend.yaml"), mend)
	changed := "skills: {global: [], toolsets: [{name: reading, tools: [read_file]}]}\n"
	place(t, filepath.Join(dir, "etui.yaml"), changed)
	for range 2 {
		r.look(t.Context())
		r.lookAtFlows(t.Context())
		if names := a.Engine.Agents().Workflows().Names(); len(names) > 0 {
			t.Errorf("workflows %v while the command runs", names)
		}
		if _, there := a.Engine.Catalog().Skill("reading"); !there {
			t.Error("the configuration waits for the command")
		}
	}
	running = false
	r.lookAtFlows(t.Context())
	_, there := a.Engine.Catalog().Skill("reading")
	if names := a.Engine.Agents().Workflows().Names(); !there || !slices.Equal(names, []string{"mend"}) || r.status.Load().Error != "" {
		t.Errorf("workflows %v, toolset %v, status %q", names, there, r.status.Load().Error)
	}
}

// TestFlowsFollow: files of workflows take effect while etui serves; a bad one changes
// nothing, and the status says where it is.
func TestFlowsFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("etui.yaml", "skills: {global: []}\nworkflow: {default-skill: full, phases: [{name: a, next: [{to: done}]}]}\n")
	w, err := workdir.Open(dir, "", []string{"ETUI_STATE=" + filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), w, Config{Secrets: &secret.Set{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	is := func(want ...string) {
		t.Helper()
		if got := a.Engine.Agents().Workflows().Names(); !slices.Equal(got, want) {
			t.Errorf("workflows %v, want %v", got, want)
		}
	}
	is("main")
	write("workflows/mend.yaml", "phases:\n  - name: mend\n    next: [{to: done}]\n")
	a.reloader.lookAtFlows(t.Context())
	is("main", "mend")
	write("workflows/mend.yaml", "phases:\n  - name: mend\n    next:\n      - when: resulst.x.failed\n        to: done\n")
	a.reloader.lookAtFlows(t.Context())
	is("main", "mend")
	if says := a.reloader.status.Load().Error; !strings.Contains(says, "mend.yaml:4:15: ") || !strings.Contains(says, `did you mean "results"?`) {
		t.Errorf("the status says %q", says)
	}
	write("workflows/mend.yaml", "phases:\n  - name: mend\n    next: [{to: done}]\n  - name: more\n    next: [{to: done}]\n")
	write("workflows/other.yml", "name: another\nphases: [{name: a, next: [{to: done}]}]\n")
	a.reloader.lookAtFlows(t.Context())
	is("main", "mend", "another")
	if p, _ := a.Engine.Agents().Workflows().Get("mend"); len(p.Phases) != 2 || a.reloader.status.Load().Error != "" {
		t.Errorf("%d phases, status %q", len(p.Phases), a.reloader.status.Load().Error)
	}
	if err := os.RemoveAll(filepath.Join(dir, config.FlowFolder)); err != nil {
		t.Fatal(err)
	}
	a.reloader.lookAtFlows(t.Context())
	is("main")
}
