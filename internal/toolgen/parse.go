package toolgen

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/tool"
)

// function is one tool with the function that it is, or with the struct type of
// its arguments when the program carries it out itself.
type function struct {
	definition tool.Definition
	name       string       // of the Go function or type
	declared   bool         // it is a type
	receiver   types.Type   // nil for a plain function
	context    bool         // it takes one
	in         *types.Named // nil when it takes no arguments
	pointer    bool         // in is passed by pointer
	out        types.Type   // nil when it gives nothing but an error
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

// marked is what a directive may make a tool: a function or a type.
type marked struct {
	name *ast.Ident
	doc  *ast.CommentGroup
}

// tools are the functions and types of a file that a directive makes tools.
func tools(file *ast.File) (list []marked) {
	add := func(name *ast.Ident, doc *ast.CommentGroup) {
		if slices.ContainsFunc(directives(doc), func(d directive) bool { return d.name == "tool" }) {
			list = append(list, marked{name, doc})
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

// stray reports what is meant as a directive and stands where none is read.
func (g *generator) stray(file *ast.File) {
	read := map[*ast.CommentGroup]bool{file.Doc: true}
	for _, m := range tools(file) {
		read[m.doc] = true
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			rest, directive := strings.CutPrefix(c.Text, prefix)
			name, _, _ := strings.Cut(rest, " ")
			switch {
			case strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(c.Text, "//"), " \t"), "etui:tool") && !directive:
				g.fail(c.Pos(), "a directive begins with %stool, without a blank", prefix)
			case directive && !read[group] && name == "tool":
				g.fail(c.Pos(), "%s%s does not belong to a function; write it as the last lines of its doc comment", prefix, name)
			case directive && !read[group]:
				g.fail(c.Pos(), "%s%s has no %stool beside it in the doc comment of a function", prefix, name, prefix)
			}
		}
	}
}

// common reads what the package's doc comments say of all its tools.
func (g *generator) common() (d tool.Definition) {
	for _, file := range g.pkg.Syntax {
		for _, x := range directives(file.Doc) {
			if x.name == "tools" {
				g.keys(&d, x, false)
				continue
			}
			g.fail(x.pos, "above the package clause only %stools is known; %s%s belongs to a function", prefix, prefix, x.name)
		}
	}
	return d
}

// functions finds the tools of a package, by name.
func (g *generator) functions() (list []*function) {
	first := map[string]token.Pos{}
	common := g.common()
	for _, file := range g.pkg.Syntax {
		g.stray(file)
		for _, m := range tools(file) {
			made := g.function(m, common)
			if made == nil {
				continue
			}
			if before, ok := first[made.definition.Name]; ok {
				g.fail(m.name.Pos(), "two functions are the tool %q, this one and that at %s: say name= in one of the directives", made.definition.Name, g.position(before))
			}
			first[made.definition.Name] = m.name.Pos()
			list = append(list, made)
		}
	}
	slices.SortFunc(list, func(a, b *function) int { return strings.Compare(a.definition.Name, b.definition.Name) })
	return list
}

func (g *generator) function(m marked, common tool.Definition) *function {
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
			g.fail(f.pos, "%s is no struct type; a tool is a function, or a struct type with its arguments", f.name)
		}
	default:
		return nil // its type is not known
	}
	if f.in != nil {
		d.Parameters = g.parameters(f.in, f.declared, f.pos)
	}
	return f
}

// description is a doc comment as a model reads it: without directives, without
// the function's name at its beginning.
func description(m marked) string {
	text := strings.Join(strings.Fields(m.doc.Text()), " ")
	if rest, ok := strings.CutPrefix(text, m.name.Name+" "); ok && rest != "" {
		text = strings.ToUpper(rest[:1]) + rest[1:]
	}
	return text
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

// apply carries out one directive.
func (g *generator) apply(f *function, x directive) {
	d := &f.definition
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
	default:
		g.fail(x.pos, "there is no directive %s%s%s", prefix, x.name, nearest.Hint(x.name, slices.Values([]string{"tool", "alias", "example", "translate", "zh"})))
	}
}

func (g *generator) translate(d *tool.Definition, tag, text string, pos token.Pos) {
	if tag == "" || text == "" {
		g.fail(pos, "a translation needs a language and a text: %stranslate zh 读取文件。", prefix)
		return
	}
	if d.Translations == nil {
		d.Translations = map[string]string{}
	}
	d.Translations[tag] = text
}

// keys reads the key=value pairs of a directive. Those of one tool may name it.
func (g *generator) keys(d *tool.Definition, x directive, one bool) {
	set := map[string]func(string){
		"groups":   func(v string) { d.Groups = list(v) },
		"risk":     func(v string) { d.Risk = tool.Risk(v) },
		"version":  func(v string) { d.Version = v },
		"channels": func(v string) { d.Channels = list(v) },
		"source":   func(v string) { d.Source = v },
	}
	if one {
		set["name"] = func(v string) { d.Name = v }
	}
	for at, field := range words(x.text) {
		key, value, ok := strings.Cut(field, "=")
		pos := x.textPos + token.Pos(at)
		take := set[key]
		switch {
		case take == nil:
			g.fail(pos, "there is no key %q%s", key, cmp.Or(nearest.Hint(key, maps.Keys(set)), "; a directive is written "+prefix+x.name+" groups=file,io risk=read"))
		case !ok || value == "":
			g.fail(pos, "%s needs a value: %s=…, without blanks", key, key)
		case key == "risk" && !slices.Contains(tool.Risks(), tool.Risk(value)):
			g.fail(pos, "unknown risk %q; it is read, write or destructive", value)
		default:
			take(value)
		}
	}
}

// words goes through the words of a text, with where they begin.
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

const shapes = "func([context.Context,] [struct]) ([result,] error)"

// signature takes a function's type apart.
func (g *generator) signature(f *function, s *types.Signature) {
	if s.Recv() != nil {
		f.receiver = s.Recv().Type()
	}
	if s.TypeParams() != nil || s.RecvTypeParams() != nil {
		g.fail(f.pos, "%s is generic; a tool is %s", f.name, shapes)
		return
	}
	in := slices.Collect(s.Params().Variables())
	if len(in) > 0 && in[0].Type().String() == "context.Context" {
		f.context, in = true, in[1:]
	}
	if len(in) > 1 || s.Variadic() {
		g.fail(f.pos, "%s takes %d arguments; put them into one struct, a field each: a tool is %s", f.name, len(in), shapes)
		return
	}
	if len(in) == 1 {
		g.input(f, in[0])
	}
	out := slices.Collect(s.Results().Variables())
	if len(out) == 0 || len(out) > 2 || out[len(out)-1].Type().String() != "error" {
		g.fail(f.pos, "%s must return an error last; a tool is %s", f.name, shapes)
		return
	}
	if len(out) == 2 {
		f.out = out[0].Type()
	}
}

func (g *generator) input(f *function, v *types.Var) {
	t := types.Unalias(v.Type())
	if p, ok := t.(*types.Pointer); ok {
		f.pointer, t = true, types.Unalias(p.Elem())
	}
	if f.in = arguments(t); f.in == nil {
		g.fail(v.Pos(), "the argument %s is %s; it must be a struct type with a name, a field for each argument of the tool", v.Name(), types.TypeString(v.Type(), g.qualify))
	}
}

// arguments returns a type that can be the arguments of a tool, or nil: a struct
// that has a name.
func arguments(t types.Type) *types.Named {
	named, ok := t.(*types.Named)
	if !ok || named.TypeParams().Len()+named.TypeArgs().Len() > 0 {
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

// position is where something stands, as seen from the folder of the call.
func (g *generator) position(pos token.Pos) token.Position {
	p := g.pkg.Fset.Position(pos)
	p.Filename = seenFrom(g.dir, p.Filename)
	return p
}
