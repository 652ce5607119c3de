package engine_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/memory"
)

// What a story uses of the services for people and operators around the engine.

// heartbeat adds the heartbeat of the configuration.
func (s *story) heartbeat(cfg *engine.Config) {
	if h := s.config.Heartbeat; h.Every > 0 {
		cfg.Heartbeat = engine.Heartbeat{Every: h.Every, Text: func() (string, error) { return h.Text, nil }}
	}
}

// tick does what the clock decides.
func (p *process) tick(ctx context.Context) error { return p.Tick(ctx) }

// addTask adds a task of an operator in the name of a user.
func (p *process) addTask(ctx context.Context, when, user, text string) (id string, next time.Time, err error) {
	t, err := p.AddTask(ctx, engine.Task{When: when, Zone: "UTC", Text: text, Caller: identity.Caller{User: user}})
	return t.ID, t.Next.UTC(), err
}

// schedule adds a task of the turn that calls a tool with the context.
func (p *process) schedule(ctx context.Context, when, text string) (id string, next time.Time, err error) {
	t, err := p.Schedule(ctx, engine.Task{When: when, Zone: "UTC", Text: text})
	return t.ID, t.Next.UTC(), err
}

// remember adds a text to the memory of a caller.
func (p *process) remember(ctx context.Context, caller chat.Facts, text string) error {
	_, err := p.Remember(ctx, caller, memory.Change{New: text})
	return err
}

// grants calls f with each lasting approval.
func (p *process) grants(ctx context.Context, f func(id, user, tool, by string)) error {
	list, err := p.Grants(ctx)
	for _, g := range list {
		f(g.ID, g.User, g.Tool, g.By)
	}
	return err
}

// revoke removes a lasting approval.
func (p *process) revoke(ctx context.Context, id string) error { return p.Revoke(ctx, id) }

// inbox are the messages that have not ended.
func (p *process) inbox(ctx context.Context) ([]engine.InboxItem, error) { return p.Inbox(ctx, 100) }

// control changes the agent main, by JSON.
func (p *process) control(ctx context.Context, change string) error {
	var c engine.Control
	if err := json.Unmarshal([]byte(change), &c); err != nil {
		return err
	}
	return p.Control(ctx, "main", c)
}
