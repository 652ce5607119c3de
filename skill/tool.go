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

// Source is the source of skills among the tools of a catalog.
const Source = "skill"

// Check returns the first reason why a skill is unfit for use, or nil.
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

// checkForm is Check without compiling the parameters.
func checkForm(s Skill) error {
	switch {
	case s.Name() == "":
		return errors.New("a skill has no name")
	case strings.TrimSpace(s.Description()) == "":
		return fmt.Errorf("skill %q has no description: models choose by it", s.Name())
	case strings.HasPrefix(strings.ToLower(ToolName(s.Name())), serverTools):
		return fmt.Errorf("skill %q: names that begin with %s belong to the tools of MCP servers", s.Name(),
			serverTools)
	}
	if _, guide := s.(Guide); guide {
		return nil // it is named like its folder, not like a tool
	}
	if err := Definition(s).Check(); err != nil {
		return fmt.Errorf("skill %q: %w", s.Name(), err)
	}
	return nil
}

// Definition returns the tool definition of a skill.
func Definition(s Skill) tool.Definition {
	d := DetailsOf(s)
	return tool.Definition{
		Name: ToolName(s.Name()), Description: s.Description(), Parameters: s.Parameters(),
		Risk: d.Risk, Replay: d.Replay, Timeout: d.Timeout, Version: d.Version, Groups: d.Groups, Channels: d.Channels,
		Aliases: d.Aliases, Examples: d.Examples, Translations: d.Translations, Body: d.Body, Source: Source,
	}
}

var notInToolNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// ToolName returns the name by which a model calls a skill. A SKILL.md may have a
// name in any script, but tools have ASCII names.
func ToolName(name string) string {
	if name = notInToolNames.ReplaceAllString(name, "_"); len(name) > 64 {
		name = name[:64]
	}
	return name
}

// Execute validates the arguments and runs a skill. A panic becomes
// ErrExecutionFailed. Each call compiles the parameters; [Table.Call] does that
// once.
func Execute(ctx context.Context, s Skill, args json.RawMessage) (result any, err error) {
	schema, err := compile(s)
	return execute(ctx, s, schema, err, args)
}

// compile compiles a skill's parameters.
func compile(s Skill) (*tool.Schema, error) { return tool.CompileSchema(Definition(s).Schema()) }

// execute is Execute with the compiled parameters, or the error of compiling them.
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

// asTool is a skill as a tool. The caller has validated the arguments.
type asTool struct {
	skill      Skill
	definition tool.Definition
}

// AsTool returns a skill as a tool.
func AsTool(s Skill) tool.Tool { return &asTool{s, Definition(s)} }

func (t *asTool) Definition() tool.Definition { return t.definition }

// Call executes the skill. A text is the result as it is; anything else goes to the
// model as JSON and to the user as data.
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
		return chat.Result{}, fmt.Errorf("skill %s: its result is not JSON: %w", t.skill.Name(), ErrExecutionFailed)
	}
	return chat.Result{Text: string(raw), View: &chat.View{Data: raw}}, nil
}
