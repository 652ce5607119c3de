package foreign

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// follow mends the target of a reference, once, and returns the place where it stands in the mended
// schema.
func (m *mender) follow(target string) (place string, ok bool) {
	where, found := m.find(target)
	if found == nil {
		m.say("references that lead nowhere or out of the schema are not followed")
		return "", false
	}
	if where == "" {
		return "#", true
	}
	if name, ok := m.places[where]; ok {
		return "#/$defs/" + name, true
	}
	base := safe(where[strings.LastIndexByte(where, '/')+1:], 40, notInNames, "part")
	name := base
	for i := 2; m.defs[name] != nil; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	m.places[where], m.defs[name] = name, map[string]any{} // it may refer to itself
	m.defs[name] = m.schema(found, 0)
	return "#/$defs/" + name, true
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
		if inner := at(root, pointer); inner != nil {
			return prefix + pointer, inner
		}
	}
	last := target[strings.LastIndexAny(target, "/#")+1:]
	if remote.MatchString(target) {
		return "", nil
	}
	for _, place := range []string{"$defs", "definitions", "components/schemas"} {
		if inner := at(m.root, "/"+place+"/"+last); inner != nil {
			return "/" + place + "/" + last, inner
		}
	}
	return "", nil
}

// remote are references to another document.
var remote = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:|^//|^[^#]*\.(?:json|ya?ml)`)

// at returns the value at a JSON pointer; nil if there is none.
func at(v any, pointer string) any {
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch inner := v.(type) {
		case map[string]any:
			v = inner[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(inner) {
				return nil
			}
			v = inner[n]
		default:
			return nil
		}
	}
	return v
}
