// Package subagent has the agents that work for other ones: it starts them within their limits, knows
// which still work, stops them, and brings their results and questions to those who wait. How a
// message is answered by one of them is package engine's.
package subagent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// Config says what sub-agents depend on. All of it is needed.
type Config struct {
	Store  store.Store
	Agents *agent.Agents
	Inbox  *inbox.Inbox
	Box    *mailbox.Box
	// MaxSteps is what any turn may ask its model; 0 means 16.
	MaxSteps int
	Now      func() time.Time
	Log      *slog.Logger
}

// Supervisor has the sub-agents of an engine. It is safe for concurrent use.
type Supervisor struct{ config Config }

// New returns the sub-agents of an engine.
func New(cfg Config) *Supervisor { return &Supervisor{cfg} }

// Assignment is a task that an agent hands to another one.
type Assignment struct {
	// Task is all that the sub-agent learns of the conversation.
	Task string
	// Agent does it; empty means the one that hands it over.
	Agent string
	// Toolset, when not empty, is active at first. The agent that hands the task over must be
	// able to take it up.
	Toolset string
	// Steps, Time and Tokens lower the limits of [agent.Spawn]; 0 leaves them.
	Steps  int
	Time   time.Duration
	Tokens int
}

// maxSteps is what a turn may ask its model where nothing else is said.
const maxSteps = 16

// instructions are those of every sub-agent.
const instructions = "You are a sub-agent: another agent gave you the task. It reads your last answer and nothing " +
	"else, so put all that matters there, briefly. You cannot ask the user; if something is missing that only they " +
	"know, say what. Do only what the task says."

// Start starts a sub-agent for the turn that calls a tool with the context, which must be
// keyed: see [tool.Keyed]. The sub-agent works in a session of its own, in the background;
// whatever process ends, it is started once, and its result becomes a message of the turn's
// session, with a turn of its own. It may use what both its agent and all those in whose
// names it works may use, for the same person. The error says for the model which limit
// forbids it.
func (v *Supervisor) Start(ctx context.Context, t Assignment) (chat.Result, error) {
	f, call := tool.Caller(ctx), tool.IdempotencyKey(ctx)
	s, err := v.config.Store.Load(ctx, session.Key(f.Session), 1)
	if err != nil {
		return chat.Result{}, fmt.Errorf("%w: %w", store.ErrAway, err)
	}
	if s.Turn.ID == "" || !strings.HasPrefix(call, s.Turn.ID+"-") {
		return chat.Result{}, errors.New("a sub-agent can be started only within a turn, in a conversation that etui keeps")
	}
	a, m, err := v.config.Agents.OpenTurn(s)
	if err != nil {
		return chat.Result{}, err
	}
	limits := a.Spawn.WithDefaults()
	if err := maySpawn(a, m, s); err != nil {
		return chat.Result{}, err
	}
	allowed := limits.Agents
	if len(allowed) == 0 {
		allowed = []string{a.Name}
	}
	name := cmp.Or(t.Agent, a.Name)
	if t.Agent == "" && !slices.Contains(allowed, name) {
		name = allowed[0]
	}
	if !slices.Contains(allowed, name) {
		return chat.Result{}, fmt.Errorf(
			"the agent %q cannot be started here; these can: %s", name, strings.Join(allowed, ", "),
		)
	}
	sum := sha256.Sum256([]byte(call))
	id := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
	key := route.Sub(s.Key, name, id)
	if err := agent.CheckKey(key); err != nil {
		return chat.Result{}, err
	}
	sub, err := v.handed(ctx, t, a, m, s, f.Skill)
	if err != nil {
		return chat.Result{}, err
	}
	sub.Agent, sub.To, sub.IdempotencyKey, sub.Origin.ID = name, key, "spawn-"+call, id
	_, sub, err = v.config.Agents.Ready(sub)
	if err == nil && t.Toolset != "" {
		sub.Skill = t.Toolset
		err = v.mayTakeUp(ctx, sub)
	}
	if err != nil {
		return chat.Result{}, err
	}
	if there, err := v.config.Store.Load(ctx, key, 1); err != nil {
		return chat.Result{}, fmt.Errorf("%w: %w", store.ErrAway, err)
	} else if there.Parent == "" { // else it was started before a crash
		if err := v.config.Inbox.Submit(ctx, key, sub); err != nil && !errors.Is(err, message.ErrKeyReused) {
			return chat.Result{}, err
		}
	}
	v.config.Log.InfoContext(ctx, "sub-agent started", "session", key, "parent", s.Key, "agent", name)
	return chat.Result{
		Pending: true, Session: string(key),
		Text: fmt.Sprintf(
			"The sub-agent %s works on it in the background. Its result comes as a message here, which the user "+
				"does not see. Go on with something else, or tell the user what you have begun and end your turn; "+
				"do not wait.", id,
		),
	}, nil
}

// maySpawn returns the limit that keeps an agent from starting one more.
func maySpawn(a *agent.Agent, m message.Mail, s session.Session) error {
	limits := a.Spawn.WithDefaults()
	running := 0
	for _, w := range s.Awaits {
		if w.For == session.SubAgent && w.Held == nil {
			running++
		}
	}
	switch {
	case a.Spawn.AtOnce <= 0:
		return fmt.Errorf("the agent %s may start no sub-agents", a.Name)
	case a.Depth(m) < 1:
		return errors.New("this sub-agent may start none itself: do the task, or say in your answer what is missing")
	case running >= a.Spawn.AtOnce:
		return fmt.Errorf(
			"%d sub-agents of this conversation are at work, and no more may be at once; wait for a result, "+
				"which comes as a message, or do it yourself", running,
		)
	case s.Spawned >= limits.Number:
		return fmt.Errorf(
			"%d sub-agents were started for the user's last message, and no more may be; do the rest yourself, or ask the user",
			s.Spawned,
		)
	}
	return nil
}

// handed makes the message for a sub-agent from that of the turn that starts it. The sender stays
// the same.
func (v *Supervisor) handed(
	ctx context.Context, t Assignment, a *agent.Agent, m message.Mail, s session.Session, skill string,
) (message.Mail, error) {
	task := strings.TrimSpace(t.Task)
	if task == "" {
		return m, errors.New("the task is empty: say what the sub-agent is to do, with all that it must know")
	}
	if t.Toolset != "" && t.Toolset != skill {
		in := v.config.Agents.Input(a, m, s)
		in.Facts.Skill = skill
		if err := takesUp(ctx, a, in, t.Toolset); err != nil {
			return m, err
		}
		skill = t.Toolset
	}
	limits := a.Spawn.WithDefaults()
	o := &message.Origin{
		Turn: s.Turn.ID, Left: a.Depth(m) - 1, Back: m.Stored(),
		Title: strings.ToValidUTF8(task[:min(len(task), session.MaxTitle)], ""),
		Steps: lower(cmp.Or(limits.Steps, v.config.MaxSteps, maxSteps), t.Steps),
		Time:  lower(limits.Time, t.Time), Tokens: lower(limits.Tokens, t.Tokens),
	}
	if m.Origin != nil {
		o.Within = slices.Clone(m.Origin.Within)
		o.Steps, o.Time = lower(o.Steps, m.Origin.Steps), lower(o.Time, m.Origin.Time)
		o.Tokens = lower(o.Tokens, m.Origin.Tokens)
	}
	o.Within = append(o.Within, message.Ancestor{
		Agent: a.Name, Session: s.Key, Skill: skill,
		Include: m.Include, Exclude: m.Exclude, IncludeSkills: m.IncludeSkills, ExcludeSkills: m.ExcludeSkills,
	})
	sub := message.Mail{Origin: o, Bounds: m.Bounds, Message: message.Message{
		Text:     "Task: " + task, // so that it is never a command such as /approve
		NoMemory: m.NoMemory, NoRuntime: m.NoRuntime, Instructions: instructions, Background: true,
	}}
	return sub.From(m.Caller()), nil
}

// lower returns the lower one of two limits; one of 0 or less is none.
func lower[T int | time.Duration](limit, wanted T) T {
	if limit > 0 && wanted > 0 {
		return min(limit, wanted)
	}
	return max(limit, wanted)
}

// mayTakeUp refuses a toolset that the sub-agent of a message could not take up itself.
func (v *Supervisor) mayTakeUp(ctx context.Context, sub message.Mail) error {
	a, err := v.config.Agents.Get(sub.Agent)
	if err != nil {
		return err
	}
	toolset := sub.Skill
	sub.Skill = ""
	return takesUp(ctx, a, v.config.Agents.Input(a, sub, session.Session{Key: sub.To}), toolset)
}

// takesUp returns why an agent may not take up a toolset.
func takesUp(ctx context.Context, a *agent.Agent, in turn.Input, toolset string) error {
	args, _ := json.Marshal(map[string]string{"name": toolset})
	switch j := a.Runner.JudgeCall(ctx, in, selection.UseSkill, args); {
	case j.Stage == turn.StageUnknown:
		return fmt.Errorf("there is no toolset %q", toolset)
	case j.Effect != rules.Allow:
		return fmt.Errorf("the toolset %s may not be taken up here", toolset)
	}
	return nil
}

// ErrTime is the cause with which a sub-agent ends whose time is up.
var ErrTime = fmt.Errorf("its time is up: %w", turn.ErrStopped)

// Of returns the sub-agents whose results a session awaits.
func Of(s session.State) (list []session.Await) {
	for _, a := range s.Awaits {
		if a.For == session.SubAgent {
			list = append(list, a)
		}
	}
	return list
}

// Orphan reports whether nobody awaits the result of a sub-agent any more: it was stopped,
// perhaps in another process, or the conversation was deleted. The turn that has started it
// may not have stored that yet.
func (v *Supervisor) Orphan(ctx context.Context, o *message.Origin, key session.Key) (bool, error) {
	s, err := v.config.Store.Load(ctx, o.Parent(), 1)
	if err != nil {
		return false, fmt.Errorf("%w: %w", store.ErrAway, err)
	}
	awaited := slices.ContainsFunc(
		s.Awaits, func(a session.Await) bool { return a.For == session.SubAgent && a.Session == key },
	)
	return !awaited && s.Turn.ID != o.Turn, nil
}

// Settle does, before the last step of a turn is stored, what must not be lost once it is:
// it gives the result of a sub-agent to its parent, and what came for sub-agents of its own
// while the turn was open to a turn. A stopped sub-agent leaves the step. Doing it twice
// changes nothing.
func (v *Supervisor) Settle(
	ctx context.Context, m message.Mail, end *store.End, step *turn.Step,
) (stopped []session.Await, err error) {
	if errors.Is(context.Cause(ctx), turn.ErrStopped) {
		var told []chat.Message
		end.State, told, stopped = turn.StopSubAgents(end.State, v.config.Now())
		end.Messages = append(slices.Clip(end.Messages), told...)
	}
	if end.State.Turn.ID == "" {
		for _, a := range Of(end.State) {
			if a.Held != nil {
				err = errors.Join(err, v.again(ctx, end.Session, a))
			}
		}
	}
	switch {
	case err != nil || m.Origin == nil:
	case step.Done != nil && len(step.Done.Awaits) > 0:
		err = v.ask(ctx, m.Origin, end.Session, step.Done.Awaits)
	case end.State.Turn.ID == "" && len(Of(end.State)) == 0:
		err = v.Report(ctx, m.Origin, end.Session, step.Done, step.Failed)
	}
	return stopped, err
}

// Stop stops sub-agents that no session awaits any more. One that does not learn it now
// does so before its next step.
func (v *Supervisor) Stop(ctx context.Context, list []session.Await) {
	for _, a := range list {
		v.config.Box.Nothing(a.Session)
		if v.config.Box.Stops.Here(a.Session) {
			continue
		}
		m := message.Mail{
			Kind: message.KindStop, To: a.Session,
			Message: message.Message{
				Agent: route.Agent(a.Session), Text: message.Stop,
				IdempotencyKey: message.ShortKey("stop-" + string(a.Session)),
			},
		}
		if err := v.config.Inbox.Submit(context.WithoutCancel(ctx), a.Session, m); err != nil &&
			!errors.Is(err, message.ErrKeyReused) {
			v.config.Log.WarnContext(ctx, "a sub-agent learns later that it was stopped", "session", a.Session, "error",
				err)
		}
		v.config.Box.Stops.Elsewhere(a.Session)
	}
}

// Expire reports the sub-agents that have ended without a result as lost: their item was
// given up, their session deleted, or their agent is gone.
func (v *Supervisor) Expire(ctx context.Context) error {
	keys, err := v.config.Store.Open(ctx)
	for _, key := range keys {
		s, loading := v.config.Store.Load(ctx, key, 1)
		if loading != nil {
			return loading
		}
		for _, a := range Of(s.State) {
			if a.Held != nil {
				if s.Turn.ID == "" {
					err = errors.Join(err, v.again(ctx, key, a))
				}
				continue
			}
			sub, loading := v.config.Store.Load(ctx, a.Session, 1)
			waiting, looking := v.config.Store.Items(ctx,
				store.ItemFilter{Session: a.Session, State: store.Waiting, Limit: 1})
			if err = errors.Join(err, loading, looking); err != nil || sub.Open() || len(waiting) > 0 {
				continue
			}
			m := message.Mail{
				Kind: message.KindResult, Operator: true,
				Message: message.Message{Agent: route.Agent(key), IdempotencyKey: "result-" + string(a.Session)},
			}
			m.Outcome = &turn.Outcome{System: true, Result: chat.Result{
				Session: string(a.Session), Failed: true,
				Text: "[system: a sub-agent has ended without a result; what it did is in its conversation, " +
					string(a.Session) + "]",
			}}
			err = errors.Join(err, v.config.Inbox.Deliver(ctx, key, m, a.Session))
		}
	}
	return err
}

// page is how many sessions are listed at once.
const page = 200

// Children returns the sessions of the sub-agents that a session has started.
func (v *Supervisor) Children(ctx context.Context, key session.Key) (keys []session.Key, err error) {
	for after := (session.Cursor{}); ; {
		list, err := v.config.Store.List(ctx, session.Filter{Part: ":sub:", After: after, Limit: page})
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if s.Parent == key {
				keys = append(keys, s.Key)
			}
		}
		if len(list) < page {
			return keys, nil
		}
		after = list[page-1].Cursor()
	}
}

// Report gives the result of a sub-agent to its parent.
func (v *Supervisor) Report(
	ctx context.Context, o *message.Origin, key session.Key, done *turn.End, failed error,
) error {
	m, err := message.Read(o.Back)
	if err != nil {
		return fmt.Errorf("of the parent: %w", err)
	}
	how, text := "finished", ""
	switch {
	case failed != nil:
		how, text = "failed", v.config.Agents.Secrets().Redactor().Error(failed).Error()
	case done != nil:
		text = done.Reply
		if errors.Is(context.Cause(ctx), ErrTime) {
			how = fmt.Sprintf("not finished: its time of %v was up", o.Time)
		} else if done.Stopped {
			how = "been stopped"
		}
	}
	m.Kind, m.Outcome = message.KindResult, &turn.Outcome{System: true, Result: chat.Result{
		Session: string(key), Failed: failed != nil,
		Text: fmt.Sprintf(
			"[system: the sub-agent %s has %s. Its task was: %s\n"+
				"The user does not see this message. Decide what to tell them.]\n%s", o.ID, how, o.Title, text,
		),
	}}
	m.IdempotencyKey = "result-" + string(key)
	return v.config.Inbox.Deliver(ctx, o.Parent(), m, key)
}

// again submits a result that came while a turn was open.
func (v *Supervisor) again(ctx context.Context, key session.Key, a session.Await) error {
	_, m, err := v.config.Agents.Read(store.Item{Message: a.Held})
	if err != nil {
		return err
	}
	m.IdempotencyKey = "again-" + string(a.Session)
	return v.config.Inbox.Deliver(ctx, key, m, "")
}

// ask tells the person for whom a sub-agent works what waits for an approval.
func (v *Supervisor) ask(ctx context.Context, o *message.Origin, key session.Key, list []session.Await) error {
	asked, _ := message.Read(o.Back) // English, if it cannot be read
	list = slices.Clone(list)
	for i := range list {
		list[i].Language = asked.Language
	}
	text := phrase.In(asked.Language, "The sub-agent %s asks (its task: %s)", o.ID, o.Title) + "\n" +
		approval.Text(list)
	m := message.Mail{
		Kind: message.KindNotice, Notice: text,
		Message: message.Message{Agent: o.Within[0].Agent, IdempotencyKey: "notice-" + list[0].ID},
	}
	return v.config.Inbox.Deliver(ctx, o.Root(), m, key)
}

// Root returns the conversation of the person for whom the sub-agent of a session works.
func (v *Supervisor) Root(s session.Session) session.Key {
	if _, m, err := v.config.Agents.OpenTurn(s); err == nil && m.Origin != nil {
		return m.Origin.Root()
	}
	return ""
}
