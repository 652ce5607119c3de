package etui

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/erase"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
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
	// Folder is a folder of skills: YAML files, and folders with a SKILL.md. It is loaded and
	// followed as [skill.Open] does, with FolderConfig. Empty means none.
	Folder       string
	FolderConfig skill.OpenConfig
	// Channels are where people talk to the agents, while [Gateway.Run] runs.
	Channels []channel.Account
	// Decide decides on each call of a tool that does more than read: [AskPeople],
	// [OnlyRead], or a function of your own. It may wait, within Turn.CallTimeout, and must be
	// safe for concurrent use. Nil lets every call run. Set Turn.Decide instead to decide on
	// all calls.
	Decide func(ctx context.Context, a rules.Attempt) rules.Decision
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

// AskPeople lets calls wait for the yes of the person who asked, see docs/approvals.md.
func AskPeople(context.Context, rules.Attempt) rules.Decision {
	return rules.Decision{Effect: rules.Ask}
}

// OnlyRead refuses calls of tools that do more than read.
func OnlyRead(context.Context, rules.Attempt) rules.Decision {
	return rules.Decision{Effect: rules.Deny, Reason: "only tools that read may be called here"}
}

// Gateway answers messages. It is safe for concurrent use.
type Gateway struct {
	engine   *engine.Engine
	registry *catalog.Registry
	channels *channel.Host
	eraser   *erase.Eraser
	folder   *skill.Folder // nil when there is none
	log      *slog.Logger
}

// Engine returns what runs the agents, for those who need more than Send.
func (g *Gateway) Engine() *engine.Engine { return g.engine }

// Registry returns where tools are added and removed while the gateway runs.
func (g *Gateway) Registry() *catalog.Registry { return g.registry }

// Channels returns where people talk to the agents. Package server serves their webhooks.
func (g *Gateway) Channels() *channel.Host { return g.channels }

// Eraser returns what removes all that is kept of a person.
func (g *Gateway) Eraser() *erase.Eraser { return g.eraser }

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
	if cfg.Decide != nil {
		if cfg.Turn.Decide != nil {
			return nil, errors.New("set Decide or Turn.Decide, not both")
		}
		cfg.Turn.Decide, cfg.Turn.Approvals = beyondReading(cfg.Decide), true
	}
	flows := &workflow.Table{}
	set, err := workflow.Compile(cfg.Workflows...)
	if err != nil {
		return nil, err
	}
	flows.Store(set)
	g := &Gateway{registry: registry, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))}
	if cfg.Folder != "" {
		if cfg.FolderConfig.Package == nil {
			cfg.FolderConfig.Package = markdown.LocalMachine().Load
		}
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
	g.engine, err = engine.New(engine.Config{
		Registry: registry, Agents: agents, Store: cfg.Store, Selection: cfg.Selection, Turn: cfg.Turn, Log: cfg.Log,
		Workflows: flows, Models: cfg.Models,
	})
	if err == nil {
		var records store.Records // nil stays nil
		if cfg.Store != nil {
			records = cfg.Store
		}
		g.channels, err = channel.New(channel.Config{Engine: g.engine, Accounts: cfg.Channels, Records: records,
			Log: cfg.Log})
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	g.eraser = erase.New(erase.Config{
		Engine: g.engine, Parts: []erase.Part{schedule.NewTasks(g.engine), g.engine.Approvals().Grants, g.channels},
		Local: []erase.Part{g.engine}, Log: cfg.Log,
	})
	return g, nil
}

// beyondReading asks about the calls that do more than read.
func beyondReading(decide func(context.Context, rules.Attempt) rules.Decision) func(context.Context,
	rules.Attempt) rules.Decision {
	return func(ctx context.Context, a rules.Attempt) rules.Decision {
		if a.Entry == nil || a.Entry.Definition.Risk == tool.Read {
			return rules.Decision{Effect: rules.Allow}
		}
		return decide(ctx, a)
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

// Send answers a message, see [engine.Engine.Send].
func (g *Gateway) Send(ctx context.Context, m engine.Message) iter.Seq2[turn.Event, error] {
	return g.engine.Send(ctx, m)
}

// Run resumes the turns that an earlier process left open in the store, runs the channels,
// and does what the clock decides: tasks, and approvals that nobody answers. It returns when
// ctx ends and all is stored, or at once with why the store cannot be read. Messages can be
// sent before and while it runs, not after. A gateway without a store, channels, tasks and
// approvals does not need it.
func (g *Gateway) Run(ctx context.Context) error {
	if err := g.engine.Resume(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	var loops sync.WaitGroup
	loops.Go(func() {
		defer panics.Log(g.log, "running the channels")
		g.channels.Run(ctx)
	})
	loops.Go(func() {
		defer panics.Log(g.log, "running the clock")
		schedule.NewClock(g.engine, schedule.Heartbeat{}, g.log).Run(ctx)
	})
	<-ctx.Done()
	loops.Wait()
	return g.Close()
}

// closing is how long Close waits for running turns.
const closing = 10 * time.Second

// Close lets running turns end, for at most ten seconds; what is left is resumed by the next
// process with the same store. It stops following the folder of skills. Nothing can be sent
// any more.
func (g *Gateway) Close() error {
	if g.engine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		defer cancel()
		g.engine.Stop(ctx)
	}
	if g.folder == nil {
		return nil
	}
	return g.folder.Close()
}
