package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/unittest/lang"
	"example.com/unittest/report"
	"example.com/unittest/work"
	"github.com/etui-run/etui/session"
)

// TestHostile has code where text should be: the page shows it and runs nothing.
func TestHostile(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script>`
	last := &lang.Report{
		Cases:    []lang.Case{{Name: evil, Outcome: lang.Failed, Message: evil + " `x` | y\nz"}, {Name: "ok", Outcome: lang.Passed}},
		Coverage: &lang.Coverage{File: "x.go", Lines: []lang.Line{{Line: 1, Hits: 1, Branches: 2, Taken: 1, Open: []string{evil}}, {Line: 3}}},
	}
	r := report.New(report.Run{
		ID: "run-1", Source: "if x { // " + evil + "\n\n}\n", Reply: evil, Scripted: true,
		State: work.State{Target: "x.go", Language: "go", Goal: 80, Tests: []string{"x_test.go"}, Last: last, Changed: true, Runs: []work.Brief{{Cases: 2, Failed: 1, Line: 50, Branch: 50}}},
		Flow: session.Flow{Workflow: "unittest", Outcome: "limit", Reason: "rounds", Rounds: 7, AllTokens: 900, Path: []session.Switch{
			{To: "analysis", Tools: 4, ToolTokens: 250, FullTokens: 1000}, {From: "analysis", To: "limit"},
		}},
	})
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"report.html": {"&lt;script&gt;", `<td class="part"`, `<td class="none"`, "●○", "have not run", "−75 %", "1 fail", "scripted"},
		"report.md":   {"| branches | unknown | 50.0 % |", "- fails: `" + evil + "` `" + evil + ` 'x' \| y z` + "`", "they have not run", "left out 75 %"},
		"report.json": {`"outcome": "limit"`, `"branch": 50`},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "report.html" && strings.Contains(string(text), "<script") {
			t.Errorf("%s has a script: %s", name, text)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not have %q: %s", name, want, text)
			}
		}
	}
	if got := r.Summary(); !strings.Contains(got, "x.go: limit (rounds)") || !strings.Contains(got, "1 of 2 tests fail") {
		t.Errorf("the summary: %s", got)
	}
}
