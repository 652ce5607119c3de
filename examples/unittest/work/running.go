package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/chat"
)

var errNoTests = errors.New("no tests have been written yet; write some with FileSystem")

// syntaxChecker compiles the tests that were written, without running them, and says what is wrong, with file, line and the compiler's words.
//
//etui:tool name=SyntaxChecker risk=write replay=safe
//etui:zh 编译测试而不运行，报告编译错误。
//etui:alias compile, syntax error, type check, 语法检查
//etui:example do the tests compile?
func (w *Work) syntaxChecker(ctx context.Context) (chat.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.st.Tests) == 0 {
		return chat.Result{}, errNoTests
	}
	if err := w.Project.Sync(); err != nil {
		return chat.Result{}, err
	}
	problems, err := w.Language.Check(ctx, w.Project, w.st.Tests)
	if err != nil {
		return chat.Result{}, err
	}
	data := map[string]any{"ok": len(problems) == 0, "problems": len(problems), "changed": w.st.Changed}
	if len(problems) == 0 {
		return result(data, "The tests compile.")
	}
	w.st.Uncompiled++
	if err := w.save(); err != nil {
		return chat.Result{}, err
	}
	return result(data, "The tests do not compile:\n"+listed(problems))
}

func listed(problems []lang.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		if p.File == "" {
			fmt.Fprintln(&b, p.Message)
			continue
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", p.File, p.Line, p.Column, p.Message)
	}
	return b.String()
}

type runInput struct {
	Case string `json:"case" default:""` // the only test to run; by default all, with coverage
}

// mavenExecutor runs the tests with the project's own tool (Maven, JUnit, go test) and measures coverage. TestReport shows failures, Coverage what is not reached.
//
//etui:tool name=MavenExecutor risk=write replay=safe
//etui:zh 运行测试并测量覆盖率。
//etui:alias run tests, mvn test, go test, test runner, execute, 运行测试
//etui:example run the tests
func (w *Work) mavenExecutor(ctx context.Context, in runInput) (chat.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.st.Tests) == 0 {
		return chat.Result{}, errNoTests
	}
	if err := w.Project.Sync(); err != nil {
		return chat.Result{}, err
	}
	run := lang.Run{Target: w.Target}
	if in.Case != "" {
		run = lang.Run{Tests: w.st.Tests, Case: in.Case}
	}
	r, err := w.Language.Test(ctx, w.Project, run)
	if err != nil {
		return chat.Result{}, err
	}
	if r.Note != "" && r.Coverage == nil {
		r.Cut = true // what is not whole is not green
	}
	failed := r.Count(lang.Failed) + r.Count(lang.Errored)
	if in.Case == "" {
		w.st.Last, w.st.Changed = r, false
		w.st.Mutation = w.st.Mutation.outdated()
		brief := Brief{Cases: len(r.Cases), Failed: failed, Note: r.Note}
		brief.Line, brief.Branch = r.Coverage.Percent()
		if len(r.Problems) > 0 {
			brief.Note = "the tests do not compile"
		}
		if w.st.Runs = append(w.st.Runs, brief); len(w.st.Runs) > maxRuns {
			w.st.Runs = w.st.Runs[1:]
		}
		if err := w.save(); err != nil {
			return chat.Result{}, err
		}
	}
	data := map[string]any{"green": r.Green(), "cases": len(r.Cases), "failed": failed, "compiles": len(r.Problems) == 0}
	text := fmt.Sprintf("%d tests ran, %d failed.", len(r.Cases), failed)
	if len(r.Problems) > 0 {
		text = "Nothing ran, because the tests do not compile."
	}
	return result(data, strings.TrimSpace(text+" "+r.Note))
}

// outdated is a check whose tests have changed since: what was chosen stays.
func (m *Mutation) outdated() *Mutation {
	if m == nil {
		return nil
	}
	return &Mutation{Chosen: m.Chosen, Survived: m.Survived}
}

// testReport tells what is wrong with the tests after the newest run: what does not compile, which tests fail and why, which branches are not reached, and which mutants no test noticed.
//
//etui:tool name=TestReport risk=read
//etui:zh 报告最近一次运行中失败的测试、未覆盖的分支和未被发现的变异。
//etui:alias failures, surefire, junit report, results, 测试报告
//etui:example why do the tests fail?
func (w *Work) testReport() (chat.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.st.Last
	if r == nil {
		return chat.Result{}, errors.New("the tests have not run yet; MavenExecutor runs them")
	}
	var b strings.Builder
	if w.st.Changed {
		b.WriteString("The tests have changed since this run.\n")
	}
	failures := 0
	fmt.Fprintf(&b, "%d tests, %d passed.\n", len(r.Cases), r.Count(lang.Passed))
	b.WriteString(listed(r.Problems))
	for _, c := range r.Cases {
		if c.Outcome == lang.Failed || c.Outcome == lang.Errored {
			if failures++; failures <= 20 {
				fmt.Fprintf(&b, "%s %s", c.Outcome, c.Name)
				if c.File != "" {
					fmt.Fprintf(&b, " (%s:%d)", c.File, c.Line)
				}
				fmt.Fprintf(&b, ":\n%s\n", indent(c.Message))
			}
		}
	}
	if failures > 20 {
		fmt.Fprintf(&b, "(%d more failures)\n", failures-20)
	}
	open := 0
	if r.Green() {
		var text string
		text, open = openBranches(r.Coverage, 30)
		b.WriteString(text)
	}
	survived := 0
	if m := w.st.Mutation; m != nil && len(m.Survived) > 0 {
		survived = len(m.Survived)
		b.WriteString(survivors(m.Survived))
	}
	if r.Note != "" {
		b.WriteString(r.Note + "\n")
	}
	return result(map[string]any{
		"green": r.Green(), "tests": len(r.Cases), "failures": failures, "problems": len(r.Problems), "open": open, "survived": survived,
	}, b.String())
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// openBranches lists what the tests do not reach.
func openBranches(c *lang.Coverage, most int) (string, int) {
	if c == nil {
		return "", 0
	}
	var b strings.Builder
	open := 0
	for _, l := range c.Lines {
		missing := l.Branches - l.Taken
		if missing == 0 && l.Hits > 0 {
			continue
		}
		open += missing
		if most--; most < 0 {
			continue
		}
		switch {
		case len(l.Open) > 0:
			fmt.Fprintf(&b, "line %d: %s\n", l.Line, strings.Join(l.Open, "; "))
		case missing > 0:
			fmt.Fprintf(&b, "line %d: %d of %d branches are not taken\n", l.Line, missing, l.Branches)
		default:
			fmt.Fprintf(&b, "line %d never runs\n", l.Line)
		}
	}
	if b.Len() == 0 {
		return "", open
	}
	if most < 0 {
		fmt.Fprintf(&b, "(%d more lines)\n", -most)
	}
	return "Not reached:\n" + b.String(), open
}

// coverage tells which share of the lines and branches of the target the newest run reached, the goal, and which branches are still open.
//
//etui:tool name=Coverage risk=read
//etui:zh 报告行覆盖率和分支覆盖率，以及未覆盖的分支。
//etui:alias jacoco, line coverage, branch coverage, uncovered, 覆盖率
//etui:example is the coverage goal reached?
func (w *Work) coverage() (chat.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.st.Last == nil, w.st.Changed:
		return chat.Result{}, errors.New("the tests have changed since they ran; MavenExecutor runs them")
	case w.st.Last.Coverage == nil:
		return chat.Result{}, fmt.Errorf("the newest run gave no coverage: %s", cmp.Or(w.st.Last.Note, "tests do not compile or crash; TestReport tells which"))
	}
	c := w.st.Last.Coverage
	line, branch := c.Percent()
	lines, ran, branches, taken := c.Counts()
	text, open := openBranches(c, 60)
	return result(map[string]any{"line": round(line), "branch": round(branch), "goal": w.Goal, "open": open},
		fmt.Sprintf("%.1f %% of branches (%d of %d), %.1f %% of lines (%d of %d). The goal is %g %% of branches.\n%s", branch, taken, branches, line, ran, lines, w.Goal, text))
}

func round(f float64) float64 { return float64(int(f*10)) / 10 }

// runHistory lists the runs of the tests so far, with cases, failures and coverage: whether the work gets on.
//
//etui:tool name=RunHistory risk=read
//etui:zh 列出以前各次测试运行的结果和覆盖率。
//etui:alias progress, previous runs, trend, 运行历史
//etui:example did the last repair help?
func (w *Work) runHistory() (chat.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return result(map[string]any{"runs": slices.Clone(w.st.Runs)}, "")
}
