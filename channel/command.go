package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/usage"
)

// Commands are what people can write in every channel.
func Commands() []Command {
	list := make([]Command, len(commands))
	for i, c := range commands {
		list[i] = c.Command
	}
	return list
}

// command is a Command with its answer; nil leaves it to the engine.
type command struct {
	Command
	args string
	run  func(a *account, ctx context.Context, em engine.Message, rest string) (string, error)
}

var commands = []command{
	{Command{"help", "this list"}, "", nil},
	{Command{"new", "start a new conversation"}, "", nil},
	{Command{"stop", "stop what is running"}, "", nil},
	{Command{"status", "what runs, and what waits for you"}, "", (*account).status},
	{Command{"skill", "make a skill active; full is everything, auto what the agent or the phase of a workflow has"}, "NAME", nil},
	{Command{"tools", "find the tools that you can use"}, "WORDS", (*account).tools},
	{Command{"why", "which tools your last message got, and why"}, "", (*account).why},
	{Command{"model", "which model answers"}, "", (*account).model},
	{Command{"usage", "which tools your last turns used"}, "", (*account).usage},
	{Command{"memory", "what is remembered of this conversation"}, "", (*account).memory},
	{Command{"approve", "let a call run that waits"}, "[ID]", nil},
	{Command{"deny", "decline a call that waits"}, "[ID] [WHY]", nil},
	{Command{"whoami", "who you are here"}, "", (*account).whoami},
}

// command answers a command that needs no turn. It reports whether the message is done.
func (a *account) command(ctx context.Context, m Incoming, em engine.Message) (done bool, err error) {
	name, rest, _ := strings.Cut(em.Text, " ")
	name, found := strings.CutPrefix(strings.TrimSpace(name), "/")
	if !found || name == "" || strings.ContainsAny(name, "/.\n") {
		return false, nil
	}
	if _, bot, ok := strings.Cut(name, "@"); m.Group && ok && bot != "" {
		return true, nil // it is for another program; adapters take the account's own name away
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.Name == name })
	text := ""
	switch {
	case "/"+name == engine.Compact, "/"+name == engine.Run && len(a.engine.Workflows().Names()) > 0:
		return false, nil
	case i < 0 && name != "start" && m.Group && !m.Mentioned:
		return true, nil // another program's, probably
	case i < 0 && name != "start":
		text = fmt.Sprintf("There is no command /%s%s\n/help lists them all.", printable.Line(name, 40), cmp.Or(nearest.Hint(name, func(yield func(string) bool) {
			for _, c := range commands {
				if !yield(c.Name) {
					return
				}
			}
		}), "."))
	case name == "help" || name == "start": // Telegram's button for the first message says that
		text = help(a.engine.Workflows().Names())
	case commands[i].run == nil:
		return false, nil
	default:
		ctx, done := context.WithTimeout(ctx, 20*time.Second)
		defer done()
		if text, err = commands[i].run(a, ctx, em, strings.TrimSpace(rest)); err != nil {
			if errors.Is(err, engine.ErrStore) || errors.Is(err, engine.ErrBusy) {
				return true, err // the platform sends it again
			}
			text = engine.Excuse(err)
		}
	}
	if a.handled.Add(m.key(), true) {
		a.answer(m, text)
	}
	return true, nil
}

func help(workflows []string) string {
	var b strings.Builder
	if len(workflows) > 0 {
		fmt.Fprintf(&b, "- %s NAME TEXT: run a workflow (%s); alone: go on with it\n", engine.Run, strings.Join(workflows, ", "))
	}
	for _, c := range commands {
		fmt.Fprintf(&b, "- %s: %s\n", strings.TrimSpace("/"+c.Name+" "+c.args), c.Help)
	}
	return b.String()
}

func (a *account) whoami(_ context.Context, em engine.Message, _ string) (string, error) {
	w, err := a.engine.Whoami(em)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s on %s (%s).", cmp.Or(w.User, "unknown"), w.Channel, w.Kind)
	for _, l := range []struct {
		what string
		list []string
	}{{"Roles", w.Roles}, {"Groups", w.Groups}, {"Roles here", w.PlatformRoles}} {
		if len(l.list) > 0 {
			fmt.Fprintf(&b, "\n%s: %s", l.what, strings.Join(l.list, ", "))
		}
	}
	return b.String(), nil
}

func (a *account) status(ctx context.Context, em engine.Message, _ string) (string, error) {
	w, err := a.engine.Whoami(em)
	if err != nil {
		return "", err
	}
	n, err := a.engine.Waiting(ctx, w.Session)
	if err != nil {
		return "", err
	}
	waiting, err := a.engine.ApprovalsFor(ctx, em)
	if err != nil {
		return "", err
	}
	agent := cmp.Or(em.Agent, a.engine.Agents()[0])
	var b strings.Builder
	fmt.Fprintf(&b, "The agent %s answers here.", agent)
	if f, err := a.engine.Flow(ctx, w.Session); err == nil && f.Runs() {
		fmt.Fprintf(&b, "\nThe workflow %s is in the phase %s: visit %d, round %d, %d tokens so far.", f.Workflow, f.Phase, f.Visits[f.Phase], f.Round, f.AllTokens)
	}
	fmt.Fprintf(&b, "\nMessages that run or wait: %d", n)
	for _, w := range waiting {
		fmt.Fprintf(&b, "\nWaits for you: %s %s (/approve %s or /deny %s)", w.Tool, printable.Line(cmp.Or(w.Question, w.Arguments), 120), w.ID, w.ID)
	}
	return b.String(), nil
}

// tools lists what the sender's words find among what the sender may use.
func (a *account) tools(ctx context.Context, em engine.Message, words string) (string, error) {
	if words == "" {
		return "Say what to find: /tools WORDS", nil
	}
	em.Text, em.Files, em.Reply = words, nil, nil
	sel, err := a.engine.Select(ctx, em)
	if err != nil {
		return "", err
	}
	x := sel.Explain()
	var b strings.Builder
	n := 0
	for _, v := range x.Tools {
		if !v.Stage.Usable() || v.Score <= 0 || n == 10 {
			continue
		}
		if e, ok := sel.Catalog().Get(v.Tool); ok {
			n++
			fmt.Fprintf(&b, "- %s: %s\n", v.Tool, printable.Line(e.Definition.Description, 100))
		}
	}
	if n == 0 {
		return "Nothing that you can use fits these words.", nil
	}
	return b.String(), nil
}

func (a *account) why(ctx context.Context, em engine.Message, _ string) (string, error) {
	em.Text, em.Files = "", nil
	turns, err := a.engine.Why(ctx, em, 1, true)
	if err != nil {
		return "", err
	}
	if len(turns) == 0 {
		return "There is no message yet that could be explained.", nil
	}
	t := turns[0]
	var b strings.Builder
	fmt.Fprintf(&b, "For “%s” the model was shown these tools:\n", printable.Line(t.Text, 100))
	n := 0
	for _, s := range slices.Concat(t.Selection.Declared, t.Selection.Announced) {
		if n++; n <= 15 {
			fmt.Fprintf(&b, "- %s%s\n", s.Tool, reason(s))
		}
	}
	if n > 15 {
		fmt.Fprintf(&b, "and %d more\n", n-15)
	}
	if n == 0 {
		b.WriteString("none\n")
	}
	return b.String(), nil
}

// reason says how a tool came to be shown.
func reason(s selection.Scored) string {
	switch {
	case s.Score > 0:
		return fmt.Sprintf(" (fits your words, score %.1f)", s.Score)
	case s.Kept:
		return " (from an earlier message)"
	}
	return ""
}

func (a *account) model(_ context.Context, em engine.Message, _ string) (string, error) {
	s, err := a.engine.AgentStatus(em.Agent)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answers with the model %s.", s.Name, s.Model), nil
}

func (a *account) usage(ctx context.Context, em engine.Message, _ string) (string, error) {
	w, err := a.engine.Whoami(em)
	if err != nil {
		return "", err
	}
	past, err := a.engine.PastTurns(ctx, usage.Filter{User: w.Sender, Limit: 20})
	if err != nil {
		return "", err
	}
	if !past.Keep || w.Sender == "" {
		return "No record of past turns is kept.", nil
	}
	used := map[string]int{}
	for _, t := range past.Turns {
		for _, name := range t.Tools {
			used[name]++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Your last %s used:", printable.Count(len(past.Turns), "turn"))
	for _, name := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&b, "\n- %s: %d", name, used[name])
	}
	if len(used) == 0 {
		b.WriteString(" no tool")
	}
	return b.String(), nil
}

func (a *account) memory(_ context.Context, em engine.Message, _ string) (string, error) {
	f, err := a.engine.Caller(em)
	if err != nil {
		return "", err
	}
	r, unable := a.engine.Remembered(f, 3)
	if unable != nil {
		return "Nothing is remembered here: " + unable.Error() + ".", nil //nolint:nilerr // that is the answer
	}
	var b strings.Builder
	b.WriteString(r.Text)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n\n%s\n%s", n.Day, n.Text)
	}
	if strings.TrimSpace(b.String()) == "" {
		return "Nothing is remembered yet.", nil
	}
	return b.String(), nil
}
