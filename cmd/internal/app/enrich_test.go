package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/secret"
)

// TestTextsFollow: texts about tools take effect while etui serves. A file with a mistake
// changes nothing, and the log says so each time that one is made, also if it is the same.
func TestTextsFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, config.File), "skills: {global: []}\n")
	w, err := workdir.Open(dir, "", []string{"ETUI_STATE=" + state})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a, err := New(t.Context(), w, Config{Secrets: &secret.Set{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	for i, step := range []struct {
		line   string
		alias  string
		logged int
	}{
		{`{"tool":"list_dir","aliases":["what is here"]}`, "what is here", 0},
		{`{"tool":"list_dir","alias":["folder"]}`, "what is here", 1},
		{`{"tool":"list_dir","alias":["folders"]}`, "what is here", 1},
		{`{"tool":"list_dir","aliases":["look into a folder"]}`, "look into a folder", 1},
		{`{"tool":"list_dir","alias":["folder"]}`, "look into a folder", 2},
	} {
		write(a.Workspace.Texts(), step.line+"\n")
		a.tools.texts.Look(t.Context())
		if got := a.Config.Registry.Catalog().Enrichments()["list_dir"].Aliases; len(got) != 1 || got[0] != step.alias {
			t.Errorf("step %d: the aliases are %q, want %q", i, got, step.alias)
		}
		if n := strings.Count(log.String(), "enriched.jsonl:1"); n != step.logged {
			t.Errorf("step %d: the mistake is logged %d times, want %d:\n%s", i, n, step.logged, log.String())
		}
	}
}
