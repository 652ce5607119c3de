// Package engine takes messages in and gives replies out: it finds the agent
// and the session of a message, runs the turn and stores what was said.
//
// Messages of one session run one after the other in the order in which they
// came; different sessions run in parallel. A [Gateway] is safe for concurrent
// use. [Gateway.Handler] serves it over HTTP.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/embedding"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// Config says what a gateway serves.
type Config struct {
	// Registry holds the tools and skills. Required.
	Registry *catalog.Registry
	// Agents are who answers; the first one does when a message names none. At
	// least one is required.
	Agents []Agent
	// Store keeps the sessions; nil keeps them in memory.
	Store session.Store
	// Selection bounds what is sent.
	Selection selection.Config
	// Usage says what is kept of turns, and learnt from them.
	Usage Usage
	// Embedder adds meaning to the ranking; nil means that words alone count. Who
	// made it closes it, after the gateway's last turn.
	Embedder *embedding.Embedder
	// Turn bounds how turns run. Its Log and Embedder are set from this Config's. Its
	// Secrets are hidden in messages, too.
	Turn turn.Config
	// Scope says how finely direct messages are kept apart; empty means
	// [route.ChannelPeer].
	Scope route.Scope
	// Links name the same person on several channels, see [route.Key].
	Links map[string]string
	// MaxMessage is how long a message may be, in bytes; 0 means 256 KiB.
	MaxMessage int
	// MaxWaiting is how many messages of one session may wait for their turn; 0
	// means 32. One more is refused with [ErrBusy].
	MaxWaiting int
	// Skills is what operators see and change of skills.
	Skills SkillAdmin
	// Key, when not empty, must be presented by HTTP clients as a bearer token.
	Key string
	// Hosts are names under which HTTP clients may address the gateway, beside
	// localhost and IP addresses.
	Hosts []string
	// Configuration tells where the rules and skills come from, and how reading
	// them again went; nil means from the program.
	Configuration func() Configuration
	// Policy tells the rules about calls that are in force; nil means none.
	Policy func() []rules.Status
	// Version is told to HTTP clients.
	Version string
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log takes what operators want to know; nil discards.
	Log *slog.Logger
}

// Agent answers messages.
type Agent struct {
	// Name is how messages address the agent. Required.
	Name string
	// Model answers for it. Required.
	Model model.Model
	// Instructions say who the agent is; empty means a general assistant.
	Instructions string
	// Groups are those whose tools it has, as in "file,shell"; empty means all.
	// They, Skill and Skills are what it begins with: see [Gateway.SetGroups].
	Groups string
	// Skill is the toolset that is active until another is chosen; empty means
	// [catalog.Full].
	Skill string
	// Skills are those that the model is told of; none means all.
	Skills []string
	// Strategy is how much context its turns are given.
	Strategy prompt.Strategy
	// Memory is what it remembers between conversations; nil means nothing.
	Memory *memory.Store
	// HistoryTokens bounds how much of a conversation is sent, see
	// [prompt.Config].
	HistoryTokens int
	// Mode is how what is selected reaches its model; empty means as the gateway's
	// Selection says.
	Mode selection.Mode
}

// The ways in which a message can be refused.
var (
	// ErrTooLong: the message is longer than MaxMessage.
	ErrTooLong = errors.New("the message is too long")
	// ErrEmpty: the message has no text.
	ErrEmpty = errors.New("the message is empty")
	// ErrBusy: too many messages of the session wait already.
	ErrBusy = errors.New("too many messages are waiting in this session")
	// ErrUnknown: the message names an agent, skill or tool that does not exist.
	ErrUnknown = errors.New("not found")
)

// Gateway serves agents.
type Gateway struct {
	config   Config
	selector func() *selection.Selector
	agents   map[string]*agent
	queues   queues
	running  sync.WaitGroup // turns, and what is being stored after them
}

// Wait returns when no turn runs any more, or when ctx ends. Nothing may be sent
// to the gateway meanwhile.
func (g *Gateway) Wait(ctx context.Context) {
	idle := make(chan struct{})
	go func() {
		g.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// agent is an Agent that is being served.
type agent struct {
	Agent
	runner   *turn.Runner
	controls current
	past     *past
}

// New returns a gateway. The error says which part of the configuration does
// not fit.
func New(cfg Config) (*Gateway, error) {
	if cfg.Registry == nil || len(cfg.Agents) == 0 {
		return nil, errors.New("a gateway needs a registry and at least one agent")
	}
	if cfg.Store == nil {
		cfg.Store = &session.MemoryStore{}
	}
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = 256 << 10
	}
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = 32
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Turn.Log = cfg.Log
	g := &Gateway{config: cfg, agents: map[string]*agent{}, selector: selection.Follow(cfg.Registry, cfg.Selection)}
	if cfg.Embedder != nil {
		g.selector = cfg.Embedder.Follow(g.selector)
		// Vectors are looked up by whoever changes the registry, not by the next turn.
		cfg.Registry.Watch(func(*catalog.Catalog) { g.selector() })
		cfg.Turn.Embedder = cfg.Embedder
	}
	for _, a := range cfg.Agents {
		if a.Name == "" || a.Model == nil {
			return nil, errors.New("an agent needs a name and a model")
		}
		if _, twice := g.agents[a.Name]; twice {
			return nil, fmt.Errorf("the agent %q is defined twice", a.Name)
		}
		builder := prompt.New(prompt.Config{Instructions: a.Instructions, Memory: a.Memory, HistoryTokens: a.HistoryTokens})
		live := &agent{Agent: a, past: &past{usage: cfg.Usage, agent: a.Name, log: cfg.Log}}
		live.runner = turn.New(a.Model, live.past.voting(g.selector), builder, cfg.Turn)
		live.controls.value.Store(&controls{groups: a.Groups, skill: a.Skill, skills: slices.Clone(a.Skills)})
		g.agents[a.Name] = live
		if g.awaits(a) {
			cfg.Log.Warn("a skill of the agent may not be used now; while it is the active one, there are no tools", "agent", a.Name, "skill", a.Skill, "skills", a.Skills)
			continue
		}
		if err := g.control(a.Name, Control{Skill: &a.Skill, Skills: a.Skills}); err != nil {
			return nil, fmt.Errorf("agent %s: %w", a.Name, err)
		}
	}
	return g, nil
}

// awaits reports whether an agent names a skill that is not in the catalog and may
// come back into it: one that is known and not enabled, or that is in a file which
// cannot be read.
func (g *Gateway) awaits(a Agent) bool {
	if g.config.Skills.Table == nil {
		return false
	}
	now := g.config.Skills.Table.Snapshot()
	return slices.ContainsFunc(append([]string{a.Skill}, a.Skills...), func(name string) bool {
		_, there := g.Catalog().Skill(name)
		_, known := now.Get(name)
		return name != "" && !there && (known || len(now.Failed()) > 0)
	})
}

// Agents returns the names of the agents, the default one first.
func (g *Gateway) Agents() []string {
	names := make([]string, len(g.config.Agents))
	for i, a := range g.config.Agents {
		names[i] = a.Name
	}
	return names
}

// Catalog returns what exists now.
func (g *Gateway) Catalog() *catalog.Catalog { return g.config.Registry.Catalog() }

func (g *Gateway) agent(name string) (*agent, error) {
	if name == "" {
		name = g.config.Agents[0].Name
	}
	a, ok := g.agents[name]
	if !ok {
		return nil, fmt.Errorf("agent %q: %w%s", name, ErrUnknown, nearest.Hint(name, maps.Keys(g.agents)))
	}
	return a, nil
}

func (g *Gateway) key(a *agent, m Message) session.Key {
	return route.Key(route.Place{
		Agent: a.Name, Channel: m.Channel, Account: m.Account, Peer: m.User, Chat: m.Chat, Session: m.Session,
	}, g.config.Scope, g.config.Links)
}

// Select makes the selection that a message would get now, without running a
// turn or storing anything.
func (g *Gateway) Select(ctx context.Context, m Message) (*selection.Selection, error) {
	m = g.clean(m)
	a, err := g.check(m)
	if err != nil {
		return nil, err
	}
	s, err := g.load(ctx, a, m)
	if err != nil {
		return nil, err
	}
	return a.runner.Select(ctx, g.input(a, m, s)), nil
}
