package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// until runs a turn and breaks off, as a process that ends, when stop reports true for
// an event. It returns the session as it is stored then.
func until(t *testing.T, b *bench, in turn.Input, stop func(turn.Event) bool) session.Session {
	t.Helper()
	s := in.Session
	s.Messages = slices.Clone(s.Messages)
	for e, err := range b.Run(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		if stop(e) {
			break
		}
		if e.Step != nil {
			s.State = e.Step.State
			s.Messages = append(s.Messages, e.Step.Messages...)
		}
	}
	return s
}

// calls counts how often tools ran, and by which keys.
type calls struct {
	mu   sync.Mutex // reads run in parallel
	ran  map[string]int
	keys []string
}

func (c *calls) tool(name string, replay tool.Replay) tool.Tool {
	risk := tool.Write
	if replay == tool.Safe {
		risk = tool.Read
	}
	return tool.Func(tool.Definition{Name: name, Description: "Do " + name, Risk: risk, Replay: replay}, func(ctx context.Context, _ struct {
		B int `json:"b,omitempty"`
	}) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ran == nil {
			c.ran = map[string]int{}
		}
		c.ran[name]++
		c.keys = append(c.keys, tool.IdempotencyKey(ctx))
		return name + " is done", nil
	})
}

func isResult(e turn.Event) bool { return e.Result != nil }

func TestPhases(t *testing.T) {
	t.Parallel()
	var c calls
	script := func() *bench {
		return newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{c.tool("write", tool.Never)}, fake.Step{Calls: []chat.Call{fake.Call("1", "write", "{}")}}, fake.Step{Text: "done"})
	}
	for n, want := range []turn.Phase{turn.Finished, turn.Asked, turn.Calling, turn.Asked, turn.Finished} {
		stored := 0
		s := until(t, script(), turn.Input{Text: "go"}, func(e turn.Event) bool {
			if e.Step != nil {
				stored++
			}
			return stored > n
		})
		if got := turn.PhaseOf(s); got != want {
			t.Errorf("after %d steps the phase is %s, want %s", n, got, want)
		}
	}
}

// A round of safe calls needs no intent: it is stored with its results.
func TestSafeRoundIsStoredOnce(t *testing.T) {
	t.Parallel()
	var c calls
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{c.tool("look", tool.Safe)}, fake.Step{Calls: []chat.Call{fake.Call("1", "look", "{}")}}, fake.Step{Text: "done"})
	if o := run(b, t.Context(), turn.Input{Text: "go"}); len(o.steps) != 3 || len(o.steps[1].Messages) != 2 {
		t.Errorf("the steps are %v", o.events)
	}
}

func TestResumedCalls(t *testing.T) {
	t.Parallel()
	for replay, want := range map[tool.Replay]int{tool.Safe: 2, tool.Keyed: 2, tool.Never: 1} {
		t.Run(string(replay), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // a call that takes a while would be marked as running
				var c calls
				tools := []tool.Tool{c.tool("act", replay), c.tool("other", tool.Never)}
				round := fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}"), fake.Call("2", "other", "{}")}}
				// The process ends after the first call has run, before its result is stored.
				s := until(t, newBench(t, turn.Config{}, selection.Config{}, tools, round), turn.Input{Text: "go"}, isResult)
				if c.ran["act"] != 1 {
					t.Fatalf("act ran %v times, want 1", c.ran["act"])
				}
				if c.ran["other"] != 0 {
					t.Fatalf("other ran %v times, want 0", c.ran["other"])
				}
				if got := turn.PhaseOf(s); got != turn.Calling {
					t.Fatalf("the phase is %v, want %v", got, turn.Calling)
				}
				b := newBench(t, turn.Config{}, selection.Config{}, tools, fake.Step{Text: "done"})
				o := run(b, t.Context(), turn.Input{Session: s})
				if o.err != nil {
					t.Fatalf("the turn failed: %v", o.err)
				}
				if o.done == nil {
					t.Fatalf("the turn is not done: %v", o.err)
				}
				if o.done.Reply != "done" {
					t.Fatalf("the reply is %q, want %q", o.done.Reply, "done")
				}
				if c.ran["act"] != want || c.ran["other"] != 1 {
					t.Errorf("the calls ran %v times, want act %d, other 1", c.ran, want)
				}
				if replay == tool.Keyed && (c.keys[0] == "" || c.keys[0] != c.keys[1]) {
					t.Errorf("the keys are %q, want the same twice", c.keys)
				}
				if replay != tool.Keyed && strings.Join(c.keys, "") != "" {
					t.Errorf("the keys are %q, want none", c.keys)
				}
				first := o.results()[0]
				if unknown := strings.Contains(first.Text, "unknown"); unknown != (replay == tool.Never) {
					t.Errorf("the first result is %q", first.Text)
				}
				if replay == tool.Never && (!first.Failed || !strings.Contains(first.View.Error, "unknown")) {
					t.Errorf("the user does not learn that the outcome is unknown: %+v", first)
				}
				if last := o.steps[len(o.steps)-1].State; last.Turn.ID != "" {
					t.Errorf("the turn is still open: %+v", last.Turn)
				}
				messages := b.model.Requests()[0].Messages
				if got := len(messages); got != 4 {
					t.Errorf("the model was sent %d messages, want question, calls and two results", got)
				}
			})
		})
	}
}

// A turn can be broken off before and after every step, and goes on to the same end.
func TestResumedAnywhere(t *testing.T) {
	t.Parallel()
	script := []fake.Step{
		{Calls: []chat.Call{fake.Call("1", "look", "{}")}},
		{Calls: []chat.Call{fake.Call("2", "pay", "{}"), fake.Call("3", "look", "{}"), fake.Call("4", "send", "{}")}},
		{Text: "done"},
	}
	for n := range 20 {
		var c calls
		tools := []tool.Tool{c.tool("look", tool.Safe), c.tool("pay", tool.Keyed), c.tool("send", tool.Never)}
		seen, asked := 0, 0
		s := until(t, newBench(t, turn.Config{}, selection.Config{}, tools, script...), turn.Input{Text: "go", Request: json.RawMessage(`{}`)}, func(turn.Event) bool {
			seen++
			return seen > n
		})
		if turn.PhaseOf(s) == turn.Finished {
			continue // before the question was stored, or after the reply was
		}
		for _, m := range s.Messages {
			if m.Role == chat.Assistant {
				asked++
			}
		}
		o := run(newBench(t, turn.Config{}, selection.Config{}, tools, script[asked:]...), t.Context(), turn.Input{Session: s})
		if o.err != nil {
			t.Fatalf("broken off at event %d: %v", n, o.err)
		}
		if o.done == nil {
			t.Fatalf("broken off at event %d: the turn is not done: %v", n, o.events)
		}
		if o.done.Reply != "done" {
			t.Fatalf("broken off at event %d: the reply is %q, want %q", n, o.done.Reply, "done")
		}
		if c.ran["send"] > 1 {
			t.Errorf("broken off at event %d: send ran %d times", n, c.ran["send"])
		}
		var paid []string
		for _, key := range c.keys {
			if key != "" && !slices.Contains(paid, key) {
				paid = append(paid, key)
			}
		}
		if len(paid) != 1 {
			t.Errorf("broken off at event %d: paid by the keys %q, want one", n, paid)
		}
		if o.done.Steps != 3 {
			t.Errorf("broken off at event %d: the model was asked %d times in all, want 3", n, o.done.Steps)
		}
	}
}

func TestTurnThatEndsItsProcessIsAbandoned(t *testing.T) {
	t.Parallel()
	var c calls
	tools := []tool.Tool{c.tool("act", tool.Keyed)}
	act := fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}")}}
	s := until(t, newBench(t, turn.Config{}, selection.Config{}, tools, act), turn.Input{Text: "go"}, isResult)
	for n := range 3 { // what the model answers ends the process
		s = until(t, newBench(t, turn.Config{}, selection.Config{}, tools, fake.Step{Text: "..."}), turn.Input{Session: s}, func(e turn.Event) bool { return n < 2 && isResult(e) || e.Text != "" })
	}
	o := run(newBench(t, turn.Config{}, selection.Config{}, tools), t.Context(), turn.Input{Session: s})
	if o.err != nil || o.done == nil || !strings.Contains(o.done.Reply, "could not finish") {
		t.Fatalf("got %+v, %v, want a reply that the turn could not be finished", o.done, o.err)
	}
	if last := o.steps[len(o.steps)-1].State; last.Turn.ID != "" {
		t.Error("the turn is still open")
	}
}

// A call that ends the process is found, and refused for the rest of its turn. The model reads why.
func TestCallThatEndsItsProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replay tool.Replay
		begins int // how often the call runs
		more   int // how often the same call runs that the model makes after that
	}{
		"safe": {tool.Safe, 2, 0}, "keyed": {tool.Keyed, 3, 0}, "never": {tool.Never, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran calls
			tools := []tool.Tool{ran.tool("look", tool.Safe), ran.tool("act", c.replay), ran.tool("other", tool.Never)}
			round := fake.Step{Calls: []chat.Call{fake.Call("1", "look", "{}"), fake.Call("2", "act", `{"b":1}`), fake.Call("3", "other", "{}")}}
			dies := func(e turn.Event) bool { return e.Result != nil && e.Result.Name == "act" }
			s := until(t, newBench(t, turn.Config{}, selection.Config{}, tools, round), turn.Input{Text: "go"}, dies)
			for n := 1; n < c.begins; n++ {
				s = until(t, newBench(t, turn.Config{}, selection.Config{}, tools), turn.Input{Session: s}, dies)
			}
			again := fake.Step{Calls: []chat.Call{fake.Call("4", "act", `{"b":1}`), fake.Call("5", "act", `{"b":2}`)}}
			o := run(newBench(t, turn.Config{}, selection.Config{}, tools, again, fake.Step{Text: "done"}), t.Context(), turn.Input{Session: s})
			if o.err != nil || o.done == nil || o.done.Reply != "done" {
				t.Fatalf("the turn did not end well: %+v, %v", o.done, o.err)
			}
			if ran.ran["act"] != c.begins+1+c.more || ran.ran["other"] != 1 {
				t.Errorf("the calls ran %v times, want act %d, with other arguments once more, and other 1", ran.ran, c.begins+c.more)
			}
			for _, r := range o.results() {
				want := ""
				switch {
				case r.CallID == "2" && c.replay == tool.Never:
					want = "unknown"
				case r.CallID == "2", r.CallID == "4" && c.more == 0:
					want = "The program ended while act ran"
				}
				if r.Failed != (want != "") || !strings.Contains(r.Text, want) || r.Failed && r.View.Error == "" {
					t.Errorf("the result of call %s is %+v, want %q", r.CallID, r, want)
				}
			}
		})
	}
}

// A call that takes a while is stored as running in the first attempt, so that the second one refuses it.
func TestSlowCallThatEndsItsProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran calls
		fetched := 0
		slow := tool.Func(tool.Definition{Name: "fetch", Description: "Fetches.", Risk: tool.Read}, func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Second)
			fetched++
			return "ok", nil
		})
		tools := []tool.Tool{slow, ran.tool("look", tool.Safe)}
		s := until(t, newBench(t, turn.Config{}, selection.Config{}, tools, fake.Step{Calls: []chat.Call{fake.Call("1", "fetch", "{}")}}), turn.Input{Text: "go"}, isResult)
		o := run(newBench(t, turn.Config{}, selection.Config{}, tools, fake.Step{Text: "done"}), t.Context(), turn.Input{Session: s})
		if o.err != nil || o.done == nil || fetched != 1 {
			t.Fatalf("%v, %v, the call ran %d times, want 1", o.done, o.err, fetched)
		}
		// Of two, each runs once more, alone.
		s = until(t, newBench(t, turn.Config{}, selection.Config{}, tools, fake.Step{Calls: []chat.Call{fake.Call("1", "fetch", "{}"), fake.Call("2", "look", "{}")}}), turn.Input{Text: "go"}, func(e turn.Event) bool {
			return e.Result != nil && e.Result.Name == "fetch"
		})
		o = run(newBench(t, turn.Config{}, selection.Config{}, tools, fake.Step{Text: "done"}), t.Context(), turn.Input{Session: s})
		if o.err != nil || o.done == nil || fetched != 3 || ran.ran["look"] != 2 {
			t.Fatalf("%v, %v, the calls ran %d and %d times", o.done, o.err, fetched, ran.ran["look"])
		}
	})
}

// asking lets everything wait for approval.
func asking(context.Context, rules.Attempt) rules.Decision {
	return rules.Decision{Effect: rules.Ask, Reason: "careful"}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		approved bool
		ran      int
		text     string
	}{
		"approved": {true, 1, "act is done"},
		"declined": {false, 0, "declined by ann: too late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var did calls
			tools := []tool.Tool{did.tool("act", tool.Never)}
			cfg := turn.Config{Decide: asking, Approvals: true}
			o := run(newBench(t, cfg, selection.Config{}, tools, fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}")}}), t.Context(), turn.Input{Text: "go"})
			if o.done == nil {
				t.Fatalf("the turn is not done: %v", o.err)
			}
			if len(o.done.Awaits) != 1 {
				t.Fatalf("%d calls wait, want 1: %v", len(o.done.Awaits), o.done.Awaits)
			}
			if o.done.Awaits[0].Call != "1" {
				t.Fatalf("the waiting call is %q, want %q", o.done.Awaits[0].Call, "1")
			}
			if o.done.Reply != "" {
				t.Fatalf("the reply is %q, want %q", o.done.Reply, "")
			}
			if did.ran["act"] != 0 {
				t.Fatalf("act ran %v times, want 0", did.ran["act"])
			}
			s := session.Session{}
			for _, step := range o.steps {
				s.State, s.Messages = step.State, append(s.Messages, step.Messages...)
			}
			if turn.PhaseOf(s) != turn.Waiting {
				t.Fatalf("the phase is %s", turn.PhaseOf(s))
			}
			// Nothing changes before somebody answers, in whatever process.
			again := run(newBench(t, cfg, selection.Config{}, tools), t.Context(), turn.Input{Session: s, Answers: []session.Answer{{Call: "other"}}})
			if again.done == nil {
				t.Fatalf("the turn is not done: %v", again.err)
			}
			if len(again.done.Awaits) != 1 {
				t.Fatalf("%d calls wait after the resumption, want 1: %v", len(again.done.Awaits), again.done.Awaits)
			}
			if did.ran["act"] != 0 {
				t.Fatalf("act ran %v times, want 0", did.ran["act"])
			}
			answer := session.Answer{Call: "1", Approved: c.approved, By: "ann"}
			if !c.approved {
				answer.Reason = "too late"
			}
			b := newBench(t, cfg, selection.Config{}, tools, fake.Step{Text: "done"})
			o = run(b, t.Context(), turn.Input{Session: s, Answers: []session.Answer{answer}})
			if o.done == nil {
				t.Fatalf("the turn is not done: %v", o.err)
			}
			if o.done.Reply != "done" {
				t.Fatalf("the reply is %q, want %q", o.done.Reply, "done")
			}
			if did.ran["act"] != c.ran {
				t.Fatalf("act ran %v times, want %v", did.ran["act"], c.ran)
			}
			if text := o.results()[0].Text; !strings.Contains(text, c.text) {
				t.Errorf("the model reads %q, want %q", text, c.text)
			}
			if last := o.steps[len(o.steps)-1].State; last.Open() {
				t.Errorf("left open: %+v", last)
			}
		})
	}
}

// An approved call that may have run does not run again, and is not asked about again.
func TestApprovedOnce(t *testing.T) {
	t.Parallel()
	var did calls
	tools := []tool.Tool{did.tool("act", tool.Never)}
	cfg := turn.Config{Decide: asking, Approvals: true}
	s := until(t, newBench(t, cfg, selection.Config{}, tools, fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}")}}), turn.Input{Text: "go"}, func(turn.Event) bool { return false })
	s = until(t, newBench(t, cfg, selection.Config{}, tools), turn.Input{Session: s, Answers: []session.Answer{{Call: "1", Approved: true}}}, isResult)
	o := run(newBench(t, cfg, selection.Config{}, tools, fake.Step{Text: "done"}), t.Context(), turn.Input{Session: s})
	if did.ran["act"] != 1 {
		t.Errorf("act ran %v times, want 1", did.ran["act"])
	}
	if o.done == nil {
		t.Errorf("the turn is not done: %v", o.err)
	}
	if !strings.Contains(o.results()[0].Text, "unknown") {
		t.Errorf("the result is %q, want %q in it", o.results()[0].Text, "unknown")
	}
}

// A new message takes the place of a turn that waits.
func TestMessageInsteadOfAnAnswer(t *testing.T) {
	t.Parallel()
	var did calls
	tools := []tool.Tool{did.tool("act", tool.Never)}
	cfg := turn.Config{Decide: asking, Approvals: true}
	s := until(t, newBench(t, cfg, selection.Config{}, tools, fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}")}}), turn.Input{Text: "go"}, func(turn.Event) bool { return false })
	b := newBench(t, cfg, selection.Config{}, tools, fake.Step{Text: "fine"})
	o := run(b, t.Context(), turn.Input{Session: s, Text: "leave it"})
	if o.done == nil {
		t.Fatalf("the turn is not done: %v", o.err)
	}
	if o.done.Reply != "fine" {
		t.Fatalf("the reply is %q, want %q", o.done.Reply, "fine")
	}
	if did.ran["act"] != 0 {
		t.Fatalf("act ran %v times, want 0", did.ran["act"])
	}
	if o.steps[len(o.steps)-1].State.Open() {
		t.Fatal("the last step leaves something open")
	}
	messages := b.model.Requests()[0].Messages
	if got := fmt.Sprintf("%d messages, %s", len(messages), messages[2].Result.Text); !strings.HasPrefix(got, "4 messages, the call was not approved") {
		t.Errorf("the model was sent %s", got)
	}
}

// Calls that only read and must not run twice run one by one, like those that write.
func TestReadsThatMustNotRunTwiceRunAlone(t *testing.T) {
	t.Parallel()
	var c calls
	draw := tool.Func(tool.Definition{Name: "draw", Description: "Draw a card", Risk: tool.Read, Replay: tool.Never}, func(context.Context, struct{}) (string, error) {
		c.keys = append(c.keys, "drawn") // a data race when two run at once
		return "a card", nil
	})
	round := fake.Step{Calls: []chat.Call{fake.Call("1", "draw", "{}"), fake.Call("2", "draw", "{}")}}
	s := until(t, newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{draw}, round), turn.Input{Text: "go"}, isResult)
	if len(c.keys) != 1 {
		t.Fatalf("%d calls ran before the first result was stored", len(c.keys))
	}
	o := run(newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{draw}, fake.Step{Text: "done"}), t.Context(), turn.Input{Session: s})
	if len(c.keys) != 2 {
		t.Errorf("%d idempotency keys, want 2: %v", len(c.keys), c.keys)
	}
	if !strings.Contains(o.results()[0].Text, "unknown") {
		t.Errorf("the result is %q, want %q in it", o.results()[0].Text, "unknown")
	}
	if got := o.results()[1].Text; got != "a card" {
		t.Errorf("the second result is %q, want %q", got, "a card")
	}
}

// A turn whose host suspends it stays open, with nothing stored of the call that ran.
func TestSuspended(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	act := tool.Func(tool.Definition{Name: "act", Description: "Act"}, func(ctx context.Context, _ struct{}) (string, error) {
		cancel(turn.ErrSuspended)
		<-ctx.Done()
		return "", ctx.Err()
	})
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{act}, fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}")}})
	o := run(b, ctx, turn.Input{Text: "go"})
	if !errors.Is(o.err, turn.ErrSuspended) {
		t.Fatalf("%v, %v", o.err, o.events)
	}
	s := session.Session{}
	for _, step := range o.steps {
		s.State, s.Messages = step.State, append(s.Messages, step.Messages...)
	}
	if turn.PhaseOf(s) != turn.Calling || len(s.Messages) != 2 {
		t.Errorf("the phase is %s with %d messages", turn.PhaseOf(s), len(s.Messages))
	}
}

// TestClose: only a call that may have run, and for which that matters, is of unknown
// outcome.
func TestClose(t *testing.T) {
	define := func(name string, risk tool.Risk) tool.Tool {
		return tool.Func(tool.Definition{Name: name, Risk: risk}, func(context.Context, struct{}) (string, error) { return "", nil })
	}
	c := registryOf(t, define("look", tool.Read), define("pay", tool.Destructive)).Catalog()
	for _, test := range []struct {
		calls, once string
		want        []string
	}{
		{"look pay", "", []string{"was not run", "was not run"}},
		{"pay look", "", []string{"unknown", "was not run"}},
		{"look", "look", []string{"unknown"}}, // it was no safe tool when the call began
		{"gone", "", []string{"unknown"}},
		{"find_tools", "", []string{"was not run"}},
	} {
		s := session.Session{State: session.State{Turn: session.Turn{ID: "t"}}, Messages: []chat.Message{{Role: chat.User, Text: "go"}, {Role: chat.Assistant}}}
		for _, name := range strings.Fields(test.calls) {
			s.Messages[1].Calls = append(s.Messages[1].Calls, fake.Call(name, name, "{}"))
		}
		s.Turn.Once = strings.Fields(test.once)
		state, left := turn.Close(s, c, "it was closed", time.Time{})
		if state.Turn.ID != "" {
			t.Errorf("%s: the turn is still open", test.calls)
		}
		if len(left) != len(test.want) {
			t.Fatalf("%s: %d results, want %d", test.calls, len(left), len(test.want))
		}
		for i, want := range test.want {
			if got := left[i].Result.Text; !strings.Contains(got, want) {
				t.Errorf("%s: result %d is %q, want %q in it", test.calls, i+1, got, want)
			}
		}
	}
}
