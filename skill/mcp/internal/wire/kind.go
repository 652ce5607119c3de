package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/etui-run/etui/internal/plainjson"
)

// kind is the type that the protocol wants of a value.
type kind int

const (
	aText kind = iota
	aNumber
	aBool
	anObject
	aList // of objects
)

// fit returns a value in the type that is wanted; nil if it has none of it.
func fit(raw json.RawMessage, k kind) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return nil
	}
	first := raw[0]
	switch k {
	case aText:
		if first != '"' {
			return encoded(textOf(raw))
		}
	case aNumber:
		if first == '"' {
			text := json.Number(strings.TrimSpace(textOf(raw)))
			if _, err := text.Float64(); err != nil {
				return nil
			}
			return encoded(text)
		}
		if first == 't' || first == 'f' || first == '{' || first == '[' {
			return nil
		}
	case aBool:
		if first != 't' && first != 'f' {
			switch strings.ToLower(strings.TrimSpace(textOf(raw))) {
			case "true", "yes", "on", "1":
				return json.RawMessage("true")
			case "false", "no", "off", "0", "":
				return json.RawMessage("false")
			}
			return nil
		}
	case anObject:
		switch {
		case first == 't', string(raw) == "[]": // PHP writes an empty object so
			return json.RawMessage("{}")
		case first != '{':
			return nil
		}
	case aList:
		if first != '[' {
			return encoded([]json.RawMessage{raw})
		}
	}
	return raw
}

// object returns an object whose values have the types that are wanted; those that have none of it
// are left out. Values that are no object stay.
func object(raw json.RawMessage, kinds map[string]kind) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw
	}
	if !fitEach(fields, kinds) {
		return raw
	}
	return encoded(fields)
}

func fitEach(fields map[string]json.RawMessage, kinds map[string]kind) (changed bool) {
	for key, k := range kinds {
		before := fields[key]
		if isNull(before) { // that is as good as nothing
			continue
		}
		switch now := fit(before, k); {
		case now == nil:
			delete(fields, key)
			changed = true
		case !bytes.Equal(now, before):
			fields[key], changed = now, true
		}
	}
	return changed
}

// textOf returns a text, or another value as it is written.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// encoded returns a value that consists of JSON alone.
func encoded(v any) json.RawMessage {
	raw, _ := plainjson.Encode(v) // it was read as JSON before
	return raw
}
