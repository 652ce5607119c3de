package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// top adapts the parameters themselves: an object, whose alternatives are merged.
func (a *adapter) top(s *object) *object {
	if a.inline {
		s = a.resolve(s)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if s.has(key) {
			a.merge(s, key)
			a.change("top-level %s: merged", key)
		}
	}
	for _, key := range []string{"enum", "const", "not", "if", "then", "else"} {
		if s.has(key) {
			s.remove(key)
			a.change("top-level %s: left out", key)
		}
	}
	if s.text("type") != "object" {
		s.set("type", "object")
		a.change("no type: object")
	}
	if s.object("properties") == nil {
		s.set("properties", newObject())
		a.change("no properties: {}")
	}
	s.remove("nullable")
	return a.schema(s, 0)
}

// merge puts the branches of a combination into the schema itself: what one of them requires is
// required by all of allOf, and of the others only when each does.
func (a *adapter) merge(s *object, key string) {
	var required []any
	for i, b := range s.list(key) {
		branch, ok := b.(*object)
		if a.parts++; !ok || a.parts > maxParts {
			continue
		}
		branch = a.resolve(branch)
		for _, inner := range []string{"allOf", "anyOf", "oneOf"} {
			if branch.has(inner) {
				a.merge(branch, inner)
			}
		}
		for _, k := range branch.keys {
			switch {
			case k == "required":
			case k == "properties":
				into := s.object(k)
				if into == nil {
					into = newObject()
					s.set(k, into)
				}
				if from := branch.object(k); from != nil {
					for _, name := range from.keys {
						if !into.has(name) {
							into.set(name, from.values[name])
						}
					}
				}
			case key == "allOf" && !s.has(k), k == "type" && !s.has(k):
				s.set(k, branch.values[k])
			}
		}
		given := branch.list("required")
		switch {
		case key == "allOf":
			required = append(required, given...)
		case i == 0:
			required = slices.Clone(given)
		default:
			required = slices.DeleteFunc(required, func(name any) bool { return !slices.Contains(given, name) })
		}
	}
	s.remove(key)
	if len(required) > 0 {
		s.set("required", append(slices.Clone(s.list("required")), required...))
	}
}

// resolve returns a schema with the target of its reference in place of it. Nothing is written out
// inside itself more often than maxUnroll: there, only its type is left.
func (a *adapter) resolve(s *object) *object {
	for hops := 0; s.has("$ref"); hops++ {
		ref := s.text("$ref")
		s.remove("$ref")
		target := a.target(ref)
		a.change("$ref: written out")
		if target == nil || hops > 20 {
			continue
		}
		if a.parts += size(target); a.parts > maxParts {
			a.change("too large: cut")
			target = stub(target)
		}
		out, _ := clone(target).(*object)
		for _, key := range s.keys { // what stands beside it takes precedence
			out.set(key, s.values[key])
		}
		s = out
	}
	return s
}

// target finds the schema that a reference names; nil if there is none in the document.
func (a *adapter) target(ref string) *object {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if path, err := url.PathUnescape(path); err == nil && (path == "" || path[0] == '/') {
		var at any = a.root
		for _, step := range strings.Split(path, "/")[1:] {
			step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
			switch v := at.(type) {
			case *object:
				at = v.values[step]
			case []any:
				i, err := strconv.Atoi(step)
				if err != nil || i < 0 || i >= len(v) {
					return nil
				}
				at = v[i]
			default:
				return nil
			}
		}
		found, _ := at.(*object)
		return found
	}
	return anchored(a.root, path)
}

func anchored(v any, name string) *object {
	switch v := v.(type) {
	case *object:
		if v.text("$anchor") == name {
			return v
		}
		for _, key := range v.keys {
			if found := anchored(v.values[key], name); found != nil {
				return found
			}
		}
	case []any:
		for _, inner := range v {
			if found := anchored(inner, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// sub adapts a schema inside another one. A truth value is a schema, too.
func (a *adapter) sub(v any, depth int) *object {
	s, ok := v.(*object)
	if !ok {
		s = newObject()
		a.change("true: {}")
	}
	if a.parts++; a.parts > maxParts {
		a.change("too large: cut")
		return stub(s)
	}
	ref := s.text("$ref")
	switch {
	case s.has("$ref") && a.inline:
		if a.open[ref] >= maxUnroll {
			a.change("recursion: cut")
			if t := a.target(ref); t != nil {
				return a.typed(stub(t))
			}
			return a.typed(stub(s))
		}
		a.open[ref]++
		defer func() { a.open[ref]-- }()
		s = a.resolve(s)
	case s.has("$ref") && a.target(ref) == nil:
		s.remove("$ref")
		a.change("$ref to nothing: left out")
	}
	if a.maxDepth > 0 && depth > a.maxDepth {
		a.change("depth: cut")
		return a.typed(stub(s))
	}
	return a.schema(s, depth)
}

// stub is a schema without details.
func stub(s *object) *object {
	out := newObject()
	for _, key := range []string{"type", "description"} {
		if text := s.text(key); text != "" {
			out.set(key, text)
		}
	}
	switch {
	case out.has("type"):
	case s.has("properties"):
		out.set("type", "object")
	case s.has("items"):
		out.set("type", "array")
	}
	return out
}

// schema adapts a schema and what is in it.
func (a *adapter) schema(s *object, depth int) *object {
	if a.inline && s.has("allOf") {
		a.merge(s, "allOf")
		a.change("allOf: merged")
	}
	a.repair(s)
	if a.branches && s.has("oneOf") {
		if !s.has("anyOf") {
			s.set("anyOf", s.values["oneOf"])
		}
		s.remove("oneOf")
		a.change("oneOf: anyOf")
	}
	if _, has := s.values["const"]; has && !a.allows("const") {
		s.set("enum", []any{s.values["const"]})
		s.remove("const")
		a.change("const: enum")
	}
	if a.oneType {
		s = a.single(s)
	}
	s = a.inner(s, depth)
	if !s.has("items") && (s.text("type") == "array" || slices.Contains(s.list("type"), any("array"))) {
		s.set("items", a.typed(newObject()))
		a.change("no items: {}")
	}
	a.restrict(s)
	return a.typed(s)
}

// types are the types of JSON Schema, and what others call them.
var types = map[string]string{
	"object": "object", "array": "array", "string": "string", "number": "number", "integer": "integer",
	"boolean": "boolean", "null": "null",
	"dict": "object", "map": "object", "list": "array", "str": "string", "text": "string", "int": "integer",
	"long": "integer", "float": "number", "double": "number", "bool": "boolean",
}

// repair mends what no provider accepts.
func (a *adapter) repair(s *object) {
	s.remove("$schema", "$comment")
	if s.has("$ref") && s.values["$ref"] != s.text("$ref") {
		s.remove("$ref")
	}
	switch t := s.values["type"].(type) {
	case string:
		a.retype(s, types[strings.ToLower(t)], t)
	case []any:
		var known []any
		for _, one := range t {
			name, _ := one.(string)
			if name = types[strings.ToLower(name)]; name != "" && !slices.Contains(known, any(name)) {
				known = append(known, name)
			}
		}
		s.set("type", known)
		if len(known) == 1 {
			s.set("type", known[0])
		} else if len(known) == 0 {
			s.remove("type")
		}
	default:
		s.remove("type")
	}
	if s.has("required") {
		var names []any
		for _, name := range s.list("required") {
			if text, ok := name.(string); ok && !slices.Contains(names, any(text)) {
				names = append(names, text)
			}
		}
		if len(names) != len(s.list("required")) || len(names) == 0 {
			a.change("required: names only")
		}
		if s.set("required", names); len(names) == 0 {
			s.remove("required")
		}
	}
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions"} {
		if s.has(key) && s.object(key) == nil {
			s.remove(key)
			a.change("%s that is no object: left out", key)
		}
	}
	for _, bound := range []string{"minimum", "maximum"} {
		exclusive := "exclusiveM" + bound[1:]
		if strictly, old := s.values[exclusive].(bool); old {
			s.remove(exclusive)
			if strictly && s.has(bound) {
				s.set(exclusive, s.values[bound])
				s.remove(bound)
			}
			a.change("%s of draft 4: a number", exclusive)
		}
	}
	if s.has("enum") && len(s.list("enum")) == 0 {
		s.remove("enum")
		a.change("empty enum: left out")
	}
	if tuple := s.list("items"); s.has("items") && tuple != nil {
		s.set("items", alternatives(tuple))
		s.remove("additionalItems")
		a.change("items of draft 7: one schema")
	}
	if tuple := s.list("prefixItems"); tuple != nil && !a.allows("prefixItems") {
		s.remove("prefixItems")
		if !s.has("items") {
			s.set("items", alternatives(tuple))
		}
		a.change("prefixItems: one schema")
	}
	if text, isText := s.values["description"].(string); s.has("description") && !isText || isText && text == "" {
		s.remove("description")
	}
}

// alternatives returns one schema for elements of several.
func alternatives(list []any) any {
	var distinct []any
	seen := map[string]bool{}
	for _, one := range list {
		if written := string(appendJSON(nil, one)); !seen[written] {
			seen[written] = true
			distinct = append(distinct, one)
		}
	}
	if len(distinct) == 1 {
		return distinct[0]
	}
	s := newObject()
	if len(distinct) > 1 {
		s.set("anyOf", distinct)
	}
	return s
}

func (a *adapter) retype(s *object, known, given string) {
	switch {
	case known == "":
		s.remove("type")
		a.change("type %.20s: left out", given)
	case known != given:
		s.set("type", known)
		a.change("type %.20s: %s", given, known)
	}
}

// of are the keywords that describe values of one type.
var of = map[string]string{
	"properties": "object", "required": "object", "additionalProperties": "object", "minProperties": "object",
	"maxProperties": "object", "patternProperties": "object", "propertyNames": "object",
	"items": "array", "prefixItems": "array", "minItems": "array", "maxItems": "array", "uniqueItems": "array",
	"contains": "array",
	"pattern":  "string", "minLength": "string", "maxLength": "string", "format": "string",
}

// single writes a schema so that each has one type: several types are branches, and null is a keyword
// where the dialect has it.
func (a *adapter) single(s *object) *object {
	if list := s.list("type"); list != nil {
		var branches []any
		for _, t := range list {
			name, _ := t.(string)
			b := newObject()
			b.set("type", name)
			for _, key := range s.keys {
				bounds := name != "null" && (key == "minimum" || key == "maximum")
				if kind := of[key]; bounds || kind != "" && kind == name {
					b.set(key, clone(s.values[key]))
				}
			}
			branches = append(branches, b)
		}
		for key := range of {
			s.remove(key)
		}
		s.remove("type", "minimum", "maximum")
		if !s.has("anyOf") {
			s.set("anyOf", branches)
		}
		a.change("several types: anyOf")
	}
	branches := s.list("anyOf")
	if branches == nil {
		return s
	}
	null := false
	branches = slices.DeleteFunc(slices.Clone(branches), func(b any) bool {
		o, ok := b.(*object)
		isNull := ok && o.text("type") == "null"
		null = null || isNull
		return isNull
	})
	if len(branches) == 1 && (a.nullable || !null) || len(branches) == 1 && a.name == "plain" {
		only, ok := branches[0].(*object)
		if !ok {
			only = newObject()
		}
		only = a.resolve(only)
		for _, key := range only.keys {
			if key != "description" || !s.has(key) {
				s.set(key, only.values[key])
			}
		}
		s.remove("anyOf")
		if null && a.nullable {
			s.set("nullable", true)
		}
		a.change("anyOf with one branch: merged")
		a.repair(s)
		if s.list("type") != nil || s.has("anyOf") && a.parts < maxParts {
			a.parts++
			return a.single(s)
		}
		return s
	}
	if a.nullable || a.name == "plain" {
		s.set("anyOf", branches)
		if null && a.nullable {
			s.set("nullable", true)
		}
	}
	if a.branches {
		a.push(s)
	}
	return s
}

// push moves what stands beside anyOf into its branches, but for what is about the whole.
func (a *adapter) push(s *object) {
	var moved []string
	for _, key := range s.keys {
		if !slices.Contains([]string{"anyOf", "description", "nullable", "title", "default"}, key) {
			moved = append(moved, key)
			a.change("%s beside anyOf: in its branches", key)
		}
	}
	for _, b := range s.list("anyOf") {
		branch, ok := b.(*object)
		if !ok || branch.has("$ref") || branch.text("type") == "null" {
			continue
		}
		for _, key := range moved {
			if !branch.has(key) {
				branch.set(key, clone(s.values[key]))
			}
		}
	}
	s.remove(moved...)
}

// inner adapts the schemas in a schema.
func (a *adapter) inner(s *object, depth int) *object {
	if p := s.object("properties"); p != nil {
		out := newObject()
		for _, name := range p.keys {
			if p.values[name] == false {
				continue // it must not be given
			}
			out.set(a.rename(name), a.sub(p.values[name], depth+1))
		}
		s.set("properties", out)
		var required []any
		for _, name := range s.list("required") {
			if name, ok := name.(string); ok && (out.has(a.rename(name)) || a.keywords == nil && len(out.keys) == 0) {
				required = append(required, a.rename(name))
			}
		}
		if len(required) < len(s.list("required")) {
			a.change("required: known names only")
		}
		if s.has("required") && len(required) == 0 {
			s.remove("required")
		} else if len(required) > 0 {
			s.set("required", required)
		}
	}
	for _, key := range []string{
		"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "unevaluatedItems",
		"unevaluatedProperties",
	} {
		if _, truth := s.values[key].(bool); s.has(key) && a.allows(key) && (!truth || key == "items") {
			s.set(key, a.sub(s.values[key], depth+1))
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		if !s.has(key) || !a.allows(key) {
			continue
		}
		list := s.list(key)
		if len(list) == 0 {
			s.remove(key)
			continue
		}
		out := make([]any, len(list))
		for i, b := range list {
			out[i] = a.sub(b, depth+1)
		}
		s.set(key, out)
	}
	for _, key := range []string{"patternProperties", "$defs", "definitions", "dependentSchemas"} {
		if m := s.object(key); m != nil && a.allows(key) && !a.inline {
			for _, name := range m.keys {
				m.values[name] = a.sub(m.values[name], depth+1)
			}
		}
	}
	return s
}

// rename returns the provider's name of a property.
func (a *adapter) rename(name string) string {
	if a.property == nil || a.property.MatchString(name) {
		return name
	}
	for safe, own := range a.names {
		if own == name {
			return safe
		}
	}
	base := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, name)
	base = base[:min(len(base), 60)]
	safe := base
	for n := 2; safe == "" || a.taken[safe]; n++ {
		safe = fmt.Sprintf("%s_%d", base, n)
	}
	a.taken[safe], a.names[safe] = true, name
	a.change("property %.40q: %s", name, safe)
	return safe
}

func (a *adapter) allows(keyword string) bool {
	return a.keywords == nil || slices.Contains(a.keywords, keyword)
}

// told are the keywords whose loss the description says.
var told = []string{
	"const", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "minItems", "maxItems",
	"uniqueItems", "default", "enum", "additionalProperties",
}

// maxTold bounds what the description says of one keyword, in bytes.
const maxTold = 120

// restrict leaves out what the dialect does not have, and says it in the description.
func (a *adapter) restrict(s *object) {
	var lost []string
	drop := func(key string) {
		_, truth := s.values[key].(bool)
		if written := appendJSON(nil, s.values[key]); slices.Contains(told, key) && len(written) <= maxTold && !truth {
			lost = append(lost, key+": "+string(written))
		}
		s.remove(key)
		a.change("%s: left out", key)
	}
	if a.inline {
		s.remove("$defs", "definitions")
	}
	for _, key := range slices.Clone(s.keys) {
		text, number := s.text(key), count(s.values[key])
		switch {
		case !a.allows(key):
			drop(key)
		case key == "format" && a.formats != nil && !slices.Contains(a.formats[s.text("type")], text):
			drop(key)
		case key == "pattern" && a.pattern != nil && !a.pattern(text):
			drop(key)
		case strings.HasSuffix(key, "Length") || strings.HasSuffix(key, "Items"):
			if a.maxRepeat > 0 && number > a.maxRepeat {
				drop(key)
			}
		case key == "enum":
			a.choices(s, drop)
		}
	}
	t := s.text("type")
	for _, key := range slices.Clone(s.keys) {
		if kind := of[key]; a.oneType && t != "" && kind != "" && t != kind && key != "format" {
			s.remove(key)
			a.change("%s of another type: left out", key)
		}
	}
	if len(lost) > 0 {
		says := "(" + strings.Join(lost, ", ") + ")"
		if d := s.text("description"); d != "" {
			says = d + " " + says
		}
		s.set("description", says)
	}
}

// count is a number as it is written; 0 for anything else.
func count(v any) float64 {
	raw, _ := v.(jsontext.Value)
	n, _ := strconv.ParseFloat(string(raw), 64) // otherwise it is 0
	return n
}

// choices keeps the values of an enum that the dialect has.
func (a *adapter) choices(s *object, drop func(string)) {
	values := s.list("enum")
	if a.maxEnum > 0 && len(values) > a.maxEnum {
		drop("enum")
		return
	}
	if !a.texts {
		return
	}
	var texts []any
	for _, v := range values {
		if text, ok := v.(string); ok && text != "" {
			texts = append(texts, text)
		}
		if v == nil && a.nullable {
			s.set("nullable", true)
		}
	}
	others := slices.ContainsFunc(values, func(v any) bool { _, text := v.(string); return !text && v != nil })
	if others || len(texts) == 0 || s.text("type") != "" && s.text("type") != "string" {
		if !s.has("type") && len(texts) == 0 {
			s.set("type", kindOf(values[0]))
		}
		drop("enum")
		return
	}
	if len(texts) < len(values) {
		a.change("enum: texts only")
	}
	s.set("enum", texts)
	s.set("type", "string")
}

// kindOf is the type of a value.
func kindOf(v any) string {
	switch v := v.(type) {
	case *object:
		return "object"
	case []any:
		return "array"
	case bool:
		return "boolean"
	case jsontext.Value:
		if strings.ContainsAny(string(v), ".eE") {
			return "number"
		}
		return "integer"
	}
	return "string"
}

// typed gives a schema without a type the one that it means, where the dialect asks for one.
func (a *adapter) typed(s *object) *object {
	if !a.inline || s.has("type") || s.has("anyOf") || s.has("oneOf") || s.has("allOf") || s.has("$ref") ||
		s.has("const") {
		return s
	}
	switch {
	case s.has("properties"):
		s.set("type", "object")
	case s.has("items"):
		s.set("type", "array")
	case s.has("enum") && a.oneType:
		s.set("type", kindOf(s.list("enum")[0]))
	case a.oneType:
		var kinds []any
		for _, t := range []string{"string", "number", "boolean"} {
			b := newObject()
			b.set("type", t)
			kinds = append(kinds, b)
		}
		s.set("anyOf", kinds)
		a.change("any value: a text, a number or a truth value")
	}
	return s
}
