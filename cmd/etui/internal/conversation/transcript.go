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
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// Transcript describes a stored conversation for people, in lines of a width.
func Transcript(lang string, c inspect.Conversation, width int) string {
	var b strings.Builder
	facts := []string{phrase.Count(lang, c.Messages, "message"),
		phrase.In(lang, "since %s", c.Created.Local().Format("2006-01-02 15:04"))}
	for label, text := range map[string]string{"": Authors(c.Summary), phrase.In(lang, "skill "): c.Skill} {
		if text != "" {
			facts = append(facts, label+text)
		}
	}
	slices.Sort(facts[2:])
	if c.Parent != "" {
		facts = append(facts, phrase.In(lang, "a sub-agent of %s", client.SessionName(c.Parent)))
	}
	if c.Phase != turn.Finished {
		facts = append(facts, phrase.In(lang, "a turn is open (%s)", c.Phase))
	}
	fmt.Fprintf(&b, "%s\n%s", c.Key, terminal.Hang("  ", strings.Join(facts, ", "), width))
	if c.Skip > 0 {
		phrase.Fprintf(&b, lang, "  (%d earlier messages are not shown; --limit shows more)\n", c.Skip)
	}
	at := max(c.Skip, c.Messages-c.Sent) // before which message the summary comes
	summary := func(i int) {
		if c.Summarised != "" && i == at {
			b.WriteString(phrase.In(lang, "\nthe model reads a summary of what was said before\n") +
				terminal.Indent("", c.Summarised, width))
		}
	}
	for i, m := range c.Said {
		summary(c.Skip + i)
		b.WriteString(describeMessage(lang, m, c.Said[i+1:], width))
	}
	summary(c.Skip + len(c.Said))
	for _, m := range c.Waiting {
		phrase.Fprintf(&b, lang, "\n%s %s (waits for its answer)\n%s", m.Accepted.Local().Format(time.DateTime),
			printable.Line(cmp.Or(m.User, phrase.Word(lang, "user")), session.MaxTitle),
			terminal.Indent("", m.Text, width))
	}
	return b.String()
}

// maxResult is how many characters of a call and of its result are shown.
const maxResult = 300

// describeMessage describes a message; those after it have the results of its calls.
func describeMessage(lang string, m chat.Message, after []chat.Message, width int) string {
	var b strings.Builder
	text := func(mark, text string) { b.WriteString(terminal.Indent(mark, text, width)) }
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
			head(phrase.Word(lang, "a call ended after its turn"))
		}
		text("", m.Note)
	case m.Role == chat.User:
		head(cmp.Or(m.User, phrase.Word(lang, "user")))
		if m.Text != "" {
			text("", m.Text)
		}
		for _, f := range m.Files {
			kind := phrase.Word(lang, "picture")
			if f.MediaType == chat.PDF {
				kind = phrase.Word(lang, "file")
			}
			text("▣ ", phrase.In(lang, "%s %s, %d bytes", kind, cmp.Or(f.Name, f.MediaType), f.Size))
		}
	case m.Role == chat.Assistant:
		head(phrase.Word(lang, "assistant"))
		if m.Text != "" {
			text("", m.Text)
		}
		if m.Refused {
			text("✗ ", phrase.Word(lang, "the provider refused this turn; later requests leave it out"))
		}
	case m.Result != nil:
		text(result(lang, *m.Result))
	}
	for _, c := range m.Calls {
		text("· ", c.Name+" "+printable.Line(string(c.Arguments), maxResult))
		if !slices.ContainsFunc(after,
			func(m chat.Message) bool { return m.Result != nil && m.Result.CallID == c.ID }) {
			text("? ", phrase.In(lang, "%s has no result yet: whether it did its work is unknown.", c.Name))
		}
	}
	return b.String()
}

// result describes a result after a mark.
func result(lang string, r chat.Result) (mark, text string) {
	text = r.Name + ": " + printable.Line(r.Text, maxResult)
	switch {
	case r.Unknown && r.View != nil:
		return "? ", phrase.In(lang, "outcome unknown: %s", r.View.Error)
	case r.Unknown:
		return "? ", phrase.In(lang, "outcome unknown: %s", text)
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
