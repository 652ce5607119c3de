package foreign

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"github.com/etui-run/etui/internal/subschema"
)

// maxWritten bounds the parts that a mended schema gets from references. It is as many as a schema
// may have to compile.
const maxWritten = 50_000

// movedPart is the target of references with its name in the mended schema.
type movedPart struct {
	name  string
	found any // kept, so that nothing else gets its identity
}

// follow mends the target of a reference, once, however references spell it, and returns the place
// where it stands in the mended schema.
func (m *mender) follow(target string) (place string, ok bool) {
	where, found := m.find(target)
	if found == nil {
		m.say("references that lead nowhere or out of the schema are not followed")
		return "", false
	}
	if where == "" {
		return "#", true
	}
	key := identity(found)
	if known, ok := m.places[key]; ok {
		return "#/$defs/" + known.name, true
	}
	if m.written += size(found, maxWritten-m.written); m.written > maxWritten {
		return "", false
	}
	if plain, err := url.PathUnescape(where); err == nil {
		where = plain
	}
	base := safe(where[strings.LastIndexByte(where, '/')+1:], 40, notInNames, "part")
	name := base
	for i := len(m.places) + 1; m.defs[name] != nil; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	m.places[key], m.defs[name] = movedPart{name, found}, map[string]any{} // it may refer to itself
	m.defs[name] = m.schema(found, 0)
	return "#/$defs/" + name, true
}

// identity tells one part of a schema from others, also from equal ones. Plain values are mended alike
// wherever they stand.
func identity(part any) any {
	switch part.(type) {
	case map[string]any, []any:
		return reflect.ValueOf(part).Pointer()
	}
	return part
}

// size counts the parts of a value, until they are more than most. Long texts count as several.
func size(v any, most int) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v) / 100
	case []any:
		for i := 0; i < len(v) && n <= most; i++ {
			n += size(v[i], most-n)
		}
	case map[string]any:
		for name, inner := range v {
			if n += len(name)/100 + size(inner, most-n); n > most {
				break
			}
		}
	}
	return n
}

// find returns what a reference names, and where; nil if that is not in the schema. A definition is
// also found if the reference looks for it in the other one of the usual places.
func (m *mender) find(target string) (where string, found any) {
	document, pointer, _ := strings.Cut(target, "#")
	root, prefix := m.root, ""
	if document != "" {
		if inner, ok := m.named[document]; ok {
			root, prefix = inner, document
		}
	}
	switch {
	case pointer == "" && document == "", pointer == "/":
		return "", m.root
	case pointer == "" && prefix != "":
		return prefix, root
	case pointer != "" && !strings.HasPrefix(pointer, "/"):
		if inner, ok := m.named[pointer]; ok {
			return pointer, inner
		}
	case pointer != "" && (document == "" || prefix != ""):
		if inner := subschema.At(root, pointer); inner != nil {
			return prefix + pointer, inner
		}
	}
	last := target[strings.LastIndexAny(target, "/#")+1:]
	if remote.MatchString(target) {
		return "", nil
	}
	for _, place := range []string{"$defs", "definitions", "components/schemas"} {
		if inner := subschema.At(m.root, "/"+place+"/"+last); inner != nil {
			return "/" + place + "/" + last, inner
		}
	}
	return "", nil
}

// remote are references to another document.
var remote = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:|^//|^[^#]*\.(?:json|ya?ml)`)
