package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

// Report holds the results of replays, a run for each mode and provider.
type Report struct {
	Runs []Run `json:"runs"`
}

// ReadReport reads a report that was written as JSON.
func ReadReport(file string) (r Report, err error) {
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

// Modes returns the modes of the runs, without those that this version does not have.
func (r Report) Modes() []Mode {
	var list []Mode
	for _, run := range r.Runs {
		if _, err := ParseMode(string(run.Mode)); err == nil && !slices.Contains(list, run.Mode) {
			list = append(list, run.Mode)
		}
	}
	return list
}

// Below says which runs have a share below the least one, in a sentence each. The shares
// are called recall and reached.
func (r Report) Below(least map[string]float64) []string {
	var list []string
	for _, run := range r.Runs {
		for _, name := range slices.Sorted(maps.Keys(least)) {
			got := run.Recall()
			if name == "reached" {
				got = run.ReachShare()
			}
			if got < least[name] {
				list = append(list, fmt.Sprintf("%s at %s: %s is %.3f, less than %g", run.Mode, run.Provider, name, got,
					least[name]))
			}
		}
	}
	return list
}

// Change is a difference between two replays of a turn.
type Change struct {
	Mode         Mode   `json:"mode"`
	Provider     string `json:"provider"`
	Conversation string `json:"conversation"`
	// Turn counts from 1; 0 is the whole conversation.
	Turn int    `json:"turn,omitempty"`
	Text string `json:"text,omitempty"`
	// Added and Dropped are tools that the model saw only after, or only before, the
	// change.
	Added   []string `json:"added,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
	// Tools are needed tools that reached the model in another way.
	Tools []NeedChange `json:"tools,omitempty"`
	// Input and Dollars are how many more tokens were sent, and their price.
	Input   int     `json:"input"`
	Dollars float64 `json:"dollars"`
}

// NeedChange says how a needed tool reached the model before and after.
type NeedChange struct {
	Tool   string `json:"tool"`
	Before Reach  `json:"before"`
	After  Reach  `json:"after"`
}

// Compare lists the turns whose tools changed or reach the model in another way.
// Runs, conversations and turns that only one of the two reports has are left out.
func Compare(before, after Report) []Change {
	var list []Change
	for _, now := range after.Runs {
		if then, ok := before.find(now); ok {
			list = append(list, compareRuns(then, now)...)
		}
	}
	return list
}

func (r Report) find(like Run) (Run, bool) {
	i := slices.IndexFunc(r.Runs, func(x Run) bool { return x.Mode == like.Mode && x.Provider == like.Provider })
	if i < 0 {
		return Run{}, false
	}
	return r.Runs[i], true
}

func compareRuns(then, now Run) []Change {
	var list []Change
	for _, c := range now.Conversations {
		i := slices.IndexFunc(then.Conversations, func(x ConversationResult) bool { return x.ID == c.ID })
		if i < 0 {
			continue
		}
		old := then.Conversations[i]
		for n, t := range c.Turns[:min(len(c.Turns), len(old.Turns))] {
			if t.Text != old.Turns[n].Text {
				break // from here on it is another conversation
			}
			change := compareTurns(old.Turns[n], t)
			if len(change.Added)+len(change.Dropped)+len(change.Tools) > 0 {
				change.Mode, change.Provider, change.Conversation, change.Turn = now.Mode, now.Provider, c.ID, n+1
				list = append(list, change)
			}
		}
	}
	return list
}

func compareTurns(old, now TurnResult) Change {
	c := Change{
		Text: now.Text, Added: without(now.Told, old.Told), Dropped: without(old.Told, now.Told),
		Input: now.Input - old.Input, Dollars: now.Dollars - old.Dollars,
	}
	for i, n := range now.Tools[:min(len(now.Tools), len(old.Tools))] {
		if was := old.Tools[i]; was.Tool == n.Tool && was.Reach != n.Reach {
			c.Tools = append(c.Tools, NeedChange{n.Tool, was.Reach, n.Reach})
		}
	}
	return c
}

// without returns what is in list and not in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// Comparable reports whether each run of after has one in before, with a
// conversation in common. Otherwise a comparison finds nothing.
func Comparable(before, after Report) bool {
	for _, now := range after.Runs {
		then, ok := before.find(now)
		if !ok || len(both(now, then).Conversations) == 0 {
			return false
		}
	}
	return true
}

// both returns the part of a run whose conversations another run has, too.
func both(r, other Run) Run {
	part := Run{Mode: r.Mode, Provider: r.Provider, Model: r.Model}
	for _, c := range r.Conversations {
		if slices.ContainsFunc(other.Conversations,
			func(x ConversationResult) bool { return x.ID == c.ID && len(x.Turns) == len(c.Turns) }) {
			part.Conversations = append(part.Conversations, c)
			part.add(c.Figures)
		}
	}
	return part
}

// tolerance is how much the cost may rise without being worse: because of rounding
// and the length of names.
const tolerance = 0.001

// Worse says what got worse, in a sentence each. It looks at the conversations that
// both reports have.
func Worse(before, after Report) []string {
	var list []string
	say := func(r Run, format string, args ...any) {
		list = append(list, fmt.Sprintf("%s at %s: ", r.Mode, r.Provider)+fmt.Sprintf(format, args...))
	}
	for _, now := range after.Runs {
		then, ok := before.find(now)
		if !ok {
			continue
		}
		then, now = both(then, now), both(now, then)
		if now.Recall() < then.Recall() {
			say(now, "recall fell from %.1f %% to %.1f %%", 100*then.Recall(), 100*now.Recall())
		}
		if now.ReachShare() < then.ReachShare() {
			say(now, "recall with searches fell from %.1f %% to %.1f %%", 100*then.ReachShare(), 100*now.ReachShare())
		}
		if now.Refused > then.Refused {
			say(now, "%d needed tools are refused, not %d", now.Refused, then.Refused)
		}
		if now.Absent > then.Absent {
			say(now, "%d needed tools do not exist, not %d", now.Absent, then.Absent)
		}
		if now.Failed > then.Failed {
			say(now, "the arguments of %d calls do not fit, not %d", now.Failed, then.Failed)
		}
		if now.Dollars > then.Dollars*(1+tolerance) {
			say(now, "the cost rose from $%.4f to $%.4f", then.Dollars, now.Dollars)
		}
	}
	return list
}

// Row is what a table shows of a mode: its runs, one for each provider.
type Row struct {
	// Name is the mode; with ", before" in a report that another is compared with.
	Name string
	Runs []Run
}

// Rows returns the rows of two reports, those before a change first.
func Rows(before, after Report) (rows []Row) {
	add := func(runs []Run, when string) {
		for _, r := range runs {
			name := string(r.Mode) + when
			if len(rows) == 0 || rows[len(rows)-1].Name != name {
				rows = append(rows, Row{Name: name})
			}
			last := &rows[len(rows)-1]
			last.Runs = append(last.Runs, r)
		}
	}
	add(before.Runs, ", before")
	add(after.Runs, "")
	return rows
}
