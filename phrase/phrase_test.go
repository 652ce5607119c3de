package phrase_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/phrase"
)

// TestMatch: whatever a platform, a browser or a terminal says of languages.
func TestMatch(t *testing.T) {
	t.Parallel()
	for preferred, want := range map[string]string{
		"": "", "zh": "zh", "zh-CN": "zh", "zh-Hant-TW": "zh", "zh_CN.UTF-8": "zh", "zh_CN.GB18030@pinyin": "zh", "en": "en",
		"en_US.UTF-8": "en", "zh-CN,zh;q=0.9,en;q=0.8": "zh", "en-GB,zh;q=0.5": "en", "fr;q=0.9,zh;q=0.5": "zh", "fr": "",
		"C": "", "C.UTF-8": "", "POSIX": "", "*": "", "nonsense!": "", strings.Repeat("zh,", 1000): "",
	} {
		if got := phrase.Match(preferred); got != want {
			t.Errorf("%q: %q, want %q", preferred, got, want)
		}
	}
	if got := phrase.Match("", "C", "zh_CN.UTF-8", "en"); got != phrase.Chinese {
		t.Errorf("the first that says something: %q", got)
	}
}

// TestLocale: the variables count in the order of gettext.
func TestLocale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all, messages, lang, list, want string
	}{
		{"", "", "", "", ""},
		{"", "", "zh_CN.UTF-8", "", "zh"},
		{"", "", "zh_TW.UTF-8", "", "zh"},
		{"", "zh_HK.UTF-8", "en_US.UTF-8", "", "zh"},
		{"en_US.UTF-8", "zh_CN.UTF-8", "zh_CN.UTF-8", "", "en"},
		{"", "", "en_US.UTF-8", "zh_CN:en", "zh"},
		{"", "", "zh_CN.UTF-8", "en:zh", "en"},
		{"", "", "zh_CN.UTF-8", "fr:de", "zh"},
		{"C", "", "zh_CN.UTF-8", "zh", ""},
		{"", "", "", "zh", ""},
		{"", "", "C.UTF-8", "", ""},
	} {
		set := map[string]string{"LC_ALL": c.all, "LC_MESSAGES": c.messages, "LANG": c.lang, "LANGUAGE": c.list}
		if got := phrase.Locale(func(name string) string { return set[name] }); got != c.want {
			t.Errorf("%v: %q, want %q", set, got, c.want)
		}
	}
}

// TestSay: an error is said whole, and what has no Chinese stays in it as it is.
func TestSay(t *testing.T) {
	t.Parallel()
	kind := phrase.Errorf("the message is not valid")
	for _, c := range []struct {
		err  error
		want string
	}{
		{kind, "消息无效"},
		{errors.New("the disk is full"), "the disk is full"},
		{fmt.Errorf("a.txt: %w: it has as and user", kind), "a.txt: 消息无效: it has as and user"},
		{errors.Join(errors.New("x"), kind), "x\n消息无效"},
		{phrase.Errorf("there is no file %s", "10 %"), "没有文件 10 %"},
		{phrase.Errorf("%s is written, but cannot be used: %w", "a", errors.New("b")), "a 已写入，但无法使用：b"},
		{fmt.Errorf("x: %w", errors.New("nothing was changed: answer y, or add --yes")), "x: 未作更改：请回答 y，或加 --yes"},
	} {
		if got := phrase.Say(phrase.Chinese, c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if got := phrase.Say("", c.err); got != c.err.Error() {
			t.Errorf("%q, want %q", got, c.err)
		}
	}
}

// TestReword: a text that came in English is said in Chinese with its arguments, and nothing else is.
func TestReword(t *testing.T) {
	t.Parallel()
	at := `/w/etui.yaml:3:10: unknown key "nme" in users[0]; did you mean "name"?`
	if got := phrase.Reword(phrase.Chinese, at); got != `/w/etui.yaml:3:10: users[0] 中有未知的键 "nme"；您是指 "name" 吗？` {
		t.Errorf("a text behind a place is %q", got)
	}
	for english, want := range map[string]string{
		"/f.yaml:1:9: models must be a list, not a mapping": "/f.yaml:1:9: models 必须是列表，不能是映射",
		"":                                      "",
		"the weather is fine":                   "the weather is fine",
		"a: b":                                  "a: b",
		"no word of the question matches":       "没有与问题相符的词",
		"rank 3: others fit better, 5 are sent": "第 3 名：其他工具更相符，发送 5 个",
		"rank 12, named with the message":       "第 12 名，随消息列名",
		"rank 1, preferred; recommended 60 of 100 (keyword 40, history 20)":         "第 1 名，优先；推荐分 60（满分 100；keyword 40, history 20）",
		`there is no file or folder "a \"b\".txt"; list_dir shows what is there`:    "没有文件或文件夹“a \"b\".txt”；list_dir 可以列出现有内容",
		"rule night (etui.yaml:4) asks for an approval, depending on the arguments": "规则 night (etui.yaml:4) 视参数要求批准",
		"at position 4 of \"1/0\": division by zero":                                "“1/0”的第 4 个字符处：除数为零",
		"nothing was changed; edit 1 of 2: a.txt is a folder":                       "未作更改；第 1 处修改（共 2 处）：a.txt 是文件夹",
		"x\nno such task": "x\n没有这项任务",
	} {
		if got := phrase.Reword(phrase.Chinese, english); got != want {
			t.Errorf("%q: %q, want %q", english, got, want)
		}
		if got := phrase.Reword("", english); got != english {
			t.Errorf("%q became %q", english, got)
		}
	}
}

// BenchmarkReword: a console shows hundreds of reasons at once.
func BenchmarkReword(b *testing.B) {
	for b.Loop() {
		phrase.Reword(phrase.Chinese, "rank 12: others fit better, 5 are sent")
	}
}

// TestJoin: sentences stand as the language writes them.
func TestJoin(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{phrase.English: "One. Two.", phrase.Chinese: "One.Two."} {
		if got := phrase.Join(lang, "One.", "", "Two."); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
}

// TestError: an error is said with all that it wraps, and what is not said in a language is left out.
func TestError(t *testing.T) {
	t.Parallel()
	kind := phrase.Errorf("the message is not valid")
	unknown := phrase.Errorf("skill %q: %w%s", "maill", phrase.Errorf("not found"), phrase.Near("maill", slices.Values([]string{"mail"})))
	for _, c := range []struct {
		err              error
		english, chinese string
	}{
		{unknown, `skill "maill": not found; did you mean "mail"?`, "技能“maill”：未找到；您是指“mail”吗？"},
		{fmt.Errorf("reading: %w", unknown), `reading: skill "maill": not found; did you mean "mail"?`, "技能“maill”：未找到；您是指“mail”吗？"},
		{fmt.Errorf("%w: it has as and user", kind), "the message is not valid: it has as and user", "消息无效"},
		{errors.New("the disk is full"), "the disk is full", ""},
	} {
		if got := phrase.Error("", c.err); got != c.english || c.err.Error() != c.english {
			t.Errorf("%q, want %q", got, c.english)
		}
		if got := phrase.Error(phrase.Chinese, c.err); got != c.chinese {
			t.Errorf("%q, want %q", got, c.chinese)
		}
	}
	if !errors.Is(fmt.Errorf("x: %w", kind), kind) {
		t.Error("a phrase wraps nothing")
	}
}

// rooms are the folders in which sentences are said to people: each is a phrase there, unless it is an
// error, a log line or what a model reads.
var rooms = []string{"cmd/etui/", "command/", "channel/", "answer/", "approval/", "outbox/", "order/"}

// forModels are folders and files in them whose texts models read.
var forModels = []string{"channel/heard/", "channel/material/", "channel/feishu/quote.go", "channel/slack/thread.go"}

// spoken matches a text that looks like words to people.
var spoken = regexp.MustCompile(`^[(; ]*[A-Z][a-z’']*,? .*[a-z]{2}`)

// TestComplete: each phrase in the code has a Chinese text with the same arguments, and no sentence to
// people is anything but a phrase.
func TestComplete(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, file := range sources(t) {
		starts := func(folder string) bool { return strings.HasPrefix(name, folder) }
		inRoom := slices.ContainsFunc(rooms, starts) && !slices.ContainsFunc(forModels, starts)
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			switch n := n.(type) {
			case *ast.CallExpr:
				for _, english := range phrasesOf(name, n) {
					seen++
					checkPhrase(t, name, english)
				}
			case *ast.KeyValueExpr:
				if strings.HasPrefix(name, "cmd/") {
					for _, english := range shown(n) {
						seen++
						checkPhrase(t, name, english)
					}
				}
			case *ast.BasicLit:
				if text := literal(n); slices.Contains([]string{"Forwarded from ", "The tools of the MCP server "}, text) { // for the model
					break
				} else if inRoom && n.Kind == token.STRING && spoken.MatchString(text) && !excused(stack) {
					if _, ok := translated(strings.TrimSpace(text)); !ok {
						t.Errorf("%s: %q is said to people, and is no phrase", name, text)
					}
				}
			}
			return true
		})
	}
	if seen < 1000 {
		t.Errorf("only %d phrases were found", seen)
	}
}

var verb = regexp.MustCompile(`%(\[\d+\])?[-+# 0]*\d*(\.\d+)?[a-zA-Z%]`)

func checkPhrase(t *testing.T, name, english string) {
	t.Helper()
	english = strings.TrimSpace(strings.ReplaceAll(english, "%w", "%v"))
	if !regexp.MustCompile(`[A-Za-z]{2}`).MatchString(verb.ReplaceAllString(english, "")) {
		return // signs and arguments alone
	}
	if regexp.MustCompile(`^[a-z]+: \{[^}]*\}(: docs/\S+)?$`).MatchString(english) {
		return // a line of the configuration
	}
	chinese, ok := translated(english)
	if !ok {
		t.Errorf("%s: %q has no Chinese", name, english)
		return
	}
	want, got := verb.FindAllString(english, -1), verb.FindAllString(chinese, -1)
	for _, verbs := range [][]string{want, got} { // another order names the arguments
		for i := range verbs {
			verbs[i] = regexp.MustCompile(`\[\d+\]`).ReplaceAllString(verbs[i], "")
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	// A quoted word needs no quotes of Go in Chinese.
	norm := func(verbs []string) string { return strings.ReplaceAll(strings.Join(verbs, " "), "%q", "%s") }
	if len(want) > 0 && strings.Contains(chinese, "${") {
		t.Errorf("%q: x/text would take ${ for a variable: make it an argument", english)
	}
	if sortedWords(norm(want)) != sortedWords(norm(got)) {
		t.Errorf("%q: the arguments are %v, and in Chinese %v", english, want, got)
	}
}

func sortedWords(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// translated returns the Chinese text of a phrase.
func translated(english string) (string, bool) {
	text, ok := phrase.Catalogue()[english]
	return text, ok
}

// made matches phrases that cobra or another package puts together.
var made = regexp.MustCompile(`^unknown key %q in|it must be one of %s; did|the facts are %s$|^policy rule$|^\[y/N\]$|completion|Help|it never was|no cgroup is delegated|^tools of risk \w+ are [a-z ]+ by default$|^missing property %s$|^at %s: %s$|^rule %s$|^%s (allows|denies|asks for an approval)`)

// TestUsed: each text of the catalogue is said somewhere, and is Chinese.
func TestUsed(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := constantOf(e); ok {
					said[text] = true
					text = strings.ReplaceAll(text, "%w", "%v")
					said[strings.TrimSpace(text)], said[text+"%s"], said["%s"+text] = true, true, true // "lists " + names
				}
			}
			return true
		})
	}
	for english, text := range phrase.Catalogue() {
		checkPhrase(t, "the catalogue", english)
		counted := strings.TrimSuffix(strings.TrimPrefix(english, "%d "), "s")
		if !said[english] && !said[counted] && !made.MatchString(english) {
			t.Errorf("nobody says %q", english)
		}
		if english != "." && english != ", " && !chat.Chinese(text) && verb.ReplaceAllString(text, "") == text {
			t.Errorf("%q is not in Chinese: %q", english, text)
		}
	}
}

// TestFrames: no error in Chinese holds a sentence in English. An error whose kind is a phrase is one as a whole.
func TestFrames(t *testing.T) {
	t.Parallel()
	files, kinds, seen := sources(t), map[string]bool{}, 0
	for before := -1; before < len(kinds); { // engine.ErrInvalid is message.ErrInvalid
		before = len(kinds)
		for _, file := range files {
			for _, decl := range file.Decls {
				each(decl, func(spec *ast.ValueSpec) {
					for i, value := range spec.Values {
						if call, ok := value.(*ast.CallExpr); ok && called(call) == "phrase.Errorf" || kinds[qualified(file, value)] {
							kinds[file.Name.Name+"."+spec.Names[i].Name] = true
						}
					}
				})
			}
		}
	}
	for name, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || called(call) != "fmt.Errorf" {
				return true
			}
			text, _ := constantOf(call.Args[0])
			for _, arg := range call.Args[1:] {
				if !kinds[qualified(file, arg)] {
					continue
				}
				if seen++; regexp.MustCompile(`[A-Za-z]{2}`).MatchString(verb.ReplaceAllString(strings.ReplaceAll(text, "%w", ""), "")) {
					t.Errorf("%s: %q is in English around a phrase: make it a phrase.Errorf", name, text)
				}
			}
			return true
		})
	}
	if len(kinds) < 20 || seen < 5 {
		t.Errorf("%d kinds of errors are phrases, and %d errors are of one", len(kinds), seen)
	}
}

// each calls a function with the variables of a declaration.
func each(decl ast.Decl, do func(*ast.ValueSpec)) {
	if list, ok := decl.(*ast.GenDecl); ok {
		for _, spec := range list.Specs {
			if spec, ok := spec.(*ast.ValueSpec); ok {
				do(spec)
			}
		}
	}
}

// qualified returns the name of a variable as other packages write it.
func qualified(file *ast.File, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return file.Name.Name + "." + e.Name
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return pkg.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// sources reads the program, but for this package, tests and generated files.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (slices.Contains([]string{"testdata", "node_modules", "bin", "bench", "examples"}, name) || name != "." && strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case strings.HasPrefix(name, "phrase/chinese"), !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_gen.go"):
			return nil
		case strings.Contains(name, "test/"), strings.HasSuffix(name, "/tools.go") && name != "cmd/etui/tools.go": // what models read
			return nil
		}
		text, err := os.ReadFile("../" + name)
		if err != nil {
			return err
		}
		files[name], err = parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// phrasesOf returns the constant phrases that a call in a file says.
func phrasesOf(file string, call *ast.CallExpr) (list []string) {
	name := called(call)
	terminal := strings.HasPrefix(file, "cmd/") || strings.HasPrefix(file, "internal/terminal/")
	from, to := -1, -1
	switch _, method, _ := strings.Cut(name, "."); {
	case name == "phrase.Count":
		if thing, ok := constantOf(call.Args[2]); ok {
			return []string{"%d " + thing + "s"}
		}
	case slices.Contains([]string{"phrase.Fprintf"}, name):
		from, to = 2, 2
	case slices.Contains([]string{"phrase.In", "phrase.Word"}, name):
		from, to = 1, 1
	case slices.Contains([]string{"phrase.Errorf", "config.Usagef", "refused"}, name):
		from, to = 0, 0
	case name == "a.tell": // of a channel
		from, to = 3, 3
	case !terminal || name == "phrase.Say":
	case slices.Contains([]string{"say", "Say", "note", "Note", "Confirm"}, method):
		from, to = 0, 0
	case method == "gapIn":
		from, to = 1, 2
	case name == "report.Head" || name == "head":
		from, to = 1, len(call.Args)-1
	case strings.HasSuffix(method, "Var") || strings.HasSuffix(method, "VarP"): // a flag
		from, to = len(call.Args)-1, len(call.Args)-1
	}
	for i := max(from, 0); i <= min(to, len(call.Args)-1); i++ {
		if text, ok := constantOf(call.Args[i]); ok {
			list = append(list, text)
		}
	}
	return list
}

// shown returns the constant texts of a field that people read: of a command or a table.
func shown(field *ast.KeyValueExpr) (list []string) {
	key, _ := field.Key.(*ast.Ident)
	if key == nil || !slices.Contains([]string{"Short", "short", "Long", "long", "None", "Head", "Of", "otherwise"}, key.Name) {
		return nil
	}
	values := []ast.Expr{field.Value}
	if several, ok := field.Value.(*ast.CompositeLit); ok {
		values = several.Elts
	}
	for _, value := range values {
		if text, ok := constantOf(value); ok && key.Name == "Of" {
			list = append(list, "%d "+text+"s")
		} else if ok {
			list = append(list, text)
		}
	}
	return list
}

// called returns the name of a function as the call has it: phrase.In.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// excused reports whether the text at the end of a path is no sentence to people: an error, a log
// line, the words of a tool, a header of a platform.
func excused(path []ast.Node) bool {
	for _, n := range path {
		switch n := n.(type) {
		case *ast.Field, *ast.ImportSpec: // a struct's tag
			return true
		case *ast.CallExpr:
			name := called(n)
			if slices.Contains([]string{
				"errors.New", "fmt.Errorf", "phrase.In", "phrase.Word", "phrase.Errorf", "phrase.Count", "panics.Log", "panics.Report", "http.Error",
				"regexp.MustCompile", "platform.Definition", "tool.Text", "tool.Func", "a.tell",
			}, name) || regexp.MustCompile(`(?i)\.(log|debug|info|warn|error)(context)?$`).MatchString(name) {
				return true
			}
		}
	}
	return false
}

func literal(n *ast.BasicLit) string {
	if n.Kind != token.STRING {
		return ""
	}
	return constant.StringVal(constant.MakeFromLiteral(n.Value, n.Kind, 0))
}

// constantOf returns the text of an expression of literals.
func constantOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return literal(e), e.Kind == token.STRING
	case *ast.ParenExpr:
		return constantOf(e.X)
	case *ast.BinaryExpr:
		x, ok := constantOf(e.X)
		y, both := constantOf(e.Y)
		return x + y, ok && both && e.Op == token.ADD
	}
	return "", false
}
