package wire_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// answered is a [wire.Writer] that keeps an answer.
type answered struct {
	text    string
	done    *turn.End
	waiting []wire.PendingCall
	err     error
}

func (a *answered) Event(e turn.Event) error {
	a.text += e.Text
	if e.Done != nil {
		a.done = e.Done
	}
	return nil
}
func (a *answered) Fail(err error)           { a.err = err }
func (a *answered) Extend(x *wire.Extension) { a.waiting = x.Waiting }

// asking is an engine whose policy asks about the tool act, in a new process on the same store.
func asking(t *testing.T, kept store.Store, ran *int, steps ...fake.Step) (*engine.Engine, *fake.Model) {
	t.Helper()
	r := catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "act", Risk: tool.Write}, func(context.Context, struct{}) (string, error) {
		*ran++
		return "acted", nil
	})); err != nil {
		t.Fatal(err)
	}
	users, err := identity.New([]identity.User{{Name: "ann"}, {Name: "bob"}})
	if err != nil {
		t.Fatal(err)
	}
	m := fake.New(steps...)
	e, err := engine.New(engine.Config{
		Registry: r, Store: kept, Agents: []engine.Agent{{Name: "main", Model: m}},
		Users:     func(*catalog.Catalog) *identity.Users { return users },
		Approvers: func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Ask} },
		Turn: turn.Config{Approvals: true, Decide: func(context.Context, rules.Attempt) rules.Decision {
			return rules.Decision{Effect: rules.Ask}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, m
}

// ask sends a message of ann, or of somebody with another key.
func ask(t *testing.T, e *engine.Engine, c wire.Caller, m engine.Message) *answered {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r = r.WithContext(wire.WithCaller(t.Context(), c))
	if err := wire.Sender(r, &m); err != nil {
		t.Fatal(err)
	}
	a := &answered{}
	wire.Run(r, e, m, a)
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a
}

// TestWaiting: an answer says what waits; the same request says so again, in any process, until somebody
// has decided, and gets the rest of the turn then, once.
func TestWaiting(t *testing.T) {
	ann, bob := wire.Caller{User: "ann", Key: "a"}, wire.Caller{User: "bob", Key: "b"}
	operator := wire.Caller{ForOthers: true, Operator: true}
	call := fake.Step{Text: "Well.", Calls: []chat.Call{fake.Call("1", "act", `{}`)}}
	history := []chat.Message{{Role: chat.User, Text: "hi"}, {Role: chat.Assistant, Text: "hello"}}
	for name, c := range map[string]struct {
		by      wire.Caller
		message engine.Message
		approve bool
		rest    string
		ran     int
	}{
		"etui keeps it":       {ann, engine.Message{Text: "go", Session: "s"}, true, "Done.", 1},
		"the client keeps":    {ann, engine.Message{Text: "go", History: history}, true, "Done.", 1},
		"its first message":   {ann, engine.Message{Text: "go", History: []chat.Message{}}, true, "Done.", 1},
		"denied":              {ann, engine.Message{Text: "go", History: history}, false, "Done.", 0},
		"an operator's":       {operator, engine.Message{Text: "go", History: history}, true, "Done.", 1},
		"said for a person":   {operator, engine.Message{Text: "go", User: "ann", History: history}, true, "Done.", 1},
		"an operator's, kept": {operator, engine.Message{Text: "go", Session: "s"}, true, "Done.", 1},
	} {
		t.Run(name, func(t *testing.T) {
			kept, ran := &store.Memory{}, 0
			e, _ := asking(t, kept, &ran, call, call)
			first := ask(t, e, c.by, c.message)
			if len(first.waiting) != 1 || first.waiting[0].Tool != "act" || !strings.Contains(first.text, "POST /api/approvals/"+first.waiting[0].ID) {
				t.Fatalf("the answer is %q, and %+v waits", first.text, first.waiting)
			}
			others := c.message
			others.User = ""
			if other := ask(t, e, bob, others); len(other.waiting) != 1 || other.waiting[0].ID == first.waiting[0].ID {
				t.Errorf("bob reads what waits for another one: %+v", other.waiting)
			}
			e, m := asking(t, kept, &ran, fake.Step{Text: "Done."}, call)
			again := ask(t, e, c.by, c.message)
			if len(again.waiting) != 1 || again.waiting[0].ID != first.waiting[0].ID || len(m.Requests()) != 0 {
				t.Errorf("again: %+v", again)
			}
			// The answer says what to send.
			sender, body := engine.Message{Channel: "api", User: c.by.User}, first.waiting[0].Decide.Body
			sender.Agent, _ = body["agent"].(string)
			sender.Session, _ = body["session"].(string)
			if user, ok := body["user"].(string); ok {
				sender.User = user
			}
			if _, err := e.Answers().Give(t.Context(), sender, first.waiting[0].ID, session.Answer{Approved: c.approve}, false); err != nil {
				t.Fatal(err)
			}
			if rest := ask(t, e, c.by, c.message); rest.text != c.rest || len(rest.waiting) > 0 || ran != c.ran {
				t.Errorf("the rest is %q, %+v waits, and the call ran %d times", rest.text, rest.waiting, ran)
			}
			if anew := ask(t, e, c.by, c.message); len(anew.waiting) != 1 || anew.waiting[0].ID == first.waiting[0].ID {
				t.Errorf("after that it is a new request: %+v", anew)
			}
		})
	}
}

// TestWaitingAside: a turn of a conversation that the client keeps goes on with the command of its
// sender, hands calls over, and a call by a stranger is refused as ever.
func TestWaitingAside(t *testing.T) {
	ann, ran := wire.Caller{User: "ann", Key: "a"}, 0
	tools := clienttool.Offer{Tools: []clienttool.Tool{{Name: "read_file"}}}
	kept := &store.Memory{}
	e, m := asking(t, kept, &ran,
		fake.Step{Calls: []chat.Call{fake.Call("1", "act", `{}`)}}, fake.Step{Text: "Now.", Calls: []chat.Call{fake.Call("2", "read_file", `{}`)}}, fake.Step{Text: "Read."},
		fake.Step{Calls: []chat.Call{fake.Call("1", "act", `{}`)}}, fake.Step{Text: "I may not."})
	said := []chat.Message{{Role: chat.User, Text: "go"}}
	first := ask(t, e, ann, engine.Message{Text: "go", History: []chat.Message{}, Offer: tools})
	said = append(said, chat.Message{Role: chat.Assistant, Text: first.text})
	then := ask(t, e, ann, engine.Message{Text: "/approve " + first.waiting[0].ID, History: said, Offer: tools})
	if ran != 1 || then.text != "Now." || then.done == nil || len(then.done.Handed) != 1 {
		t.Fatalf("it goes on with %q: %+v", then.text, then.done)
	}
	said = append(said, chat.Message{Role: chat.User, Text: "/approve"}, chat.Message{Role: chat.Assistant, Text: then.text, Calls: then.done.Handed},
		chat.Message{Role: chat.Tool, Result: &chat.Result{CallID: then.done.Handed[0].ID, Name: "read_file", Text: "X"}})
	if end := ask(t, e, ann, engine.Message{History: said, Offer: tools}); end.text != "Read." {
		t.Errorf("it ends with %q", end.text)
	}
	results := ""
	for _, one := range m.Requests()[2].Messages {
		if one.Result != nil {
			results += one.Result.Text + ","
		}
	}
	if results != "acted,X," {
		t.Errorf("the model reads the results %s", results)
	}
	if keys, err := kept.Asking(t.Context(), ""); err != nil || len(keys) != 0 {
		t.Errorf("%v wait: %v", keys, err)
	}
	stranger := ask(t, e, wire.Caller{Key: "g", ForOthers: true}, engine.Message{Text: "go", History: []chat.Message{}})
	if stranger.text != "I may not." || ran != 1 {
		t.Errorf("a stranger reads %q", stranger.text)
	}
}

// TestWaitingOfBothKinds: a step with a call that waits for a person and one of the client runs etui's after the
// approval, hands the client's over with the same request, and goes on with what the client saw.
func TestWaitingOfBothKinds(t *testing.T) {
	database, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "etui.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	for name, kept := range map[string]store.Store{"memory": &store.Memory{}, "sqlite": database} {
		ann, ran := wire.Caller{User: "ann", Key: "a"}, 0
		tools := clienttool.Offer{Tools: []clienttool.Tool{{Name: "read_file"}}}
		e, m := asking(t, kept, &ran, fake.Step{Text: "Now.", Calls: []chat.Call{
			fake.Call("1", "act", `{}`), fake.Call("2", "read_file", `{}`),
		}}, fake.Step{Text: "Read."})
		first := engine.Message{Text: "go", History: []chat.Message{}, Offer: tools}
		waiting := ask(t, e, ann, first).waiting
		if len(waiting) != 1 {
			t.Fatalf("%s: %+v wait", name, waiting)
		}
		if again := ask(t, e, ann, first).waiting; len(again) != 1 || again[0].ID != waiting[0].ID {
			t.Fatalf("%s: again %+v wait", name, again)
		}
		sender := engine.Message{Channel: "api", User: "ann"}
		sender.Agent, _ = waiting[0].Decide.Body["agent"].(string)
		sender.Session, _ = waiting[0].Decide.Body["session"].(string)
		if _, err := e.Answers().Give(t.Context(), sender, waiting[0].ID, session.Answer{Approved: true}, false); err != nil {
			t.Fatal(err)
		}
		then := ask(t, e, ann, first)
		for range 1000 { // the call that was approved may still run
			if len(then.waiting) == 0 {
				break
			}
			<-time.After(5 * time.Millisecond)
			then = ask(t, e, ann, first)
		}
		if ran != 1 || then.done == nil || len(then.done.Handed) != 1 || then.done.Handed[0].Name != "read_file" {
			t.Fatalf("%s: act ran %d times, and it goes on with %q: %+v", name, ran, then.text, then.done)
		}
		end := ask(t, e, ann, engine.Message{Offer: tools, History: []chat.Message{
			{Role: chat.User, Text: "go"}, {Role: chat.Assistant, Text: then.text, Calls: then.done.Handed},
			{Role: chat.Tool, Result: &chat.Result{CallID: then.done.Handed[0].ID, Name: "read_file", Text: "X"}},
		}})
		results := ""
		for _, one := range m.Requests()[1].Messages {
			if one.Result != nil {
				results += one.Result.Text + ","
			}
		}
		if end.text != "Read." || results != "acted,X," {
			t.Errorf("%s: it ends with %q, and the model reads the results %s", name, end.text, results)
		}
	}
}

// TestWaitingLanguage: what waits is said in the language of the one who asks, again, too, and whoever keeps the
// conversation.
func TestWaitingLanguage(t *testing.T) {
	ann, ran := wire.Caller{User: "ann", Key: "a"}, 0
	call := fake.Step{Calls: []chat.Call{fake.Call("1", "act", `{}`)}}
	for name, m := range map[string]engine.Message{
		"the client keeps it": {Text: "go", Language: "zh", History: []chat.Message{}}, "etui keeps it": {Text: "go", Language: "zh", Session: "s"},
	} {
		e, _ := asking(t, &store.Memory{}, &ran, call)
		for range 2 {
			if said := ask(t, e, ann, m); !strings.Contains(said.text, "\u6b64\u8c03\u7528\u9700\u8981\u6279\u51c6") || len(said.waiting) != 1 {
				t.Errorf("%s: %s", name, said.text)
			}
		}
	}
}
