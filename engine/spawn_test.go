package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/tool"
)

// spawning is the engine of a test with sub-agents: main starts helper.
type spawning struct {
	*engine.Engine
	main, helper *fake.Model
	kept         store.Store
}

// newSpawning makes it. Change may change all of it before.
func newSpawning(tb testing.TB, change func(c *engine.Config), main, helper []fake.Step) *spawning {
	tb.Helper()
	s := &spawning{main: fake.New(main...), helper: fake.New(helper...), kept: &store.Memory{}}
	cfg := engine.Config{Registry: registry(tb), Store: s.kept, Agents: []engine.Agent{
		{Name: "main", Model: s.main, Spawn: agent.Spawn{AtOnce: 2, Agents: []string{"helper", "main"}}}, {Name: "helper", Model: s.helper},
	}}
	must(tb, cfg.Registry.Register(tool.Func(tool.Definition{Name: agent.SpawnTool, Description: "Start a sub-agent", Groups: []string{"agents"}, Risk: tool.Write, Replay: tool.Keyed},
		func(ctx context.Context, t subagent.Assignment) (chat.Result, error) {
			return s.SubAgents().Start(ctx, t)
		})))
	if change != nil {
		change(&cfg)
	}
	s.kept = cfg.Store
	var err error
	s.Engine, err = engine.New(cfg)
	must(tb, err)
	return s
}

// spawn is a call that hands a task to the helper.
func spawn(id, task string) chat.Call {
	return fake.Call(id, agent.SpawnTool, fmt.Sprintf(`{"Task":%q,"Agent":"helper","Toolset":"","Steps":0,"Time":0,"Tokens":0}`, task))
}

// subs returns the sessions of sub-agents.
func subs(t *testing.T, kept store.Store) (list []session.Session) {
	t.Helper()
	all, err := kept.List(t.Context(), session.Filter{Part: ":sub:"})
	must(t, err)
	for _, s := range all {
		sub, err := kept.Load(t.Context(), s.Key, 0)
		must(t, err)
		list = append(list, sub)
	}
	return list
}

// A sub-agent neither sees nor can call what its agent, its parent's agent, the parent's
// request or the person may not.
func TestSpawnKeepsRights(t *testing.T) {
	t.Parallel()
	admins := engine.Message{User: "ann", Roles: []string{"admin"}}
	deny := func(kind rules.Kind, name string) *rules.Rules {
		list, err := rules.Compile(kind, []rules.Rule{{Name: "not main", Deny: []string{name}, When: `agent == "main"`}}, nil)
		must(t, err)
		return list
	}
	for name, c := range map[string]struct {
		change func(c *engine.Config)
		m      engine.Message
		tool   string
		says   string
		seen   bool
	}{
		"the person":              {nil, engine.Message{}, "admin_only", "there is no tool", false},
		"an admin":                {nil, admins, "admin_only", "do not fit", true},
		"the parent's groups":     {func(c *engine.Config) { c.Agents[0].Groups = "world,agents" }, engine.Message{}, "echo", "there is no tool", false},
		"its own groups":          {func(c *engine.Config) { c.Agents[1].Groups = "world" }, engine.Message{}, "echo", "there is no tool", false},
		"visibility for a parent": {func(c *engine.Config) { c.Registry.SetRules(deny(rules.Visibility, "echo")) }, engine.Message{}, "echo", "there is no tool", false},
		"policy for a parent":     {func(c *engine.Config) { c.Turn.Decide = deny(rules.Policy, "echo").Decide }, engine.Message{}, "echo", "policy does not allow this call", true},
		"the parent's toolset":    {nil, engine.Message{Skill: "working"}, "echo", "is not", false},
		"the parent's request":    {nil, engine.Message{Exclude: []string{"echo"}}, "echo", "there is no tool", false},
		"questions":               {nil, engine.Message{}, "ask_user", "there is no tool", false},
		"more of them":            {func(c *engine.Config) { c.Agents[1].Spawn.AtOnce = 3 }, engine.Message{}, agent.SpawnTool, "there is no tool", false},
		"what all may":            {nil, engine.Message{}, "echo", "hello", true},
	} {
		g := newSpawning(t, func(cfg *engine.Config) {
			must(t, cfg.Registry.Register(tool.Func(tool.Definition{Name: "ask_user", Description: "Ask"}, func(context.Context, struct{}) (string, error) { return "asked", nil })))
			_, err := cfg.Registry.SetSkills(catalog.Skill{Name: "working", Description: "Work", Tools: []string{agent.SpawnTool, "get_weather"}})
			must(t, err)
			if c.change != nil {
				c.change(cfg)
			}
		}, []fake.Step{{Calls: []chat.Call{spawn("1", "try")}}, {Text: "begun"}, {Text: "told"}},
			[]fake.Step{{Calls: []chat.Call{fake.Call("1", c.tool, `{"word":"hello"}`)}}, {Text: "tried"}})
		c.m.Text = "try it"
		reply(t, g.Engine, c.m)
		idle(t, g.Engine)
		requests := g.helper.Requests()
		if len(requests) != 2 {
			t.Fatalf("%s: the sub-agent asked its model %d times", name, len(requests))
		}
		seen := slices.ContainsFunc(requests[0].Tools, func(d tool.Definition) bool { return d.Name == c.tool })
		if seen != c.seen {
			t.Errorf("%s: the sub-agent is shown %s: %v", name, c.tool, seen)
		}
		if got := results(requests[1]); len(got) != 1 || !strings.Contains(got[0], c.says) {
			t.Errorf("%s: the call of %s gives %q, want %q", name, c.tool, got, c.says)
		}
	}
}

// Every limit is a sentence to the model that met it.
func TestSpawnLimits(t *testing.T) {
	t.Parallel()
	wait := make(chan struct{})
	three := fake.Step{Calls: []chat.Call{spawn("1", "a"), spawn("2", "b"), spawn("3", "c")}}
	for name, c := range map[string]struct {
		spawn agent.Spawn
		step  fake.Step
		want  string
	}{
		"off":    {agent.Spawn{}, three, "may start no sub-agents"},
		"once":   {agent.Spawn{AtOnce: 2, Agents: []string{"helper"}}, three, "2 sub-agents of this conversation are at work, and no more may be at once"},
		"number": {agent.Spawn{AtOnce: 9, Number: 2, Agents: []string{"helper"}}, three, "2 sub-agents were started for the user's last message, and no more may be"},
		"agent":  {agent.Spawn{AtOnce: 2}, three, `the agent "helper" cannot be started here; these can: main`},
		"empty":  {agent.Spawn{AtOnce: 2, Agents: []string{"helper"}}, fake.Step{Calls: []chat.Call{spawn("1", " ")}}, "the task is empty"},
		"long":   {agent.Spawn{AtOnce: 2, Agents: []string{"helper"}}, fake.Step{Calls: []chat.Call{spawn("1", strings.Repeat("x", 2000))}}, "the message is too long"},
	} {
		g := newSpawning(t, func(cfg *engine.Config) { cfg.Agents[0].Spawn, cfg.MaxMessage = c.spawn, 1000 },
			[]fake.Step{c.step, {Text: "begun"}}, []fake.Step{{Wait: wait}, {Wait: wait}})
		reply(t, g.Engine, engine.Message{Text: "go", User: "ann"})
		got := results(g.main.Requests()[1])
		if last := got[len(got)-1]; !strings.Contains(last, c.want) {
			t.Errorf("%s: the model reads %q, want %q", name, last, c.want)
		}
		stop, cancel := context.WithCancel(t.Context())
		cancel()
		g.Stop(stop)
	}
	g := newSpawning(t, nil, nil, nil)
	if r, err := g.Call(t.Context(), engine.Message{User: "ann"}, agent.SpawnTool, spawn("1", "x").Arguments); err == nil || !strings.Contains(r.Text, "only within a turn") {
		t.Errorf("a call without a turn: %+v, %v", r, err)
	}
}

// Stopping a conversation stops its sub-agents: those that run, those that wait for a
// person, and those that have not begun.
func TestSpawnStopped(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]fake.Step{"running": {Wait: make(chan struct{})}, "waiting": {Calls: []chat.Call{fake.Call("1", "get_weather", `{}`)}}} {
		g := newSpawning(t, func(c *engine.Config) {
			approving(c)
			c.MaxTurns, c.Agents[0].Spawn.AtOnce = 2, 3
			decide := c.Turn.Decide
			c.Turn.Decide = func(ctx context.Context, a rules.Attempt) rules.Decision {
				if a.Entry != nil && a.Entry.Definition.Name == agent.SpawnTool {
					return rules.Decision{Effect: rules.Allow}
				}
				return decide(ctx, a)
			}
		}, []fake.Step{{Calls: []chat.Call{spawn("1", "a"), spawn("2", "b"), spawn("3", "c")}}, {Text: "begun"}, {Text: "next"}}, []fake.Step{first, first, first})
		ann := engine.Message{Text: "go", User: "ann"}
		if got := reply(t, g.Engine, ann); got != "begun" {
			t.Fatalf("%s: %q", name, got)
		}
		if name == "waiting" {
			idle(t, g.Engine)
		}
		ann.Text = message.Stop
		if got := reply(t, g.Engine, ann); got != "Sub-agents that were stopped: 3." {
			t.Errorf("%s: /stop says %q", name, got)
		}
		idle(t, g.Engine)
		for _, s := range subs(t, g.kept) {
			if s.Open() {
				t.Errorf("%s: %s is open: %+v", name, s.Key, s.State)
			}
		}
		if left := items(t, g.kept, store.Waiting); len(left) > 0 {
			t.Errorf("%s: the inbox has %+v", name, left)
		}
		ann.Text = "and now?"
		if got := reply(t, g.Engine, ann); got != "next" {
			t.Errorf("%s: the next reply is %q", name, got)
		}
		said := g.main.Requests()[2].Messages
		if !slices.ContainsFunc(said, func(m chat.Message) bool { return strings.Contains(m.Note, "stopped before they had a result: 3") }) {
			t.Errorf("%s: the model does not know", name)
		}
	}
}

// A conversation that is deleted takes its sub-agents with it; a sub-agent that is deleted
// is reported as lost.
func TestSpawnDeleted(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	g := newSpawning(t, nil, []fake.Step{{Calls: []chat.Call{spawn("1", "a")}}, {Text: "begun"}, {Calls: []chat.Call{spawn("2", "b")}}, {Text: "again"}},
		[]fake.Step{{Calls: []chat.Call{fake.Call("1", "echo", `{"word":"x"}`)}, Wait: hold}, {Text: "never read", Wait: hold}, {Text: "b"}})
	ann := engine.Message{Text: "go", User: "ann"}
	reply(t, g.Engine, ann)
	key := keyOf(t, g.Engine, ann)
	hold <- struct{}{}
	must(t, g.Sessions().Delete(t.Context(), key))
	idle(t, g.Engine)
	if list := subs(t, g.kept); len(list) > 0 {
		t.Errorf("what is left: %+v", list)
	}
	// Its item ends without a report, as when an operator drops it.
	sub := session.Key("agent:helper:sub:x:peer:ann")
	must(t, g.kept.Append(t.Context(), key, session.State{Awaits: []session.Await{{Call: "1", Tool: agent.SpawnTool, User: "ann", For: session.SubAgent, Session: sub}}}))
	must(t, g.Expire(t.Context()))
	idle(t, g.Engine)
	s := loadKey(t, g.kept, key)
	if s.Open() || !strings.Contains(s.Messages[len(s.Messages)-1].Note, "ended without a result") {
		t.Errorf("the conversation is %+v", s)
	}
}

// A call that is made again with its key, as after a crash, starts nothing anew, whether the
// sub-agent has begun or not.
func TestSpawnAgain(t *testing.T) {
	t.Parallel()
	var g *spawning
	g = newSpawning(t, func(c *engine.Config) {
		c.MaxTurns = 1 // so that it begins when the turn of the call has ended
		c.Registry.Remove(agent.SpawnTool)
		must(t, c.Registry.Register(tool.Func(tool.Definition{Name: agent.SpawnTool, Description: "Start a sub-agent", Risk: tool.Write, Replay: tool.Keyed},
			func(ctx context.Context, s subagent.Assignment) (chat.Result, error) {
				first, err := g.SubAgents().Start(ctx, s)
				must(t, err)
				second, err := g.SubAgents().Start(ctx, s)
				if first.Session != second.Session {
					t.Errorf("two sessions: %s and %s", first.Session, second.Session)
				}
				return second, err
			})))
	}, []fake.Step{{Calls: []chat.Call{spawn("1", "a")}}, {Text: "begun"}, {Text: "told"}}, []fake.Step{{Text: "done"}})
	reply(t, g.Engine, engine.Message{Text: "go", User: "ann"})
	idle(t, g.Engine)
	list := subs(t, g.kept)
	if len(list) != 1 || len(list[0].Messages) != 2 || len(g.helper.Requests()) != 1 {
		t.Errorf("the sub-agents are %+v", list)
	}
}

// errDead is what a store says whose process has ended.
var errDead = errors.New("the process has ended")

// dying is a store that fails for good at a place before or after a write, as for a process
// that ends there.
type dying struct {
	store.Store
	left atomic.Int64
}

// do makes a write that may be the last one, or end the process before it was done.
func (d *dying) do(write func() error) error {
	if d.left.Add(-1) < 0 {
		return errDead
	}
	if err := write(); err != nil {
		return err
	}
	if d.left.Add(-1) < 0 {
		return errDead
	}
	return nil
}

func (d *dying) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	return d.do(func() error { return d.Store.Append(ctx, key, state, messages...) })
}

func (d *dying) Accept(ctx context.Context, i store.Item) (out store.Item, fresh bool, err error) {
	err = d.do(func() (err error) { out, fresh, err = d.Store.Accept(ctx, i); return err })
	return out, fresh, err
}

func (d *dying) Finish(ctx context.Context, e store.End) error {
	return d.do(func() error { return d.Store.Finish(ctx, e) })
}

func (d *dying) Update(ctx context.Context, i store.Item) error {
	return d.do(func() error { return d.Store.Update(ctx, i) })
}

// delegate is a model that hands the task over, once, and tells what comes back; as a
// sub-agent it pays, sends and is done.
type delegate struct{}

func (delegate) Info() model.Info { return model.Info{Name: "delegate"} }

func (delegate) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	last := r.Messages[len(r.Messages)-1]
	calls := 0
	for _, m := range r.Messages {
		calls += len(m.Calls)
	}
	next := model.Event{Text: "begun"}
	switch sub := strings.HasPrefix(r.Messages[0].Text, "Task: "); {
	case sub && calls < 2:
		c := fake.Call(fmt.Sprint(calls), []string{"pay", "send"}[calls], `{}`)
		next = model.Event{Call: &c}
	case sub:
		next.Text = "paid and sent"
	case strings.Contains(last.Note, "[system: the sub-agent"):
		next.Text = "told"
	case calls == 0:
		c := spawn("1", "pay and send")
		next = model.Event{Call: &c}
	}
	return func(yield func(model.Event, error) bool) {
		_ = yield(next, nil) && yield(model.Event{Stop: model.Done}, nil)
	}
}

// Whatever write a process ends before or after, the next one goes on: there is one
// sub-agent, what it does is done once, and its result comes back once.
func TestSpawnCrashes(t *testing.T) {
	t.Parallel()
	places := 0
	for at, died := int64(1), true; died; at++ {
		places++
		synctest.Test(t, func(t *testing.T) {
			kept := &store.Memory{}
			var mu sync.Mutex
			effects := map[string][]string{}
			start := func(s store.Store) *engine.Engine {
				return newSpawning(t, func(c *engine.Config) {
					c.Store = s
					for _, def := range []tool.Definition{{Name: "pay", Replay: tool.Keyed}, {Name: "send"}} {
						def.Description, def.Risk = "Do "+def.Name, tool.Write
						must(t, c.Registry.Register(tool.Func(def, func(ctx context.Context, _ struct{}) (string, error) {
							mu.Lock()
							defer mu.Unlock()
							effects[def.Name] = append(effects[def.Name], tool.IdempotencyKey(ctx))
							return def.Name + " is done", nil
						})))
					}
					for i := range c.Agents {
						c.Agents[i].Model = delegate{}
					}
				}, nil, nil).Engine
			}
			first := &dying{Store: kept}
			first.left.Store(at)
			g := start(first)
			ann := engine.Message{Text: "pay and send", User: "ann", IdempotencyKey: "1"}
			_, _ = send(g, t.Context(), ann)
			synctest.Wait()
			died = first.left.Load() < 0
			now, cancel := context.WithCancel(t.Context())
			cancel()
			g.Stop(now)

			g = start(kept)
			must(t, g.Resume(t.Context()))
			g.Wait(t.Context())
			if _, err := send(g, t.Context(), ann); err != nil { // a client that repeats it
				t.Errorf("killed at %d: the repeated message gets %v", at, err)
			}
			g.Wait(t.Context())
			must(t, g.Expire(t.Context()))
			g.Wait(t.Context())
			s := loadKey(t, kept, keyOf(t, g, ann))
			notes := 0
			for _, m := range s.Messages {
				if strings.Contains(m.Note, "[system:") {
					notes++
				}
			}
			list := subs(t, kept)
			if last := s.Messages[len(s.Messages)-1].Text; notes != 1 || last != "told" || s.Open() || len(list) != 1 || list[0].Open() {
				t.Fatalf("killed at %d: %d results, the conversation ends with %q (open: %v), %d sub-agents", at, notes, last, s.Open(), len(list))
			}
			tasks := 0
			for _, m := range list[0].Messages {
				if m.Text != "" && m.Role == chat.User {
					tasks++
				}
			}
			if tasks != 1 {
				t.Errorf("killed at %d: the sub-agent got its task %d times", at, tasks)
			}
			if keys := slices.Compact(slices.Clone(effects["pay"])); len(keys) != 1 || len(effects["send"]) > 1 {
				t.Errorf("killed at %d: was done: %q", at, effects)
			}
			if left := items(t, kept, store.Waiting); len(left) > 0 {
				t.Errorf("killed at %d: the inbox has %+v", at, left)
			}
		})
	}
	if places < 25 {
		t.Errorf("the process ended at %d places only", places)
	}
}
