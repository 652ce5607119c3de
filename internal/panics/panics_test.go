package panics_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/panics"
)

func TestTry(t *testing.T) {
	var caught *panics.Error
	if err := panics.Try(slog.New(slog.DiscardHandler), "testing", func() error { panic("boom") }); !errors.As(err, &caught) || caught.Value != "boom" || !bytes.Contains(caught.Stack, []byte("TestTry")) {
		t.Errorf("a panic gives %v", err)
	}
	if err := panics.Try(slog.New(slog.DiscardHandler), "testing", func() error { return fs.ErrExist }); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an error gives %v", err)
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	func() {
		defer panics.Log(slog.New(slog.NewTextHandler(&out, nil)), "testing")
		panic("boom")
	}()
	for _, want := range []string{"etui failed unexpectedly", "doing=testing", "panic=boom", "TestLog"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &out)
		}
	}
}

// TestCounted: what is reported is counted, also through logs made from the one that counts
// and when nothing is written.
func TestCounted(t *testing.T) {
	log := panics.CountIn(slog.New(slog.DiscardHandler))
	if panics.CountIn(log) != log {
		t.Error("a log that counts is wrapped again")
	}
	for _, l := range []*slog.Logger{log, log.With("session", "s"), panics.CountIn(log).WithGroup("g")} {
		func() {
			defer panics.Log(l, "testing")
			panic("boom")
		}()
	}
	_ = panics.Try(log, "testing", func() error { panic("boom") })
	log.Error("no panic", "error", fs.ErrExist)
	if n := panics.Count(log); n != 4 {
		t.Errorf("%d panics, want 4", n)
	}
	if n := panics.Count(slog.New(slog.DiscardHandler)); n != 0 {
		t.Errorf("another log has %d", n)
	}
}

func TestGroup(t *testing.T) {
	var g panics.Group
	done := make(chan struct{}, 2)
	g.Go(func() { done <- struct{}{} })
	g.Go(func() { panic("boom") })
	g.Go(func() { done <- struct{}{} })
	err := panics.Try(slog.New(slog.DiscardHandler), "testing", func() error { g.Wait(); return nil })
	var caught *panics.Error
	if !errors.As(err, &caught) || !strings.Contains(caught.Error(), "boom") {
		t.Errorf("waiting gives %v", err)
	}
	if len(done) != 2 {
		t.Errorf("%d other parts have ended, want 2", len(done))
	}
}

// outside are folders whose goroutines are not looked at: programs of their own, among them
// the sandbox's helper, which a panic has to end, and helpers of tests.
var outside = []string{"bench", "examples", "tools", "node_modules", "testdata", "sandbox/internal/helper", "internal/panics"}

// TestEveryGoroutineSurvives: each goroutine of the product is a function with a deferred
// recover, or belongs to a [panics.Group].
func TestEveryGoroutineSurvives(t *testing.T) {
	root, files := filepath.Join("..", ".."), token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			for _, name := range outside {
				if filepath.ToSlash(rel) == name || d.Name() == name || strings.HasSuffix(d.Name(), "test") {
					return fs.SkipDir
				}
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			var body ast.Expr
			switch n := n.(type) {
			case *ast.GoStmt:
				body = n.Call.Fun
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && len(n.Args) == 1 && !inGroup(s.X, f) {
					body = n.Args[0]
				}
			}
			if body != nil && !survives(body) {
				t.Errorf("%s: begin this goroutine with defer panics.Log, or use panics.Group or panics.Try", files.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inGroup reports whether x is a variable or field that its file declares as a panics.Group.
func inGroup(x ast.Expr, f *ast.File) (found bool) {
	name := ""
	switch x := x.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var names []*ast.Ident
		var kind ast.Expr
		switch n := n.(type) {
		case *ast.ValueSpec:
			names, kind = n.Names, n.Type
		case *ast.Field:
			names, kind = n.Names, n.Type
		}
		if s, ok := kind.(*ast.SelectorExpr); ok && s.Sel.Name == "Group" {
			for _, declared := range names {
				found = found || declared.Name == name
			}
		}
		return true
	})
	return found
}

// survives reports whether a function defers something that recovers, or does its work in
// panics.Try or in the engine's guard.
func survives(f ast.Expr) bool {
	literal, ok := f.(*ast.FuncLit)
	if !ok {
		return false
	}
	for _, s := range literal.Body.List {
		_, deferred := s.(*ast.DeferStmt)
		guarded := false
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				guarded = guarded || deferred && (n.Name == "recover" || n.Name == "survive")
			case *ast.SelectorExpr:
				x, _ := n.X.(*ast.Ident)
				guarded = guarded || n.Sel.Name == "Guard" || x != nil && x.Name == "panics" && (deferred && n.Sel.Name == "Log" || n.Sel.Name == "Try")
			}
			return true
		})
		if guarded {
			return true
		}
	}
	return false
}
