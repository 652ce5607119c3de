package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/builtin"
	"github.com/etui-run/etui/tool"
)

// FuzzPathsAsJudged: what a rule about a path lets through is what the tool opens. No text for
// a path reads or changes what is below secrets, unless the path that rules read says so.
func FuzzPathsAsJudged(f *testing.F) {
	for _, s := range []string{
		"secrets/a", "./secrets/a", "x/../secrets/a", "secrets//a", "/secrets/a", "link/a", "up/ws/secrets/a", "loop/secrets/a", "file", "secrets\\a", "SECRETS/a",
		"s\u0065crets/a", "secrets/./a", "secrets/../secrets/a", " secrets/a", "secrets/a ", "secrets/a/", "secrets", "x/link", "~/secrets/a", "file:///secrets/a", "secrets\x00/a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		dir := filepath.Join(t.TempDir(), "ws")
		for _, d := range []string{"secrets", "x"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		secret := filepath.Join(dir, "secrets", "a")
		if err := os.WriteFile(secret, []byte("CANARY"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, target := range map[string]string{"link": "secrets", "loop": ".", "file": "secrets/a", "x/link": "../secrets/a", "abs": secret} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		files, err := builtin.Open(builtin.FilesConfig{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		for _, tl := range files.Registered(nil) {
			n, ok := tl.(tool.Normalizer)
			if name := tl.Definition().Name; !ok || name != "read_file" && name != "write_file" && name != "append_file" && name != "edit_file" {
				continue
			}
			args, _ := json.Marshal(map[string]any{"path": path, "content": "x", "old": "CANARY", "new": "x"})
			args = n.Normalize(t.Context(), args)
			var judged struct{ Path string }
			if err := json.Unmarshal(args, &judged); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(judged.Path, "secrets/") {
				continue // the rule refuses it
			}
			r, err := tl.Call(t.Context(), args)
			if err == nil && strings.Contains(r.Text, "CANARY") && !strings.Contains(path, "CANARY") {
				t.Errorf("%s reads secrets/a as %q, which the rule sees as %q", tl.Definition().Name, path, judged.Path)
			}
			if text, err := os.ReadFile(secret); err != nil || string(text) != "CANARY" {
				t.Fatalf("%s changes secrets/a as %q, which the rule sees as %q: %q, %v", tl.Definition().Name, path, judged.Path, text, err)
			}
			entries, err := os.ReadDir(filepath.Dir(secret))
			if err != nil || len(entries) != 1 {
				t.Fatalf("%s makes a file in secrets as %q, which the rule sees as %q", tl.Definition().Name, path, judged.Path)
			}
		}
	})
}
