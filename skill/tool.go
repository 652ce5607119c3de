package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Source is the source of the tools that skills are, in the catalog.
const Source = "skill"

// Check reports the first thing that makes a skill unfit for use.
func Check(s Skill) error {
	err := checkForm(s)
	if _, guide := s.(Guide); err != nil || guide {
		return err
	}
	if _, err := compile(s); err != nil {
		return fmt.Errorf("skill %q: parameters: %w", s.Name(), err)
	}
	return nil
}

// checkForm is Check without the parameters' schema.
func checkForm(s Skill) error {
	switch {
	case s.Name() == "":
		return errNoName
	case strings.TrimSpace(s.Description()) == "":
		return fmt.Errorf("skill %q has no description: models choose by it", s.Name())
	}
	if _, guide := s.(Guide); guide {
		return nil // its name is that of a folder, and no tool's
	}
	if err := Definition(s).Check(); err != nil {
		return fmt.Errorf("skill %q: %w", s.Name(), err)
	}
	return nil
}

// Definition returns the tool that a skill is.
func Definition(s Skill) tool.Definition {
	d := DetailsOf(s)
	return tool.Definition{
		Name: ToolName(s.Name()), Description: s.Description(), Parameters: s.Parameters(),
		Risk: d.Risk, Replay: d.Replay, Version: d.Version, Groups: d.Groups, Channels: d.Channels,
		Aliases: d.Aliases, Examples: d.Examples, Translations: d.Translations, Body: d.Body, Source: Source,
	}
}

var notInToolNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// ToolName is what a model calls a skill. Skills of a SKILL.md may have names in
// any script, models know only ASCII.
func ToolName(name string) string {
	if name = notInToolNames.ReplaceAllString(name, "_"); len(name) > 64 {
		name = name[:64]
	}
	return name
}

// Execute runs a skill. The arguments are held against its parameters first, and
// a panic is ErrExecutionFailed: nothing that a skill does harms its caller. The
// parameters are compiled anew; [Table.Call] does that once.
func Execute(ctx context.Context, s Skill, args json.RawMessage) (result any, err error) {
	schema, err := compile(s)
	return execute(ctx, s, schema, err, args)
}

// compile compiles a skill's parameters.
func compile(s Skill) (*tool.Schema, error) { return tool.CompileSchema(Definition(s).Schema()) }

// execute is Execute with the compiled parameters, or why they could not be.
func execute(ctx context.Context, s Skill, schema *tool.Schema, err error, args json.RawMessage) (any, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err == nil {
		err = schema.Validate(args)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidParams, err)
	}
	return run(ctx, s, args)
}

func run(ctx context.Context, s Skill, args json.RawMessage) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("skill %s: %w unexpectedly", s.Name(), ErrExecutionFailed)
		}
	}()
	result, err = s.Execute(ctx, args)
	if err != nil && Status(err) == 500 && !errors.Is(err, ErrExecutionFailed) && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %w", ErrExecutionFailed, err)
	}
	return result, err
}

// asTool is a skill as a tool of the catalog, which validates the arguments.
type asTool struct {
	skill      Skill
	definition tool.Definition
}

// AsTool returns the tool that a skill is.
func AsTool(s Skill) tool.Tool { return &asTool{s, Definition(s)} }

func (t *asTool) Definition() tool.Definition { return t.definition }

// Call executes the skill. A text is the result as it is, anything else is told
// as JSON and shown as data.
func (t *asTool) Call(ctx context.Context, args json.RawMessage) (chat.Result, error) {
	out, err := run(ctx, t.skill, args)
	if err != nil {
		return chat.Result{}, err
	}
	if text, ok := out.(string); ok {
		return tool.Text(text), nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return chat.Result{}, fmt.Errorf("skill %s: its result is no JSON: %w", t.skill.Name(), ErrExecutionFailed)
	}
	return chat.Result{Text: string(raw), View: &chat.View{Data: raw}}, nil
}
