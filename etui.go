package etui

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// Config says what a gateway consists of. The zero value is one agent without tools
// that keeps its conversations in memory.
type Config struct {
	// Agents answer messages; the first one does when a message names none. An agent
	// without a Model asks the model that [New] got. None means one agent, "main".
	Agents []engine.Agent
	// Groups are the groups whose tools an agent has that names none itself, as in
	// "file,shell"; empty means all. A group that no tool is in has no tools.
	Groups string
	// Tools are available to everybody. [Gateway.Registry] takes more at any time, also
	// with a filter.
	Tools []tool.Tool
	// Skills are named choices of tools that messages can switch to.
	Skills []catalog.Skill
	// Workflows are phases of work that messages can begin by name.
	Workflows []workflow.Workflow
	// Disk holds the files that conditions of Workflows read, such as os.Root's, for agents
	// that have none of their own; nil means none.
	Disk fs.FS
	// Models are the models that phases of Workflows may name.
	Models map[string]model.Model
	// Folder is a folder of skills. It is loaded and followed as [skill.Open] does,
	// with FolderConfig. Empty means none.
	Folder       string
	FolderConfig skill.OpenConfig
	// Approve decides on each call of a tool that does more than read, and on nothing
	// else. It may wait, within Turn.CallTimeout, and must be safe for concurrent use.
	// Nil approves every call. Set Turn.Decide instead to decide on all calls.
	Approve func(ctx context.Context, a rules.Attempt) bool
	// Selection bounds what reaches the model.
	Selection selection.Config
	// Turn bounds how turns run.
	Turn turn.Config
	// Store keeps the sessions; nil keeps them in memory. The caller owns it and closes
	// it after the gateway.
	Store store.Store
	// Log receives operational messages; nil discards them.
	Log *slog.Logger
}

// Gateway answers messages. It is safe for concurrent use.
type Gateway struct {
	// Engine runs the agents. Package server serves it over HTTP.
	*engine.Engine
	// Registry is where tools are added and removed while the gateway runs.
	Registry *catalog.Registry
	folder   *skill.Folder // nil when there is none
}

// New returns a gateway whose agents ask m unless they have a model of their own. The
// error says which part of the configuration does not fit. Close the gateway after use.
func New(m model.Model, cfg Config) (*Gateway, error) {
	registry := catalog.NewRegistry(cfg.Log)
	if err := registry.Register(cfg.Tools...); err != nil {
		return nil, err
	}
	if _, err := registry.SetSkills(cfg.Skills...); err != nil {
		return nil, err
	}
	if cfg.Approve != nil {
		if cfg.Turn.Decide != nil {
			return nil, errors.New("set Approve or Turn.Decide, not both")
		}
		cfg.Turn.Decide = approving(cfg.Approve)
	}
	flows := &workflow.Table{}
	set, err := workflow.Compile(cfg.Workflows...)
	if err != nil {
		return nil, err
	}
	flows.Store(set)
	g := &Gateway{Registry: registry}
	if cfg.Folder != "" {
		if g.folder, err = skill.Open(cfg.Folder, registry, cfg.FolderConfig); err != nil {
			return nil, err
		}
	}
	agents := slices.Clone(cfg.Agents)
	if len(agents) == 0 {
		agents = []engine.Agent{{}}
	}
	agents[0].Name = cmp.Or(agents[0].Name, "main")
	for i := range agents {
		if agents[i].Model == nil {
			agents[i].Model = m
		}
		agents[i].Groups = cmp.Or(agents[i].Groups, cfg.Groups)
		if agents[i].Disk == nil {
			agents[i].Disk = cfg.Disk
		}
	}
	g.Engine, err = engine.New(engine.Config{
		Registry: registry, Agents: agents, Store: cfg.Store, Selection: cfg.Selection, Turn: cfg.Turn, Log: cfg.Log,
		Workflows: flows, Models: cfg.Models,
	})
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// approving makes an approval of calls a decision about them.
func approving(approve func(context.Context, rules.Attempt) bool) func(context.Context, rules.Attempt) rules.Decision {
	return func(ctx context.Context, a rules.Attempt) rules.Decision {
		if a.Entry == nil || a.Entry.Definition.Risk == tool.Read || approve(ctx, a) {
			return rules.Decision{Effect: rules.Allow}
		}
		return rules.Decision{Effect: rules.Deny, Reason: "not approved"}
	}
}

// Ask answers a question without a known user and returns the reply. Use Send to name
// the user and the conversation, or to receive the events of the turn.
func (g *Gateway) Ask(ctx context.Context, question string) (string, error) {
	var reply strings.Builder
	for e, err := range g.Send(ctx, engine.Message{Text: question}) {
		if err != nil {
			return reply.String(), err
		}
		reply.WriteString(e.Text)
	}
	return reply.String(), nil
}

// Run resumes the turns that an earlier process left open in the store, and returns nil
// when ctx ends, or at once with why the store cannot be read. Messages can be sent before
// and while it runs. A gateway that keeps its sessions in memory does not need it.
func (g *Gateway) Run(ctx context.Context) error {
	if err := g.Resume(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// closing is how long Close waits for running turns.
const closing = 10 * time.Second

// Close waits for running turns, at most ten seconds, and stops following the folder of
// skills. Send nothing meanwhile or after.
func (g *Gateway) Close() error {
	if g.Engine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		defer cancel()
		g.Wait(ctx)
	}
	if g.folder == nil {
		return nil
	}
	return g.folder.Close()
}
