package prompt

import (
	"slices"
	"strings"
	"unicode"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
)

// NewMessage returns the user's message of a turn with a note: the runtime facts, if
// the options include them, the host's own words, and the announced and the named tools.
// A tool is announced with its signature and description only, because the note stays in
// the conversation; if the model gets an argument wrong, the failed call shows it the
// whole schema.
func NewMessage(text, say string, facts chat.Facts, announced, named []*catalog.Entry, opts Options) chat.Message {
	m := chat.Message{Role: chat.User, Text: text, User: facts.Record(), Channel: facts.Channel, Time: facts.Time}
	var lines []string
	if opts.runtime() {
		lines = append(lines, runtime(facts, opts.DateOnly))
	}
	lines = append(lines, say)
	if len(announced) > 0 {
		lines = append(lines, "Tools that fit this message, to be called with call_tool:")
		for _, e := range announced {
			lines = append(lines, announcement(e))
			m.Tools = append(m.Tools, e.Definition.Name)
		}
	}
	if len(named) > 0 {
		first := len(m.Tools)
		for _, e := range named {
			m.Tools = append(m.Tools, e.Definition.Name)
		}
		lines = append(lines, "More tools that fit, which find_tools describes: "+strings.Join(m.Tools[first:], ", "))
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	m.Note = strings.Join(lines, "\n")
	return m
}

// runtime lists the facts that a model may need.
func runtime(f chat.Facts, dateOnly bool) string {
	var parts []string
	switch {
	case f.Time.IsZero():
	case dateOnly:
		parts = append(parts, f.Time.Format("Mon 2006-01-02"))
	default:
		parts = append(parts, f.Time.Format("Mon 2006-01-02 15:04 MST"))
	}
	if f.Skill == catalog.Full {
		f.Skill = "" // that is the default
	}
	if name := shownName(f); name != "" {
		f.User = name + " (" + f.User + ")"
	}
	for _, p := range [...]struct{ name, value string }{{"channel", f.Channel}, {"chat", f.Chat}, {"user", f.User},
		{"skill", f.Skill}} {
		if p.value != "" {
			// Names chosen by others must not add lines to the note.
			parts = append(parts, p.name+" "+strings.Join(strings.Fields(p.value), " "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// shownName returns the name that the platform shows for the sender, without what would end it in
// the note; empty if there is none, or the sender is known by it.
func shownName(f chat.Facts) string {
	name := strings.Join(strings.FieldsFunc(f.Attrs[chat.SenderName], func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("()[]{},;:", r)
	}), " ")
	if f.User == "" || strings.EqualFold(name, f.User) {
		return ""
	}
	return name
}

// announcement describes a tool in a line.
func announcement(e *catalog.Entry) string {
	line := selection.Signature(e.Definition)
	if d := strings.Join(strings.Fields(e.Definition.Description), " "); d != "" {
		line += ": " + d
	}
	return line
}
