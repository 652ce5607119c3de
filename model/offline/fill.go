package offline

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/tool"
)

// parameter is a property of a tool's schema.
type parameter struct {
	name        string
	required    bool
	Type        json.RawMessage `json:"type"`
	Format      string          `json:"format"`
	Description string          `json:"description"`
	Enum        []any           `json:"enum"`
	Items       *parameter      `json:"items"`
}

// is reports whether the parameter takes values of a type; a parameter without a type
// takes strings.
func (p *parameter) is(kind string) bool {
	if len(p.Type) == 0 {
		return kind == "string"
	}
	return strings.Contains(string(p.Type), `"`+kind+`"`)
}

// called reports whether the name of a parameter is one of words, or ends in one.
func (p *parameter) called(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return p.name == w || strings.HasSuffix(p.name, "_"+w) })
}

// isID reports whether the parameter takes the ID of something.
func (p *parameter) isID() bool {
	return p.name == "id" || strings.HasSuffix(p.name, "_id") || strings.HasSuffix(p.name, "_number")
}

// parameters reads a schema's properties: required ones first, then by name.
func parameters(d tool.Definition) []parameter {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(d.Parameters, &schema) != nil {
		return nil
	}
	var list []parameter
	for name, raw := range schema.Properties {
		p := parameter{name: name, required: slices.Contains(schema.Required, name)}
		// An unexpected kind of property is treated as a string.
		_ = json.Unmarshal(raw, &p)
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b parameter) int {
		// The beginning of a span also comes first in the message.
		return cmp.Or(first(a.required, b.required), first(begins(a.name), begins(b.name)),
			strings.Compare(a.name, b.name))
	})
	return list
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// begins reports whether a parameter is the beginning of a time span or a route.
func begins(name string) bool {
	return slices.ContainsFunc([]string{"start", "from", "begin", "origin", "check_in", "departure"},
		func(p string) bool { return strings.HasPrefix(name, p) })
}

// fill finds a tool's arguments in a message. Missing are the required parameters that
// the message does not mention.
func fill(d tool.Definition, text string, now time.Time) (args map[string]any, missing []parameter) {
	params := parameters(d)
	m := read(text, params, now)
	args = map[string]any{}
	// Apply strong evidence to every parameter before weak evidence to any, because a
	// value belongs to one parameter only.
	for _, find := range []func(*message, *parameter) (any, bool){explicit, phrased, oneOf, formatted, beside, listed,
		counted, named, free} {
		for i := range params {
			p := &params[i]
			if _, have := args[p.name]; have {
				continue
			}
			if value, ok := find(m, p); ok {
				args[p.name] = value
			}
		}
	}
	schema, err := tool.CompileSchema(d.Schema())
	for _, p := range slices.Backward(params) {
		if err != nil {
			break // the call itself will fail with a reason
		}
		if p.required {
			continue
		}
		same := func(other parameter) bool {
			return other.required &&
				reflect.DeepEqual(args[other.name], args[p.name])
		}
		if slices.ContainsFunc(params, same) { // a value belongs to one parameter only
			delete(args, p.name)
		}
		if _, have := args[p.name]; have && !fits(schema, args) {
			value := args[p.name]
			delete(args, p.name)
			if !fits(schema, args) && !breaks(schema, args, p.name, value) {
				args[p.name] = value
			}
		}
	}
	for _, p := range params {
		if _, have := args[p.name]; p.required && !have {
			missing = append(missing, p)
		}
	}
	return args, missing
}

func fits(schema *tool.Schema, args map[string]any) bool { return problems(schema, args) == 0 }

// breaks reports whether one argument itself is invalid: there are more problems with
// it than without it.
func breaks(schema *tool.Schema, rest map[string]any, name string, value any) bool {
	with := maps.Clone(rest)
	with[name] = value
	return problems(schema, with) > problems(schema, rest)
}

func problems(schema *tool.Schema, args map[string]any) int {
	raw, err := json.Marshal(args)
	if err != nil {
		return 1
	}
	var mismatch *tool.Mismatch
	switch err := schema.Validate(raw); {
	case err == nil:
		return 0
	case errors.As(err, &mismatch):
		return len(mismatch.Problems)
	}
	return 1
}

// convert turns text into a value of the parameter's type.
func (m *message) convert(p *parameter, text string) (any, bool) {
	text = strings.Trim(text, " ,.;!?，。；！？")
	switch {
	case text == "":
		return nil, false
	case len(p.Enum) > 0:
		i := slices.IndexFunc(p.Enum, func(v any) bool { s, ok := v.(string); return ok && strings.EqualFold(s, text) })
		if i < 0 {
			return nil, false
		}
		return p.Enum[i], true
	case p.is("string") && p.isID() && !strings.ContainsAny(text, "0123456789"):
		return nil, false // IDs contain a digit
	case p.is("string"):
		return text, true
	case p.is("integer"):
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		return n, err == nil
	case p.is("number"):
		n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimLeft(text, "$€£¥￥"), ",", ""), 64)
		return n, err == nil
	case p.is("boolean"):
		switch strings.ToLower(text) {
		case "true", "yes", "on", "是":
			return true, true
		case "false", "no", "off", "否":
			return false, true
		}
	case p.is("array") && p.Items != nil:
		var list []any
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '，' || r == '、' }) {
			if v, ok := m.convert(p.Items, part); ok {
				list = append(list, v)
			}
		}
		return list, len(list) > 0
	}
	return nil, false
}
