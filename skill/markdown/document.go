package markdown

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"golang.org/x/text/unicode/norm"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/skill"
)

// Document is the content of a SKILL.md. The zero value of a field means that the
// file does not have it.
type Document struct {
	Name          string
	Description   string // at most 4,096 characters, on one line
	License       string
	Compatibility string // what the skill needs, as a text for people
	Version       string
	// AllowedTools are the tools that its author wants to need no approval, as written in the file: see
	// [Tools].
	AllowedTools []string
	// Aliases are other words and phrases for the skill.
	Aliases []string
	// Hidden keeps the skill from models; people may use it.
	Hidden   bool
	Requires Requirements
	// Body holds the instructions: the text after the frontmatter.
	Body string
	// Ambiguous is the first part of the frontmatter that another program may read
	// differently from Parse, or nil. It is among the warnings, too.
	Ambiguous *skill.Problem
}

// Parse reads a SKILL.md leniently. folder is the name of its folder, which is the
// default of the skill's name; it is empty if there is no folder. The warnings say
// what was repaired or left out. The error is a [skill.Problem] with the line: the
// file has no frontmatter, description or name, is not text or exceeds a bound.
func Parse(folder string, text []byte) (Document, []skill.Problem, error) {
	p := &parser{folder: folder}
	d, err := p.parse(text)
	slices.SortStableFunc(p.warnings, func(a, b skill.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return d, p.warnings, err
}

// parser collects the warnings of one file.
type parser struct {
	folder    string
	warnings  []skill.Problem
	ambiguous *skill.Problem
}

func (p *parser) warn(line int, field, format string, args ...any) {
	if len(p.warnings) < maxWarnings {
		p.warnings = append(p.warnings, skill.Problem{Line: line, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// doubt warns of text that another program may read differently.
func (p *parser) doubt(line int, field, format string, args ...any) {
	p.warn(line, field, format, args...)
	if p.ambiguous == nil {
		p.ambiguous = &skill.Problem{Line: line, Field: field, Message: fmt.Sprintf(format, args...)}
	}
}

func (p *parser) parse(text []byte) (Document, error) {
	s, err := p.decode(text)
	if err != nil {
		return Document{}, err
	}
	front, err := p.split(s)
	if err != nil {
		return Document{}, err
	}
	root, err := p.yaml(front)
	if err != nil {
		return Document{}, err
	}
	p.meant(front, root)
	d := p.document(root)
	if d.Description == "" {
		return Document{}, skill.Problem{Line: root.Line, Field: "description",
			Message: "there is no usable description; write what the skill does and when to use it"}
	}
	if d.Name == "" {
		return Document{}, skill.Problem{Line: root.Line, Field: "name", Message: "there is no name"}
	}
	d.Body, d.Ambiguous = p.body(front), p.ambiguous
	return d, nil
}

// decode returns the text with plain line breaks.
func (p *parser) decode(text []byte) (string, error) {
	switch {
	case len(text) > maxFile:
		return "", skill.Problem{Message: tooLong}
	case slices.Contains(text, 0):
		return "", skill.Problem{Line: 1, Message: "the file is not UTF-8 text"}
	}
	s := string(text)
	if !utf8.ValidString(s) {
		p.warn(form.InvalidLine(text), "", "the file is not all UTF-8; invalid characters were replaced")
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	if rest, ok := strings.CutPrefix(s, bom); ok {
		p.warn(1, "", "the file begins with a byte order mark")
		s = rest
	}
	return lineBreaks(s), nil
}

// lineBreaks turns all line breaks into plain ones.
func lineBreaks(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

const (
	fence   = "---"
	bom     = "\ufeff"
	tooLong = "the file is longer than 1 MiB"
)

// front is a text, split up. The frontmatter begins in line first.
type front struct {
	lines []string
	first int
	body  string
}

// split finds the frontmatter and the text after it.
func (p *parser) split(s string) (front, error) {
	lines := strings.Split(s, "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) != "" })
	if i < 0 {
		return front{}, skill.Problem{Line: 1, Message: "the file is empty"}
	}
	opening := strings.TrimSpace(lines[i])
	if strings.Trim(opening, "-") != "" || len(opening) < 3 {
		return front{}, skill.Problem{Line: i + 1,
			Message: "there is no frontmatter: the file must begin with a line of ---, then name and description, then a line of ---"}
	}
	if i > 0 || opening != fence {
		p.warn(i+1, "", "the file does not begin with a line of ---")
	}
	rest := lines[i+1:]
	f := front{first: i + 2}
	if end := slices.IndexFunc(rest, isFence); end >= 0 {
		f.lines, f.body = rest[:end], strings.Join(rest[end+1:], "\n")
	} else {
		end := p.unclosed(rest)
		p.doubt(i+1, "", "the frontmatter is not closed by a line of ---; it is assumed to end after line %d",
			f.first+end-1)
		f.lines, f.body = rest[:end], strings.Join(rest[end:], "\n")
	}
	size := 0
	for _, line := range f.lines {
		size += len(line) + 1
	}
	if size > maxFront {
		return front{}, skill.Problem{Line: f.first, Message: "the frontmatter is longer than 64 KiB"}
	}
	return f, nil
}

func isFence(line string) bool {
	line = strings.TrimRight(line, " \t")
	return len(line) >= 3 && strings.Trim(line, "-") == ""
}

// unclosed guesses where unclosed frontmatter ends: after the last key and its
// value.
func (p *parser) unclosed(lines []string) int {
	end := 0
	for i, line := range lines {
		switch {
		case topKey.MatchString(line):
			end = i + 1
		case line == "" || line[0] == ' ' || line[0] == '\t':
			if end == i && strings.TrimSpace(line) != "" {
				end = i + 1
			}
		default:
			return end
		}
	}
	return end
}

// topKey matches a line that begins with a key of the frontmatter.
var topKey = regexp.MustCompile(`^["']?([A-Za-z_][A-Za-z0-9_.-]*)["']?[ \t]*:(?:[ \t]|$)`)

// body returns the instructions.
func (p *parser) body(f front) string {
	body := strings.TrimSpace(f.body)
	if _, hidden := strip(body, turning, tags); hidden > 0 {
		p.warn(0, "", "the instructions hold %d invisible characters that can hide or reverse text: look at them before you trust them", hidden)
	}
	if len(body) > longBody {
		p.warn(0, "", "the instructions have %d KiB; unless limits.skill says otherwise, models read the first 64",
			len(body)>>10)
	}
	return body
}

// document reads the fields of the frontmatter.
func (p *parser) document(root *yaml.Node) Document {
	fields := p.fields(root)
	d := Document{
		Name:          p.line(fields, "name", 2*maxName),
		Description:   p.line(fields, "description", maxText),
		License:       p.line(fields, "license", maxText),
		Compatibility: p.line(fields, "compatibility", maxText),
		Version:       p.line(fields, "version", maxName),
		AllowedTools:  p.list(fields["allowed-tools"], splitTools),
		Hidden:        truth(fields["disable-model-invocation"]),
	}
	for _, key := range []string{"aliases", "triggers", "trigger", "keywords", "tags"} {
		d.Aliases = append(d.Aliases, p.list(fields[key], splitCommas)...)
	}
	d.Aliases = d.Aliases[:min(len(d.Aliases), maxList)]
	d.Name = p.name(d.Name, lineOf(fields, "name", root))
	p.metadata(&d, fields["metadata"])
	return d
}

// name returns the skill's name, by default the folder's.
func (p *parser) name(written string, line int) string {
	switch {
	case p.folder == "":
	case written == "":
		p.warn(line, "name", "there is no name; using the name of the folder, %s", p.folder)
		return p.folder
	case norm.NFKC.String(written) != norm.NFKC.String(p.folder):
		p.warn(line, "name", "the skill is named %s and its folder %s", written, p.folder)
	}
	return written
}

// lineOf returns the line of a field, or the first line of the frontmatter.
func lineOf(fields map[string]*yaml.Node, field string, root *yaml.Node) int {
	return cmp.Or(fields[field], root).Line
}

// fields finds the fields by their names in any spelling. The last of duplicate keys
// counts.
func (p *parser) fields(root *yaml.Node) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	for key, value := range form.Pairs(root) {
		name := strings.ReplaceAll(strings.ToLower(key.Value), "_", "-")
		if found[name] != nil {
			p.doubt(key.Line, name, "%s occurs twice; the last one counts", name)
		} else if name != key.Value && slices.Contains(fields, name) {
			p.warn(key.Line, name, "the field is spelled %s, not %s", name, key.Value)
		}
		found[name] = value
	}
	return found
}

// line returns a field as one line of visible text.
func (p *parser) line(fields map[string]*yaml.Node, field string, limit int) string {
	n := fields[field]
	if n == nil {
		return ""
	}
	s := text(n)
	switch named := field == "name" || field == "description"; {
	case s == "":
	case named && n.Tag != "!!str":
		p.doubt(n.Line, field, "%s should be a text; put it in quotes", field)
	case n.Kind != yaml.ScalarNode:
		p.warn(n.Line, field, "%s should be a text", field)
	}
	s, hidden := strip(s, zeroWidth, turning, tags)
	if hidden > 0 {
		p.warn(n.Line, field, "%s held %d invisible characters, which were removed", field, hidden)
	}
	s = oneLine(s)
	if r := []rune(s); len(r) > limit {
		p.warn(n.Line, field, "%s has %d characters and was cut after %d", field, len(r), limit)
		s = string(r[:limit])
	}
	if length := utf8.RuneCountInString(s); limits[field] > 0 && length > limits[field] {
		p.warn(n.Line, field, "%s has %d characters, the standard allows %d", field, length, limits[field])
	}
	return s
}

// oneLine returns a text without line breaks and control characters, which quoted
// YAML can hold.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }),
		" ")
}

// text returns a node as text: a scalar as it is written, a list as its items.
func text(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return ""
		}
		return n.Value
	case yaml.SequenceNode:
		var items []string
		for _, item := range n.Content {
			if item.Kind == yaml.ScalarNode {
				items = append(items, item.Value)
			}
		}
		return strings.Join(items, " ")
	}
	return ""
}

// list reads a list of texts, or a text that holds a list.
func (p *parser) list(n *yaml.Node, split func(string) []string) (items []string) {
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			items = append(items, text(item))
		}
	default:
		items = split(text(n))
	}
	for i, item := range items {
		items[i], _ = strip(oneLine(item), zeroWidth, turning, tags)
	}
	items = slices.DeleteFunc(items, func(s string) bool { return s == "" || len(s) > maxItem })
	if len(items) > maxList {
		p.warn(n.Line, "", "a list of %d items was cut after %d", len(items), maxList)
		items = items[:maxList]
	}
	return items
}

func splitCommas(s string) []string { return strings.Split(s, ",") }

// truth reports whether a field is true.
func truth(n *yaml.Node) bool {
	return n != nil && slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(n.Value))
}
