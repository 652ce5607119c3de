// Package engine runs turns: it finds the agent and the session of a message, runs
// the turn and stores what was said.
//
// Messages of one session run one after the other in the order in which they
// arrive; different sessions run in parallel. An [Engine] is safe for concurrent
// use. It knows no protocol: package server serves it over HTTP.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/answer"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/embedding"
	"github.com/etui-run/etui/engine/internal/metrics"
	"github.com/etui-run/etui/health"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/inquiry"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/live"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/order"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// Config says what an engine is made of.
type Config struct {
	// Registry holds the tools and toolsets. Required.
	Registry *catalog.Registry
	// Agents answer; the first one does when a message names none. At least one is
	// required.
	Agents []Agent
	// Skills are all skills, enabled or not; nil means that the catalog's toolsets
	// are all there is. An agent may name one that is unavailable now.
	Skills *skill.Table
	// Store keeps the sessions and the inbox; nil keeps them in memory.
	Store store.Store
	// Selection bounds what is sent.
	Selection selection.Config
	// Learning says what is kept of past turns and learnt from them.
	Learning learning.Config
	// Embedder adds meaning to the ranking; nil means that only words count. The
	// caller owns it and closes it after the last turn.
	Embedder *embedding.Embedder
	// Workflows are what messages can begin by name; nil means none. The caller may replace
	// them at any time.
	Workflows *workflow.Table
	// Models are the models that phases of workflows may name.
	Models map[string]model.Model
	// Turn bounds how turns run. Its Log and Embedder are set from this Config's. Its
	// Secrets are hidden in messages, too.
	Turn turn.Config
	// Approvers says who may answer a call that waits for an approval. The Attempt is of the
	// one who answers, without arguments; attrs.asker is who asked for the call. Allow and
	// deny decide; ask leaves it to the one who asked. Nil means that whoever can write in
	// the conversation may.
	Approvers func(ctx context.Context, a rules.Attempt) rules.Decision
	// Asking says whom etui asks to decide about such a call, and where they are.
	Asking inquiry.Host
	// Users returns the people whom etui knows while a catalog is in effect; nil means
	// that there are none. It is called for each message and each call of a tool, with the
	// catalog whose rules judge it.
	Users func(now *catalog.Catalog) *identity.Users
	// Scope says how finely direct messages are kept apart; empty means [route.Peer].
	Scope route.Scope
	// MaxMessage is how long a message may be, in bytes; 0 means 256 KiB.
	MaxMessage int
	// MaxWaiting is how many messages of one session may wait for their turn; 0
	// means 32. One more is refused with [ErrBusy].
	MaxWaiting int
	// MaxTurns is how many turns may run at once, of all sessions and of clients that
	// keep their conversation themselves; 0 means 256. As many more messages may wait, and
	// always so many that 16 run or wait; the next one is refused with [ErrBusy]. People come before
	// the clock, and of people the ones with the fewest running turns; guests are one of
	// them. Of all places guests have at most a quarter, each account and each API key half,
	// each sender a quarter, and all who are no persons of the configuration three quarters.
	MaxTurns int
	// Tracer makes spans of messages, turns, tool calls and deliveries, see docs/deployment.md.
	// Those of requests to models come from [model.Trace]. Nil makes none.
	Tracer trace.Tracer
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Log receives what operators should know; nil discards.
	Log *slog.Logger
}

// Agent says how one answers messages.
type Agent = agent.Config

// Message is what a user says to an agent, with what is known of the user.
type Message = message.Message

// The reasons to refuse a message, with those of package message.
var (
	ErrTooLong = message.ErrTooLong
	ErrInvalid = message.ErrInvalid
	ErrEmpty   = message.ErrEmpty
	ErrUnknown = message.ErrUnknown
	// ErrBusy: too many messages are waiting.
	ErrBusy = errors.New("too many messages are waiting")
	// ErrFull: too many messages of the same session are waiting. It is an ErrBusy.
	ErrFull = phrase.Errorf("%w in this session", ErrBusy)
	// ErrShare: too many messages of the same sender run or wait. It is an ErrBusy.
	ErrShare = phrase.Errorf("%w from one sender", ErrBusy)
	// ErrCrowd: too many messages run or wait of those with whom the sender shares places, who
	// are guests, strangers, or users of one account or API key. People of the configuration
	// still get in. A message with Later waits in the store instead, up to 2,048 of them. It is
	// an ErrBusy.
	ErrCrowd = phrase.Errorf("%w from people like the sender", ErrBusy)
	// ErrStopping: the engine stops. A message that was accepted stays in the inbox.
	ErrStopping = errors.New("etui is stopping")
	// ErrStore: the store did not take the message, or a step of its turn.
	ErrStore = store.ErrAway
	// ErrKept: the store failed after it had taken the message, which will be answered.
	ErrKept = errors.New("the message is kept and will be answered")
)

// Engine runs the turns of its agents.
type Engine struct {
	config    Config
	agents    *agent.Agents
	holder    string       // this process, in the inbox
	shared    store.Shared // the store, if several processes use it; else nil
	box       *mailbox.Box
	sessions  *Sessions
	shares    *shares
	outcomes  *outcomes
	meter     metrics.Meter
	live      live.Table
	inbox     *inbox.Inbox
	outbox    *outbox.Outbox
	subAgents *subagent.Supervisor
	orders    *order.Orders
	answers   *answer.Answers
	approvals *approval.Approvals
	inquiries *inquiry.Inquiries
	learner   *learning.Learner
	people    *people.People
	health    *health.Health
}

// Wait returns when no turn runs any more, or when ctx ends. Nothing may be sent
// to the gateway meanwhile.
func (e *Engine) Wait(ctx context.Context) { e.box.Running.Wait(ctx) }

// Stop accepts nothing new, begins no turn, and lets those that run end. When ctx ends, it
// suspends them: they stay open in the store, and what waits stays in the inbox, for the next
// [Engine.Resume]. It returns how many messages stay, when the last turn has stored what it
// had done. Nothing can be sent any more.
func (e *Engine) Stop(ctx context.Context) (left int) { return e.box.Stop(ctx) }

// New returns an engine. The error says which part of the configuration is wrong.
func New(cfg Config) (*Engine, error) {
	if cfg.Registry == nil || len(cfg.Agents) == 0 {
		return nil, errors.New("an engine needs a registry and at least one agent")
	}
	if cfg.Store == nil {
		cfg.Store = &store.Memory{}
	}
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = 256 << 10
	}
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = 32
	}
	if cfg.MaxTurns == 0 {
		cfg.MaxTurns = 256
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Log = panics.CountIn(cfg.Log)
	cfg.Turn.Log, cfg.Turn.Tracer, cfg.Turn.Models = cfg.Log, cfg.Tracer, cfg.Models
	e := &Engine{holder: rand.Text(), health: health.New(cfg.Log, cfg.Now)}
	cfg.Store = e.health.Watch(cfg.Store)
	e.config = cfg
	selector := selection.Follow(cfg.Registry, cfg.Selection)
	e.people = people.New(people.Config{Users: cfg.Users, Catalog: e.Catalog, Scope: cfg.Scope})
	e.approvals = approval.New(approval.Config{
		Store: cfg.Store, Approvers: cfg.Approvers, Catalog: e.Catalog, Now: cfg.Now,
		Root: func(s session.Session) session.Key { return e.subAgents.Root(s) }, Log: cfg.Log,
	})
	if cfg.Turn.Approvals {
		e.config.Turn.Granted = e.approvals.Grants.Covering
		cfg.Turn.Granted = e.approvals.Grants.Covering
	}
	if shared, ok := cfg.Store.(store.Shared); ok {
		e.shared, e.holder = shared, shared.Holder()
	}
	e.box = mailbox.New(mailbox.Config{
		Store: cfg.Store, Worker: worker{e}, Log: cfg.Log, Now: cfg.Now, Holder: e.holder, Width: cfg.MaxTurns,
		Retry: e.meter.Retry,
	})
	if cfg.Embedder != nil {
		selector = cfg.Embedder.Follow(selector)
		// A change of the registry computes the vectors, so that the next turn need not.
		cfg.Registry.Watch(func(*catalog.Catalog) { selector() })
		cfg.Turn.Embedder = cfg.Embedder
	}
	e.learner = learning.New(cfg.Learning, learning.Host{
		Store: cfg.Store, Now: cfg.Now, Log: cfg.Log,
		Background: func(doing string, f func()) { e.box.Running.Go(cfg.Log, doing, f) },
		Check:      func(name string) error { _, err := e.agents.Get(name); return err },
	})
	var err error
	e.agents, err = agent.New(agent.Host{
		Store: cfg.Store, People: e.people, Catalog: e.Catalog,
		Selector: selector, Voting: e.learner.AddVotes, Selection: cfg.Selection,
		Skills: cfg.Skills, Workflows: cfg.Workflows, Turn: cfg.Turn, MaxMessage: cfg.MaxMessage, Now: cfg.Now,
		Log: cfg.Log,
	}, cfg.Agents)
	if err != nil {
		return nil, err
	}
	e.inbox = inbox.New(inbox.Config{Store: cfg.Store, Box: e.box, People: e.people, Holder: e.holder,
		Tracer: cfg.Tracer})
	e.outbox = outbox.New(outbox.Config{
		Store: cfg.Store, Box: e.box, Inbox: e.inbox, Secrets: cfg.Turn.Secrets, MaxMessage: cfg.MaxMessage,
		Holder: e.holder,
		Tracer: cfg.Tracer, Retry: e.meter.Retry,
		Lost: func(ctx context.Context, l outbox.Letter, why error) error { return e.inquiries.Lost(ctx, l, why) },
	})
	e.subAgents = subagent.New(subagent.Config{
		Store: cfg.Store, Agents: e.agents, Inbox: e.inbox, Box: e.box, MaxSteps: cfg.Turn.MaxSteps,
		Now: cfg.Now, Log: cfg.Log,
	})
	e.shares = &shares{people: e.people, total: max(2*cfg.MaxTurns, 2*fewest)}
	e.outcomes = &outcomes{box: e.box, now: cfg.Now}
	e.sessions = &Sessions{
		store: cfg.Store, box: e.box, subAgents: e.subAgents, catalog: e.Catalog, now: cfg.Now,
		looks: mailbox.Lines{Width: looking, Each: eachLooking},
	}
	e.orders = order.New(order.Config{
		Store: cfg.Store, Agents: e.agents, People: e.people, Inbox: e.inbox, Catalog: e.Catalog,
	})
	e.inquiries = inquiry.New(inquiry.Config{
		Host: cfg.Asking, Approvals: e.approvals, People: e.people, Inbox: e.inbox, Outbox: e.outbox, Store: cfg.Store,
		Catalog: e.Catalog, Now: cfg.Now, Log: cfg.Log,
		Background: func(doing string, f func()) { e.box.Running.Go(cfg.Log, doing, f) },
	})
	e.sessions.inquiries = e.inquiries
	e.answers = answer.New(answer.Config{
		Approvals: e.approvals, Agents: e.agents, People: e.people, Inbox: e.inbox, Store: cfg.Store,
		Catalog: e.Catalog,
		Now:     cfg.Now, Ended: e.inquiries.End,
		Language: func(ctx context.Context, m message.Mail, key session.Key) string {
			return e.inquiries.Language(ctx, m, key, "")
		},
	})
	return e, nil
}

// Inbox returns the messages that were accepted.
func (e *Engine) Inbox() *inbox.Inbox { return e.inbox }

// RunningTurns returns the turns that run in this process, the oldest first.
func (e *Engine) RunningTurns() []live.Turn { return e.live.Turns() }

// Calls returns the latest calls of a tool that have ended in this process, the oldest first.
func (e *Engine) Calls(tool string) []live.Call { return e.live.Calls(tool) }

// Outbox returns the replies that are still to be delivered.
func (e *Engine) Outbox() *outbox.Outbox { return e.outbox }

// SubAgents returns the agents that work for others.
func (e *Engine) SubAgents() *subagent.Supervisor { return e.subAgents }

// Orders returns what accepts messages that programs send in somebody's name.
func (e *Engine) Orders() *order.Orders { return e.orders }

// Approvals returns what waits for an answer, and the lasting approvals.
func (e *Engine) Approvals() *approval.Approvals { return e.approvals }

// Answers returns what takes the answers of people.
func (e *Engine) Answers() *answer.Answers { return e.answers }

// Inquiries returns what asks people to decide.
func (e *Engine) Inquiries() *inquiry.Inquiries { return e.inquiries }

// Sessions returns the conversations.
func (e *Engine) Sessions() *Sessions { return e.sessions }

// Agents returns who answers.
func (e *Engine) Agents() *agent.Agents { return e.agents }

// Catalog returns what exists now.
func (e *Engine) Catalog() *catalog.Catalog { return e.config.Registry.Catalog() }

// Watch calls f as [catalog.Registry.Watch] does.
func (e *Engine) Watch(f func(*catalog.Catalog)) { e.config.Registry.Watch(f) }

// Learner returns what keeps past turns and learns from them.
func (e *Engine) Learner() *learning.Learner { return e.learner }

// Log returns where operators read what happens.
func (e *Engine) Log() *slog.Logger { return e.config.Log }

// Store returns what keeps the sessions and the inbox.
func (e *Engine) Store() store.Store { return e.config.Store }

// Now returns the time by the engine's clock.
func (e *Engine) Now() time.Time { return e.config.Now() }

// Stopping reports whether [Engine.Stop] was called.
func (e *Engine) Stopping() bool { return e.box.Stopping() }

// Expire answers what nobody has answered in time, asks people again, and reports sub-agents that have ended without
// a result. However many processes do, each thing happens once. It reads all sessions with
// something left to do: call it every minute or so, see package schedule.
func (e *Engine) Expire(ctx context.Context) error {
	return errors.Join(e.answers.Expire(ctx), e.subAgents.Expire(ctx), e.inquiries.Attend(ctx))
}

// Refusals returns why messages are refused now: when the engine stops, all places are taken, or the
// store cannot be read or takes nothing. None means that the engine can answer.
func (e *Engine) Refusals(ctx context.Context) []health.Cause {
	return e.health.Causes(ctx, e.config.Store, e.box.Stopping())
}

// Erase removes what this engine keeps of a person under some names beside the conversations: what
// its agents remember, past turns, and answers that were lost on their way.
func (e *Engine) Erase(ctx context.Context, names []string) (map[string]int, error) {
	e.box.Answers.Clear() // of everybody: an answer to others may name the person
	count, err := e.learner.Erase(ctx, names)
	if err != nil {
		return count, err
	}
	count["memories"] = 0
	for _, a := range e.config.Agents {
		if a.Memory == nil {
			continue
		}
		found, err := a.Memory.Erase(ctx, names)
		if count["memories"] += found["memories"]; err != nil {
			return count, err
		}
	}
	return count, nil
}
