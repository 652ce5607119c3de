package java

import (
	"math/big"
	"slices"
	"strings"

	"example.com/unittest/lang"
	"github.com/odvcencio/gotreesitter"
)

// Analyze implements [lang.Language].
func (j Java) Analyze(p *lang.Project, target string) (*lang.Analysis, error) {
	at, err := placeOf(p, target)
	if err != nil {
		return nil, err
	}
	t, err := parse(p, target)
	if err != nil {
		return nil, err
	}
	a := &lang.Analysis{File: target, Language: j.Name(), Package: at.pkg, Lines: strings.Count(string(t.source), "\n"), Functions: []lang.Function{}}
	for i := range t.root.NamedChildCount() {
		if c := t.root.NamedChild(i); t.is(c) == "import_declaration" && len(a.Imports) < 100 {
			a.Imports = append(a.Imports, strings.TrimSuffix(strings.TrimPrefix(oneLine(t.text(c), 200), "import "), ";"))
		}
	}
	t.walk(t.root, func(n *gotreesitter.Node) bool {
		kind, ok := strings.CutSuffix(t.is(n), "_declaration")
		if ok && slices.Contains([]string{"class", "record", "enum", "interface"}, kind) && len(a.Types) < lang.MaxFunctions {
			a.Types = append(a.Types, t.typeOf(n, kind))
		}
		return true
	})
	branches := 0
	for _, m := range t.methods() {
		one := t.analyzed(m)
		one.Branches = first(one.Branches, lang.MaxBranches-branches)
		branches += len(one.Branches)
		a.Functions = append(a.Functions, one)
	}
	return a, nil
}

func (t *tree) typeOf(n *gotreesitter.Node, kind string) lang.Type {
	one := lang.Type{Name: t.text(t.field(n, "name")), Kind: kind, Line: t.line(n)}
	add := func(c *gotreesitter.Node) {
		if len(one.Members) < 50 {
			one.Members = append(one.Members, strings.TrimSuffix(oneLine(t.text(c), 160), ";"))
		}
	}
	if params := t.field(n, "parameters"); params != nil { // of a record
		for i := range params.NamedChildCount() {
			add(params.NamedChild(i))
		}
	}
	body := t.field(n, "body")
	if body == nil {
		return one
	}
	for i := range body.NamedChildCount() {
		switch c := body.NamedChild(i); t.is(c) {
		case "field_declaration", "constant_declaration", "enum_constant":
			add(c)
		case "method_declaration":
			if t.field(c, "body") == nil {
				add(c)
			}
		}
	}
	return one
}

// signature is what stands before the body, without annotations.
func (t *tree) signature(m method) string {
	var b strings.Builder
	for i := range m.node.ChildCount() {
		c := m.node.Child(i)
		if c.StartByte() >= m.body.StartByte() {
			break
		}
		if t.is(c) == "modifiers" {
			for k := range c.ChildCount() {
				if word := c.Child(k); !strings.HasSuffix(t.is(word), "annotation") {
					b.WriteString(t.text(word) + " ")
				}
			}
			continue
		}
		text := t.text(c)
		if t.is(c) == "formal_parameters" {
			b.WriteString("\b")
		}
		b.WriteString(text + " ")
	}
	return oneLine(strings.ReplaceAll(b.String(), " \b", ""), 300)
}

func (t *tree) analyzed(m method) lang.Function {
	one := lang.Function{Name: m.name, Signature: t.signature(m), Line: t.line(m.node), End: t.end(m.node), Public: m.public, Complexity: 1}
	if before := m.node.PrevSibling(); t.is(before) == "block_comment" {
		one.Doc = cut(doc(t.text(before)), 400)
	}
	branch := func(at *gotreesitter.Node, kind string, condition *gotreesitter.Node) {
		one.Branches = append(one.Branches, lang.Branch{Line: t.line(at), Kind: kind, Condition: oneLine(inner(t.text(condition)), 120)})
	}
	fails := func(text string) {
		if text = oneLine(text, 160); text != "" && !slices.Contains(one.Failures, text) && len(one.Failures) < 20 {
			one.Failures = append(one.Failures, text)
		}
	}
	if throws := t.child(m.node, "throws"); throws != nil {
		for i := range throws.NamedChildCount() {
			fails(t.text(throws.NamedChild(i)))
		}
	}
	t.walk(m.body, func(n *gotreesitter.Node) bool {
		switch t.is(n) {
		case "class_body": // of another type
			return false
		case "if_statement":
			one.Complexity++
			branch(n, "if", t.field(n, "condition"))
			branch(n, "else", nil)
		case "while_statement", "do_statement", "for_statement":
			one.Complexity++
			branch(n, "loop", t.field(n, "condition"))
		case "enhanced_for_statement":
			one.Complexity++
			branch(n, "loop", t.field(n, "value"))
		case "ternary_expression":
			one.Complexity++
			branch(n, "ternary", t.field(n, "condition"))
		case "switch_label":
			if label := oneLine(t.text(n), 120); label == "default" {
				branch(n, "default", nil)
			} else {
				one.Complexity++
				one.Branches = append(one.Branches, lang.Branch{Line: t.line(n), Kind: "case", Condition: strings.TrimPrefix(label, "case ")})
			}
		case "catch_clause":
			one.Complexity++
			branch(n, "catch", t.child(n, "catch_formal_parameter"))
		case "throw_statement":
			fails(strings.TrimSuffix(strings.TrimPrefix(t.text(n), "throw "), ";"))
		case "binary_expression":
			switch op := t.text(t.field(n, "operator")); op {
			case "&&", "||":
				one.Complexity++
				branch(n, map[string]string{"&&": "and", "||": "or"}[op], n)
			default:
				if values := t.boundary(n, op); len(values) > 0 && len(one.Boundaries) < lang.MaxBounds {
					one.Boundaries = append(one.Boundaries, lang.Boundary{Line: t.line(n), Condition: oneLine(t.text(n), 120), Values: values})
				}
			}
		case "method_invocation":
			if name := t.text(t.field(n, "name")); (name == "isEmpty" || name == "isBlank") && len(one.Boundaries) < lang.MaxBounds {
				one.Boundaries = append(one.Boundaries, lang.Boundary{Line: t.line(n), Condition: oneLine(t.text(n), 120), Values: []string{"null", "empty", "one element or letter"}})
			}
		}
		return true
	})
	return one
}

// inner is a condition without the brackets around it.
func inner(s string) string {
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		return s[1 : len(s)-1]
	}
	return s
}

// doc is the text of a comment.
func doc(s string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSuffix(strings.TrimPrefix(s, "/*"), "*/")) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "*")); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// boundary returns what to try around a comparison.
func (t *tree) boundary(n *gotreesitter.Node, op string) []string {
	if !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, op) {
		return nil
	}
	left, right := t.field(n, "left"), t.field(n, "right")
	for _, side := range []*gotreesitter.Node{right, left} {
		text := t.text(side)
		if t.is(side) == "unary_expression" {
			side = t.field(side, "operand")
		}
		switch t.is(side) {
		case "null_literal":
			return []string{"null", "not null"}
		case "decimal_integer_literal", "hex_integer_literal":
			digits := strings.TrimRight(strings.ReplaceAll(text, "_", ""), "lL")
			if v, ok := new(big.Int).SetString(digits, 0); ok {
				one := big.NewInt(1)
				return []string{new(big.Int).Sub(v, one).String(), v.String(), new(big.Int).Add(v, one).String()}
			}
		case "decimal_floating_point_literal":
			return []string{"just below " + text, text, "just above " + text}
		case "character_literal":
			return []string{text, "another character"}
		}
	}
	x, y := t.simple(left), t.simple(right)
	if x == "" || y == "" || op == "==" || op == "!=" {
		return nil
	}
	return []string{x + " = " + y + " - 1", x + " = " + y, x + " = " + y + " + 1"}
}

// simple is an operand that can be named: a variable, a field, a call without arguments.
func (t *tree) simple(n *gotreesitter.Node) string {
	text := t.text(n)
	switch t.is(n) {
	case "identifier", "field_access":
		return text
	case "method_invocation":
		if strings.HasSuffix(text, "()") && len(text) < 60 {
			return text
		}
	}
	return ""
}
