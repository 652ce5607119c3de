package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
)

// SwitchTool returns the text of a configuration with a tool, or "group:" and a group, added to
// tools.disabled, or taken out of it. Everything else stays as it is, comments too; a text that
// cannot be changed like that is an error.
func SwitchTool(file string, text []byte, environ []string, name string, on bool) ([]byte, error) {
	before, err := Parse(file, text, environ)
	if err != nil {
		return nil, err
	}
	if on != slices.Contains(before.Tools.Disabled, name) {
		return text, nil
	}
	root, err := newReader(file, nil).parse(text)
	if err != nil {
		return nil, err
	}
	e := newEdit(string(text))
	want := append(slices.Clone(before.Tools.Disabled), name)
	if list := form.Get(form.Get(root, "tools"), "disabled"); on {
		want = slices.DeleteFunc(want, func(n string) bool { return n == name })
		e.take(root, list, name)
	} else {
		e.add(root, list, name)
	}
	after, err := Parse(file, []byte(e.text), environ)
	if err == nil {
		slices.Sort(want)
		got := slices.Sorted(slices.Values(after.Tools.Disabled))
		var keys []string
		differs("", reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem(), &keys)
		if slices.Equal(got, want) && slices.Equal(keys, []string{"tools.disabled"}) {
			return []byte(e.text), nil
		}
	}
	return nil, fmt.Errorf("%s: %w", file, ErrByHand)
}

// ErrByHand says that a list is written in a way that SwitchTool does not change.
var ErrByHand = errors.New("tools.disabled is written in a way that only you can change; edit the file")

// edit is a text that changes at places of its nodes.
type edit struct {
	text string
	eol  string
}

func newEdit(text string) *edit {
	e := &edit{text, "\n"}
	if strings.Contains(text, "\r\n") {
		e.eol = "\r\n"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		e.text += e.eol
	}
	return e
}

// line returns where a line begins, counted from 1; beyond the last one, the end of the text.
func (e *edit) line(n int) int {
	at := 0
	for range n - 1 {
		next := strings.IndexByte(e.text[at:], '\n')
		if next < 0 {
			return len(e.text)
		}
		at += next + 1
	}
	return at
}

// at returns where a node begins.
func (e *edit) at(n *yaml.Node) int {
	at, column := e.line(n.Line), 0
	for i := range e.text[at:] {
		if column++; column == n.Column {
			return at + i
		}
	}
	return len(e.text)
}

func (e *edit) insert(at int, text string) { e.text = e.text[:at] + text + e.text[at:] }

// below inserts a line with so many spaces before it below the one of a node.
func (e *edit) below(n *yaml.Node, spaces int, text string) {
	e.insert(e.line(n.Line+1), strings.Repeat(" ", spaces)+text+e.eol)
}

// first inserts a text as the first thing in a list or mapping with brackets.
func (e *edit) first(n *yaml.Node, text string) {
	if len(n.Content) > 0 {
		text += ", "
	}
	e.insert(e.at(n)+1, text)
}

// plain are the names that stand in YAML without quotes.
var plain = regexp.MustCompile(`^[A-Za-z_][\w:.-]*$`)

// add adds a name to the list, which is nil where there is none.
func (e *edit) add(root, list *yaml.Node, name string) {
	if !plain.MatchString(name) {
		name = strconv.Quote(name)
	}
	tools := form.Get(root, "tools")
	whole := "disabled: [" + name + "]"
	flow := func(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }
	switch {
	case list != nil && list.Kind == yaml.SequenceNode && flow(list):
		e.first(list, name)
	case list != nil && list.Kind == yaml.SequenceNode:
		e.below(keyOf(tools, "disabled"), list.Column-1, "- "+name)
	case list != nil:
		e.below(keyOf(tools, "disabled"), keyOf(tools, "disabled").Column+1, "- "+name)
	case tools != nil && tools.Kind == yaml.MappingNode && flow(tools):
		e.first(tools, whole)
	case tools != nil && tools.Kind == yaml.MappingNode:
		e.below(keyOf(root, "tools"), tools.Content[0].Column-1, whole)
	case tools != nil:
		e.below(keyOf(root, "tools"), 2, whole)
	case flow(root):
		e.first(root, "tools: {"+whole+"}")
	default:
		e.insert(len(e.text), "tools:"+e.eol+"  "+whole+e.eol)
	}
}

// take takes a name out of the list: with its line, or with the comma beside it.
func (e *edit) take(root, list *yaml.Node, name string) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	left := len(list.Content)
	for i, item := range slices.Backward(list.Content) {
		if item.Value != name || item.Kind != yaml.ScalarNode {
			continue
		}
		left--
		if list.Style&yaml.FlowStyle == 0 {
			from := e.line(item.Line)
			e.text = e.text[:from] + e.text[e.line(item.Line+1):]
			continue
		}
		from := e.at(item)
		long := len(item.Value)
		if item.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			long += 2
		}
		to := min(from+long, len(e.text))
		if rest := strings.TrimLeft(e.text[to:], " \t"); i < len(list.Content)-1 && strings.HasPrefix(rest, ",") {
			e.text = e.text[:from] + strings.TrimLeft(rest[1:], " \t")
		} else {
			e.text = strings.TrimRight(strings.TrimRight(e.text[:from], " \t\r\n"), ",") + e.text[to:]
		}
	}
	if key := keyOf(form.Get(root, "tools"), "disabled"); left == 0 && list.Style&yaml.FlowStyle == 0 {
		e.insert(e.at(key)+len("disabled:"), " []")
	}
}

// keyOf returns the node of a key in a mapping.
func keyOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i]
		}
	}
	return n
}
