package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

type city struct {
	City string `json:"city"`
}

func weather(risk tool.Risk, fn func(context.Context, city) (chat.Result, error)) tool.Tool {
	return tool.Func(tool.Definition{Name: "get_weather", Description: "Tell the weather of a city", Risk: risk}, fn)
}

func sunny(_ context.Context, c city) (chat.Result, error) {
	return tool.Text("sunny in " + c.City), nil
}

// bench runs turns over some tools and a script.
type bench struct {
	*turn.Runner
	model *fake.Model
}

func newBench(tb testing.TB, cfg turn.Config, sel selection.Config, tools []tool.Tool, steps ...fake.Step) *bench {
	tb.Helper()
	r := catalog.NewRegistry(nil)
	if err := r.Register(tools...); err != nil {
		tb.Fatal(err)
	}
	m := fake.New(steps...)
	return &bench{turn.New(m, selection.Follow(r, sel), prompt.New(prompt.Config{}), cfg), m}
}

// outcome is everything a turn yields.
type outcome struct {
	events []string
	steps  []turn.Step
	done   *turn.End
	err    error
}

func (o *outcome) results() (list []chat.Result) {
	for _, s := range o.steps {
		for _, m := range s.Messages {
			if m.Result != nil {
				list = append(list, *m.Result)
			}
		}
	}
	return list
}

func run(b *bench, ctx context.Context, in turn.Input) *outcome {
	o := &outcome{}
	for e, err := range b.Run(ctx, in) {
		switch {
		case err != nil:
			o.err = err
		case e.Selection != nil:
			o.events = append(o.events, "selection")
		case e.Text != "":
			o.events = append(o.events, "text:"+e.Text)
		case e.Call != nil:
			o.events = append(o.events, "call:"+e.Call.Name)
		case e.Progress != nil:
			o.events = append(o.events, "progress:"+e.Progress.Text)
		case e.Result != nil:
			o.events = append(o.events, "result:"+e.Result.CallID)
		case e.Step != nil:
			o.events = append(o.events, fmt.Sprintf("step:%d", len(e.Step.Messages)))
			o.steps = append(o.steps, *e.Step)
		case e.Done != nil:
			o.events = append(o.events, "done")
			o.done = e.Done
		}
	}
	return o
}

func TestTurn(t *testing.T) {
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{weather(tool.Read, sunny)},
		fake.Step{Text: "Let me look.", Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"Paris"}`)}, Usage: model.Tokens{Input: 10, Output: 2}},
		fake.Step{Text: "It is sunny.", Usage: model.Tokens{Input: 20, Output: 3}})
	o := run(b, t.Context(), turn.Input{Text: "weather in Paris?", Facts: chat.Facts{User: "bob"}})
	want := []string{"selection", "step:1", "text:Let me look.", "call:get_weather", "result:1", "step:2", "text:It is sunny.", "step:1", "done"}
	if o.err != nil || !slices.Equal(o.events, want) {
		t.Errorf("events %v, %v\nwant   %v", o.events, o.err, want)
	}
	if o.done.Reply != "It is sunny." {
		t.Errorf("the reply is %q, want %q", o.done.Reply, "It is sunny.")
	}
	if o.done.Steps != 2 {
		t.Errorf("the model was asked %d times, want 2", o.done.Steps)
	}
	if o.done.Calls != 1 {
		t.Errorf("%d calls ran, want 1", o.done.Calls)
	}
	if o.done.Usage.Input != 30 {
		t.Errorf("the input has %d tokens, want 30", o.done.Usage.Input)
	}
	if o.done.Usage.Output != 5 {
		t.Errorf("the output has %d tokens, want 5", o.done.Usage.Output)
	}
	requests := b.model.Requests()
	if got := requests[1].Messages[2].Result; got.Text != "sunny in Paris" || got.CallID != "1" || got.Name != "get_weather" {
		t.Errorf("the model got %+v", got)
	}
	if got := requests[0].Ranked; !slices.Equal(got, []string{"get_weather"}) {
		t.Errorf("ranked %v", got)
	}
	if got := o.steps[0].State.Declared; !slices.Equal(got, []string{"get_weather"}) {
		t.Errorf("declared %v", got)
	}
}

func TestWhatACallCanGive(t *testing.T) {
	fails := func(context.Context, city) (chat.Result, error) {
		return chat.Result{}, errors.New("the service is away")
	}
	panics := func(context.Context, city) (chat.Result, error) { panic("secret") }
	cases := map[string]struct {
		fn              func(context.Context, city) (chat.Result, error)
		name, arguments string
		says            string
		failed          bool
	}{
		"works":               {sunny, "get_weather", `{"city":"Rome"}`, "sunny in Rome", false},
		"tool fails":          {fails, "get_weather", `{"city":"Rome"}`, "the service is away", true},
		"tool panics":         {panics, "get_weather", `{"city":"Rome"}`, "failed unexpectedly", true},
		"wrong arguments":     {sunny, "get_weather", `{"town":"Rome"}`, "Parameters of get_weather: {", true},
		"repaired":            {sunny, "get_weather", `{city: 'Rome',}`, "sunny in Rome", false},
		"code fence":          {sunny, "get_weather", "```json\n{\"city\":\"Rome\"}\n```", "sunny in Rome", false},
		"missing brace":       {sunny, "get_weather", `{"city":"Rome"`, "sunny in Rome", false},
		"JSON in JSON":        {sunny, "get_weather", `"{\"city\":\"Rome\"}"`, "sunny in Rome", false},
		"cut off":             {sunny, "get_weather", `{"city":"Ro`, "end in the middle", true},
		"long and broken":     {sunny, "get_weather", `{"city":["` + strings.Repeat(`a","`, 1<<14) + `b"],}`, "longer than 16 KiB", true},
		"cut off number":      {sunny, "get_weather", `{"city": 12`, "end in the middle", true},
		"no object":           {sunny, "get_weather", `["Rome"]`, "not a JSON object", true},
		"unknown tool":        {sunny, "get_wether", `{}`, `there is no tool "get_wether"; did you mean "get_weather"?`, true},
		"through call_tool":   {sunny, "call_tool", `{"name":"get_weather","arguments":{"city":"Rome"}}`, "sunny in Rome", false},
		"call_tool, no name":  {sunny, "call_tool", `{}`, "call_tool needs", true},
		"call_tool, unknown":  {sunny, "call_tool", `{"name":"x","arguments":{}}`, "there is no tool", true},
		"search":              {sunny, "find_tools", `{"query":"weather"}`, "get_weather(city: string)", false},
		"searches":            {sunny, "find_tools", `{"queries":["zzz","city forecast weather"]}`, "  Tell the weather of a city\nNo tool matches \"zzz\". Call one with call_tool.", false},
		"search by a part":    {sunny, "find_tools", `{"queries":"get_weath"}`, "get_weather(city: string)", false},
		"search for nothing":  {sunny, "find_tools", `{"query":"zzz"}`, "No tool matches. Try other words, or answer without a tool. There are 1 tools: other 1.", false},
		"flattened":           {sunny, "call_tool", `{"name":"get_weather","city":"Rome"}`, "sunny in Rome", false},
		"flattened, empty":    {sunny, "call_tool", `{"name":"get_weather","arguments":{},"city":"Rome"}`, "sunny in Rome", false},
		"arguments in a text": {sunny, "call_tool", `{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}`, "sunny in Rome", false},
		"a number for a text": {sunny, "get_weather", `{"city":5}`, "sunny in 5", false},
		"describe":            {sunny, "describe_tool", `{"name":"get_weather"}`, `Parameters: {"type":"object","properties":{"city"`, false},
		"describe nothing":    {sunny, "describe_tool", `{"name":"x"}`, "there is no tool", true},
		"meta in call_tool":   {sunny, "call_tool", `{"name":"find_tools","arguments":{"queries":["weather"]}}`, "get_weather(city: string)", false},
		"search, no query":    {sunny, "find_tools", `{}`, "find_tools needs", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{weather(tool.Read, c.fn)},
				fake.Step{Calls: []chat.Call{fake.Call("", c.name, c.arguments)}}, fake.Step{Text: "ok"})
			o := run(b, t.Context(), turn.Input{Text: "?"})
			if o.err != nil {
				t.Fatal(o.err)
			}
			if len(o.results()) != 1 {
				t.Fatalf("%d results, want 1: %+v", len(o.results()), o.results())
			}
			r := o.results()[0]
			if !strings.Contains(r.Text, c.says) {
				t.Errorf("the result is %q, want %q in it", r.Text, c.says)
			}
			if r.Failed != c.failed {
				t.Errorf("the call failed: %v, want %v", r.Failed, c.failed)
			}
			if strings.Contains(r.Text, "secret") {
				t.Errorf("the result is %q, with %q in it", r.Text, "secret")
			}
			call := o.steps[1].Messages[0].Calls[0]
			if r.CallID == "" {
				t.Error("the ID of the call in the result is empty")
			}
			if r.CallID != call.ID {
				t.Errorf("the ID of the call in the result is %v, want %v", r.CallID, call.ID)
			}
			if !json.Valid(call.Arguments) {
				t.Error("the stored arguments are no JSON")
			}
		})
	}
}

// leaving is a model whose caller leaves when an answer is complete.
type leaving struct {
	model.Model
	leave func()
}

func (l leaving) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		l.Model.Stream(ctx, r)(yield)
		l.leave()
	}
}

// TestNothingIsRepairedInVain: repairs of an answer's calls, which can be many, end with the turn.
func TestNothingIsRepairedInVain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := catalog.NewRegistry(nil)
	if err := r.Register(weather(tool.Read, sunny)); err != nil {
		t.Fatal(err)
	}
	m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{city: 'Rome',}`), fake.Call("2", "get_weather", `{"city":"Rome"}`)}})
	b := &bench{turn.New(leaving{m, cancel}, selection.Follow(r, selection.Config{}), prompt.New(prompt.Config{}), turn.Config{}), m}
	o := run(b, ctx, turn.Input{Text: "?"})
	var got []string
	for _, s := range o.steps {
		for _, m := range s.Messages {
			for _, c := range m.Calls {
				got = append(got, string(c.Arguments))
			}
		}
	}
	if want := []string{`"{city: 'Rome',}"`, `{"city":"Rome"}`}; !slices.Equal(got, want) {
		t.Errorf("the conversation has %q, want %q; %v", got, want, o.err)
	}
}

// TestDecide is asked about the tool that a call reaches, with arguments that
// fit, and about nothing that cannot run.
func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		call  chat.Call
		asked string
		says  string
	}{
		"direct":    {fake.Call("1", "get_weather", `{"city":"Rome"}`), `bob get_weather {"city":"Rome"}`, "the call needs an approval"},
		"call_tool": {fake.Call("1", "call_tool", `{"name":"get_weather","city":5}`), `bob get_weather {"city":"5"}`, "the call needs an approval"},
		"no fit":    {fake.Call("1", "get_weather", `{}`), "", "Parameters of get_weather"},
		"unknown":   {fake.Call("1", "call_tool", `{"name":"x"}`), "", "there is no tool"},
		"search":    {fake.Call("1", "find_tools", `{"query":"weather"}`), "", "get_weather(city"},
	} {
		t.Run(name, func(t *testing.T) {
			asked, ran := "", false
			runs := func(context.Context, city) (chat.Result, error) { ran = true; return chat.Result{}, nil }
			b := newBench(t, turn.Config{Decide: func(_ context.Context, c rules.Attempt) rules.Decision {
				asked = fmt.Sprintf("%s %s %s", c.Facts.User, c.Entry.Definition.Name, c.Arguments)
				return rules.Decision{Effect: rules.Ask}
			}}, selection.Config{}, []tool.Tool{weather(tool.Read, runs)}, fake.Step{Calls: []chat.Call{c.call}}, fake.Step{Text: "ok"})
			r := run(b, t.Context(), turn.Input{Text: "?", Facts: chat.Facts{User: "bob"}}).results()[0]
			if asked != c.asked {
				t.Errorf("it was asked about: %v, want %v", asked, c.asked)
			}
			if ran {
				t.Error("the call ran")
			}
			if !strings.Contains(r.Text, c.says) {
				t.Errorf("the result is %q, want %q in it", r.Text, c.says)
			}
		})
	}
}

// TestDecidePanics: a policy that fails lets nothing through, and ends no turn.
func TestDecidePanics(t *testing.T) {
	ran, why := false, ""
	runs := func(context.Context, city) (chat.Result, error) { ran = true; return chat.Result{}, nil }
	b := newBench(t, turn.Config{
		Decide: func(context.Context, rules.Attempt) rules.Decision { panic("no rules") },
		Audit:  func(d audit.Decision, _ json.RawMessage) { why = d.Reason },
	}, selection.Config{}, []tool.Tool{weather(tool.Read, runs)}, fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"Rome"}`)}}, fake.Step{Text: "ok"})
	r := run(b, t.Context(), turn.Input{Text: "?"}).results()[0]
	if ran {
		t.Error("the call ran")
	}
	if !r.Failed {
		t.Error("the call did not fail")
	}
	if strings.Contains(r.Text, "no rules") {
		t.Errorf("the result is %q, with %q in it", r.Text, "no rules")
	}
	if why != "the policy panicked: no rules" {
		t.Errorf("the reason is %q, want %q", why, "the policy panicked: no rules")
	}
}

// TestHiddenToolCannotBeCalled: guessing a name gives what an unknown name gives,
// and the operator is told.
func TestHiddenToolCannotBeCalled(t *testing.T) {
	r := catalog.NewRegistry(nil)
	ran := false
	hidden := tool.Func(tool.Definition{Name: "read_salaries"}, func(context.Context, struct{}) (string, error) { ran = true; return "", nil })
	if err := errors.Join(r.Register(weather(tool.Read, sunny)), r.RegisterWithFilter(hidden, func(f chat.Facts) bool { return f.HasRole("hr") })); err != nil {
		t.Fatal(err)
	}
	for _, call := range []chat.Call{fake.Call("1", "read_salaries", `{}`), fake.Call("1", "call_tool", `{"name":"read_salaries","arguments":{}}`)} {
		var log strings.Builder
		m := fake.New(fake.Step{Calls: []chat.Call{call}}, fake.Step{Text: "ok"}, fake.Step{Calls: []chat.Call{call}}, fake.Step{Text: "ok"})
		runner := turn.New(m, selection.Follow(r, selection.Config{}), prompt.New(prompt.Config{}), turn.Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		o := run(&bench{runner, m}, t.Context(), turn.Input{Text: "salaries", Facts: chat.Facts{User: "bob"}})
		if ran {
			t.Error("the call ran")
		}
		if !o.results()[0].Failed {
			t.Error("the call did not fail")
		}
		if !strings.Contains(o.results()[0].Text, `there is no tool "read_salaries"`) {
			t.Errorf("the result is %q, want %q in it", o.results()[0].Text, `there is no tool "read_salaries"`)
		}
		if len(m.Requests()[0].Tools) != 1 {
			t.Errorf("the model was shown %d tools", len(m.Requests()[0].Tools))
		}
		for _, says := range []string{"call judged", "allowed=false", "tool=read_salaries", "stage=visibility", "tool hidden", "user=bob"} {
			if !strings.Contains(log.String(), says) {
				t.Errorf("the log does not say %q:\n%s", says, log.String())
			}
		}
		run(&bench{runner, m}, t.Context(), turn.Input{Text: "salaries", Facts: chat.Facts{Roles: []string{"hr"}}})
		if !ran {
			t.Error("who may call it cannot")
		}
		ran = false
	}
}

func TestReadsRunTogetherWritesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		var mu sync.Mutex
		var order []string
		make := func(name string, risk tool.Risk) tool.Tool {
			return tool.Func(tool.Definition{Name: name, Risk: risk}, func(context.Context, struct{}) (string, error) {
				n := now.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				time.Sleep(time.Second)
				if risk == tool.Write && now.Load() != 1 {
					t.Errorf("%s runs beside others", name)
				}
				now.Add(-1)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
				return name, nil
			})
		}
		b := newBench(t, turn.Config{Parallel: 2}, selection.Config{}, []tool.Tool{make("r", tool.Read), make("w", tool.Write)},
			fake.Step{Calls: []chat.Call{fake.Call("1", "r", "{}"), fake.Call("2", "r", "{}"), fake.Call("3", "r", "{}"), fake.Call("4", "w", "{}"), fake.Call("5", "w", "{}"), fake.Call("6", "r", "{}")}},
			fake.Step{Text: "ok"})
		began := time.Now()
		o := run(b, t.Context(), turn.Input{Text: "?"})
		if most.Load() != 2 || time.Since(began) != 5*time.Second {
			t.Errorf("at most %d at once, took %v", most.Load(), time.Since(began))
		}
		if !slices.Equal(order, []string{"r", "r", "r", "w", "w", "r"}) {
			t.Errorf("order %v", order)
		}
		for i, r := range o.results() {
			if r.CallID != fmt.Sprint(i+1) {
				t.Errorf("result %d answers call %s", i+1, r.CallID)
			}
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stubborn := make(chan struct{})
		b := newBench(t, turn.Config{CallTimeout: time.Second}, selection.Config{}, []tool.Tool{weather(tool.Read, func(context.Context, city) (chat.Result, error) {
			<-stubborn // it does not heed its context
			return chat.Result{}, nil
		})}, fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"x"}`)}}, fake.Step{Text: "sorry"})
		o := run(b, t.Context(), turn.Input{Text: "?"})
		if o.err != nil {
			t.Fatalf("the turn failed: %v", o.err)
		}
		if !strings.Contains(o.results()[0].Text, "did not finish within 1s") {
			t.Errorf("the result is %q, want %q in it", o.results()[0].Text, "did not finish within 1s")
		}
		if o.done.Reply != "sorry" {
			t.Errorf("the reply is %q, want %q", o.done.Reply, "sorry")
		}
		close(stubborn)
	})
}

// TestLateDecision: a yes that comes after the call was answered runs nothing, and the
// audit says so.
func TestLateDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := false
		var audited []audit.Decision
		cfg := turn.Config{
			CallTimeout: time.Second,
			Decide: func(context.Context, rules.Attempt) rules.Decision {
				time.Sleep(time.Minute)
				return rules.Decision{Effect: rules.Allow}
			},
			Audit: func(d audit.Decision, _ json.RawMessage) { audited = append(audited, d) },
		}
		b := newBench(t, cfg, selection.Config{}, []tool.Tool{weather(tool.Read, func(context.Context, city) (chat.Result, error) {
			ran = true
			return chat.Result{}, nil
		})}, fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"x"}`)}}, fake.Step{Text: "sorry"})
		o := run(b, t.Context(), turn.Input{Text: "?"})
		if !o.results()[0].Failed {
			t.Errorf("the result is %q, want a failure", o.results()[0].Text)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if ran {
			t.Error("the call ran after it was answered")
		}
		if len(audited) != 1 || audited[0].Allowed {
			t.Errorf("audited %+v, want one call that was not allowed", audited)
		}
	})
}

// A tool's own time limit counts, longer or shorter than that for all others.
func TestOwnTimeout(t *testing.T) {
	for _, tt := range []struct {
		own, takes time.Duration
		want       string
	}{
		{2 * time.Minute, 90 * time.Second, "fine"},
		{2 * time.Minute, time.Hour, "did not finish within 2m0s"},
		{time.Second, 2 * time.Second, "did not finish within 1s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := tool.New(tool.Definition{Name: "slow", Timeout: tt.own}, func(ctx context.Context, _ json.RawMessage) (chat.Result, error) {
				select {
				case <-time.After(tt.takes):
					return tool.Text("fine"), nil
				case <-ctx.Done():
					return chat.Result{}, ctx.Err()
				}
			})
			b := newBench(t, turn.Config{CallTimeout: time.Minute}, selection.Config{}, []tool.Tool{slow}, fake.Step{Calls: []chat.Call{fake.Call("1", "slow", `{}`)}}, fake.Step{Text: "done"})
			if got := run(b, t.Context(), turn.Input{Text: "?"}).results()[0].Text; !strings.Contains(got, tt.want) {
				t.Errorf("with %v for a call of %v: %q, want %q in it", tt.own, tt.takes, got, tt.want)
			}
		})
	}
}

// The time of a decision is not taken from the call's own.
func TestDecideTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tool.New(tool.Definition{Name: "slow"}, func(ctx context.Context, _ json.RawMessage) (chat.Result, error) {
			time.Sleep(30 * time.Second)
			return tool.Text("fine"), ctx.Err()
		})
		decide := func(context.Context, rules.Attempt) rules.Decision {
			time.Sleep(50 * time.Second)
			return rules.Decision{Effect: rules.Allow}
		}
		b := newBench(t, turn.Config{Decide: decide, CallTimeout: time.Minute}, selection.Config{}, []tool.Tool{slow}, fake.Step{Calls: []chat.Call{fake.Call("1", "slow", `{}`)}}, fake.Step{Text: "done"})
		if got := run(b, t.Context(), turn.Input{Text: "?"}).results()[0].Text; got != "fine" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var stopped atomic.Bool
		b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{weather(tool.Read, func(ctx context.Context, _ city) (chat.Result, error) {
			cancel()
			<-ctx.Done()
			stopped.Store(true)
			return chat.Result{}, ctx.Err()
		})}, fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"x"}`)}}, fake.Step{Text: "never asked"})
		o := run(b, ctx, turn.Input{Text: "?"})
		synctest.Wait()
		if !errors.Is(o.err, context.Canceled) {
			t.Errorf("error is %v, want %v", o.err, context.Canceled)
		}
		if o.done != nil {
			t.Errorf("the turn has ended with %+v", o.done)
		}
		if !stopped.Load() {
			t.Error("the call was not stopped")
		}
		if len(b.model.Requests()) != 1 {
			t.Errorf("%d requests to the model, want 1: %v", len(b.model.Requests()), b.model.Requests())
		}
		if len(o.results()) != 1 {
			t.Fatalf("%d results, want 1: %+v", len(o.results()), o.results())
		}
		if !o.results()[0].Failed {
			t.Error("the call did not fail")
		}
	})
}

func TestLeavingTheLoopStopsTheTurn(t *testing.T) {
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{weather(tool.Read, sunny)}, fake.Step{Text: "a", Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"x"}`)}}, fake.Step{Text: "never asked"})
	for e, err := range b.Run(t.Context(), turn.Input{Text: "?"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Text != "" {
			break
		}
	}
	if n := len(b.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestModelFails(t *testing.T) {
	b := newBench(t, turn.Config{}, selection.Config{}, nil, fake.Step{Text: "I thi", Err: &model.Error{Model: "fake", Kind: model.ErrUnavailable}})
	o := run(b, t.Context(), turn.Input{Text: "?"})
	if !errors.Is(o.err, model.ErrUnavailable) || len(o.steps) != 2 {
		t.Fatalf("%v, %d steps", o.err, len(o.steps))
	}
	open, closed := o.steps[0].State, o.steps[1]
	if open.Turn.ID == "" {
		t.Error("no turn is open")
	}
	if closed.State.Turn.ID != "" {
		t.Errorf("the turn %q is open after Close", closed.State.Turn.ID)
	}
	if len(closed.Messages) != 0 {
		t.Errorf("%d messages after Close, want 0: %v", len(closed.Messages), closed.Messages)
	}
}

func TestStepLimit(t *testing.T) {
	call := fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"x"}`)}}
	b := newBench(t, turn.Config{MaxSteps: 3}, selection.Config{}, []tool.Tool{weather(tool.Read, sunny)}, call, call, call, call)
	o := run(b, t.Context(), turn.Input{Text: "?"})
	if o.err != nil {
		t.Fatalf("the turn failed: %v", o.err)
	}
	if o.done == nil {
		t.Fatalf("the turn is not done: %v", o.err)
	}
	if o.done.Steps != 3 {
		t.Errorf("the model was asked %d times, want 3", o.done.Steps)
	}
	if !strings.Contains(o.done.Reply, "stopped after 3 steps") {
		t.Errorf("the reply is %q, want %q in it", o.done.Reply, "stopped after 3 steps")
	}
}

// TestCallIDsAreUnique: servers that count their calls anew with each answer.
func TestCallIDsAreUnique(t *testing.T) {
	step := fake.Step{Calls: []chat.Call{fake.Call("call_0", "get_weather", `{"city":"a"}`), fake.Call("call_0", "get_weather", `{"city":"b"}`)}}
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{weather(tool.Read, sunny)}, step, step, fake.Step{Text: "ok"})
	o := run(b, t.Context(), turn.Input{Text: "?"})
	seen := map[string]bool{}
	for i, r := range o.results() {
		want := []string{"sunny in a", "sunny in b"}[i%2]
		if seen[r.CallID] {
			t.Error("seen[r.CallID]")
		}
		if r.Text != want {
			t.Errorf("the result is %v, want %v", r.Text, want)
		}
		seen[r.CallID] = true
	}
	if len(seen) != 4 {
		t.Errorf("IDs %v", seen)
	}
}

func TestLongResultIsCut(t *testing.T) {
	b := newBench(t, turn.Config{MaxResult: 20}, selection.Config{}, []tool.Tool{weather(tool.Read, func(context.Context, city) (chat.Result, error) {
		return tool.Text("天地玄黄宇宙\n(read on)"), nil
	})}, fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"x"}`)}}, fake.Step{Text: "ok"})
	if got := run(b, t.Context(), turn.Input{Text: "?"}).results()[0].Text; got != "天地玄黄\n(... 10 of 28 bytes are left out here; ask for less at a time to see them ...)\nad on)" {
		t.Errorf("got %q", got)
	}
}

// TestBrokenArgumentsAreReadOnce: arguments in which a mistake could not be repaired cost
// nothing when later questions look at the conversation. One call took seconds.
func TestBrokenArgumentsAreReadOnce(t *testing.T) {
	b := newBench(t, turn.Config{}, selection.Config{Recommend: selection.Recommend{On: true}}, []tool.Tool{weather(tool.Read, sunny)},
		fake.Step{Calls: []chat.Call{fake.Call("1", "call_tool", `{"name":`+strings.Repeat(`"a"b`, 100)+"]")}}, fake.Step{Text: "ok"})
	var s session.Session
	for _, step := range run(b, t.Context(), turn.Input{Text: "weather"}).steps {
		s.State = step.State
		s.Messages = append(s.Messages, step.Messages...)
	}
	if allocs := testing.AllocsPerRun(3, func() { b.Select(t.Context(), turn.Input{Session: s, Text: "weather"}) }); allocs > 200 {
		t.Errorf("%.0f allocations", allocs)
	}
}

// TestDataThatIsNoJSON: a mistake of a tool does not keep the turn from being stored.
func TestDataThatIsNoJSON(t *testing.T) {
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{weather(tool.Read, func(context.Context, city) (chat.Result, error) {
		return chat.Result{Text: "sunny", View: &chat.View{Text: "Sunny", Data: json.RawMessage("{sunny")}}, nil
	})}, fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"x"}`)}}, fake.Step{Text: "ok"})
	got := run(b, t.Context(), turn.Input{Text: "?"}).results()[0]
	if _, err := json.Marshal(got); err != nil || got.Text != "sunny" || got.View.Text != "Sunny" {
		t.Errorf("%+v: %v", got, err)
	}
}

func TestProgressAndLateOutcome(t *testing.T) {
	late := make(chan chat.Result, 1)
	report := tool.Func(tool.Definition{Name: "report"}, func(ctx context.Context, _ struct{}) (chat.Result, error) {
		tool.Report(ctx, tool.Progress{Text: "half", Done: 1, Total: 2})
		finish, ok := tool.Defer(ctx)
		if !ok {
			return tool.Text("at once"), nil
		}
		finish(tool.Text("later"))
		return chat.Result{Text: "started", Pending: true}, nil
	})
	script := []fake.Step{{Calls: []chat.Call{fake.Call("1", "report", "")}}, {Text: "ok"}}
	o := run(newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{report}, script...), t.Context(), turn.Input{Text: "?", Late: func(c chat.Call, r chat.Result) {
		if c.ID != "1" {
			t.Errorf("late outcome of call %q", c.ID)
		}
		late <- r
	}})
	if r := o.results()[0]; !r.Pending || r.Text != "started" || (<-late).Text != "later" {
		t.Errorf("result %+v", r)
	}
	if !slices.Contains(o.events, "progress:half") {
		t.Errorf("events %v", o.events)
	}
	o = run(newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{report}, script...), t.Context(), turn.Input{Text: "?"})
	if r := o.results()[0]; r.Pending || r.Text != "at once" {
		t.Errorf("without a place for late outcomes: %+v", r)
	}
}

// TestRequestsShareTheirBeginning plays a conversation that changes its subject
// with every question: tools and system prompt stay as they are, and messages
// are only added.
func TestRequestsShareTheirBeginning(t *testing.T) {
	var tools []tool.Tool
	for _, name := range strings.Fields("weather invoice pod flight salary") {
		tools = append(tools, tool.Func(tool.Definition{Name: "get_" + name, Description: "Tell about the " + name}, func(context.Context, struct{}) (string, error) { return "ok", nil }))
	}
	questions := strings.Fields("weather invoice pod flight salary weather")
	var steps []fake.Step
	for range questions {
		steps = append(steps, fake.Step{Text: "answer"})
	}
	b := newBench(t, turn.Config{}, selection.Config{Direct: -1, Limit: 1}, tools, steps...)
	in := turn.Input{Facts: chat.Facts{Time: time.Date(2026, 3, 1, 9, 59, 0, 0, time.UTC)}}
	for _, q := range questions {
		in.Text, in.Facts.Time = q, in.Facts.Time.Add(time.Minute)
		for _, s := range run(b, t.Context(), in).steps {
			in.Session = session.Session{State: s.State, Messages: append(in.Session.Messages, s.Messages...)}
		}
	}
	var before string
	for i, r := range b.model.Requests() {
		tools, _ := json.Marshal(r.Tools)
		messages := ""
		for _, m := range r.Messages {
			raw, _ := json.Marshal(m)
			messages += string(raw)
		}
		now := string(tools) + r.System + messages
		if !strings.HasPrefix(now, before) {
			t.Fatalf("request %d does not begin with request %d:\n%s\n%s", i+1, i, before, now)
		}
		before = now
	}
	last := b.model.Requests()[len(questions)-1]
	if note := last.Messages[4].Note; !strings.Contains(note, "get_pod(") || strings.Contains(last.Messages[10].Note, "get_") {
		t.Errorf("the pod's note is %q, the second weather's %q", note, last.Messages[10].Note)
	}
}

func BenchmarkTurn(b *testing.B) {
	r := catalog.NewRegistry(nil)
	if err := r.Register(weather(tool.Read, sunny)); err != nil {
		b.Fatal(err)
	}
	selector := selection.Follow(r, selection.Config{})
	builder := prompt.New(prompt.Config{})
	b.ReportAllocs()
	for b.Loop() {
		m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"Rome"}`)}}, fake.Step{Text: "sunny"})
		for _, err := range turn.New(m, selector, builder, turn.Config{}).Run(b.Context(), turn.Input{Text: "weather in Rome"}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
