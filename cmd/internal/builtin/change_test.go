package builtin_test

import (
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/cmd/internal/builtin"
)

func TestMultiEdit(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"a": "one\ntwo\nthree\n", "crlf": "a\r\nb\r\nc\r\n", "mixed": "a\r\nb\nc\r\n"})
	w.want("multi_edit", `{"path":"a","edits":[{"old":"one","new":"1"},{"old":"four","new":"4"}]}`, "! nothing was changed; edit 2 of 2: the old text does not occur in a")
	if got := w.text("a"); got != "one\ntwo\nthree\n" {
		t.Errorf("half of the edits were made: %q", got)
	}
	w.want("multi_edit", `{"path":"a","edits":[{"old":"one","new":"two"},{"old":"two","new":"2","all":true}]}`, "Made 2 edits in a.")
	w.want("multi_edit", `{"path":"crlf","edits":[{"old":"a\nb","new":"x\ny\nz"},{"old":"z\nc","new":"end"}]}`, "Made 2")
	w.want("append_file", `{"path":"crlf","content":"more\n"}`, "Added 6 bytes to crlf, which now has 17.")
	w.want("edit_file", `{"path":"mixed","old":"a\nb","new":"x\ny"}`, "Replaced 1")
	w.want("edit_file", `{"path":"mixed","old":"c","new":"z"}`, "Replaced 1")
	for name, want := range map[string]string{"a": "2\n2\nthree\n", "crlf": "x\r\ny\r\nend\r\nmore\r\n", "mixed": "x\r\ny\nz\r\n"} {
		if got := w.text(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	w.want("write_file", `{"path":"crlf","content":"new\nlines\n"}`, "Wrote")
	if got := w.text("crlf"); got != "new\r\nlines\r\n" {
		t.Errorf("line ends became %q", got)
	}
}

func TestAppendRenameRemove(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"log": "1\n", "d/x": "x", "d/e/y": "y", "keep": "k", "skills/a.yaml": "name: a\n", "sub/.git/config": "[core]"})
	w.want("append_file", `{"path":"log","content":"2\n"}`, "Added 2 bytes")
	w.want("append_file", `{"path":"new/log","content":"1\n"}`, "which is new")
	w.want("append_file", `{"path":"d","content":"1\n"}`, "! d: is a directory")
	w.want("rename_file", `{"from":"d/x","to":"f/g/x"}`, "Moved d/x to f/g/x.")
	w.want("rename_file", `{"from":"log","to":"keep"}`, "! keep already exists")
	w.want("rename_file", `{"from":"none","to":"keep2"}`, "! there is no file or folder \"none\"")
	w.want("rename_file", `{"from":"skills","to":"old"}`, "! etui's configuration")
	w.want("rename_file", `{"from":"f","to":".vscode"}`, "! .vscode is run or read by other programs")
	w.want("rename_file", `{"from":"f","to":"../f"}`, "! ../f is outside")
	w.want("remove_file", `{"path":"d"}`, "! d is not empty; set recursive to remove it with everything in it")
	w.want("remove_file", `{"path":"d","recursive":true}`, "Removed d with everything in it: 2 files and folders.")
	w.want("remove_file", `{"path":".","recursive":true}`, "! . cannot be moved or removed")
	w.want("remove_file", `{"path":"`+w.dir+`","recursive":true}`, "! . cannot be moved or removed")
	w.want("remove_file", `{"path":"sub","recursive":true}`, "Removed sub")
	w.want("make_dir", `{"path":"p/q"}`, "p/q/ exists.")
	w.want("make_dir", `{"path":"keep/q"}`, "! ")
	w.want("make_dir", `{"path":".idea"}`, "! .idea is run")
	w.want("diff_files", `{"from":"log","to":"keep"}`, "-1\n-2\n+k")
	w.want("diff_files", `{"from":"log","to":"log"}`, "the same")
	if got := w.text("log") + w.text("new/log") + w.text("f/g/x") + w.text("keep"); got != "1\n2\n1\nxk" {
		t.Errorf("the files are %q", got)
	}
}

// TestControlFiles checks that these files cannot be changed under any spelling.
func TestControlFiles(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{".git/config": "x", "a/.git/hooks/old": "x", "bare/HEAD": "x", "bare/objects/x": "x", "bare/refs/x": "x", "half/objects/x": "x", "half/refs/x": "x", "linked/HEAD": "x", "most/HEAD": "x", "most/objects/x": "x"})
	if err := os.Symlink(".git", filepath.Join(w.dir, "g")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		".git/hooks/post-checkout", ".GIT/Hooks/x", ".git/config", "a/.git/hooks/new", "a/b/.git/config", ".git", ".vscode/tasks.json", ".idea/x", ".mcp.json", ".MCP.JSON", ".envrc",
		"sub/.envrc", ".git./hooks/x", ".g\u200cit/config", "g/hooks/x", "g/config", ".git/modules/a/hooks/x", ".ｇit/config", ".envrc::$DATA",
		".git/info/exclude", "bare/config", "bare/hooks/x", "half/HEAD", "most/refs", "most/refs/heads/x", "linked/commondir", ".hg/hgrc", "a/.github/workflows/x.yml", ".zed/tasks.json", ".claude/settings.json",
	} {
		args, _ := json.Marshal(map[string]string{"path": name, "content": "x"})
		w.want("write_file", string(args), "! "+name+" is run or read by other programs")
	}
	for _, name := range []string{"~/x", "~root/x", "$HOME/x", "${HOME}/x", "$(id)", "file:///etc/x", `C:\x`, `..\x`, "%TEMP%/x", `a\..\x`, "a\nb", "\t../x"} {
		args, _ := json.Marshal(map[string]string{"path": name, "content": "x"})
		w.want("write_file", string(args), "! ")
	}
	for _, name := range []string{".gitignore", "git/hooks/x", ".github/x", "...", "~a.txt", "a$b", "x:y", "今日.md", "a..b", "HEAD", "half/refs/x", "cafe\u0301"} {
		args, _ := json.Marshal(map[string]string{"path": name, "content": "x"})
		w.want("write_file", string(args), "Wrote")
	}
}

// TestLinkedControlFiles: what other programs run or read does not change through its name where
// that is a link. The file that it leads to stays an ordinary one under its own name.
func TestLinkedControlFiles(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"notes.txt": "old", "hooks/x": "old"})
	for link, to := range map[string]string{".envrc": "notes.txt", "sub": ".", ".husky": "hooks"} {
		if err := os.Symlink(to, filepath.Join(w.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".envrc", "sub/.envrc", ".husky/x", ".husky/new"} {
		w.want("write_file", `{"path":"`+name+`","content":"new"}`, "! "+name+" is run or read by other programs")
		w.want("append_file", `{"path":"`+name+`","content":"new"}`, "! "+name+" is run or read by other programs")
	}
	w.want("write_file", `{"path":"notes.txt","content":"new"}`, "Wrote")
}

// TestFolderBecomesControl: a folder does not become what other programs trust by its new
// name.
func TestFolderBecomesControl(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"gh/workflows/a.yml": "x", "other/x": "x", "c/config.toml": "x"})
	w.want("rename_file", `{"from":"gh","to":".github"}`, "! .github is run or read by other programs")
	w.want("rename_file", `{"from":"gh","to":"sub/.GitHub"}`, "! sub/.GitHub is run or read by other programs")
	w.want("rename_file", `{"from":"c","to":".cargo"}`, "! .cargo is run or read by other programs")
	w.want("rename_file", `{"from":"other","to":".github"}`, "Moved other to .github.")
}

// TestHardLinks to files outside are neither read nor changed.
func TestHardLinks(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"a": "inside\n"})
	outside := filepath.Join(w.dir, "../outside")
	if err := os.WriteFile(outside, []byte("SECRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{outside: "hard", filepath.Join(w.dir, "a"): "b"} {
		if err := os.Link(from, filepath.Join(w.dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	w.want("read_file", `{"path":"hard"}`, "! hard has a second name outside")
	w.want("edit_file", `{"path":"hard","old":"SECRET","new":"x"}`, "! hard has a second name outside")
	w.want("append_file", `{"path":"hard","content":"x"}`, "! hard has a second name")
	w.want("search_text", `{"pattern":"SECRET"}`, "No line")
	w.want("search_text", `{"pattern":"SECRET","path":"hard"}`, "! hard has")
	w.want("read_file", `{"path":"b"}`, "inside")
	w.want("write_file", `{"path":"hard","content":"new"}`, "Wrote")
	if raw, _ := os.ReadFile(outside); string(raw) != "SECRET\n" {
		t.Errorf("the file outside became %q", raw)
	}
}

// TestReadOnlyFolders checks that these folders can be read by absolute path but not
// changed.
func TestReadOnlyFolders(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	dir := filepath.Join(w.dir, "../readonly")
	if err := os.MkdirAll(filepath.Join(dir, "skill"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"readonly/skill/notes.md": "read me\n", "secret": "SECRET"} {
		if err := os.WriteFile(filepath.Join(w.dir, "..", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	w.want("read_file", `{"path":"`+dir+`/skill/notes.md"}`, "read me")
	w.want("list_dir", `{"path":"`+dir+`/skill"}`, "notes.md")
	w.want("find_files", `{"path":"`+dir+`","pattern":"*.md"}`, dir+"/skill/notes.md")
	w.want("search_text", `{"path":"`+dir+`","pattern":"read"}`, dir+"/skill/notes.md:1: read me")
	w.want("read_file", `{"path":"`+dir+`/link"}`, "! ")
	w.want("read_file", `{"path":"`+dir+`/../secret"}`, "! ")
	w.want("write_file", `{"path":"`+dir+`/x","content":"x"}`, "! ")
	w.want("remove_file", `{"path":"`+dir+`/skill/notes.md"}`, "! ")
}

// TestEditsDoNotGetLost lets many sessions change one file at once.
func TestEditsDoNotGetLost(t *testing.T) {
	t.Parallel()
	const sessions = 16
	var text strings.Builder
	for i := range sessions {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	w := open(t, map[string]string{"a": text.String()})
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			_, err := w.tools["edit_file"].Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"path":"a","old":"<%d>","new":"done"}`, i)))
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, want := w.text("a"), strings.Repeat("done\n", sessions); got != want {
		t.Errorf("the file is %q", got)
	}
}

func TestReadImage(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"a.txt": "text"})
	for name, side := range map[string]int{"p.png": 10, "wide.png": 9000} {
		file, err := os.Create(filepath.Join(w.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(file, image.NewGray(image.Rect(0, 0, side, 10))); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	w.want("read_image", `{"path":"a.txt"}`, "! a.txt is not a PNG")
	w.want("read_image", `{"path":"wide.png"}`, "wide.png: png, 9000 x 10 pixels, 194 bytes; shown with 1800 x 2.")
	w.want("read_image", `{"path":"p.png"}`, "p.png: png, 10 x 10 pixels")
	r, err := w.tools["read_image"].Call(t.Context(), json.RawMessage(`{"path":"p.png"}`))
	if err != nil || len(r.Images) != 1 || r.Images[0].MediaType != "image/png" || string(r.Images[0].Data) != w.text("p.png") {
		t.Errorf("%v, %v", r, err)
	}
}

// FuzzPaths checks that no path reads or changes anything outside of the workspace.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"../out/canary", "link/../canary", "up/out/canary", "a/../../out", "//..", "./~", "up", "link", "link/", "\x00", "here/here/up/out", "..\\out\\canary", "/proc/self/root/etc/passwd"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		dir := t.TempDir()
		for _, d := range []string{"ws/a", "out"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "out/canary"), []byte("CANARY"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, target := range map[string]string{"link": "../out/canary", "up": "..", "here": ".", "abs": filepath.Join(dir, "out")} {
			if err := os.Symlink(target, filepath.Join(dir, "ws", name)); err != nil {
				t.Fatal(err)
			}
		}
		files, err := builtin.Open(builtin.FilesConfig{Dir: filepath.Join(dir, "ws")})
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		args, _ := json.Marshal(map[string]any{"path": a, "from": a, "to": b, "content": b, "old": "CANARY", "new": b, "pattern": b, "recursive": true})
		for _, tl := range builtin.Tools(nil, files) {
			if r, err := tl.Call(t.Context(), args); err == nil && strings.Contains(r.Text, "CANARY") && !strings.Contains(a+b, "CANARY") {
				t.Errorf("%s %s gives %q", tl.Definition().Name, args, r.Text)
			}
		}
		raw, err := os.ReadFile(filepath.Join(dir, "out/canary"))
		if err != nil || string(raw) != "CANARY" {
			t.Errorf("the file outside is %q, %v", raw, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 2 {
			t.Errorf("%v were made outside", entries)
		}
		if entries, _ := os.ReadDir(filepath.Join(dir, "out")); len(entries) != 1 {
			t.Errorf("%v were made outside", entries)
		}
	})
}

// TestNamesAreQuoted: a name cannot be taken for other lines of a list, and does not steer
// terminals.
func TestNamesAreQuoted(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"a\nb (9 bytes)": "needle", "c\x1b[2J": "needle", "plain name": "needle", "d\r/e": "x"})
	w.want("list_dir", `{}`, "\"d\\r\"/\n\"a\\nb (9 bytes)\" (6 bytes)\n\"c\\x1b[2J\" (6 bytes)\nplain name (6 bytes)\n")
	w.want("find_files", `{"pattern":"*"}`, "\"a\\nb (9 bytes)\"\n\"c\\x1b[2J\"\n\"d\\r/\"\n\"d\\r/e\"\nplain name")
	w.want("search_text", `{"pattern":"needle"}`, "\"a\\nb (9 bytes)\":1: needle\n\"c\\x1b[2J\":1: needle\nplain name:1: needle")
}
