package toolgen

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/tool"
)

// function is one tool with the function that it is.
type function struct {
	definition tool.Definition
	name       string       // of the Go function
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
	pos        token.Pos
}

const prefix = "//etui:"

func directives(doc *ast.CommentGroup) (list []directive) {
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		if text, ok := strings.CutPrefix(c.Text, prefix); ok {
			name, text, _ := strings.Cut(text, " ")
			list = append(list, directive{name, strings.TrimSpace(text), c.Pos()})
		}
	}
	return list
}

// functions finds the tools of a package, by name.
func (g *generator) functions() (list []*function) {
	first := map[string]token.Pos{}
	for _, file := range g.pkg.Syntax {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !slices.ContainsFunc(directives(f.Doc), func(d directive) bool { return d.name == "tool" }) {
				continue
			}
			made := g.function(f)
			if made == nil {
				continue
			}
			if before, ok := first[made.definition.Name]; ok {
				g.fail(f.Pos(), "two functions are the tool %q, this one and that at %s: say name= in one of the directives", made.definition.Name, g.pkg.Fset.Position(before))
			}
			first[made.definition.Name] = f.Pos()
			list = append(list, made)
		}
	}
	slices.SortFunc(list, func(a, b *function) int { return strings.Compare(a.definition.Name, b.definition.Name) })
	return list
}

func (g *generator) function(decl *ast.FuncDecl) *function {
	object, ok := g.pkg.TypesInfo.Defs[decl.Name].(*types.Func)
	if !ok {
		return nil
	}
	f := &function{name: decl.Name.Name, pos: decl.Name.Pos()}
	d := &f.definition
	d.Name, d.Description = snake(decl.Name.Name), description(decl)
	if d.Description == "" {
		g.fail(f.pos, "%s has no doc comment: it is what the model reads to choose the tool", decl.Name.Name)
	}
	for _, x := range directives(decl.Doc) {
		g.apply(f, x)
	}
	if err := d.Check(); err != nil {
		g.fail(f.pos, "%v", err)
	}
	g.signature(f, object.Type().(*types.Signature))
	if f.in != nil {
		d.Parameters = g.parameters(f.in, f.pos)
	}
	return f
}

// description is a doc comment as a model reads it: without directives, without
// the function's name at its beginning.
func description(decl *ast.FuncDecl) string {
	text := strings.Join(strings.Fields(decl.Doc.Text()), " ")
	if rest, ok := strings.CutPrefix(text, decl.Name.Name+" "); ok && rest != "" {
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
		g.keys(f, x)
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

// keys reads key=value pairs of the directive tool.
func (g *generator) keys(f *function, x directive) {
	d := &f.definition
	set := map[string]func(string){
		"name":     func(v string) { d.Name = v },
		"groups":   func(v string) { d.Groups = list(v) },
		"risk":     func(v string) { d.Risk = tool.Risk(v) },
		"version":  func(v string) { d.Version = v },
		"channels": func(v string) { d.Channels = list(v) },
		"source":   func(v string) { d.Source = v },
	}
	for _, field := range strings.Fields(x.text) {
		key, value, ok := strings.Cut(field, "=")
		f := set[key]
		switch {
		case f == nil:
			g.fail(x.pos, "there is no key %q%s; a directive is written %stool groups=file,io risk=read", key, nearest.Hint(key, maps.Keys(set)), prefix)
		case !ok || value == "":
			g.fail(x.pos, "%s needs a value: %s=…, without blanks", key, key)
		default:
			f(value)
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
	named, ok := t.(*types.Named)
	if ok {
		_, ok = named.Underlying().(*types.Struct)
	}
	if !ok || named.TypeArgs().Len() > 0 {
		g.fail(v.Pos(), "the argument %s is %s; it must be a struct type with a name, a field for each argument of the tool", v.Name(), types.TypeString(v.Type(), g.qualify))
		return
	}
	f.in = named
}

func (g *generator) fail(pos token.Pos, format string, args ...any) {
	g.problems = append(g.problems, &Problem{g.pkg.Fset.Position(pos), fmt.Sprintf(format, args...)})
}
