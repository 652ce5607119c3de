package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object that keeps the order of its members: models read properties in it, and
// providers cache the bytes.
type object struct {
	keys   []string
	values map[string]any
}

func newObject() *object { return &object{values: map[string]any{}} }

func (o *object) has(key string) bool {
	_, ok := o.values[key]
	return ok
}

func (o *object) set(key string, value any) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) remove(keys ...string) {
	for _, key := range keys {
		if o.has(key) {
			delete(o.values, key)
			o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
		}
	}
}

// object returns a member that is an object; nil if it is none.
func (o *object) object(key string) *object {
	inner, _ := o.values[key].(*object)
	return inner
}

// list returns a member that is a list; nil if it is none.
func (o *object) list(key string) []any {
	list, _ := o.values[key].([]any)
	return list
}

func (o *object) text(key string) string {
	text, _ := o.values[key].(string)
	return text
}

// clone copies a value that the adaptation may change.
func clone(v any) any {
	switch v := v.(type) {
	case *object:
		c := &object{slices.Clone(v.keys), make(map[string]any, len(v.values))}
		for key, inner := range v.values {
			c.values[key] = clone(inner)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, inner := range v {
			c[i] = clone(inner)
		}
		return c
	}
	return v
}

// size counts the objects in a value.
func size(v any) (n int) {
	switch v := v.(type) {
	case *object:
		n = 1
		for _, inner := range v.values {
			n += size(inner)
		}
	case []any:
		for _, inner := range v {
			n += size(inner)
		}
	}
	return n
}

// maxDepth bounds the nesting of what is read.
const maxDepth = 200

var errDeep = errors.New("the value is nested too deeply")

// parse reads a JSON value: an *object, []any, string, bool, nil, or jsontext.Value for a number.
func parse(raw []byte) (any, error) {
	return next(jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true)))
}

func next(d *jsontext.Decoder) (any, error) {
	if d.StackDepth() > maxDepth {
		return nil, errDeep
	}
	switch d.PeekKind() {
	case '{':
		o := newObject()
		_, err := d.ReadToken()
		for err == nil && d.PeekKind() != '}' {
			var key jsontext.Token
			if key, err = d.ReadToken(); err != nil {
				return nil, err
			}
			name := key.String()
			var value any
			value, err = next(d)
			o.set(name, value)
		}
		if err != nil {
			return nil, err
		}
		_, err = d.ReadToken()
		return o, err
	case '[':
		list := []any{}
		_, err := d.ReadToken()
		for err == nil && d.PeekKind() != ']' {
			var value any
			value, err = next(d)
			list = append(list, value)
		}
		if err != nil {
			return nil, err
		}
		_, err = d.ReadToken()
		return list, err
	case '0':
		v, err := d.ReadValue()
		return v.Clone(), err
	}
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '"':
		return t.String(), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}

// appendJSON writes a value without insignificant space.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case *object:
		b = append(b, '{')
		for i, key := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, key) // what is not UTF-8 is replaced
			b = appendJSON(append(b, ':'), v.values[key])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, inner := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, inner)
		}
		return append(b, ']')
	case string:
		b, _ = jsontext.AppendQuote(b, v)
		return b
	case jsontext.Value:
		return append(b, v...)
	}
	raw, _ := json.Marshal(v) // a truth value or null
	return append(b, raw...)
}
