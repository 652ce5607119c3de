// Package command answers the commands that need no turn, such as /tools and /why, the same on every
// channel.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/answer"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inquiry"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/recall"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/usage"
)

// Engine is what commands ask, see [engine.Engine].
type Engine interface {
	inspect.Engine
	recall.Engine

	Answers() *answer.Answers
	Inquiries() *inquiry.Inquiries
	Learner() *learning.Learner
}

// Command is what people can write instead of a message, the same in every channel.
type Command struct {
	Name, Args, Help string
	// answer is nil for a command that is a message: Send answers it.
	answer func(ctx context.Context, e Engine, m engine.Message, rest string) (string, error)
}

// In returns the command with its words in a language.
func (c Command) In(lang string) Command {
	if c.Args != "" {
		c.Args = phrase.Word(lang, c.Args)
	}
	c.Help = phrase.Word(lang, c.Help)
	return c
}

// List lists the commands. [message.Run] comes in addition where there are workflows.
func List() []Command {
	return []Command{
		{"help", "", "this list", help},
		{"new", "", "start a new conversation", nil},
		{"stop", "", "stop what is running", nil},
		{"status", "", "what runs, and what waits for you", status},
		{"skill", "NAME", "make a skill active; full is everything, auto what the agent or the phase of a workflow has",
			nil},
		{"tools", "WORDS", "find the tools that you can use", tools},
		{"why", "", "which tools your last message got, and why", whyLast},
		{"model", "", "which model answers", modelOf},
		{"usage", "", "which tools your last turns used", used},
		{"memory", "", "what is remembered of this conversation", remembers},
		{"approve", "[ID]", "let a call run that waits", nil},
		{"deny", "[ID] [WHY]", "decline a call that waits", nil},
		{"withdraw", "[ID]", "take back a call of yours that waits", nil},
		{"approvals", "", "the calls that wait for you, or that you asked for", approvals},
		{"whoami", "", "who you are here", whoIs},
	}
}

// Canonical returns a text as commands are written: in small letters and with a plain slash, as phones
// begin a message with a capital, and keyboards for Chinese have a wide slash. Other texts stay.
func Canonical(text string) string {
	if wide, ok := strings.CutPrefix(text, "／"); ok {
		text = "/" + wide
	}
	end := strings.IndexAny(text, " \n\t")
	if end < 0 {
		end = len(text)
	}
	name := strings.ToLower(text[:end])
	known := slices.ContainsFunc(List(), func(c Command) bool { return "/"+c.Name == name })
	if known || slices.Contains([]string{message.Compact, message.Run, approval.Choose, "/start"}, name) {
		return name + text[end:]
	}
	return text
}

// maxCommand is how long a command may take that needs no turn.
const maxCommand = 20 * time.Second

// Answer answers a message whose text is a command that needs no turn. Without done it is
// a message for [engine.Engine.Send], as are /stop and /approve. Mistakes of the sender are in the
// reply; an error is the engine's, such as [engine.ErrStore].
func Answer(ctx context.Context, e Engine, m engine.Message) (reply string, done bool, err error) {
	m.Text = Canonical(m.Text)
	m.Language = e.Agents().Language(m)
	name, rest, _ := strings.Cut(m.Text, " ")
	name, found := strings.CutPrefix(strings.TrimSpace(name), "/")
	if !found || name == "" || strings.ContainsAny(name, "/.\n") {
		return "", false, nil
	}
	if "/"+name == message.Compact || "/"+name == approval.Choose ||
		"/"+name == message.Run && len(e.Agents().Workflows().Names()) > 0 {
		return "", false, nil
	}
	list := List()
	i := slices.IndexFunc(list, func(c Command) bool { return c.Name == name })
	if i < 0 {
		unknown := phrase.In(m.Language, "There is no command /%s.", printable.Line(name, 40))
		if near := phrase.Near(name, names(list)); near != "" {
			unknown = phrase.In(m.Language, "There is no command /%s%s", printable.Line(name, 40), near)
		}
		return unknown + "\n" + phrase.In(m.Language, "/help lists them all."), true, nil
	}
	if list[i].answer == nil {
		return "", false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxCommand)
	defer cancel()
	reply, err = list[i].answer(ctx, e, m, strings.TrimSpace(rest))
	if err != nil && !errors.Is(err, engine.ErrStore) && !errors.Is(err, engine.ErrBusy) {
		return outbox.Excuse(err, m.Language), true, nil
	}
	return reply, true, err
}

func names(list []Command) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, c := range list {
			if !yield(c.Name) {
				return
			}
		}
	}
}

func help(_ context.Context, e Engine, m engine.Message, _ string) (string, error) {
	var b strings.Builder
	if workflows := e.Agents().Workflows().Names(); len(workflows) > 0 {
		b.WriteString("- " + phrase.In(m.Language, "%s NAME TEXT: run a workflow (%s); alone: go on with it",
			message.Run, strings.Join(workflows, ", ")) + "\n")
	}
	for _, c := range List() {
		fmt.Fprintf(&b, "- %s: %s\n", strings.TrimSpace("/"+c.Name+" "+c.In(m.Language).Args), c.In(m.Language).Help)
	}
	return b.String(), nil
}

func whoIs(_ context.Context, e Engine, m engine.Message, _ string) (string, error) {
	w, err := e.Agents().Whoami(m)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(phrase.In(m.Language, "You are %s on %s (%s).",
		cmp.Or(w.User, phrase.In(m.Language, "unknown")), w.Channel, phrase.Word(m.Language, string(w.Kind))))
	for _, l := range []struct {
		says string
		list []string
	}{{"Roles: %s", w.Roles}, {"Groups: %s", w.Groups}, {"Roles here: %s", w.PlatformRoles}} {
		if len(l.list) > 0 {
			b.WriteString("\n" + phrase.In(m.Language, l.says, strings.Join(l.list, ", ")))
		}
	}
	return b.String(), nil
}

func status(ctx context.Context, e Engine, m engine.Message, _ string) (string, error) {
	w, err := e.Agents().Whoami(m)
	if err != nil {
		return "", err
	}
	n, err := inspect.New(e).Waiting(ctx, w.Session)
	if err != nil {
		return "", err
	}
	waiting, _, err := e.Answers().Open(ctx, m)
	if err != nil {
		return "", err
	}
	agent := cmp.Or(m.Agent, e.Agents().Roster.Names()[0])
	var b strings.Builder
	lang := m.Language
	b.WriteString(phrase.In(lang, "The agent %s answers here.", agent))
	if active, err := activeTools(ctx, e, m); err == nil { // all places may be taken
		b.WriteString(active)
	}
	if f, err := inspect.New(e).Flow(ctx, w.Session); err == nil && f.Runs() {
		b.WriteString("\n" + phrase.In(lang,
			"The workflow %s is in the phase %s: visit %d, round %d, %d tokens so far.",
			f.Workflow, f.Phase, f.Visits[f.Phase], f.Round, f.AllTokens))
	}
	b.WriteString("\n" + phrase.In(lang, "Messages that run or wait: %d", n))
	for _, w := range waiting {
		advice := approval.Approve + " " + w.ID
		if w.Question != "" {
			advice = approval.Choose + " " + w.ID + " " + phrase.In(lang, "YOUR ANSWER")
		}
		b.WriteString("\n" + phrase.In(lang, "Waits for you: %s %s (%s or %s %s)", tool.Label(w.Tool, w.Original),
			printable.Line(cmp.Or(w.Question, w.Arguments), 120), advice, approval.Deny, w.ID))
	}
	return b.String(), nil
}

// approvals lists what the sender may answer, and what they asked for that others answer.
func approvals(ctx context.Context, e Engine, m engine.Message, _ string) (string, error) {
	w, err := e.Agents().Whoami(m)
	if err != nil {
		return "", err
	}
	language := e.Inquiries().Language(ctx, message.New(m), w.Session, m.Text)
	yours, asked, err := e.Answers().Open(ctx, m)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, a := range yours {
		a.Language = language
		parts = append(parts, approval.Request(a))
	}
	for _, a := range e.Inquiries().AddAsked(ctx, asked) {
		a.Language, a.Theirs = language, true
		parts = append(parts, approval.Text([]session.Await{a.Await}))
	}
	if len(parts) == 0 {
		return approval.Nothing(language), nil
	}
	return strings.Join(parts, "\n\n"), nil
}

// activeTools says how many tools the sender's next message chooses from, and why.
func activeTools(ctx context.Context, e Engine, m engine.Message) (string, error) {
	m.Text, m.Files, m.Reply = "/status", nil, nil
	sel, err := inspect.New(e).Select(ctx, m)
	if err != nil {
		return "", err
	}
	n, skill := sel.Counts(), sel.Request.Facts.Skill
	says := "\n" + phrase.In(m.Language, "You can use %s here", phrase.Count(m.Language, n.All, "tool"))
	switch {
	case n.Usable == n.All && (skill == "" || skill == catalog.Full):
	case slices.Contains(sel.HiddenSkills, skill):
		says += phrase.In(m.Language, "; %d of them are shown now", n.Usable)
	case n.Usable == n.All:
		says += phrase.In(m.Language, "; the active skill %s shows all of them", skill)
	default:
		says += phrase.In(m.Language, "; the active skill %s shows %d of them", skill, n.Usable)
	}
	return says + phrase.In(m.Language, "."), nil
}

// tools lists what the sender's words find among what the sender may use.
func tools(ctx context.Context, e Engine, m engine.Message, words string) (string, error) {
	if words == "" {
		return phrase.In(m.Language, "Say what to find: /tools WORDS"), nil
	}
	m.Text, m.Files, m.Reply = words, nil, nil
	sel, err := inspect.New(e).Select(ctx, m)
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
			fmt.Fprintf(&b, "- %s: %s\n", v.Tool,
				printable.Line(cmp.Or(e.Definition.Translations[m.Language], e.Definition.Description), 100))
		}
	}
	if n == 0 {
		return phrase.In(m.Language, "Nothing that you can use fits these words."), nil
	}
	return b.String(), nil
}

func whyLast(ctx context.Context, e Engine, m engine.Message, _ string) (string, error) {
	m.Text, m.Files = "", nil
	turns, err := inspect.New(e).Why(ctx, m, 1, true)
	if err != nil {
		return "", err
	}
	if len(turns) == 0 {
		return phrase.In(m.Language, "There is no message yet that could be explained."), nil
	}
	t := turns[0]
	var b strings.Builder
	b.WriteString(phrase.In(m.Language, "For “%s” the model was shown these tools:",
		printable.Line(cmp.Or(t.Selection.Request, t.Text), 100)) + "\n")
	n := 0
	for _, s := range t.Selection.ReachedTools() {
		if n++; n <= 15 {
			fmt.Fprintf(&b, "- %s%s\n", s.Tool, reason(m.Language, s))
		}
	}
	if n > 15 {
		b.WriteString(phrase.In(m.Language, "and %d more", n-15) + "\n")
	}
	if n == 0 {
		b.WriteString(phrase.In(m.Language, "none") + "\n")
	}
	return b.String(), nil
}

func modelOf(_ context.Context, e Engine, m engine.Message, _ string) (string, error) {
	s, err := e.Agents().Status(m.Agent)
	if err != nil {
		return "", err
	}
	return phrase.In(m.Language, "%s answers with the model %s.", s.Name, s.Model), nil
}

func used(ctx context.Context, e Engine, m engine.Message, _ string) (string, error) {
	w, err := e.Agents().Whoami(m)
	if err != nil {
		return "", err
	}
	past, err := e.Learner().Record(ctx, usage.Filter{User: w.Sender, Limit: 20})
	if err != nil {
		return "", err
	}
	if !past.Keep || w.Sender == "" {
		return phrase.In(m.Language, "No record of past turns is kept."), nil
	}
	used := map[string]int{}
	for _, t := range past.Turns {
		for _, name := range t.Tools {
			used[name]++
		}
	}
	var b strings.Builder
	b.WriteString(phrase.In(m.Language, "Your last %s used:", phrase.Count(m.Language, len(past.Turns), "turn")))
	for _, name := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&b, "\n- %s: %d", name, used[name])
	}
	if len(used) == 0 {
		b.WriteString(" " + phrase.In(m.Language, "no tool"))
	}
	return b.String(), nil
}

func remembers(_ context.Context, e Engine, m engine.Message, _ string) (string, error) {
	f, err := e.Agents().Caller(m)
	if err != nil {
		return "", err
	}
	r, unable := recall.New(e).Remembered(f, 3)
	if unable != nil {
		if why := phrase.Error(m.Language, unable); why != "" {
			return phrase.In(m.Language, "Nothing is remembered here: %s.", why), nil // that is the answer
		}
	}
	var b strings.Builder
	b.WriteString(r.Text)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n\n%s\n%s", n.Day, n.Text)
	}
	if strings.TrimSpace(b.String()) == "" {
		return phrase.In(m.Language, "Nothing is remembered yet."), nil
	}
	return b.String(), nil
}

// reason says how a tool came to be shown.
func reason(lang string, s selection.Scored) string {
	switch {
	case s.Score > 0:
		return phrase.In(lang, " (%s)", phrase.In(lang, "fits your words, score %.1f", s.Score))
	case s.Kept:
		return phrase.In(lang, " (%s)", phrase.In(lang, "from an earlier message"))
	}
	return ""
}
