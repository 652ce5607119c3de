package etui_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// maxMethods is how many methods a type may have, and maxLines how many lines a package: more is
	// several things under one name.
	maxMethods, maxLines = 40, 4800
)

// smaller are types and packages that may have less than others, because everything meets in them.
var smaller = map[string]int{"engine.Engine": 30, "engine": 3000}

// core are the packages that a reader has to hold to know how etui answers a message, and maxCore
// how many lines they have together. ARCHITECTURE.md gives the number.
var core = []string{"chat", "tool", "catalog", "rank", "selection", "rules", "session", "store", "prompt", "model", "turn", "mailbox", "message", "inbox", "agent", "engine", "channel"}

const maxCore = 28_200

// TestShape holds that no type and no package grows beyond what a reader can hold, and that no type
// embeds the engine: its methods would be in one namespace with those of the engine.
func TestShape(t *testing.T) {
	t.Parallel()
	methods, lines, functions := map[string]int{}, map[string]int{}, map[string]int{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") && name != "." || e.Name() == "node_modules" || e.Name() == "testdata" || e.Name() == "bin"):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		generated := strings.HasSuffix(name, "_gen.go")
		if !generated {
			lines[folder] += bytes.Count(text, []byte("\n"))
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !generated && d.Body != nil && len(d.Body.List) > 1 { // else it is a table
					functions[folder+"."+d.Name.Name] = positions.Position(d.End()).Line - positions.Position(d.Pos()).Line + 1
				}
				if d.Recv != nil {
					methods[folder+"."+typeName(d.Recv.List[0].Type)]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if embedsEngine(spec) {
						t.Errorf("%s: %s embeds the engine; give it a field", name, spec.(*ast.TypeSpec).Name.Name)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if methods["engine.Engine"] == 0 || lines["engine"] == 0 {
		t.Fatal("the engine was not looked at")
	}
	sum := 0
	for _, name := range core {
		sum += lines[name]
	}
	if sum > maxCore || sum < maxCore-1000 {
		t.Errorf("the core has %d lines; maxCore and ARCHITECTURE.md say %d", sum, maxCore)
	}
	logFigures(t, sum, lines, methods, functions)
	for what, count := range map[string]struct {
		of  map[string]int
		max int
	}{"methods": {methods, maxMethods}, "lines": {lines, maxLines}} {
		for name, n := range count.of {
			if most := cmp.Or(smaller[name], count.max); n > most {
				t.Errorf("%s has %d %s, at most %d are allowed", name, n, what, most)
			}
		}
	}
}

// logFigures writes the figures of the house, for `go test -run TestShape -v .`: the lines of each
// room of the product, and the largest things in it. Programs that measure, examples, test servers
// and generated code are not the product.
func logFigures(t *testing.T, core int, lines, methods, functions map[string]int) {
	other := regexp.MustCompile(`^(bench|examples|cmd/bench|tools)(/|$)|[a-z]test(/|$)`)
	largest := func(of map[string]int) string {
		best := ""
		for name, n := range of {
			folder := name
			if at := strings.LastIndexByte(name, '.'); at > 0 {
				folder = name[:at]
			}
			if !other.MatchString(folder) && (n > of[best] || n == of[best] && name < best) {
				best = name
			}
		}
		return fmt.Sprintf("%s, %d", best, of[best])
	}
	rooms, all := map[string]int{}, 0
	for folder, n := range lines {
		if !other.MatchString(folder) {
			room, _, _ := strings.Cut(folder, "/")
			rooms[room] += n
			all += n
		}
	}
	t.Logf("product %d lines, core %d", all, core)
	t.Logf("largest package: %s lines; type with the most methods: %s; longest function: %s lines",
		largest(lines), largest(methods), largest(functions))
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		t.Logf("%7d  %s", rooms[room], room)
	}
}

// typeName returns the name of a receiver's type, without its parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func embedsEngine(spec ast.Spec) bool {
	ts, ok := spec.(*ast.TypeSpec)
	if !ok {
		return false
	}
	st, ok := ts.Type.(*ast.StructType)
	if !ok {
		return false
	}
	for _, f := range st.Fields.List {
		name := ""
		switch x := f.Type.(type) {
		case *ast.StarExpr:
			if sel, ok := x.X.(*ast.SelectorExpr); ok {
				name = sel.Sel.Name
			} else {
				name = typeName(x)
			}
		}
		if len(f.Names) == 0 && name == "Engine" {
			return true
		}
	}
	return false
}
