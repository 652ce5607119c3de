// Package explanation describes for a terminal which tools and skills a message gets, and why.
package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/tool"
)

// Toolsets lists the skills of an agent that can be active, and marks the one that is.
func Toolsets(lang string, s api.Toolsets) string {
	var rows [][]string
	for _, t := range s.Skills {
		mark := " "
		if t.Name == s.Active {
			mark = "*"
		}
		rows = append(rows, []string{mark + " " + t.Name,
			phrase.In(lang, "%4d tools %6d tokens ", s.Counts[t.Name], s.Tokens[t.Name]),
			phrase.Word(lang, t.Description)})
	}
	return phrase.In(lang, "Toolsets of the agent %s (* is active):\n", s.Agent) +
		terminal.Table(rows, terminal.Width())
}

// near bounds how many tools are shown that match but were not sent, and how many that
// match but may not be used. It also bounds the skills offered to the model, and the
// other skills that match.
const near = 8

// Text writes an explanation for people, in lines of at most width columns.
func Text(lang string, x selection.Explanation, all bool, width int) string {
	var b strings.Builder
	steps := make([]string, 0, len(x.Funnel)+1)
	for _, s := range x.Funnel {
		if s.Dropped > 0 || s.Stage == "catalog" || s.Stage == "visibility" || s.Stage == "rank" {
			steps = append(steps, phrase.In(lang, stageWords[s.Stage], s.Left))
		}
	}
	steps = append(steps, phrase.In(lang, "%d sent", sent(x)))
	fmt.Fprintf(&b, "%s\n", strings.Join(steps, " → "))
	phrase.Fprintf(&b, lang, "mode %s: %s\n", x.Mode, phrase.Reword(lang, x.Why))
	if first, _, _ := strings.Cut(x.Request, "\n"); strings.Contains(x.Query, first) && first != "" {
		phrase.Fprintf(&b, lang, "request: %s (the rest of the message counts a little)\n",
			printable.Line(x.Request, 200))
	} else if first != "" {
		phrase.Fprintf(&b, lang, "read as Chinese: %s\n", printable.Line(x.Request, 200))
	}
	if x.Language != "" {
		phrase.Fprintf(&b, lang, "language: %s, which the tools do not speak: words of their names count, tools used lately are sent, and the model searches (docs/ranking.md, Other languages)\n", x.Language)
	}
	if x.Phase != "" {
		phrase.Fprintf(&b, lang, "phase %s of the workflow that runs\n", x.Phase)
	}
	phrase.Fprintf(&b, lang, "%d of %d tokens sent, %d saved (%.1f %%), budget %d\n", x.Tokens.Sent, x.Tokens.All,
		x.Tokens.Saved, x.Tokens.SavedPercent, x.Tokens.Budget)
	if x.Tokens.Usable < x.Tokens.All {
		phrase.Fprintf(&b, lang, "the skill and the request leave %d tools with %d tokens\n", x.Counts.Usable,
			x.Tokens.Usable)
	}
	if extra := metaTools(x.Declared); extra != "" {
		phrase.Fprintf(&b, lang, "beside them: %s, for everything that was not sent; %d tokens\n", extra, x.Tokens.Meta)
	}
	if x.Advice != "" {
		phrase.Fprintf(&b, lang, "close candidates: %s\n", x.Advice)
	}
	rows := [][]string{head(lang, "", "tool", "score", "tokens", "why")}
	for _, kind := range []struct {
		mark  string
		is    func(selection.Verdict) bool
		limit int
	}{
		{"✓", func(v selection.Verdict) bool { return v.Sent }, len(x.Tools)},
		{"·", func(v selection.Verdict) bool { return !v.Sent && v.Stage.Usable() }, near},
		{"✗", func(v selection.Verdict) bool { return !v.Stage.Usable() }, near},
	} {
		shown := 0
		for _, v := range x.Tools {
			if kind.is(v) && (all || v.Sent || v.Score > 0 && shown < kind.limit) {
				shown++
				rows = append(rows, []string{kind.mark, tool.Label(v.Tool, v.Original), fmt.Sprintf("%.2f", v.Score),
					strconv.Itoa(v.Tokens), because(lang, x, v)})
			}
		}
	}
	if len(rows) == 1 {
		phrase.Fprintf(&b, lang, "No tool is near this message. The model may still search with find_tools.\n")
	} else {
		b.WriteString("\n" + table(rows, width))
	}
	if len(x.Skills) > 0 {
		b.WriteString("\n" + table(skillRows(lang, x, all), width))
	}
	if len(x.Alternatives) > 0 {
		b.WriteString("\n" + table(changes(lang, x), width))
	}
	return b.String()
}

// table is [terminal.Table]. Where a narrow terminal would cut reasons, they stand under their rows.
func table(rows [][]string, width int) string {
	text := terminal.Table(rows, width)
	if width >= 80 || width < 40 || !strings.Contains(text, "…") {
		return text
	}
	whys := make([]string, len(rows))
	for i, row := range rows[1:] {
		last := &row[len(row)-1]
		whys[i+1], *last = *last, ""
	}
	var b strings.Builder
	for i, line := range slices.Collect(strings.Lines(terminal.Table(rows, width))) {
		b.WriteString(line)
		if whys[i] != "" {
			b.WriteString(terminal.Hang("    ", whys[i], width))
		}
	}
	return b.String()
}

// because returns a tool's reason with the words that matched, each with the field in
// which it counts most, or what would open the tool.
func because(lang string, x selection.Explanation, v selection.Verdict) string {
	var opens []string
	for _, a := range x.Alternatives {
		if slices.Contains(a.Opens, v.Tool) {
			opens = append(opens, a.Change+" "+a.Value)
		}
	}
	if len(opens) > 0 {
		return phrase.In(lang, "opened by %s; now %s", strings.Join(opens, ", "), phrase.Reword(lang, v.Reason))
	}
	why := withWords(lang, v.Reason, x.Query, v.Terms)
	if v.Meaning > 0 {
		why += phrase.In(lang, ", (meaning) %.1f", v.Meaning)
	}
	return why
}

// withWords is a reason with the words of a question that matched.
func withWords(lang, why, question string, terms []rank.Term) string {
	why = phrase.Reword(lang, why)
	var words []string
	for _, t := range terms {
		word := phrase.Word(lang, typed(question, cmp.Or(t.From, t.Word)))
		if t.From != "" {
			word += "→" + t.Word
		}
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %.1f %s", word, t.Score,
			phrase.Word(lang, cmp.Or(strongest(t.Fields), t.Why)))))
	}
	if len(words) == 0 {
		return why
	}
	return phrase.In(lang, "%s: %s", why, strings.Join(words, ", "))
}

// typed returns the word of a question that has a stem: namespaces for namespac. A stem
// that is the beginning of no word is returned as it is.
func typed(question, stem string) string {
	best := ""
	for word := range strings.FieldsFuncSeq(strings.ToLower(question),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch {
		case word == stem:
			return word
		case strings.HasPrefix(word, stem) && !chat.Wide([]rune(word)[0]) && (best == "" || len(word) < len(best)):
			best = word
		}
	}
	return cmp.Or(best, stem)
}

// skillRows are the skills as rows, and how many are not shown.
func skillRows(lang string, x selection.Explanation, all bool) [][]string {
	skills := x.Skills
	rows := [][]string{head(lang, "", "skill", "score", "tokens", "why")}
	shown := map[bool]int{}
	for _, s := range skills {
		if !all && (shown[s.Told] == near || !s.Told && s.Score == 0) {
			continue
		}
		shown[s.Told]++
		mark := "·"
		switch {
		case s.Told:
			mark = "✓"
		case !s.Stage.Usable():
			mark = "✗"
		}
		rows = append(rows, []string{mark, s.Skill, fmt.Sprintf("%.2f", s.Score), strconv.Itoa(s.Tokens),
			withWords(lang, s.Reason, x.Query, s.Terms)})
	}
	if more := len(skills) - shown[true] - shown[false]; more > 0 {
		rows = append(rows, []string{"", phrase.In(lang, "and %d more", more), "", "", ""})
	}
	return rows
}

// strongest names the field in which a word counts most.
func strongest(fields map[string]float64) string {
	best := ""
	for f, score := range fields {
		if best == "" || score > fields[best] || score == fields[best] && f < best {
			best = f
		}
	}
	return best
}

// changes are the alternatives as rows.
func changes(lang string, x selection.Explanation) [][]string {
	rows := [][]string{head(lang, "with", "usable", "sent", "what changes")}
	for _, a := range x.Alternatives {
		row := []string{a.Change + " " + a.Value, strconv.Itoa(a.Usable), fmt.Sprintf("%d → %d", sent(x), a.Sent)}
		before := len(rows)
		for _, part := range []struct {
			sign string
			list []string
		}{{phrase.In(lang, "opens "), a.Opens}, {"+ ", a.Added}, {"− ", a.Dropped}} {
			if len(part.list) > 0 && (part.sign != "+ " || !slices.Equal(part.list, a.Opens)) {
				rows = append(rows, append(row, part.sign+strings.Join(part.list, ", ")))
				row = []string{"", "", ""}
			}
		}
		if len(rows) == before {
			rows = append(rows, append(row, phrase.Word(lang, "nothing")))
		}
	}
	return rows
}

// head is the head of a table in a language.
func head(lang string, english ...string) []string {
	for i, text := range english {
		english[i] = phrase.Word(lang, text)
	}
	return english
}

// stageWords describe what was left after a stage.
var stageWords = map[string]string{
	"catalog": "%d tools", "enabled": "%d enabled", "groups": "%d in the agent's groups", "visibility": "%d visible",
	"skill": "%d in the skill", "request": "%d asked for", "rank": "%d ranked", "budget": "%d within the budget",
}

func sent(x selection.Explanation) int {
	n := 0
	for _, v := range x.Tools {
		if v.Sent {
			n++
		}
	}
	return n
}

// metaTools names those of the declared tools that are not in the catalog.
func metaTools(declared []string) string {
	var names []string
	for _, name := range declared {
		if selection.Meta(name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
