package toolgen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/go/packages"

	"github.com/etui-run/etui/tool"
)

// generator makes the tools of one package.
type generator struct {
	pkg      *packages.Package
	dir      string // paths in messages are relative to it
	problems []*Problem
	comments map[place]*ast.Field // of structs, also of other packages
}

// generate generates the package's file or collects problems.
func (g *generator) generate() (Package, error) {
	var all, functions, declared []*function
	for _, f := range g.functions() {
		all = append(all, f)
		if f.declared {
			declared = append(declared, f)
		} else {
			functions = append(functions, f)
		}
	}
	g.free(functions, declared)
	p := Package{Path: seenFrom(g.dir, filepath.Join(g.pkg.Dir, File))}
	if foreign(filepath.Join(g.pkg.Dir, File)) {
		if len(all) > 0 {
			g.problems = append(g.problems,
				&Problem{token.Position{Filename: p.Path, Line: 1, Column: 1},
					"this file was not written by etui tools gen, which would replace it; give it another name"})
		}
		p.Path = ""
	}
	if len(all) == 0 {
		return p, nil
	}
	for _, f := range all {
		p.Tools = append(p.Tools, f.definition)
	}
	for _, f := range functions {
		if f.out != nil && !is(f.out, module+"chat.Result") {
			g.writable(f.out, f.pos, nil)
		}
	}
	if len(g.problems) > 0 {
		return p, nil
	}
	out := output{pkg: g.pkg.Types, imports: map[string]string{}}
	if len(functions) > 0 {
		out.tools(functions)
		out.groups(functions)
	}
	if len(declared) > 0 {
		out.definitions(declared)
	}
	text, err := out.source()
	if err != nil {
		return p, fmt.Errorf("%s: the generated code does not parse: %w", p.Path, err)
	}
	p.Text = text
	return p, nil
}

// free checks that the package does not use the names of generated functions.
func (g *generator) free(functions, declared []*function) {
	var names []string
	if len(functions) > 0 {
		names = append(names, "Register", "Tools", "Groups")
	}
	if len(declared) > 0 {
		names = append(names, "Definitions")
	}
	for _, f := range declared {
		names = append(names, readerOf(f))
	}
	for _, name := range names {
		if taken := g.pkg.Types.Scope().Lookup(name); taken != nil {
			g.fail(taken.Pos(), "%s is the name of a generated function; rename this one", name)
		}
	}
	for _, f := range functions {
		if f.receiver == nil && local(f.name) {
			g.fail(f.pos, "%s is a name that the generated code uses; rename the function, and set name=%s to keep the name of the tool", f.name, f.definition.Name)
		}
	}
	for _, name := range []string{"append", "error", "map", "nil", "string"} {
		if taken := g.pkg.Types.Scope().Lookup(name); taken != nil && len(functions)+len(declared) > 0 {
			g.fail(taken.Pos(), "%s is a name of Go that the generated code needs; rename this one", name)
		}
	}
}

// output is the generated file as it is written.
type output struct {
	pkg       *types.Package
	imports   map[string]string // name by path
	receivers []receiver        // of the tools
	text      bytes.Buffer      // of the declarations
}

// source returns the file: the imports, followed by the declarations.
func (o *output) source() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, header+"\npackage %s\n\nimport (\n", o.pkg.Name())
	var std, others []string
	for _, p := range slices.Sorted(maps.Keys(o.imports)) {
		line := strconv.Quote(p)
		if o.imports[p] != path.Base(p) {
			line = o.imports[p] + " " + line
		}
		if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
			others = append(others, line)
		} else {
			std = append(std, line)
		}
	}
	fmt.Fprintf(&b, "%s\n\n%s\n)\n", strings.Join(std, "\n"), strings.Join(others, "\n"))
	b.Write(o.text.Bytes())
	return format.Source(b.Bytes())
}

func (o *output) printf(format string, args ...any) { fmt.Fprintf(&o.text, format, args...) }

const module = "github.com/etui-run/etui/"

// use imports a package whose name is the last element of its path, and returns its
// name in the file.
func (o *output) use(importPath string) string {
	return o.useNamed(importPath, path.Base(importPath))
}

func (o *output) useNamed(importPath, name string) string {
	if name, ok := o.imports[importPath]; ok {
		return name
	}
	for base, n := name, 2; o.taken(name); n++ {
		name = base + strconv.Itoa(n)
	}
	o.imports[importPath] = name
	return name
}

func (o *output) taken(name string) bool {
	return o.pkg.Scope().Lookup(name) != nil || local(name) ||
		slices.Contains(slices.Collect(maps.Values(o.imports)), name) ||
		slices.ContainsFunc(o.receivers, func(r receiver) bool { return r.name == name })
}

// locals matches the names of variables in the generated functions.
var locals = regexp.MustCompile(`^(registry|made|args|in|err)$`)

// local reports whether a name has another meaning inside the generated functions than
// in the package.
func local(name string) bool { return locals.MatchString(name) }

// qualify returns the name under which the file imports a package.
func (o *output) qualify(p *types.Package) string {
	if p == o.pkg {
		return ""
	}
	return o.useNamed(p.Path(), p.Name())
}

func (o *output) typeName(t types.Type) string { return types.TypeString(t, o.qualify) }

// receiver is a value whose methods are tools.
type receiver struct {
	name string
	typ  types.Type
}

// receive collects the types whose methods are tools, sorted by name, and names their
// values.
func (o *output) receive(functions []*function) {
	for _, f := range functions {
		known := func(r receiver) bool { return types.Identical(r.typ, f.receiver) }
		if f.receiver == nil || slices.ContainsFunc(o.receivers, known) {
			continue
		}
		name := lower(strings.TrimPrefix(types.TypeString(f.receiver, func(*types.Package) string { return "" }), "*"))
		if o.taken(name) || token.IsKeyword(name) || types.Universe.Lookup(name) != nil {
			name += "Value"
		}
		o.receivers = append(o.receivers, receiver{name, f.receiver})
	}
	slices.SortFunc(o.receivers, func(a, b receiver) int { return strings.Compare(a.name, b.name) })
}

func lower(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(r)) + name[size:]
}

// tools writes the functions that return and register the tools.
func (o *output) tools(functions []*function) {
	tools, wire, catalog := o.use(module+"tool"), o.use(module+"tool/wire"), o.use(module+"catalog")
	var params, names []string
	o.receive(functions)
	for _, r := range o.receivers {
		params, names = append(params, r.name+" "+o.typeName(r.typ)), append(names, r.name)
	}
	o.printf(`
// Register adds the tools of this package to a registry.
func Register(%s) error {
	return registry.Register(Tools(%s)...)
}

// Tools returns the tools of this package. Those of a receiver that is nil are left out.
func Tools(%s) []%s.Tool {
	var made []%[4]s.Tool
`, strings.Join(append([]string{"registry *" + catalog + ".Registry"}, params...), ", "), strings.Join(names, ", "),
		strings.Join(params, ", "), tools)
	for _, r := range append(o.receivers, receiver{}) { // plain functions last
		of := slices.DeleteFunc(slices.Clone(functions), func(f *function) bool {
			return f.receiver == nil != (r.typ == nil) || r.typ != nil && !types.Identical(r.typ, f.receiver)
		})
		if len(of) == 0 {
			continue
		}
		_, pointer := r.typ.(*types.Pointer)
		if pointer {
			o.printf("if %s != nil {\n", r.name)
		}
		o.printf("made = append(made,\n")
		for _, f := range of {
			name := f.name
			if f.receiver != nil {
				name = r.name + "." + name
			}
			for _, v := range f.plain {
				name += ", " + strconv.Quote(snake(v.Name()))
			}
			o.printf("\t\t%s.Tool(%s, %s),\n", wire, o.definition(&f.definition), name)
		}
		o.printf(")\n")
		if pointer {
			o.printf("}\n")
		}
	}
	o.printf("return made\n}\n")
}

// definition returns a definition as Go source.
func (o *output) definition(d *tool.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.Definition{\nName: %q,\nDescription: %s,\n", o.use(module+"tool"), d.Name, quote(d.Description))
	if len(d.Translations) > 0 {
		b.WriteString("Translations: map[string]string{")
		for _, tag := range slices.Sorted(maps.Keys(d.Translations)) {
			fmt.Fprintf(&b, "%q: %s,", tag, quote(d.Translations[tag]))
		}
		b.WriteString("},\n")
	}
	for _, l := range []struct {
		name  string
		items []string
	}{{"Aliases", d.Aliases}, {"Examples", d.Examples}, {"Groups", d.Groups}, {"Channels", d.Channels}} {
		if len(l.items) > 0 {
			fmt.Fprintf(&b, "%s: []string{", l.name)
			for _, item := range l.items {
				b.WriteString(quote(item) + ",")
			}
			b.WriteString("},\n")
		}
	}
	if d.Parameters != nil {
		fmt.Fprintf(&b, "Parameters: %s.RawMessage(%s),\n", o.use("encoding/json"), quote(string(d.Parameters)))
	}
	if d.Replay != "" {
		fmt.Fprintf(&b, "Replay: %s.%s,\n", o.use(module+"tool"), capital(string(d.Replay)))
	}
	for _, l := range [][2]string{{"Risk", string(d.Risk)}, {"Version", d.Version}, {"Source", d.Source}} {
		if l[1] != "" {
			fmt.Fprintf(&b, "%s: %q,\n", l[0], l[1])
		}
	}
	return b.String() + "}"
}

// quote returns a Go string literal, raw if that is easier to read.
func quote(text string) string {
	if strconv.CanBackquote(text) && strings.ContainsAny(text, `"\`) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// definitions writes the function that returns the definitions of the tools that the
// program implements itself, and for each of them a function that reads its arguments.
func (o *output) definitions(declared []*function) {
	tools, wire, raw := o.use(module+"tool"), o.use(module+"tool/wire"), o.use("encoding/json")
	o.printf(`
// Definitions returns the tools of this package that the program carries out itself.
func Definitions() []%[1]s.Definition {
	return []%[1]s.Definition{
`, tools)
	for _, f := range declared {
		o.printf("%s,\n", strings.TrimPrefix(o.definition(&f.definition), tools+".Definition"))
	}
	o.printf("}\n}\n")
	for _, f := range declared {
		o.printf(`
// %[1]s reads the arguments of %[2]s.
func %[1]s(args %[3]s.RawMessage) (in %[4]s, err error) {
	err = %[5]s.Read(args, &in)
	return in, err
}
`, readerOf(f), f.definition.Name, raw, o.typeName(f.in), wire)
	}
}

// readerOf returns the name of the function that reads the arguments of a declared
// tool: exported if their type is.
func readerOf(f *function) string {
	if token.IsExported(f.name) {
		return "Read" + f.name
	}
	r, size := utf8.DecodeRuneInString(f.name)
	return "read" + string(unicode.ToUpper(r)) + f.name[size:]
}

// groups writes the index of the groups.
func (o *output) groups(functions []*function) {
	index := map[string][]string{}
	for _, f := range functions {
		for _, name := range f.definition.Groups {
			index[name] = append(index[name], strconv.Quote(f.definition.Name))
		}
	}
	o.printf(`
// Groups returns the names of the tools of each group.
func Groups() map[string][]string {
	return map[string][]string{
`)
	for _, name := range slices.Sorted(maps.Keys(index)) {
		o.printf("%q: {%s},\n", name, strings.Join(index[name], ", "))
	}
	o.printf("\t}\n}\n")
}
