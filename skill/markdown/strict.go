package markdown

import (
	"cmp"
	"fmt"
	"path"
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

// maxName is how many code points a name has by the standard.
const maxName = 64

// limits are how many code points the standard allows in a field.
var limits = map[string]int{"name": maxName, "description": 1024, "compatibility": 500}

// fields are the keys of the standard.
var fields = []string{"allowed-tools", "compatibility", "description", "license", "metadata", "name"}

// Validate checks a file against the Agent Skills standard, as strictly as the
// standard's reference validator. dirName is the name of the skill's folder, fileName
// the name of the file as found. A skill without problems is valid everywhere.
// Validate is a pure function.
func Validate(dirName, fileName string, text []byte) []skill.Problem {
	if fileName != "SKILL.md" && fileName != "skill.md" {
		return []skill.Problem{{Message: fmt.Sprintf("the file is named %s; it must be SKILL.md", fileName)}}
	}
	front, problem := strictFront(text)
	if problem != nil {
		return []skill.Problem{*problem}
	}
	root, problem := strictYAML(front)
	if problem != nil {
		return []skill.Problem{*problem}
	}
	return checkFields(root, path.Base(dirName))
}

// strictFront returns the text between the first two "---". The reference validator
// does not require them to be on lines of their own.
func strictFront(text []byte) (string, *skill.Problem) {
	if len(text) > maxFile {
		return "", &skill.Problem{Message: tooLong}
	}
	if !utf8.Valid(text) {
		return "", &skill.Problem{Line: form.InvalidLine(text), Message: "the file is not UTF-8"}
	}
	s := lineBreaks(string(text))
	rest, ok := strings.CutPrefix(s, fence)
	switch {
	case strings.HasPrefix(s, bom):
		return "", &skill.Problem{Line: 1, Message: "the file begins with a byte order mark; it must begin with ---"}
	case !ok:
		return "", &skill.Problem{Line: 1, Message: "the file must begin with YAML frontmatter, after a line of ---"}
	}
	front, _, ok := strings.Cut(rest, fence)
	if !ok {
		return "", &skill.Problem{Line: 1, Message: "the frontmatter is not closed by a line of ---"}
	}
	return front, nil
}

// strictYAML parses the part of YAML that the reference validator allows: block
// mappings, block lists and texts, without types, anchors or aliases.
func strictYAML(front string) (*yaml.Node, *skill.Problem) {
	root, bad := form.Parse(separators.Replace(front), maxDepth)
	switch {
	case bad != nil && bad.Second:
		return nil, &skill.Problem{Line: bad.Line, Message: manyDocuments}
	case bad != nil && bad.TooDeep:
		return nil, &skill.Problem{Line: max(bad.Line, 1),
			Message: fmt.Sprintf("the frontmatter is nested more than %d levels deep", maxDepth)}
	case bad != nil:
		return nil, &skill.Problem{Line: bad.Line, Message: "the frontmatter is not valid YAML: " + bad.Message}
	case root == nil:
		return nil, &skill.Problem{Line: 1, Message: "the frontmatter is empty; it needs name and description"}
	}
	if endsAtOnce.MatchString(front) {
		return nil, &skill.Problem{Line: 1, Message: manyDocuments}
	}
	if p := stray(front, root); p != nil {
		return nil, p
	}
	if p := disallowed(root); p != nil {
		return nil, p
	}
	if root.Kind != yaml.MappingNode {
		return nil, &skill.Problem{Line: root.Line, Message: "the frontmatter must be a mapping of keys to values"}
	}
	return root, nil
}

// endsAtOnce matches a line of ... before anything else.
var endsAtOnce = regexp.MustCompile(`^(\s|#.*\n)*(^|\n)\.\.\.(\s|$)`)

const manyDocuments = "the frontmatter must be one YAML document, without a line of ..."

// disallowed finds YAML that the standard does not allow.
func disallowed(n *yaml.Node) *skill.Problem {
	fail := func(message string) *skill.Problem { return &skill.Problem{Line: n.Line, Message: message} }
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "":
		return fail("anchors (&) and aliases (*) are not allowed; put the text in quotes if it is one")
	case n.Style&yaml.TaggedStyle != 0:
		return fail("types (!) are not allowed; put the text in quotes if it is one")
	case n.Style&yaml.FlowStyle != 0:
		return fail("braces and brackets are not allowed; write a line for each item, or put the text in quotes")
	}
	if n.Kind == yaml.MappingNode {
		if p := disallowedKeys(n); p != nil {
			return p
		}
	}
	for _, c := range n.Content {
		if p := disallowed(c); p != nil {
			return p
		}
	}
	return nil
}

// disallowedKeys finds duplicate keys and neighboring mappings with different
// indentation.
func disallowedKeys(n *yaml.Node) *skill.Problem {
	seen := map[string]bool{}
	column := 0
	for key, value := range form.Pairs(n) {
		if key.Kind == yaml.ScalarNode && seen[key.Value] {
			return &skill.Problem{Line: key.Line, Field: key.Value, Message: fmt.Sprintf("duplicate key %q", key.Value)}
		}
		if key.Kind == yaml.MappingNode {
			return &skill.Problem{Line: key.Line, Message: "a key must be a text"}
		}
		if key.Value == "<<" && key.Style == 0 && value.Kind == yaml.ScalarNode {
			return &skill.Problem{Line: key.Line, Field: key.Value,
				Message: "<< merges mappings, and this is not a mapping"}
		}
		seen[key.Value] = true
		if value.Kind != yaml.MappingNode {
			continue
		}
		if column != 0 && value.Column != column {
			return &skill.Problem{Line: value.Line, Field: key.Value,
				Message: fmt.Sprintf("the mapping below %q is indented differently from the one before it", key.Value)}
		}
		column = value.Column
	}
	return nil
}

// checkFields checks the fields against the standard.
func checkFields(root *yaml.Node, dir string) (problems []skill.Problem) {
	at := map[string]*yaml.Node{}
	for key, value := range form.Pairs(root) {
		at[key.Value] = value
		if !slices.Contains(fields, key.Value) {
			problems = append(problems, skill.Problem{Line: key.Line, Field: key.Value,
				Message: fmt.Sprintf("the standard has no field %q; put it under metadata", key.Value)})
		}
	}
	for _, field := range []string{"name", "description", "compatibility"} {
		n, required, what := at[field], field != "compatibility", "a text that is not empty"
		if !required {
			what = "a text"
		}
		fail := func(n *yaml.Node, format string, args ...any) {
			problems = append(problems, skill.Problem{Line: n.Line, Field: field,
				Message: fmt.Sprintf(format, args...)})
		}
		switch {
		case n == nil && required:
			fail(root, "the required field %q is missing", field)
		case n == nil:
		case n.Kind != yaml.ScalarNode || required && strings.TrimSpace(n.Value) == "":
			fail(n, "%s must be %s", field, what)
		case field == "name":
			problems = append(problems, checkName(n, dir)...)
		default:
			if length := utf8.RuneCountInString(n.Value); length > limits[field] {
				fail(n, "%s has %d characters, at most %d are allowed", field, length, limits[field])
			}
		}
	}
	slices.SortStableFunc(problems, func(a, b skill.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return problems
}

// checkName checks a name against the standard's rules.
func checkName(n *yaml.Node, dir string) (problems []skill.Problem) {
	name := norm.NFKC.String(strings.TrimSpace(n.Value))
	fail := func(format string, args ...any) {
		problems = append(problems, skill.Problem{Line: n.Line, Field: "name", Message: fmt.Sprintf(format, args...)})
	}
	if length := utf8.RuneCountInString(name); length > maxName {
		fail("name has %d characters, at most %d are allowed", length, maxName)
	}
	if name != strings.ToLower(name) {
		fail("name %q must be lower case", name)
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") {
		fail("name %q must not begin or end with a hyphen", name)
	}
	if strings.Contains(name, "--") {
		fail("name %q must not have two hyphens in a row", name)
	}
	if i := strings.IndexFunc(name,
		func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }); i >= 0 {
		fail("name %q has a character that is not a letter, digit or hyphen", name)
	}
	if norm.NFKC.String(dir) != name {
		fail("name %q differs from the name of the folder, %q", name, dir)
	}
	return problems
}
