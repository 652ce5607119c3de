package markdown

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/skill"
)

// yaml parses the frontmatter. If it is not valid as a whole, each key is parsed by
// itself, and an invalid value is taken as text: that is what an unquoted colon, an
// unclosed quote or a star at the beginning mean.
func (p *parser) yaml(f front) (*yaml.Node, error) {
	printable(f.lines)
	root, bad := parseYAML(f.lines)
	if bad != nil && !bad.hopeless {
		warn := p.doubt
		if strings.Contains(bad.Message, "mapping values") {
			warn = p.warn // every program reads an unquoted colon alike
		}
		warn(bad.Line+f.first-1, "", "the frontmatter is not valid YAML (%s); it was read key by key", bad.Message)
		if root = p.byKey(f.lines, f.first-1, 0); len(root.Content) > 0 {
			bad = nil
		}
	}
	if bad != nil {
		return nil, skill.Problem{Line: bad.Line + f.first - 1,
			Message: "the frontmatter cannot be used: " + bad.Message}
	}
	move(root, f.first-1)
	return root, nil
}

// meant gives a text without quotes back what YAML takes for something else: from a # on it is a
// comment, and behind a & or a ! at its beginning a name. In a description these are part of the text.
func (p *parser) meant(f front, root *yaml.Node) {
	for key, value := range form.Pairs(root) {
		name, first := strings.ToLower(key.Value), key.Line-f.first
		if !slices.Contains(prose, name) || value.Kind != yaml.ScalarNode || value.Style&^yaml.TaggedStyle != 0 ||
			first < 0 || first >= len(f.lines) {
			continue
		}
		match := topKey.FindString(f.lines[first])
		end := first + 1
		for end < len(f.lines) && strings.TrimLeft(f.lines[end], " \t") != f.lines[end] {
			end++
		}
		written := unquote(f.lines[first][len(match):], f.lines[first+1:end])
		odd := strings.Contains(" "+written, " #") || value.Anchor != "" ||
			strings.HasPrefix(written, "!") && !strings.HasPrefix(written, "!!")
		if match == "" || !odd || oneLine(value.Value) == written {
			continue
		}
		p.warn(value.Line, name, "%s holds a # or begins with & or !, which YAML does not take as text; all of it was kept: put it in quotes", name)
		*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: written, Line: value.Line, Column: value.Column}
	}
}

// prose are the fields whose values are sentences.
var prose = []string{"description", "compatibility"}

// printable removes control characters, at which every YAML parser stops.
func printable(lines []string) {
	for i, line := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			if r != '\t' && r != '\u0085' && (unicode.IsControl(r) || r == 0xfffe || r == 0xffff) {
				return -1
			}
			return r
		}, line)
	}
}

// badYAML says why a text cannot be used as YAML. Its line is relative to the text.
type badYAML struct {
	skill.Problem
	hopeless bool // no repair can help
}

// parseYAML parses a mapping. It refuses aliases, with which a small text can become
// a big one, and deep nesting.
func parseYAML(lines []string) (*yaml.Node, *badYAML) {
	root, bad := form.Parse(strings.Join(lines, "\n"), maxDepth)
	switch {
	case root != nil && root.Tag != "!!null": // anything after the first document is ignored
	case root != nil, bad == nil:
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, nil
	case bad.TooDeep:
		return nil, &badYAML{skill.Problem{Line: 1,
			Message: fmt.Sprintf("it is nested more than %d levels deep", maxDepth)}, true}
	default:
		return nil, &badYAML{skill.Problem{Line: max(bad.Line, 1), Message: bad.Message}, false}
	}
	if line := alias(root); line != 0 {
		return nil, &badYAML{skill.Problem{Line: line,
			Message: "it uses an alias (*); put the text in quotes if it is one"}, true}
	}
	if root.Kind != yaml.MappingNode {
		return nil, &badYAML{skill.Problem{Line: root.Line, Message: "it must be a mapping of keys to values"}, false}
	}
	return root, nil
}

// alias returns the line of the first alias, or 0.
func alias(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return n.Line
	}
	for _, c := range n.Content {
		if line := alias(c); line != 0 {
			return line
		}
	}
	return 0
}

// move shifts the lines of a node to those of the file.
func move(n *yaml.Node, by int) {
	n.Line += by
	for _, c := range n.Content {
		move(c, by)
	}
}

// byKey parses each key with its value separately. The lines follow line before of
// the file.
func (p *parser) byKey(lines []string, before, depth int) *yaml.Node {
	root := &yaml.Node{Kind: yaml.MappingNode, Line: 1}
	lines = dedent(lines)
	for at := 0; at < len(lines); {
		end := at + 1
		for end < len(lines) && !topKey.MatchString(lines[end]) {
			end++
		}
		one, bad := parseYAML(lines[at:end])
		if bad != nil {
			one = p.repaired(lines[at:end], before+at, depth)
		}
		move(one, at)
		root.Content = append(root.Content, one.Content...)
		at = end
	}
	return root
}

// repaired makes a mapping of a key with an invalid value; an empty one if the key
// must be left out.
func (p *parser) repaired(lines []string, before, depth int) *yaml.Node {
	root := &yaml.Node{Kind: yaml.MappingNode, Line: 1}
	match := topKey.FindStringSubmatch(lines[0])
	if match == nil {
		p.warn(before+1, "", "the text before the first key was left out")
		return root
	}
	key := match[1]
	value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: unquote(lines[0][len(match[0]):], lines[1:]),
		Line: 1}
	structured := key == "metadata" || depth > 0
	switch {
	case structured && strings.TrimSpace(lines[0][len(match[0]):]) == "" && depth < maxDepth:
		value = p.byKey(lines[1:], before+1, depth+1)
		move(value, 1)
	case structured && strings.ContainsAny(value.Value[:min(len(value.Value), 1)], "{["):
		p.warn(before+1, key, "%s is not valid YAML and was left out", key)
		return root
	default:
		p.warn(before+1, key, "the value of %s is not valid YAML and was taken as a text; put it in quotes", key)
	}
	root.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Value: key, Line: 1}, value}
	return root
}

// dedent removes the white space that all lines begin with.
func dedent(lines []string) []string {
	least := -1
	for _, line := range lines {
		if rest := strings.TrimLeft(line, " \t"); rest != "" && (least < 0 || len(line)-len(rest) < least) {
			least = len(line) - len(rest)
		}
	}
	if least <= 0 {
		return lines
	}
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = line[min(least, len(line)):]
	}
	return lines
}

// blockHeader matches the beginning of a block of text.
var blockHeader = regexp.MustCompile(`^[|>][+-]?[0-9]?[+-]?$`)

// closes matches the end of a quotation inside a text: "Tidy" and "sort".
var closes = regexp.MustCompile(`^[^"']*[^\s"'(]["'](?:[\s,.;:)]|$)`)

// unquote returns the text that a value was meant to be: its lines as one, without
// the quotes around it or an unclosed quote.
func unquote(first string, more []string) string {
	if first = strings.TrimSpace(first); blockHeader.MatchString(first) {
		first = ""
	}
	s := strings.Join(strings.Fields(first+" "+strings.Join(more, " ")), " ")
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return s
	}
	quote := s[:1]
	inner := strings.TrimSuffix(s[1:], quote)
	if !closes.MatchString(inner) {
		s = inner
	}
	if quote == `"` {
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s)
	}
	return strings.ReplaceAll(s, "''", "'")
}
