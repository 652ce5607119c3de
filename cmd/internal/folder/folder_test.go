package folder_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/etui-run/etui/cmd/internal/folder"
)

// TestReal: links are followed also where the end of a path does not exist.
func TestReal(t *testing.T) {
	t.Parallel()
	dir := folder.Real(t.TempDir())
	there, link := filepath.Join(dir, "there"), filepath.Join(dir, "link")
	if err := os.Mkdir(there, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(there, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		there: there, link: there,
		filepath.Join(link, "not/yet"):  filepath.Join(there, "not/yet"),
		filepath.Join(dir, "x", "..x/"): filepath.Join(dir, "x", "..x"),
	} {
		if got := folder.Real(path); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
	if got := folder.RealFile(link); got != link {
		t.Errorf("the link itself is at %s", got)
	}
	if got := folder.WithReal([]string{there, link}); !slices.Equal(got, []string{there, link, there}) {
		t.Errorf("the paths are %q", got)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"/a/b": true, "/a/b/c": true, "/a/bc": false, "/a": false, "/a/b/../c": false, "b": false} {
		if got := folder.Within("/a/b", path); got != want {
			t.Errorf("%s in /a/b: %t", path, got)
		}
	}
}
