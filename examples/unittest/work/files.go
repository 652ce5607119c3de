package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

const (
	maxWrite = 256 << 10 // bytes of a file of tests
	maxRead  = 400       // lines of a reading
	maxList  = 300       // entries of a listing
	maxFound = 60
)

// Action is what the FileSystem does.
type Action string

// The actions.
const (
	Read    Action = "read"
	Write   Action = "write"
	Replace Action = "replace"
)

type fileInput struct {
	Action Action `json:"action"`
	Path   string `json:"path" minLength:"1"`
	// Content is the new file, or with replace what comes in place of Old.
	Content string `json:"content" default:""`
	Old     string `json:"old" default:""`               // text to replace, once in the file
	From    int    `json:"from" default:"1" minimum:"1"` // first line to read
}

// fileSystem reads files of the project, and writes new test files, whole or by replacing a piece. Nothing else can be changed.
//
//etui:tool name=FileSystem risk=write replay=keyed
//etui:zh 读取项目中的文件，写入测试文件。
//etui:alias open file, save test, edit, 读写文件
//etui:example show me Price.java from line 40
func (w *Work) fileSystem(ctx context.Context, in fileInput) (chat.Result, error) {
	file, err := w.Project.Relative(in.Path)
	if err != nil {
		return chat.Result{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if in.Action == Read {
		return w.read(file, in.From)
	}
	if err := w.mayWrite(file); err != nil {
		return chat.Result{}, err
	}
	content, key := in.Content, tool.IdempotencyKey(ctx)
	switch again := w.st.Wrote; {
	case key != "" && again.Key == key && again.File == file:
		content = again.Content // the call was cut off by a crash
	case in.Action == Replace:
		if content, err = w.replaced(file, in.Old, in.Content); err != nil {
			return chat.Result{}, err
		}
	}
	if len(content) > maxWrite {
		return chat.Result{}, fmt.Errorf("the file would have %d bytes; %d are allowed", len(content), maxWrite)
	}
	// The state comes first: after a crash between the two, the file is the run's own.
	if !slices.Contains(w.st.Tests, file) {
		w.st.Tests = append(w.st.Tests, file)
	}
	w.st.Changed, w.st.Wrote = true, Wrote{key, file, content}
	if err := w.save(); err != nil {
		return chat.Result{}, err
	}
	if err := w.put(file, content); err != nil {
		return chat.Result{}, err
	}
	lines := strings.Count(content, "\n")
	return result(map[string]any{"path": file, "lines": lines, "written": true}, fmt.Sprintf("%s is written (%d lines). SyntaxChecker tells whether it compiles.", file, lines))
}

// mayWrite says why a file is not to be written.
func (w *Work) mayWrite(file string) error {
	switch {
	case !w.Language.IsTest(file):
		free, err := w.free()
		if err != nil {
			return err
		}
		return fmt.Errorf("%s is no file of tests, and only these are written; write %s", file, free)
	case slices.Contains(w.st.Tests, file):
		return nil
	case w.exists(file):
		free, err := w.free()
		if err != nil {
			return err
		}
		return fmt.Errorf("%s was there before and stays as it is; write %s", file, free)
	}
	return nil
}

func (w *Work) exists(file string) bool {
	_, err := os.Lstat(filepath.Join(w.Project.Root, filepath.FromSlash(file)))
	return !errors.Is(err, fs.ErrNotExist)
}

// put writes a file of tests. Links that lead out of the project are not followed.
func (w *Work) put(file, content string) error {
	root, err := os.OpenRoot(w.Project.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.FromSlash(file)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	// A new name first, so that a crash leaves the old file or the new one.
	fresh := name + ".unittest-new"
	if err := root.WriteFile(fresh, []byte(content), 0o644); err != nil {
		return err
	}
	return root.Rename(fresh, name)
}

func (w *Work) replaced(file, old, with string) (string, error) {
	text, err := w.Project.Read(file)
	if err != nil {
		return "", err
	}
	switch n := strings.Count(string(text), old); {
	case old == "":
		return "", errors.New("replace needs old, the text to replace")
	case n != 1:
		return "", fmt.Errorf("the text is %d times in %s; give one that is there once", n, file)
	}
	return strings.Replace(string(text), old, with, 1), nil
}

func (w *Work) read(file string, from int) (chat.Result, error) {
	text, err := w.Project.Read(file)
	if err != nil {
		return chat.Result{}, err
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	from = min(from, len(lines))
	to := min(len(lines), from+maxRead-1)
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%4d  %s\n", i, lines[i-1])
	}
	if to < len(lines) {
		fmt.Fprintf(&b, "(%d more lines; read on with from=%d)\n", len(lines)-to, to+1)
	}
	return result(map[string]any{"path": file, "lines": len(lines), "from": from, "to": to}, b.String())
}

type directoryInput struct {
	Path  string `json:"path" default:"."`
	Tests bool   `json:"tests" default:"false"` // only tests
}

// directory lists the files of the project below a folder.
//
//etui:tool name=Directory risk=read
//etui:zh 列出项目文件夹中的文件。
//etui:alias list files, tree, folder, 目录
//etui:example which tests are there already?
func (w *Work) directory(in directoryInput) (chat.Result, error) {
	dir, err := w.Project.Relative(in.Path)
	if err != nil {
		return chat.Result{}, err
	}
	list, more := []string{}, 0
	err = w.Project.Walk(func(file string, _ fs.FileInfo) error {
		switch {
		case dir != "." && !strings.HasPrefix(file, dir+"/"), in.Tests && !w.Language.IsTest(file):
		case len(list) == maxList:
			more++
		default:
			list = append(list, file)
		}
		return nil
	})
	if err != nil {
		return chat.Result{}, err
	}
	if len(list) == 0 {
		return chat.Result{}, fmt.Errorf("there are no files below %s", in.Path)
	}
	text := strings.Join(list, "\n")
	if more > 0 {
		text += fmt.Sprintf("\n(%d more; name a folder)", more)
	}
	return result(map[string]any{"files": list, "more": more}, text)
}

type symbolInput struct {
	// Name is a type, function, method or constant.
	Name string `json:"name" minLength:"2" maxLength:"100" pattern:"^[A-Za-z_$][A-Za-z0-9_$]*$"`
}

// symbolFinder finds where a type, function, method or constant is declared and used in the project, line by line, the declarations first. Use it for collaborators of the target.
//
//etui:tool name=SymbolFinder risk=read
//etui:zh 查找类型、函数或常量在项目中的声明和使用位置。
//etui:alias grep, references, usages, declaration, 查找符号
//etui:example where is Zone declared?
func (w *Work) symbolFinder(in symbolInput) (chat.Result, error) {
	word := regexp.MustCompile(`(^|[^A-Za-z0-9_$])` + regexp.QuoteMeta(in.Name) + `($|[^A-Za-z0-9_$])`)
	declares := regexp.MustCompile(`\b(class|interface|record|enum|func|type|const|var|def|void|public|private|protected)\b[^=(]*\b` + regexp.QuoteMeta(in.Name) + `\b`)
	var first, rest []string
	err := w.Project.Walk(func(file string, info fs.FileInfo) error {
		if !w.Language.Takes(file) && !w.Language.IsTest(file) || info.Size() > 1<<20 || len(rest) > maxFound {
			return nil
		}
		text, _ := w.Project.Read(file) // it may have gone
		for i, line := range strings.Split(string(text), "\n") {
			if !word.MatchString(line) {
				continue
			}
			found := fmt.Sprintf("%s:%d: %s", file, i+1, strings.TrimSpace(line))
			if declares.MatchString(line) && len(first) < maxFound {
				first = append(first, found)
			} else if len(rest) < maxFound {
				rest = append(rest, found)
			}
		}
		return nil
	})
	if err != nil {
		return chat.Result{}, err
	}
	all := append(first, rest...)
	if len(all) == 0 {
		return chat.Result{}, fmt.Errorf("%s is nowhere in the project; it may come from a library", in.Name)
	}
	all = all[:min(len(all), maxFound)]
	return result(map[string]any{"found": all}, strings.Join(all, "\n"))
}

// buildInspector shows the project's build file, which says what libraries tests may use and which version of the language they are compiled with.
//
//etui:tool name=BuildInspector risk=read
//etui:zh 显示项目的构建文件和可用的库。
//etui:alias dependencies, pom.xml, go.mod, libraries, 构建文件
//etui:example may the tests use Mockito?
func (w *Work) buildInspector() (chat.Result, error) {
	for dir := path.Dir(w.Target); ; dir = path.Dir(dir) {
		for _, mark := range w.Language.Marks() {
			file := path.Join(dir, mark)
			if text, err := w.Project.Read(file); err == nil {
				return result(map[string]string{"file": file, "text": string(text[:min(len(text), 16<<10)])}, "")
			}
		}
		if dir == "." {
			return result(map[string]string{"file": ""}, "The project has no build file. Tests may use the standard library and the usual test framework.")
		}
	}
}
