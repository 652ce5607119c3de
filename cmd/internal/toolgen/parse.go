package toolgen

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/tool"
)

// function is one tool: a function, or the struct type of its arguments if the program
// implements the tool itself.
type function struct {
	definition tool.Definition
	name       string       // of the Go function or type
	declared   bool         // as a type
	receiver   types.Type   // nil for a plain function
	context    bool         // it takes a context
	in         *types.Named // nil without arguments, and with plain ones
	plain      []*types.Var // arguments that are no struct
	pointer    bool         // in is a pointer
	out        types.Type   // nil if it returns only an error
	pos        token.Pos
}

// directive is a line //etui:NAME TEXT.
type directive struct {
	name, text string
	pos        token.Pos // of the line
	textPos    token.Pos // of the text
}

const prefix = "//etui:"

func directives(doc *ast.CommentGroup) (list []directive) {
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		if rest, ok := strings.CutPrefix(c.Text, prefix); ok {
			name, text, _ := strings.Cut(rest, " ")
			text = strings.TrimSpace(text)
			list = append(list, directive{name, text, c.Pos(), c.Pos() + token.Pos(strings.LastIndex(c.Text, text))})
		}
	}
	return list
}

// declaration is a function or type with directives.
type declaration struct {
	name *ast.Ident
	doc  *ast.CommentGroup
}

// tools returns the functions and types of a file that a directive makes tools.
func tools(file *ast.File) (list []declaration) {
	add := func(name *ast.Ident, doc *ast.CommentGroup) {
		if slices.ContainsFunc(directives(doc), func(d directive) bool { return d.name == "tool" }) {
			list = append(list, declaration{name, doc})
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			add(decl.Name, decl.Doc)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				t, ok := spec.(*ast.TypeSpec)
				switch {
				case ok && decl.Lparen.IsValid():
					add(t.Name, t.Doc)
				case ok:
					add(t.Name, decl.Doc)
				}
			}
		}
	}
	return list
}

// directiveNames are the directives of one tool.
var directiveNames = []string{"tool", "alias", "example", "translate", "zh"}

// meant matches a comment that looks like an attempt at a directive.
var meant = regexp.MustCompile(`(?i)^/[/*][ \t+@]*etui:tools?\b`)

func misspelt(c *ast.Comment) bool {
	return meant.MatchString(c.Text) && !strings.HasPrefix(c.Text, prefix)
}

// stray reports directives in places where they have no effect, and comments that look
// like one.
func (g *generator) stray(file *ast.File) {
	read := map[*ast.CommentGroup]bool{file.Doc: true}
	for _, m := range tools(file) {
		read[m.doc] = true
	}
	for _, group := range file.Comments {
		// Beside a misspelt //etui:tool, the other directives are right.
		mistaken := slices.ContainsFunc(group.List, misspelt)
		for _, c := range group.List {
			rest, directive := strings.CutPrefix(c.Text, prefix)
			name, _, _ := strings.Cut(rest, " ")
			switch {
			case misspelt(c):
				g.fail(c.Pos(), "a directive begins with %stool, without a space", prefix)
			case directive && !slices.Contains(directiveNames, name) && name != "tools":
				g.fail(c.Pos(), "unknown directive %s%s%s", prefix, name,
					nearest.Hint(name, slices.Values(directiveNames)))
			case directive && !read[group] && name == "tool":
				g.fail(c.Pos(), "%s%s does not belong to a function or struct type; write it as the last lines of its doc comment", prefix, name)
			case directive && !read[group] && !mistaken:
				g.fail(c.Pos(), "%s%s has no %stool beside it in the doc comment of a function", prefix, name, prefix)
			}
		}
	}
}

// common reads the directives of the package that apply to all its tools.
func (g *generator) common() (d tool.Definition) {
	for _, file := range g.pkg.Syntax {
		for _, x := range directives(file.Doc) {
			if x.name == "tools" {
				g.keys(&d, x, false)
				continue
			}
			g.fail(x.pos, "above the package clause only %stools is known; %s%s belongs to a function", prefix, prefix,
				x.name)
		}
	}
	return d
}

// functions returns the tools of the package, sorted by name.
func (g *generator) functions() (list []*function) {
	first := map[string]token.Pos{}
	common := g.common()
	for _, file := range g.pkg.Syntax {
		g.stray(file)
		g.everywhere(file)
		for _, m := range tools(file) {
			made := g.function(m, common)
			if made == nil {
				continue
			}
			if before, ok := first[made.definition.Name]; ok {
				g.fail(m.name.Pos(), "two functions define the tool %q, this one and the one at %s: set name= in one of the directives", made.definition.Name, g.position(before))
			}
			first[made.definition.Name] = m.name.Pos()
			list = append(list, made)
		}
	}
	for _, name := range g.pkg.IgnoredFiles {
		if file, err := parser.ParseFile(g.pkg.Fset, name, nil,
			parser.ParseComments|parser.SkipObjectResolution); err == nil {
			g.everywhere(file)
		}
	}
	slices.SortFunc(list, func(a, b *function) int { return strings.Compare(a.definition.Name, b.definition.Name) })
	return list
}

// everywhere checks that a file with tools belongs to the package on every system,
// with any build tags and without cgo, as the generated file does.
func (g *generator) everywhere(file *ast.File) {
	dir, name := filepath.Split(g.pkg.Fset.Position(file.Package).Filename)
	for _, system := range [][2]string{{"linux", "amd64"}, {"windows", "arm64"}, {"js", "wasm"}} {
		c := build.Default
		c.GOOS, c.GOARCH, c.BuildTags, c.CgoEnabled = system[0], system[1], nil, false
		if built, err := c.MatchFile(dir, name); err != nil || built {
			continue
		}
		for _, m := range tools(file) {
			g.fail(m.name.Pos(), "%s is a tool in a file with build constraints; move it to a file without them, and call what differs", m.name.Name)
		}
		return
	}
}

func (g *generator) function(m declaration, common tool.Definition) *function {
	f := &function{definition: common, name: m.name.Name, pos: m.name.Pos()}
	d := &f.definition
	d.Name, d.Description = snake(f.name), description(m)
	if d.Description == "" {
		g.fail(f.pos, "%s has no doc comment: it is what the model reads to choose the tool", f.name)
	}
	for _, x := range directives(m.doc) {
		g.apply(f, x)
	}
	if err := d.Check(); err != nil {
		g.fail(f.pos, "%v", err)
	}
	switch object := g.pkg.TypesInfo.Defs[m.name].(type) {
	case *types.Func:
		g.signature(f, object.Type().(*types.Signature))
	case *types.TypeName:
		f.declared = true
		if f.in = arguments(object.Type()); f.in == nil || object.IsAlias() {
			g.fail(f.pos, "%s is not a struct type; a tool is a function, or a struct type with its arguments", f.name)
			return nil
		}
	default: // the blank name
		g.fail(f.pos, "a tool needs a name")
		return nil
	}
	switch {
	case f.in != nil:
		d.Parameters = g.parameters(f.in, f.in.Obj().Name(), f.declared, f.pos)
	case len(f.plain) > 0:
		d.Parameters = g.parameters(g.structOf(f.plain), "of "+f.name, false, f.pos)
	}
	return f
}

// description is a doc comment as a model reads it: without directives, and without
// the function's name at its beginning.
func description(m declaration) string {
	text := oneLine(m.doc.Text())
	if rest, ok := strings.CutPrefix(text, m.name.Name+" "); ok {
		text = capital(rest)
	}
	return text
}

// oneLine joins the lines of a comment, with a space unless both neighbours are
// characters of scripts without spaces.
func oneLine(text string) (joined string) {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		last, _ := utf8.DecodeLastRuneInString(joined)
		if first, _ := utf8.DecodeRuneInString(line); joined != "" && line != "" && (!wide(last) || !wide(first)) {
			joined += " "
		}
		joined += line
	}
	return joined
}

func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= '\u3000' && r <= '\u303f' ||
		r >= '\uff00' && r <= '\uffef'
}

func capital(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + text[size:]
}

// snake turns readFile into read_file, and getURLText into get_url_text.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	upper := func(i int) bool { return i >= 0 && i < len(runes) && runes[i] >= 'A' && runes[i] <= 'Z' }
	for i, r := range runes {
		if upper(i) && i > 0 && (!upper(i-1) || i+1 < len(runes) && !upper(i+1)) {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// apply applies one directive.
func (g *generator) apply(f *function, x directive) {
	d := &f.definition
	switch x.name {
	case "alias", "example":
		if x.text == "" {
			g.fail(x.pos, "%s%s needs a text", prefix, x.name)
			return
		}
	}
	switch x.name {
	case "tool":
		g.keys(d, x, true)
	case "alias":
		d.Aliases = append(d.Aliases, list(x.text)...)
	case "example":
		d.Examples = append(d.Examples, x.text)
	case "translate":
		tag, text, _ := strings.Cut(x.text, " ")
		g.translate(d, tag, strings.TrimSpace(text), x.pos)
	case "zh":
		g.translate(d, "zh", x.text, x.pos)
	case "tools":
		g.fail(x.pos, "%stools belongs above the package clause, for all tools; use %stool here", prefix, prefix)
	}
}

func (g *generator) translate(d *tool.Definition, tag, text string, pos token.Pos) {
	if tag == "" || text == "" {
		g.fail(pos, "a translation needs a language and a text: %stranslate zh 读取文件。", prefix)
		return
	}
	if _, err := language.Parse(tag); err != nil {
		g.fail(pos, "%q is not a language; write its tag, as in %stranslate zh 读取文件。", tag, prefix)
	}
	if d.Translations == nil {
		d.Translations = map[string]string{}
	}
	d.Translations[tag] = text
}

// keys reads the key=value pairs of a directive. Only a directive of one tool may
// contain name.
func (g *generator) keys(d *tool.Definition, x directive, one bool) {
	set := map[string]func(string){
		"groups":   func(v string) { d.Groups = list(v) },
		"risk":     func(v string) { d.Risk = tool.Risk(v) },
		"replay":   func(v string) { d.Replay = tool.Replay(v) },
		"version":  func(v string) { d.Version = v },
		"channels": func(v string) { d.Channels = list(v) },
		"source":   func(v string) { d.Source = v },
	}
	allowed := map[string][]string{"risk": texts(tool.Risks()), "replay": texts(tool.Replays())}
	if one {
		set["name"] = func(v string) { d.Name = v }
	}
	for at, field := range words(x.text) {
		key, value, ok := strings.Cut(field, "=")
		pos := x.textPos + token.Pos(at)
		take := set[key]
		switch {
		case take == nil:
			g.fail(pos, "unknown key %q%s", key,
				cmp.Or(nearest.Hint(key, maps.Keys(set)),
					"; a directive is written "+prefix+x.name+" groups=file,io risk=read"))
		case !ok || value == "":
			g.fail(pos, "%s needs a value: %s=…, without spaces", key, key)
		case allowed[key] != nil && !slices.Contains(allowed[key], value):
			names := allowed[key]
			last := len(names) - 1
			g.fail(pos, "unknown %s %q%s", key, value,
				cmp.Or(nearest.Hint(value, slices.Values(names)),
					"; it is "+strings.Join(names[:last], ", ")+" or "+names[last]))
		default:
			take(value)
		}
	}
}

func texts[T ~string](values []T) (names []string) {
	for _, v := range values {
		names = append(names, string(v))
	}
	return names
}

// words yields the words of a text with their offsets.
func words(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		at := 0
		for _, word := range strings.Fields(text) {
			at += strings.Index(text[at:], word)
			if !yield(at, word) {
				return
			}
			at += len(word)
		}
	}
}

func list(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

const shapes = "func([context.Context,] [arguments, or a struct with them]) ([result,] error)"

// signature analyzes a function's signature.
func (g *generator) signature(f *function, s *types.Signature) {
	if s.Recv() != nil {
		f.receiver = s.Recv().Type()
	}
	if s.TypeParams() != nil || s.RecvTypeParams() != nil {
		g.fail(f.pos, "%s is generic; a tool is %s", f.name, shapes)
		return
	}
	in := slices.Collect(s.Params().Variables())
	if len(in) > 0 && is(in[0].Type(), "context.Context") {
		f.context, in = true, in[1:]
	}
	if s.Variadic() {
		g.fail(f.pos, "%s is variadic; put the arguments into a slice in a struct: a tool is %s", f.name, shapes)
		return
	}
	g.input(f, in)
	out := slices.Collect(s.Results().Variables())
	if len(out) == 0 || len(out) > 2 || !is(out[len(out)-1].Type(), "error") {
		g.fail(f.pos, "%s must return an error last; a tool is %s", f.name, shapes)
		return
	}
	if len(out) == 2 {
		f.out = out[0].Type()
	}
}

// is reports whether a type has a name, also behind an alias.
func is(t types.Type, name string) bool { return types.TypeString(types.Unalias(t), nil) == name }

// input takes the arguments of a function: a struct that holds them all, or each by its name.
func (g *generator) input(f *function, in []*types.Var) {
	if len(in) == 1 {
		t := types.Unalias(in[0].Type())
		if p, ok := t.(*types.Pointer); ok {
			f.pointer, t = true, types.Unalias(p.Elem())
		}
		if f.in = arguments(t); f.in != nil {
			return
		}
		if _, ok := t.(*types.Struct); ok {
			g.fail(in[0].Pos(), "the argument %s is a struct without a name; declare a type for it", in[0].Name())
			return
		}
	}
	for _, v := range in {
		if v.Name() == "" || v.Name() == "_" {
			g.fail(v.Pos(), "an argument of %s has no name; the model writes it by its name", f.name)
			return
		}
	}
	f.plain = in
}

// structOf returns a struct with a field for each argument.
func (g *generator) structOf(plain []*types.Var) *types.Struct {
	var fields []*types.Var
	var tags []string
	for _, v := range plain {
		fields = append(fields, types.NewField(v.Pos(), g.pkg.Types, capital(v.Name()), v.Type(), false))
		tags = append(tags, "json:"+strconv.Quote(snake(v.Name())))
	}
	return types.NewStruct(fields, tags)
}

// arguments returns a type that can hold the arguments of a tool, a named struct, or
// nil.
func arguments(t types.Type) *types.Named {
	named, ok := t.(*types.Named)
	if !ok || named.TypeArgs().Len() < named.TypeParams().Len() {
		return nil
	}
	if _, ok = named.Underlying().(*types.Struct); !ok {
		return nil
	}
	return named
}

func (g *generator) fail(pos token.Pos, format string, args ...any) {
	g.problems = append(g.problems, &Problem{g.position(pos), fmt.Sprintf(format, args...)})
}

// typeName returns the name of a type as the package's source writes it.
func (g *generator) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == g.pkg.Types {
			return ""
		}
		return p.Name()
	})
}

// position returns a position relative to the folder of the call.
func (g *generator) position(pos token.Pos) token.Position {
	p := g.pkg.Fset.Position(pos)
	p.Filename = seenFrom(g.dir, p.Filename)
	return p
}
