package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/etui-run/etui/internal/nearest"
)

// Fields are the fields of a variable's values: the CEL type of each, nil for one that may have any.
type Fields map[string]*types.Type

// Problem is a mistake, and the expression that has it.
type Problem struct {
	ID     int64
	Reason string
}

// Place returns the line, from 1, and the column, from 0, of a problem's expression.
func (p *Problem) Place(checked *ast.AST) (line, column int) {
	at := checked.SourceInfo().GetStartLocation(p.ID)
	return at.Line(), max(at.Column(), 0)
}

// Check finds a field that the values of a variable do not have, as in results.x.faild, and one
// that is used as something else than it is, as in results.x.count > "3".
func Check(checked *ast.AST, variable string, fields Fields) *Problem {
	names := slices.Sorted(maps.Keys(fields))
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.AllMatcher()) {
		of, name, ok := part(e)
		if !ok || !of.holds(variable) {
			continue
		}
		kind, known := fields[name]
		if !known {
			return &Problem{e.ID(), fmt.Sprintf("the condition reads %q of a value of %s, which has only %s%s",
				name, variable, strings.Join(names, ", "), nearest.Hint(name, slices.Values(names)))}
		}
		if kind != nil && (e.Kind() != ast.SelectKind || !e.AsSelect().IsTestOnly()) {
			if reason := misused(e, kind); reason != "" {
				return &Problem{
					e.ID(),
					fmt.Sprintf("%s of a value of %s is of type %s, %s", name, variable, kind, reason),
				}
			}
		}
	}
	return nil
}

// value is an expression that may be one of a variable's values.
type value struct{ ast.Expr }

// holds reports whether the value is read by its name from a variable.
func (v value) holds(variable string) bool {
	from, _, ok := part(v.Expr)
	return ok && from.Kind() == ast.IdentKind && from.AsIdent() == variable || dynamic(v.Expr, variable)
}

// dynamic reports whether an expression is variable[name], whatever the name is.
func dynamic(e ast.Expr, variable string) bool {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Index {
		return false
	}
	of := e.AsCall().Args()[0]
	return of.Kind() == ast.IdentKind && of.AsIdent() == variable
}

// part takes x.name and x["name"] apart.
func part(e ast.Expr) (of value, name string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return value{e.AsSelect().Operand()}, e.AsSelect().FieldName(), true
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Index {
			name, ok = Literal(call.Args()[1])
			return value{call.Args()[0]}, name, ok
		}
	}
	return value{}, "", false
}

// misused says why an expression of a type is in the wrong place: as a truth, or compared to a
// literal of another type.
func misused(e ast.NavigableExpr, kind *types.Type) string {
	parent, ok := e.Parent()
	if !ok {
		if kind != types.BoolType {
			return "not true or false"
		}
		return ""
	}
	if parent.Kind() != ast.CallKind {
		return ""
	}
	call := parent.AsCall()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		if kind != types.BoolType {
			return "not true or false"
		}
	case operators.Equals,
		operators.NotEquals,
		operators.Less,
		operators.LessEquals,
		operators.Greater,
		operators.GreaterEquals:
		for _, other := range call.Args() {
			if other.Kind() == ast.LiteralKind && !comparable(kind, other.AsLiteral()) {
				return fmt.Sprintf("and is compared to one of type %s", other.AsLiteral().Type().TypeName())
			}
		}
	}
	return ""
}

// comparable reports whether a comparison of a type with a literal can hold.
func comparable(kind *types.Type, literal ref.Val) bool {
	number := func(name string) bool { return slices.Contains([]string{"int", "uint", "double"}, name) }
	other := literal.Type().TypeName()
	return kind.TypeName() == other || number(kind.TypeName()) && number(other)
}

// Names returns the literal names that a condition asks a map for. All is false if it may ask for
// others, too.
func Names(checked *ast.AST, variable string) (names []string, all bool) {
	all = true
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.IdentKind)) {
		parent, ok := e.Parent()
		if e.AsIdent() != variable || !ok {
			continue
		}
		name := ""
		if of, field, is := part(parent); is && of.ID() == e.ID() {
			name, ok = field, true
		} else if parent.Kind() == ast.CallKind && parent.AsCall().FunctionName() == operators.In {
			name, ok = Literal(parent.AsCall().Args()[0])
		} else {
			ok = false
		}
		if !ok {
			all = false
		} else if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, all
}
