package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/rules/internal/shelltext"
)

// errNoCall is the outcome of conditions on a call where there is none yet.
var errNoCall = errors.New("it depends on the arguments")

// call is what conditions may read of a call. It is used by one goroutine.
type call struct {
	args map[string]any
	read *Command // once a condition needs it
}

// newCall reads a call's arguments. Nil arguments mean that there is no call.
func newCall(raw json.RawMessage) (*call, error) {
	if raw == nil {
		return nil, errNoCall
	}
	value, err := plainjson.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	args, ok := numbers(value).(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are no JSON object")
	}
	return &call{args: args}, nil
}

// numbers converts whole numbers to int and others to double, as conditions write them.
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

// command is what the command among the arguments would do. Without one it runs
// nothing.
func (c *call) command() *Command {
	if c.read == nil {
		facts, _ := shelltext.OfArguments(c.args)
		c.read = &Command{Programs: facts.Programs, Risks: facts.Risks}
		for _, f := range facts.Found {
			c.read.Found = append(c.read.Found, Finding(f))
		}
	}
	return c.read
}

// maxNamed is how many findings a reason names.
const maxNamed = 5

// found lists for people what the command would do.
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

// Command is what a shell command would do, as far as its text shows. Nothing is run,
// and neither files nor variables are read, so it is good for asking somebody, and for
// nothing more.
type Command struct {
	// Programs are all that it runs, each once, in the order of the text. A "?" is one
	// that the text does not name.
	Programs []string `json:"programs"`
	// Risks are the kinds of harm that it may do, each once: deletes, disk, power,
	// fork-bomb, runs-download, permissions, kills, installs, publishes, privilege,
	// remote, dynamic (its programs are not in the text) and unreadable.
	Risks []string `json:"risks"`
	// Found are the words behind each risk.
	Found []Finding `json:"found,omitempty"`
}

// Finding is a risk and the words of the command that make it one.
type Finding struct {
	Risk  string `json:"risk"`
	Words string `json:"words"`
}

func (f Finding) String() string { return f.Risk + ": " + f.Words }

// CommandOf reads the shell command among a call's arguments: the text that they call
// command, or a list of texts, which are a program and its arguments. It returns nil
// when there is none.
func CommandOf(arguments json.RawMessage) *Command {
	c, err := newCall(arguments)
	if err != nil || c.command().Programs == nil {
		return nil
	}
	return c.command()
}
