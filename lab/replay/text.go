package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

// Comparison is a report with what is different from an earlier one.
type Comparison struct {
	Report
	Changes []Change `json:"changes,omitempty"`

	before Report
}

// NewComparison compares a report with an earlier one, which may be empty.
func NewComparison(before, after Report) Comparison {
	return Comparison{after, Compare(before, after), before}
}

// Text describes the comparison for people, with the turns that changed. With all set it
// also has every turn.
func (c Comparison) Text(lang string, all bool) string {
	var b strings.Builder
	if all {
		writeTurns(&b, lang, c.Report)
	}
	writeChanges(&b, lang, c.Changes, all)
	fmt.Fprintln(&b, summary(lang, c.Runs[0]))
	b.WriteString(terminal.Columns(modes(lang, c.before, c.Report, false)) + languages(lang, c.Runs[len(c.Runs)-1]))
	return b.String()
}

// Markdown is the table of the modes in Markdown.
func (c Comparison) Markdown() (text string) {
	for i, row := range modes(phrase.English, c.before, c.Report, true) {
		text += "| " + strings.Join(row, " | ") + " |\n"
		if i == 0 {
			text += "|" + strings.Repeat("---|", len(row)) + "\n"
		}
	}
	return text
}

// summary says what was replayed.
func summary(lang string, r Run) string {
	turns := 0
	for _, c := range r.Conversations {
		turns += len(c.Turns)
	}
	text := phrase.In(lang, "%s, %s, %s needed", phrase.Count(lang, len(r.Conversations), "conversation"),
		phrase.Count(lang, turns, "turn"), phrase.Count(lang, r.Needs, "tool"))
	for _, more := range []struct {
		n    int
		what string
	}{{r.Refused, "; %d refused to the user"}, {r.Absent, "; %d that do not exist"},
		{r.Failed, "; %d called with arguments that do not fit"}} {
		if more.n > 0 {
			text += phrase.In(lang, more.what, more.n)
		}
	}
	return text
}

// languages tells the recall of each language, when there are several.
func languages(lang string, r Run) string {
	found := map[string]Figures{}
	for _, c := range r.Conversations {
		f := found[c.Lang]
		f.Direct, f.Needs = f.Direct+c.Direct, f.Needs+c.Needs
		found[c.Lang] = f
	}
	if len(found) < 2 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, cmp.Or(name, phrase.Word(lang, "others"))+" "+percent(found[name].Recall()))
	}
	return phrase.In(lang, "recall of %s by language: %s\n", r.Mode, strings.Join(parts, ", "))
}

// modes is the table of modes, its head first. The rows before a change come before
// those after it. Dollars are compared with the first row. All columns are for Markdown;
// the others fit into 80 characters.
func modes(lang string, before, after Report, all bool) [][]string {
	rows := [][]string{{"mode", "recall", "search", "requests", "tokens"}}
	if all {
		rows = [][]string{{"mode", "recall", "with a search", "missed", "searches", "requests", "tokens sent"}}
	}
	for i, text := range rows[0] {
		rows[0][i] = phrase.Word(lang, text)
	}
	for _, p := range Providers() {
		rows[0] = append(rows[0], p.Name)
	}
	first := map[string]float64{}
	for _, row := range Rows(before, after) {
		r := row.Runs[0]
		cells := []string{row.Name, percent(r.Recall()), percent(r.ReachShare()), strconv.Itoa(r.Requests),
			short(r.Input)}
		if all {
			cells = slices.Concat(cells[:3],
				[]string{strconv.Itoa(r.Missed), strconv.Itoa(r.Searches), strconv.Itoa(r.Requests),
					thousands(r.Input)})
		}
		for _, r := range row.Runs {
			cells = append(cells, dollars(r, first))
		}
		rows = append(rows, cells)
	}
	return rows
}

// dollars tells a cost, and how it differs from the first one of its provider.
func dollars(r Run, first map[string]float64) string {
	base, ok := first[r.Provider]
	if !ok || base == 0 {
		first[r.Provider] = r.Dollars
		return "$" + money(r.Dollars)
	}
	return fmt.Sprintf("$%s %+.0f%%", money(r.Dollars), 100*(r.Dollars/base-1))
}

// money writes dollars with as many decimals as say something.
func money(dollars float64) string {
	switch {
	case dollars >= 100:
		return fmt.Sprintf("%.0f", dollars)
	case dollars >= 1:
		return fmt.Sprintf("%.2f", dollars)
	}
	return fmt.Sprintf("%.4f", dollars)
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// short writes a number of tokens in thousands or millions.
func short(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return thousands(n)
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// writeTurns writes what became of every turn.
func writeTurns(w io.Writer, lang string, report Report) {
	for _, r := range report.Runs {
		for _, c := range r.Conversations {
			phrase.Fprintf(w, lang, "%s · %s at %s · %d of %d tools at hand, %s tokens, $%.4f\n", c.ID, r.Mode,
				r.Provider, c.Direct, c.Needs, thousands(c.Input), c.Dollars)
			for i, t := range c.Turns {
				needs := make([]string, len(t.Tools))
				for j, n := range t.Tools {
					needs[j] = n.Tool + " " + string(n.Reach)
				}
				phrase.Fprintf(w, lang, "  %2d  %s\n      %s · %s tokens, %s of them from the cache, $%.4f\n", i+1,
					t.Text, cmp.Or(strings.Join(needs, ", "), phrase.Word(lang, "needs no tool")), thousands(t.Input),
					thousands(t.Read), t.Dollars)
			}
		}
	}
	fmt.Fprintln(w)
}

// writeChanges writes the turns in which a needed tool reaches the model in
// another way; with all set, also the turns in which only other tools changed.
func writeChanges(w io.Writer, lang string, changes []Change, all bool) {
	quiet := 0
	shown := map[string]bool{} // what another provider has changed in the same way
	for _, c := range changes {
		key := fmt.Sprint(c.Mode, c.Conversation, c.Turn, c.Tools, c.Added, c.Dropped)
		switch {
		case shown[key]:
			continue
		case len(c.Tools) == 0 && !all:
			quiet++
		default:
			writeChange(w, lang, c)
		}
		shown[key] = true
	}
	if quiet > 0 {
		phrase.Fprintf(w, lang, "%d turns in which the model sees other tools, none of them needed; --turns shows them\n", quiet)
	}
	if len(changes) > 0 {
		fmt.Fprintln(w)
	}
}

func writeChange(w io.Writer, lang string, c Change) {
	phrase.Fprintf(w, lang, "%s, turn %d (%s at %s): %s\n", c.Conversation, c.Turn, c.Mode, c.Provider, c.Text)
	for _, n := range c.Tools {
		phrase.Fprintf(w, lang, "  %s: %s, was %s\n", n.Tool, n.After, n.Before)
	}
	if len(c.Added) > 0 {
		fmt.Fprintf(w, "  + %s\n", strings.Join(c.Added, ", "))
	}
	if len(c.Dropped) > 0 {
		fmt.Fprintf(w, "  - %s\n", strings.Join(c.Dropped, ", "))
	}
	phrase.Fprintf(w, lang, "  %+d tokens, %+.5f $\n", c.Input, c.Dollars)
}

// UnpricedNote names the models whose prices etui does not know.
func UnpricedNote(lang string, models []string) string {
	var known, names []string
	for _, p := range Providers() {
		known = append(known, p.Model)
	}
	for _, m := range models {
		if m != "" && !slices.Contains(known, m) && !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return phrase.In(lang, "etui knows no price of %s; the dollars are those of %s\n", strings.Join(names, ", "),
		strings.Join(known, ", "))
}
