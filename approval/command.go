package approval

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// The commands with which people answer, as texts of messages on every channel: the ID of
// what waits, which may be left out where only one thing does, and then for how long an
// approval counts, or why a call is declined.
//
// Choose is what the buttons of a question say, with its ID and the answer: so a button that is
// pressed by somebody else, twice, or when the question is over, says nothing else.
const (
	Approve  = "/approve"
	Deny     = "/deny"
	Choose   = "/answer"
	Withdraw = "/withdraw" // by the one who asked
)

// Command is the text of a message that answers what waits.
type Command struct {
	ID, Rest string // Rest is the part after the ID
	Approved bool
	Chooses  bool // it answers a question
	// Withdraws says that the one who asked takes the call back.
	Withdraws bool
}

// Parse reads a message that begins with [Approve], [Deny], [Choose] or [Withdraw].
func Parse(text string) (c Command, ok bool) {
	command, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if command != Approve && command != Deny && command != Choose && command != Withdraw {
		return c, false
	}
	c.Approved, c.Chooses, c.Withdraws = command == Approve, command == Choose, command == Withdraw
	c.ID, c.Rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return c, true
}

// Resolve returns what a command answers and how. Waiting are the approvals of its own
// session, any of which it can mean without an ID if it is the only one.
func (s *Approvals) Resolve(ctx context.Context, own session.Session, c Command) (Approval, session.Answer, error) {
	var here []Approval
	for _, a := range own.Awaits {
		if a.For == session.Approval {
			here = append(here, Of(own, a))
		}
	}
	if slices.ContainsFunc(own.Awaits, func(a session.Await) bool { return a.For == session.SubAgent }) {
		all, err := s.List(ctx)
		if err != nil {
			return Approval{}, session.Answer{}, fmt.Errorf("%w: %w", store.ErrAway, err)
		}
		here = append(here, slices.DeleteFunc(all, func(a Approval) bool { return a.From != own.Key })...)
	}
	named := slices.IndexFunc(here, func(a Approval) bool { return a.ID == c.ID })
	var found Approval
	var err error
	switch lasts := session.Lasts(c.ID); {
	case named >= 0:
		found = here[named]
	case len(here) == 1 && !c.Chooses && (c.ID == "" || c.Approved && lasts.Known() || !c.Approved && !idLike(c.ID)):
		found, c.Rest = here[0], strings.TrimSpace(c.ID+" "+c.Rest)
	case c.ID == "" && len(here) > 1 && !c.Chooses:
		var ids []string
		for _, a := range here {
			ids = append(ids, a.ID)
		}
		err = phrase.Errorf("%d calls wait: name one of %s", len(here), strings.Join(ids, ", "))
	case c.ID == "":
		err = phrase.Errorf("nothing waits for an approval in this conversation")
	default:
		found, err = s.Get(ctx, c.ID)
	}
	said := session.Answer{Call: found.Call, ID: found.ID, Approved: c.Approved, Withdrawn: c.Withdraws, Reason: c.Rest}
	switch {
	case err != nil:
	case c.Chooses && found.Question != "" && c.Rest != "":
		return found, session.Answer{Call: found.Call, ID: found.ID, Approved: true, Text: found.Choice(c.Rest)}, nil
	case c.Chooses:
		err = phrase.Errorf("write %s, the ID of a question, and your answer; %s or %s decide about a call",
			Choose, Approve, Deny)
	case c.Approved && found.Question != "":
		err = phrase.Errorf("this is a question: write your answer")
	}
	if c.Approved {
		said.Lasts, said.Reason = session.Lasts(c.Rest), ""
		if err == nil {
			err = CheckLasts(said.Lasts)
		}
	}
	return found, said, err
}

// idLike reports whether a word can be the ID of an approval.
func idLike(word string) bool {
	return len(word) == turn.IDLength && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// CheckLasts refuses what does not say how long an approval lasts.
func CheckLasts(l session.Lasts) error {
	if l.Known() {
		return nil
	}
	return phrase.Errorf("%q is not how long an approval counts: leave it out for once, or write %s or %s",
		l, session.ForSession, session.Always)
}

// Choice is the answer to a question that a text means: a choice, if it is the number of one.
func (a Approval) Choice(text string) string {
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n > 0 && n <= len(a.Choices) {
		return a.Choices[n-1]
	}
	return text
}
