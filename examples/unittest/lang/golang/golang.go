// Package golang is what the unit-test agent knows about Go: go/ast for structure, branches
// and mutants, go test for running, cover profiles for coverage.
//
// Go has no true branch coverage. Here a branch is a way that the counters of a cover profile
// tell: each arm of an if, the missing else by subtraction, each case of a switch or select,
// the missing default by subtraction, the body of a loop. The operands of && and || are not
// seen; mutants of them are.
package golang

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/sandbox"
)

// Go implements [lang.Language].
type Go struct{}

var _ lang.Language = Go{}

// New returns the language.
func New() Go { return Go{} }

// Name implements [lang.Language].
func (Go) Name() string { return "go" }

// Marks implements [lang.Language].
func (Go) Marks() []string { return []string{"go.mod"} }

// Takes implements [lang.Language].
func (Go) Takes(file string) bool {
	return path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go")
}

// IsTest implements [lang.Language].
func (Go) IsTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// TestFile implements [lang.Language].
func (Go) TestFile(_ *lang.Project, target string, n int) (string, error) {
	name := strings.TrimSuffix(target, ".go")
	switch n {
	case 0:
		return name + "_test.go", nil
	case 1:
		return name + "_more_test.go", nil
	}
	return fmt.Sprintf("%s_more%d_test.go", name, n), nil
}

// Ready implements [lang.Language].
func (Go) Ready(p *lang.Project) error {
	if _, err := sandbox.Find(p.Root, "go"); err != nil {
		return fmt.Errorf("tests of Go code need the go command, which is not installed: see https://go.dev/doc/install")
	}
	if _, err := os.Stat(filepath.Join(p.Root, "go.mod")); err != nil {
		return fmt.Errorf("the project %s has no go.mod; name the folder that has it with --project", p.Root)
	}
	return p.Sandbox.Ready()
}

// Style implements [lang.Language].
func (g Go) Style(p *lang.Project, target string) (*lang.Style, error) {
	file, fset, err := read(p, target)
	if err != nil {
		return nil, err
	}
	name, err := g.TestFile(p, target, 0)
	if err != nil {
		return nil, err
	}
	s := &lang.Style{
		Framework: "testing", File: name, Naming: "func TestName(t *testing.T), in tables with t.Run where there are several inputs",
		Skeleton: "package " + file.Name.Name + "\n\nimport \"testing\"\n",
	}
	tests := g.testsNear(p, target)
	uses := map[string]int{}
	shortest := ""
	for _, f := range tests {
		text, err := p.Read(f)
		if err != nil {
			continue
		}
		for _, word := range []string{"t.Run(", "t.Parallel()", "cmp.Diff(", "require.", "assert.", "t.Errorf(", "t.Fatalf("} {
			uses[word] += strings.Count(string(text), word)
		}
		tree, err := parser.ParseFile(fset, f, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		if strings.HasSuffix(tree.Name.Name, "_test") {
			s.Notes = append(s.Notes, f+" is in the package "+tree.Name.Name+": it sees exported names only")
		}
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !isTest(fn) {
				continue
			}
			if body := string(text[fset.Position(fn.Pos()).Offset:fset.Position(fn.End()).Offset]); len(body) > 80 && len(body) < 1500 && (shortest == "" || len(body) < len(shortest)) {
				shortest, s.ExampleFile = body, f
			}
		}
	}
	s.Example = shortest
	for _, habit := range []struct{ word, says string }{
		{"t.Run(", "cases are sub-tests (t.Run)"}, {"t.Parallel()", "tests run in parallel (t.Parallel)"}, {"cmp.Diff(", "values are compared with cmp.Diff"},
		{"require.", "assertions are testify's require"}, {"assert.", "assertions are testify's assert"},
	} {
		if uses[habit.word] > 0 {
			s.Notes = append(s.Notes, habit.says)
		}
	}
	if uses["require."]+uses["assert."] == 0 {
		s.Notes = append(s.Notes, "failures are said with t.Errorf, or t.Fatalf where the test cannot go on: got, want")
	}
	return s, nil
}

// testsNear returns the files of tests in the folder of a target, at most 20.
func (g Go) testsNear(p *lang.Project, target string) (list []string) {
	entries, _ := os.ReadDir(filepath.Join(p.Root, filepath.FromSlash(path.Dir(target))))
	for _, e := range entries {
		if e.Type().IsRegular() && g.IsTest(e.Name()) && len(list) < 20 {
			list = append(list, path.Join(path.Dir(target), e.Name()))
		}
	}
	return list
}

func isTest(fn *ast.FuncDecl) bool {
	return fn.Recv == nil && fn.Body != nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) && len(fn.Type.Params.List) == 1
}

// read parses a target.
func read(p *lang.Project, target string) (*ast.File, *token.FileSet, error) {
	text, err := p.Read(target)
	if err != nil {
		return nil, nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, target, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is not valid Go: %w", target, err)
	}
	return f, fset, nil
}

// functions yields the functions of a file that have a body, with their names.
func functions(f *ast.File) (list []*ast.FuncDecl) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && len(list) < lang.MaxFunctions {
			list = append(list, fn)
		}
	}
	return list
}

// nameOf is Type.Method, or the function's name.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// first cuts a list.
func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// add appends a text that is not there yet.
func add(list []string, text string) []string {
	if slices.Contains(list, text) || text == "" {
		return list
	}
	return append(list, text)
}
