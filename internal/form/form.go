// Package form reads forms: YAML files in which every key is known.
//
// [Parse] turns a text into nodes. [Reader.Resolve] bounds them and replaces
// aliases, and [Reader.Decode] fills a struct by the tags of its fields. A Reader
// does not stop at the first mistake: it collects a [Problem] for everything that
// is wrong, with file, line and column.
//
// The tags of a field are: yaml, its key ("-" for a field that is none); required;
// enum, the values that it may have; min and max of an integer, and max of another
// number, by default 1; negative, for a
// number that may be below zero; default and help, for [Reader.SetDefaults] and
// [Schema].
package form

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Problem is one thing that is wrong with a form.
type Problem struct {
	// File, Line and Column say where. Line and Column are 0 when it is the whole
	// file, and Column alone when it is a line.
	File         string
	Line, Column int
	// Field is the key, as in "headers.Accept"; empty when it is none in particular.
	Field string
	// Message says what is wrong and what would be right.
	Message string
}

// Error returns the message after the position. Without a file it is the message
// alone.
func (p Problem) Error() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// SyntaxError says where a text stops being one YAML document.
type SyntaxError struct {
	Line, Column int
	Message      string
	TooDeep      bool // mappings and lists are nested too deeply
	Second       bool // a second document begins
}

func (e *SyntaxError) Error() string { return e.Message }

// Parse returns the content of a text's first document, or nil if it has none.
// Mappings and lists may be nested so many levels deep. With a content, the error is
// about what follows the document.
func Parse(text string, depth int) (*yaml.Node, *SyntaxError) {
	deep := false
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(loaderlimits.New(
		loaderlimits.AliasNone(), // Reader.Resolve bounds aliases
		loaderlimits.DepthFunc(func(at int, _ *yaml.DepthContext) error {
			if deep = at > depth; deep {
				return fmt.Errorf("it is nested deeper than %d levels", depth)
			}
			return nil
		}))))
	var doc, next yaml.Node
	if err == nil {
		err = loader.Load(&doc)
	}
	if err != nil || len(doc.Content) == 0 {
		return nil, syntax(text, err, deep)
	}
	if err = loader.Load(&next); err == nil {
		return doc.Content[0], &SyntaxError{Line: next.Line, Column: next.Column,
			Message: "a second document begins here", Second: true}
	}
	return doc.Content[0], syntax(text, err, deep)
}

// syntax takes an error of the YAML package about a text apart. The end of the text is none.
func syntax(text string, err error, deep bool) *SyntaxError {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	e := &SyntaxError{Message: err.Error(), TooDeep: deep}
	var at *yaml.LoadError
	if errors.As(err, &at) {
		mark := at.Mark
		if mark.Line == 0 {
			mark = at.ContextMark
		}
		e.Line, e.Column, e.Message = mark.Line, mark.Column, advise(at.Message, text, mark)
	}
	return e
}

// bare finds a reference to a variable that is not in quotes: its brace begins a mapping there.
var bare = regexp.MustCompile(`[:,\[] *\$\{`)

func lineOf(text string, n int) string {
	if lines := strings.Split(text, "\n"); n >= 1 && n <= len(lines) {
		return lines[n-1]
	}
	return ""
}

// advise says what to do about a usual mistake.
func advise(message, text string, at yaml.Mark) string {
	switch {
	case strings.Contains(message, "found a tab character"):
		return "a tab cannot indent a line; use spaces"
	case strings.Contains(message, "cannot start any token"):
		if line := []rune(lineOf(text, at.Line)); at.Column >= 1 && at.Column <= len(line) {
			if c := line[at.Column-1]; c != '\t' {
				return fmt.Sprintf("a text that begins with %q must be in quotes", c)
			}
			return "a tab cannot indent a line; use spaces"
		}
	case strings.Contains(message, "mapping values are not allowed"):
		return message + `; put a text with ": " into quotes, or check the indentation`
	case strings.HasPrefix(message, "did not find expected ','") && bare.MatchString(lineOf(text, at.Line)):
		return message + `; between { and }, or [ and ], put ${NAME} into quotes: "${NAME}"`
	case strings.HasPrefix(message, "did not find expected '-'"),
		strings.HasPrefix(message, "did not find expected key"):
		return message + "; check the indentation"
	}
	return message
}

// InvalidLine returns the first line of a text that is not UTF-8.
func InvalidLine(text []byte) int {
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		text = text[size:]
	}
	return line
}

// Pairs yields the keys and values of a mapping, and nothing of anything else.
func Pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// Get returns the value of a key, or nil.
func Get(n *yaml.Node, name string) *yaml.Node {
	for key, value := range Pairs(n) {
		if key.Value == name {
			return value
		}
	}
	return nil
}

// KindOf says whether a node is a mapping, a list or a single value, without
// showing it.
func KindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

// Short cuts a text for a message.
func Short(s string) string {
	if utf8.RuneCountInString(s) <= 40 {
		return s
	}
	return string([]rune(s)[:40]) + "…"
}

// Fields yields the fields of a struct that are keys of the form.
func Fields(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			if key := f.Tag.Get("yaml"); key != "-" && !yield(key, f) {
				return
			}
		}
	}
}

// also returns the other names of a key, which files of other programs use: its tag also.
func also(f reflect.StructField) []string {
	return strings.FieldsFunc(f.Tag.Get("also"), func(r rune) bool { return r == ',' })
}
