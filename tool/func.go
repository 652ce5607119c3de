package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/etui-run/etui/chat"
)

// New returns a tool whose function reads its arguments itself, such as the functions
// that `etui tools gen` writes. It panics when def is not valid, which is a mistake in
// the program.
func New(def Definition, call func(ctx context.Context, args json.RawMessage) (chat.Result, error)) Tool {
	if err := def.Check(); err != nil {
		panic(err.Error())
	}
	return &rawTool{def, call}
}

type rawTool struct {
	def  Definition
	call func(context.Context, json.RawMessage) (chat.Result, error)
}

func (t *rawTool) Definition() Definition { return t.def }

func (t *rawTool) Call(ctx context.Context, args json.RawMessage) (chat.Result, error) {
	return t.call(ctx, args)
}

// Func makes a typed Go function a tool. In is a struct (or a map with string
// keys); unless def has Parameters, its JSON Schema is inferred from In's
// fields: `json` tags name them and mark them optional (omitempty, omitzero),
// `jsonschema` tags describe them.
//
// The function's return value becomes the result: a [chat.Result] unchanged, a string
// as text, anything else as JSON text for the model and as data for the user.
//
// Func panics when def is not valid or no schema can be inferred from In: both
// are mistakes in the program.
func Func[In, Out any](def Definition, fn func(context.Context, In) (Out, error)) Tool {
	if def.Parameters == nil {
		var err error
		if def.Parameters, err = InferSchema[In](); err != nil {
			panic(fmt.Sprintf("tool %s: %v", def.Name, err))
		}
	}
	if err := def.Check(); err != nil {
		panic(err.Error())
	}
	return &funcTool[In, Out]{def, fn}
}

// InferSchema returns the JSON Schema of the arguments of a function that takes
// an In, as [Func] does.
func InferSchema[In any]() (json.RawMessage, error) {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("no JSON Schema for %v: %w", reflect.TypeFor[In](), err)
	}
	return json.Marshal(schema)
}

type funcTool[In, Out any] struct {
	def Definition
	fn  func(context.Context, In) (Out, error)
}

func (t *funcTool[In, Out]) Definition() Definition { return t.def }

func (t *funcTool[In, Out]) Call(ctx context.Context, args json.RawMessage) (chat.Result, error) {
	var in In
	if len(bytes.TrimSpace(args)) > 0 {
		if err := json.Unmarshal(args, &in); err != nil {
			return chat.Result{}, fmt.Errorf("reading the arguments of %s: %w", t.def.Name, err)
		}
	}
	out, err := t.fn(ctx, in)
	if err != nil {
		return chat.Result{}, err
	}
	switch out := any(out).(type) {
	case chat.Result:
		return out, nil
	case string:
		return Text(out), nil
	}
	data, err := json.Marshal(out)
	if err != nil {
		return chat.Result{}, fmt.Errorf("writing the result of %s: %w", t.def.Name, err)
	}
	return chat.Result{Text: string(data), View: &chat.View{Data: data}}, nil
}
