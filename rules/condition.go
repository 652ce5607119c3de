package rules

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/rules/internal/lint"
)

// condition is a compiled condition.
type condition struct {
	program  cel.Program
	checked  *ast.AST
	facts    factSet
	failures atomic.Int64
}

// evaluate evaluates it for a caller, and for a call if it reads one.
func (c *condition) evaluate(f *chat.Facts, made *call) outcome {
	value, _, err := c.program.Eval(caller{f, made})
	if _, ok := value.(types.Bool); err == nil && !ok {
		err = fmt.Errorf("it is of type %s, not true or false", value.Type().TypeName())
	}
	if err != nil {
		return c.failed(err)
	}
	return outcome{holds: value == types.True}
}

// failed counts a failure and returns it.
func (c *condition) failed(err error) outcome {
	c.failures.Add(1)
	return outcome{err: err}
}

// compiler compiles conditions, each text once.
type compiler struct {
	calls      bool       // conditions may read facts about calls
	own        []Variable // instead of facts: those of [Conditions]
	env        *cel.Env   // created when first needed: that takes a moment
	conditions []*condition
	known      map[string]int
}

func newCompiler(calls bool) *compiler { return &compiler{calls: calls, known: map[string]int{}} }

// facts returns those that conditions may read.
func (c *compiler) facts() []fact {
	return slices.DeleteFunc(allFacts(), func(f fact) bool { return f.ofCall() && !c.calls })
}

// mistake is what is wrong with a condition and where in its text: the line counts from
// 1, the column from 0; line 0 means the whole text.
type mistake struct {
	line, column int
	reason       string
}

func wrong(format string, args ...any) *mistake {
	return &mistake{reason: fmt.Sprintf(format, args...)}
}

// environment declares what conditions may use: the facts and CEL's standard library.
func (c *compiler) environment() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.ParserExpressionSizeLimit(MaxCondition),
		cel.ParserRecursionLimit(64),
		cel.ExpressionNodeLimit(MaxCondition),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateDurationLiterals()),
	}
	for _, v := range c.own {
		options = append(options, cel.Variable(v.Name, v.Kind.cel()))
	}
	if c.own == nil {
		for _, f := range c.facts() {
			options = append(options, cel.Variable(f.String(), f.kind()))
		}
	}
	return cel.NewEnv(options...)
}

// compile returns the number of the condition of a text.
func (c *compiler) compile(text string) (number int, problem *mistake) {
	if number, ok := c.known[text]; ok {
		return number, nil
	}
	if n := utf8.RuneCountInString(text); n > MaxCondition {
		return 0, wrong("the condition has %d characters, at most %d are allowed", n, MaxCondition)
	}
	if c.env == nil {
		var err error
		if c.env, err = c.environment(); err != nil {
			return 0, wrong("conditions cannot be compiled: %v", err)
		}
	}
	checked, issues := c.env.Compile(text)
	if issues.Err() != nil {
		return 0, c.explain(text, issues)
	}
	if of := checked.OutputType(); of != cel.BoolType && (of != cel.DynType || !c.calls && c.own == nil) { // the type of an argument is known only in the call
		return 0, wrong("the condition is of type %s; it must be true or false, as in channel == \"web\"",
			checked.OutputType())
	}
	if zone, err := lint.Zone(checked.NativeRep()); err != nil {
		return 0, wrong("the time zone %q cannot be used: %v; zones are written as in \"Asia/Shanghai\" or \"+08:00\"",
			zone, err)
	}
	estimate, err := c.env.EstimateCost(checked, sizes{})
	if err != nil {
		return 0, wrong("the cost of the condition cannot be estimated: %v", err)
	}
	if estimate.Max > MaxCost {
		return 0, wrong("the condition may cost %d, at most %d are allowed: loops within loops and long patterns cost most", estimate.Max, MaxCost)
	}
	if unknownPattern(checked.NativeRep()) {
		return 0, wrong("the pattern of matches must be a text in quotes: how long a match takes depends on it")
	}
	facts, limit, match := factsOf(checked.NativeRep()), uint64(MaxCost), maxMatch
	if facts.ofCall() || c.own != nil {
		limit, match = MaxCallCost, maxCallMatch
	}
	for _, v := range c.own {
		if v.Kind == Names && lint.Listed(checked.NativeRep(), v.Name) {
			return 0, wrong("%s cannot be listed, counted or compared; ask for a name, as in \"a.txt\" in %s", v.Name,
				v.Name)
		}
		if found := v.check(checked.NativeRep()); found != nil {
			return 0, found
		}
	}
	if problem := lint.Risk(checked.NativeRep(), commandRisks.String()); problem != "" {
		return 0, wrong("%s", problem)
	}
	program, err := c.env.Program(checked, cel.CostLimit(limit), cel.EvalOptions(cel.OptOptimize),
		boundedMatches(match))
	if err != nil {
		return 0, wrong("the condition cannot be used: %v", err)
	}
	c.known[text] = len(c.conditions)
	c.conditions = append(c.conditions, &condition{program: program, facts: facts, checked: checked.NativeRep()})
	return c.known[text], nil
}

// sizes bounds the facts for the estimate of a condition's cost.
type sizes struct{}

// EstimateCallCost leaves functions to CEL.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// EstimateSize assumes lists, maps and texts of up to 64 elements or characters.
func (sizes) EstimateSize(cost.AstNode) *cost.SizeEstimate { return &cost.SizeEstimate{Max: 64} }

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	identifier = regexp.MustCompile(`^[\w.]+`)
)

// explain describes the first mistake, with the name that was probably meant.
func (c *compiler) explain(text string, issues *cel.Issues) *mistake {
	first := issues.Errors()[0]
	m := &mistake{line: first.Location.Line(), column: max(first.Location.Column(), 0),
		reason: "the condition is not valid: " + first.Message}
	found := undeclared.FindStringSubmatch(first.Message)
	if found == nil {
		return m
	}
	name := found[1]
	if lines := strings.Split(text, "\n"); 1 <= m.line && m.line <= len(lines) {
		line := []rune(lines[m.line-1])
		// The checker's column is that of the dot in user.x, and of the end of a
		// function's name.
		end := min(m.column+utf8.RuneCountInString(name), len(line))
		if i := strings.LastIndex(string(line[:end]), name); i >= 0 {
			m.column = utf8.RuneCountInString(string(line[:end])[:i])
			// It may name only the first part, such as user in user.x: take all.
			name = cmp.Or(identifier.FindString(string(line[m.column:])), name)
		}
	}
	if begin, _, _ := strings.Cut(name, "."); !c.calls && c.own == nil && (begin == "args" || begin == "command") {
		m.reason = fmt.Sprintf("the condition reads %q: what a caller sees is decided before there is a call. Write a rule under policy", name)
		return m
	}
	if c.own != nil { // they have no dots in their names
		name, _, _ = strings.Cut(name, ".")
	}
	m.reason = fmt.Sprintf("the condition reads %q, which is no fact and no function%s", name,
		nearest.Hint(name, c.names()))
	if !strings.Contains(m.reason, "did you mean") {
		m.reason += "; the facts are " + strings.Join(c.factNames(), ", ")
	}
	return m
}

func (c *compiler) factNames() (names []string) {
	if c.own != nil {
		for _, v := range c.own {
			names = append(names, v.Name)
		}
		return names
	}
	for _, f := range c.facts() {
		names = append(names, f.String())
	}
	return names
}

// names yields the facts, then the functions.
func (c *compiler) names() iter.Seq[string] {
	var functions []string
	for name := range c.env.Functions() {
		if name[0] >= 'a' && name[0] <= 'z' {
			functions = append(functions, name)
		}
	}
	slices.Sort(functions)
	return slices.Values(append(c.factNames(), functions...))
}

// factsOf returns the facts that a checked condition reads, rather too many than too
// few. It returns single attributes where the condition has their names as literals.
func factsOf(checked *ast.AST) factSet {
	var s factSet
	named := map[int64]bool{} // expressions that read one attribute, by its name
	attribute := func(of ast.Expr, name string) {
		if of.Kind() == ast.IdentKind && of.AsIdent() == attrs.String() {
			named[of.ID()] = true
			s = s.union(factSet{attrs: []string{name}})
		}
	}
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.AllMatcher()) {
		switch e.Kind() {
		case ast.SelectKind:
			attribute(e.AsSelect().Operand(), e.AsSelect().FieldName())
		case ast.CallKind:
			args := e.AsCall().Args()
			switch e.AsCall().FunctionName() {
			case operators.Index:
				if name, ok := lint.Literal(args[1]); ok {
					attribute(args[0], name)
				}
			case operators.In:
				if name, ok := lint.Literal(args[0]); ok {
					attribute(args[1], name)
				}
			}
		}
	}
	for id, ref := range checked.ReferenceMap() {
		if f, ok := factNamed(ref.Name); ok && !named[id] {
			s.has[f] = true
		}
	}
	return s
}
