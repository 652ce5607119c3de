package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/printable"
)

// maxAnswerDepth is how deep a tool's definition may be; the SDK refuses deeper answers.
const maxAnswerDepth = 256

// Broken is the key in _meta of a tool that stands for a definition that cannot be read, with
// the reason. TaskSupport is the key of what it says of tasks, and Task the key in _meta of a
// call that is to become one, and of a result that is one.
const (
	Broken      = "run.etui/broken"
	Repaired    = "run.etui/repaired" // the names of the parts of a definition that cannot be read
	TaskSupport = "run.etui/task-support"
	Task        = "run.etui/task"
)

// Rejected is the code of a request of a server that etui does not do, as the protocol has it for
// sampling.
const Rejected = -1

// refusal is an error in the place of an answer that has too many values or parts.
func refusal(id json.RawMessage) []byte {
	if isNull(id) {
		id = json.RawMessage("null")
	}
	return encoded(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code":    jsonrpc.CodeInternalError,
		"message": fmt.Sprintf("the server's answer has more than %d values, or %d parts", maxValues, maxParts),
	}})
}

// repairer returns a value in the form of the protocol, and whether that is another one.
type repairer func(json.RawMessage) (_ json.RawMessage, changed bool)

// repairEach replaces the members of a list that one cannot read. Without any, the list
// stays as it was.
func repairEach(before json.RawMessage, list []json.RawMessage, one repairer) json.RawMessage {
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

// repairPart repairs a part of a result. One that cannot be read becomes a text that says what
// it was.
func (w *Wire) repairPart(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	now := part(raw)
	if bytes.Equal(now, raw) {
		now = nil
	} else {
		w.Note("parts of a result in another form")
	}
	err := readable(or(now, raw))
	if err == nil {
		return now, now != nil
	}
	if bare := without(or(now, raw), "annotations", "_meta", "icons"); readable(bare) == nil {
		w.Note("parts of a result in another form")
		return bare, true
	}
	var typed struct{ Type any }
	_ = json.Unmarshal(raw, &typed) // without a type it has none
	kind, _ := typed.Type.(string)
	if text := textOf(fieldOf(raw, "text")); text != "" && !slices.Contains(kinds, kind) {
		const unknown = "(a part of the type %q, which etui does not know:)\n%s"
		return encoded(textPart(unknown, printable.Line(kind, 80), text)), true
	}
	if !slices.Contains(kinds, kind) {
		err = errors.New("it knows no parts of this type")
	}
	const broken = "(a part of the type %q was left out: etui cannot read it: %s)"
	return encoded(textPart(broken, printable.Line(kind, 80), err)), true
}

// readable reports why the SDK cannot read a part.
func readable(part json.RawMessage) error {
	return json.Unmarshal(encoded(map[string]any{"content": []json.RawMessage{part}}), new(sdk.CallToolResult))
}

// without returns an object without some of its keys.
func without(raw json.RawMessage, keys ...string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw
	}
	for _, key := range keys {
		delete(fields, key)
	}
	return encoded(fields)
}

func or(now, before json.RawMessage) json.RawMessage {
	if now != nil {
		return now
	}
	return before
}

// kinds are the types of parts that etui knows.
var kinds = []string{"text", "image", "audio", "resource", "resource_link"}

// otherNames are other names of these types.
var otherNames = []string{"embedded_resource", "resourcelink", "link", "output_text", "markdown"}

// kept are the keys of parts but links; those of others may have a wrong type.
var kept = []string{"type", "text", "data", "mimeType", "resource", "_meta", "annotations"}

// part returns a part of a result in the form of the protocol, as far as it can be known.
func part(raw json.RawMessage) json.RawMessage {
	if raw = bytes.TrimSpace(raw); isNull(raw) {
		return encoded(textPart(""))
	}
	var fields map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &fields) != nil {
		return encoded(textPart("%s", textOf(raw)))
	}
	changed := fitEach(fields, map[string]kind{
		"type": aText, "text": aText, "mimeType": aText, "uri": aText, "name": aText, "title": aText,
		"description": aText, "size": aNumber, "_meta": anObject, "annotations": anObject, "icons": aList,
	})
	is := strings.ToLower(textOf(fields["type"]))
	switch _, said := fields["mimeType"]; {
	case said:
	case fields["mime_type"] != nil:
		fields["mimeType"], changed = fields["mime_type"], true
	case fields["mimetype"] != nil:
		fields["mimeType"], changed = fields["mimetype"], true
	}
	mediaType := textOf(fields["mimeType"])
	switch {
	case slices.Contains(kinds, is):
	case is == "image_url", is == "input_image":
		var linked struct{ URL string }
		if json.Unmarshal(fields["image_url"], &linked) != nil {
			linked.URL = textOf(fields["image_url"])
		}
		if strings.HasPrefix(linked.URL, "data:") {
			is, fields["data"] = "image", encoded(linked.URL)
		} else {
			is, fields["uri"] = "resource_link", encoded(linked.URL)
		}
	case is == "json":
		return encoded(textPart("%s", textOf(or(fields["json"], or(fields["data"], raw)))))
	case is != "" && !slices.Contains(otherNames, is):
		return raw
	case fields["text"] != nil:
		is = "text"
	case fields["resource"] != nil:
		is = "resource"
	case fields["blob"] != nil:
		is = "resource"
	case fields["data"] != nil && strings.HasPrefix(mediaType, "audio/"):
		is = "audio"
	case fields["data"] != nil && strings.HasPrefix(mediaType, "image/"):
		is = "image"
	case fields["uri"] != nil:
		is = "resource_link"
	case is == "":
		return encoded(textPart("%s", raw))
	}
	if is != textOf(fields["type"]) {
		fields["type"], changed = encoded(is), true
	}
	switch is {
	case "image", "audio":
		var source struct {
			Data      string `json:"data"`
			MediaType string `json:"media_type"`
		}
		if fields["data"] == nil && json.Unmarshal(fields["source"], &source) == nil && source.Data != "" {
			fields["data"], fields["mimeType"], changed = encoded(source.Data), encoded(source.MediaType), true
		}
		data, mediaType := bytesOf(textOf(fields["data"]))
		if isNull(fields["data"]) || data == "" {
			return encoded(textPart("(a part of the type %q has no data)", is))
		}
		if mediaType != "" && textOf(fields["mimeType"]) == "" {
			fields["mimeType"], changed = encoded(mediaType), true
		}
		if data != textOf(fields["data"]) {
			fields["data"], changed = encoded(data), true
		}
	case "resource":
		inner := fields["resource"]
		if isNull(inner) || inner[0] != '{' {
			if inner = raw; fields["uri"] == nil && fields["text"] == nil && fields["blob"] == nil {
				return encoded(textPart("resource %s", textOf(fields["resource"])))
			}
		}
		now, other := repairResource(inner)
		if other || !bytes.Equal(inner, fields["resource"]) {
			fields["resource"], changed = or(now, inner), true
		}
	}
	if !changed {
		return raw
	}
	for key := range fields {
		if is != "resource_link" && !slices.Contains(kept, key) {
			delete(fields, key)
		}
	}
	return encoded(fields)
}

// repairResource repairs the contents of a resource.
func repairResource(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		return encoded(map[string]string{"uri": "", "text": textOf(raw)}), true
	}
	now := object(raw, map[string]kind{"uri": aText, "text": aText, "blob": aText, "mimeType": aText,
		"_meta": anObject})
	var fields map[string]json.RawMessage
	if json.Unmarshal(now, &fields) != nil {
		return nil, false
	}
	if blob := textOf(fields["blob"]); blob != "" {
		if data, mediaType := bytesOf(blob); data != blob {
			if fields["blob"] = encoded(data); mediaType != "" && fields["mimeType"] == nil {
				fields["mimeType"] = encoded(mediaType)
			}
			now = encoded(fields)
		}
	}
	if err := json.Unmarshal(now, new(sdk.ResourceContents)); err != nil {
		why := "(its contents cannot be read: " + unreadable(err) + ")"
		return encoded(map[string]string{"uri": textOf(fields["uri"]), "text": why}), true
	}
	return now, !bytes.Equal(now, raw)
}

// repairMessage repairs a message of a prompt, whose content may be a text or a list.
func (w *Wire) repairMessage(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	message := struct {
		Role    any             `json:"role"`
		Content json.RawMessage `json:"content"`
	}{}
	if json.Unmarshal(raw, &message) != nil || isNull(message.Content) {
		message.Content = raw
	}
	var parts []json.RawMessage
	if json.Unmarshal(message.Content, &parts) != nil {
		parts = []json.RawMessage{message.Content}
	}
	if len(parts) == 1 {
		now, other := w.repairPart(parts[0])
		if _, isText := message.Role.(string); !other && isText && bytes.Equal(parts[0], message.Content) {
			return nil, false
		}
		message.Content = or(now, parts[0])
	} else { // the protocol has one part in a message
		var texts []string
		for _, p := range parts[:min(len(parts), 100)] {
			texts = append(texts, textOf(fieldOf(part(p), "text")))
		}
		message.Content = encoded(textPart("%s", strings.Join(texts, "\n")))
	}
	if _, isText := message.Role.(string); !isText {
		message.Role = "user"
	}
	return encoded(message), true
}

func fieldOf(raw json.RawMessage, key string) json.RawMessage {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // what is no object has no fields
	return fields[key]
}

// bytesOf returns base64 as the standard alphabet has it, and the media type that a data URL
// says.
func bytesOf(text string) (data, mediaType string) {
	data = text
	if rest, isURL := strings.CutPrefix(text, "data:"); isURL {
		if head, tail, found := strings.Cut(rest, ","); found {
			mediaType, _, _ = strings.Cut(head, ";")
			if data = tail; !strings.HasSuffix(head, ";base64") {
				if plain, err := url.PathUnescape(tail); err == nil {
					return base64.StdEncoding.EncodeToString([]byte(plain)), mediaType
				}
			}
		}
	}
	if _, err := base64.StdEncoding.DecodeString(data); err == nil {
		return data, mediaType
	}
	bare := strings.TrimRight(strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\n', '\r', '\t':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, data), "=")
	if raw, err := base64.RawStdEncoding.DecodeString(bare); err == nil {
		return base64.StdEncoding.EncodeToString(raw), mediaType
	}
	return data, mediaType
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
		if wrong.Field == "" {
			return "it is a " + wrong.Value
		}
		return fmt.Sprintf("its %s is a %s", printable.Line(strings.TrimPrefix(wrong.Field, "res."), 80), wrong.Value)
	}
	return printable.Line(err.Error(), 200)
}

// depth returns how deep the objects and lists of a text are, which begins outside of strings,
// and how many are open at its end.
func depth(text []byte) (most, open int) {
	inside, escaped := false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case inside:
			escaped, inside = b == '\\', b != '"'
		case b == '"':
			inside = true
		case b == '{' || b == '[':
			open++
			most = max(most, open)
		case b == '}' || b == ']':
			open--
		}
	}
	return most, open
}
