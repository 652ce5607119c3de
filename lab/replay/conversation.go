package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Conversation is what one user said in one place, and the tools needed for it.
// docs/replay.md describes the file format.
type Conversation struct {
	// ID names the conversation in reports. Required, unique.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Lang is the language of the user, as in "en". It groups figures, no more.
	Lang string `json:"lang,omitempty"`
	// Channel to Attrs say where it takes place and who speaks, as in an
	// [engine.Message].
	Channel string            `json:"channel,omitempty"`
	Chat    string            `json:"chat,omitempty"`
	User    string            `json:"user,omitempty"`
	Roles   []string          `json:"roles,omitempty"`
	Attrs   map[string]string `json:"attrs,omitempty"`
	// Agent names the agent that answers; empty means the first one.
	Agent string `json:"agent,omitempty"`
	Turns []Turn `json:"turns"`
}

// Turn is one message of the user, with what a good answer to it needs.
type Turn struct {
	Text string `json:"text"`
	// Tools are the tools that the turn needs, in the order of their calls. Without
	// any, the model answers by itself.
	Tools []Need `json:"tools,omitempty"`
	// Skill is active from this turn on; empty changes nothing.
	Skill string `json:"skill,omitempty"`
	// Pause is how long the user was silent before this turn; 0 means 45 seconds.
	Pause Duration `json:"pause,omitempty"`
	// Answer is what the model says at the end; empty means a standard sentence.
	Answer string `json:"answer,omitempty"`
}

// Need is a tool that a turn needs. In a file it may be just the name.
type Need struct {
	Name string `json:"name"`
	// Search is what a model would search for if it has not seen the tool; empty
	// means the user's text.
	Search string `json:"search,omitempty"`
	// Arguments are those of the call; empty means an example that fits the schema.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Result is what the tool answers; empty means a few plausible lines.
	Result string `json:"result,omitempty"`
}

// UnmarshalJSON reads a need, or the name of a tool.
func (n *Need) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		return json.Unmarshal(raw, &n.Name)
	}
	type plain Need
	return decode(raw, (*plain)(n))
}

// Duration is written as time.ParseDuration reads it: "30m".
type Duration time.Duration

// MarshalText writes the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration that is not negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration such as 30m", text)
	}
	*d = Duration(v)
	return nil
}

// The limits of a file. Exceeding one is an error.
const (
	maxLine          = 4 << 20 // bytes of one conversation
	maxConversations = 10_000
	maxTurns         = 1000 // of one conversation
	maxNeeds         = 20   // of one turn
)

// Read reads conversations, one JSON object per line, and skips empty lines. An
// error begins with the name and the line.
func Read(r io.Reader, name string) ([]Conversation, error) {
	var all []Conversation
	seen := map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var c Conversation
		err := decode(lines.Bytes(), &c)
		if err == nil {
			err = c.check()
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		case seen[c.ID] > 0:
			return nil, fmt.Errorf("%s:%d: the id %q is already used in line %d", name, n, c.ID, seen[c.ID])
		case len(all) == maxConversations:
			return nil, fmt.Errorf("%s:%d: more than %d conversations; split the file", name, n, maxConversations)
		}
		seen[c.ID] = n
		all = append(all, c)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s: a line is longer than %d MiB", name, maxLine>>20)
	}
	if lines.Err() != nil {
		return nil, fmt.Errorf("reading %s: %w", name, lines.Err())
	}
	return all, nil
}

// ReadFiles reads the conversations of files; "-" is in. An id may occur once only, and
// at least one conversation is required.
func ReadFiles(in io.Reader, files []string) ([]Conversation, error) {
	var all []Conversation
	for _, name := range files {
		list, err := readFile(in, name)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if slices.ContainsFunc(all, func(x Conversation) bool { return x.ID == c.ID }) {
				return nil, fmt.Errorf("%s: the id %q is used in an earlier file already", name, c.ID)
			}
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no conversation in %s", strings.Join(files, ", "))
	}
	return all, nil
}

func readFile(in io.Reader, name string) ([]Conversation, error) {
	if name == "-" {
		return Read(in, name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading conversations: %w", err)
	}
	defer file.Close()
	return Read(file, name)
}

// decode refuses unknown keys: with a misspelt "tools", a turn would seem to need
// none.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("not a conversation: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON object in a line")
	}
	return nil
}

func (c *Conversation) check() error {
	switch {
	case c.ID == "":
		return errors.New(`the conversation has no "id"`)
	case len(c.Turns) == 0:
		return fmt.Errorf("the conversation %q has no turns", c.ID)
	case len(c.Turns) > maxTurns:
		return fmt.Errorf("the conversation %q has %d turns, at most %d are replayed", c.ID, len(c.Turns), maxTurns)
	}
	for i, t := range c.Turns {
		switch {
		case t.Text == "":
			return fmt.Errorf("turn %d of %q has no text", i+1, c.ID)
		case len(t.Tools) > maxNeeds:
			return fmt.Errorf("turn %d of %q needs %d tools, at most %d are replayed", i+1, c.ID, len(t.Tools),
				maxNeeds)
		}
		for _, n := range t.Tools {
			if n.Name == "" {
				return fmt.Errorf("turn %d of %q needs a tool without a name", i+1, c.ID)
			}
		}
	}
	return nil
}
