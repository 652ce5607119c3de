package rules

import (
	"regexp"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/etui-run/etui/internal/patternsize"
	"github.com/etui-run/etui/rules/internal/lint"
)

// The most work of one match, in bytes of the text times instructions of the pattern: CEL
// counts the cost of a match only when it is over. The first is about a millisecond, the
// second a fraction of a second.
const (
	maxMatch     = 200_000    // in a condition on the caller
	maxCallMatch = 20_000_000 // in one on a call, whose texts may be long
)

// boundedMatches makes conditions compile their patterns once, and fail for a text that is
// too long for its pattern.
func boundedMatches(limit int) cel.ProgramOption {
	factory := func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		size := max(1, patternsize.Of(pattern))
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
			func(values ...ref.Val) ref.Val {
				if len(values) != 2 {
					return types.NoSuchOverloadErr()
				}
				text, ok := values[0].Value().(string)
				switch {
				case !ok:
					return types.NoSuchOverloadErr()
				case len(text) > limit/size:
					return types.NewErr("a text of %d bytes is too long for the pattern %.40q: at most %d are looked at",
						len(text), pattern, limit/size)
				}
				return types.Bool(compiled.MatchString(text))
			}), nil
	}
	return cel.OptimizeRegex(
		&interpreter.RegexOptimization{Function: overloads.Matches, OverloadID: overloads.Matches, RegexIndex: 1,
			Factory: factory},
		&interpreter.RegexOptimization{Function: overloads.Matches, OverloadID: overloads.MatchesString, RegexIndex: 1,
			Factory: factory},
	)
}

// unknownPattern reports whether a pattern of a condition is not in its text: then a caller
// would decide how long a match takes.
func unknownPattern(checked *ast.AST) bool {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.CallKind)) {
		call := e.AsCall()
		if call.FunctionName() != overloads.Matches || len(call.Args()) == 0 {
			continue
		}
		if _, ok := lint.Literal(call.Args()[len(call.Args())-1]); !ok {
			return true
		}
	}
	return false
}
