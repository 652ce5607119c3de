package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

func never(turn.Event) bool { return false }

// waiting returns a session whose turn waits for the approval of calls of act.
func waiting(t *testing.T, cfg turn.Config, tools []tool.Tool, calls ...chat.Call) session.Session {
	t.Helper()
	s := until(t, newBench(t, cfg, selection.Config{}, tools, fake.Step{Calls: calls}), turn.Input{Text: "go"}, never)
	if turn.PhaseOf(s) != turn.Waiting {
		t.Fatalf("the phase is %s", turn.PhaseOf(s))
	}
	return s
}

// What a person said is not asked again after a crash, whatever the replay of the call.
func TestAnswerSurvives(t *testing.T) {
	t.Parallel()
	cfg := turn.Config{Decide: asking, Approvals: true}
	for _, replay := range tool.Replays() {
		for _, approved := range []bool{true, false} {
			t.Run(fmt.Sprint(replay, approved), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { // a call that takes a while would be marked as running
					var did calls
					tools := []tool.Tool{did.tool("act", replay)}
					s := waiting(t, cfg, tools, fake.Call("1", "act", "{}"))
					s = until(t, newBench(t, cfg, selection.Config{}, tools), turn.Input{Session: s, Answers: []session.Answer{{Call: "1", Approved: approved}}}, isResult)
					o := run(newBench(t, cfg, selection.Config{}, tools, fake.Step{Text: "done"}), t.Context(), turn.Input{Session: s})
					if o.err != nil {
						t.Fatal(o.err)
					}
					if o.done == nil {
						t.Fatal("the turn has not ended")
					}
					if o.done.Reply != "done" {
						t.Fatalf("the reply is %q, want %q", o.done.Reply, "done")
					}
					want := map[bool]int{true: 2}[approved]
					if approved && replay == tool.Never {
						want = 1
					}
					if did.ran["act"] != want {
						t.Errorf("ran %d times, want %d", did.ran["act"], want)
					}
					if text := o.results()[0].Text; !approved && !strings.Contains(text, "declined") {
						t.Errorf("the model reads %q of a declined call", text)
					}
				})
			})
		}
	}
}

// An answer to a call that was never asked about does not approve it.
func TestAnswerInAdvance(t *testing.T) {
	t.Parallel()
	var did calls
	tools := []tool.Tool{did.tool("act", tool.Never)}
	cfg := turn.Config{Decide: asking, Approvals: true}
	s := waiting(t, cfg, tools, fake.Call("1", "act", "{}"), fake.Call("2", "act", "{}"))
	o := run(newBench(t, cfg, selection.Config{}, tools), t.Context(), turn.Input{Session: s, Answers: []session.Answer{{Call: "1", Approved: true}, {Call: "2", Approved: true}}})
	if o.done == nil {
		t.Error("the turn has not ended")
	}
	if len(o.done.Awaits) != 1 {
		t.Fatalf("%d calls wait, want 1: %+v", len(o.done.Awaits), o.done.Awaits)
	}
	if o.done.Awaits[0].Call != "2" {
		t.Errorf("the waiting call is %q, want %q", o.done.Awaits[0].Call, "2")
	}
	if did.ran["act"] != 1 {
		t.Errorf("act ran %v times, want 1", did.ran["act"])
	}
}

// Where nobody can answer, a call that needs approval is refused.
func TestNobodyCanApprove(t *testing.T) {
	t.Parallel()
	var did calls
	b := newBench(t, turn.Config{Decide: asking, Approvals: true}, selection.Config{}, []tool.Tool{did.tool("act", tool.Never)},
		fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}")}}, fake.Step{Text: "done"})
	if o := run(b, t.Context(), turn.Input{Text: "go", Unstored: true}); o.done == nil || o.done.Reply != "done" || !o.results()[0].Failed {
		t.Errorf("%v", o.events)
	}
	if r, err := b.Call(t.Context(), turn.Input{}, "act", []byte("{}")); err == nil || !r.Failed || did.ran["act"] != 0 {
		t.Errorf("a call without a turn: %+v, %v", r, err)
	}
}

// TestQuestionLasts: a question waits as long as the host waits, or as its answer is of use if that is shorter.
func TestQuestionLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ host, tool, want time.Duration }{
			{time.Hour, 0, time.Hour}, {time.Hour, time.Minute, time.Minute}, {time.Minute, time.Hour, time.Minute},
			{0, time.Minute, time.Minute}, {0, 0, 0},
		} {
			ask := tool.New(tool.Definition{Name: "book", Description: "Books it."},
				func(context.Context, json.RawMessage) (chat.Result, error) {
					return chat.Result{}, &tool.Question{Text: "Where?", Resume: "r", Lasts: c.tool}
				})
			b := newBench(t, turn.Config{Approvals: true, Expire: c.host}, selection.Config{}, []tool.Tool{ask},
				fake.Step{Calls: []chat.Call{fake.Call("1", "book", "{}")}})
			o := run(b, t.Context(), turn.Input{Text: "go"})
			var want time.Time
			if c.want > 0 {
				want = time.Now().Add(c.want)
			}
			if got := o.done.Awaits[0].Until; !got.Equal(want) {
				t.Errorf("host %v, tool %v: until %v, want %v", c.host, c.tool, got, want)
			}
		}
	})
}

// TestCallAsks: a call without a turn gives its caller the tool's question, and goes on with the answer. An
// approval is not asked for in this way.
func TestCallAsks(t *testing.T) {
	t.Parallel()
	var resumed *tool.Reply
	ask := tool.New(tool.Definition{Name: "book", Description: "Books it.", Risk: tool.Write},
		func(ctx context.Context, _ json.RawMessage) (chat.Result, error) {
			reply, asks := tool.Asks(ctx)
			if resumed = reply; reply == nil && asks {
				return chat.Result{}, &tool.Question{Text: "Where?", Choices: []string{"Oslo"}, Resume: "r"}
			}
			return chat.Result{Text: "booked"}, nil
		})
	b := newBench(t, turn.Config{Approvals: true}, selection.Config{}, []tool.Tool{ask})
	book := func(reply *tool.Reply) (chat.Result, error) {
		return b.Call(tool.WithHost(t.Context(), tool.Host{Asks: true, Reply: reply}), turn.Input{}, "book", []byte("{}"))
	}
	var q *tool.Question
	if _, err := book(nil); !errors.As(err, &q) || q.Text != "Where?" || q.Resume != "r" || len(q.Choices) != 1 {
		t.Fatalf("%v, %+v", err, q)
	}
	if r, err := book(&tool.Reply{Resume: "r", Text: "Oslo", Given: true}); err != nil || r.Text != "booked" ||
		resumed == nil || *resumed != (tool.Reply{Resume: "r", Text: "Oslo", Given: true}) {
		t.Errorf("%+v, %v, %+v", r, err, resumed)
	}
	if r, err := b.Call(t.Context(), turn.Input{}, "book", []byte("{}")); err != nil || r.Text != "booked" {
		t.Errorf("nobody can be asked: %+v, %v", r, err)
	}
	guarded := newBench(t, turn.Config{Decide: asking, Approvals: true}, selection.Config{}, []tool.Tool{ask})
	if _, err := guarded.Call(tool.WithHost(t.Context(), tool.Host{Asks: true}), turn.Input{}, "book", []byte("{}")); err == nil || errors.As(err, new(*tool.Question)) {
		t.Errorf("a call that needs an approval: %v", err)
	}
}

// A call that was not to run twice when it began does not, whatever its tool says now.
func TestReplayChanged(t *testing.T) {
	t.Parallel()
	for _, now := range tool.Replays() {
		var did calls
		s := until(t, newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{did.tool("act", tool.Never)}, fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}")}}), turn.Input{Text: "go"}, isResult)
		o := run(newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{did.tool("act", now)}, fake.Step{Text: "done"}), t.Context(), turn.Input{Session: s})
		if did.ran["act"] != 1 {
			t.Errorf("act ran %v times, want 1", did.ran["act"])
		}
		if !strings.Contains(o.results()[0].Text, "unknown") {
			t.Errorf("the result is %q, want %q in it", o.results()[0].Text, "unknown")
		}
	}
}

// A tool that is gone when the turn is resumed may have run.
func TestToolGone(t *testing.T) {
	t.Parallel()
	var did calls
	s := until(t, newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{did.tool("act", tool.Keyed)}, fake.Step{Calls: []chat.Call{fake.Call("1", "call_tool", `{"name":"act"}`), fake.Call("2", "act", "{}")}}), turn.Input{Text: "go"}, isResult)
	o := run(newBench(t, turn.Config{}, selection.Config{}, nil, fake.Step{Text: "done"}), t.Context(), turn.Input{Session: s})
	r := o.results()
	if o.done == nil {
		t.Error("the turn has not ended")
	}
	if len(r) != 2 {
		t.Fatalf("%d results, want 2: %+v", len(r), r)
	}
	if !strings.Contains(r[0].Text, "unknown") {
		t.Errorf("the first result is %q, want %q in it", r[0].Text, "unknown")
	}
	if !strings.Contains(r[1].Text, "there is no tool") {
		t.Errorf("the second result is %q, want %q in it", r[1].Text, "there is no tool")
	}
}

// A turn that is suspended while its calls are stored tells no call as cancelled: the
// next process runs them.
func TestSuspendedAnywhere(t *testing.T) {
	t.Parallel()
	for n := range 14 {
		var did calls
		tools := []tool.Tool{did.tool("act", tool.Never), did.tool("look", tool.Safe)}
		script := []fake.Step{{Calls: []chat.Call{fake.Call("1", "look", "{}"), fake.Call("2", "act", "{}"), fake.Call("3", "look", "{}")}}, {Text: "done"}}
		ctx, cancel := context.WithCancelCause(t.Context())
		s, seen, asked := session.Session{}, 0, 0
		for e, err := range newBench(t, turn.Config{}, selection.Config{}, tools, script...).Run(ctx, turn.Input{Text: "go"}) {
			if err != nil && !errors.Is(err, turn.ErrSuspended) && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if e.Step != nil {
				s.State, s.Messages = e.Step.State, append(s.Messages, e.Step.Messages...)
			}
			if seen++; seen == n {
				cancel(turn.ErrSuspended)
			}
		}
		cancel(nil)
		for _, m := range s.Messages {
			if m.Role == chat.Assistant {
				asked++
			}
			if m.Result != nil && m.Result.Failed {
				t.Errorf("suspended at event %d: a call is told as %q", n, m.Result.Text)
			}
		}
		if len(s.Messages) == 0 || asked == 2 {
			continue
		}
		if turn.PhaseOf(s) == turn.Finished {
			t.Errorf("suspended at event %d: the turn is closed", n)
			continue
		}
		o := run(newBench(t, turn.Config{}, selection.Config{}, tools, script[asked:]...), t.Context(), turn.Input{Session: s})
		// The first call without a result may have run, so it counts as unknown.
		unknown := slices.ContainsFunc(o.results(), func(r chat.Result) bool { return r.CallID == "2" && strings.Contains(r.Text, "unknown") })
		if o.done == nil || o.done.Reply != "done" || did.ran["act"] != 1 && !unknown || did.ran["act"] > 1 {
			t.Errorf("suspended at event %d: act ran %d times, %v %v", n, did.ran["act"], o.err, o.events)
		}
	}
}

// An outcome that comes while a turn is open becomes a message when the turn ends, not
// between its calls and their results.
func TestOutcomeDuringATurn(t *testing.T) {
	t.Parallel()
	cfg := turn.Config{Decide: asking, Approvals: true}
	var did calls
	tools := []tool.Tool{did.tool("act", tool.Never)}
	for name, end := range map[string]turn.Input{"answered": {Answers: []session.Answer{{Call: "1", Approved: true}}}, "replaced": {Text: "never mind"}} {
		s := waiting(t, cfg, tools, fake.Call("1", "act", "{}"))
		s.Awaits = append(s.Awaits, session.Await{Call: "0", Tool: "slow", For: session.Outcome})
		o := turn.Outcome{Call: chat.Call{ID: "0", Name: "slow"}, Result: tool.Text("late")}
		for range 2 { // the second one is not awaited any more
			var told []chat.Message
			if s.State, told = o.Apply(s.State, time.Time{}); len(told) > 0 || turn.PhaseOf(s) != turn.Waiting {
				t.Fatalf("%s: %d messages, %s", name, len(told), turn.PhaseOf(s))
			}
		}
		end.Session = s
		b := newBench(t, cfg, selection.Config{}, tools, fake.Step{Text: "done"})
		s = until(t, b, end, never)
		if s.Open() {
			t.Errorf("%s: left open: %+v", name, s.State)
		}
		notes := 0
		for i, m := range s.Messages {
			if strings.Contains(m.Note, "late") {
				notes++
				if before := s.Messages[i-1]; len(before.Calls) > 0 {
					t.Errorf("%s: the outcome comes right after the calls", name)
				}
			}
		}
		if notes != 1 || s.Sent != len(s.Messages) {
			t.Errorf("%s: told %d times; %d messages are counted, want %d", name, notes, s.Sent, len(s.Messages))
		}
	}
}

// A call whose policy answers after the call's time limit does not run: the model has
// read that it failed.
func TestPolicyTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := false
		act := tool.Func(tool.Definition{Name: "act", Description: "Act"}, func(context.Context, struct{}) (string, error) { ran = true; return "", nil })
		decide := func(_ context.Context, a rules.Attempt) rules.Decision {
			if a.Entry != nil {
				time.Sleep(time.Hour)
			}
			return rules.Decision{Effect: rules.Allow}
		}
		b := newBench(t, turn.Config{Decide: decide}, selection.Config{}, []tool.Tool{act}, fake.Step{Calls: []chat.Call{fake.Call("1", "act", "{}")}},
			fake.Step{Calls: []chat.Call{fake.Call("2", "use_skill", `{"name":"full"}`)}}, fake.Step{Text: "done"})
		o := run(b, t.Context(), turn.Input{Text: "go"})
		time.Sleep(2 * time.Hour)
		if ran {
			t.Error("ran")
		}
		if !strings.Contains(o.results()[0].Text, "did not run") {
			t.Errorf("the result is %q, want %q in it", o.results()[0].Text, "did not run")
		}
	})
}

// IDs that a model leaves out, repeats or guesses are unique in the conversation.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	var did calls
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{did.tool("look", tool.Safe)},
		fake.Step{Calls: []chat.Call{fake.Call("call_1_2", "look", "{}"), fake.Call("", "look", "{}"), fake.Call("call_1_2", "look", "{}"), fake.Call("0", "look", "{}")}}, fake.Step{Text: "done"})
	o := run(b, t.Context(), turn.Input{Text: "go", Session: session.Session{State: session.State{Awaits: []session.Await{{Call: "0", For: session.Outcome}}}}})
	var ids []string
	for _, r := range o.results() {
		if slices.Contains(ids, r.CallID) || r.CallID == "" || r.CallID == "0" {
			t.Errorf("the ID %q after %q", r.CallID, ids)
		}
		ids = append(ids, r.CallID)
	}
	if len(ids) != 4 {
		t.Errorf("%q", ids)
	}
}
