package schema

import "slices"

// close makes a schema strict: every property is required, one that was not may be null, and there are
// no others. It reports false for a schema that means something else then.
func (a *adapter) close(s *object) bool {
	for _, b := range s.list("anyOf") {
		if branch, ok := b.(*object); ok && !a.close(branch) {
			return false
		}
	}
	if items := s.object("items"); items != nil && !a.close(items) {
		return false
	}
	if s.text("type") != "object" {
		return true
	}
	p := s.object("properties")
	if _, open := s.values["additionalProperties"].(*object); open || p == nil {
		return false // its names are free
	}
	var all []any
	for _, name := range p.keys {
		inner := p.object(name)
		if !a.close(inner) {
			return false
		}
		if !slices.Contains(s.list("required"), any(name)) && !allowsNull(inner) {
			p.set(name, orNull(inner))
			a.change("optional: may be null")
		}
		all = append(all, name)
	}
	s.set("required", all)
	s.set("additionalProperties", false)
	return true
}

// orNull returns a schema that allows null, too.
func orNull(s *object) *object {
	null := newObject()
	null.set("type", "null")
	if branches := s.list("anyOf"); branches != nil {
		s.set("anyOf", append(slices.Clone(branches), null))
		return s
	}
	out := newObject()
	if d := s.text("description"); d != "" {
		s.remove("description")
		out.set("description", d)
	}
	out.set("anyOf", []any{s, null})
	return out
}

// seal allows no other properties than those that a schema names. It reports false for one that means
// something else then.
func seal(s *object) bool {
	for _, b := range s.list("anyOf") {
		if branch, ok := b.(*object); ok && !seal(branch) {
			return false
		}
	}
	if items := s.object("items"); items != nil && !seal(items) {
		return false
	}
	p := s.object("properties")
	if s.text("type") != "object" && p == nil {
		return true
	}
	if _, open := s.values["additionalProperties"].(*object); open || p == nil || len(p.keys) == 0 {
		return false // its names are free
	}
	for _, name := range p.keys {
		if inner := p.object(name); inner != nil && !seal(inner) {
			return false
		}
	}
	s.set("additionalProperties", false)
	return true
}
