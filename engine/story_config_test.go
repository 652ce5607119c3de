package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

// storyConfig is the configuration of a story.
type storyConfig struct {
	// Agents besides main, and what is special about main.
	Agents map[string]storyAgent
	// Tools by name.
	Tools  map[string]storyTool
	Skills map[string]storySkill
	People map[string]identity.User
	// Visibility, Policy and Approvers are lists of rules, as in etui.yaml. By default, as there,
	// only the person who asked for a call may approve it.
	Visibility, Policy, Approvers []rules.Rule
	Workflows                     []workflow.Workflow
	// Scope is how finely direct messages are kept apart; Expire how long an approval waits.
	Scope  route.Scope
	Expire time.Duration
	// Direct and Limit are those of the selection; Direct -1 makes it rank a few tools already.
	Direct, Limit int
	// Max is how long a message may be, in bytes.
	Max       int
	Heartbeat struct {
		Every time.Duration
		Text  string
	}
	// Watch are words that the outcome mentions where a model reads them in its prompt.
	Watch []string
}

type storyAgent struct {
	Groups, Instructions, Skill string
	Skills                      []string
	Steer, Memory               bool
	// Starts are the agents that it may start as sub-agents, Depth how deep they may be nested,
	// and Steps, Tokens and Time what bounds such a one.
	Starts               []string
	Depth, Steps, Tokens int
	Time                 time.Duration
}

type storyTool struct {
	Description string
	Aliases     []string
	Groups      []string
	Channels    []string
	Risk        tool.Risk
	Replay      tool.Replay
	// Parameters are the names of its arguments, all of them texts.
	Parameters []string
	// Result is what a call gives, with arguments in braces. With Results each call has its
	// own, and the last one stays. Fails is an error instead.
	Result  string
	Results []string
	Fails   string
	// Takes is how long a call takes. After is when it finishes, with its Result, if it goes on
	// after its turn.
	Takes, After time.Duration
	// Asks is a question to the user, with Choices.
	Asks    string
	Then    string // a second question: the call goes on with the answers
	Choices []string
	// Role is the role that sees the tool.
	Role string
	// Links are paths that lead elsewhere, as links do.
	Links map[string]string
	// Does is what it does in the engine: spawn, schedule, message or remember.
	Does string
}

type storySkill struct {
	Description  string
	Tools        []string
	Instructions string
	Channels     []string
}

// Read is the skill's guide.
func (s storySkill) Read(context.Context, string) (string, error) { return s.Instructions, nil }

func readStoryConfig(t *testing.T, text string) storyConfig {
	var c storyConfig
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && text != "" {
		t.Fatalf("config.yaml: %v", err)
	}
	if c.Agents == nil {
		c.Agents = map[string]storyAgent{}
	}
	if _, ok := c.Agents["main"]; !ok { // there is always one

		c.Agents["main"] = storyAgent{}
	}
	return c
}

// process is an etui of a story. A dead one does and stores nothing any more.
type process struct {
	*engine.Engine
	clock    *schedule.Clock
	registry *catalog.Registry
	rules    atomic.Pointer[storyRules]
	dead     atomic.Bool
	story    *story
}

type storyRules struct {
	policy, approvers *rules.Rules
	people            *identity.Users
}

var errProcessIsDead = errors.New("the process is dead")

// alive returns an error when the process is dead by the end of the story.
func (p *process) alive() error {
	if !p.dead.Load() {
		return nil
	}
	<-p.story.over
	return errProcessIsDead
}

// stop ends the process in order.
func (p *process) stop() {
	now, cancel := context.WithCancel(p.story.Context())
	cancel()
	p.Stop(now)
}

// start starts a process that takes up what the last one left.
func (s *story) start() {
	p := &process{registry: catalog.NewRegistry(nil), story: s}
	p.configure(s)
	cfg := engine.Config{
		Registry: p.registry, Store: &gate{Memory: s.kept, process: p}, Workflows: s.flows,
		Scope: s.config.Scope, MaxMessage: s.config.Max,
		Selection: selection.Config{Direct: s.config.Direct, Limit: s.config.Limit},
		Users:     func(*catalog.Catalog) *identity.Users { return p.rules.Load().people },
	}
	cfg.Now = func() time.Time { return time.Now().UTC() }
	cfg.Turn.Approvals, cfg.Turn.Expire, cfg.Turn.CallTimeout = true, s.config.Expire, time.Hour
	cfg.Turn.Decide = func(ctx context.Context, a rules.Attempt) rules.Decision {
		return p.rules.Load().policy.Decide(ctx, a)
	}
	cfg.Approvers = func(ctx context.Context, a rules.Attempt) rules.Decision {
		return p.rules.Load().approvers.Decide(ctx, a)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.config.Agents)), func(name string) bool { return name == "main" })
	names = slices.Insert(names, 0, "main") // the default agent is the first one
	for _, name := range names {
		a := s.config.Agents[name]
		one := engine.Agent{
			Name: name, Model: &storyModel{s.models[name], name, p}, Groups: a.Groups, Instructions: a.Instructions,
			Skill: a.Skill, Skills: a.Skills, Steer: a.Steer,
		}
		if len(a.Starts) > 0 {
			one.Spawn = agent.Spawn{
				AtOnce: 2, Agents: a.Starts, Depth: a.Depth, Steps: a.Steps, Tokens: a.Tokens, Time: a.Time,
			}
		}
		if a.Memory {
			one.Memory = memory.New(memory.Config{Own: s.folder})
		}
		cfg.Agents = append(cfg.Agents, one)
	}
	var err error
	p.Engine, err = engine.New(cfg)
	must(s.T, err)
	p.clock = s.newClock(p)
	s.now, s.all = p, append(s.all, p)
	if len(s.all) > 1 {
		go func() { _ = p.Resume(s.Context()) }()
	}
}

// configure puts the tools, skills, rules, people and workflows of the story in effect.
func (p *process) configure(s *story) {
	c := s.config
	p.registry.Remove(slices.Collect(p.registry.Catalog().Names())...)
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		t := c.Tools[name]
		sees := func(f chat.Facts) bool { return t.Role == "" || f.HasRole(t.Role) }
		must(s.T, p.registry.RegisterWithFilter(p.tool(name, t), sees))
	}
	var skills []catalog.Skill
	for _, name := range slices.Sorted(maps.Keys(c.Skills)) {
		from := c.Skills[name]
		skill := catalog.Skill{Name: name, Description: from.Description, Tools: from.Tools, Channels: from.Channels}
		if from.Instructions != "" {
			skill.Guide = from
		}
		skills = append(skills, skill)
	}
	compiled := func(kind rules.Kind, list []rules.Rule, defaults map[tool.Risk]rules.Effect) *rules.Rules {
		r, err := rules.Compile(kind, list, defaults)
		must(s.T, err)
		return r
	}
	_, err := p.registry.Update(skills, compiled(rules.Visibility, c.Visibility, nil))
	must(s.T, err)
	var people []identity.User
	for _, name := range slices.Sorted(maps.Keys(c.People)) {
		person := c.People[name]
		person.Name = name
		people = append(people, person)
	}
	users, err := identity.New(people)
	must(s.T, err)
	askers := map[tool.Risk]rules.Effect{tool.Read: rules.Ask, tool.Write: rules.Ask, tool.Destructive: rules.Ask}
	p.rules.Store(&storyRules{compiled(rules.Policy, c.Policy, nil), compiled(rules.Policy, c.Approvers, askers), users})
	set, err := workflow.Compile(c.Workflows...)
	must(s.T, err)
	s.flows.Store(set)
}

// linked is a tool whose paths lead elsewhere.
type linked struct {
	tool.Tool
	links map[string]string
}

func (l linked) Normalize(_ context.Context, args json.RawMessage) json.RawMessage {
	for from, to := range l.links {
		args = []byte(strings.ReplaceAll(string(args), from, to))
	}
	return args
}

// tool makes a tool of the configuration.
func (p *process) tool(name string, c storyTool) tool.Tool {
	schema := map[string]any{"type": "object", "additionalProperties": false}
	properties := map[string]any{}
	for _, parameter := range c.Parameters {
		properties[parameter] = map[string]string{"type": "string"}
	}
	if len(properties) > 0 {
		schema["properties"] = properties
	}
	raw, err := json.Marshal(schema)
	must(p.story.T, err)
	def := tool.Definition{
		Name: name, Description: c.Description, Aliases: c.Aliases, Groups: c.Groups, Channels: c.Channels,
		Risk: c.Risk, Replay: c.Replay, Parameters: raw,
	}
	made := tool.New(def, func(ctx context.Context, args json.RawMessage) (chat.Result, error) {
		return p.call(ctx, name, c, args)
	})
	if len(c.Links) > 0 {
		return linked{made, c.Links}
	}
	return made
}

// call is a call of a tool of the configuration.
func (p *process) call(ctx context.Context, name string, c storyTool, raw json.RawMessage) (chat.Result, error) {
	if err := p.alive(); err != nil {
		return chat.Result{}, err
	}
	caller := tool.Caller(ctx)
	who := caller.User
	if who == "" {
		who = "nobody"
	}
	key := ""
	if c.Replay == tool.Keyed {
		key = " with the key " + tool.IdempotencyKey(ctx)
		p.story.log.learn(tool.IdempotencyKey(ctx))
	}
	p.story.log.agent(caller.Agent, "runs %s %s for %s%s", name, raw, who, key)
	args := map[string]string{}
	if err := json.Unmarshal(raw, &args); err != nil {
		return chat.Result{}, err
	}
	if c.Takes > 0 {
		select {
		case <-time.After(c.Takes):
		case <-ctx.Done():
			return chat.Result{}, ctx.Err()
		}
		if err := p.alive(); err != nil {
			return chat.Result{}, err
		}
	}
	switch c.Does {
	case "spawn":
		return p.SubAgents().Start(ctx, subagent.Assignment{Task: args["task"], Agent: args["agent"], Toolset: args["toolset"]})
	case "schedule":
		id, next, err := p.schedule(ctx, args["when"], args["text"])
		p.story.log.learn(id)
		return tool.Text("It runs next at " + next.Format("2006-01-02 15:04") + "."), err
	case "message":
		err := p.Outbox().Post(ctx, session.Key(caller.Session), nil, args["text"], tool.IdempotencyKey(ctx))
		return tool.Text("It is on its way."), err
	case "remember":
		return tool.Text("Remembered."), p.remember(ctx, caller, args["text"])
	}
	if reply, _ := tool.Asks(ctx); reply != nil && reply.Resume == "then" {
		return tool.Text("It heard " + reply.Text + "."), nil
	} else if reply != nil {
		return chat.Result{}, &tool.Question{Text: "After " + reply.Text + ": " + c.Then, Resume: "then"}
	}
	if c.Then != "" {
		return chat.Result{}, &tool.Question{Text: c.Asks, Choices: c.Choices, Resume: "first"}
	}
	if c.Asks != "" {
		return chat.Result{}, &tool.Question{Text: c.Asks, Choices: c.Choices}
	}
	if c.Fails != "" {
		return chat.Result{}, errors.New(c.Fails)
	}
	text := c.Result
	if len(c.Results) > 0 {
		text = c.Results[p.story.called(name, len(c.Results))]
	}
	for key, value := range args {
		text = strings.ReplaceAll(text, "{"+key+"}", value)
	}
	if finish, ok := tool.Defer(ctx); c.After > 0 && ok {
		time.AfterFunc(c.After, func() {
			if p.alive() == nil {
				finish(tool.Text(text))
			}
		})
		return chat.Result{Text: "It has begun.", Pending: true}, nil
	}
	return tool.Text(text), nil
}

// scriptedModel is the script of an agent's model, which all processes play.
type scriptedModel struct {
	*fake.Model
	mu     sync.Mutex
	takes  time.Duration   // how long the answer takes that is added next
	delays []time.Duration // of the answers
}

func (m *scriptedModel) add(step fake.Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Add(step)
	m.delays, m.takes = append(m.delays, m.takes), 0
}

// delay is how long the next answer takes; ok is false when the script has none.
func (m *scriptedModel) delay() (d time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.delays) == 0 {
		return 0, false
	}
	d, m.delays = m.delays[0], m.delays[1:]
	return d, true
}

// storyModel is an agent's model in one process. It notes what it is asked.
type storyModel struct {
	*scriptedModel
	name    string
	process *process
}

func (m *storyModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := m.process.alive(); err != nil {
			yield(model.Event{}, err)
			return
		}
		m.process.story.log.asked(m.name, r)
		takes, ok := m.delay()
		if !ok {
			m.process.story.Errorf("the model of %s is asked once more than its script says", m.name)
		}
		// The answer is taken from the script at once: when the process dies, it is gone.
		answer := slices.Collect(pairs(m.Model.Stream(ctx, r)))
		if takes > 0 {
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				yield(model.Event{}, ctx.Err())
				return
			}
		}
		for _, a := range answer {
			if err := m.process.alive(); err != nil {
				yield(model.Event{}, err)
				return
			}
			if !yield(a.event, a.err) {
				return
			}
		}
	}
}

// pair is an event of a model, or its error.
type pair struct {
	event model.Event
	err   error
}

func pairs(stream iter.Seq2[model.Event, error]) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		for e, err := range stream {
			if !yield(pair{e, err}) {
				return
			}
		}
	}
}

// gate is the store as a process sees it. Nothing that a dead one writes arrives.
type gate struct {
	*store.Memory
	process *process
}

func (g *gate) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	if err := g.process.alive(); err != nil {
		return err
	}
	err := g.Memory.Append(ctx, key, state, messages...)
	if err == nil {
		g.process.story.log.stored(key, state, messages)
	}
	return err
}

func (g *gate) Finish(ctx context.Context, e store.End) error {
	if err := g.process.alive(); err != nil {
		return err
	}
	err := g.Memory.Finish(ctx, e)
	if err == nil && e.Session != "" {
		g.process.story.log.stored(e.Session, e.State, e.Messages)
	}
	return err
}

func (g *gate) Accept(ctx context.Context, i store.Item) (store.Item, bool, error) {
	if err := g.process.alive(); err != nil {
		return i, false, err
	}
	return g.Memory.Accept(ctx, i)
}

func (g *gate) Update(ctx context.Context, i store.Item) error {
	if err := g.process.alive(); err != nil {
		return err
	}
	return g.Memory.Update(ctx, i)
}

func (g *gate) Put(ctx context.Context, kind, key string, value json.RawMessage) error {
	if err := g.process.alive(); err != nil {
		return err
	}
	return g.Memory.Put(ctx, kind, key, value)
}

func (g *gate) Change(
	ctx context.Context, kind, key string, change func(json.RawMessage) (json.RawMessage, error),
) error {
	if err := g.process.alive(); err != nil {
		return err
	}
	return g.Memory.Change(ctx, kind, key, change)
}
