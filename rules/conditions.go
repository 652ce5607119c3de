package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/etui-run/etui/rules/internal/lint"
)

// ValueKind is what kind of value a [Variable] has.
type ValueKind uint8

// The kinds.
const (
	Text    ValueKind = iota // string
	Number                   // int
	Truth                    // bool
	Texts                    // []string
	TextMap                  // map[string]string
	Numbers                  // map[string]int
	Values                   // map[string]any, whose values are as JSON has them
	Names                    // a [Lookup]: conditions can ask for names only
)

func (k ValueKind) cel() *cel.Type {
	switch k {
	case Number:
		return cel.IntType
	case Truth:
		return cel.BoolType
	case Texts:
		return cel.ListType(cel.StringType)
	case TextMap:
		return cel.MapType(cel.StringType, cel.StringType)
	case Numbers:
		return cel.MapType(cel.StringType, cel.IntType)
	case Values, Names:
		return cel.MapType(cel.StringType, cel.DynType)
	default:
		return cel.StringType
	}
}

// Variable is something that a condition of [Conditions] may read.
type Variable struct {
	Name string
	Kind ValueKind
	// Fields are those that its values have, with the kinds Text, Number, Truth or, for anything,
	// Values. Nil means that the fields are not known.
	Fields map[string]ValueKind
}

// check finds a field that the variable's values do not have.
func (v Variable) check(checked *ast.AST) *mistake {
	if v.Fields == nil {
		return nil
	}
	fields := lint.Fields{}
	for name, kind := range v.Fields {
		if fields[name] = kind.cel(); kind == Values {
			fields[name] = nil
		}
	}
	p := lint.Check(checked, v.Name, fields)
	if p == nil {
		return nil
	}
	line, column := p.Place(checked)
	return &mistake{line, column, p.Reason}
}

// Lookup gives the values of a variable one by one, as conditions ask for them. An error
// fails the condition; ok is false where there is no value.
type Lookup func(key string) (value any, ok bool, err error)

// Conditions compiles conditions over variables of the caller's own, with the same
// language, bounds and messages as the conditions of rules. It is not safe for
// concurrent use; what it compiles is.
type Conditions struct{ compiler *compiler }

// NewConditions returns a compiler of conditions that read the given variables.
func NewConditions(variables ...Variable) *Conditions {
	return &Conditions{&compiler{own: slices.Clone(variables), known: map[string]int{}}}
}

// Condition is a compiled condition of [Conditions]. It is immutable and safe for
// concurrent use.
type Condition struct {
	text      string
	condition *condition
}

// Compile compiles a condition that begins at a place. The error is an [*Error] with the
// place of the first mistake in it.
func (c *Conditions) Compile(text string, at Place) (*Condition, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &Error{at, "the condition is empty"}
	}
	i, problem := c.compiler.compile(text)
	if problem != nil {
		return nil, &Error{at.plus(problem.line, problem.column), problem.reason}
	}
	return &Condition{text, c.compiler.conditions[i]}, nil
}

// String returns the condition as it was written.
func (c *Condition) String() string { return c.text }

// Names returns the names that the condition asks a variable for, which is a map. All is false if
// it may ask for others, too.
func (c *Condition) Names(variable string) (names []string, all bool) {
	return lint.Names(c.condition.checked, variable)
}

// Holds evaluates the condition for the values of the variables. It fails when the
// condition reads something that is not there, such as a missing key, and when it costs
// more than [MaxCallCost].
func (c *Condition) Holds(values map[string]any) (bool, error) {
	for name, value := range values {
		if of, ok := value.(Lookup); ok {
			values = maps.Clone(values)
			values[name] = look(of)
		}
	}
	value, _, err := c.condition.program.Eval(values)
	if _, ok := value.(types.Bool); err == nil && !ok {
		err = fmt.Errorf("it is of type %s, not true or false", value.Type().TypeName())
	}
	if err != nil {
		return false, c.condition.failed(err).err
	}
	return value == types.True, nil
}
