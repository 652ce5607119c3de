package subschema

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/etui-run/etui/internal/patternsize"
)

// maxNodes bounds a schema with its references written out: a few references that double each other
// would keep a validator busy for ever.
const maxNodes = 50_000

// Size returns the number of nodes of a schema with its references written out, and a reference that
// leads back to itself, if there is one. It refuses references that lead outside the schema.
func Size(doc any) (nodes int, circle string, err error) {
	r := references{doc: doc, named: map[string]any{}, at: map[string]int{"": following}}
	r.name(doc)
	nodes, err = r.follow(doc)
	return nodes, r.circle, err
}

// references follows the references of a schema.
type references struct {
	doc   any
	named map[string]any // schemas with an anchor
	at    map[string]int // references by target: the nodes there, or following

	circle string // a reference that leads back to itself
}

func (r *references) name(v any) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			r.name(inner)
		}
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor", "$id", "id"} {
			if name, ok := v[key].(string); ok {
				r.named[strings.TrimPrefix(name, "#")] = v
			}
		}
		for _, inner := range v {
			r.name(inner)
		}
	}
}

// follow follows all references below a value and counts its nodes.
func (r *references) follow(v any) (nodes int, err error) {
	add := func(n int, failed error) {
		if nodes += n; nodes > maxNodes && failed == nil {
			failed = fmt.Errorf("with its references written out it has more than %d parts", maxNodes)
		}
		err = cmp.Or(err, failed)
	}
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			if add(r.follow(inner)); err != nil {
				break
			}
		}
	case map[string]any:
		for key, inner := range v {
			text, isText := inner.(string)
			switch {
			case isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef"):
				add(r.enter(text))
			case isText && key == "pattern":
				add(patternsize.Of(text), nil)
			default:
				add(r.follow(inner))
			}
			if patterns, ok := inner.(map[string]any); ok && key == "patternProperties" {
				for pattern := range patterns {
					add(patternsize.Of(pattern), nil)
				}
			}
			if err != nil {
				break
			}
		}
	}
	add(1, nil)
	return nodes, err
}

// following marks a reference that is being followed.
const following = -1

func (r *references) enter(target string) (nodes int, err error) {
	place, ok := strings.CutPrefix(target, "#")
	if !ok {
		return 0, fmt.Errorf("the reference %.80q leads outside the schema; a reference begins with #", target)
	}
	if place == "/" {
		place = ""
	}
	switch nodes, seen := r.at[place]; {
	case nodes == following:
		r.circle = target
		return 1, nil
	case seen:
		return nodes, nil
	}
	r.at[place] = following
	nodes, err = r.follow(r.find(place))
	r.at[place] = nodes
	return nodes, err
}

// find returns the schema at a JSON pointer or an anchor; nil if there is none, which
// the compiler reports.
func (r *references) find(place string) any {
	if !strings.HasPrefix(place, "/") {
		return r.named[place]
	}
	return At(r.doc, place)
}

// At returns the value at a JSON pointer, which may be percent-encoded as in a reference; nil if
// there is none.
func At(v any, pointer string) any {
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
