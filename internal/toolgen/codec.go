package toolgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// known is a type whose JSON differs from its structure.
type known struct {
	schema func() *schema
	read   string // with %s for the value and r for the reader
	write  string // the new value of b, with %s for the value and %w for package wire
}

// wellKnown returns how to read and write a type that is treated as a whole; nil for
// other types.
func (g *generator) wellKnown(t types.Type) *known {
	text := func(format string) func() *schema {
		return func() *schema { return &schema{Type: "string", Format: format} }
	}
	switch types.TypeString(types.Unalias(t), nil) {
	case "time.Time":
		return &known{text("date-time"), "r.Text(&%s)", "%w.Value(b, %s)"}
	case "time.Duration":
		schema := func() *schema {
			return &schema{Type: "string", Examples: []json.RawMessage{json.RawMessage(`"1m30s"`)}}
		}
		return &known{schema, "%s = r.Duration()", "%w.String(b, %s.String())"}
	case "encoding/json.Number":
		return &known{func() *schema { return &schema{Type: "number"} }, "%s = r.Number()", "%w.Value(b, %s)"}
	case "encoding/json.RawMessage":
		return &known{func() *schema { return &schema{} }, "%s = r.Raw()", "%w.Value(b, %s)"}
	}
	if s, ok := t.Underlying().(*types.Slice); ok && types.Identical(s.Elem(), types.Typ[types.Byte]) {
		return &known{func() *schema { return &schema{Type: "string", ContentEncoding: "base64"} }, "%s = r.Bytes()", "%w.Value(b, %s)"}
	}
	if i, ok := t.Underlying().(*types.Interface); ok {
		if !i.Empty() {
			return nil
		}
		return &known{func() *schema { return &schema{} }, "%s = r.Any()", "%w.Value(b, %s)"}
	}
	if _, pointer := t.(*types.Pointer); pointer {
		return nil
	}
	switch {
	case hasMethod(t, "UnmarshalJSON"):
		return &known{func() *schema { return &schema{} }, "r.JSON(&%s)", "%w.Value(b, &%s)"}
	case hasMethod(t, "UnmarshalText"):
		return &known{text(""), "r.Text(&%s)", "%w.Value(b, &%s)"}
	case hasMethod(t, "MarshalJSON"), hasMethod(t, "MarshalText"):
		return &known{func() *schema { return &schema{} }, "r.Skip() // %s is only written", "%w.Value(b, &%s)"}
	}
	return nil
}

func hasMethod(t types.Type, name string) bool {
	m, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
	_, ok := m.(*types.Func)
	return ok
}

// notName matches the text between the names in a type.
var notName = regexp.MustCompile(`[^\pL\pN_]+`)

// codec returns the name of the reader or writer of a struct type, which is generated
// once.
func (g *generator) codec(verb string, t types.Type, make func(name string)) string {
	name := verb
	written := types.TypeString(t, func(p *types.Package) string {
		if p == g.pkg.Types {
			return ""
		}
		return p.Name()
	})
	for _, part := range notName.Split(written, -1) {
		if part != "" {
			r, size := utf8.DecodeRuneInString(part)
			name += string(unicode.ToUpper(r)) + part[size:]
		}
	}
	base := name + "JSON"
	name = base
	for n := 2; g.pkg.Types.Scope().Lookup(name) != nil || g.structs[name] != nil && !types.Identical(g.structs[name], t); n++ {
		name = base + strconv.Itoa(n) // taken by the package, or by a type of the same name from another package
	}
	if g.structs[name] == nil {
		g.structs[name] = t
		g.pending = append(g.pending, func() { make(name) })
	}
	return name
}

// reader returns the name of the function that reads a struct.
func (g *generator) reader(t types.Type) string {
	return g.codec("read", t, func(name string) {
		g.printf("\nfunc %s(r *%s.Reader, v *%s) {\n", name, g.use(module+"tool/wire"), g.typeName(t))
		g.readFields("v", t.Underlying().(*types.Struct))
		g.printf("}\n")
	})
}

// read writes statements that read a value into an assignable expression.
func (g *generator) read(into string, t types.Type) {
	g.depth++
	defer func() { g.depth-- }()
	item := "e" + strconv.Itoa(g.depth)
	if k := g.wellKnown(t); k != nil {
		if !strings.Contains(k.read, "&%s") {
			g.printf("%s\n", strings.ReplaceAll(k.read, "%s", into))
			return
		}
		// A separate variable: otherwise all arguments would escape to the heap.
		g.readNew(item, t)
		g.printf("%s = %s\n", into, item)
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		g.printf("%s = %s\n", into, g.readBasic(t, u))
	case *types.Pointer:
		g.printf("if r.Null() {\n%s = nil\n} else {\n", into)
		g.readNew(item, u.Elem())
		g.printf("%s = &%s\n}\n", into, item)
	case *types.Slice:
		g.printf("if r.Null() {\n%s = nil\n} else {\n%s = %s{}\nr.Array()\nfor r.Element() {\n", into, into, g.typeName(t))
		g.readNew(item, u.Elem())
		g.printf("%s = append(%s, %s)\n}\n}\n", into, into, item)
	case *types.Array:
		g.printf("r.Array()\nfor i := 0; r.Element(); i++ {\n")
		g.readNew(item, u.Elem())
		g.printf("if i < len(%s) {\n%s[i] = %s\n}\n}\n", into, into, item)
	case *types.Map:
		g.printf("if r.Null() {\n%s = nil\n} else {\n%s = %s{}\nr.Object()\nfor name, ok := r.Field(); ok; name, ok = r.Field() {\n",
			into, into, g.typeName(t))
		g.readNew(item, u.Elem())
		key := "name"
		if of := g.typeName(u.Key()); of != "string" {
			key = of + "(name)"
		}
		g.printf("%s[%s] = %s\n}\n}\n", into, key, item)
	case *types.Struct:
		g.readStruct(into, t, u)
	}
}

// readNew writes statements that read a value into a new variable.
func (g *generator) readNew(name string, t types.Type) {
	k := g.wellKnown(t)
	b, basic := t.Underlying().(*types.Basic)
	switch {
	case k == nil && basic:
		g.printf("%s := %s\n", name, g.readBasic(t, b))
	case k != nil && slices.Contains([]string{"time.Duration", "encoding/json.RawMessage", "any", "interface{}", "[]byte"}, types.TypeString(t, nil)):
		g.printf("%s\n", strings.ReplaceAll(strings.Replace(k.read, "=", ":=", 1), "%s", name))
	case k != nil:
		g.printf("var %s %s\n%s\n", name, g.typeName(t), strings.ReplaceAll(k.read, "%s", name))
	default:
		g.printf("var %s %s\n", name, g.typeName(t))
		g.read(name, t)
	}
}

func (g *generator) readStruct(into string, t types.Type, u *types.Struct) {
	if _, ok := types.Unalias(t).(*types.Named); ok {
		g.printf("%s(r, &%s)\n", g.reader(t), into)
		return
	}
	g.readFields(into, u)
}

// readFields writes statements that set the defaults of a struct's fields and then
// read an object into them.
func (g *generator) readFields(into string, u *types.Struct) {
	fields := g.fields(u, token.NoPos)
	for _, f := range fields {
		text, ok := f.tag.Lookup("default")
		if b, basic := f.typ.Underlying().(*types.Basic); ok && basic {
			if b.Info()&types.IsString != 0 {
				text = quote(text)
			}
			g.printf("%s.%s = %s\n", into, f.selector, text)
		}
	}
	g.printf("r.Object()\nfor name, ok := r.Field(); ok; name, ok = r.Field() {\nswitch name {\n")
	for _, f := range fields {
		g.printf("case %q:\n", f.name)
		g.read(into+"."+f.selector, f.typ)
	}
	g.printf("default:\nr.Skip()\n}\n}\n")
}

func (g *generator) readBasic(t types.Type, u *types.Basic) string {
	value := map[types.BasicKind]string{
		types.String: "r.String()", types.Bool: "r.Bool()", types.Float32: "r.Float(32)", types.Float64: "r.Float(64)",
		types.Int: "r.Int(64)", types.Int8: "r.Int(8)", types.Int16: "r.Int(16)", types.Int32: "r.Int(32)", types.Int64: "r.Int(64)",
		types.Uint: "r.Uint(64)", types.Uint8: "r.Uint(8)", types.Uint16: "r.Uint(16)", types.Uint32: "r.Uint(32)", types.Uint64: "r.Uint(64)", types.Uintptr: "r.Uint(64)",
	}[u.Kind()]
	gives := map[byte]string{'S': "string", 'B': "bool", 'F': "float64", 'I': "int64", 'U': "uint64"}[value[2]]
	if name := g.typeName(t); name != gives {
		return fmt.Sprintf("%s(%s)", name, value)
	}
	return value
}

// writer returns the name of the function that writes a struct.
func (g *generator) writer(t types.Type) string {
	return g.codec("append", t, func(name string) {
		g.printf("\nfunc %s(b []byte, v *%s) []byte {\n", name, g.typeName(t))
		g.writeFields("v", t.Underlying().(*types.Struct))
		g.printf("return b\n}\n")
	})
}

// writeUsed writes statements that append a variable to b. A variable without fields
// is used as well, because Go requires it.
func (g *generator) writeUsed(name string, t types.Type, pos token.Pos) {
	begin := g.text.Len()
	g.write(name, t, pos)
	if !bytes.Contains(g.text.Bytes()[begin:], []byte(name)) {
		g.printf("_ = %s\n", name)
	}
}

// write writes statements that append a value to b.
func (g *generator) write(from string, t types.Type, pos token.Pos) {
	g.depth++
	defer func() { g.depth-- }()
	wire := g.use(module + "tool/wire")
	if k := g.wellKnown(t); k != nil {
		g.printf("b = %s\n", strings.NewReplacer("%w", wire, "%s", from).Replace(k.write))
		return
	}
	if !g.named(t, pos) {
		return
	}
	if _, ok := t.Underlying().(*types.Struct); !ok { // each struct has its own function
		if slices.ContainsFunc(g.writing, func(w types.Type) bool { return types.Identical(w, t) }) {
			g.fail(pos, "%s contains itself; use a struct for the inner one", g.typeName(t))
			return
		}
		g.writing = append(g.writing, t)
		defer func() { g.writing = g.writing[:len(g.writing)-1] }()
	}
	item := "e" + strconv.Itoa(g.depth)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		kind := "String"
		switch info := u.Info(); {
		case info&types.IsBoolean != 0:
			kind = "Bool"
		case info&types.IsUnsigned != 0:
			kind = "Uint"
		case info&types.IsInteger != 0:
			kind = "Int"
		case info&types.IsFloat != 0:
			kind = "Float"
		case info&types.IsString == 0:
			g.fail(pos, "%s cannot be written as JSON", g.typeName(t))
		}
		g.printf("b = %s.%s(b, %s)\n", wire, kind, from)
	case *types.Pointer:
		g.printf("if %s == nil {\nb = append(b, \"null\"...)\n} else {\n", from)
		g.write("(*"+from+")", u.Elem(), pos)
		g.printf("}\n")
	case *types.Slice, *types.Array:
		elem := u.(interface{ Elem() types.Type }).Elem()
		index := "i" + strconv.Itoa(g.depth)
		if _, slice := u.(*types.Slice); slice {
			g.printf("if %s == nil {\nb = append(b, \"null\"...)\n} else {\n", from)
			defer g.printf("}\n")
		}
		g.printf("b = append(b, '[')\nfor %s := range %s {\nif %s > 0 {\nb = append(b, ',')\n}\n", index, from, index)
		g.write(from+"["+index+"]", elem, pos)
		g.printf("}\nb = append(b, ']')\n")
	case *types.Map:
		b, ok := u.Key().Underlying().(*types.Basic)
		if !ok || b.Info()&types.IsString == 0 {
			g.fail(pos, "%s cannot be written as JSON: its keys are not strings", g.typeName(t))
			return
		}
		key := "k" + strconv.Itoa(g.depth)
		g.printf("if %s == nil {\nb = append(b, \"null\"...)\n} else {\n", from)
		defer g.printf("}\n")
		g.printf("b = append(b, '{')\nfor i, %s := range %s.Sorted(%s.Keys(%s)) {\nif i > 0 {\nb = append(b, ',')\n}\nb = append(%s.String(b, %s), ':')\n%s := %s[%s]\n",
			key, g.use("slices"), g.use("maps"), from, wire, key, item, from, key)
		g.writeUsed(item, u.Elem(), pos)
		g.printf("}\nb = append(b, '}')\n")
	case *types.Struct:
		if _, ok := types.Unalias(t).(*types.Named); ok {
			if address, ok := strings.CutPrefix(from, "(*"); ok && strings.HasSuffix(address, ")") {
				from = strings.TrimSuffix(address, ")")
			} else {
				from = "&" + from
			}
			g.printf("b = %s(b, %s)\n", g.writer(t), from)
			return
		}
		g.writeFields(from, u)
	default:
		g.fail(pos, "%s cannot be written as JSON", g.typeName(t))
	}
}

// writeFields writes statements that append a struct to b. Optional fields are left
// out if empty.
func (g *generator) writeFields(from string, u *types.Struct) {
	g.printf("b = append(b, '{')\n")
	for _, f := range g.fields(u, token.NoPos) {
		value := from + "." + f.selector
		filled := g.filled(value, f)
		if filled != "" {
			g.printf("if %s {\n", filled)
		}
		g.printf("b = %s.Field(b, %q)\n", g.use(module+"tool/wire"), f.name)
		g.write(value, f.typ, f.pos)
		if filled != "" {
			g.printf("}\n")
		}
	}
	g.printf("b = append(b, '}')\n")
}

// filled returns the condition under which a field is written, as in encoding/json;
// empty if it always is.
func (g *generator) filled(value string, f field) string {
	options := strings.Split(f.tag.Get("json"), ",")[1:]
	zero := slices.Contains(options, "omitzero")
	if !zero && !slices.Contains(options, "omitempty") {
		return ""
	}
	if zero && hasMethod(f.typ, "IsZero") {
		return "!" + value + ".IsZero()"
	}
	switch u := f.typ.Underlying().(type) {
	case *types.Basic:
		switch info := u.Info(); {
		case info&types.IsBoolean != 0:
			return value
		case info&types.IsString != 0:
			return value + ` != ""`
		}
		return value + " != 0"
	case *types.Pointer, *types.Interface:
		return value + " != nil"
	case *types.Slice, *types.Map:
		if zero {
			return value + " != nil"
		}
		return "len(" + value + ") > 0"
	case *types.Struct, *types.Array:
		if zero && types.Comparable(f.typ) && !holdsInterface(f.typ) {
			return value + " != (" + g.typeName(f.typ) + "{})"
		}
	}
	return ""
}

// holdsInterface reports whether comparing values of a type may panic.
func holdsInterface(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return true
	case *types.Array:
		return holdsInterface(u.Elem())
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(u.Fields()), func(f *types.Var) bool { return holdsInterface(f.Type()) })
	}
	return false
}
