package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kaptinlin/jsonrepair"
)

// maxArguments is how long a call's arguments may be, in bytes.
const maxArguments = 1 << 20

var (
	errTooLong   = errors.New("longer than 1 MiB")
	errNotJSON   = errors.New("not JSON")
	errCutOff    = errors.New("not JSON: they end in the middle of a text")
	errNotObject = errors.New("not a JSON object")
)

// repair returns a call's arguments as a JSON object. What a model wrote with
// slips that can be read in one way only (trailing commas, single quotes, a
// missing last brace, a code fence) is mended; text that was cut off is not,
// because nobody knows how it would have gone on.
func repair(args json.RawMessage) (json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}"), nil
	}
	if len(args) > maxArguments {
		return nil, errTooLong
	}
	// Some servers send the object as a JSON text.
	var text string
	if args[0] == '"' && json.Unmarshal(args, &text) == nil {
		args = bytes.TrimSpace([]byte(text))
	}
	if !json.Valid(args) {
		if cutOff(args) {
			return nil, errCutOff
		}
		mended, err := jsonrepair.Repair(string(args))
		if err != nil || !json.Valid([]byte(mended)) {
			return nil, errNotJSON
		}
		args = bytes.TrimSpace([]byte(mended))
	}
	if args[0] != '{' {
		return nil, errNotObject
	}
	if name, ok := twice(args); ok {
		return nil, fmt.Errorf("not clear: %q stands twice in one object", name)
	}
	return args, nil
}

// twice finds a name that an object has twice. Readers of JSON differ in which value
// they take: what was judged may not be what a tool reads.
func twice(args json.RawMessage) (name string, found bool) {
	type object struct {
		names map[string]bool // nil in a list
		value bool            // a value comes next, and no name
	}
	var open []object
	d := json.NewDecoder(bytes.NewReader(args))
	for {
		token, err := d.Token()
		if err != nil {
			return "", false // the end: it is valid JSON
		}
		var in *object
		if len(open) > 0 {
			in = &open[len(open)-1]
		}
		text, isText := token.(string)
		switch {
		case token == json.Delim('}') || token == json.Delim(']'):
			open = open[:len(open)-1]
			continue
		case in != nil && in.names != nil && !in.value && isText:
			if in.names[text] {
				return text, true
			}
			in.names[text], in.value = true, true
			continue
		case in != nil:
			in.value = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		}
	}
}

// cutOff reports whether JSON ends inside a text in double quotes, or after a
// number, word or colon that could have gone on.
func cutOff(args []byte) bool {
	inside := false
	for i := 0; i < len(args); i++ {
		switch {
		case inside && args[i] == '\\':
			i++
		case args[i] == '"':
			inside = !inside
		}
	}
	if inside {
		return true
	}
	last := bytes.TrimRight(args, " \t\r\n`")
	if len(last) == 0 {
		return false
	}
	c := last[len(last)-1]
	return c != '}' && c != ']' && c != '"' && c != '\'' && c != ',' && c != ';'
}

// valid returns arguments that can stand in a conversation: as they are when
// they are JSON, mended when they can be, else as a JSON text of what was
// written, so that the model sees its own slip.
func valid(args json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(args)) == 0 {
		return json.RawMessage("{}")
	}
	if json.Valid(args) {
		return args
	}
	if mended, err := repair(args); err == nil {
		return mended
	}
	text, _ := json.Marshal(string(args)) // a string always marshals
	return text
}

// target reads the arguments of call_tool. Where "arguments" is missing or
// empty, those of the tool may stand beside its name.
func target(args json.RawMessage) (name string, inner json.RawMessage, err error) {
	raw, err := repair(args)
	if err != nil {
		return "", nil, errors.New(`the arguments are ` + err.Error() + `; call_tool needs {"name": "…", "arguments": {…}}`)
	}
	var call map[string]json.RawMessage
	if err := json.Unmarshal(raw, &call); err != nil {
		return "", nil, err
	}
	if json.Unmarshal(call["name"], &name) != nil || name == "" {
		return "", nil, errors.New(`call_tool needs {"name": "…", "arguments": {…}}`)
	}
	inner = call["arguments"]
	delete(call, "name")
	delete(call, "arguments")
	if len(call) == 0 || !slices.Contains([]string{"", "{}", "null", `""`}, strings.Join(strings.Fields(string(inner)), "")) {
		return name, inner, nil
	}
	inner, err = json.Marshal(call)
	return name, inner, err
}
