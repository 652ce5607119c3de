package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/tool"
)

// clock is a time that tests set.
type clock struct{ now atomic.Pointer[time.Time] }

func newClock(text string) *clock {
	c := &clock{}
	c.set(text)
	return c
}

func (c *clock) set(text string) {
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	c.now.Store(&at)
}

func (c *clock) Now() time.Time { return *c.now.Load() }

// tick does what the clock decides, and waits until it has happened.
func tick(t *testing.T, g *engine.Engine) {
	t.Helper()
	must(t, schedule.NewClock(g, schedule.Heartbeat{}, nil).Tick(t.Context()))
	idle(t, g)
}

// everything is a caller of whom all is known. A field that is added to [identity.Caller] is
// filled, too.
func everything(t *testing.T) identity.Caller {
	var c identity.Caller
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		switch f, name := v.Field(i), v.Type().Field(i).Name; f.Interface().(type) {
		case string:
			f.SetString("a-" + name)
		case bool:
			f.SetBool(true)
		case []string:
			f.Set(reflect.ValueOf([]string{"a-" + name}))
		case map[string]string:
			f.Set(reflect.ValueOf(map[string]string{name: "x"}))
		default:
			t.Fatalf("fill the field %s of identity.Caller here", name)
		}
	}
	return c
}

// from returns a message as one of a caller.
func from(who identity.Caller, m engine.Message) engine.Message {
	to, v := reflect.ValueOf(&m).Elem(), reflect.ValueOf(who)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Guest" { // the engine gives it
			to.FieldByName(name).Set(v.Field(i))
		}
	}
	return m
}

// TestCallerIsWhole holds that a message carries all of its caller where etui makes one
// message of another: for a task, for a sub-agent and for its result.
func TestCallerIsWhole(t *testing.T) {
	t.Parallel()
	who := everything(t)
	who.Guest = "" // only those without a name have one
	var mu sync.Mutex
	seen := map[string]chat.Facts{} // by the word of the call
	kept, now := &store.Memory{}, newClock("2026-03-02 08:30:00")
	var g *engine.Engine
	note := func(id string) fake.Step {
		return fake.Step{Calls: []chat.Call{fake.Call(id, "note", fmt.Sprintf(`{"word":%q}`, id))}}
	}
	done := fake.Step{Text: "done"}
	start := func() {
		g, _ = newEngine(t, func(c *engine.Config) {
			c.Now, c.Store = now.Now, kept
			c.Agents[0].Spawn = agent.Spawn{AtOnce: 1}
			must(t, c.Registry.Register(
				tool.Func(tool.Definition{Name: "note", Description: "Note a word"}, func(ctx context.Context, w word) (string, error) {
					mu.Lock()
					defer mu.Unlock()
					seen[w.Word] = tool.Caller(ctx)
					return "noted", nil
				}),
				tool.Func(tool.Definition{Name: "schedule", Description: "Do it later"}, func(ctx context.Context, _ struct{}) (string, error) {
					task, err := schedule.NewTasks(g).AddFromTurn(ctx, schedule.Task{When: "@hourly", Zone: "UTC", Text: "note it"})
					return task.ID, err
				}),
				tool.New(tool.Definition{Name: "spawn", Description: "Start a sub-agent", Replay: tool.Keyed}, func(ctx context.Context, _ json.RawMessage) (chat.Result, error) {
					return g.SubAgents().Start(ctx, subagent.Assignment{Task: "note it"})
				}),
			))
		}, note("asked"), fake.Step{Calls: []chat.Call{fake.Call("s", "schedule", "{}")}}, done, // the question
			note("task"), done, // the task
			fake.Step{Calls: []chat.Call{fake.Call("p", "spawn", "{}")}}, done, note("sub-agent"), done, note("result"), done)
	}
	start()
	_, err := send(g, t.Context(), from(who, engine.Message{Text: "note it now and every hour"}))
	must(t, err)
	now.set("2026-03-02 09:00:00")
	tick(t, g)
	_, err = send(g, t.Context(), from(who, engine.Message{Text: "have it noted", Wait: true}))
	must(t, err)
	idle(t, g)
	mu.Lock()
	defer mu.Unlock()
	want := caller(seen["asked"])
	if want.User == "" || want.Channel == "" || want.Chat == "" || len(want.PlatformRoles)+len(want.Roles)+len(want.Attrs) != 3 {
		t.Errorf("rules know of the caller %+v", want)
	}
	for _, where := range []string{"task", "sub-agent", "result"} {
		if got := caller(seen[where]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: rules know of the caller\n%+v, want\n%+v", where, got, want)
		}
	}
}

// caller returns facts without those that are of the turn, and not of its caller.
func caller(f chat.Facts) chat.Facts {
	f.Agent, f.Session, f.Skill, f.Time = "", "", "", time.Time{}
	return f
}
