package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/builtin"
)

// A file is given to the user only from inside of the workspace, and whole.
func TestSendFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"w/out/report.csv": "a,b\n1,2\n", "w/empty": "", "secret": "key"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "w/link")); err != nil {
		t.Fatal(err)
	}
	files, err := builtin.Open(builtin.FilesConfig{Dir: filepath.Join(dir, "w")})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for path, want := range map[string]string{"empty": "is empty", "link": "leads out", "../secret": "outside", "none.png": "none.png", "out": "is a folder", filepath.Join(dir, "secret"): "outside"} {
		args, _ := json.Marshal(map[string]string{"path": path})
		if r, err := files.SendFile().Call(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) || r.View != nil {
			t.Errorf("%s: %v, %v, want %q", path, r, err, want)
		}
	}
	r, err := files.SendFile().Call(t.Context(), json.RawMessage(`{"path":"out/report.csv"}`))
	if err != nil || len(r.View.Files) != 1 || r.View.Files[0].Name != "report.csv" || string(r.View.Files[0].Data) != "a,b\n1,2\n" || !strings.HasPrefix(r.View.Files[0].MediaType, "text/plain") {
		t.Errorf("%+v, %v", r, err)
	}
}
