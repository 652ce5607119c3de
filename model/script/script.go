// Package script plays the answers of a file in place of a language model: for tests, and
// for a first look without a key. Its answers are made up, and its name says so:
// "scripted/NAME".
//
// It has no state. The n-th answer of a conversation is the n-th answer of the file, so a
// conversation goes on as it would have after its process has ended.
package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/model"
)

// Script is a list of answers.
type Script struct {
	// Name is what the model is called, after "scripted/".
	Name string `yaml:"name" help:"What the model is called. Default: the file's name."`
	// Answers are what it says, in order.
	Answers []Answer `yaml:"answers" required:"true" help:"What it says, in order."`
}

// Answer is one answer: a text, calls, or both.
type Answer struct {
	Text  string `yaml:"text" help:"What the model says."`
	Calls []Call `yaml:"calls" help:"The tools that it calls."`
}

// Call is a call of a tool.
type Call struct {
	Name string `yaml:"name" required:"true" help:"Name of the tool."`
	// Arguments are JSON; nil means none.
	Arguments json.RawMessage `yaml:"arguments" help:"Its arguments, as a mapping."`
}

// The bounds of a file.
const (
	maxFile  = 4 << 20
	maxDepth = 40
	maxNodes = 200_000
)

// Read reads a script from a YAML file. The error has the place of each mistake.
func Read(file string) (*Model, error) {
	dir, err := os.OpenRoot(filepath.Dir(file)) // a link must not lead out of the folder
	if err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	defer dir.Close()
	name := filepath.Base(file)
	if info, err := dir.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading the script: %s is not a regular file", file)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("reading the script: %s is longer than 4 MiB", file)
	}
	s, err := Parse(file, text)
	if err != nil {
		return nil, err
	}
	return New(s), nil
}

// Parse reads a script from a text; messages name it file.
func Parse(file string, text []byte) (s Script, err error) {
	root, bad := form.Parse(string(text), maxDepth)
	if bad != nil {
		return s, form.Problem{File: file, Line: bad.Line, Column: bad.Column, Message: bad.Message}
	}
	if root == nil {
		return s, form.Problem{File: file, Message: "the script is empty; it needs answers"}
	}
	r := &form.Reader{File: file, Depth: maxDepth, Nodes: maxNodes, Value: arguments}
	r.Text = func(n *yaml.Node, path string) (string, bool) {
		if n.Kind != yaml.ScalarNode {
			r.Fail(n, path, "%s must be a single value, not %s", path, form.KindOf(n))
			return "", false
		}
		return n.Value, true
	}
	if r.Resolve(root) {
		r.Decode(root, &s)
	}
	var errs []error
	for _, p := range r.Problems {
		errs = append(errs, p)
	}
	s.Name = cmp.Or(s.Name, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	return s, errors.Join(errs...)
}

// arguments reads a mapping as JSON.
func arguments(n *yaml.Node, v any, _ string) bool {
	to, ok := v.(*json.RawMessage)
	if !ok {
		return false
	}
	var value map[string]any
	if n.Kind != yaml.MappingNode || n.Decode(&value) != nil {
		return false
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return false
	}
	*to = raw
	return true
}

// Model plays a script. It is safe for concurrent use.
type Model struct{ script Script }

var _ model.Model = (*Model)(nil)

// New returns a model that plays a script.
func New(s Script) *Model { return &Model{s} }

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{Name: "scripted/" + cmp.Or(m.script.Name, "script")}
}

// over is the answer after the last one.
const over = "(The script has no more answers.)"

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Event{}, err)
			return
		}
		n, input := 0, chat.Tokens(req.System)
		for _, said := range req.Messages {
			if said.Role == chat.Assistant {
				n = after(said, n+1)
			}
			input += size(said)
		}
		for _, d := range req.Tools {
			raw, _ := json.Marshal(d) // a definition is JSON
			input += chat.Tokens(raw)
		}
		a := Answer{Text: over}
		if n < len(m.script.Answers) {
			a = m.script.Answers[n]
		}
		if a.Text != "" && !yield(model.Event{Text: a.Text}, nil) {
			return
		}
		output, stop := chat.Tokens(a.Text), model.Done
		for i, c := range a.Calls {
			args := c.Arguments
			if args == nil {
				args = json.RawMessage("{}")
			}
			output, stop = output+chat.Tokens(args), model.ToolCalls
			if !yield(model.Event{Call: &chat.Call{ID: fmt.Sprintf(callID, n, i+1), Name: c.Name, Arguments: args}},
				nil) {
				return
			}
		}
		yield(model.Event{Stop: stop, Usage: &model.Tokens{Input: input, Output: output}}, nil)
	}
}

// callID is the ID of a call, with the number of its answer: older answers may not be sent
// any more.
const callID = "script_%d_%d"

// after is the number of the answer that comes after a message, unless the message tells
// another one.
func after(said chat.Message, next int) int {
	for _, c := range said.Calls {
		var answer, call int
		if n, _ := fmt.Sscanf(c.ID, callID, &answer, &call); n == 2 {
			return answer + 1
		}
	}
	return next
}

// size estimates the tokens of a message.
func size(m chat.Message) int {
	n := chat.Tokens(m.Note) + chat.Tokens(m.Text)
	for _, c := range m.Calls {
		n += chat.Tokens(c.Arguments)
	}
	if m.Result != nil {
		n += chat.Tokens(m.Result.Text)
	}
	return n
}

// Script returns what the model plays. The caller must not change it.
func (m *Model) Script() Script { return m.script }
