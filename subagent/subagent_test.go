package subagent_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/inbox/inboxtest"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

const parent session.Key = "agent:main:person:alice"

func open(t *testing.T, spawn agent.Spawn, state session.State) (*inboxtest.Parts, *subagent.Supervisor) {
	t.Helper()
	p := inboxtest.New(t, agent.Config{Name: "main", Spawn: spawn}, agent.Config{Name: "helper"})
	begun := message.New(message.Message{Agent: "main", Channel: "telegram", User: "1", Exclude: []string{"remove"}, Text: "hi"})
	state.Turn = session.Turn{ID: "t1", Request: begun.Stored()}
	p.Put(t, parent, state)
	return p, subagent.New(subagent.Config{
		Store: p.Store, Agents: p.Agents, Inbox: p.Inbox, Box: p.Box, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return p.Clock },
	})
}

func awaits(n int) (list []session.Await) {
	for range n {
		list = append(list, session.Await{Call: "c", For: session.SubAgent})
	}
	return list
}

// TestStart: an agent starts others within its limits.
func TestStart(t *testing.T) {
	t.Parallel()
	one := agent.Spawn{AtOnce: 1}
	for name, c := range map[string]struct {
		spawn agent.Spawn
		state session.State
		task  subagent.Assignment
		call  string
		err   string
		agent string
	}{
		"itself":           {spawn: one, task: subagent.Assignment{Task: "count"}, agent: "main"},
		"another":          {spawn: agent.Spawn{AtOnce: 1, Agents: []string{"helper"}}, task: subagent.Assignment{Task: "count"}, agent: "helper"},
		"none allowed":     {task: subagent.Assignment{Task: "count"}, err: "may start no sub-agents"},
		"no such agent":    {spawn: one, task: subagent.Assignment{Task: "count", Agent: "helper"}, err: "these can: main"},
		"no task":          {spawn: one, task: subagent.Assignment{Task: " "}, err: "the task is empty"},
		"one too many":     {spawn: one, state: session.State{Awaits: awaits(1)}, task: subagent.Assignment{Task: "count"}, err: "1 sub-agents of this conversation are at work"},
		"too many in all":  {spawn: one, state: session.State{Spawned: 8}, task: subagent.Assignment{Task: "count"}, err: "8 sub-agents were started"},
		"no toolset":       {spawn: one, task: subagent.Assignment{Task: "count", Toolset: "nothing"}, err: `there is no toolset "nothing"`},
		"of an older turn": {spawn: one, task: subagent.Assignment{Task: "count"}, call: "t0-c", err: "only within a turn"},
	} {
		p, v := open(t, c.spawn, c.state)
		call := "t1-c"
		if c.call != "" {
			call = c.call
		}
		f := p.People.Facts(message.New(message.Message{Channel: "telegram", User: "1"}).Caller(), p.Registry.Catalog())
		f.Agent, f.Session = "main", string(parent)
		ctx := tool.WithHost(t.Context(), tool.Host{Facts: f, Key: call})
		r, err := v.Start(ctx, c.task)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || len(p.Worked(t)) > 0 {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
			continue
		}
		again, err2 := v.Start(ctx, c.task) // as after a crash
		if err := errors.Join(err, err2); err != nil || !r.Pending || again.Session != r.Session {
			t.Errorf("%s: %+v, %+v, %v", name, r, again, err)
			continue
		}
		list := p.Worked(t)
		if len(list) != 1 {
			t.Errorf("%s: %d messages, want 1", name, len(list))
			continue
		}
		m := list[0]
		if m.Agent != c.agent || string(m.To) != r.Session || route.Agent(m.To) != c.agent || m.Text != "Task: count" || m.User != "1" || m.Origin == nil {
			t.Errorf("%s: the message is %+v", name, m)
			continue
		}
		o := m.Origin
		if o.Parent() != parent || o.Root() != parent || o.Turn != "t1" || o.Left != 0 || o.Steps != 16 || o.Time != 10*time.Minute ||
			o.Tokens != 200_000 || len(o.Within) != 1 || len(o.Within[0].Exclude) != 1 {
			t.Errorf("%s: it comes from %+v", name, o)
		}
	}
}

// TestReport: a result comes to the parent once, with how the sub-agent ended.
func TestReport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		done   *turn.End
		failed error
		want   string
	}{
		"finished": {&turn.End{Reply: "42"}, nil, "the sub-agent x7 has finished. Its task was: count"},
		"stopped":  {&turn.End{Reply: "41", Stopped: true}, nil, "has been stopped"},
		"failed":   {nil, errors.New("no " + inboxtest.Secret), "no (hidden)"},
	} {
		p, v := open(t, agent.Spawn{AtOnce: 1}, session.State{})
		back := message.New(message.Message{Agent: "main", Channel: "telegram", User: "1"})
		o := &message.Origin{ID: "x7", Title: "count", Back: back.Stored(), Within: []message.Ancestor{{Agent: "main", Session: parent}}}
		for range 2 {
			if err := v.Report(t.Context(), o, "agent:main:sub:x7", c.done, c.failed); err != nil {
				t.Fatal(err)
			}
		}
		list := p.Worked(t)
		if len(list) != 1 || list[0].Kind != message.KindResult || list[0].To != parent || list[0].User != "1" ||
			!strings.Contains(list[0].Outcome.Result.Text, c.want) || list[0].Outcome.Result.Failed != (c.failed != nil) {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// TestExpire: a sub-agent that has ended without a result is reported as lost, and no other one.
func TestExpire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sub     session.State
		waiting bool
		lost    bool
	}{
		"gone":    {lost: true},
		"works":   {sub: session.State{Turn: session.Turn{ID: "t2"}}},
		"waits":   {sub: session.State{Awaits: []session.Await{{Call: "c", For: session.Approval}}}},
		"to come": {waiting: true},
	} {
		const key session.Key = "agent:main:sub:x7"
		p, v := open(t, agent.Spawn{AtOnce: 1}, session.State{Awaits: []session.Await{{Call: "c", For: session.SubAgent, Session: key}}})
		p.Put(t, key, c.sub)
		if c.waiting {
			if _, _, err := p.Store.Accept(t.Context(), store.Item{Session: key, Message: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := v.Expire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if list := p.Worked(t); (len(list) == 1) != c.lost || c.lost && (list[0].To != parent || !list[0].Outcome.Result.Failed) {
			t.Errorf("%s: %+v, lost is %v", name, list, c.lost)
		}
	}
}

// TestOrphan: a sub-agent works as long as its parent awaits it, or is in the turn that has started it.
func TestOrphan(t *testing.T) {
	t.Parallel()
	const key session.Key = "agent:main:sub:x7"
	for name, c := range map[string]struct {
		awaits []session.Await
		turn   string // that has started it
		orphan bool
	}{
		"awaited":       {[]session.Await{{For: session.SubAgent, Session: key}}, "t0", false},
		"just started":  {nil, "t1", false},
		"not awaited":   {nil, "t0", true},
		"another is so": {[]session.Await{{For: session.SubAgent, Session: "agent:main:sub:y"}}, "t0", true},
	} {
		_, v := open(t, agent.Spawn{AtOnce: 1}, session.State{Awaits: c.awaits})
		o := &message.Origin{Turn: c.turn, Within: []message.Ancestor{{Agent: "main", Session: parent}}}
		if got, err := v.Orphan(t.Context(), o, key); err != nil || got != c.orphan {
			t.Errorf("%s: an orphan is %v, %v, want %v", name, got, err, c.orphan)
		}
	}
}
