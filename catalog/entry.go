package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Entry is one tool of one catalog. It is immutable and safe for concurrent use.
type Entry struct {
	*Registration
	filterNumber int
	position     int
}

// Registration is a tool as it was registered. The entries of a tool that did not
// change share it from catalog to catalog.
type Registration struct {
	// Definition describes the tool. Its Risk is never empty.
	Definition tool.Definition
	// JSON is the definition as models read it: the same bytes for the same definition
	// in every process. Do not change it.
	JSON json.RawMessage
	// Tokens estimates the cost of JSON in a request.
	Tokens int

	tool     tool.Tool
	filter   *filter
	supplier string // see [Registry.Supply]; empty for the program
	lazy     *lazy
}

// filter is a FilterFunc with an identity, so that it is called once for all tools
// that were registered with it.
type filter struct{ allow tool.FilterFunc }

// lazy is what is computed from a registration when it is first needed.
type lazy struct {
	once   sync.Once
	schema *tool.Schema
	err    error

	hashed sync.Once
	hash   string
}

func newRegistration(t tool.Tool, f *filter) (*Registration, error) {
	d := t.Definition()
	if err := d.Check(); err != nil {
		return nil, err
	}
	if d.Risk == "" {
		d.Risk = tool.Write
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", d.Name, err)
	}
	return &Registration{Definition: d, JSON: raw, Tokens: chat.Tokens(raw), tool: t, filter: f, lazy: &lazy{}}, nil
}

// Position is the tool's place in its catalog, -1 when a later tool of the
// same name has replaced it.
func (e *Entry) Position() int { return e.position }

// Filter is the number of the filter that guards the tool, from 1 on; 0 means
// that everybody may see it. Tools that share a filter share its number.
func (e *Entry) Filter() int { return e.filterNumber }

// On reports whether the tool exists on a channel.
func (e *Entry) On(channel string) bool {
	return len(e.Definition.Channels) == 0 || slices.Contains(e.Definition.Channels, channel)
}

// Visible reports whether the tool's filter lets the caller see and call the tool; for
// rules see [Catalog.Denied]. A filter that panics hides its tool, and the panic is the
// error.
func (e *Entry) Visible(f *chat.Facts) (ok bool, err error) {
	if e.filter == nil {
		return true, nil
	}
	defer func() {
		if p := recover(); p != nil {
			ok, err = false, fmt.Errorf("its filter panicked: %v: %w", p,
				&PanicError{e.Definition.Name, p, debug.Stack()})
		}
	}()
	return e.filter.allow(*f), nil
}

// Schema compiles the schema of the tool's arguments, once.
func (e *Entry) Schema() (*tool.Schema, error) {
	e.lazy.once.Do(func() {
		e.lazy.schema, e.lazy.err = e.Definition.Compile()
	})
	return e.lazy.schema, e.lazy.err
}

// Normalize returns arguments in the form of a [tool.Normalizer]. Call it before the rules
// judge a call, with the context in which the tool will run.
func (e *Entry) Normalize(ctx context.Context, args json.RawMessage) json.RawMessage {
	if n, ok := e.tool.(tool.Normalizer); ok {
		return n.Normalize(ctx, args)
	}
	return args
}

// Run runs the tool for any caller. The caller has checked the visibility and validated
// the arguments before. A panic in the tool becomes a [*PanicError].
func (e *Entry) Run(ctx context.Context, args json.RawMessage) (result chat.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{e.Definition.Name, p, debug.Stack()}
		}
	}()
	return e.tool.Call(ctx, args)
}

// PanicError is the error of a tool, filter or guide that panicked, or of what runs it.
// Its text leaves out the value, which is for operators.
type PanicError struct {
	Tool  string // may be empty
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Tool == "" {
		return "it failed unexpectedly"
	}
	return fmt.Sprintf("tool %s failed unexpectedly", e.Tool)
}
