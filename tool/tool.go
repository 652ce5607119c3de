// Package tool says what a tool is: a function that a model can call, with the
// definition that describes it.
//
// A [Tool] is safe for concurrent use: calls of many conversations run at the
// same time. [Func] turns an ordinary typed Go function into one.
//
// The package knows nothing about catalogs, models or channels, and it makes no
// decisions: packages catalog and selection decide who may see and call a tool, from
// its definition and its [FilterFunc].
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/plainjson"
)

// Tool is a function that a model can call.
type Tool interface {
	// Definition describes the tool. It returns the same value every time: a
	// changed tool is a new tool that replaces the old one.
	Definition() Definition
	// Call runs the tool. The arguments are a JSON object that matches the
	// definition's parameters. A failure that the model can do something about
	// is a Result with Failed set; an error means the same and its text goes to
	// the model too, so neither may hold a secret. Call returns soon after ctx
	// ends.
	Call(ctx context.Context, args json.RawMessage) (chat.Result, error)
}

// Normalizer is a [Tool] that can write different arguments with one meaning in one form, such as
// the paths "./a" and "b/../a". Rules judge that form, records show it, and the tool gets it.
// Values that cannot be written so stay as they are.
type Normalizer interface {
	Tool
	Normalize(ctx context.Context, args json.RawMessage) json.RawMessage
}

// Definition describes a tool to models, to people and to the ranking.
// Name is the only field that must be set.
type Definition struct {
	// Name is what the model calls: 1 to 64 letters, digits, '_', '-' and '.'.
	Name string
	// Original is the tool's name where it comes from, if models cannot read that one. People
	// read both, and rules and toolsets may name either.
	Original string
	// Description tells the model what the tool does and when to use it.
	Description string
	// Translations are the description in other languages, by BCP 47 tag
	// ("zh"). People and the ranking read them; models do not, so they cost no
	// tokens.
	Translations map[string]string
	// Aliases are other names and phrases that people use for the tool, in any
	// language. The ranking reads them; models do not.
	Aliases []string
	// Examples are questions that the tool answers, as users ask them, in any
	// language. The ranking reads them; models do not.
	Examples []string
	// Body is a longer text about the tool, such as that of a SKILL.md. The
	// ranking reads its first 8 KiB, lightly; models do not.
	Body string
	// Parameters is a JSON Schema (draft 2020-12) of type object. Nil means
	// that the tool takes no arguments.
	Parameters json.RawMessage
	// Arguments is the schema that arguments are checked against; nil means Parameters. The
	// two differ if models can read a part only: Arguments may refer to itself, be large, and
	// have properties of any name.
	Arguments json.RawMessage
	// Spellings are the names of properties in Arguments, by those that models read in their place.
	Spellings map[string]string
	// Groups are the tags under which the tool is found.
	Groups []string
	// Channels are the only channels on which the tool exists, as in "telegram"; empty
	// means all. On others it is neither ranked nor found, described or run. On its own
	// channels the recommender puts it before tools that exist everywhere.
	Channels []string
	// Risk is what a call can do to the world. Zero means Write.
	Risk Risk
	// Replay says how a call may be repeated after a crash. Empty means [Safe] when
	// Risk is Read, else [Never].
	Replay Replay
	// Timeout is how long a call may take; 0 leaves it to the host.
	Timeout time.Duration
	// Version tells releases of the tool apart; free text, may be empty.
	Version string
	// Source is where the tool came from: "builtin", "demo", a file, a server. Empty
	// means that the program registered it.
	Source string
}

// Label returns a tool's name for people, with its original one if that is another.
func Label(name, original string) string {
	if original == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, original)
}

// Risk is what a call can do to the world.
type Risk string

// The risks, from harmless to harmful.
const (
	// Read looks and changes nothing. Read-only calls may run in parallel.
	Read Risk = "read"
	// Write changes something that can be changed back.
	Write Risk = "write"
	// Destructive changes something that cannot be undone.
	Destructive Risk = "destructive"
)

// Risks lists every risk, from harmless to harmful.
func Risks() []Risk { return []Risk{Read, Write, Destructive} }

// FilterFunc reports whether the caller may see and call a tool. It must be
// safe for concurrent use, fast and free of I/O: it runs for every selection.
// One that panics hides its tool.
type FilterFunc func(chat.Facts) bool

// Text is a result that says the same to the model and nothing more to the user.
func Text(text string) chat.Result { return chat.Result{Text: text} }

// Failure is a result that tells the model what went wrong.
func Failure(format string, args ...any) chat.Result {
	text := fmt.Sprintf(format, args...)
	return chat.Result{Text: text, Failed: true, View: &chat.View{Error: text}}
}

// Check reports the first thing in d that no model or catalog would accept.
// It does not compile the schema: see [CompileSchema].
func (d Definition) Check() error {
	if d.Name == "" {
		return fmt.Errorf("a tool has no name")
	}
	if len(d.Name) > 64 {
		return fmt.Errorf("tool name %q has %d characters, at most 64 are allowed", d.Name[:64]+"…", len(d.Name))
	}
	if i := strings.IndexFunc(d.Name, func(r rune) bool { return !nameRune(r) }); i >= 0 {
		return fmt.Errorf("tool name %q: only letters, digits, '_', '-' and '.' are allowed", d.Name)
	}
	if d.Risk != "" && !slices.Contains(Risks(), d.Risk) {
		return fmt.Errorf("tool %s: unknown risk %q; it is read, write or destructive", d.Name, d.Risk)
	}
	if d.Replay != "" && !slices.Contains(Replays(), d.Replay) {
		return fmt.Errorf("tool %s: unknown replay %q; it is safe, keyed or never", d.Name, d.Replay)
	}
	if d.Timeout < 0 {
		return fmt.Errorf("tool %s: the timeout is %v, less than nothing", d.Name, d.Timeout)
	}
	for _, g := range d.Groups {
		if g == "" || strings.ContainsAny(g, ", \t\n") {
			return fmt.Errorf("tool %s: group %q is empty or holds a comma or a space", d.Name, g)
		}
	}
	if slices.Contains(d.Channels, "") {
		return fmt.Errorf("tool %s: a channel is empty", d.Name)
	}
	if d.Parameters != nil {
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(d.Parameters, &head); err != nil {
			return fmt.Errorf("tool %s: parameters are not a JSON Schema: %w", d.Name, err)
		}
		if head.Type != "object" {
			return fmt.Errorf("tool %s: parameters have type %q, models need \"object\"", d.Name, head.Type)
		}
	}
	return nil
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
}

// noParameters is the schema of a tool that takes no arguments.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// Schema returns the parameters that models read: d.Parameters without insignificant
// space, or the schema of an empty object.
func (d Definition) Schema() json.RawMessage {
	if d.Parameters == nil {
		return noParameters
	}
	var b bytes.Buffer
	if err := json.Compact(&b, d.Parameters); err != nil {
		return noParameters
	}
	return b.Bytes()
}

// Compile compiles the schema that arguments are checked against.
func (d Definition) Compile() (*Schema, error) {
	if d.Arguments != nil {
		return CompileArguments(d.Arguments)
	}
	return CompileSchema(d.Schema())
}

// Respell returns arguments with the names of properties that the tool knows.
func (d Definition) Respell(args json.RawMessage) json.RawMessage {
	if len(d.Spellings) == 0 {
		return args
	}
	value, err := plainjson.Decode(args)
	if err != nil {
		return args
	}
	respelled, err := json.Marshal(respell(value, d.Spellings))
	if err != nil {
		return args
	}
	return respelled
}

func respell(value any, names map[string]string) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = respell(v[i], names)
		}
	case map[string]any:
		known := make(map[string]any, len(v))
		for name, inner := range v {
			if original, ok := names[name]; ok && v[original] == nil {
				name = original
			}
			known[name] = respell(inner, names)
		}
		return known
	}
	return value
}

// MarshalJSON writes the definition as an OpenAI function tool. The bytes depend on nothing but
// name, description and parameters, so that they are the same from turn to turn and from process to
// process. Invalid UTF-8 is replaced.
func (d Definition) MarshalJSON() ([]byte, error) {
	schema := d.Schema()
	b := make([]byte, 0, len(d.Name)+len(d.Description)+len(schema)+perDefinition)
	b = append(b, `{"type":"function","function":{"name":`...)
	b, _ = jsontext.AppendQuote(b, d.Name)
	if d.Description != "" {
		b = append(b, `,"description":`...)
		b, _ = jsontext.AppendQuote(b, d.Description)
	}
	b = append(b, `,"parameters":`...)
	b = append(b, schema...)
	return append(b, "}}"...), nil
}

// perDefinition is about how many bytes a definition takes beside its texts.
const perDefinition = 96
