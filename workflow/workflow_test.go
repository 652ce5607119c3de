package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/workflow"
)

func phases(list ...workflow.Phase) workflow.Workflow {
	return workflow.Workflow{Name: "w", Phases: list}
}

// when is a workflow with one condition.
func when(condition string) workflow.Workflow {
	return phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: condition, To: "done"}}})
}

func plan(t *testing.T, w workflow.Workflow) *workflow.Plan {
	t.Helper()
	set, err := workflow.Compile(w)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := set.Get(w.Name)
	return p
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	end := []workflow.Next{{To: workflow.Done}}
	for want, w := range map[string]workflow.Workflow{
		"a workflow has no name":                {Phases: []workflow.Phase{{Name: "a", Next: end}}},
		"has no phases":                         phases(),
		"a phase of the workflow w has no name": phases(workflow.Phase{Next: end}),
		`no phase can have the name "done"`:     phases(workflow.Phase{Name: "done", Next: end}),
		`two phases "a"`:                        phases(workflow.Phase{Name: "a", Next: end}, workflow.Phase{Name: "a", Next: end}),
		"the phase a never ends":                phases(workflow.Phase{Name: "a"}),
		`leads to "dnoe", which is no phase`:    phases(workflow.Phase{Name: "a", Next: []workflow.Next{{To: "dnoe"}}}),
		`otherwise of the phase a leads to "b"`: phases(workflow.Phase{Name: "a", Next: end, Otherwise: "b"}),
		"does not say to which phase":           phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: "true"}}}),
		`did you mean "results"`:                phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: "resulst.x.failed", To: "done"}}}),
		`"faild" of a value of results, which has only count, data, failed, failures, text; did you mean "failed"`: when("calls > 0 && results.x.faild"),
		`"contents" of a value of disk`:                      when(`disk["a.txt"].contents != ""`),
		`"ok" of a value of earlier`:                         when(`has(earlier["x"].ok)`),
		`"faild" of a value of results,`:                     when(`results.all(name, !results[name].faild)`),
		"count of a value of results is of type int, and is": when(`results.x.count > "3"`),
		"failed of a value of results is of type bool":       when(`results.x.failed == "no"`),
		"text of a value of earlier is of type string, not":  when(`finished && earlier.x.text`),
		"count of a value of results is of type int, not":    when(`results.x.count`),
		`visits.b, and there is no such phase`:               when(`visits.b > 1`),
		"must be true or false":                              phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: "round", To: "done"}}}),
		"it must be from 1 to":                               phases(workflow.Phase{Name: "a", Next: end, Limits: workflow.Limits{Rounds: -1}}),
		"it must not be negative":                            phases(workflow.Phase{Name: "a", Next: end, Limits: workflow.Limits{Tokens: -1}}),
		"may cost":                                           phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: "files.all(a, files.all(b, files.all(c, files.all(d, a == b))))", To: "done"}}}),
		"have 40000 bytes, at most":                          phases(workflow.Phase{Name: "a", Next: end, Instructions: strings.Repeat("x", 40_000)}),
	} {
		_, err := workflow.Compile(w)
		if _, ok := errors.AsType[*rules.Error](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := workflow.Compile(phases(workflow.Phase{Name: "a", Next: end}), phases(workflow.Phase{Name: "a", Next: end})); err == nil || !strings.Contains(err.Error(), "two workflows") {
		t.Errorf("two of one name: %v", err)
	}
	at := rules.Place{File: "w.yaml", Line: 7, Column: 9}
	_, err := workflow.Compile(phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: "round > ronud", To: "done", WhenPlace: at}}}))
	if err == nil || !strings.HasPrefix(err.Error(), "w.yaml:7:17: ") {
		t.Errorf("the place of a mistake: %v", err)
	}
}

// TestEvidence: what conditions read of results.
func TestEvidence(t *testing.T) {
	t.Parallel()
	var f *session.Flow
	for condition, want := range map[string]bool{
		"results.cover.data.branch >= 80":                                          true,
		"results.cover.data.branch >= 81":                                          false,
		"results.cover.data.missing > 0":                                           false, // is not there
		"results.nothing.count > 0":                                                false,
		`!("nothing" in results)`:                                                  true,
		"results.cover.count == 2 && results.cover.failures == 1":                  true,
		"results.build.failed && results.build.text.contains('syntax')":            true,
		"has(results.build.data)":                                                  false,
		"results.list.data[1].name == 'b'":                                         true,
		"calls == 4 && failures == 2":                                              true,
		`"report.html" in files`:                                                   true,
		"finished":                                                                 false,
		`input == "go" && target == "Foo.java" && params.goal == "80"`:             true,
		`phase == "a" && visit == 1 && visits.a == 1 && round == 0 && tokens == 0`: true,
		"results.big.count == 1":                                                   false,
	} {
		p := plan(t, phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: condition, To: "done"}}}))
		f = p.Begin("go", "Foo.java", map[string]string{"goal": "80"})
		workflow.Observe(f, "cover", chat.Result{Text: "none", Failed: true})
		workflow.Observe(f, "cover", chat.Result{Text: "80 %", View: &chat.View{Data: json.RawMessage(`{"branch":80.5}`), Files: []chat.File{{Name: "report.html"}}}})
		workflow.Observe(f, "build", chat.Result{Text: "syntax error", Failed: true})
		workflow.Observe(f, "list", chat.Result{Text: `[{"name":"a"},{"name":"b"}]`})
		if got := p.Judge(f, nil).To == "done"; got != want {
			t.Errorf("%s: %v, want %v (%v)", condition, got, want, p.Judge(f, nil).Open)
		}
		raw, err := json.Marshal(f)
		var again session.Flow
		if err != nil || json.Unmarshal(raw, &again) != nil || (p.Judge(&again, nil).To == "done") != want {
			t.Errorf("%s: another process judges otherwise", condition)
		}
	}
}

// TestLongEvidence: a long text keeps its beginning, also one that is no UTF-8 or is cut within
// a character, and is the same when it comes back from a store.
func TestLongEvidence(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x\xff" + strings.Repeat("y", workflow.MaxText), strings.Repeat("天", workflow.MaxText), "\xff"} {
		f := plan(t, phases(workflow.Phase{Name: "a", Next: []workflow.Next{{To: "done"}}})).Begin("", "", nil)
		workflow.Observe(f, "x", chat.Result{Text: text})
		kept := f.Results["x"].Text
		raw, err := json.Marshal(f)
		var again session.Flow
		if err != nil || json.Unmarshal(raw, &again) != nil || again.Results["x"].Text != kept {
			t.Errorf("%d bytes become %d: %v", len(kept), len(again.Results["x"].Text), err)
		}
		if len(text) > workflow.MaxText && (len(kept) > workflow.MaxText || len(kept) < workflow.MaxText-4) {
			t.Errorf("%d bytes of %d are kept", len(kept), len(text))
		}
	}
}

// TestFinish: the model's word counts only where a condition reads it, and only with the
// rest of the condition.
func TestFinish(t *testing.T) {
	t.Parallel()
	p := plan(t, phases(
		workflow.Phase{Name: "a", Next: []workflow.Next{{When: "results.x.count > 1", To: "b"}, {When: "finished && results.x.count > 0", To: "c"}}},
		workflow.Phase{Name: "b", Next: []workflow.Next{{To: "done"}}}, workflow.Phase{Name: "c", Next: []workflow.Next{{To: "done"}}},
	))
	f := p.Begin("", "", nil)
	if v := p.Judge(f, &workflow.Finish{Summary: "I am done, believe me"}); v.To != "" || len(v.Open) != 2 {
		t.Errorf("believed without evidence: %+v", v)
	}
	workflow.Observe(f, "x", chat.Result{Text: "1"})
	if v := p.Judge(f, nil); v.To != "" {
		t.Errorf("ended without the model's word: %+v", v)
	}
	if v := p.Judge(f, &workflow.Finish{Next: "b"}); v.To != "" {
		t.Errorf("asked for b, whose condition does not hold: %+v", v)
	}
	if v := p.Judge(f, &workflow.Finish{}); v.To != "c" {
		t.Errorf("not believed: %+v", v)
	}
	p.Enter(f, "c", "")
	if len(f.Results) != 0 || f.Earlier["x"].Count != 1 || f.Calls != 0 {
		t.Errorf("the evidence of a visit counts in the next one: %+v", f)
	}
}

// TestAlwaysEnds: whatever the model and the tools do, a run ends within its limits, with an
// outcome that says why, and its state stays small.
func TestAlwaysEnds(t *testing.T) {
	t.Parallel()
	conditions := []string{"", "false", "results.x.failed", "calls > 2", "finished && visit > 1", "results.none.count > 0", "round > 3", `reply == "done"`}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(5)
		targets := []string{workflow.Done, workflow.Failed}
		w := workflow.Workflow{Name: "w", Limits: workflow.Limits{Rounds: 1 + r.IntN(60), Tokens: r.IntN(2) * 10_000}}
		for i := range n {
			targets = append(targets, fmt.Sprint("p", i))
		}
		for i := range n {
			ph := workflow.Phase{Name: fmt.Sprint("p", i), Limits: workflow.Limits{Rounds: r.IntN(5), Visits: r.IntN(4), Tokens: r.IntN(2) * 500}}
			for range 1 + r.IntN(3) {
				ph.Next = append(ph.Next, workflow.Next{When: conditions[r.IntN(len(conditions))], To: targets[r.IntN(len(targets))]})
			}
			if r.IntN(2) == 0 {
				ph.Otherwise = targets[r.IntN(len(targets))]
			}
			w.Phases = append(w.Phases, ph)
		}
		p := plan(t, w)
		f := p.Begin("", "", nil)
		steps := 0
		for ; f.Runs() && steps < 10_000; steps++ {
			if limit, all := p.ReachedLimit(f); limit != "" {
				if ph, _ := p.Phase(f.Phase); all || ph.Otherwise == "" {
					workflow.End(f, workflow.Limit, limit)
				} else {
					p.Enter(f, ph.Otherwise, limit)
				}
				continue
			}
			f.Round, f.Rounds, f.Tokens, f.AllTokens = f.Round+1, f.Rounds+1, f.Tokens+100, f.AllTokens+100
			var finish *workflow.Finish
			switch r.IntN(3) {
			case 0:
				workflow.Observe(f, fmt.Sprint("x", r.IntN(80)), chat.Result{Text: strings.Repeat("é", r.IntN(5000)), Failed: r.IntN(2) == 0})
			case 1:
				finish = &workflow.Finish{}
			default:
				workflow.NoteReply(f, "done")
			}
			if v := p.Judge(f, finish); v.To != "" {
				p.Enter(f, v.To, v.Why)
			}
		}
		if f.Runs() || f.Reason == "" || f.Rounds > p.Rounds() || steps > 10*p.Rounds()+100 {
			t.Fatalf("seed %d: after %d steps %+v", seed, steps, f)
		}
		if raw, _ := json.Marshal(f); len(raw) > 400<<10 {
			t.Fatalf("seed %d: the state has %d bytes", seed, len(raw))
		}
	}
}

// TestTogether: sets are compiled while others judge.
func TestTogether(t *testing.T) {
	t.Parallel()
	w := phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: `finished && results.x.count > 0 && results.x.text.matches("^a+")`, To: "done"}, {When: `reply != "" && files.exists(f, f.startsWith("x"))`, To: "done"}}})
	p := plan(t, w)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				set, err := workflow.Compile(w)
				if err != nil {
					t.Error(err)
					return
				}
				mine, _ := set.Get("w")
				for _, p := range []*workflow.Plan{p, mine} {
					f := p.Begin("", "", nil)
					workflow.Observe(f, "x", chat.Result{Text: "aaa"})
					if p.Judge(f, &workflow.Finish{}).To != "done" || p.Judge(f, nil).To != "" {
						t.Error("judged otherwise")
					}
				}
			}
		})
	}
	all.Wait()
}
