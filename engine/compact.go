package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Compact is the text of a message that summarizes the conversation instead of running a
// turn, on every channel.
const Compact = "/compact"

// The commands that change a conversation, as texts of messages on every channel.
const (
	// Anew begins the conversation anew: what was said before stays in the store, and the model
	// does not see it any more.
	Anew = "/new"
	// Switch, and then the name of a skill or toolset, makes that one active; full is all.
	Switch = "/skill"
	// Auto in place of a name takes the choice back, unless a skill has that name: a phase of
	// a workflow has its own tools again, and other conversations the skill of the agent.
	Auto = "auto"
)

// commands reports whether a message says what is to become of its conversation, instead of
// being a part of it.
func (j *job) commands(m mail, s session.Session) bool {
	switch name, _, _ := strings.Cut(m.Text, " "); {
	case m.Workflow != "", name == Switch:
		return true
	case m.Text == Run:
		return s.Flow != nil || len(j.engine.Workflows().Names()) > 0
	}
	return m.Text == Compact || m.Text == Stop || m.Text == Anew
}

// ErrOpen says that a call of the conversation awaits approval.
var ErrOpen = errors.New("a call of this conversation awaits approval; answer it first")

// compact summarizes what is still sent of a session, and yields a reply that says so.
// The messages stay in the store.
func (j *job) compact(ctx context.Context, m mail, s session.Session, yield func(turn.Event, error) bool) bool {
	var done turn.Done
	switch {
	case m.History != nil:
		done.Reply = "The client keeps this conversation, so it cannot be summarized here."
	case s.Turn.ID != "":
		return j.refuse(ctx, ErrOpen, yield)
	default:
		m.Text, m.Files = "", nil
		state, left, usage := j.agent.runner.Compact(ctx, j.engine.input(j.agent, m, s))
		if err := context.Cause(ctx); err != nil {
			return j.refuse(ctx, fmt.Errorf("summarizing the conversation: %w", err), yield)
		}
		done.Usage, done.Reply = usage, "There is nothing to summarize."
		if left > 0 {
			done.Reply = fmt.Sprintf("The conversation so far, %d messages, is now a summary of about %d tokens. The messages are kept.", left, chat.Tokens(state.Summary))
		}
		end := store.End{ID: j.item.ID, Result: resultOf(&done, nil), Deliver: j.replies}
		if left > 0 {
			end.Session, end.State = s.Key, state
		}
		if err := j.engine.box.Write(ctx, end); err != nil {
			return j.refuse(ctx, fmt.Errorf("summarizing the conversation: %w", err), yield)
		}
	}
	return yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}

// anew begins the conversation anew.
func (j *job) anew(ctx context.Context, m mail, s session.Session, yield func(turn.Event, error) bool) bool {
	if s.Turn.ID != "" {
		return j.refuse(ctx, ErrOpen, yield)
	}
	if m.History != nil {
		return j.says(ctx, m, s, "The client keeps this conversation, so it begins anew there.", yield)
	}
	s.Sent, s.Summary, s.Front, s.Skill, s.Granted = session.None, "", session.Front{}, "", nil
	s.Declared, s.Directory, s.SkillList = nil, "", ""
	return j.says(ctx, m, s, "A new conversation.", yield)
}

// switchSkill makes a skill active in the conversation.
func (j *job) switchSkill(ctx context.Context, m mail, s session.Session, yield func(turn.Event, error) bool) bool {
	m.Skill = strings.TrimSpace(strings.TrimPrefix(m.Text, Switch))
	if m.Skill == "" {
		return j.says(ctx, m, s, "Name a skill: /skill NAME. "+Switch+" full takes all tools, "+Switch+" "+Auto+" those of the phase or the agent. Now active: "+j.active(m, s)+"."+inPhase(s.Flow), yield)
	}
	skill, err := j.choice(m, s)
	if err != nil {
		return j.refuse(ctx, err, yield)
	}
	s.Skill = skill
	says := "Now active: " + j.active(m, s) + "."
	if skill != "" {
		says = "The skill " + skill + " is active."
	}
	if s.Flow.Runs() {
		s.Flow = s.Flow.Clone()
		if s.Flow.Skill = skill; skill == "" {
			return j.says(ctx, m, s, fmt.Sprintf("Each phase of the workflow %s has its own tools again.", s.Flow.Workflow), yield)
		}
	}
	return j.says(ctx, m, s, says+inPhase(s.Flow), yield)
}

// active names the skill that is active for the sender of a message, unless it is hidden from
// them: another member of a chat may have chosen it, and the agent may have one for others.
func (j *job) active(m mail, s session.Session) string {
	m.Skill = ""
	skill := cmp.Or(j.engine.input(j.agent, m, s).Facts.Skill, catalog.Full)
	if slices.Contains(j.engine.seen(j.agent, m, s).HiddenSkills, skill) {
		return "that of the agent"
	}
	return skill
}

// choice returns the skill that a person chose, which must exist for them; empty is [Auto].
func (j *job) choice(m mail, s session.Session) (string, error) {
	if unknown := j.engine.roster.CheckSkill(m.Skill) != nil; unknown && m.Skill == Auto {
		return "", nil
	}
	return m.Skill, j.engine.named(j.agent, m, s)
}

// inPhase says which phase of a workflow a conversation is in, and who chose its tools.
func inPhase(f *session.Flow) string {
	switch {
	case !f.Runs():
		return ""
	case f.Skill != "":
		return fmt.Sprintf(" The workflow %s is in the phase %s and keeps to this skill, as a person chose.", f.Workflow, f.Phase)
	}
	return fmt.Sprintf(" It belongs to the phase %s of the workflow %s.", f.Phase, f.Workflow)
}

// says ends a message with a text that no model wrote, and stores what has changed.
func (j *job) says(ctx context.Context, m mail, s session.Session, text string, yield func(turn.Event, error) bool) bool {
	return j.ends(ctx, m, s, turn.Done{Reply: text}, yield)
}

// ends is says with more than a text.
func (j *job) ends(ctx context.Context, m mail, s session.Session, done turn.Done, yield func(turn.Event, error) bool) bool {
	if m.History == nil {
		end := store.End{ID: j.item.ID, Result: resultOf(&done, nil), Deliver: j.replies, Session: s.Key, State: s.State}
		if err := j.engine.box.Write(ctx, end); err != nil {
			return j.refuse(ctx, err, yield)
		}
	}
	return yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}
