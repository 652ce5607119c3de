package builtin_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etui-run/etui/cmd/internal/builtin"
	"github.com/etui-run/etui/tool"
)

// workspace is a folder with files, and the tools for it.
type workspace struct {
	t     *testing.T
	dir   string
	tools map[string]tool.Tool
}

// password is a secret that the tools of a test workspace hide where they cut.
const password = "tr0ub4dor-tr0ub4dor-tr0ub4dor-tr0ub4dor-tr0ub4dor"

func open(t *testing.T, files map[string]string, hidden ...string) *workspace {
	dir := filepath.Join(t.TempDir(), "workspace")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := &workspace{t, dir, map[string]tool.Tool{}}
	for name, text := range files {
		w.put(name, text)
	}
	for i := range hidden {
		hidden[i] = filepath.Join(dir, hidden[i])
	}
	f, err := builtin.Open(builtin.FilesConfig{
		Dir:       dir,
		Hidden:    hidden,
		Protected: []string{filepath.Join(dir, "etui.yaml"), filepath.Join(dir, "skills"), filepath.Join(dir, ".agents/skills")},
		ReadOnly:  []string{filepath.Join(dir, "../readonly")},
		Redact:    func(text string) string { return strings.ReplaceAll(text, password, "(hidden)") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	for _, tl := range builtin.Tools(&builtin.Clock{Now: now}, f) {
		w.tools[tl.Definition().Name] = tl
	}
	return w
}

func (w *workspace) put(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) text(name string) string {
	raw, _ := os.ReadFile(filepath.Join(w.dir, name))
	return string(raw)
}

// call returns what the model reads, with "! " before a failure. Arguments must
// match the tool's own schema.
func (w *workspace) call(name, args string) string {
	w.t.Helper()
	s, err := tool.CompileSchema(w.tools[name].Definition().Schema())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := s.Validate([]byte(args)); err != nil {
		w.t.Fatalf("%s %s: %v", name, args, err)
	}
	r, err := w.tools[name].Call(context.Background(), json.RawMessage(args))
	switch {
	case err != nil:
		return "! " + err.Error()
	case r.Failed:
		return "! " + r.Text
	}
	return r.Text
}

func (w *workspace) want(name, args, says string) {
	w.t.Helper()
	if got := w.call(name, args); !strings.Contains(got, says) || strings.HasPrefix(got, "! ") != strings.HasPrefix(says, "! ") {
		w.t.Errorf("%s %s:\ngot  %.500q\nwant %q", name, args, got, says)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "empty": "", "bin": "a\x00b", "big": strings.Repeat("x", 2<<20), "many": strings.Repeat("l\n", 3000), "d/f": "x", "wide": strings.Repeat(strings.Repeat("w", 999)+"\n", 100)})
	w.want("read_file", `{"path":"a.txt"}`, "one\ntwo\nthree\n")
	w.want("read_file", `{"path":"a.txt","start":2,"lines":1}`, "two\n\n(lines 2 to 2 of 3; read on with start 3)")
	w.want("read_file", `{"path":"a.txt","start":9}`, "! a.txt has 3 lines")
	w.want("read_file", `{"path":"many"}`, "(lines 1 to 2000 of 3000; read on with start 2001)")
	w.want("read_file", `{"path":"many","start":2001}`, "(lines 2001 to 3000 of 3000)")
	w.want("read_file", `{"path":"wide"}`, "(lines 1 to 30 of 100; read on with start 31)")
	w.want("read_file", `{"path":"empty"}`, "empty is empty")
	w.want("read_file", `{"path":"bin"}`, "! bin is a binary file of 3 bytes")
	w.want("read_file", `{"path":"big"}`, "x\n(lines 1 to 1 of 1; line 1 has 2097152 bytes and is cut: search_text finds what is in it)")
	w.want("read_file", `{"path":"d"}`, "! d is a folder")
	w.want("read_file", `{"path":"none"}`, "! there is no file or folder \"none\"")
	w.want("read_file", `{"path":"`+w.dir+`/a.txt"}`, "one")
}

func TestListFindSearch(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"b.md": "Hello TODO", "a/c.md": "x\nTODO: y\n", "a/d/e.txt": "TODO", ".git/x.md": "TODO", "z": ""})
	w.want("list_dir", `{}`, ".git/\na/\nb.md (10 bytes)\nz (0 bytes)\n")
	w.want("list_dir", `{"path":"a"}`, "d/\nc.md (10 bytes)\n")
	w.want("list_dir", `{"path":"q"}`, "! there is no file or folder \"q\"")
	w.want("find_files", `{"pattern":"*.md"}`, "a/c.md\nb.md")
	w.want("find_files", `{"pattern":"a/**/*.txt"}`, "a/d/e.txt")
	w.want("find_files", `{"pattern":"**/c.md"}`, "a/c.md")
	w.want("find_files", `{"pattern":"*.go"}`, "No file matches")
	w.want("find_files", `{"pattern":"["}`, "! ")
	w.want("search_text", `{"pattern":"TODO"}`, "a/c.md:2: TODO: y\na/d/e.txt:1: TODO\nb.md:1: Hello TODO")
	w.want("search_text", `{"pattern":"^TODO","files":"*.md"}`, "a/c.md:2: TODO: y")
	w.want("search_text", `{"pattern":"(["}`, "No line matches")
	w.want("search_text", `{"pattern":"TODO","path":"a/d"}`, "a/d/e.txt:1")
}

func TestWriteAndEdit(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"a.txt": "one two one\n", "crlf.txt": "a\r\nb\r\n"})
	w.want("write_file", `{"path":"new/deep.txt","content":"hi"}`, "Wrote 2 bytes")
	if got := w.text("new/deep.txt"); got != "hi" {
		t.Errorf("wrote %q", got)
	}
	w.want("edit_file", `{"path":"a.txt","old":"one","new":"1"}`, "! the old text occurs 2 times in a.txt, in lines 1, 1; add lines")
	w.want("edit_file", `{"path":"a.txt","old":"TWO","new":"2"}`, "! the old text does not occur in a.txt; closest match, from line 1:\none two one")
	w.want("edit_file", `{"path":"a.txt","old":"two","new":"2"}`, "Replaced 1")
	w.want("edit_file", `{"path":"a.txt","old":"one","new":"1","all":true}`, "Replaced 2")
	if got := w.text("a.txt"); got != "1 2 1\n" {
		t.Errorf("edited to %q", got)
	}
	w.want("edit_file", `{"path":"crlf.txt","old":"a\nb","new":"c\nd"}`, "Replaced 1")
	if got := w.text("crlf.txt"); got != "c\r\nd\r\n" {
		t.Errorf("line ends became %q", got)
	}
	if err := os.Chmod(filepath.Join(w.dir, "a.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.want("write_file", `{"path":"a.txt","content":"x"}`, "Wrote")
	if info, _ := os.Stat(filepath.Join(w.dir, "a.txt")); info.Mode().Perm() != 0o600 {
		t.Errorf("the mode became %v", info.Mode())
	}
	entries, _ := os.ReadDir(w.dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".etui-") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

// TestNothingLeadsOut tries to reach files outside of the workspace.
func TestNothingLeadsOut(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"in.txt": "inside", "sub/x": "x"})
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(outside, "link.txt")
	link(filepath.Dir(outside), "linkdir")
	link("loop2", "loop1")
	link("loop1", "loop2")
	link("/dev/zero", "zero")
	link("in.txt", "fine")
	link("../../../../etc", "up")
	if err := syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"link.txt", "linkdir/secret.txt", "../secret.txt", "sub/../../x", outside, "/etc/passwd", "zero", "loop1", "pipe", "up/passwd",
		"in.txt/x", "a\x00b", strings.Repeat("a/", 3000), strings.Repeat("n", 300), "..", "/", "....//etc", "~/.ssh/id_rsa", `..\..\x`,
	} {
		raw, err := json.Marshal(map[string]string{"path": name})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.call("read_file", string(raw)); !strings.HasPrefix(got, "! ") || strings.Contains(got, "SECRET") {
			t.Errorf("reading %q gives %q", name, got)
		}
		raw, _ = json.Marshal(map[string]string{"path": name, "content": "changed"})
		w.call("write_file", string(raw))
	}
	if raw, _ := os.ReadFile(outside); string(raw) != "SECRET" {
		t.Errorf("a file outside became %q", raw)
	}
	w.want("read_file", `{"path":"fine"}`, "inside")
	w.want("search_text", `{"pattern":"SECRET"}`, "No line matches")
	if entries, _ := os.ReadDir(filepath.Dir(outside)); len(entries) != 1 {
		t.Errorf("files were made outside: %v", entries)
	}
}

// TestConfigurationIsProtected tries every name that the configuration can have.
func TestConfigurationIsProtected(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"etui.yaml": "listen: x\n"})
	if err := os.Symlink("etui.yaml", filepath.Join(w.dir, "alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(w.dir, "etui.yaml"), filepath.Join(w.dir, "hard")); err != nil {
		t.Fatal(err)
	}
	w.want("read_file", `{"path":"etui.yaml"}`, "listen: x")
	for _, name := range []string{"etui.yaml", "./etui.yaml", "x/../etui.yaml", "alias", "hard", filepath.Join(w.dir, "etui.yaml")} {
		w.want("write_file", `{"path":"`+name+`","content":"tools: {}"}`, "! etui's configuration")
		w.want("edit_file", `{"path":"`+name+`","old":"listen","new":"x"}`, "! etui's configuration")
	}
	w.put("sub/deep/x", "")
	for name, target := range map[string]string{"d": "sub/deep", "sub/deep/tricky": "../../etui.yaml", "here": "."} {
		if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.want("write_file", `{"path":"d/tricky","content":"x"}`, "! etui's configuration")
	w.want("write_file", `{"path":"here/other","content":"x"}`, "Wrote")
	w.want("write_file", `{"path":"here/etui.yaml","content":"x"}`, "! etui's configuration")
	if err := os.Remove(filepath.Join(w.dir, "etui.yaml")); err != nil {
		t.Fatal(err)
	}
	w.want("write_file", `{"path":"etui.yaml","content":"x"}`, "! etui's configuration")
	w.want("write_file", `{"path":"ETUI.YAML","content":"x"}`, "! etui's configuration")
}

// TestSkillsAreProtected tries skill folders that exist and some that do not.
func TestSkillsAreProtected(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"skills/a.yaml": "name: a\n", "skills.md": "x"})
	for name, target := range map[string]string{"own": "skills", "own.yaml": "skills/a.yaml"} {
		if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"skills/a.yaml", "skills/new/SKILL.md", "Skills/b.yaml", "skills", "own/b.yaml", ".agents/skills/x/SKILL.md", ".agents/x/../skills/b"} {
		w.want("write_file", `{"path":"`+name+`","content":"x"}`, "! etui's configuration and what it names")
	}
	w.want("write_file", `{"path":"own.yaml","content":"x"}`, "! etui's configuration")
	w.want("read_file", `{"path":"skills/a.yaml"}`, "name: a")
	w.want("write_file", `{"path":"skills.md","content":"y"}`, "")
	w.want("write_file", `{"path":".agents/other.md","content":"y"}`, "")
}

func TestTime(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.want("get_time", `{}`, "Sunday 2026-03-01 12:00:00 UTC")
	w.want("get_time", `{"zone":"Asia/Shanghai"}`, "20:00:00")
	w.want("get_time", `{"zone":"Mars/Base"}`, "! there is no time zone")
}

func TestCalculate(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"1+2*3": "7", "(1+2)*3": "9", "0.1+0.2": "0.3", "1/3": "0.333333333333333", "2^10": "1024", "-2^2": "-4", "2^-1": "0.5", "10 % 3": "1",
		"15%": "0.15", "80*15%": "12", "200 + 10%*200": "220", "sqrt(16)": "4", "sqrt(2)": "1.4142135623731", "max(1, 5, 3)": "5", "min(2)": "2", "round(2.5)": "3",
		"pi": "3.14159265358979", "2 × 3 ÷ 4": "1.5", "1e3": "1000", "1.5e-3": "0.0015", "12.5/100*80 + 3": "13", "--3": "3", "2^100": "1267650600228229401496703205376",
		"2^(3^2)": "512", "2^3^2": "512", "ln(e)": "1", "abs(-5)": "5", "100000000000000000000+1": "100000000000000000001",
	} {
		if got, err := builtin.Evaluate(expression); err != nil || got != want && !strings.HasPrefix(got, want) {
			t.Errorf("%s = %s, %v; want %s", expression, got, err, want)
		}
	}
	for expression, says := range map[string]string{
		"": "a value is missing", "1+": "a value is missing", "1/0": "division by zero", "1%0": "division by zero", "(1": "closing bracket", "1 2": "unexpected", "foo(1)": "unknown name", "sqrt 4": "needs brackets",
		"9^9^9^9": "too large", "sqrt(-1)": "not a number", "1.2.3": "not a number", strings.Repeat("(", 200): "too deep", strings.Repeat("-", 300) + "1": "too many signs",
		strings.Repeat("1", 2000): "longer than", "1e99999999": "too large", "$5": "unexpected",
	} {
		if got, err := builtin.Evaluate(expression); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s = %s, %v; want it to say %q", expression, got, err, says)
		}
	}
}

func FuzzCalculate(f *testing.F) {
	for _, s := range []string{"1+2", "sqrt(", "2^999999", "1e9999", "π*2", "min(1,", "%%%", "1.e", "((((1))))"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := builtin.Evaluate(s); err == nil && got == "" {
			t.Errorf("%q gives neither value nor error", s)
		}
	})
}

// TestDefinitionsAreShort limits the size of all definitions together, because a plain
// "hi" sends them all.
func TestDefinitionsAreShort(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	total := 0
	for _, tl := range w.tools {
		raw, err := json.Marshal(tl.Definition())
		if err != nil {
			t.Fatal(err)
		}
		total += len(raw)
	}
	t.Logf("%d tools, %d bytes", len(w.tools), total)
	if len(w.tools) != 15 || total > 5000 {
		t.Errorf("%d tools have %d bytes", len(w.tools), total)
	}
}

// TestDisk: what conditions of workflows read stays in the workspace and does not wait.
func TestDisk(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(dir, "a.txt"): "in", filepath.Join(outside, "b.txt"): "out"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"inside": "a.txt", "out": filepath.Join(outside, "b.txt"), "folder": outside} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(outside, "b.txt"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := builtin.Open(builtin.FilesConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	disk := files.Disk()
	for _, name := range []string{"a.txt", "inside"} {
		if text, err := fs.ReadFile(disk, name); err != nil || string(text) != "in" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"out", "folder/b.txt", "hard", "pipe", ".", "folder", "../" + filepath.Base(outside) + "/b.txt", filepath.Join(outside, "b.txt"), "missing", "~/x", "a\x00b"} {
		if f, err := disk.Open(name); err == nil {
			t.Errorf("%s is open: %v", name, f)
		}
	}
}
