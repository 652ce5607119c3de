package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// Limits of what is kept of the calls of an answer.
const (
	maxFolded   = 100     // calls; later ones have their line only
	maxUnfolded = 8 << 10 // characters of arguments or a result that are shown
)

// fold is a call of an answer. A person at a terminal sees a line of it, until they ask for the rest.
type fold struct {
	call   chat.Call
	result *chat.Result
}

// fold prints the line of a call: whole where nobody can unfold it.
func (r *reply) fold(call chat.Call) {
	if !r.Screen {
		r.note("· %s %s", call.Name, call.Arguments)
		return
	}
	number := "…"
	if len(r.calls) < maxFolded {
		r.calls = append(r.calls, fold{call: call})
		number = strconv.Itoa(len(r.calls))
	}
	line := fmt.Sprintf("· %s %s %s", number, call.Name, printable.OneLine(string(call.Arguments)))
	r.note("%s", ansi.Truncate(line, terminal.Width(), "…"))
}

// finish keeps the result of a call.
func (r *reply) finish(result chat.Result) {
	for i := range r.calls {
		if c := &r.calls[i]; c.call.ID == result.CallID && c.result == nil {
			c.result = &result
			return
		}
	}
}

// Unfold is the command that shows the calls of the last answer, with arguments and results.
const Unfold = "/calls"

// unfold prints the calls of the last answer, or the one with a number.
func (c *Conversation) unfold(which string) error {
	from, to := 0, len(c.calls)
	if which != "" {
		n, err := strconv.Atoi(which)
		if err != nil || n < 1 || n > to {
			return config.Usagef("the last answer has no call %q; it has %s", which,
				phrase.Count(c.Language, to, "call"))
		}
		from, to = n-1, n
	}
	if from == to {
		fmt.Fprintln(c.Out, phrase.In(c.Language, "The last answer called no tool."))
	}
	for i, f := range c.calls[from:to] {
		var args bytes.Buffer
		if json.Indent(&args, f.call.Arguments, "", "  ") != nil { // the model decides what it writes
			args.Reset()
			args.Write(f.call.Arguments)
		}
		mark, text := "…", phrase.In(c.Language, "There is no result yet.")
		if f.result != nil {
			mark, _ = result(c.Language, *f.result)
			text = f.result.Text
		}
		fmt.Fprintf(c.Out, "%s %d %s\n%s%s", strings.TrimSpace(mark), from+i+1, printable.OneLine(f.call.Name),
			c.part(args.String()), c.part(text))
	}
	return nil
}

// part is a text below the line of a call.
func (c *Conversation) part(text string) string {
	if text == "" {
		return ""
	}
	return terminal.Indent("  ", ansi.Truncate(strings.TrimSpace(text), maxUnfolded, "…"), c.LineWidth())
}

// await tells a person at a terminal who may decide about a call that waits; its text has been said.
func (r *reply) await(a session.Await) {
	if a.For != session.Approval || a.Question != "" || !r.OnTerminal() {
		return
	}
	who := phrase.In(r.Language, "you or an operator may decide")
	if a.Theirs {
		who = phrase.In(r.Language, "those who were asked or an operator may decide")
	}
	r.note("· %s: %s", tool.Label(a.Tool, a.Original), who)
	r.waiting = append(r.waiting, a)
}

// offers are the answers to a call that waits: the buttons of other channels.
func (c *Conversation) offers() (texts []string, hint string) {
	labels, texts := approval.Buttons(c.waiting)
	if len(texts) == 0 {
		return nil, ""
	}
	return texts, phrase.In(c.Language, "Tab: %s", strings.Join(labels, " / "))
}
