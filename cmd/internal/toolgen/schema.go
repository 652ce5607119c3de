package toolgen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/tool"
)

// schema is a JSON Schema; its parts are written in this order.
type schema struct {
	Type                 string            `json:"type,omitempty"`
	Description          string            `json:"description,omitempty"`
	Format               string            `json:"format,omitempty"`
	Pattern              string            `json:"pattern,omitempty"`
	ContentEncoding      string            `json:"contentEncoding,omitempty"`
	Enum                 []json.RawMessage `json:"enum,omitempty"`
	Default              json.RawMessage   `json:"default,omitempty"`
	Examples             []json.RawMessage `json:"examples,omitempty"`
	Minimum              json.Number       `json:"minimum,omitempty"`
	Maximum              json.Number       `json:"maximum,omitempty"`
	MinLength            json.Number       `json:"minLength,omitempty"`
	MaxLength            json.Number       `json:"maxLength,omitempty"`
	MinItems             json.Number       `json:"minItems,omitempty"`
	MaxItems             json.Number       `json:"maxItems,omitempty"`
	Items                *schema           `json:"items,omitempty"`
	Properties           properties        `json:"properties,omitempty"`
	Required             []string          `json:"required,omitempty"`
	AdditionalProperties any               `json:"additionalProperties,omitempty"` // a *schema, or a pointer to false
}

// properties keep the order of the struct's fields.
type properties []property

type property struct {
	name   string
	schema *schema
}

func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(x.name) // strings always marshal
		text, err := x.schema.text()
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (s *schema) text() ([]byte, error) { return plainjson.Encode(s) }

// field is a field of a struct, as encoding/json sees it.
type field struct {
	name     string // in JSON
	selector string // in Go, relative to the struct
	typ      types.Type
	optional bool
	tag      reflect.StructTag
	pos      token.Pos
}

// parameters returns the JSON Schema of a tool's arguments. The schema of a declared
// tool is open, like its reader: the program that implements it may know more
// arguments.
func (g *generator) parameters(in types.Type, name string, open bool, pos token.Pos) json.RawMessage {
	s := g.schema(in, pos, nil)
	if open {
		s.AdditionalProperties = nil
	}
	text, err := s.text()
	if err == nil {
		_, err = tool.CompileSchema(text)
	}
	if err != nil {
		g.fail(pos, "the arguments %s have no usable JSON Schema: %v", name, err)
	}
	return text
}

// closed is the additionalProperties of a struct.
var closed = new(bool)

// schema returns the JSON Schema of a type. above holds the types around it.
func (g *generator) schema(t types.Type, pos token.Pos, above []types.Type) *schema {
	if t.Underlying() == types.Typ[types.Invalid] {
		g.broken()
		return &schema{}
	}
	if known := wellKnown(t); known != nil {
		return known
	}
	if slices.ContainsFunc(above, func(a types.Type) bool { return types.Identical(a, t) }) {
		g.fail(pos, "%s contains itself; use json.RawMessage for the inner one", g.typeName(t))
		return &schema{}
	}
	above = append(above[:len(above):len(above)], t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return g.basic(t, u, pos)
	case *types.Pointer:
		return g.schema(u.Elem(), pos, above)
	case *types.Slice:
		return &schema{Type: "array", Items: g.schema(u.Elem(), pos, above)}
	case *types.Array:
		n := json.Number(strconv.FormatInt(u.Len(), 10))
		return &schema{Type: "array", Items: g.schema(u.Elem(), pos, above), MinItems: n, MaxItems: n}
	case *types.Map:
		if b, ok := u.Key().Underlying().(*types.Basic); !ok || b.Info()&types.IsString == 0 {
			break
		}
		inner := g.schema(u.Elem(), pos, above)
		if reflect.DeepEqual(inner, &schema{}) {
			return &schema{Type: "object"} // its values may be anything
		}
		return &schema{Type: "object", AdditionalProperties: inner}
	case *types.Struct:
		return g.object(u, pos, above)
	}
	g.fail(pos, "%s cannot be written as JSON; use a string, a number, a bool, a struct, a slice, a map with string keys, or json.RawMessage", g.typeName(t))
	return &schema{}
}

// wellKnown returns the schema of a type that is read and written as a whole; nil for
// other types.
func wellKnown(t types.Type) *schema {
	switch types.TypeString(types.Unalias(t), nil) {
	case "time.Time":
		return &schema{Type: "string", Format: "date-time"}
	case "time.Duration":
		return &schema{Type: "string", Examples: []json.RawMessage{json.RawMessage(`"1m30s"`)}}
	case "encoding/json.Number":
		return &schema{Type: "number"}
	case "encoding/json.RawMessage":
		return &schema{}
	}
	if s, ok := t.Underlying().(*types.Slice); ok && types.Identical(s.Elem(), types.Typ[types.Byte]) {
		return &schema{Type: "string", ContentEncoding: "base64"}
	}
	if i, ok := t.Underlying().(*types.Interface); ok && i.Empty() {
		return &schema{}
	}
	if _, pointer := t.(*types.Pointer); pointer || types.IsInterface(t) {
		return nil
	}
	switch {
	case hasMethod(t, "UnmarshalJSON"):
		return &schema{}
	case hasMethod(t, "UnmarshalText"):
		return &schema{Type: "string"}
	case hasMethod(t, "MarshalJSON"), hasMethod(t, "MarshalText"):
		return &schema{}
	}
	return nil
}

func hasMethod(t types.Type, name string) bool {
	m, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
	_, ok := m.(*types.Func)
	return ok
}

// writable checks that a result can be written as JSON. above holds the types around it.
func (g *generator) writable(t types.Type, pos token.Pos, above []types.Type) {
	if t.Underlying() == types.Typ[types.Invalid] {
		g.broken()
		return
	}
	if wellKnown(t) != nil || slices.ContainsFunc(above, func(a types.Type) bool { return types.Identical(a, t) }) {
		return
	}
	above = append(above[:len(above):len(above)], t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&(types.IsBoolean|types.IsInteger|types.IsFloat|types.IsString) != 0 {
			return
		}
	case *types.Map:
		if b, ok := u.Key().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			g.writable(u.Elem(), pos, above)
			return
		}
		g.fail(pos, "%s cannot be written as JSON: its keys are not strings", g.typeName(t))
		return
	case *types.Struct:
		for _, f := range g.fields(u, pos) {
			g.writable(f.typ, f.pos, above)
		}
		return
	case interface{ Elem() types.Type }: // a pointer, a list or a channel
		if _, channel := u.(*types.Chan); !channel {
			g.writable(u.Elem(), pos, above)
			return
		}
	}
	g.fail(pos, "%s cannot be written as JSON", g.typeName(t))
}

// broken reports the compiler's errors of a package with an unknown type, except for
// missing declarations of the generated file.
func (g *generator) broken() {
	for _, e := range g.pkg.TypeErrors {
		if name, ok := strings.CutPrefix(e.Msg, "undefined: "); !ok || !generated.MatchString(name) {
			g.fail(e.Pos, "%s", e.Msg)
		}
	}
}

// generated matches the names that the generated file may declare.
var generated = regexp.MustCompile(`^(Register|Tools|Groups|Definitions|[Rr]ead\p{Lu}.*)$`)

func (g *generator) basic(t types.Type, u *types.Basic, pos token.Pos) *schema {
	switch info := u.Info(); {
	case u.Kind() == types.Uintptr: // an address has no meaning outside the process
	case info&types.IsString != 0:
		values, _ := g.constants(t)
		return &schema{Type: "string", Enum: values}
	case info&types.IsBoolean != 0:
		return &schema{Type: "boolean"}
	case info&types.IsInteger != 0:
		if values, names := g.constants(t); len(values) > 0 {
			return &schema{Type: "integer", Enum: values, Description: strings.Join(names, ", ")}
		}
		least, most := bounds(u)
		return &schema{Type: "integer", Minimum: least, Maximum: most}
	case info&types.IsFloat != 0:
		return &schema{Type: "number"}
	}
	g.fail(pos, "%s cannot be written as JSON", g.typeName(t))
	return &schema{}
}

// bounds returns the least and the greatest value of an integer type if a model could
// exceed them, which excludes 64 bits.
func bounds(u *types.Basic) (least, most json.Number) {
	bits := sizes[u.Kind()]
	switch unsigned := u.Info()&types.IsUnsigned != 0; {
	case unsigned && bits == 0:
		return "0", ""
	case unsigned:
		return "0", json.Number(strconv.FormatUint(1<<bits-1, 10))
	case bits == 0:
		return "", ""
	}
	return json.Number(strconv.FormatInt(-1<<(bits-1), 10)), json.Number(strconv.FormatInt(1<<(bits-1)-1, 10))
}

// sizes are the bits of the number types with fewer than 64.
var sizes = map[types.BasicKind]int{types.Int8: 8, types.Uint8: 8, types.Int16: 16, types.Uint16: 16, types.Int32: 32,
	types.Uint32: 32, types.Float32: 32}

// constants returns the values of a named type that its package declares and the tool
// may use, in source order: such a type is an enum. For numbers, the names explain the
// values.
func (g *generator) constants(t types.Type) (values []json.RawMessage, names []string) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return nil, nil
	}
	scope := named.Obj().Pkg().Scope()
	var found []*types.Const
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), t) &&
			(c.Exported() || c.Pkg() == g.pkg.Types) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *types.Const) int { return int(a.Pos() - b.Pos()) })
	for _, c := range found {
		value := json.RawMessage(c.Val().ExactString())
		if named.Underlying().(*types.Basic).Info()&types.IsString != 0 {
			value, _ = json.Marshal(constant.StringVal(c.Val())) // strings always marshal
		}
		if slices.ContainsFunc(values, func(v json.RawMessage) bool { return bytes.Equal(v, value) }) {
			continue // another name for the value
		}
		values, names = append(values, value), append(names, string(value)+" "+c.Name())
	}
	return values, names
}

func (g *generator) object(u *types.Struct, pos token.Pos, above []types.Type) *schema {
	s := &schema{Type: "object", Properties: properties{}, AdditionalProperties: closed}
	for _, f := range g.fields(u, pos) {
		if strings.ContainsFunc(f.name, func(r rune) bool { return !nameRune(r) }) {
			g.fail(f.pos, "%q is not a name that all models accept: use only letters from a to z, digits, '_', '-' and '.', as in json:\"…\"", f.name)
		}
		before := len(g.problems)
		p := g.schema(f.typ, f.pos, above)
		if len(g.problems) > before {
			continue // its tags would only add follow-up problems
		}
		switch text := g.comment(f); {
		case text != "" && p.Description != "":
			p.Description = text + " (" + p.Description + ")"
		case text != "":
			p.Description = text
		}
		g.tags(p, f)
		g.checkValues(p, f)
		s.Properties = append(s.Properties, property{f.name, p})
		if !f.optional {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// fields returns the fields of a struct as encoding/json sees them, with the fields of
// embedded structs in their place.
func (g *generator) fields(u *types.Struct, pos token.Pos) (list []field) {
	add := func(f field) {
		if at := slices.IndexFunc(list, func(o field) bool { return o.name == f.name }); at >= 0 {
			g.fail(pos, "two fields are %q in JSON: %s and %s", f.name, list[at].selector, f.selector)
		}
		list = append(list, f)
	}
	for i := range u.NumFields() {
		v, tag := u.Field(i), reflect.StructTag(u.Tag(i))
		if v.Pos() != token.NoPos {
			pos = v.Pos()
		}
		g.checkTag(u.Tag(i), v, pos)
		name, options, _ := strings.Cut(tag.Get("json"), ",")
		inner, embedded := v.Type().Underlying().(*types.Struct)
		switch {
		case name == "-" && options == "":
			continue
		case v.Embedded() && name == "" && embedded:
			for _, f := range g.fields(inner, pos) {
				f.selector = v.Name() + "." + f.selector
				add(f)
			}
			continue
		case v.Embedded() && name == "":
			g.fail(pos, "the embedded field %s is not a struct; embed a struct, not a pointer to one, or give the field a name", v.Name())
			continue
		case !v.Exported():
			if tag.Get("json") != "" {
				g.fail(pos, "the field %s has a json tag but is not exported; write it with a capital letter", v.Name())
			}
			continue
		}
		for _, option := range strings.Split(options, ",") {
			if !slices.Contains([]string{"", "omitempty", "omitzero"}, option) {
				g.fail(pos, "the json option %s of %s is not supported; only omitempty and omitzero are", option,
					v.Name())
			}
		}
		f := field{name: name, selector: v.Name(), typ: v.Type(), tag: tag, pos: pos}
		if f.name == "" {
			f.name = snake(v.Name())
		}
		_, pointer := v.Type().(*types.Pointer)
		_, fallback := tag.Lookup("default")
		f.optional = pointer || fallback || strings.Contains(options, "omitempty") ||
			strings.Contains(options, "omitzero")
		if text, ok := tag.Lookup("required"); ok {
			required, err := strconv.ParseBool(text)
			if err != nil {
				g.fail(pos, "required:%q must be true or false", text)
			}
			f.optional = !required
		}
		add(f)
	}
	return list
}

// tagKeys are the keys of tags that describe a field.
var tagKeys = []string{"json", "required", "enum", "default", "example", "minimum", "maximum", "minLength", "maxLength",
	"minItems", "maxItems", "format", "pattern"}

// checkTag reports what a struct tag would lose silently: everything in a malformed
// tag, and keys that are repeated or written in another case.
func (g *generator) checkTag(tag string, v *types.Var, pos token.Pos) {
	seen := map[string]bool{}
	for rest := strings.TrimLeft(tag, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, quoted, _ := strings.Cut(rest, ":")
		value, err := strconv.QuotedPrefix(quoted)
		if err != nil || !strings.HasPrefix(value, `"`) || key == "" || strings.ContainsAny(key, " \"") {
			g.fail(pos, "the tag of %s is not well formed at %s; it is written `key:\"value\" key:\"value\"`", v.Name(),
				rest)
			return
		}
		known := slices.IndexFunc(tagKeys, func(k string) bool { return strings.EqualFold(k, key) })
		switch {
		case known >= 0 && tagKeys[known] != key:
			g.fail(pos, "the tag %s of %s is written %s", key, v.Name(), tagKeys[known])
		case known >= 0 && seen[key]:
			g.fail(pos, "the tag %s of %s occurs twice", key, v.Name())
		}
		seen[key] = true
		rest = quoted[len(value):]
	}
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
}

// comment returns the comment above a field, or behind it on the same line.
func (g *generator) comment(f field) string {
	at := g.pkg.Fset.Position(f.pos)
	here := place{at.Filename, at.Line, f.selector[strings.LastIndex(f.selector, ".")+1:]}
	if g.comments == nil {
		g.comments = map[place]*ast.Field{}
		for _, file := range g.pkg.Syntax {
			g.note(g.pkg.Fset, file)
		}
	}
	if _, ok := g.comments[here]; !ok && at.Filename != "" {
		// A struct of another package, whose syntax was not loaded.
		fset := token.NewFileSet()
		if file, err := parser.ParseFile(fset, at.Filename, nil,
			parser.ParseComments|parser.SkipObjectResolution); err == nil {
			g.note(fset, file)
		}
	}
	found := g.comments[here]
	if found == nil {
		return ""
	}
	text := found.Doc.Text()
	if strings.TrimSpace(text) == "" {
		text = found.Comment.Text()
	}
	text = oneLine(text)
	if len(found.Names) == 1 {
		for _, is := range []string{" is ", " 是"} {
			if rest, ok := strings.CutPrefix(text, found.Names[0].Name+is); ok {
				return capital(rest)
			}
		}
	}
	return text
}

// place is the position of a field's name.
type place struct {
	file string
	line int
	name string
}

// note records the fields of the structs in a file, and the arguments of its functions.
func (g *generator) note(fset *token.FileSet, file *ast.File) {
	record := func(f *ast.Field, name *ast.Ident, as string) {
		at := fset.Position(name.Pos())
		g.comments[place{at.Filename, at.Line, as}] = f
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, f := range n.Fields.List {
				for _, name := range f.Names {
					record(f, name, name.Name)
				}
			}
		case *ast.FuncType:
			for _, f := range commented(fset, file, n.Params) {
				record(f, f.Names[0], capital(f.Names[0].Name))
			}
		}
		return true
	})
}

// commented returns the arguments of a function with their comments, which Go's parser does not
// give them: one behind an argument on its line, or before it.
func commented(fset *token.FileSet, file *ast.File, params *ast.FieldList) (list []*ast.Field) {
	for _, p := range params.List {
		for i := range p.Names {
			list = append(list, &ast.Field{Names: p.Names[i : i+1]})
		}
	}
	for _, c := range file.Comments {
		if c.Pos() < params.Opening || c.Pos() > params.Closing {
			continue
		}
		next := slices.IndexFunc(list, func(f *ast.Field) bool { return f.Pos() > c.Pos() })
		if next < 0 {
			next = len(list)
		}
		switch line := fset.Position(c.Pos()).Line; {
		case next > 0 && fset.Position(list[next-1].Pos()).Line == line:
			list[next-1].Comment = c
		case next < len(list):
			list[next].Doc = c
		}
	}
	return list
}

// tags applies a field's tags to its schema.
func (g *generator) tags(s *schema, f field) {
	inner := s
	for inner.Type == "array" && inner.Items != nil {
		inner = inner.Items // an enum of a list applies to its elements
	}
	if text, ok := f.tag.Lookup("enum"); ok {
		if inner.Enum != nil {
			inner.Enum, inner.Description = nil, "" // from its constants
		}
		for _, item := range strings.Split(text, ",") {
			if value := g.value(inner, strings.TrimSpace(item), "enum", f.pos); value != nil {
				inner.Enum = append(inner.Enum, value)
			}
		}
	}
	if text, ok := f.tag.Lookup("default"); ok {
		s.Default = g.value(s, text, "default", f.pos)
	}
	if text, ok := f.tag.Lookup("example"); ok {
		if value := g.value(s, text, "example", f.pos); value != nil {
			s.Examples = []json.RawMessage{value}
		}
	}
	for _, n := range []struct {
		key, of string
		into    *json.Number
	}{
		{"minimum", "integer number", &s.Minimum}, {"maximum", "integer number", &s.Maximum},
		{"minLength", "string", &s.MinLength}, {"maxLength", "string", &s.MaxLength},
		{"minItems", "array", &s.MinItems}, {"maxItems", "array", &s.MaxItems},
	} {
		text, ok := f.tag.Lookup(n.key)
		if !ok {
			continue
		}
		g.fits(s, n.key, n.of, f.pos)
		if !g.limit(n.key, text, f) {
			continue
		}
		*n.into = json.Number(text)
	}
	for _, pair := range [][3]string{{"minimum", string(s.Minimum), string(s.Maximum)},
		{"minLength", string(s.MinLength), string(s.MaxLength)}, {"minItems", string(s.MinItems), string(s.MaxItems)}} {
		least, err := strconv.ParseFloat(pair[1], 64)
		most, err2 := strconv.ParseFloat(pair[2], 64)
		if err == nil && err2 == nil && least > most {
			g.fail(f.pos, "the %s %s is more than the maximum, %s", pair[0], pair[1], pair[2])
		}
	}
	if text, ok := f.tag.Lookup("format"); ok {
		g.fits(s, "format", "string", f.pos)
		s.Format = text
	}
	if text, ok := f.tag.Lookup("pattern"); ok {
		g.fits(s, "pattern", "string", f.pos)
		s.Pattern = text
		if raw, err := (&schema{Pattern: text}).text(); err == nil {
			if _, err = tool.CompileSchema(raw); err != nil {
				g.fail(f.pos, "pattern:%q is not a regular expression", text)
				s.Pattern = ""
			}
		}
	}
}

// limit checks a limit of a number, a string or a list.
func (g *generator) limit(key, text string, f field) bool {
	x, err := strconv.ParseFloat(text, 64)
	b, number := f.typ.Underlying().(*types.Basic)
	if p, ok := f.typ.Underlying().(*types.Pointer); ok {
		b, number = p.Elem().Underlying().(*types.Basic)
	}
	switch {
	case err != nil || !json.Valid([]byte(text)):
		g.fail(f.pos, "%s:%q must be a number", key, text)
		return false
	case key != "minimum" && key != "maximum":
		if _, err := strconv.ParseUint(text, 10, 31); err != nil {
			g.fail(f.pos, "%s:%q must be a whole number that is not negative", key, text)
			return false
		}
	case number && b.Info()&types.IsInteger != 0:
		least, most := bounds(b)
		low, err := least.Float64()
		high, err2 := most.Float64()
		if err == nil && x < low || err2 == nil && x > high {
			g.fail(f.pos, "%s:%q does not fit into %s", key, text, b.Name())
			return false
		}
	}
	return true
}

// checkValues checks that the default and the example of a field are valid values.
func (g *generator) checkValues(s *schema, f field) {
	b, _ := f.typ.Underlying().(*types.Basic)
	switch {
	case s.Default == nil:
	case b == nil || wellKnown(f.typ) != nil:
		g.fail(f.pos, "default is for strings, numbers and bools; set the default of %s in the function", f.selector)
		return
	case !representable(string(s.Default), b):
		g.fail(f.pos, "default:%q does not fit into %s", s.Default, b.Name())
		return
	}
	if s.Default == nil && s.Examples == nil {
		return
	}
	raw, err := s.text()
	if err != nil {
		return // reported for the whole schema
	}
	c, err := tool.CompileSchema(raw)
	if err != nil {
		return
	}
	for i, value := range append([]json.RawMessage{s.Default}, s.Examples...) {
		if err := c.Validate(value); value != nil && err != nil {
			g.fail(f.pos, "the %s %s is not allowed: %v", []string{"default", "example"}[i], value, err)
		}
	}
}

// representable reports whether a number fits into a type.
func representable(text string, b *types.Basic) bool {
	bits := cmp.Or(sizes[b.Kind()], 64)
	var err error
	switch info := b.Info(); {
	case info&types.IsUnsigned != 0:
		_, err = strconv.ParseUint(text, 10, bits)
	case info&types.IsInteger != 0:
		_, err = strconv.ParseInt(text, 10, bits)
	case info&types.IsFloat != 0:
		_, err = strconv.ParseFloat(text, bits)
	}
	return err == nil
}

// fits checks that a tag applies to a type.
func (g *generator) fits(s *schema, key, of string, pos token.Pos) {
	if s.Type == "" || !strings.Contains(of, s.Type) {
		g.fail(pos, "the tag %s is for %s, and this field is %s", key, strings.ReplaceAll(of, " ", " or "),
			cmp.Or(s.Type, "anything"))
	}
}

// value parses a value of a tag, which is written without quotes; nil if it is
// invalid.
func (g *generator) value(s *schema, text, key string, pos token.Pos) json.RawMessage {
	if s.Type == "string" {
		raw, _ := json.Marshal(text) // strings always marshal
		return raw
	}
	fits := map[string]func(any) bool{
		"integer": func(v any) bool { x, ok := v.(float64); return ok && x == float64(int64(x)) },
		"number":  func(v any) bool { _, ok := v.(float64); return ok },
		"boolean": func(v any) bool { _, ok := v.(bool); return ok },
		"array":   func(v any) bool { _, ok := v.([]any); return ok },
		"object":  func(v any) bool { _, ok := v.(map[string]any); return ok },
	}[s.Type]
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil || fits != nil && !fits(v) {
		g.fail(pos, "%s:%q is not %s", key, text, article(s.Type))
		return nil
	}
	return json.RawMessage(text)
}

func article(kind string) string {
	if kind == "" {
		return "JSON"
	}
	if strings.ContainsAny(kind[:1], "aio") {
		return "an " + kind
	}
	return fmt.Sprintf("a %s", kind)
}
