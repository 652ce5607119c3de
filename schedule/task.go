// Package schedule sends messages at their time: tasks of people, and the heartbeat. A task has
// the rights of its owner, those of the moment at which it was asked for and those of the moment at
// which it runs. Each message is sent once, however many processes look at the clock.
package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/order"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
)

// CatchUp says what becomes of the times at which no process ran.
type CatchUp string

// The rules.
const (
	CatchOnce CatchUp = "once" // the task runs once for all of them; the default
	CatchSkip CatchUp = "skip" // they are left out
	CatchAll  CatchUp = "all"  // it runs for each, at most [maxCaught]
)

const (
	// maxCaught is how many missed times are caught up; the oldest are left out.
	maxCaught = 24
	// missed is how late a task may run and still be in time.
	missed = time.Minute
)

// Task is a message that the clock sends, in the name of its owner and with the owner's
// rights of that moment. Its reply is in its conversation.
type Task struct {
	ID string `json:"id"`
	// When is a cron expression - minute, hour, day, month, weekday, or @daily, @every 2h -
	// or a time: 2026-12-24T18:00, or one of RFC 3339, for a task that runs once.
	When string `json:"when"`
	// Zone is the time zone of When, as in Europe/Berlin; empty means that of the machine.
	Zone string `json:"zone,omitempty"`
	// CatchUp is what becomes of missed times; empty means once.
	CatchUp CatchUp `json:"catch_up,omitempty"`
	Paused  bool    `json:"paused,omitempty"`
	// Text is what it says. Agent, Session and the caller, its owner, are as in
	// [engine.Message].
	Text    string `json:"text"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	identity.Caller
	// Bounds are what was true when somebody asked for the task in a conversation: it may use
	// only what was allowed then and is allowed when it runs. Nil for a task of an operator.
	Bounds *message.Bounds `json:"asked,omitempty"`
	// Key is the conversation; the engine finds it when the task is added.
	Key     session.Key `json:"key,omitempty"`
	Created time.Time   `json:"created,omitzero"`
	// Next is when it runs next, and Last when it ran; zero if never. They are kept apart
	// from the rest, which people change.
	Next time.Time `json:"next,omitzero"`
	Last time.Time `json:"last,omitzero"`
}

// once reads the time of a task that runs once.
func (t Task) once() (time.Time, bool) {
	at, onWall, ok := parseTime(t.When)
	if onWall {
		return fromWall(at, t.zone()), true
	}
	return at.In(t.zone()), ok
}

func (t Task) zone() *time.Location {
	if zone, err := time.LoadLocation(cmp.Or(t.Zone, "Local")); err == nil {
		return zone
	}
	return time.UTC
}

// after returns the first time after another at which the task runs; zero if there is
// none.
func (t Task) after(last time.Time) time.Time {
	if at, ok := t.once(); ok {
		if at.After(last) {
			return at
		}
		return time.Time{}
	}
	p, err := parsePlan(t.When)
	if err != nil {
		return time.Time{}
	}
	return p.after(last, t.zone())
}

// check refuses a task that could never run, or too often.
func (t Task) check(now time.Time) error {
	if _, err := time.LoadLocation(cmp.Or(t.Zone, "Local")); err != nil {
		return phrase.Errorf("%w: there is no time zone %q; names look like Europe/Berlin or UTC",
			engine.ErrInvalid, t.Zone)
	}
	if !slices.Contains([]CatchUp{"", CatchOnce, CatchSkip, CatchAll}, t.CatchUp) {
		return phrase.Errorf("%w: catch_up is once, skip or all, not %q", engine.ErrInvalid, t.CatchUp)
	}
	if at, ok := t.once(); ok {
		if !at.After(now) {
			return phrase.Errorf("%w: %s is in the past; it is %s now",
				engine.ErrInvalid, t.When, now.In(t.zone()).Format("2006-01-02T15:04 MST"))
		}
		return nil
	}
	if strings.Contains(t.When, "TZ=") {
		return phrase.Errorf("%w: the time zone has a field of its own", engine.ErrInvalid)
	}
	p, err := parsePlan(t.When)
	if err != nil {
		return phrase.Errorf("%w: %q is neither a time such as 2026-12-24T18:00 nor a cron expression such as \"0 9 * * 1-5\" or \"@every 2h\": %w", engine.ErrInvalid, t.When, err)
	}
	if every, ok := p.cron.(cron.ConstantDelaySchedule); ok && every.Delay < time.Minute {
		return phrase.Errorf("%w: %q is more often than once a minute", engine.ErrInvalid, t.When)
	}
	if p.after(now, t.zone()).IsZero() {
		return phrase.Errorf("%w: %q never comes", engine.ErrInvalid, t.When)
	}
	return nil
}

// order is what the clock says for the task at a time.
func (t Task) order(due time.Time) order.Order {
	at := due.In(t.zone()).Format("2006-01-02 15:04 MST")
	return order.Order{Caller: t.Caller, To: t.Key, Bounds: t.Bounds, Message: engine.Message{
		Text:  fmt.Sprintf("(scheduled task %s, due %s)\n%s", t.ID, at, t.Text),
		Agent: t.Agent, Session: t.Session, Background: true,
		IdempotencyKey: fmt.Sprintf("task-%s-%d", t.ID, due.Unix()),
	}}
}

// due returns the times up to now at which a task runs now.
func (t Task) due(now time.Time) (list []time.Time) {
	if t.Paused {
		return nil
	}
	from := t.Next
	if recent := t.after(now.AddDate(0, -1, 0)); recent.After(from) && !recent.After(now) {
		from = recent // not every minute of ten years
	}
	for at := from; !at.IsZero() && !at.After(now); at = t.after(at) {
		if list = append(list, at); len(list) > maxCaught {
			list = list[1:]
		}
	}
	last := list[len(list)-1]
	switch {
	case t.CatchUp == CatchAll:
		return list
	case t.CatchUp == CatchSkip && now.Sub(last) > missed:
		return nil
	}
	return []time.Time{last}
}
