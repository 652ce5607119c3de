package engine_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
)

// storyLog is what happens in a story. What happens at the same instant for two people or two
// agents has no order, so each of them has lines of its own.
type storyLog struct {
	mu       sync.Mutex
	parts    []*storyPart
	ids      []string          // those that #1, #2 and so on stand for
	fresh    []string          // those that have no number yet
	sessions map[string]string // of the last step of each agent
	states   map[session.Key]session.State
	watch    []string
}

// storyPart is what comes of one line of the conversation.
type storyPart struct {
	line    string
	lines   []string
	senders map[int][]string
	agents  map[string][]string
	letters []string
}

// begin begins the part of a line.
func (l *storyLog) begin(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number()
	l.parts = append(l.parts, &storyPart{line: line, senders: map[int][]string{}, agents: map[string][]string{}})
}

// now calls f with the last part.
func (l *storyLog) now(f func(p *storyPart)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.parts[len(l.parts)-1])
}

// add adds a line for an operator.
func (l *storyLog) add(format string, args ...any) {
	l.now(func(p *storyPart) { p.lines = append(p.lines, fmt.Sprintf(format, args...)) })
}

// letter adds a letter that was delivered.
func (l *storyLog) letter(to, text string) {
	l.now(func(p *storyPart) { p.letters = append(p.letters, "letter to "+to+": "+indent(text, "      ")) })
}

// reads adds what the sender of the nth message reads.
func (l *storyLog) reads(nth int, format string, args ...any) {
	l.now(func(p *storyPart) {
		p.senders[nth] = append(p.senders[nth], indent(fmt.Sprintf(format, args...), "      "))
	})
}

// agent adds a line for an agent.
func (l *storyLog) agent(name, format string, args ...any) {
	l.now(func(p *storyPart) { p.agents[name] = append(p.agents[name], fmt.Sprintf(format, args...)) })
}

// id notes an ID of an approval, a task, a sub-agent or the like, for which the outcome has a
// number.
func (l *storyLog) id(id string) {
	if id != "" && !slices.Contains(l.ids, id) && !slices.Contains(l.fresh, id) {
		l.fresh = append(l.fresh, id)
	}
}

// learn notes IDs.
func (l *storyLog) learn(ids ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.id(id)
	}
}

// number gives the IDs in the last part their numbers, in the order in which they are read there.
func (l *storyLog) number() {
	if len(l.parts) == 0 {
		return
	}
	text := l.parts[len(l.parts)-1].String()
	slices.SortFunc(l.fresh, func(a, b string) int { return strings.Index(text, a) - strings.Index(text, b) })
	l.fresh = slices.DeleteFunc(l.fresh, func(id string) bool {
		if !strings.Contains(text, id) {
			return false
		}
		l.ids = append(l.ids, id)
		return true
	})
}

// real puts the IDs into a text of the story.
func (l *storyLog) real(text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, id := range slices.Backward(l.ids) {
		text = strings.ReplaceAll(text, fmt.Sprint("#", i+1), id)
	}
	return text
}

// selects is which tools a message got and why, and which ones it could not have.
func selects(sel *selection.Selection) string {
	var sent, out []string
	ranked := 0
	explained := sel.Explain()
	question := strings.ToLower(explained.Query)
	for _, v := range explained.Tools {
		switch {
		case v.Sent:
			var words []string
			for _, term := range v.Terms {
				if at := strings.Index(question, term.Word); at >= 0 && len(words) < 2 {
					words = append(words, term.Word+restOfWord.FindString(question[at+len(term.Word):]))
				}
			}
			sent = append(sent, v.Tool+parens(words))
		case v.Stage == selection.Rank:
			ranked++
		default:
			out = append(out, v.Tool+" ("+v.Stage.String()+")")
		}
	}
	text := cmp.Or(strings.Join(sent, ", "), "nothing")
	if len(out) > 0 {
		text += "; never " + strings.Join(out, ", ")
	}
	if ranked > 0 {
		text += fmt.Sprintf("; %d more fit less", ranked)
	}
	if len(sel.Recommended) > 0 {
		text += "; skills " + strings.Join(sel.Recommended, ", ")
	}
	return text
}

func parens(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// asked notes a request to the model of an agent.
func (l *storyLog) asked(agent string, r model.Request) {
	var tools, words []string
	for _, d := range r.Tools {
		tools = append(tools, d.Name)
	}
	reads := r.System
	for _, m := range r.Messages {
		reads += m.Note + "\n" + m.Text
	}
	for _, w := range l.watch {
		if strings.Contains(reads, w) {
			words = append(words, w)
		}
	}
	text := fmt.Sprintf("asked with %d messages", len(r.Messages))
	if len(r.Messages) == 1 {
		text = "asked with 1 message"
	}
	if len(tools) > 0 {
		text += " and " + strings.Join(tools, ", ")
	}
	if len(words) > 0 {
		text += ", and reads of " + strings.Join(words, ", ")
	}
	l.agent(agent, "%s", text)
}

var (
	restOfWord = regexp.MustCompile(`^[a-z]*`) // of a word whose stem the ranking knows
	blanks     = regexp.MustCompile(` +\n`)
	ownID      = regexp.MustCompile(`:sub:([^:]+)|:([A-Z0-9]{26})\b`) // of a session
	waits      = map[session.AwaitKind]string{
		session.Approval: "an approval", session.Outcome: "its outcome", session.SubAgent: "its sub-agent",
	}
)

// stored notes a step: what became part of a session.
func (l *storyLog) stored(key session.Key, state session.State, messages []chat.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := ownID.FindStringSubmatch(string(key)); found != nil {
		l.id(found[1] + found[2])
	}
	if l.states == nil {
		l.states = map[session.Key]session.State{}
	}
	before := l.states[key]
	l.states[key] = state
	var lines []string
	for _, m := range messages {
		lines = append(lines, inLines(m)...)
	}
	for _, a := range state.Awaits {
		l.id(a.ID)
		at := slices.IndexFunc(before.Awaits, func(b session.Await) bool {
			return b.Call == a.Call && b.For == a.For && b.ID == a.ID
		})
		switch {
		case at < 0 && a.Question != "":
			lines = append(lines, a.Tool+" waits for an answer "+a.ID)
		case at < 0:
			lines = append(lines, strings.TrimSpace(a.Tool+" waits for "+waits[a.For]+" "+a.ID))
		case a.Note != "" && before.Awaits[at].Note == "":
			lines = append(lines, "the outcome of "+a.Tool+" waits for the end of the turn")
		}
	}
	if state.Skill != before.Skill {
		lines = append(lines, "the active skill is "+cmp.Or(state.Skill, "that of the agent"))
	}
	if state.Summary != before.Summary {
		lines = append(lines, "summary: "+state.Summary)
	}
	if len(lines) == 0 {
		return
	}
	agent, rest, _ := strings.Cut(strings.TrimPrefix(string(key), "agent:"), ":")
	p := l.parts[len(l.parts)-1]
	if l.sessions == nil {
		l.sessions = map[string]string{}
	}
	if l.sessions[agent] != rest {
		p.agents[agent] = append(p.agents[agent], "in "+rest)
	}
	l.sessions[agent] = rest
	p.agents[agent] = append(p.agents[agent], "* "+strings.Join(lines, "\n"))
}

// inLines is a message of a conversation, in lines.
func inLines(m chat.Message) (lines []string) {
	switch {
	case m.Result != nil:
		text := m.Result.Name + ": " + m.Result.Text
		if m.Result.Failed {
			text += " (failed)"
		}
		return []string{text}
	case m.Role == chat.User:
		text := cmp.Or(m.User, "nobody") + ": " + m.Text
		if m.Text == "" {
			text = "note: " + m.Note
			if m.Channel == identity.System {
				text = "etui's " + text
			}
		}
		for _, f := range m.Files {
			text += " [" + f.Name + ", " + f.MediaType + "]"
		}
		lines = append(lines, text)
		if len(m.Tools) > 0 {
			lines = append(lines, "announces "+strings.Join(m.Tools, ", "))
		}
		return lines
	}
	if m.Text != "" {
		lines = append(lines, "says "+m.Text)
	}
	for _, c := range m.Calls {
		lines = append(lines, "calls "+c.Name+" "+string(c.Arguments))
	}
	return lines
}

func indent(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

// String is the outcome of the story.
func (l *storyLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number()
	var b strings.Builder
	for _, p := range l.parts {
		b.WriteString(p.String())
	}
	text := b.String()
	for i, id := range l.ids {
		text = strings.ReplaceAll(text, id, fmt.Sprint("#", i+1))
	}
	return blanks.ReplaceAllString(text, "\n")
}

// String is the part of the outcome, empty if nothing happened.
func (p *storyPart) String() string {
	lines := slices.Clone(p.lines)
	for _, nth := range slices.Sorted(maps.Keys(p.senders)) {
		lines = append(lines, p.senders[nth]...)
	}
	lines = append(lines, p.letters...)
	for _, name := range slices.Sorted(maps.Keys(p.agents)) {
		lines = append(lines, name)
		for _, line := range inOrder(slices.Clone(p.agents[name])) {
			lines = append(lines, "  "+indent(line, "        "))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n" + p.line + "\n    " + strings.Join(lines, "\n    ") + "\n"
}

// inOrder puts calls that run side by side into one order, and the name of a session before all
// that happens in it.
func inOrder(lines []string) []string {
	for i := range lines {
		for ; i > 0 && strings.HasPrefix(lines[i], "in ") && !strings.HasPrefix(lines[i-1], "* "); i-- {
			lines[i-1], lines[i] = lines[i], lines[i-1]
		}
	}
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && strings.HasPrefix(lines[to], "runs ") {
			to++
		}
		slices.Sort(lines[from:to])
		from = max(from, to-1)
	}
	return lines
}
