package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/secret"
)

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
	w, err := Open(dir, "", []string{"ETUI_STATE=" + filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), w, Config{Secrets: &secret.Known{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	is := func(want ...string) {
		t.Helper()
		if got := a.Engine.Workflows().Names(); !slices.Equal(got, want) {
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
	if p, _ := a.Engine.Workflows().Get("mend"); len(p.Phases) != 2 || a.reloader.status.Load().Error != "" {
		t.Errorf("%d phases, status %q", len(p.Phases), a.reloader.status.Load().Error)
	}
	if err := os.RemoveAll(filepath.Join(dir, config.FlowFolder)); err != nil {
		t.Fatal(err)
	}
	a.reloader.lookAtFlows(t.Context())
	is("main")
}
