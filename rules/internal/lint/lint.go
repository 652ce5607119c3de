// Package lint finds mistakes in checked conditions that CEL accepts: names that do not exist, and
// comparisons that never hold.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/rules/internal/shelltext"
)

// Zone finds a literal time zone that does not exist, as in
// time.getHours("Asia/Shangai"). Methods of a time take no other text.
func Zone(checked *ast.AST) (zone string, err error) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.CallKind)) {
		call := e.AsCall()
		if !call.IsMemberFunction() || len(call.Args()) != 1 ||
			!checked.GetType(call.Target().ID()).IsExactType(types.TimestampType) {
			continue
		}
		if zone, ok := Literal(call.Args()[0]); ok {
			answer := types.Timestamp{Time: time.Unix(0, 0)}.Receive(call.FunctionName(), "",
				[]ref.Val{types.String(zone)})
			if err, failed := answer.(*types.Err); failed {
				return zone, err
			}
		}
	}
	return "", nil
}

// Risk finds a literal that is compared to the risks of a command, the fact of that name, but is not
// one: a rule with such a typo would never hold.
func Risk(checked *ast.AST, fact string) (problem string) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.CallKind)) {
		if !slices.Contains([]string{operators.In, operators.Equals, operators.NotEquals}, e.AsCall().FunctionName()) {
			continue
		}
		a, b := e.AsCall().Args()[0], e.AsCall().Args()[1]
		if ofRisks(e, a, fact) {
			problem = cmp.Or(problem, noRisk(e, b))
		}
		if ofRisks(e, b, fact) {
			problem = cmp.Or(problem, noRisk(e, a))
		}
	}
	return problem
}

// ofRisks reports whether a part of e is the fact or an element of it.
func ofRisks(e ast.NavigableExpr, part ast.Expr, fact string) bool {
	if part.Kind() == ast.CallKind && part.AsCall().FunctionName() == operators.Index {
		part = part.AsCall().Args()[0]
	}
	part = through(e, part)
	return part.Kind() == ast.IdentKind && part.AsIdent() == fact
}

// noRisk returns the mistake in the literals of a part of e, if one is not a risk.
func noRisk(e ast.NavigableExpr, part ast.Expr) string {
	part = through(e, part)
	names := []ast.Expr{part}
	if part.Kind() == ast.ListKind {
		names = part.AsList().Elements()
	}
	for _, n := range names {
		if name, ok := Literal(n); ok && !slices.Contains(shelltext.Risks(), name) {
			return fmt.Sprintf("%q is no risk of a command%s; the risks are %s", name,
				nearest.Hint(name, slices.Values(shelltext.Risks())), strings.Join(shelltext.Risks(), ", "))
		}
	}
	return ""
}

// through returns the list that a part of e iterates over when it is the variable of a
// macro such as exists, else the part itself.
func through(e ast.NavigableExpr, part ast.Expr) ast.Expr {
	for around, ok := e.Parent(); ok && part.Kind() == ast.IdentKind; around, ok = around.Parent() {
		if around.Kind() == ast.ComprehensionKind && around.AsComprehension().IterVar() == part.AsIdent() {
			return around.AsComprehension().IterRange()
		}
	}
	return part
}

// Literal returns the text of an expression that is one.
func Literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().Value().(string)
	return text, ok
}

// Listed reports whether a condition does more with a variable than to ask for names.
func Listed(checked *ast.AST, variable string) bool {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.IdentKind)) {
		if e.AsIdent() != variable {
			continue
		}
		parent, ok := e.Parent()
		switch {
		case !ok:
			return true
		case parent.Kind() == ast.SelectKind:
			continue
		case parent.Kind() != ast.CallKind:
			return true
		}
		call := parent.AsCall()
		byName := call.FunctionName() == operators.Index && call.Args()[0].ID() == e.ID() ||
			call.FunctionName() == operators.In && call.Args()[1].ID() == e.ID()
		if !byName {
			return true
		}
	}
	return false
}
