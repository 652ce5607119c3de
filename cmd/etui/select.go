package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/api"
)

func (a *cli) selectCommand() *cobra.Command {
	var who api.Message
	var ask asked
	var all, last bool
	c := &cobra.Command{
		Use: "select MESSAGE", Short: "Show which tools a message gets, and why", Args: cobra.ArbitraryArgs,
		Long: `Show which tools would reach the model for a message, and why: the funnel from the whole catalog
to what is sent, the tokens sent and saved, and a reason for each tool that came close. Nothing is
run or stored. --alternatives also shows what other skills would get, and the roles and channels
to try. --last shows what the last message of a conversation got.`,
		Example: `  etui select "who is on call this week?"
  etui select "退款" --skill sales --json
  etui select "delete the old pods" --user bob --role operator --channel slack
  etui select "what does Ann earn" --try-role hr,admin --try-channel slack
  etui select --last --channel telegram --user 42`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			if last {
				if text != "" {
					return config.Usagef("--last takes no message: it shows what was stored with the last one")
				}
				return a.with(cmd.Context(), true, func(c *client.Client) error {
					a.sayWhere(cmd.Context(), c)
					return a.why(cmd.Context(), c, who)
				})
			}
			return a.with(cmd.Context(), false, func(c *client.Client) error {
				a.sayWhere(cmd.Context(), c)
				return a.explain(cmd.Context(), c, who, text, ask, all)
			})
		},
	}
	callerFlags(c, &who)
	f := c.Flags()
	f.BoolVar(&all, "all", false, "show every tool and skill, even those that do not match the message")
	f.BoolVar(&last, "last", false, "show what the last message of the conversation got")
	f.BoolVar(&ask.alternatives, "alternatives", false, "show what other skills would get, and the roles and channels to try")
	f.StringSliceVar(&ask.try.Roles, "try-role", nil, "role to try (may be repeated)")
	f.StringSliceVar(&ask.try.Channels, "try-channel", nil, "channel to try (may be repeated)")
	return c
}

// asked is what select shows beside the message itself.
type asked struct {
	alternatives bool
	try          selection.Try
}

// explain prints what a message would get.
func (a *cli) explain(ctx context.Context, c *client.Client, who api.Message, text string, ask asked, all bool) error {
	m, err := says(who, text)
	if err != nil {
		return err
	}
	if m.Session == "" {
		m.History = []chat.Message{} // a new conversation
	}
	q := api.Question{Message: m, Try: ask.try}
	q.Alternatives = ask.alternatives || len(ask.try.Roles)+len(ask.try.Channels) > 0
	var x api.Answer
	if err := c.Do(ctx, http.MethodPost, "/api/select", q, &x); err != nil {
		return err
	}
	var refused *client.Error
	if err := c.InForce(ctx); err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusForbidden) { // a person's key says nothing about it
		fmt.Fprintf(a.err, "warning: %v\n", err)
	}
	if a.json {
		return a.printJSON(x)
	}
	_, err = fmt.Fprint(a.out, render(x.Explanation, all, a.whole())+renderRefused(x.Refused, a.whole()))
	return err
}

// near bounds how many tools are shown that match but were not sent, and how many that
// match but may not be used. It also bounds the skills offered to the model, and the
// other skills that match.
const near = 8

// render writes an explanation for people, in lines of at most width columns.
func render(x selection.Explanation, all bool, width int) string {
	var b strings.Builder
	steps := make([]string, 0, len(x.Funnel)+1)
	for _, s := range x.Funnel {
		if s.Dropped > 0 || s.Stage == "catalog" || s.Stage == "visibility" || s.Stage == "rank" {
			steps = append(steps, fmt.Sprintf("%d %s", s.Left, stageWords[s.Stage]))
		}
	}
	steps = append(steps, fmt.Sprintf("%d sent", sent(x)))
	fmt.Fprintf(&b, "%s\n", strings.Join(steps, " → "))
	fmt.Fprintf(&b, "mode %s: %s\n", x.Mode, x.Why)
	if x.Phase != "" {
		fmt.Fprintf(&b, "phase %s of the workflow that runs\n", x.Phase)
	}
	fmt.Fprintf(&b, "%d of %d tokens sent, %d saved (%.1f %%), budget %d\n", x.Tokens.Sent, x.Tokens.All, x.Tokens.Saved, x.Tokens.SavedPercent, x.Tokens.Budget)
	if x.Tokens.Usable < x.Tokens.All {
		fmt.Fprintf(&b, "the skill and the request leave %d tools with %d tokens\n", x.Counts.Usable, x.Tokens.Usable)
	}
	if extra := metaTools(x.Declared); extra != "" {
		fmt.Fprintf(&b, "beside them: %s, for everything that was not sent; %d tokens\n", extra, x.Tokens.Meta)
	}
	if x.Advice != "" {
		fmt.Fprintf(&b, "close candidates: %s\n", x.Advice)
	}
	rows := [][]string{{"", "tool", "score", "tokens", "why"}}
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
				rows = append(rows, []string{kind.mark, v.Tool, fmt.Sprintf("%.2f", v.Score), strconv.Itoa(v.Tokens), because(x, v)})
			}
		}
	}
	if len(rows) == 1 {
		b.WriteString("No tool is near this message.\n")
	} else {
		b.WriteString("\n" + layout(rows, 4, width))
	}
	if len(x.Skills) > 0 {
		b.WriteString("\n" + layout(skillRows(x, all), 4, width))
	}
	if len(x.Alternatives) > 0 {
		b.WriteString("\n" + layout(changes(x), 3, width))
	}
	return b.String()
}

// because returns a tool's reason with the words that matched, each with the field in
// which it counts most, or what would open the tool.
func because(x selection.Explanation, v selection.Verdict) string {
	var opens []string
	for _, a := range x.Alternatives {
		if slices.Contains(a.Opens, v.Tool) {
			opens = append(opens, a.Change+" "+a.Value)
		}
	}
	if len(opens) > 0 {
		return "opened by " + strings.Join(opens, ", ") + "; now " + v.Reason
	}
	why := withWords(v.Reason, x.Query, v.Terms)
	if v.Meaning > 0 {
		why += fmt.Sprintf(", (meaning) %.1f", v.Meaning)
	}
	return why
}

// withWords is a reason with the words of a question that matched.
func withWords(reason, question string, terms []rank.Term) string {
	var words []string
	for _, t := range terms {
		word := typed(question, cmp.Or(t.From, t.Word))
		if t.From != "" {
			word += "→" + t.Word
		}
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %.1f %s", word, t.Score, cmp.Or(strongest(t.Fields), t.Why))))
	}
	if len(words) == 0 {
		return reason
	}
	return reason + ": " + strings.Join(words, ", ")
}

// typed returns the word of a question that has a stem: namespaces for namespac. A stem
// that is the beginning of no word is returned as it is.
func typed(question, stem string) string {
	best := ""
	for word := range strings.FieldsFuncSeq(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
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
func skillRows(x selection.Explanation, all bool) [][]string {
	skills := x.Skills
	rows := [][]string{{"", "skill", "score", "tokens", "why"}}
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
		rows = append(rows, []string{mark, s.Skill, fmt.Sprintf("%.2f", s.Score), strconv.Itoa(s.Tokens), withWords(s.Reason, x.Query, s.Terms)})
	}
	if more := len(skills) - shown[true] - shown[false]; more > 0 {
		rows = append(rows, []string{"", fmt.Sprintf("and %d more", more), "", "", ""})
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
func changes(x selection.Explanation) [][]string {
	rows := [][]string{{"with", "usable", "sent", "what changes"}}
	for _, a := range x.Alternatives {
		row := []string{a.Change + " " + a.Value, strconv.Itoa(a.Usable), fmt.Sprintf("%d → %d", sent(x), a.Sent)}
		before := len(rows)
		for _, part := range []struct {
			sign string
			list []string
		}{{"opens ", a.Opens}, {"+ ", a.Added}, {"− ", a.Dropped}} {
			if len(part.list) > 0 && (part.sign != "+ " || !slices.Equal(part.list, a.Opens)) {
				rows = append(rows, append(row, part.sign+strings.Join(part.list, ", ")))
				row = []string{"", "", ""}
			}
		}
		if len(rows) == before {
			rows = append(rows, append(row, "nothing"))
		}
	}
	return rows
}

// layout formats rows as a table whose first row is its head. The last column, whose
// index is last, gets the rest of the width and is cut there. Chinese characters take
// two columns, as in terminals.
func layout(rows [][]string, last, width int) string {
	widths := make([]int, last)
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
		for i := range widths {
			widths[i] = min(max(widths[i], ansi.StringWidth(row[i])), width/2)
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, w := range widths {
			cell := ansi.Truncate(row[i], w, "…")
			space := strings.Repeat(" ", w-ansi.StringWidth(cell))
			if _, err := strconv.ParseFloat(cell, 64); err == nil {
				line += space + cell + " " // numbers stand to the right
			} else {
				line += cell + space + " "
			}
		}
		line += row[last]
		b.WriteString(strings.TrimRight(ansi.Truncate(line, width, "…"), " ") + "\n")
	}
	return b.String()
}

// stageWords describe what was left after a stage.
var stageWords = map[string]string{
	"catalog": "tools", "enabled": "enabled", "groups": "in the agent's groups", "visibility": "visible", "skill": "in the skill",
	"request": "asked for", "rank": "ranked", "budget": "within the budget",
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

// maxLine is wider than any line of reasons.
const maxLine = 10_000

// whole is how wide a line of reasons may be: a file or a program gets whole lines.
func (a *cli) whole() int {
	if os.Getenv("COLUMNS") == "" && !a.onTerminal() {
		return maxLine
	}
	return width()
}

// width is how wide a line may be: as COLUMNS says, as the terminal is, or 80.
func width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 60 {
		return n
	}
	if n, _, err := term.GetSize(os.Stdout.Fd()); err == nil && n >= 60 {
		return n
	}
	return 80
}
