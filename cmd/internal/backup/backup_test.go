package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/cmd/internal/backup"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/atomicfile"
)

// archived returns a tar file with gzip.
func archived(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	out := tar.NewWriter(zipped)
	for _, h := range entries {
		h.Mode, h.Size = 0o600, int64(len(h.Uname)) // Uname carries the content
		text := h.Uname
		h.Uname = ""
		if err := out.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRestoreRefuses: an archive that is not a whole, sound backup leaves the state as it
// was, and nothing outside it changes.
func TestRestoreRefuses(t *testing.T) {
	begin := tar.Header{Name: "etui-backup.json", Typeflag: tar.TypeReg, Uname: "{}"}
	file := func(name, text string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, Uname: text}
	}
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	sound := archived(t, begin, file("keys.json", "new"))
	for name, tt := range map[string]struct {
		text []byte
		want string
	}{
		"empty":             {nil, "not a backup"},
		"no manifest":       {archived(t, file("keys.json", "new")), "not a backup"},
		"half":              {sound[:len(sound)-9], "unexpected EOF"},
		"flipped":           {append(bytes.Clone(sound[:len(sound)-6]), 0, 0, 0, 0, 0, 0), "checksum"},
		"links outside":     {archived(t, begin, tar.Header{Name: "a/b/", Typeflag: tar.TypeDir}, link("a/b/up", "../.."), link("a/b/up/out", "../../outside")), "leads out"},
		"a path outside":    {archived(t, begin, file("../outside", "x")), "not part of a backup"},
		"an absolute path":  {archived(t, begin, file("/tmp/outside", "x")), "escapes"},
		"a link outside":    {archived(t, begin, link("out", "../.."), file("out/outside", "x")), "outside of the state"},
		"an absolute link":  {archived(t, begin, link("out", "/tmp")), "outside of the state"},
		"a hard link":       {archived(t, begin, tar.Header{Name: "x", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), "neither a file"},
		"a device":          {archived(t, begin, tar.Header{Name: "x", Typeflag: tar.TypeChar}), "neither a file"},
		"a link to nothing": {archived(t, begin, tar.Header{Name: "a/b/", Typeflag: tar.TypeDir}, link("a/b/up", "../.."), link("out", "before/../a/b/up/..")), "outside of the state"},
		"the lock":          {archived(t, begin, file("etui.lock", "")), "not part of a backup"},
		"the lock, hidden":  {archived(t, begin, file("./x/../etui.lock", "")), "not part of a backup"},
		"a file twice":      {archived(t, begin, file("x", "1"), file("x", "2")), "exists"},
		"no database":       {archived(t, begin, file("etui.db", "hello")), "database"},
		"a broken database": {archived(t, begin, file("calls.db", strings.Repeat("SQLite format 3\x00", 300))), "database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			state, from := filepath.Join(dir, "state"), filepath.Join(dir, "backup")
			must(t, os.Mkdir(state, 0o700))
			must(t, os.WriteFile(filepath.Join(state, "keys.json"), []byte("old"), 0o600))
			must(t, os.WriteFile(from, tt.text, 0o600))
			w, err := workdir.Open(t.TempDir(), "", []string{"ETUI_STATE=" + state})
			must(t, err)
			_, err = backup.Restore(t.Context(), w, from)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want one with %q", err, tt.want)
			}
			if got, _ := os.ReadFile(filepath.Join(state, "keys.json")); string(got) != "old" {
				t.Errorf("keys.json holds %q", got)
			}
			entries, err := os.ReadDir(state)
			must(t, err)
			for _, e := range entries {
				if name := e.Name(); name != "keys.json" && name != "etui.lock" {
					t.Errorf("%s is left in the state folder", name)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "outside")); err == nil {
				t.Error("a file was written outside")
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLeftoversOfBackups: copies of databases that a killed backup or restore has left are
// removed by a later one; those of one that may still run are not.
func TestLeftoversOfBackups(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	left := map[string]time.Duration{".etui-backup-1": 48 * time.Hour, ".etui-restore-1": 48 * time.Hour, ".etui-backup-2": 0}
	for name, age := range left {
		must(t, os.MkdirAll(filepath.Join(state, name), 0o700))
		must(t, os.WriteFile(filepath.Join(state, name, "etui.db"), nil, 0o600))
		then := time.Now().Add(-age)
		must(t, os.Chtimes(filepath.Join(state, name), then, then))
	}
	w, err := workdir.Open(t.TempDir(), "", []string{"ETUI_STATE=" + state})
	must(t, err)
	_, err = backup.Write(t.Context(), w, "test", filepath.Join(dir, "backup"))
	must(t, err)
	for name, age := range left {
		if _, err := os.Stat(filepath.Join(state, name)); (err == nil) != (age == 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBackupOfWhatChanges: a file that is replaced or removed while the backup runs is in it
// whole, or not at all.
func TestBackupOfWhatChanges(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	memory := filepath.Join(state, "memory", "main")
	must(t, os.MkdirAll(memory, 0o700))
	w, err := workdir.Open(t.TempDir(), "", []string{"ETUI_STATE=" + state})
	must(t, err)
	texts := []string{strings.Repeat("a", 10), strings.Repeat("b", 40_000)}
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if err := atomicfile.Write(filepath.Join(memory, "MEMORY.md"), []byte(texts[i%2])); err != nil {
				t.Error(err)
			}
		}
	})
	defer func() { close(done); writing.Wait() }()
	for i := range 100 {
		b, err := backup.Write(t.Context(), w, "test", filepath.Join(dir, fmt.Sprint("backup-", i)))
		must(t, err)
		f, err := os.Open(b.File)
		must(t, err)
		zipped, err := gzip.NewReader(f)
		must(t, err)
		for in := tar.NewReader(zipped); ; {
			h, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			text, err := io.ReadAll(in)
			must(t, err)
			if h.Name == "memory/main/MEMORY.md" && !slices.Contains(texts, string(text)) {
				t.Fatalf("%d bytes of MEMORY.md are in the backup", len(text))
			}
		}
		must(t, f.Close())
	}
}

// TestBackupWhereToolsRead: a backup holds what everybody said, so it is not made where tools
// read.
func TestBackupWhereToolsRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ws", "docs", "programs", "skills", "state", "elsewhere"} {
		must(t, os.MkdirAll(filepath.Join(dir, name, "below"), 0o700))
	}
	must(t, os.Symlink(filepath.Join(dir, "docs"), filepath.Join(dir, "link")))
	must(t, os.WriteFile(filepath.Join(dir, "ws", "etui.yaml"), []byte("tools: {read: [../docs]}\nsandbox: {read: ["+dir+"/programs]}\nskills: {dir: [../skills]}\n"), 0o600))
	w, err := workdir.Open(filepath.Join(dir, "ws"), "", []string{"ETUI_STATE=" + filepath.Join(dir, "state"), trust.Variable + "=" + dir})
	must(t, err)
	for _, folder := range []string{"ws", "docs", "docs/below", "link", "programs", "skills", "state"} {
		if b, err := backup.Write(t.Context(), w, "test", filepath.Join(dir, folder, "backup")); err == nil {
			t.Errorf("%s: it was made", b.File)
		}
	}
	_, err = backup.Write(t.Context(), w, "test", filepath.Join(dir, "elsewhere", "backup"))
	must(t, err)
}

// TestBackupOfServers: what an MCP server leaves in its private folder, which is in the state,
// neither prevents a backup nor its restoration.
func TestBackupOfServers(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	home := filepath.Join(state, "mcp", "server", "state")
	must(t, os.MkdirAll(filepath.Join(home, "d", "closed"), 0o700))
	must(t, os.WriteFile(filepath.Join(state, "keys.json"), []byte("kept"), 0o600))
	for name, to := range map[string]string{"loop": "loop", "a": "b", "b": "a", "out": "../../../../..", "etc": "/etc", "up": "d/../../x", "nothing": "gone"} {
		must(t, os.Symlink(to, filepath.Join(home, name)))
	}
	must(t, os.WriteFile(filepath.Join(home, "unreadable"), []byte("x"), 0))
	must(t, os.Chmod(filepath.Join(home, "d", "closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(home, "d", "closed"), 0o700) })
	growing, err := os.Create(filepath.Join(home, "truncated"))
	must(t, err)
	done := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_, _ = growing.WriteAt([]byte("x"), 8<<20)
				_ = growing.Truncate(0)
			}
		}
	})
	w, err := workdir.Open(t.TempDir(), "", []string{"ETUI_STATE=" + state})
	must(t, err)
	for i := range 20 {
		if _, err := backup.Write(t.Context(), w, "test", filepath.Join(dir, fmt.Sprint("backup-", i))); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	changing.Wait()
	_, err = backup.Write(t.Context(), w, "test", filepath.Join(dir, "backup"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(state, "keys.json"), []byte("changed"), 0o600))
	_, err = backup.Restore(t.Context(), w, filepath.Join(dir, "backup"))
	must(t, err)
	if text, _ := os.ReadFile(filepath.Join(state, "keys.json")); string(text) != "kept" {
		t.Errorf("keys.json holds %q", text)
	}
}
