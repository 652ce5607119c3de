// Package agent has the agents at work: it finds the agent and the session of a message, refuses what
// cannot be answered, and makes what a turn of it may know and use. It runs no turn, and stores
// nothing.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/etui-run/etui/agent/internal/bare"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// Config says how an agent answers messages.
type Config struct {
	// Name is how messages address the agent. Required.
	Name string
	// Model answers for it. Required.
	Model model.Model
	// Instructions say what the agent is; empty means a general assistant.
	Instructions string
	// Groups are the groups whose tools it has, as in "file,shell"; empty means all.
	// Groups, Skill and Skills are what it starts with: see [roster.Roster.Change].
	Groups string
	// Skill is the toolset that is active until another is chosen; empty means
	// [catalog.Full].
	Skill string
	// Skills are the only skills that the model sees; an empty list means all, and
	// [catalog.None] alone means none.
	Skills []string
	// Strategy is how much context its turns are given. NoMemory and NoRuntime leave
	// the memory and the runtime facts out, under the strategy custom.
	Strategy            prompt.Strategy
	NoMemory, NoRuntime bool
	// Steer lets a turn take in, after each round of calls, the texts that its sender wrote
	// meanwhile. Otherwise they wait for turns of their own.
	Steer bool
	// Memory is what it remembers between conversations; nil means nothing.
	Memory *memory.Store
	// Disk holds the files that conditions of workflows read; nil means none. See
	// [workflow.Plan.In].
	Disk fs.FS
	// Spawn bounds the sub-agents that it may start; the zero value allows none.
	Spawn Spawn
	// NoClientTools refuses messages that bring tools of their client.
	NoClientTools bool
	// SelectClientTools shows the model only those that fit its message, as with the tools of etui.
	SelectClientTools bool
	// ClientLeads puts the client's instructions before all others; without them the agent has its own.
	ClientLeads bool
	// Chores are requests that a chat client sends by itself, for titles say; nil means that they are answered
	// as the messages of people are.
	Chores *Chores
	// HistoryTokens bounds how much of a conversation is sent, see
	// [prompt.Config].
	HistoryTokens int
	// Mode is how the selected tools reach its model; empty means as the selection
	// says.
	Mode selection.Mode
}

// Chores are answered by a model of their own, without tools, memory and a session.
type Chores struct {
	Model model.Model
	// Match reports whether a message is one, by its text and the client's instructions.
	Match func(text, instructions string) bool
}

// Spawn bounds the sub-agents of an agent. The zero value allows none.
type Spawn struct {
	// AtOnce is how many of a conversation work at once; 0 allows none.
	AtOnce int
	// Number is how many the agent may start for one message of the user; 0 means 8. Those that
	// it starts when a result comes count, too.
	Number int
	// Depth is how deep they may be nested: with 1, which 0 means, sub-agents have none. Of
	// several agents one within the other, each limit counts.
	Depth int
	// Agents are the agents that it may start; an empty list means itself.
	Agents []string
	// Steps bounds how often one asks the model in a turn; 0 means as any other turn. Time is
	// how long it works at a stretch, without the time in which it waits for people; 0 means
	// ten minutes. Tokens is how many it uses, as the provider counts them; 0 means 200,000.
	Steps  int
	Time   time.Duration
	Tokens int
}

// WithDefaults returns the bounds with what 0 means.
func (s Spawn) WithDefaults() Spawn {
	s.Number, s.Depth = cmp.Or(s.Number, 8), cmp.Or(s.Depth, 1)
	s.Time, s.Tokens = cmp.Or(s.Time, 10*time.Minute), cmp.Or(s.Tokens, 200_000)
	return s
}

// SpawnTool is the name of the tool that starts a sub-agent, see package subagent. Sub-agents that may have none
// themselves do not see it.
const SpawnTool = "spawn"

// unasked are tools that sub-agents do not have. A question to the user belongs into their
// answer: the agent that started them decides what the user is asked. And what is scheduled
// would come back to a conversation that nobody reads.
var unasked = []string{"ask_user", "schedule"}

// Agent is an agent at work.
type Agent struct {
	Config
	Runner   *turn.Runner
	Controls *roster.Agent
	chores   *Agent // nil when it treats none apart
}

// Host is what agents need of the program around them.
type Host struct {
	Store  store.Store
	People *people.People
	// Catalog returns what exists now, Selector what selects from it, and Voting one whose selections
	// know the votes of an agent's past turns.
	Catalog  func() *catalog.Catalog
	Selector func() *selection.Selector
	Voting   func(agent string, selector func() *selection.Selector) func() *selection.Selector
	// Selection is how the selector was made.
	Selection selection.Config
	// Skills are all skills, enabled or not, and Workflows what messages can begin; nil means none.
	Skills    *skill.Table
	Workflows *workflow.Table
	// Turn bounds how turns run.
	Turn turn.Config
	// MaxMessage is how long a message may be, in bytes.
	MaxMessage int
	Now        func() time.Time
	Log        *slog.Logger
}

// Agents are the agents of an engine. They are safe for concurrent use.
type Agents struct {
	// Roster has what people change of them at run time.
	Roster *roster.Roster

	host    Host
	agents  map[string]*Agent
	replays *replays
}

// New returns agents, the default one first. The error says which one is wrong.
func New(h Host, list []Config) (*Agents, error) {
	g := &Agents{host: h, agents: map[string]*Agent{}, replays: newReplays()}
	specs := make([]roster.Spec, len(list))
	for i, a := range list {
		specs[i] = roster.Spec{Name: a.Name, Groups: a.Groups, Skill: a.Skill, Skills: a.Skills}
	}
	g.Roster = roster.New(roster.Host{Catalog: h.Catalog, Store: h.Store, Log: h.Log}, specs)
	for _, a := range list {
		if a.Name == "" || a.Model == nil {
			return nil, errors.New("an agent needs a name and a model")
		}
		if _, twice := g.agents[a.Name]; twice {
			return nil, fmt.Errorf("the agent %q is defined twice", a.Name)
		}
		if err := message.CheckPrompt(a.Mode, &a.Strategy); err != nil {
			return nil, fmt.Errorf("agent %s: %w", a.Name, err)
		}
		builder := prompt.New(prompt.Config{
			Instructions: a.Instructions, ClientLeads: a.ClientLeads, Memory: a.Memory, HistoryTokens: a.HistoryTokens,
		})
		live := &Agent{Config: a, Runner: turn.New(a.Model, h.Voting(a.Name, h.Selector), builder, h.Turn)}
		live.Controls, _ = g.Roster.Agent(a.Name) // it is there
		g.agents[a.Name] = live
		if a.Chores != nil {
			live.chores = &Agent{Config: a, Runner: bare.Runner(a.Chores.Model, h.Turn), Controls: live.Controls}
		}
		if g.awaits(a) {
			h.Log.Warn(
				"a skill of the agent is unavailable; while it is active, the agent has no tools", "agent", a.Name,
				"skill",
				a.Skill, "skills", a.Skills,
			)
			continue
		}
		if err := g.Roster.Check(roster.Change{Skill: &live.Controls.Snapshot().Skill, Skills: a.Skills}); err != nil {
			return nil, fmt.Errorf("agent %s: %w", a.Name, err)
		}
	}
	outdated, err := g.Roster.Load(context.Background()) // the store bounds how long that takes
	if len(outdated) > 0 {
		h.Log.Warn(
			"the configuration of agents has changed, and counts instead of what was changed of them at run time",
			"agents",
			outdated,
		)
	}
	return g, err
}

// awaits reports whether an agent names a skill that is missing in the catalog and
// may return: it is known and not enabled, or some file cannot be read.
func (g *Agents) awaits(a Config) bool {
	if g.host.Skills == nil {
		return false
	}
	now := g.host.Skills.Snapshot()
	return slices.ContainsFunc(append([]string{a.Skill}, a.Skills...), func(name string) bool {
		_, there := g.host.Catalog().Skill(name)
		_, known := now.Get(name)
		return name != "" && name != catalog.None && !there && (known || len(now.Failed()) > 0)
	})
}

// Get returns an agent by its name; an empty one is the default.
func (g *Agents) Get(name string) (*Agent, error) {
	a, err := g.Roster.Agent(name)
	if err != nil {
		return nil, err
	}
	return g.agents[a.Name()], nil
}

// Memory returns what an agent remembers between conversations.
func (g *Agents) Memory(agent string) (*memory.Store, error) {
	a, err := g.Get(agent)
	if err == nil && a.Memory == nil {
		err = memory.ErrNone
	}
	if err != nil {
		return nil, err
	}
	return a.Memory, nil
}

// Selector returns what selects from the catalog that is in effect now.
func (g *Agents) Selector() *selection.Selector { return g.host.Selector() }

// Secrets returns what is hidden in messages, and must be in answers.
func (g *Agents) Secrets() *secret.Set { return g.host.Turn.Secrets }

// MaxMessage returns how long a message may be, in bytes.
func (g *Agents) MaxMessage() int { return g.host.MaxMessage }
