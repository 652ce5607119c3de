package toolgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/tool"
)

// schema is a JSON Schema whose parts are written in this order.
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
		name, _ := json.Marshal(x.name) // a text always can be
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

func (s *schema) text() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return bytes.TrimSpace(b.Bytes()), err
}

// field is a field of a struct, as JSON has it.
type field struct {
	name     string // in JSON
	selector string // in Go, from the struct on
	typ      types.Type
	optional bool
	tag      reflect.StructTag
	pos      token.Pos
}

// parameters returns the JSON Schema of a tool's arguments. Those of a declared one
// are open, as its reader is: the program that carries it out may know further ones.
func (g *generator) parameters(in *types.Named, open bool, pos token.Pos) json.RawMessage {
	s := g.schema(in, pos, nil)
	if open {
		s.AdditionalProperties = nil
	}
	text, err := s.text()
	if err == nil {
		_, err = tool.CompileSchema(text)
	}
	if err != nil {
		g.fail(pos, "the arguments %s have no usable JSON Schema: %v", in.Obj().Name(), err)
	}
	return text
}

// closed is what additionalProperties is for a struct.
var closed = new(bool)

// schema returns the JSON Schema of a type. Above are the structs that it lies in.
func (g *generator) schema(t types.Type, pos token.Pos, above []types.Type) *schema {
	if known := g.wellKnown(t); known != nil {
		return known.schema()
	}
	if slices.ContainsFunc(above, func(a types.Type) bool { return types.Identical(a, t) }) {
		g.fail(pos, "%s contains itself; use json.RawMessage for the inner one", types.TypeString(t, g.qualify))
		return &schema{}
	}
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
			return &schema{Type: "object"} // what is in it may be anything
		}
		return &schema{Type: "object", AdditionalProperties: inner}
	case *types.Struct:
		return g.object(u, pos, append(above[:len(above):len(above)], t))
	}
	g.fail(pos, "%s cannot be written as JSON; use a text, a number, a bool, a struct, a slice, a map with texts as keys, or json.RawMessage", types.TypeString(t, g.qualify))
	return &schema{}
}

func (g *generator) basic(t types.Type, u *types.Basic, pos token.Pos) *schema {
	switch info := u.Info(); {
	case u.Kind() == types.Uintptr: // an address means nothing to others
	case info&types.IsString != 0:
		return &schema{Type: "string", Enum: g.constants(t)}
	case info&types.IsBoolean != 0:
		return &schema{Type: "boolean"}
	case info&types.IsUnsigned != 0:
		return &schema{Type: "integer", Minimum: "0", Enum: g.constants(t)}
	case info&types.IsInteger != 0:
		return &schema{Type: "integer", Enum: g.constants(t)}
	case info&types.IsFloat != 0:
		return &schema{Type: "number"}
	}
	g.fail(pos, "%s cannot be written as JSON", types.TypeString(t, g.qualify))
	return &schema{}
}

// constants are the values of a named type that its package declares, in the
// order in which they stand: the type is an enum.
func (g *generator) constants(t types.Type) (values []json.RawMessage) {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return nil
	}
	scope := named.Obj().Pkg().Scope()
	var found []*types.Const
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), t) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *types.Const) int { return int(a.Pos() - b.Pos()) })
	for _, c := range found {
		value := json.RawMessage(c.Val().ExactString())
		if named.Underlying().(*types.Basic).Info()&types.IsString != 0 {
			text, err := strconv.Unquote(c.Val().ExactString())
			if err != nil {
				continue
			}
			value, _ = json.Marshal(text) // a text always can be
		}
		values = append(values, value)
	}
	return values
}

func (g *generator) object(u *types.Struct, pos token.Pos, above []types.Type) *schema {
	s := &schema{Type: "object", Properties: properties{}, AdditionalProperties: closed}
	for _, f := range g.fields(u, pos) {
		p := g.schema(f.typ, f.pos, above)
		if text := g.comment(f.pos); text != "" {
			p.Description = text
		}
		g.tags(p, f)
		g.checkDefault(p, f)
		s.Properties = append(s.Properties, property{f.name, p})
		if !f.optional {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// fields returns the fields of a struct as encoding/json sees them; those of
// embedded structs stand in their place.
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
			g.fail(pos, "the embedded field %s is no struct; give it a name", v.Name())
			continue
		case !v.Exported():
			if tag.Get("json") != "" {
				g.fail(pos, "the field %s has a json tag but is not exported; write it with a capital letter", v.Name())
			}
			continue
		}
		if slices.Contains(strings.Split(options, ","), "string") {
			g.fail(pos, "the json option string of %s is not supported; leave it out", v.Name())
		}
		f := field{name: name, selector: v.Name(), typ: v.Type(), tag: tag, pos: pos}
		if f.name == "" {
			f.name = snake(v.Name())
		}
		_, pointer := v.Type().(*types.Pointer)
		_, fallback := tag.Lookup("default")
		f.optional = pointer || fallback || strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
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

// comment is what stands above a field, or behind it in its line. It is known for
// the structs of the package itself.
func (g *generator) comment(pos token.Pos) string {
	f := g.comments()[pos]
	if f == nil {
		return ""
	}
	text := f.Doc.Text()
	if strings.TrimSpace(text) == "" {
		text = f.Comment.Text()
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(f.Names) == 1 {
		if rest, ok := strings.CutPrefix(text, f.Names[0].Name+" is "); ok {
			text = strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return text
}

// comments finds the fields of the package's structs by where their names stand.
func (g *generator) comments() map[token.Pos]*ast.Field {
	if g.byPos != nil {
		return g.byPos
	}
	g.byPos = map[token.Pos]*ast.Field{}
	for _, file := range g.pkg.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						g.byPos[name.Pos()] = f
					}
				}
			}
			return true
		})
	}
	return g.byPos
}

// tags applies what a field's tags say about its value.
func (g *generator) tags(s *schema, f field) {
	inner := s
	for inner.Type == "array" && inner.Items != nil {
		inner = inner.Items // an enum of a list is one of its elements
	}
	if text, ok := f.tag.Lookup("enum"); ok {
		inner.Enum = nil
		for _, item := range strings.Split(text, ",") {
			inner.Enum = append(inner.Enum, g.value(inner, item, "enum", f.pos))
		}
	}
	if text, ok := f.tag.Lookup("default"); ok {
		s.Default = g.value(s, text, "default", f.pos)
	}
	if text, ok := f.tag.Lookup("example"); ok {
		s.Examples = []json.RawMessage{g.value(s, text, "example", f.pos)}
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
		if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
			g.fail(f.pos, "%s:%q must be a number", n.key, text)
			continue
		}
		g.fits(s, n.key, n.of, f.pos)
		*n.into = json.Number(text)
	}
	if text, ok := f.tag.Lookup("format"); ok {
		g.fits(s, "format", "string", f.pos)
		s.Format = text
	}
	if text, ok := f.tag.Lookup("pattern"); ok {
		g.fits(s, "pattern", "string", f.pos)
		s.Pattern = text
	}
}

// checkDefault checks that the default of a field is a value of it.
func (g *generator) checkDefault(s *schema, f field) {
	if s.Default == nil {
		return
	}
	text := string(s.Default)
	b, _ := f.typ.Underlying().(*types.Basic)
	switch {
	case b == nil || g.wellKnown(f.typ) != nil:
		g.fail(f.pos, "default is for texts, numbers and bools; set that of %s in the function", f.selector)
		return
	case !representable(text, b):
		g.fail(f.pos, "default:%q does not fit into %s", text, b.Name())
		return
	}
	raw, err := s.text()
	if err != nil {
		return // it is told for the whole
	}
	if c, err := tool.CompileSchema(raw); err == nil {
		if err := c.Validate(s.Default); err != nil {
			g.fail(f.pos, "the default %s is not allowed: %v", s.Default, err)
		}
	}
}

// representable reports whether a number fits into a type.
func representable(text string, b *types.Basic) bool {
	bits := map[types.BasicKind]int{types.Int8: 8, types.Uint8: 8, types.Int16: 16, types.Uint16: 16, types.Int32: 32, types.Uint32: 32, types.Float32: 32}[b.Kind()]
	if bits == 0 {
		bits = 64
	}
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

// fits checks that a tag makes sense for a type.
func (g *generator) fits(s *schema, key, of string, pos token.Pos) {
	if s.Type == "" || !strings.Contains(of, s.Type) {
		g.fail(pos, "the tag %s is for %s, and this field is %s", key, strings.ReplaceAll(of, " ", " or "), s.Type)
	}
}

// value reads a value of a tag, which is written without quotes.
func (g *generator) value(s *schema, text, key string, pos token.Pos) json.RawMessage {
	if s.Type == "string" {
		raw, _ := json.Marshal(text) // a text always can be
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
		return json.RawMessage("null")
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
