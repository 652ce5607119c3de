package conversation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// Transcript describes a stored conversation for people, in lines of a width.
func Transcript(c inspect.Conversation, width int) string {
	var b strings.Builder
	facts := []string{printable.Count(c.Messages, "message"), "since " + c.Created.Local().Format("2006-01-02 15:04")}
	for label, text := range map[string]string{"": Authors(c.Summary), "skill ": c.Skill} {
		if text != "" {
			facts = append(facts, label+text)
		}
	}
	slices.Sort(facts[2:])
	if c.Parent != "" {
		facts = append(facts, "a sub-agent of "+client.SessionName(c.Parent))
	}
	if c.Phase != turn.Finished {
		facts = append(facts, "a turn is open ("+string(c.Phase)+")")
	}
	fmt.Fprintf(&b, "%s\n%s", c.Key, terminal.Hanging("  ", strings.Join(facts, ", "), width))
	if c.Skip > 0 {
		fmt.Fprintf(&b, "  (%d earlier messages are not shown; --limit shows more)\n", c.Skip)
	}
	at := max(c.Skip, c.Messages-c.Sent) // before which message the summary comes
	summary := func(i int) {
		if c.Summarised != "" && i == at {
			b.WriteString("\nthe model reads a summary of what was said before\n" + terminal.Indented("", c.Summarised, width))
		}
	}
	for i, m := range c.Said {
		summary(c.Skip + i)
		b.WriteString(describeMessage(m, c.Said[i+1:], width))
	}
	summary(c.Skip + len(c.Said))
	for _, m := range c.Waiting {
		fmt.Fprintf(&b, "\n%s %s (waits for its answer)\n%s", m.Accepted.Local().Format(time.DateTime), printable.Line(cmp.Or(m.User, "user"), session.MaxTitle), terminal.Indented("", m.Text, width))
	}
	return b.String()
}

// maxResult is how many characters of a call and of its result are shown.
const maxResult = 300

// describeMessage describes a message; those after it have the results of its calls.
func describeMessage(m chat.Message, after []chat.Message, width int) string {
	var b strings.Builder
	text := func(mark, text string) { b.WriteString(terminal.Indented(mark, text, width)) }
	head := func(who string) {
		when := ""
		if !m.Time.IsZero() {
			when = m.Time.Local().Format(time.DateTime) + " "
		}
		fmt.Fprintf(&b, "\n%s%s\n", when, printable.Line(who, session.MaxTitle))
	}
	switch {
	case m.Role == chat.User && m.Text == "" && len(m.Files) == 0:
		if m.Channel == identity.System {
			head(identity.System)
		} else {
			head("a call ended after its turn")
		}
		text("", m.Note)
	case m.Role == chat.User:
		head(cmp.Or(m.User, "user"))
		if m.Text != "" {
			text("", m.Text)
		}
		for _, f := range m.Files {
			kind := "picture"
			if f.MediaType == chat.PDF {
				kind = "file"
			}
			text("▣ ", fmt.Sprintf("%s %s, %d bytes", kind, cmp.Or(f.Name, f.MediaType), f.Size))
		}
	case m.Role == chat.Assistant:
		head("assistant")
		if m.Text != "" {
			text("", m.Text)
		}
		if m.Refused {
			text("✗ ", "the provider refused this turn; later requests leave it out")
		}
	case m.Result != nil:
		text(result(*m.Result))
	}
	for _, c := range m.Calls {
		text("· ", c.Name+" "+printable.Line(string(c.Arguments), maxResult))
		if !slices.ContainsFunc(after, func(m chat.Message) bool { return m.Result != nil && m.Result.CallID == c.ID }) {
			text("? ", c.Name+" has no result yet: whether it did its work is unknown.")
		}
	}
	return b.String()
}

// result describes a result after a mark.
func result(r chat.Result) (mark, text string) {
	text = r.Name + ": " + printable.Line(r.Text, maxResult)
	switch {
	case r.Unknown && r.View != nil:
		return "? ", "outcome unknown: " + r.View.Error
	case r.Unknown:
		return "? ", "outcome unknown: " + text
	case r.Failed:
		return "✗ ", text
	case r.Pending:
		return "… ", text
	}
	return "✓ ", text
}

// Authors names who wrote in a session, and where.
func Authors(s session.Summary) string {
	who := printable.List(s.Users)
	if len(s.Channels) > 0 {
		who = strings.TrimSpace(who + " (" + printable.List(s.Channels) + ")")
	}
	return printable.Line(who, session.MaxTitle)
}
