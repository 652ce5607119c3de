package engine_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/recall"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/schedule"
)

// What a story uses of the services for people and operators around the engine.

// newClock makes the clock of a process, with the heartbeat of the configuration.
func (s *story) newClock(p *process) *schedule.Clock {
	var h schedule.Heartbeat
	if c := s.config.Heartbeat; c.Every > 0 {
		h = schedule.Heartbeat{Every: c.Every, Text: func() (string, error) { return c.Text, nil }}
	}
	return schedule.NewClock(p.Engine, h, nil)
}

// tick does what the clock decides.
func (p *process) tick(ctx context.Context) error { return p.clock.Tick(ctx) }

// addTask adds a task of an operator in the name of a user.
func (p *process) addTask(ctx context.Context, when, user, text string) (id string, next time.Time, err error) {
	task := schedule.Task{When: when, Zone: "UTC", Text: text, Caller: identity.Caller{User: user}}
	t, err := schedule.NewTasks(p.Engine).Add(ctx, task)
	return t.ID, t.Next.UTC(), err
}

// schedule adds a task of the turn that calls a tool with the context.
func (p *process) schedule(ctx context.Context, when, text string) (id string, next time.Time, err error) {
	t, err := schedule.NewTasks(p.Engine).AddFromTurn(ctx, schedule.Task{When: when, Zone: "UTC", Text: text})
	return t.ID, t.Next.UTC(), err
}

// remember adds a text to the memory of a caller.
func (p *process) remember(ctx context.Context, caller chat.Facts, text string) error {
	_, err := recall.New(p.Engine).Remember(ctx, caller, memory.Change{New: text})
	return err
}

// grants calls f with each lasting approval.
func (p *process) grants(ctx context.Context, f func(id, user, tool, by string)) error {
	list, err := p.Approvals().Grants.List(ctx)
	for _, g := range list {
		f(g.ID, g.User, g.Tool, g.By)
	}
	return err
}

// revoke removes a lasting approval.
func (p *process) revoke(ctx context.Context, id string) error {
	return p.Approvals().Grants.Revoke(ctx, id)
}

// inbox are the messages that have not ended.
func (p *process) inbox(ctx context.Context) ([]inbox.Item, error) {
	return inspect.New(p.Engine).Inbox(ctx, 100)
}

// control changes the agent main, by JSON.
func (p *process) control(ctx context.Context, change string) error {
	var c roster.Change
	if err := json.Unmarshal([]byte(change), &c); err != nil {
		return err
	}
	return p.Agents().Roster.Change(ctx, "main", c)
}
