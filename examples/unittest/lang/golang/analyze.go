package golang

import (
	"go/ast"
	"go/printer"
	"go/token"
	"math/big"
	"strconv"
	"strings"

	"example.com/unittest/lang"
)

// Analyze implements [lang.Language].
func (g Go) Analyze(p *lang.Project, target string) (*lang.Analysis, error) {
	f, fset, err := read(p, target)
	if err != nil {
		return nil, err
	}
	a := &lang.Analysis{File: target, Language: g.Name(), Package: f.Name.Name, Lines: fset.Position(f.FileEnd).Line, Functions: []lang.Function{}}
	for _, i := range f.Imports {
		if name, err := strconv.Unquote(i.Path.Value); err == nil {
			a.Imports = append(a.Imports, name)
		}
	}
	for _, d := range f.Decls {
		if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
			for _, spec := range gen.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					a.Types = append(a.Types, typeOf(fset, t))
				}
			}
		}
	}
	branches := 0
	for _, fn := range functions(f) {
		one := analyzed(fset, fn)
		one.Branches = first(one.Branches, lang.MaxBranches-branches)
		branches += len(one.Branches)
		a.Functions = append(a.Functions, one)
	}
	a.Types = first(a.Types, lang.MaxFunctions)
	return a, nil
}

func typeOf(fset *token.FileSet, t *ast.TypeSpec) lang.Type {
	one := lang.Type{Name: t.Name.Name, Kind: "type", Line: fset.Position(t.Pos()).Line}
	var fields *ast.FieldList
	switch of := t.Type.(type) {
	case *ast.StructType:
		one.Kind, fields = "struct", of.Fields
	case *ast.InterfaceType:
		one.Kind, fields = "interface", of.Methods
	default:
		one.Members = []string{text(fset, t.Type)}
	}
	if fields != nil {
		for _, field := range first(fields.List, 50) {
			names := ""
			for i, n := range field.Names {
				if i > 0 {
					names += ", "
				}
				names += n.Name
			}
			one.Members = append(one.Members, strings.TrimSpace(names+" "+text(fset, field.Type)))
		}
	}
	return one
}

func analyzed(fset *token.FileSet, fn *ast.FuncDecl) lang.Function {
	head := *fn
	head.Body, head.Doc = nil, nil
	one := lang.Function{
		Name: nameOf(fn), Signature: text(fset, &head), Doc: strings.TrimSpace(cut(fn.Doc.Text(), 400)),
		Line: fset.Position(fn.Pos()).Line, End: fset.Position(fn.End()).Line, Public: fn.Name.IsExported(), Complexity: 1,
	}
	branch := func(at ast.Node, kind string, condition ast.Node) {
		b := lang.Branch{Line: fset.Position(at.Pos()).Line, Kind: kind}
		if condition != nil {
			b.Condition = cut(text(fset, condition), 120)
		}
		one.Branches = append(one.Branches, b)
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			one.Complexity++
			branch(n, "if", n.Cond)
			branch(n, "else", nil)
		case *ast.ForStmt:
			one.Complexity++
			if n.Cond != nil {
				branch(n, "loop", n.Cond)
			}
		case *ast.RangeStmt:
			one.Complexity++
			branch(n, "loop", n.X)
		case *ast.CaseClause:
			if n.List == nil {
				branch(n, "default", nil)
				break
			}
			one.Complexity++
			branch(n, "case", n.List[0])
		case *ast.CommClause:
			one.Complexity++
			branch(n, "select", nil)
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LAND, token.LOR:
				one.Complexity++
				branch(n, map[token.Token]string{token.LAND: "and", token.LOR: "or"}[n.Op], n)
			default:
				if values := boundary(n); len(values) > 0 && len(one.Boundaries) < lang.MaxBounds {
					one.Boundaries = append(one.Boundaries, lang.Boundary{Line: fset.Position(n.Pos()).Line, Condition: cut(text(fset, n), 120), Values: values})
				}
			}
		case *ast.CallExpr:
			switch called := text(fset, n.Fun); called {
			case "errors.New", "fmt.Errorf", "panic":
				one.Failures = first(add(one.Failures, cut(text(fset, n), 160)), 20)
			}
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				if id, ok := r.(*ast.Ident); ok && (strings.HasPrefix(id.Name, "Err") || strings.HasPrefix(id.Name, "err") && len(id.Name) > 3) {
					one.Failures = first(add(one.Failures, id.Name), 20)
				}
			}
		}
		return true
	})
	return one
}

// boundary returns what to try around a comparison.
func boundary(n *ast.BinaryExpr) []string {
	switch n.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
	default:
		return nil
	}
	for _, side := range []ast.Expr{n.Y, n.X} {
		negative := false
		if u, ok := side.(*ast.UnaryExpr); ok && u.Op == token.SUB {
			side, negative = u.X, true
		}
		switch side := side.(type) {
		case *ast.BasicLit:
			return around(side, negative)
		case *ast.Ident:
			if side.Name == "nil" {
				return []string{"nil", "not nil"}
			}
		}
	}
	x, y := short(n.X), short(n.Y)
	if x == "" || y == "" || n.Op == token.EQL || n.Op == token.NEQ {
		return nil
	}
	return []string{x + " = " + y + " - 1", x + " = " + y, x + " = " + y + " + 1"}
}

func around(lit *ast.BasicLit, negative bool) []string {
	switch lit.Kind {
	case token.INT:
		n, ok := new(big.Int).SetString(strings.ReplaceAll(lit.Value, "_", ""), 0)
		if !ok {
			return nil
		}
		if negative {
			n.Neg(n)
		}
		one := big.NewInt(1)
		return []string{new(big.Int).Sub(n, one).String(), n.String(), new(big.Int).Add(n, one).String()}
	case token.FLOAT:
		return []string{"just below " + lit.Value, lit.Value, "just above " + lit.Value}
	case token.STRING:
		if lit.Value == `""` {
			return []string{`""`, `" "`, `"x"`}
		}
		return []string{lit.Value, `""`, "another text"}
	case token.CHAR:
		return []string{lit.Value, "another character"}
	}
	return nil
}

// short is a simple operand as text.
func short(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x := short(e.X); x != "" {
			return x + "." + e.Sel.Name
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok && f.Name == "len" && len(e.Args) == 1 {
			if x := short(e.Args[0]); x != "" {
				return "len(" + x + ")"
			}
		}
	}
	return ""
}

// text prints a node on one line.
func text(fset *token.FileSet, n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, fset, n); err != nil {
		return ""
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// cut shortens a text to n bytes, at a whole letter.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
