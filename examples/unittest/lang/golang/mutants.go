package golang

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"

	"example.com/unittest/lang"
)

// swaps are the operators that are changed, and into what.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
}

// Mutants implements [lang.Language].
func (Go) Mutants(p *lang.Project, target string) ([]lang.Mutant, error) {
	source, err := p.Read(target)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, target, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var list []lang.Mutant
	// swap replaces the bytes of [from, to); around is the expression that people read.
	swap := func(around ast.Node, from, to token.Pos, with string) {
		a, b := fset.Position(from), fset.Position(to)
		start, end := fset.Position(around.Pos()).Offset, fset.Position(around.End()).Offset
		changed := slices.Concat(source[:a.Offset], []byte(with), source[b.Offset:])
		list = append(list, lang.Mutant{
			Line: a.Line, Column: a.Column, Source: changed, Before: cut(string(source[start:end]), 120),
			After: cut(string(source[start:a.Offset])+with+string(source[b.Offset:end]), 120),
		})
	}
	for _, fn := range functions(f) {
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				return !says(fset, n)
			case *ast.BinaryExpr:
				to, ok := swaps[n.Op]
				if ok && (n.Op != token.ADD || !textual(n.X) && !textual(n.Y)) {
					swap(n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String())
				}
			case *ast.UnaryExpr:
				if n.Op == token.NOT {
					swap(n, n.OpPos, n.OpPos+1, "")
				}
			case *ast.IncDecStmt:
				to := token.DEC
				if n.Tok == token.DEC {
					to = token.INC
				}
				swap(n, n.TokPos, n.TokPos+2, to.String())
			case *ast.AssignStmt:
				if to, ok := map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=", token.QUO_ASSIGN: "*="}[n.Tok]; ok && !textual(n.Rhs[0]) {
					swap(n, n.TokPos, n.TokPos+2, to)
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					switch r := r.(type) {
					case *ast.Ident:
						if with, ok := map[string]string{"true": "false", "false": "true"}[r.Name]; ok {
							swap(n, r.Pos(), r.End(), with)
						}
					case *ast.BasicLit:
						if v, err := strconv.ParseInt(r.Value, 0, 32); err == nil && r.Kind == token.INT {
							swap(n, r.Pos(), r.End(), strconv.FormatInt(v+1, 10))
						}
						if r.Kind == token.STRING {
							with := `""`
							if r.Value == `""` {
								with = `"mutant"`
							}
							swap(n, r.Pos(), r.End(), with)
						}
					}
				}
			}
			return true
		})
	}
	slices.SortStableFunc(list, func(a, b lang.Mutant) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return first(list, lang.MaxMutants), nil
}

// textual reports whether an operand is a text, as far as one can see.
func textual(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (textual(e.X) || textual(e.Y))
	case *ast.CallExpr:
		name, ok := e.Fun.(*ast.Ident)
		return ok && name.Name == "string"
	case *ast.ParenExpr:
		return textual(e.X)
	}
	return false
}

// says reports whether a call only tells something to people.
func says(fset *token.FileSet, c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch text(fset, sel.X) {
	case "log", "slog":
		return true
	}
	return false
}
