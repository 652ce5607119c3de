package archive_test

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/hub/hubtest"
	"github.com/etui-run/etui/hub/internal/archive"
)

// FuzzExtract reads any bytes as an archive. It never panics and never writes
// outside its folder, and it extracts from a zip archive what archive/zip reads
// in it.
func FuzzExtract(f *testing.F) {
	manifest := hubtest.Manifest("greet", "Greets people.")
	for _, files := range []map[string]string{
		{"SKILL.md": manifest, "a.md": "a", "b/c.md": "c"},
		{"greet/SKILL.md": manifest, "greet/a.md": "a"},
		{"SKILL.md": manifest, "../x": "x"},
		{"SKILL.md": manifest, "A": "1", "a": "2"},
	} {
		f.Add(hubtest.Zip(files))
		f.Add(hubtest.Tar(files))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		work := t.TempDir()
		dir := filepath.Join(work, "skill")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		a, err := archive.Open(bytes.NewReader(raw), int64(len(raw)), nil)
		if err != nil {
			return
		}
		files, err := archive.Extract(t.Context(), a, "", int64(len(raw)), root)
		if left, _ := os.ReadDir(work); len(left) != 1 {
			t.Fatalf("outside the folder: %v", left)
		}
		if err != nil {
			return
		}
		for name, digest := range files {
			if got, err := fs.ReadFile(root.FS(), name); err != nil || hubtest.Digest(got) != digest {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if bytes.HasPrefix(raw, []byte("PK")) {
			compare(t, raw, files)
		}
	})
}

// compare holds the files against those that archive/zip reads.
func compare(t *testing.T, raw []byte, files map[string]string) {
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for name, digest := range files {
		f, err := z.Open(name)
		if err != nil {
			continue // archive/zip does not open names that it would write otherwise
		}
		want, err := io.ReadAll(f)
		if err != nil || hubtest.Digest(want) != digest {
			t.Fatalf("%s: archive/zip reads %q, %v", name, want, err)
		}
	}
}
