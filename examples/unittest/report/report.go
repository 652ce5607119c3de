// Package report says what a run of the unit-test agent gave: as Markdown, as JSON, and as a
// page with the source coloured by coverage before and after.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"example.com/unittest/lang"
	"example.com/unittest/work"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/workflow"
)

// Run is what a report is made of.
type Run struct {
	ID    string
	State work.State
	Flow  session.Flow
	// Reply is what the run ended with, Source that of the target.
	Reply, Source string
	// Scripted says that the answers were made up, and no model was asked.
	Scripted bool
}

// Share is coverage in percent.
type Share struct {
	Line     float64 `json:"line"`
	Branch   float64 `json:"branch"`
	Lines    int     `json:"lines"`
	Branches int     `json:"branches"`
	// Known is false if nothing was measured.
	Known bool `json:"known"`
}

func share(c *lang.Coverage) Share {
	s := Share{Known: c != nil}
	s.Line, s.Branch = c.Percent()
	s.Lines, _, s.Branches, _ = c.Counts()
	return s
}

// String is the share for people.
func (s Share) String() string {
	if !s.Known {
		return "unknown"
	}
	return fmt.Sprintf("%.1f %% of %d branches, %.1f %% of %d lines", s.Branch, s.Branches, s.Line, s.Lines)
}

// Phase is a visit of a phase.
type Phase struct {
	Name string `json:"name"`
	// Why is the condition that led there.
	Why string `json:"why,omitempty"`
	// Tools and ToolTokens are what its requests declared, FullTokens what all tools cost.
	Tools      int    `json:"tools"`
	ToolTokens int    `json:"tool_tokens"`
	FullTokens int    `json:"full_tokens"`
	Delivery   string `json:"delivery,omitempty"`
	// Lost is what the switch cost in the provider's prompt cache, in input tokens.
	Lost float64 `json:"lost"`
}

// Report is what a run gave.
type Report struct {
	ID       string   `json:"id"`
	Target   string   `json:"target"`
	Language string   `json:"language"`
	Outcome  string   `json:"outcome"`
	Reason   string   `json:"reason,omitempty"`
	Scripted bool     `json:"scripted"`
	Goal     float64  `json:"goal"`
	Before   Share    `json:"before"`
	After    Share    `json:"after"`
	Tests    []string `json:"tests"`
	Cases    int      `json:"cases"`
	// Failing are the tests that fail at the end, Problems what does not compile.
	Failing  []lang.Case    `json:"failing,omitempty"`
	Problems []lang.Problem `json:"problems,omitempty"`
	// Unchecked says that tests were written after the last run.
	Unchecked bool           `json:"unchecked,omitempty"`
	Mutation  *work.Mutation `json:"mutation,omitempty"`
	Score     float64        `json:"score"`
	// Uncompiled is how often tests were checked that did not compile.
	Uncompiled int          `json:"uncompiled"`
	Runs       []work.Brief `json:"runs"`
	Phases     []Phase      `json:"phases"`
	Rounds     int          `json:"rounds"`
	Tokens     int          `json:"tokens"`
	Cost       float64      `json:"cost,omitempty"`
	// Saved is the share of tokens of tool definitions that the phases left out, in percent:
	// of what all tools would have cost in the visits whose tools are known.
	Saved float64 `json:"saved"`
	Reply string  `json:"reply,omitempty"`

	source        string
	before, after *lang.Coverage
}

// New makes a report.
func New(run Run) *Report {
	st, f := run.State, run.Flow
	r := &Report{
		ID: run.ID, Target: st.Target, Language: st.Language, Outcome: f.Outcome, Reason: f.Reason, Scripted: run.Scripted, Goal: st.Goal,
		Tests: st.Tests, Unchecked: st.Changed && len(st.Tests) > 0, Mutation: st.Mutation, Uncompiled: st.Uncompiled, Runs: st.Runs,
		Rounds: f.Rounds, Tokens: f.AllTokens, Cost: f.Cost, Reply: run.Reply, source: run.Source, before: st.Before,
	}
	if f.Reply != "" && f.Outcome == workflow.Failed { // what the agent said when it gave up
		r.Reason = f.Reply
	}
	if r.Outcome == "" {
		r.Outcome, r.Reason = "open", strings.TrimSpace(run.Reply+" The run has not ended; --resume goes on with it.")
	}
	if st.Last != nil {
		r.after, r.Cases, r.Problems = st.Last.Coverage, len(st.Last.Cases), st.Last.Problems
		for _, c := range st.Last.Cases {
			if c.Outcome == lang.Failed || c.Outcome == lang.Errored {
				r.Failing = append(r.Failing, c)
			}
		}
	}
	if r.Mutation != nil && r.Mutation.Tried == 0 {
		r.Mutation = nil // the tests have changed since
	}
	r.Score, r.Before, r.After = r.Mutation.Score(), share(r.before), share(r.after)
	sent, full := 0, 0
	for i, s := range f.Path {
		if i == 0 && s.FullTokens == 0 && s.From == "" {
			s.Tools, s.ToolTokens, s.FullTokens = st.Began.Tools, st.Began.ToolTokens, st.Began.FullTokens
		}
		if s.To == f.Outcome {
			continue // the end
		}
		r.Phases = append(r.Phases, Phase{Name: s.To, Why: s.Why, Tools: s.Tools, ToolTokens: s.ToolTokens, FullTokens: s.FullTokens, Delivery: s.Delivery, Lost: s.Lost})
		if s.FullTokens > 0 {
			sent, full = sent+s.ToolTokens, full+s.FullTokens
		}
	}
	if full > 0 {
		r.Saved = 100 * (1 - float64(sent)/float64(full))
	}
	return r
}

// Summary is the report in a few lines.
func (r *Report) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.Target, r.Outcome)
	if r.Reason != "" && r.Outcome != workflow.Done {
		fmt.Fprintf(&b, " (%s)", r.Reason)
	}
	if len(r.Runs) == 0 {
		fmt.Fprintf(&b, "\nNo tests ran. Coverage before: %s.", r.Before)
		return b.String()
	}
	fmt.Fprintf(&b, "\nCoverage: %s; before: %s; the goal is %g %% of branches.", r.After, r.Before, r.Goal)
	if n := len(r.Failing); n > 0 {
		fmt.Fprintf(&b, "\n%d of %d tests fail.", n, r.Cases)
	}
	if len(r.Problems) > 0 {
		b.WriteString("\nThe tests do not compile.")
	}
	return b.String()
}

// Write writes report.md, report.json and report.html into a folder.
func (r *Report) Write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := r.html(&page); err != nil {
		return err
	}
	for name, text := range map[string][]byte{"report.json": append(data, '\n'), "report.md": []byte(r.Markdown()), "report.html": page.Bytes()} {
		if err := work.Store(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Markdown is the report for people.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Tests of %s\n\n", r.Target)
	if r.Scripted {
		b.WriteString("The answers in this run were scripted: made up, for a first look. The compilers, tests and coverage are real.\n\n")
	}
	fmt.Fprintf(&b, "**%s**", r.Outcome)
	if r.Reason != "" {
		fmt.Fprintf(&b, ": %s", code(r.Reason))
	}
	fmt.Fprintf(&b, "\n\n| | before | after |\n|---|---|---|\n| branches | %s | %s |\n| lines | %s | %s |\n\n",
		percent(r.Before.Known, r.Before.Branch), percent(r.After.Known, r.After.Branch), percent(r.Before.Known, r.Before.Line), percent(r.After.Known, r.After.Line))
	fmt.Fprintf(&b, "The goal is %g %% of branches. ", r.Goal)
	fmt.Fprintf(&b, "%d tests ran; %d fail. Tests did not compile %d times on the way.\n\n", r.Cases, len(r.Failing), r.Uncompiled)
	if r.Unchecked {
		b.WriteString("**Tests were written after the last run: they have not run.**\n\n")
	}
	for _, t := range r.Tests {
		fmt.Fprintf(&b, "- written: `%s`\n", t)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "- does not compile: `%s:%d` %s\n", p.File, p.Line, code(p.Message))
	}
	for _, c := range r.Failing {
		fmt.Fprintf(&b, "- fails: `%s` %s\n", c.Name, code(c.Message))
	}
	if m := r.Mutation; m != nil {
		fmt.Fprintf(&b, "\n## Mutants\n\nTests noticed %d of %d changes of the target (%.0f %%).\n\n", m.Killed, m.Tried, r.Score)
		for _, s := range m.Survived {
			fmt.Fprintf(&b, "- not noticed, line %d: `%s` became `%s`\n", s.Line, s.Before, s.After)
		}
	}
	fmt.Fprintf(&b, "\n## Phases\n\n%d rounds, %d tokens", r.Rounds, r.Tokens)
	if r.Cost > 0 {
		fmt.Fprintf(&b, ", $%.4f", r.Cost)
	}
	fmt.Fprintf(&b, ". The phases left out %.0f %% of the tokens of tool definitions that all tools would have cost.\n\n| phase | because | tools | tokens of definitions | of all tools | delivery | lost in the cache |\n|---|---|---|---|---|---|---|\n", r.Saved)
	for _, p := range r.Phases {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %s | %.0f |\n", p.Name, code(p.Why), p.Tools, p.ToolTokens, p.FullTokens, p.Delivery, p.Lost)
	}
	b.WriteString("\n## Runs of the tests\n\n| run | tests | failed | lines | branches | |\n|---|---|---|---|---|---|\n")
	for i, run := range r.Runs {
		fmt.Fprintf(&b, "| %d | %d | %d | %.1f %% | %.1f %% | %s |\n", i+1, run.Cases, run.Failed, run.Line, run.Branch, strings.ReplaceAll(code(run.Note), "\n", " "))
	}
	if r.Reply != "" {
		fmt.Fprintf(&b, "\n## How it ended\n\n%s\n", r.Reply)
	}
	return b.String()
}

func percent(known bool, f float64) string {
	if !known {
		return "unknown"
	}
	return fmt.Sprintf("%.1f %%", f)
}

// code is a text on one line of Markdown, as it is.
func code(text string) string {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(text) + "`"
}
