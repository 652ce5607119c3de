package skill

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/tool"
)

// checkURL says what is wrong with the form of an endpoint. Its address is judged
// when it is called. The message does not repeat the text, which may hold a
// password.
func checkURL(s string) string {
	u, err := egress.ParseURL(s)
	switch {
	case strings.ContainsFunc(s, notInURL):
		return "holds a blank, a control character, a backslash or a character that is not ASCII"
	case err != nil:
		return "cannot be used: " + err.Error()
	case u.Fragment != "" || strings.HasSuffix(s, "#"):
		return "holds a fragment (#), which is never sent"
	}
	return ""
}

func notInURL(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }

var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// ofConnection are headers that belong to the connection, not to a skill's request.
var ofConnection = map[string]bool{
	"host": true, "connection": true, "keep-alive": true, "proxy-connection": true, "proxy-authenticate": true,
	"proxy-authorization": true,
	"te":                  true, "trailer": true, "transfer-encoding": true, "upgrade": true, "content-length": true,
	"content-encoding": true, "expect": true, "http2-settings": true,
}

// CheckHeaderName says why a skill cannot set a header, in words that follow its name; empty
// means that it can.
func CheckHeaderName(s string) string {
	switch {
	case !token.MatchString(s):
		return "is not the name of a header"
	case ofConnection[strings.ToLower(s)]:
		return "is a header of the connection, which only etui sets"
	}
	return ""
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkVariableName(s string) string {
	if !variableName.MatchString(s) || len(s) > 128 {
		return "is not the name of an environment variable"
	}
	return ""
}

// schema reads the parameters: a JSON Schema without references to anything
// outside it.
func (r *reader) schema(n *yaml.Node, key string) ParameterSchema {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, key, "%s must be a JSON Schema of type object, not %s", key, form.KindOf(n))
		return nil
	}
	if len(n.Content) == 0 {
		return nil // {} means no arguments
	}
	before := len(r.Problems)
	var b bytes.Buffer
	r.json(&b, n, key)
	if len(r.Problems) > before {
		return nil
	}
	definition := tool.Definition{Name: "x", Parameters: b.Bytes()}
	if err := definition.Check(); err != nil {
		r.Fail(n, key, "%s must be a JSON Schema of type object", key)
		return nil
	}
	if _, err := tool.CompileSchema(b.Bytes()); err != nil {
		r.Fail(n, key, "%s: %s", key, printable.OneLine(err.Error()))
	}
	return b.Bytes()
}

// json writes a node as JSON, in the order of the file.
func (r *reader) json(b *bytes.Buffer, n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		separator := ""
		for key, value := range form.Pairs(n) {
			b.WriteString(separator)
			separator = ","
			text(b, key.Value)
			b.WriteByte(':')
			inner := path + "." + form.Short(key.Value)
			if refers[key.Value] && value.Kind == yaml.ScalarNode && !strings.HasPrefix(value.Value, "#") {
				r.Fail(value, inner, "%s refers to something outside the schema; a reference begins with #", inner)
			}
			r.json(b, value, inner)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			r.json(b, item, fmt.Sprintf("%s[%d]", path, i))
		}
		b.WriteByte(']')
	default:
		r.jsonScalar(b, n, path)
	}
}

var refers = map[string]bool{"$ref": true, "$dynamicRef": true, "$recursiveRef": true}

// number matches JSON numbers that are cheap to calculate with.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$`)

func (r *reader) jsonScalar(b *bytes.Buffer, n *yaml.Node, path string) {
	switch n.Tag {
	case "!!null":
		b.WriteString("null")
	case "!!bool":
		b.WriteString(strings.ToLower(n.Value))
	case "!!int", "!!float":
		if !number.MatchString(n.Value) {
			r.Fail(n, path, "%s is %s, which is not a JSON number; put it in quotes if it is text", path,
				form.Short(n.Value))
			return
		}
		b.WriteString(n.Value)
	default:
		text(b, n.Value)
	}
}

// text writes a JSON string.
func text(b *bytes.Buffer, s string) {
	raw, _ := plainjson.Encode(s) // a text always marshals
	b.Write(raw)
}
