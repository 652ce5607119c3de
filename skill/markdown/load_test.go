package markdown_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
	"github.com/etui-run/etui/tool"
)

// folders makes a folder of files, by path.
func folders(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// load makes the skill of a folder below root, which is closed then.
func load(root *os.Root, folder string, m markdown.Machine) (skill.Skill, error) {
	dir, err := root.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	_, text, err := markdown.Read(dir, ".", "")
	if err != nil {
		return nil, err
	}
	return m.Load(dir, folder, text)
}

const tidy = "---\nname: tidy-up\ndescription: Tidies up.\nversion: 2\nallowed-tools: Read Bash(ls:*)\nmetadata:\n  openclaw:\n    os: [plan9]\n    requires:\n      bins: [broom]\n      anyBins: [mop, rag]\n      env: [TOKEN]\n---\nSweep. See references/corners.md.\n"

func TestLoad(t *testing.T) {
	root := folders(t, map[string]string{
		"tidy/skill.md": tidy, "tidy/references/corners.md": "Mind the corners.", "tidy/logo.png": "\x89PNG\r\n\x1a\n\x00", "tidy/long.txt": strings.Repeat("长", 350_000),
		"tidy/.git/config": "x", "tidy/.hidden": "x", "elsewhere/references/corners.md": "x", "secret.txt": "secret",
	})
	if err := os.Symlink("../../secret.txt", filepath.Join(root.Name(), "tidy", "out")); err != nil {
		t.Fatal(err)
	}
	s, err := load(root, "tidy", markdown.Machine{
		LookPath:  func(string) (string, error) { return "", os.ErrNotExist },
		LookupEnv: func(string) (string, bool) { return "", false }, GOOS: "linux",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := skill.Check(s); err != nil {
		t.Error(err)
	}
	got := skill.DetailsOf(s)
	want := skill.Details{
		Provider: "markdown", Risk: tool.Read, Version: "2", Body: "Sweep. See references/corners.md.", Allowed: []string{"read_file", "exec(ls:*)"},
		Unmet:    []string{"it works only on plan9, and this is linux", "the program broom is not installed", "none of the programs mop, rag is installed", "the environment variable TOKEN is not set"},
		Warnings: []string{"line 2: the skill is named tidy-up and its folder tidy"},
	}
	if s.Name() != "tidy-up" || s.Description() != "Tidies up." {
		t.Errorf("the skill is %q, %q", s.Name(), s.Description())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %s\ngot  %+v\nwant %+v", s.Name(), s.Description(), got, want)
	}
	for _, c := range []struct{ args, want, fails string }{
		{``, "Sweep. See references/corners.md.\n\n---\nFolder of this skill, in which its relative paths are: " + filepath.Join(root.Name(), "tidy") + "\nOther files of this skill, to be asked for by their path:\n- logo.png\n- long.txt\n- references/corners.md", ""},
		{`{"file":"references/corners.md"}`, "Mind the corners.", ""},
		{`{"file":"./references//corners.md"}`, "Mind the corners.", ""},
		{`{"file":"long.txt"}`, strings.Repeat("长", 349_525) + "\n\n(cut here: the file is longer than 1 MiB)", ""},
		{`{"file":"logo.png"}`, "", "logo.png is not text (image/png)"},
		{`{"file":"references"}`, "", "it is a folder"},
		{`{"file":"reference/corners.md"}`, "", `did you mean "references/corners.md"?`},
		{`{"file":"../secret.txt"}`, "", "is not a path below the skill's folder"},
		{`{"file":"/etc/passwd"}`, "", "is not a path below the skill's folder"},
		{`{"file":"out"}`, "", "escapes"},
		{`{"file":"a\u0000b"}`, "", "the arguments do not fit"},
		{`{"path":"x"}`, "", "the arguments do not fit"},
	} {
		out, err := skill.Execute(t.Context(), s, json.RawMessage(c.args))
		if c.fails != "" {
			if !errors.Is(err, skill.ErrInvalidParams) || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), root.Name()) {
				t.Errorf("%s: %v", c.args, err)
			}
		} else if err != nil || out != c.want {
			t.Errorf("%s: %v\ngot  %.200q\nwant %.200q", c.args, err, out, c.want)
		}
	}
	if err := os.RemoveAll(filepath.Join(root.Name(), "tidy")); err != nil {
		t.Fatal(err)
	}
	if out, err := skill.Execute(t.Context(), s, nil); err != nil || out != "Sweep. See references/corners.md." {
		t.Errorf("after the folder has gone: %v, %v", out, err)
	}
	for _, there := range []string{"nothing", "another folder"} {
		if there == "another folder" {
			if err := os.Symlink("elsewhere", filepath.Join(root.Name(), "tidy")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.(skill.Guide).Read(t.Context(), "references/corners.md"); !errors.Is(err, skill.ErrProviderUnavailable) {
			t.Errorf("%s in the folder's place: %v", there, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	root := folders(t, map[string]string{"bad/SKILL.md": "---\nname: bad\n---\n", "none/readme.md": "x", "long/SKILL.md": strings.Repeat("x", 1<<20+1), "dir/SKILL.md/x": ""})
	for folder, want := range map[string]string{
		"bad":  "there is no usable description; write what the skill does and when to use it",
		"none": "SKILL.md cannot be read: there is none",
		"long": "the file is longer than 1 MiB",
		"dir":  "SKILL.md cannot be read: it is a folder",
	} {
		if _, err := load(root, folder, markdown.Machine{}); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", folder, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	root := folders(t, map[string]string{
		"a/SKILL.md": tidy, "a/inner/SKILL.md": tidy, "b/c/Skill.md": tidy, "b/readme.md": "", ".git/SKILL.md": tidy, "node_modules/x/SKILL.md": tidy,
		"1/2/3/4/5/6/SKILL.md": tidy, "1/2/3/4/5/6/7/SKILL.md": tidy, "z/1/2/3/4/5/6/SKILL.md": tidy,
	})
	_ = os.Symlink("../a", filepath.Join(root.Name(), "b", "link"))
	got, err := markdown.Find(root)
	if want := []string{"1/2/3/4/5/6", "a", "b/c"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
}
