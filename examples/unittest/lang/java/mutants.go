package java

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"example.com/unittest/lang"
	"github.com/odvcencio/gotreesitter"
)

// swaps are the operators that are changed, and into what.
var swaps = map[string]string{
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*", "%": "*",
	"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "++": "--", "--": "++", "&": "|", "|": "&", "<<": ">>", ">>": "<<",
}

// Mutants implements [lang.Language].
func (Java) Mutants(p *lang.Project, target string) ([]lang.Mutant, error) {
	t, err := parse(p, target)
	if err != nil {
		return nil, err
	}
	var list []lang.Mutant
	// swap replaces a node; around is the expression that people read.
	swap := func(around, n *gotreesitter.Node, with string) {
		from, to, start, end := n.StartByte(), n.EndByte(), around.StartByte(), around.EndByte()
		list = append(list, lang.Mutant{
			Line: t.line(n), Column: t.column(n), Source: slices.Concat(t.source[:from], []byte(with), t.source[to:]),
			Before: oneLine(string(t.source[start:end]), 120),
			After:  oneLine(string(t.source[start:from])+with+string(t.source[to:end]), 120),
		})
	}
	for _, m := range t.methods() {
		t.walk(m.body, func(n *gotreesitter.Node) bool {
			switch t.is(n) {
			case "class_body":
				return false
			case "method_invocation":
				return !t.says(n)
			case "throw_statement": // its text is for people
				return false
			case "binary_expression", "assignment_expression":
				op := t.field(n, "operator")
				with, ok := swaps[t.text(op)]
				if text := t.text(op); ok && !(strings.HasPrefix(text, "+") && t.textual(n)) {
					swap(n, op, with)
				}
			case "update_expression":
				for i := range n.ChildCount() {
					if with, ok := swaps[t.text(n.Child(i))]; ok {
						swap(n, n.Child(i), with)
					}
				}
			case "unary_expression":
				if op := t.field(n, "operator"); t.text(op) == "!" {
					swap(n, op, "")
				}
			case "return_statement", "yield_statement":
				if n.NamedChildCount() == 1 {
					value := n.NamedChild(0)
					if with := t.another(value); with != "" {
						swap(n, value, with)
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

// another is a different value for a literal; empty if the node is none.
func (t *tree) another(n *gotreesitter.Node) string {
	switch t.is(n) {
	case "true":
		return "false"
	case "false":
		return "true"
	case "string_literal":
		if t.text(n) == `""` {
			return `"mutant"`
		}
		return `""`
	case "decimal_integer_literal":
		if v, ok := new(big.Int).SetString(strings.ReplaceAll(t.text(n), "_", ""), 10); ok {
			return v.Add(v, big.NewInt(1)).String()
		}
	}
	return ""
}

// textual reports whether an expression joins texts, as far as one can see.
func (t *tree) textual(n *gotreesitter.Node) bool {
	switch t.is(n) {
	case "string_literal", "text_block":
		return true
	case "binary_expression", "assignment_expression":
		return t.textual(t.field(n, "left")) || t.textual(t.field(n, "right"))
	case "parenthesized_expression":
		return n.NamedChildCount() == 1 && t.textual(n.NamedChild(0))
	}
	return false
}

// says reports whether a call only tells something to people.
func (t *tree) says(n *gotreesitter.Node) bool {
	switch object := strings.ToLower(t.text(t.field(n, "object"))); object {
	case "log", "logger", "system.out", "system.err":
		return true
	}
	return false
}
