package skill_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/skill"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.yaml", yamlOf("a", "1"))
	put(t, dir, "pack", "SKILL.md", "2")
	put(t, dir, "bad.yaml", "name: bad\n")
	registry := catalog.NewRegistry(nil)
	f, err := skill.Open(dir, registry, skill.OpenConfig{Providers: []skill.Provider{echo{}}, Package: written})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := list(f.Table), "a=1 pack=2"; got != want {
		t.Errorf("the folder has %s, want %s", got, want)
	}
	if _, ok := registry.Catalog().Get("a"); !ok {
		t.Error("a is not in the catalog")
	}
	put(t, dir, "b.yaml", yamlOf("b", "3"))
	report := f.Reload(t.Context(), "test", "a file came")
	if got, want := strings.Join(report.Loaded, " "), "a b pack"; got != want {
		t.Errorf("loaded again: %s, want %s", got, want)
	}
	if len(report.Problems) == 0 || report.Problems[0].File != filepath.ToSlash(filepath.Join(dir, "bad.yaml")) {
		t.Errorf("the problems are %v", report.Problems)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := registry.Catalog().Get("a"); ok {
		t.Error("a is in the catalog after Close")
	}
}

func TestOpenRefusesWhatIsNoFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file", "x")
	for _, name := range []string{"file", "nothing"} {
		path := filepath.Join(dir, name)
		if _, err := skill.Open(path, catalog.NewRegistry(nil), skill.OpenConfig{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
