// Package builtin makes skills of Go functions: a YAML file gives a function of the
// program a name, a description and limits. The file can be changed or removed while
// etui runs; the function itself is compiled in.
//
//	name: checksum
//	description: Computes the SHA-256 of a text.
//	provider: builtin
//	function: hash_text
//	risk_level: read
package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// Function is a function of the program that skills can run: see [Func].
type Function struct {
	parameters skill.ParameterSchema
	call       func(context.Context, json.RawMessage) (any, error)
}

// Func makes a Function of a typed Go function. In is a struct or a map with string
// keys; its JSON Schema is inferred as in [tool.Func] unless the file has parameters.
// The result of fn must marshal to JSON of at most [skill.MaxResult] bytes.
//
// fn is called concurrently and must return soon after its context ends: nothing else
// can stop it.
//
// Func panics if no schema can be inferred from In, which is a mistake in the program.
func Func[In, Out any](fn func(context.Context, In) (Out, error)) Function {
	schema, err := tool.InferSchema[In]()
	if err != nil {
		panic("builtin: " + err.Error())
	}
	return Function{schema, func(ctx context.Context, args json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, fmt.Errorf("%w: %w", skill.ErrInvalidParams, err)
		}
		return fn(ctx, in)
	}}
}

// Provider makes skills of functions. It is safe for concurrent use.
type Provider struct{ functions map[string]Function }

var _ skill.Provider = (*Provider)(nil)

// New returns a provider of functions, by the names that files use for them.
func New(functions map[string]Function) *Provider {
	return &Provider{maps.Clone(functions)}
}

// Type is "builtin".
func (*Provider) Type() string { return "builtin" }

// Load makes a skill of the function that config names; by default that is the function
// with the skill's name.
func (p *Provider) Load(config skill.Config) (skill.Skill, error) {
	key, name := "function", config.Function
	if name == "" {
		key, name = "name", config.Name
	}
	f, ok := p.functions[name]
	if !ok {
		return nil, skill.Problem{Field: key,
			Message: fmt.Sprintf("%s: the program has no function %q%s", key, name,
				nearest.Hint(name, slices.Values(slices.Sorted(maps.Keys(p.functions)))))}
	}
	if config.Parameters == nil {
		config.Parameters = f.parameters
	}
	return &function{config.Describe(p.Type()), f.call}, nil
}

// function is the skill of a function.
type function struct {
	skill.Described
	call func(context.Context, json.RawMessage) (any, error)
}

var _ skill.DetailedSkill = (*function)(nil)

// Execute calls the function and returns its result: a string if it is one, or else
// JSON.
func (f *function) Execute(ctx context.Context, args json.RawMessage) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.Timeout, skill.ErrProviderTimeout)
	defer cancel()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result, err := f.call(ctx, args)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), skill.ErrProviderTimeout):
		return nil, fmt.Errorf("%w (%s): %w", skill.ErrProviderTimeout, f.Timeout, err)
	case err != nil:
		return nil, err
	}
	raw, err := json.Marshal(result)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: its result is no JSON: %w", skill.ErrExecutionFailed, err)
	case len(raw) > skill.MaxResult:
		return nil, fmt.Errorf("%w: its result has %d bytes of JSON, and %d are allowed", skill.ErrExecutionFailed,
			len(raw), skill.MaxResult)
	}
	if text, ok := result.(string); ok {
		return text, nil
	}
	return json.RawMessage(raw), nil
}
