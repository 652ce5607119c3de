package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// mutationChecker changes the target a little, in a copy - an operator, a boundary, a returned value - and runs the tests: at least one must fail. It finds tests that run code and assert nothing. Call it when all tests pass.
//
//etui:tool name=MutationChecker risk=write replay=safe
//etui:zh 在副本中改动目标代码，检查测试是否能发现。
//etui:alias mutants, PIT, weak assertions, mutation score, 变异测试
//etui:example do the tests assert anything?
func (w *Work) mutationChecker(ctx context.Context) (chat.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := w.st.Last; {
	case r == nil, w.st.Changed:
		return chat.Result{}, errors.New("the tests have changed since they ran; MavenExecutor runs them")
	case !r.Green(), r.Coverage == nil:
		return chat.Result{}, errors.New("mutants tell nothing while tests fail; TestReport tells which")
	}
	chosen, err := w.chosen()
	if err != nil {
		return chat.Result{}, err
	}
	if err := w.Project.Sync(); err != nil {
		return chat.Result{}, err
	}
	m := &Mutation{}
	for i, mutant := range chosen {
		tool.Report(ctx, tool.Progress{Text: "mutants", Done: float64(i), Total: float64(len(chosen))})
		if err := w.Project.Put(w.Target, mutant.Source); err != nil {
			return chat.Result{}, err
		}
		r, err := w.Language.Test(ctx, w.Project, lang.Run{Tests: w.st.Tests, Timeout: time.Minute})
		if err != nil {
			return chat.Result{}, errors.Join(err, w.Project.Sync())
		}
		m.Chosen = append(m.Chosen, idOf(mutant))
		switch {
		case len(r.Problems) > 0:
			m.Invalid++
		case r.Green() && r.Note == "": // a run that was cut off has noticed it
			m.Tried++
			m.Survived = append(m.Survived, mutant)
		default:
			m.Tried++
			m.Killed++
		}
	}
	if err := w.Project.Sync(); err != nil { // the target is itself again
		return chat.Result{}, err
	}
	w.st.Mutation = m
	if err := w.save(); err != nil {
		return chat.Result{}, err
	}
	return result(map[string]any{"tried": m.Tried, "killed": m.Killed, "survived": len(m.Survived), "score": round(m.Score()), "goal": w.Mutants},
		fmt.Sprintf("Tests noticed %d of %d mutants (%.0f %%; the goal is %g %%).\n%s", m.Killed, m.Tried, m.Score(), w.Mutants, survivors(m.Survived)))
}

// chosen are the mutants to try: those of the check before, or some on lines that ran, spread
// over the target.
func (w *Work) chosen() ([]lang.Mutant, error) {
	all, err := w.Language.Mutants(w.Project, w.Target)
	if err != nil {
		return nil, err
	}
	if m := w.st.Mutation; m != nil && len(m.Chosen) > 0 {
		again := slices.DeleteFunc(slices.Clone(all), func(one lang.Mutant) bool { return !slices.Contains(m.Chosen, idOf(one)) })
		if len(again) > 0 {
			return again, nil
		}
	}
	ran := map[int]bool{}
	for _, l := range w.st.Last.Coverage.Lines {
		ran[l.Line] = l.Hits > 0
	}
	all = slices.DeleteFunc(all, func(one lang.Mutant) bool { return !ran[one.Line] })
	if len(all) <= w.MaxMutants {
		return all, nil
	}
	spread := make([]lang.Mutant, 0, w.MaxMutants)
	for i := range w.MaxMutants {
		spread = append(spread, all[i*len(all)/w.MaxMutants])
	}
	return spread, nil
}

func idOf(m lang.Mutant) string {
	return fmt.Sprintf("%d:%d %s -> %s", m.Line, m.Column, m.Before, m.After)
}

func survivors(list []lang.Mutant) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("No test noticed these changes of the target:\n")
	for _, m := range list {
		fmt.Fprintf(&b, "line %d: %s became %s\n", m.Line, m.Before, m.After)
	}
	return b.String()
}
