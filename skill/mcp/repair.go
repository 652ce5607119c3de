package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/jsonsize"
	"github.com/etui-run/etui/internal/printable"
)

// The SDK reads an answer as a whole, and one wrong value in it would cost all tools of a
// server, or a whole result. What follows takes such values out before the SDK sees them.

// maxAnswerDepth is how deep a tool's definition may be; the SDK refuses deeper answers.
const maxAnswerDepth = 256

// brokenMeta is the key in _meta of a tool that stands for a definition that cannot be
// read, with the reason.
const brokenMeta = "run.etui/broken"

// repairedMeta is the key in _meta for the names of the parts that cannot be read.
const repairedMeta = "run.etui/repaired"

// repair replaces the parts of a message that cannot be read: a tool of a list by one without the
// parts that cannot be read, or one that [inspect] refuses, a part of a result by a text that says what it was. Other messages
// stay as they are, byte for byte.
func repair(message []byte) []byte {
	message = bytes.TrimSpace(message)
	if jsonsize.Values(message) > maxValues {
		return refusal(message)
	}
	if bytes.HasPrefix(message, []byte("[")) {
		var batch []json.RawMessage
		if json.Unmarshal(message, &batch) != nil {
			return message
		}
		return repairEach(message, batch, func(m json.RawMessage) (json.RawMessage, bool) {
			now := repair(m)
			return now, !bytes.Equal(now, bytes.TrimSpace(m))
		})
	}
	var fields, result map[string]json.RawMessage
	if json.Unmarshal(message, &fields) != nil || fields["result"] == nil || json.Unmarshal(fields["result"], &result) != nil {
		return message
	}
	changed := false
	for key, readable := range map[string]func(json.RawMessage) (json.RawMessage, bool){"tools": repairTool, "content": repairContent} {
		var list []json.RawMessage
		if result[key] == nil || json.Unmarshal(result[key], &list) != nil {
			continue
		}
		if len(list) > maxParts {
			return refusal(message)
		}
		now := repairEach(result[key], list, readable)
		changed = changed || !bytes.Equal(now, result[key])
		result[key] = now
	}
	if result["content"] != nil {
		if err := json.Unmarshal(encoded(result), new(sdk.CallToolResult)); err != nil {
			result = map[string]json.RawMessage{"isError": json.RawMessage("true"), "content": encoded([]any{textPart("the server's result cannot be read: %s", err)})}
			changed = true
		}
	}
	if !changed {
		return message
	}
	fields["result"] = encoded(result)
	return encoded(fields)
}

// maxValues bounds the values of a message: once it is read, each takes many times its bytes.
// maxParts bounds the parts of a result, and the tools of a list, each of which is read by itself.
const (
	maxValues = 500_000
	maxParts  = 10_000
)

// refusal is an error in the place of an answer that has too many values or parts.
func refusal(message []byte) []byte {
	asked := struct {
		ID json.RawMessage `json:"id"`
	}{}
	if json.Unmarshal(message, &asked) != nil || asked.ID == nil || jsonsize.Values(asked.ID) > 1 {
		asked.ID = json.RawMessage("null")
	}
	return encoded(map[string]any{"jsonrpc": "2.0", "id": asked.ID, "error": map[string]any{
		"code": jsonrpc.CodeInternalError, "message": fmt.Sprintf("the server's answer has more than %d values, or %d parts", maxValues, maxParts),
	}})
}

// repairEach replaces the members of a list that one cannot read. Without any, the list
// stays as it was.
func repairEach(before json.RawMessage, list []json.RawMessage, one func(json.RawMessage) (json.RawMessage, bool)) json.RawMessage {
	changed := false
	for i, raw := range list {
		if now, other := one(raw); other {
			list[i], changed = now, true
		}
	}
	if !changed {
		return before
	}
	return encoded(list)
}

// repairTool drops the parts of a tool's definition that cannot be read. Without a name it cannot be
// used at all.
func repairTool(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	err := json.Unmarshal(raw, new(*sdk.Tool))
	if err == nil && depth(raw) <= maxAnswerDepth {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		fields = map[string]json.RawMessage{}
	}
	var name string
	if failed := json.Unmarshal(fields["name"], &name); failed != nil {
		return encoded(map[string]any{
			"name": "", "inputSchema": map[string]any{"type": "object"}, "_meta": map[string]string{brokenMeta: unreadable(cmp.Or(err, failed))},
		}), true
	}
	kept, lost := map[string]any{"name": name}, []string{}
	for key, value := range fields {
		if key == "inputSchema" || key == "outputSchema" {
			var v any
			if json.Unmarshal(value, &v) == nil {
				kept[key] = shallow(v, maxAnswerDepth/2)
			}
			continue
		}
		one := encoded(map[string]any{"name": name, key: value})
		if json.Unmarshal(one, new(sdk.Tool)) == nil && depth(one) <= maxAnswerDepth {
			kept[key] = value
		} else {
			lost = append(lost, key)
		}
	}
	if slices.Sort(lost); len(lost) > 0 {
		kept["_meta"] = map[string]string{repairedMeta: strings.Join(lost, ", ")}
	}
	return encoded(kept), true
}

// shallow replaces what is deeper than some levels by an empty object.
func shallow(v any, levels int) any {
	switch v := v.(type) {
	case []any:
		if levels == 0 {
			return map[string]any{}
		}
		for i := range v {
			v[i] = shallow(v[i], levels-1)
		}
	case map[string]any:
		if levels == 0 {
			return map[string]any{}
		}
		for name := range v {
			v[name] = shallow(v[name], levels-1)
		}
	}
	return v
}

func repairContent(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	err := json.Unmarshal(encoded(map[string]any{"content": []json.RawMessage{raw}}), new(sdk.CallToolResult))
	if err == nil {
		return nil, false
	}
	var typed struct{ Type any }
	_ = json.Unmarshal(raw, &typed) // without a type it has none
	kind, _ := typed.Type.(string)
	return encoded(textPart("(a part of the type %q was left out: etui cannot read it: %s)", cut(printable.OneLine(kind), 80), err)), true
}

func textPart(format string, args ...any) map[string]string {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = unreadable(err)
		}
	}
	return map[string]string{"type": "text", "text": fmt.Sprintf(format, args...)}
}

// unreadable says why a value cannot be read, without the names of Go types.
func unreadable(err error) string {
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		return fmt.Sprintf("its %s is a %s", cut(printable.OneLine(strings.TrimPrefix(wrong.Field, "res.")), 80), wrong.Value)
	}
	return cut(printable.OneLine(err.Error()), 200)
}

// encoded returns a value that consists of JSON alone.
func encoded(v any) json.RawMessage {
	raw, _ := json.Marshal(v) //nolint:errchkjson // it was read as JSON before
	return raw
}

// depth returns how deep the objects and lists of a JSON text are.
func depth(raw []byte) (most int) {
	now, text, escaped := 0, false, false
	for _, b := range raw {
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = b == '\\', b != '"'
		case b == '"':
			text = true
		case b == '{' || b == '[':
			now++
			most = max(most, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return most
}

// repaired is the body of an answer whose messages were repaired: one, or the events of a
// stream.
type repaired struct {
	io.Closer
	r      *bufio.Reader
	stream bool
	left   []byte
	values int   // in the lines of the event so far
	err    error // after left
}

func (b *repaired) Read(p []byte) (int, error) {
	for len(b.left) == 0 && b.err == nil {
		b.fill()
	}
	if len(b.left) == 0 {
		return 0, b.err
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// fill reads the next line of a stream, or the whole body. A line of a stream has at most
// maxMessage bytes.
func (b *repaired) fill() {
	if !b.stream {
		b.left, b.err = io.ReadAll(b.r)
		if b.err == nil {
			b.left, b.err = repair(b.left), io.EOF
		}
		return
	}
	line, err := readLine(b.r)
	b.left, b.err = line, err
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		if message := bytes.TrimSpace(data); bytes.HasPrefix(message, []byte("{")) {
			if now := repair(message); !bytes.Equal(now, message) {
				b.left = append(append([]byte("data: "), now...), '\n')
			}
		}
		if b.values += jsonsize.Values(b.left); b.values > maxValues { // an event may have several lines
			b.left, b.err = nil, errTooLong
		}
	} else if len(bytes.TrimSpace(line)) == 0 {
		b.values = 0
	}
}
