package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// commands reports whether a message says what is to become of its conversation, instead of
// being a part of it.
func (j *job) commands(m message.Mail, s session.Session) bool {
	switch name, _, _ := strings.Cut(m.Text, " "); {
	case m.Workflow != "", name == message.Switch:
		return true
	case m.Text == message.Run:
		return s.Flow != nil || len(j.engine.agents.Workflows().Names()) > 0
	}
	return m.Text == message.Compact || m.Text == message.Stop || m.Text == message.Anew
}

// compact summarizes what is still sent of a session, and yields a reply that says so.
// The messages stay in the store.
func (j *job) compact(ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool) bool {
	var done turn.End
	if m.History != nil {
		done.Reply = phrase.In(m.Language, "The client keeps this conversation, so it cannot be summarized here.")
	} else {
		var err error
		if s, err = j.leave(ctx, m, s); err != nil {
			return j.refuse(ctx, err, yield)
		}
		m.Text, m.Files = "", nil
		state, left, usage := j.agent.Runner.Compact(ctx, j.engine.agents.Input(j.agent, m, s))
		if err := context.Cause(ctx); err != nil {
			return j.refuse(ctx, fmt.Errorf("summarizing the conversation: %w", err), yield)
		}
		done.Usage, done.Reply = usage, phrase.In(m.Language, "There is nothing to summarize.")
		if left > 0 {
			done.Reply = phrase.In(m.Language,
				"The conversation so far, %d messages, is now a summary of about %d tokens. The messages are kept.",
				left, chat.Tokens(state.Summary))
		}
		end := store.End{ID: j.item.ID, Result: message.Result(&done, nil), Deliver: j.replies}
		if left > 0 {
			end.Session, end.State = s.Key, state
		}
		if err := j.engine.box.Write(ctx, end); err != nil {
			return j.refuse(ctx, fmt.Errorf("summarizing the conversation: %w", err), yield)
		}
	}
	return yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}

// leave lets a conversation go on without its open turn, whose calls wait on. It returns [message.ErrOpen]
// if they belong to a workflow, or the client has to bring results.
func (j *job) leave(ctx context.Context, m message.Mail, s session.Session) (session.Session, error) {
	handed := slices.ContainsFunc(s.Awaits, func(a session.Await) bool { return a.For == session.Client })
	switch {
	case s.Turn.ID == "":
		return s, nil
	case handed, s.Flow.Runs(), s.Turn.Request == nil:
		return s, message.ErrOpen
	}
	state, left := turn.Leave(s, j.engine.Catalog(), j.engine.config.Now())
	if err := j.engine.box.Write(ctx, store.End{Session: s.Key, State: state, Messages: left}); err != nil {
		return s, err
	}
	j.engine.inquiries.Look() // one that is too much waits no more
	return j.engine.agents.Load(ctx, j.agent, m)
}

// anew begins the conversation anew.
func (j *job) anew(ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool) bool {
	if m.History != nil {
		return j.says(ctx, m, s, phrase.In(m.Language, "The client keeps this conversation, so it begins anew there."),
			yield)
	}
	s, err := j.leave(ctx, m, s)
	if err != nil {
		return j.refuse(ctx, err, yield)
	}
	s.Sent, s.Summary, s.Front, s.Skill, s.Granted = session.None, "", session.Front{}, "", nil
	s.Declared, s.Directory, s.SkillList = nil, "", ""
	return j.says(ctx, m, s, phrase.In(m.Language, "A new conversation."), yield)
}

// switchSkill makes a skill active in the conversation.
func (j *job) switchSkill(
	ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool,
) bool {
	m.Skill = strings.TrimSpace(strings.TrimPrefix(m.Text, message.Switch))
	if m.Skill == "" {
		return j.says(ctx, m, s, phrase.In(m.Language,
			"Name a skill: /skill NAME. /skill full takes all tools, /skill auto "+
				"those of the phase or the agent. Now active: %s.", j.active(m, s))+workflow.Place(m.Language, s.Flow),
			yield)
	}
	skill, err := j.choice(m, s)
	if err != nil {
		return j.refuse(ctx, err, yield)
	}
	s.Skill = skill
	says := phrase.In(m.Language, "Now active: %s.", j.active(m, s))
	if skill != "" {
		says = phrase.In(m.Language, "The skill %s is active.", skill)
	}
	if s.Flow.Runs() {
		s.Flow = s.Flow.Clone()
		if s.Flow.Skill = skill; skill == "" {
			says = phrase.In(m.Language, "Each phase of the workflow %s has its own tools again.", s.Flow.Workflow)
			return j.says(ctx, m, s, says, yield)
		}
	}
	return j.says(ctx, m, s, says+workflow.Place(m.Language, s.Flow), yield)
}

// active names the skill that is active for the sender of a message, unless it is hidden from
// them: another member of a chat may have chosen it, and the agent may have one for others.
func (j *job) active(m message.Mail, s session.Session) string {
	m.Skill = ""
	skill := cmp.Or(j.engine.agents.Input(j.agent, m, s).Facts.Skill, catalog.Full)
	if slices.Contains(j.engine.agents.Visible(j.agent, m, s).HiddenSkills, skill) {
		return phrase.In(m.Language, "that of the agent")
	}
	return skill
}

// choice returns the skill that a person chose, which must exist for them; empty is [Auto].
func (j *job) choice(m message.Mail, s session.Session) (string, error) {
	if unknown := j.engine.agents.Roster.CheckSkill(m.Skill) != nil; unknown && m.Skill == message.Auto {
		return "", nil
	}
	return m.Skill, j.engine.agents.CheckNames(j.agent, m, s)
}

// says ends a message with a text that no model wrote, and stores what has changed.
func (j *job) says(
	ctx context.Context, m message.Mail, s session.Session, text string, yield func(turn.Event, error) bool,
) bool {
	return j.ends(ctx, m, s, turn.End{Reply: text}, yield)
}

// ends is says with more than a text.
func (j *job) ends(
	ctx context.Context, m message.Mail, s session.Session, done turn.End, yield func(turn.Event, error) bool,
) bool {
	if m.History == nil {
		end := store.End{
			ID: j.item.ID, Result: message.Result(&done, nil), Deliver: j.replies, Session: s.Key, State: s.State,
		}
		if err := j.engine.box.Write(ctx, end); err != nil {
			return j.refuse(ctx, err, yield)
		}
	}
	return yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}
