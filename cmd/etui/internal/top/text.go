package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/tool"
)

// page says in a language what a reading has, in lines of a width and at most so many; 0 means as
// many as there are. Below the head, figures of a time come before those since the start.
type page struct {
	language      string
	width, height int
	recent        *Figures
	span          time.Duration
}

func (p page) word(english string) string { return phrase.Word(p.language, english) }

// text returns the page. Where it is too long, the turns are cut first: what waits for people comes above them.
func (p page) text(r Reading) string {
	head := p.head(r)
	asks := []string{"WAITS FOR PEOPLE", "RISK", "LEFT", "PERSON", "ARGUMENTS"}
	asks = p.table(len(r.Approvals), asks, func(i int) []string {
		a := r.Approvals[i]
		left := ""
		if !a.Until.IsZero() {
			left = age(a.Until.Sub(r.Time))
		}
		return []string{
			a.ID + " " + tool.Label(a.Tool, a.Original), p.word(a.Risk), left,
			printable.Line(a.User, 16), printable.Line(cmp.Or(a.Question, a.Arguments), 200),
		}
	})
	runs := p.table(len(r.Turns), []string{"TURN", "AGE", "PERSON", "CONVERSATION", "MESSAGE"}, func(i int) []string {
		t := r.Turns[i]
		return []string{
			p.word(string(t.State)), age(r.Time.Sub(t.Since)), printable.Line(t.User, 16),
			ansi.Truncate(printable.OneLine(client.SessionName(t.Session)), 24, "…"),
			printable.Line(cmp.Or(t.Reason, t.Text), 200),
		}
	})
	for i := len(r.Turns) - 1; i >= 0; i-- {
		if does := p.does(r.Turns[i]); does != "" {
			runs = slices.Insert(runs, i+2, ansi.Truncate("  "+does, p.width, "…"))
		}
	}
	if len(runs) == 0 {
		runs = []string{p.word("No turn runs, and no message waits.")}
	}
	left := 1 << 20
	if p.height > 0 {
		left = max(p.height-len(head)-2, 4)
	}
	asks = p.cut(asks, max(left/2, left-len(runs)))
	lines := append(head, "")
	if len(asks) > 0 {
		lines = append(append(lines, asks...), "")
	}
	return strings.Join(append(lines, p.cut(runs, left-len(asks))...), "\n") + "\n"
}

// does says what the turn of a message did so far, below its line.
func (p page) does(t Turn) string {
	switch {
	case t.Process != "":
		words := []string{printable.Line(t.Channel, 16), printable.Line(t.Agent, 16),
			phrase.In(p.language, "at another process: %s", printable.Line(t.Process, 64))}
		return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " · ")
	case t.Live == nil:
		return ""
	}
	words := []string{
		printable.Line(t.Live.Channel, 16), printable.Line(t.Live.Agent, 16),
		phrase.In(p.language, "tokens %s / %s", short(t.Live.Input), short(t.Live.Output)),
		phrase.In(p.language, "calls: %d", t.Live.Calls), printable.OneLine(strings.Join(t.Live.Tools, ", ")),
	}
	if t.Live.Running != "" {
		words[4] = phrase.In(p.language, "%s runs", printable.Line(t.Live.Running, 64))
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " · ")
}

// cut leaves out lines, and says how many.
func (p page) cut(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	most = max(most, 2)
	return append(lines[:most-1:most-1], phrase.In(p.language, "… and %d more", len(lines)-most+1))
}

// head says how the gateway fares.
func (p page) head(r Reading) []string {
	line := func(says string, args ...any) string {
		return ansi.Truncate(phrase.In(p.language, says, args...), p.width, "…")
	}
	lines := []string{line("%s · %s · turns that run: %d, messages that wait: %d",
		r.Where, r.Time.Local().Format(time.TimeOnly), r.Running, r.Queued)}
	names := []string{"", "TURNS", "FAILED", "50 %", "95 %", "CALLS", "95 %", "IN", "CACHED", "OUT", "SAVED"}
	for i, name := range names {
		if !strings.HasSuffix(name, "%") {
			names[i] = p.word(name)
		}
	}
	rows := [][]string{names}
	add := func(name string, f Figures) {
		rows = append(rows, []string{
			name, fmt.Sprint(f.Turns.Count), fmt.Sprint(f.Failed),
			p.seconds(f.Turns, f.Turns.Half), p.seconds(f.Turns, f.Turns.Most),
			fmt.Sprint(f.Calls.Count), p.seconds(f.Calls, f.Calls.Most),
			short(f.Tokens.Input), short(f.Tokens.Cached), short(f.Tokens.Output), short(f.Tokens.Saved),
		})
	}
	if p.recent != nil {
		add(phrase.In(p.language, "last %s", age(p.span)), *p.recent)
	}
	add(p.word("since start"), r.Figures)
	lines = append(lines, strings.Split(strings.TrimRight(terminal.Table(rows, p.width), "\n"), "\n")...)
	for _, m := range r.Models {
		if m.Error != "" {
			lines = append(lines, line("%s failed: %s", m.Model, printable.OneLine(m.Error)))
		}
	}
	for _, c := range r.Refused {
		lines = append(lines, line("Messages are refused (%s): %s", c.Name, printable.OneLine(c.Error)))
	}
	if r.Configuration != "" {
		lines = append(lines, line("The configuration cannot be used: %s", printable.OneLine(r.Configuration)))
	}
	return lines
}

// table returns the lines of a table, none without rows.
func (p page) table(n int, head []string, row func(int) []string) []string {
	if n == 0 {
		return nil
	}
	rows := [][]string{head}
	for i, name := range head {
		head[i] = p.word(name)
	}
	for i := range n {
		rows = append(rows, row(i))
	}
	return strings.Split(strings.TrimSpace(terminal.Table(rows, p.width)), "\n")
}

// seconds says how long something took.
func (p page) seconds(of Took, in *float64) string {
	switch {
	case of.Count == 0:
		return "–"
	case in == nil:
		return p.word("long")
	case *in < 1:
		return fmt.Sprintf("%.0f ms", 1000**in)
	}
	return fmt.Sprintf("%.1f s", *in)
}

// short says a number in few characters.
func short(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 10_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

// age says a time in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}
