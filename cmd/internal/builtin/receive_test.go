package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/builtin"
)

// TestReceive keeps what people send under names that mean nothing, once, and up to a limit.
func TestReceive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := builtin.Open(builtin.FilesConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	big := make([]byte, 2<<20)
	for name, want := range map[string]string{"a b.zip": "-a_b.zip", "../../etc/passwd": "-passwd", ".bashrc": "-bashrc", "图片.png": "-file.png", "": "-file"} {
		path, err := f.Receive(name, big)
		if err != nil || !strings.HasPrefix(path, "received/") || !strings.HasSuffix(path, want) {
			t.Errorf("%q: %q, %v", name, path, err)
		}
		again, err := f.Receive(name, big)
		if info, e := os.Stat(filepath.Join(dir, path)); err != nil || again != path || e != nil || info.Size() != int64(len(big)) || info.Mode()&0o111 != 0 {
			t.Errorf("%q: %q, %v, %v", name, again, err, e)
		}
	}
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(dir, "received", strings.Repeat("x", i%100+1)+string(rune('a'+i/100))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := f.Receive("one more", []byte("x")); err == nil {
		t.Errorf("it was kept as %s", path)
	}
}
