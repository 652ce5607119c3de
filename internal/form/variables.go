package form

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// maxNested is how deep the defaults of variables may lie in each other.
const maxNested = 8

// variableName matches what stands behind ${ in a reference to a variable.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)

// Expand replaces references to variables in a text: ${NAME} by the variable's value, and
// ${NAME:-default} by the default if lookup gives an empty value without an error. The default may be
// empty and may hold references; a value is not expanded again. $${ stands for ${. Anything else that
// begins with ${ is an error, and so is a variable without a value and a default: no text leaves as
// it was written by mistake.
func Expand(text string, lookup func(name string) (string, error)) (string, error) {
	expanded, _, err := expand(text, lookup, 0)
	return expanded, err
}

var errUnclosed = errors.New("a } is missing")

// expand expands a text, or a default of that depth and returns what is behind its }.
func expand(text string, lookup func(name string) (string, error), depth int) (expanded, rest string, err error) {
	var out strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if end := strings.IndexByte(text, '}'); depth > 0 && end >= 0 && (i < 0 || end < i) {
			out.WriteString(text[:end])
			return out.String(), text[end+1:], nil
		}
		if i < 0 && depth > 0 {
			return "", "", errUnclosed
		}
		if i < 0 {
			out.WriteString(text)
			return out.String(), "", nil
		}
		out.WriteString(text[:i])
		text = text[i:]
		switch {
		case strings.HasPrefix(text, "$${"):
			out.WriteString("${")
			text = text[3:]
		case strings.HasPrefix(text, "${"):
			var value string
			if value, text, err = reference(text, lookup, depth); err != nil {
				return "", "", err
			}
			out.WriteString(value)
		default:
			out.WriteByte('$')
			text = text[1:]
		}
	}
}

// reference returns the value of the reference at the beginning of a text, and what is behind it.
func reference(text string, lookup func(name string) (string, error), depth int) (value, rest string, err error) {
	bad := fmt.Errorf("%q is no reference to a variable; write ${NAME} or ${NAME:-default}, and $${ for ${",
		Short(text))
	name := variableName.FindString(text[2:])
	rest = text[2+len(name):]
	if name == "" || depth >= maxNested {
		return "", "", bad
	}
	if strings.HasPrefix(rest, "}") {
		if value, err = lookup(name); err == nil && value == "" {
			err = fmt.Errorf("the environment variable %s is not set", name)
		}
		return value, rest[1:], err
	}
	if !strings.HasPrefix(rest, ":-") {
		return "", "", bad
	}
	if value, err = lookup(name); err != nil {
		return "", "", err
	}
	if value != "" { // the default is read over; its variables need no values
		lookup = func(string) (string, error) { return "-", nil }
	}
	other, rest, err := expand(rest[2:], lookup, depth+1)
	if errors.Is(err, errUnclosed) {
		err = bad
	}
	if value == "" {
		value = other
	}
	return value, rest, err
}

var references = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*`)

// Variables returns the references to variables in a text, also those in defaults, each as ${NAME}.
func Variables(text string) []string {
	found := references.FindAllString(text, -1)
	for i := range found {
		found[i] += "}"
	}
	return found
}
