// Package patternsize measures regular expressions before they are used.
package patternsize

import "regexp/syntax"

// Of returns how many instructions a pattern has once it is compiled, which is its work for each
// byte of a text: a short one such as (.?.?.?){1000} has thousands, and nothing ends a match before
// it is over. A text that is no pattern has one.
func Of(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 1
	}
	return len(program.Inst)
}
