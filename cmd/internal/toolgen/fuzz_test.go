package toolgen_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/etui-run/etui/cmd/internal/toolgen"
	"github.com/etui-run/etui/tool"
)

// FuzzTypes generates tools of random types: each one gives code that compiles with a
// valid schema, or problems with positions.
func FuzzTypes(f *testing.F) {
	for _, seed := range []string{"", "abcdefghijklmnopqrstuvwxyz", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f", strings.Repeat("\x0a\x01", 60), strings.Repeat("\x09\x02\x05", 40), strings.Repeat("\x10\x07", 30)} {
		f.Add([]byte(seed))
	}
	for i := range 64 { // each kind of type beside each kind of tag
		f.Add([]byte{2, byte(i), byte(i * 3), byte(i * 7), 5, byte(i * 11), byte(i + 1), 1, byte(i * 5), 3, byte(i), 9, 2, byte(i), 4, byte(i * 13)})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := (&program{data: data}).write()
		p, problem := check(t, text)
		if problem != nil {
			t.Skip() // not valid Go
		}
		made, err := toolgen.GeneratePackage(p)
		if err != nil {
			var wrong *toolgen.Problem
			if !errors.As(err, &wrong) || wrong.Position.Line == 0 || wrong.Reason == "" {
				t.Fatalf("%v\n%s", err, text)
			}
			return
		}
		if _, err := check(t, text, string(made.Text)); err != nil {
			t.Fatalf("what was made does not compile: %v\n%s\n%s", err, text, made.Text)
		}
		if _, err := tool.CompileSchema(made.Tools[0].Schema()); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

// program is a source file with one tool, determined by random bytes.
type program struct {
	data  []byte
	types strings.Builder
	count int
}

func (p *program) next(n int) int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b) % n
}

func (p *program) write() string {
	in := p.structure(0)
	out := p.typ(1)
	return "package p\n\nimport (\n\"context\"\n\"encoding/json\"\n\"time\"\n)\n\nvar _ time.Time\nvar _ json.RawMessage\n" + `
type Color string

const (
	Red  Color = "red"
	Blue Color = "\"blue\""
)

type Level int

const Low, High Level = -1, 7

type Texter struct{ a int }

func (t *Texter) UnmarshalText([]byte) error { return nil }
func (t Texter) MarshalText() ([]byte, error) { return nil, nil }

type Jsoner []int

func (j *Jsoner) UnmarshalJSON([]byte) error { return nil }

type Pair[T any] struct{ One, Two T }

type Alias = map[string]Color
` + p.types.String() + fmt.Sprintf("\n// f does something.\n//\n//etui:tool risk=read\nfunc f(_ context.Context, in %s) (out %s, err error) { return out, nil }\n", in, out)
}

// structure declares a struct type and returns its name.
func (p *program) structure(depth int) string {
	p.count++
	name := fmt.Sprintf("T%d", p.count)
	body := p.fields(depth)
	fmt.Fprintf(&p.types, "\n// %s is one.\ntype %s struct {\n%s}\n", name, name, body)
	return name
}

func (p *program) fields(depth int) string {
	var b strings.Builder
	names := []string{"A", "Größe", "URL", "r", "B", "Name", "JSON", "V", "Wire", "X_y"}
	for range 1 + p.next(5) {
		at := p.next(len(names))
		fmt.Fprintf(&b, "\t// %s is a field.\n", names[at])
		if depth < 3 && p.next(8) == 7 {
			fmt.Fprintf(&b, "\t%s\n", p.structure(depth+1)) // embedded
			continue
		}
		fmt.Fprintf(&b, "\t%s %s %s\n", names[at], p.typ(depth+1), p.tag())
		if names = append(names[:at:at], names[at+1:]...); len(names) == 0 {
			break
		}
	}
	return b.String()
}

func (p *program) typ(depth int) string {
	plain := []string{
		"string", "int", "bool", "float64", "uint8", "int64", "uint", "float32", "Color", "Level", "time.Time", "time.Duration", "json.RawMessage", "any", "[]byte", "Texter", "Jsoner", "Alias",
		"chan int", "func()", "error", "complex64", "uintptr", "rune", "interface{ M() }", "map[int]string", "Pair[int]", "struct{}", "*int", "**string", "[0]int", "map[Color]Level", "[]*Texter", "json.Number",
	}
	if depth > 4 {
		return plain[p.next(12)]
	}
	switch p.next(9) {
	case 0, 1, 2:
		return plain[p.next(len(plain))]
	case 3:
		return "[]" + p.typ(depth+1)
	case 4:
		return "map[string]" + p.typ(depth+1)
	case 5:
		return "*" + p.typ(depth+1)
	case 6:
		return fmt.Sprintf("[%d]%s", p.next(4), p.typ(depth+1))
	case 7:
		return "struct {\n" + p.fields(depth+1) + "}"
	}
	return p.structure(depth + 1)
}

func (p *program) tag() string {
	keys := []string{"json", "enum", "default", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "format", "pattern", "example", "required"}
	values := []string{"a", "-", ",omitempty", "b,omitzero", "1", "-5", "1e400", "true", "[1,2]", `{"a":1}`, "x,y", "", "(", "ü é", "a\"b`c", "null", "99999999999999999999", "0x1", ",string", "date-time", "red", "NaN", "\x00\xff"}
	tag := ""
	for range p.next(4) {
		key, value := keys[p.next(len(keys))], values[p.next(len(values))]
		tag += " " + key + ":" + strconv.Quote(value)
	}
	if tag == "" {
		return ""
	}
	return strconv.Quote(strings.TrimSpace(tag))
}

// known returns the types of the packages that sources and generated code import,
// loaded once.
var known = sync.OnceValues(func() (map[string]*types.Package, error) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile},
		"context", "encoding/json", "time", "maps", "slices", "github.com/etui-run/etui/catalog", "github.com/etui-run/etui/chat", "github.com/etui-run/etui/tool", "github.com/etui-run/etui/tool/wire")
	all := map[string]*types.Package{}
	packages.Visit(loaded, nil, func(p *packages.Package) { all[p.PkgPath] = p.Types })
	return all, err
})

type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not known", path)
}

// check parses and checks the files of a package.
func check(t *testing.T, texts ...string) (*packages.Package, error) {
	t.Helper()
	all, err := known()
	if err != nil {
		t.Fatal(err)
	}
	p := &packages.Package{Name: "p", PkgPath: "p", Dir: "/p", Fset: token.NewFileSet(), Imports: map[string]*packages.Package{}}
	p.TypesInfo = &types.Info{Defs: map[*ast.Ident]types.Object{}}
	for i, text := range texts {
		file, err := parser.ParseFile(p.Fset, fmt.Sprintf("/p/%d.go", i), text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.Syntax = append(p.Syntax, file)
	}
	config := types.Config{Importer: importer(all)}
	p.Types, err = config.Check("p", p.Fset, p.Syntax, p.TypesInfo)
	return p, err
}
