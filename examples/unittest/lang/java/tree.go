package java

import (
	"fmt"

	"example.com/unittest/lang"
	"github.com/odvcencio/gotreesitter"
	"github.com/odvcencio/gotreesitter/grammars"
)

// maxParse bounds the time to parse one file, in microseconds.
const maxParse = 5_000_000

// maxDepth is how deep expressions and blocks may nest.
const maxDepth = 500

// tree is a parsed file.
type tree struct {
	source  []byte
	grammar *gotreesitter.Language
	root    *gotreesitter.Node
}

// parse reads a target. The error has the line of the first mistake.
func parse(p *lang.Project, target string) (*tree, error) {
	source, err := p.Read(target)
	if err != nil {
		return nil, err
	}
	t := &tree{source: source, grammar: grammars.JavaLanguage()}
	parser := gotreesitter.NewParser(t.grammar)
	parser.SetTimeoutMicros(maxParse)
	parsed, err := parser.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be parsed: %w", target, err)
	}
	t.root = parsed.RootNode()
	if t.root == nil || int(t.root.EndByte()) < len(source)/2 && t.root.HasError() {
		return nil, fmt.Errorf("%s cannot be parsed", target)
	}
	if t.root.HasError() {
		return nil, fmt.Errorf("%s is not valid Java: see line %d", target, t.mistake(t.root, 0))
	}
	return t, nil
}

// mistake is the line of the first node that is no Java.
func (t *tree) mistake(n *gotreesitter.Node, depth int) int {
	if n.IsError() || n.IsMissing() || depth == maxDepth {
		return t.line(n)
	}
	for i := range n.ChildCount() {
		if c := n.Child(i); c.HasError() || c.IsMissing() {
			return t.mistake(c, depth+1)
		}
	}
	return t.line(n)
}

func (t *tree) is(n *gotreesitter.Node) string {
	if n == nil {
		return ""
	}
	return n.Type(t.grammar)
}

func (t *tree) field(n *gotreesitter.Node, name string) *gotreesitter.Node {
	if n == nil {
		return nil
	}
	return n.ChildByFieldName(name, t.grammar)
}

func (t *tree) text(n *gotreesitter.Node) string {
	if n == nil {
		return ""
	}
	return n.Text(t.source)
}

func (t *tree) line(n *gotreesitter.Node) int   { return int(n.StartPoint().Row) + 1 }
func (t *tree) end(n *gotreesitter.Node) int    { return int(n.EndPoint().Row) + 1 }
func (t *tree) column(n *gotreesitter.Node) int { return int(n.StartPoint().Column) + 1 }

// walk calls f for a node and all below it, in the order of the text, until f returns false for
// one: then what is below that is left out.
func (t *tree) walk(n *gotreesitter.Node, f func(*gotreesitter.Node) bool) { t.descend(n, f, 0) }

func (t *tree) descend(n *gotreesitter.Node, f func(*gotreesitter.Node) bool, depth int) {
	if n == nil || depth == maxDepth || !f(n) {
		return
	}
	for i := range n.ChildCount() {
		t.descend(n.Child(i), f, depth+1)
	}
}

// child returns the first child of a type.
func (t *tree) child(n *gotreesitter.Node, kind string) *gotreesitter.Node {
	for i := range n.ChildCount() {
		if c := n.Child(i); t.is(c) == kind {
			return c
		}
	}
	return nil
}

// method is a method or constructor with a body, and the names of the types around it.
type method struct {
	node, body *gotreesitter.Node
	name       string
	public     bool // for tests, which are in the same package: not private
}

// methods returns those of a file, at most [lang.MaxFunctions].
func (t *tree) methods() (list []method) {
	var inType func(n *gotreesitter.Node, types string, depth int)
	inType = func(n *gotreesitter.Node, types string, depth int) {
		if depth > 50 {
			return
		}
		for i := range n.NamedChildCount() {
			c := n.NamedChild(i)
			switch kind := t.is(c); kind {
			case "class_declaration", "record_declaration", "enum_declaration", "interface_declaration", "annotation_type_declaration":
				name := t.text(t.field(c, "name"))
				if types != "" {
					name = types + "." + name
				}
				inType(c, name, depth+1)
			case "class_body", "interface_body", "enum_body", "enum_body_declarations", "program":
				inType(c, types, depth+1)
			case "method_declaration", "constructor_declaration", "compact_constructor_declaration":
				body := t.field(c, "body")
				if body != nil && len(list) < lang.MaxFunctions {
					list = append(list, method{c, body, types + "." + t.text(t.field(c, "name")), !t.has(c, "private")})
				}
			}
		}
	}
	inType(t.root, "", 0)
	return list
}

// has reports whether a declaration has a modifier.
func (t *tree) has(n *gotreesitter.Node, modifier string) bool {
	m := t.child(n, "modifiers")
	return m != nil && t.child(m, modifier) != nil
}
