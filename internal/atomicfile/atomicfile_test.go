package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(t.TempDir(), "other")
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := atomicfile.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, missing := os.Lstat(path)
		if err != nil || missing != nil || string(got) != text || info.Mode() != 0o600 {
			t.Errorf("%q, %v, %v, %v", got, info, err, missing)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a link was followed")
	}
	// A failed write leaves the old file and nothing else.
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "folder"), nil); err == nil {
		t.Error("a folder was replaced")
	}
	if err := atomicfile.Write(filepath.Join(dir, "none", "file"), nil); err == nil {
		t.Error("a folder was made")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}
