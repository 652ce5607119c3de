package etui

import (
	"context"
	"log/slog"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// Config says what an agent is made of. The zero value is an agent without
// tools that keeps its conversations in memory.
type Config struct {
	// Name is how messages may address it; empty means "main".
	Name string
	// Instructions say who the agent is; empty means a general assistant.
	Instructions string
	// Tools are what everybody may use. More can be registered, with filters too,
	// at any time: see [Agent.Registry].
	Tools []tool.Tool
	// Skills are the named choices of tools that messages can switch to.
	Skills []catalog.Skill
	// Selection bounds what reaches the model.
	Selection selection.Config
	// Turn bounds how turns run.
	Turn turn.Config
	// Store keeps the sessions; nil keeps them in memory.
	Store session.Store
	// Log takes what operators want to know; nil discards.
	Log *slog.Logger
}

// Agent answers messages. It is safe for concurrent use.
type Agent struct {
	// Engine runs the agent. Package server serves it over HTTP.
	*engine.Engine
	// Registry is where tools are added and removed while the agent serves.
	Registry *catalog.Registry
}

// New returns an agent that asks m. The error says which part of the
// configuration does not fit.
func New(m model.Model, cfg Config) (*Agent, error) {
	if cfg.Name == "" {
		cfg.Name = "main"
	}
	registry := catalog.NewRegistry(cfg.Log)
	if err := registry.Register(cfg.Tools...); err != nil {
		return nil, err
	}
	if _, err := registry.SetSkills(cfg.Skills...); err != nil {
		return nil, err
	}
	g, err := engine.New(engine.Config{
		Registry: registry, Store: cfg.Store, Selection: cfg.Selection, Turn: cfg.Turn, Log: cfg.Log,
		Agents: []engine.Agent{{Name: cfg.Name, Model: m, Instructions: cfg.Instructions}},
	})
	if err != nil {
		return nil, err
	}
	return &Agent{g, registry}, nil
}

// Ask answers a question of nobody in particular and returns the reply. To say
// who asks, or to see what happens, use Send.
func (a *Agent) Ask(ctx context.Context, question string) (string, error) {
	var reply strings.Builder
	for e, err := range a.Send(ctx, engine.Message{Text: question}) {
		if err != nil {
			return reply.String(), err
		}
		reply.WriteString(e.Text)
	}
	return reply.String(), nil
}
