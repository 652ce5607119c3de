// Package wire runs the tools that `etui tools gen` writes: it reads the arguments of a
// call, calls the Go function, and writes the result.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Tool makes a Go function a tool. The function has the form
//
//	func([context.Context,] [struct]) ([result,] error)
//
// where the struct may be a pointer. [Read] fills it. With names, the function takes an argument
// of each name in place of the struct; one that the call leaves out is its zero value. A [chat.Result] is returned as it is,
// a string is the text of the result, and any other value is written as JSON. Without a
// result the text is "Done.".
//
// Tool panics when def is not valid, or when fn has another form.
func Tool(def tool.Definition, fn any, names ...string) tool.Tool {
	f := reflect.ValueOf(fn)
	t := f.Type()
	params := t.NumIn()
	takesContext := params > 0 && t.In(0) == reflect.TypeFor[context.Context]()
	if takesContext {
		params--
	}
	first := t.NumIn() - params
	fits := params == 0 || params == 1 && structOf(t.In(first)) != nil
	var plain reflect.Type // a struct with the named arguments
	if len(names) > 0 {
		if fits = params == len(names); fits {
			plain = argumentsOf(t, first, names)
		}
	}
	if n := t.NumOut(); n == 0 || n > 2 || t.Out(n-1) != reflect.TypeFor[error]() || !fits {
		panic(fmt.Sprintf("tool %s: %s is no func([context.Context,] [struct]) ([result,] error)", def.Name, t))
	}
	return tool.New(def, func(ctx context.Context, args json.RawMessage) (chat.Result, error) {
		var in []reflect.Value
		if takesContext {
			in = append(in, reflect.ValueOf(ctx))
		}
		switch {
		case plain != nil:
			value := reflect.New(plain)
			if err := Read(args, value.Interface()); err != nil {
				return chat.Result{}, err
			}
			for i := range params {
				in = append(in, value.Elem().Field(i))
			}
		case params == 1:
			last := t.In(first)
			value := reflect.New(structOf(last))
			if err := Read(args, value.Interface()); err != nil {
				return chat.Result{}, err
			}
			if last.Kind() != reflect.Pointer {
				value = value.Elem()
			}
			in = append(in, value)
		}
		out := f.Call(in)
		if err, _ := out[len(out)-1].Interface().(error); err != nil {
			return chat.Result{}, err
		}
		if len(out) == 1 {
			return tool.Text("Done."), nil
		}
		return result(out[0])
	})
}

// argumentsOf returns a struct type with a field for each argument of a function, from the first
// that has a name on.
func argumentsOf(fn reflect.Type, first int, names []string) reflect.Type {
	fields := make([]reflect.StructField, len(names))
	for i, name := range names {
		tag := reflect.StructTag("json:" + strconv.Quote(name))
		fields[i] = reflect.StructField{Name: fmt.Sprint("A", i), Type: fn.In(first + i), Tag: tag}
	}
	return reflect.StructOf(fields)
}

// structOf returns a struct type, also behind a pointer; nil for other types.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// result returns what a function has returned as the result of a call.
func result(out reflect.Value) (chat.Result, error) {
	if r, ok := out.Interface().(chat.Result); ok {
		return r, nil
	}
	if out.Kind() == reflect.String {
		return tool.Text(out.String()), nil
	}
	data, err := jsonv2.Marshal(out.Interface(), options)
	if wrong := (*jsonv2.SemanticError)(nil); errors.As(err, &wrong) && wrong.Err == nil {
		err = fmt.Errorf("JSON has no %s", wrong.GoType) // the library's own text varies
	}
	if err != nil {
		return chat.Result{}, fmt.Errorf("writing the result: %w", err)
	}
	return chat.Result{Text: string(data), View: &chat.View{Data: data}}, nil
}

// Read reads the arguments of a call into a struct, as encoding/json does, with four
// differences. A field that is left out gets the value of its tag `default`. A
// [time.Duration] is a text such as "1m30s". A whole number may be written as 5.0 or 1e3.
// Names match also when case, '_' and '-' differ. Empty arguments are an empty object. The
// error names the argument, for the model.
func Read(args json.RawMessage, into any) error {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	err := jsonv2.Unmarshal(args, into, options)
	if err == nil {
		return nil
	}
	var wrong *jsonv2.SemanticError
	if !errors.As(err, &wrong) {
		return errors.New("the arguments are not JSON")
	}
	name := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
	if name == "" {
		name = "the arguments"
	}
	if wrong.Err != nil {
		return fmt.Errorf("%s: %w", name, wrong.Err)
	}
	got := names[wrong.JSONKind]
	if wrong.JSONValue != nil {
		got = fmt.Sprintf("%.40s", wrong.JSONValue)
	}
	return fmt.Errorf("%s: %s is needed, not %s", name, wanted(wrong.GoType), got)
}

var names = map[jsontext.Kind]string{'n': "null", 'f': "false", 't': "true", '"': "a text", '0': "a number",
	'{': "an object", '[': "an array"}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("a number of %d bits", t.Bits())
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "another value"
}

// options are those of encoding/json, with the differences that [Read] lists. In results,
// NaN and infinities become null.
var options = jsonv2.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	jsonv1.ReportErrorsWithLegacySemantics(false),
	jsonv1.MatchCaseSensitiveDelimiter(false),
	jsontext.EscapeForHTML(false),
	jsontext.EscapeForJS(false),
	jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(jsonv2.UnmarshalFromFunc(readDuration),
		jsonv2.UnmarshalFromFunc(readValue))),
	jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder,
			d time.Duration) error {
			return e.WriteToken(jsontext.String(d.String()))
		}),
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, v any) error {
			if x := reflect.Indirect(reflect.ValueOf(v)); x.CanFloat() &&
				(math.IsNaN(x.Float()) || math.IsInf(x.Float(), 0)) {
				return e.WriteToken(jsontext.Null)
			}
			return jsonv2.SkipFunc
		}),
	)),
)

func readDuration(d *jsontext.Decoder, into *time.Duration) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if *into, err = time.ParseDuration(text); err == nil {
			return nil
		}
	}
	return fmt.Errorf(`a time such as "1m30s" is needed, not %.40s`, raw)
}

// readValue reads a whole number, or sets the defaults of a struct before it is read.
func readValue(d *jsontext.Decoder, pointer any) error {
	v := reflect.ValueOf(pointer).Elem()
	switch {
	case v.Kind() == reflect.Struct:
		setDefaults(v)
	case (v.CanInt() || v.CanUint()) && d.PeekKind() != 'n':
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		return setWhole(v, string(raw))
	}
	return jsonv2.SkipFunc
}

// setDefaults sets the fields that have a default.
func setDefaults(v reflect.Value) {
	for i := range v.NumField() {
		text, ok := v.Type().Field(i).Tag.Lookup("default")
		f := v.Field(i)
		switch {
		case !f.CanSet():
		case ok && f.Kind() == reflect.String:
			f.SetString(text)
		case ok:
			_ = jsonv2.Unmarshal([]byte(text), f.Addr().Interface()) // the generator has checked it
		case v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct:
			setDefaults(f)
		}
	}
}

// setWhole sets an integer. Beyond 2^53 only integers without a point or an exponent are
// exact.
func setWhole(v reflect.Value, text string) error {
	bits := v.Type().Bits()
	x, err := strconv.ParseFloat(text, 64)
	exact := err == nil && x == math.Trunc(x)
	if v.CanInt() {
		n, err := strconv.ParseInt(text, 10, bits)
		if limit := math.Ldexp(1, min(bits-1, 53)); err != nil && exact && -limit <= x && x < limit {
			n, err = int64(x), nil
		}
		if err == nil {
			v.SetInt(n)
			return nil
		}
		return fmt.Errorf("a whole number of %d bits is needed, not %.40s", bits, text)
	}
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil && exact && 0 <= x && x < math.Ldexp(1, min(bits, 53)) {
		n, err = uint64(x), nil
	}
	if err == nil {
		v.SetUint(n)
		return nil
	}
	return fmt.Errorf("a whole number of %d bits that is not negative is needed, not %.40s", bits, text)
}
