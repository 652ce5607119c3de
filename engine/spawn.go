package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// SubAgent is a task that an agent hands to another one.
type SubAgent struct {
	// Task is all that the sub-agent learns of the conversation.
	Task string
	// Agent does it; empty means the one that hands it over.
	Agent string
	// Toolset, when not empty, is active at first. The agent that hands the task over must be
	// able to take it up.
	Toolset string
	// Steps, Time and Tokens lower the limits of [Spawn]; 0 leaves them.
	Steps  int
	Time   time.Duration
	Tokens int
}

// maxSteps is what a turn may ask its model where nothing else is said.
const maxSteps = 16

// instructions are those of every sub-agent.
const instructions = "You are a sub-agent: another agent gave you the task. It reads your last answer and nothing else, so put all that matters there, briefly. You cannot ask the user; if something is missing that only they know, say what. Do only what the task says."

// Spawn starts a sub-agent for the turn that calls a tool with the context, which must be
// keyed: see [tool.Keyed]. The sub-agent works in a session of its own, in the background;
// whatever process ends, it is started once, and its result becomes a message of the turn's
// session, with a turn of its own. It may use what both its agent and all those in whose
// names it works may use, for the same person. The error says for the model which limit
// forbids it.
func (e *Engine) Spawn(ctx context.Context, t SubAgent) (chat.Result, error) {
	f, call := tool.Caller(ctx), tool.IdempotencyKey(ctx)
	s, err := e.config.Store.Load(ctx, session.Key(f.Session), 1)
	if err != nil {
		return chat.Result{}, fmt.Errorf("%w: %w", ErrStore, err)
	}
	if s.Turn.ID == "" || !strings.HasPrefix(call, s.Turn.ID+"-") {
		return chat.Result{}, errors.New("a sub-agent can be started only within a turn, in a conversation that etui keeps")
	}
	a, m, err := e.agents.Begun(s)
	if err != nil {
		return chat.Result{}, err
	}
	limits := a.Spawn.Filled()
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
		return chat.Result{}, fmt.Errorf("the agent %q cannot be started here; these can: %s", name, strings.Join(allowed, ", "))
	}
	sum := sha256.Sum256([]byte(call))
	id := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
	key := route.Sub(s.Key, name, id)
	if err := agent.CheckKey(key); err != nil {
		return chat.Result{}, err
	}
	sub, err := e.handed(ctx, t, a, m, s, f.Skill)
	if err != nil {
		return chat.Result{}, err
	}
	sub.Agent, sub.To, sub.IdempotencyKey, sub.Origin.ID = name, key, "spawn-"+call, id
	_, sub, err = e.agents.Ready(sub)
	if err == nil && t.Toolset != "" {
		sub.Skill = t.Toolset
		err = e.mayTakeUp(ctx, sub)
	}
	if err != nil {
		return chat.Result{}, err
	}
	if there, err := e.config.Store.Load(ctx, key, 1); err != nil {
		return chat.Result{}, fmt.Errorf("%w: %w", ErrStore, err)
	} else if there.Parent == "" { // else it was started before a crash
		if err := e.submit(ctx, key, sub); err != nil && !errors.Is(err, message.ErrKeyReused) {
			return chat.Result{}, err
		}
	}
	e.config.Log.InfoContext(ctx, "sub-agent started", "session", key, "parent", s.Key, "agent", name)
	return chat.Result{Pending: true, Session: string(key), Text: fmt.Sprintf("The sub-agent %s works on it in the background. Its result comes as a message here, which the user does not see. Go on with something else, or tell the user what you have begun and end your turn; do not wait.", id)}, nil
}

// maySpawn returns the limit that keeps an agent from starting one more.
func maySpawn(a *agent.Agent, m message.Mail, s session.Session) error {
	limits := a.Spawn.Filled()
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
		return fmt.Errorf("%d sub-agents of this conversation are at work, and no more may be at once; wait for a result, which comes as a message, or do it yourself", running)
	case s.Spawned >= limits.Number:
		return fmt.Errorf("%d sub-agents were started for the user's last message, and no more may be; do the rest yourself, or ask the user", s.Spawned)
	}
	return nil
}

// handed makes the message for a sub-agent from that of the turn that starts it. Who sends
// it stays the same.
func (e *Engine) handed(ctx context.Context, t SubAgent, a *agent.Agent, m message.Mail, s session.Session, skill string) (message.Mail, error) {
	task := strings.TrimSpace(t.Task)
	if task == "" {
		return m, errors.New("the task is empty: say what the sub-agent is to do, with all that it must know")
	}
	if t.Toolset != "" && t.Toolset != skill {
		in := e.agents.Input(a, m, s)
		in.Facts.Skill = skill
		if err := takesUp(ctx, a, in, t.Toolset); err != nil {
			return m, err
		}
		skill = t.Toolset
	}
	limits := a.Spawn.Filled()
	o := &message.Origin{
		Turn: s.Turn.ID, Left: a.Depth(m) - 1, Title: strings.ToValidUTF8(task[:min(len(task), session.MaxTitle)], ""), Back: m.Stored(),
		Steps: lower(cmp.Or(limits.Steps, e.config.Turn.MaxSteps, maxSteps), t.Steps), Time: lower(limits.Time, t.Time), Tokens: lower(limits.Tokens, t.Tokens),
	}
	if m.Origin != nil {
		o.Within = slices.Clone(m.Origin.Within)
		o.Steps, o.Time, o.Tokens = lower(o.Steps, m.Origin.Steps), lower(o.Time, m.Origin.Time), lower(o.Tokens, m.Origin.Tokens)
	}
	o.Within = append(o.Within, message.Ancestor{
		Agent: a.Name, Session: s.Key, Skill: skill,
		Include: m.Include, Exclude: m.Exclude, IncludeSkills: m.IncludeSkills, ExcludeSkills: m.ExcludeSkills,
	})
	sub := message.Mail{Origin: o, Bounds: m.Bounds, Message: Message{
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
func (e *Engine) mayTakeUp(ctx context.Context, sub message.Mail) error {
	a, err := e.agents.Get(sub.Agent)
	if err != nil {
		return err
	}
	toolset := sub.Skill
	sub.Skill = ""
	return takesUp(ctx, a, e.agents.Input(a, sub, session.Session{Key: sub.To}), toolset)
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

// errTime is the cause with which a sub-agent ends whose time is up.
var errTime = fmt.Errorf("its time is up: %w", turn.ErrStopped)

// subAgents returns the sub-agents whose results a session awaits.
func subAgents(s session.State) (list []session.Await) {
	for _, a := range s.Awaits {
		if a.For == session.SubAgent {
			list = append(list, a)
		}
	}
	return list
}

// orphan reports whether nobody awaits the result of a sub-agent any more: it was stopped,
// perhaps in another process, or the conversation was deleted. The turn that has started it
// may not have stored that yet.
func (e *Engine) orphan(ctx context.Context, o *message.Origin, key session.Key) (bool, error) {
	s, err := e.config.Store.Load(ctx, o.Parent(), 1)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrStore, err)
	}
	awaited := slices.ContainsFunc(s.Awaits, func(a session.Await) bool { return a.For == session.SubAgent && a.Session == key })
	return !awaited && s.Turn.ID != o.Turn, nil
}

// beside does, before the last step of a turn is stored, what must not be lost once it is:
// it gives the result of a sub-agent to its parent, and what came for sub-agents of its own
// while the turn was open to a turn. What the user stopped leaves the step. Doing it twice
// changes nothing.
func (j *job) beside(ctx context.Context, m message.Mail, end *store.End, step *turn.Step) (stopped []session.Await, err error) {
	if errors.Is(context.Cause(ctx), turn.ErrStopped) {
		var told []chat.Message
		end.State, told, stopped = turn.StopSubAgents(end.State, j.engine.config.Now())
		end.Messages = append(slices.Clip(end.Messages), told...)
	}
	if end.State.Turn.ID == "" {
		for _, a := range subAgents(end.State) {
			if a.Held != nil {
				err = errors.Join(err, j.engine.again(ctx, end.Session, a))
			}
		}
	}
	switch {
	case err != nil || m.Origin == nil:
	case step.Done != nil && len(step.Done.Awaits) > 0:
		err = j.askAbout(ctx, m.Origin, end.Session, step.Done.Awaits)
	case end.State.Turn.ID == "" && len(subAgents(end.State)) == 0:
		err = j.report(ctx, m.Origin, end.Session, step.Done, step.Failed)
	}
	return stopped, err
}

// deliver accepts a message of etui's own once, however often it is tried. It goes to the
// sender who waits for the sub-agent, if it is here.
func (e *Engine) deliver(ctx context.Context, key session.Key, m message.Mail, from session.Key) error {
	m.To, m.Background = key, true
	m.IdempotencyKey = message.ShortKey(m.IdempotencyKey)
	item, fresh, err := e.accept(context.WithoutCancel(ctx), key, m)
	if errors.Is(err, message.ErrKeyReused) {
		return nil
	}
	if err != nil || !fresh {
		return err
	}
	if from == "" {
		e.box.TakeUp(item)
	} else {
		e.box.Hand(from, key, item)
	}
	return nil
}

// stopAll stops sub-agents that no session awaits any more. One that does not learn it now
// does so before its next step.
func (e *Engine) stopAll(ctx context.Context, list []session.Await) {
	for _, a := range list {
		e.box.Nothing(a.Session)
		if e.box.Interrupt(a.Session) != nil {
			continue
		}
		m := message.Mail{Kind: message.KindStop, To: a.Session, Message: Message{Agent: route.Agent(a.Session), Text: message.Stop, IdempotencyKey: message.ShortKey("stop-" + string(a.Session))}}
		if err := e.submit(context.WithoutCancel(ctx), a.Session, m); err != nil && !errors.Is(err, message.ErrKeyReused) {
			e.config.Log.WarnContext(ctx, "a sub-agent learns later that it was stopped", "session", a.Session, "error", err)
		}
		if e.shared == nil {
			continue
		}
		e.box.Running.Begin()
		go func() {
			defer e.box.Running.End()
			defer panics.Log(e.config.Log, "stopping a sub-agent")
			ctx, cancel := context.WithTimeout(e.box.Life(), maxStopping)
			defer cancel()
			_, _ = e.interruptElsewhere(ctx, a.Session) // what does not hear it looks itself
		}()
	}
}

// ended reports the sub-agents that have ended without a result as lost: their item was
// given up, their session deleted, or their agent is gone.
func (e *Engine) ended(ctx context.Context) error {
	keys, err := e.config.Store.Open(ctx)
	for _, key := range keys {
		s, loading := e.config.Store.Load(ctx, key, 1)
		if loading != nil {
			return loading
		}
		for _, a := range subAgents(s.State) {
			if a.Held != nil {
				if s.Turn.ID == "" {
					err = errors.Join(err, e.again(ctx, key, a))
				}
				continue
			}
			sub, loading := e.config.Store.Load(ctx, a.Session, 1)
			waiting, looking := e.config.Store.Items(ctx, store.ItemFilter{Session: a.Session, State: store.Waiting, Limit: 1})
			if err = errors.Join(err, loading, looking); err != nil || sub.Open() || len(waiting) > 0 {
				continue
			}
			m := message.Mail{Kind: message.KindResult, Operator: true, Message: Message{Agent: route.Agent(key), IdempotencyKey: "result-" + string(a.Session)}}
			m.Outcome = &turn.Outcome{System: true, Result: chat.Result{
				Session: string(a.Session), Failed: true, Text: "[system: a sub-agent has ended without a result; what it did is in its conversation, " + string(a.Session) + "]",
			}}
			err = errors.Join(err, e.deliver(ctx, key, m, a.Session))
		}
	}
	return err
}

// page is how many sessions are listed at once.
const page = 200

// children returns the sessions of the sub-agents that a session has started.
func (e *Engine) children(ctx context.Context, key session.Key) (keys []session.Key, err error) {
	for after := (session.Cursor{}); ; {
		list, err := e.config.Store.List(ctx, session.Filter{Part: ":sub:", After: after, Limit: page})
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
