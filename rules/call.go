package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/etui-run/etui/internal/shelltext"
)

// errNoCall is the outcome of conditions about calls where there is none yet.
var errNoCall = errors.New("it depends on the arguments")

// call is what conditions may read of a call. It is used by one goroutine.
type call struct {
	args  map[string]any
	facts *shelltext.Facts // of the command, once it was asked for
}

// newCall reads a call's arguments. Nil arguments are those of no call.
func newCall(raw json.RawMessage) (*call, error) {
	if raw == nil {
		return nil, errNoCall
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	args, ok := numbers(value).(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are no JSON object")
	}
	return &call{args: args}, nil
}

// numbers makes whole numbers int, others double, as conditions write them.
func numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return whole
		}
		number, _ := v.Float64() // infinite when it is too large
		return number
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = numbers(v[name])
		}
	}
	return value
}

// command is what the command among the arguments would do. Where there is none it
// runs nothing.
func (c *call) command() *shelltext.Facts {
	if c.facts == nil {
		facts, _ := shelltext.OfArguments(c.args)
		c.facts = &facts
	}
	return c.facts
}

// maxNamed is how many findings a reason names.
const maxNamed = 5

// found says what was found in the command, for people.
func (c *call) found() string {
	var list []string
	for _, f := range c.command().Found {
		if len(list) == maxNamed {
			list = append(list, "…")
			break
		}
		list = append(list, f.String())
	}
	return strings.Join(list, "; ")
}
