package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// ErrNoTask says that there is no task with an ID.
var ErrNoTask = errors.New("no such task")

// CatchUp says what becomes of the times at which no process ran.
type CatchUp string

// The rules.
const (
	CatchOnce CatchUp = "once" // the task runs once for all of them; the default
	CatchSkip CatchUp = "skip" // they are left out
	CatchAll  CatchUp = "all"  // it runs for each, at most [maxCaught]
)

const (
	// maxTasks is how many tasks there may be, maxStrange of all who are no persons of the
	// configuration and not the operator, and maxOwned of one person.
	maxTasks, maxStrange, maxOwned = 1000, 750, 50
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
	// or a time: 2026-12-24T18:00, for a task that runs once.
	When string `json:"when"`
	// Zone is the time zone of When, as in Europe/Berlin; empty means that of the machine.
	Zone string `json:"zone,omitempty"`
	// CatchUp is what becomes of missed times; empty means once.
	CatchUp CatchUp `json:"catch_up,omitempty"`
	Paused  bool    `json:"paused,omitempty"`
	// Text is what it says. Agent, Session and the caller, its owner, are as in [Message].
	Text    string `json:"text"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	identity.Caller
	// Asked is what was true when somebody asked for the task in a conversation: it may use
	// only what was allowed then and is allowed when it runs. Nil for a task of an operator.
	Asked *asked `json:"asked,omitempty"`
	// Key is the conversation; the engine finds it when the task is added.
	Key     session.Key `json:"key,omitempty"`
	Created time.Time   `json:"created,omitzero"`
	// Next is when it runs next, and Last when it ran; zero if never. They are kept apart
	// from the rest, which people change.
	Next time.Time `json:"next,omitzero"`
	Last time.Time `json:"last,omitzero"`
}

// tasks and fired are the kinds of the records of tasks: what people say, and what the
// clock has done, so that neither undoes the other.
const tasks, fired = "task", "task-fired"

// firing is what the clock has done with a task.
type firing struct {
	Next time.Time `json:"next,omitzero"`
	Last time.Time `json:"last,omitzero"`
}

// once reads the time of a task that runs once.
func (t Task) once() (time.Time, bool) {
	zone := t.zone()
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, t.When, zone); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
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
	schedule, err := cron.ParseStandard(t.When)
	if err != nil {
		return time.Time{}
	}
	return schedule.Next(last.In(t.zone()))
}

// check refuses a task that could never run, or too often.
func (t Task) check(now time.Time) error {
	if _, err := time.LoadLocation(cmp.Or(t.Zone, "Local")); err != nil {
		return fmt.Errorf("%w: there is no time zone %q; names look like Europe/Berlin or UTC", ErrInvalid, t.Zone)
	}
	if !slices.Contains([]CatchUp{"", CatchOnce, CatchSkip, CatchAll}, t.CatchUp) {
		return fmt.Errorf("%w: catch_up is once, skip or all, not %q", ErrInvalid, t.CatchUp)
	}
	if at, ok := t.once(); ok {
		if !at.After(now) {
			return fmt.Errorf("%w: %s is in the past; it is %s now", ErrInvalid, t.When, now.In(t.zone()).Format("2006-01-02T15:04 MST"))
		}
		return nil
	}
	if strings.Contains(t.When, "TZ=") {
		return fmt.Errorf("%w: the time zone has a field of its own", ErrInvalid)
	}
	schedule, err := cron.ParseStandard(t.When)
	if err != nil {
		return fmt.Errorf("%w: %q is neither a time such as 2026-12-24T18:00 nor a cron expression such as \"0 9 * * 1-5\" or \"@every 2h\": %w", ErrInvalid, t.When, err)
	}
	if every, ok := schedule.(cron.ConstantDelaySchedule); ok && every.Delay < time.Minute {
		return fmt.Errorf("%w: %q is more often than once a minute", ErrInvalid, t.When)
	}
	if schedule.Next(now).IsZero() {
		return fmt.Errorf("%w: %q never comes", ErrInvalid, t.When)
	}
	return nil
}

// message is what the clock says for the task at a time.
func (t Task) message(due time.Time) mail {
	return mail{To: t.Key, Asked: t.Asked, Message: Message{
		Text:  fmt.Sprintf("(scheduled task %s, due %s)\n%s", t.ID, due.In(t.zone()).Format("2006-01-02 15:04 MST"), t.Text),
		Agent: t.Agent, Session: t.Session, Background: true,
		IdempotencyKey: fmt.Sprintf("task-%s-%d", t.ID, due.Unix()),
	}}.from(t.Caller)
}

// AddTask stores a task, and returns it with its ID and when it runs first.
func (e *Engine) AddTask(ctx context.Context, t Task) (Task, error) {
	now := e.config.Now()
	if err := t.check(now); err != nil {
		return t, err
	}
	t.ID, t.Created = strings.ToLower(rand.Text()[:6]), now.Round(time.Second)
	a, m, err := e.ready(t.message(now))
	if err != nil {
		return t, err
	}
	if strings.TrimSpace(t.Text) == "" {
		return t, ErrEmpty
	}
	t.Text = e.config.Turn.Secrets.Redactor().Text(t.Text)
	if t.Key == "" {
		if m.Session == "" && m.Chat == "" && m.User == "" { // a guest has no conversation of its own
			t.Session = "task-" + t.ID
			m.Session = t.Session
		}
		t.Key = e.key(a, m)
	}
	if err := checkKey(t.Key); err != nil {
		return t, err
	}
	if err := e.room(ctx, t, 1); err != nil {
		return t, err
	}
	if err := e.putTask(ctx, t); err != nil {
		return t, err
	}
	if err := e.room(ctx, t, 0); errors.Is(err, ErrBusy) { // others were added at once
		_, gone := e.RemoveTask(context.WithoutCancel(ctx), t.ID)
		return t, errors.Join(err, gone)
	}
	t.Next = t.after(t.Created)
	return t, nil
}

// room refuses a task if there would be too many with so many more.
func (e *Engine) room(ctx context.Context, t Task, more int) error {
	list, err := e.Tasks(ctx)
	if err != nil {
		return err
	}
	// Of those without a name, the operator and each group have a share of their own.
	share := func(t Task) string { return cmp.Or(e.taskOwner(t), route.Remembered(t.Key)) }
	stranger := func(t Task) bool {
		return e.sender(mail{}.from(t.Caller)).Kind() != identity.Person && !route.Operator(t.Key)
	}
	owned, strange := 0, 0
	for _, other := range list {
		if share(other) == share(t) {
			owned++
		}
		if stranger(other) {
			strange++
		}
	}
	if stranger(t) && strange+more > maxStrange {
		return fmt.Errorf("%w: there are %d tasks of people whom etui does not know; at most %d are kept", ErrBusy, strange, maxStrange)
	}
	if len(list)+more > maxTasks || owned+more > maxOwned {
		return fmt.Errorf("%w: there are %d tasks, %d of them of this user; at most %d and %d are kept", ErrBusy, len(list), owned, maxTasks, maxOwned)
	}
	return nil
}

// taskOwner returns who a task belongs to, as [identity.Sender.Record] has it.
func (e *Engine) taskOwner(t Task) string {
	return e.sender(mail{}.from(t.Caller)).Record()
}

func (e *Engine) putTask(ctx context.Context, t Task) error {
	t.Next, t.Last = time.Time{}, time.Time{}
	raw, _ := json.Marshal(t) // texts and times
	return e.config.Store.Put(ctx, tasks, t.ID, raw)
}

// Tasks returns all tasks, in the order in which they run next; those that do not come
// last.
func (e *Engine) Tasks(ctx context.Context) ([]Task, error) {
	records, err := e.config.Store.Records(ctx, tasks)
	if err != nil {
		return nil, err
	}
	done, err := e.firings(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Task, len(records))
	for i, r := range records {
		t := &list[i]
		if err := json.Unmarshal(r.Value, t); err != nil {
			return nil, fmt.Errorf("task %s cannot be read: %w", r.Key, err)
		}
		f, known := done[t.ID]
		if t.Next, t.Last = f.Next, f.Last; !known {
			t.Next = t.after(t.Created)
		}
	}
	slices.SortStableFunc(list, func(a, b Task) int {
		if a.Next.IsZero() != b.Next.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.Next.IsZero()]
		}
		return a.Next.Compare(b.Next)
	})
	return list, nil
}

func (e *Engine) firings(ctx context.Context) (map[string]firing, error) {
	records, err := e.config.Store.Records(ctx, fired)
	done := map[string]firing{}
	for _, r := range records {
		var f firing
		if err == nil {
			err = json.Unmarshal(r.Value, &f)
		}
		done[r.Key] = f
	}
	return done, err
}

// TasksOf returns the tasks of the sender with some facts.
func (e *Engine) TasksOf(ctx context.Context, f chat.Facts) ([]Task, error) {
	list, err := e.Tasks(ctx)
	return slices.DeleteFunc(list, func(t Task) bool {
		return e.taskOwner(t) != f.Record() || f.Record() == "" && string(t.Key) != f.Session
	}), err
}

func (e *Engine) task(ctx context.Context, id string) (Task, error) {
	list, err := e.Tasks(ctx)
	if err != nil {
		return Task{}, err
	}
	i := slices.IndexFunc(list, func(t Task) bool { return t.ID == id })
	if i < 0 {
		return Task{}, fmt.Errorf("%q: %w", id, ErrNoTask)
	}
	return list[i], nil
}

// PauseTask makes the clock leave a task out, or not any more. What comes while it is
// paused is not caught up.
func (e *Engine) PauseTask(ctx context.Context, id string, paused bool) (Task, error) {
	t, err := e.task(ctx, id)
	if err != nil || t.Paused == paused {
		return t, err
	}
	t.Paused = paused
	if !paused {
		t.Next = t.after(e.config.Now())
		if err := e.putFiring(ctx, t); err != nil {
			return t, err
		}
	}
	return t, e.putTask(ctx, t)
}

// RunTask has a task say its text now, whatever its times.
func (e *Engine) RunTask(ctx context.Context, id string) (Task, error) {
	t, err := e.task(ctx, id)
	if err == nil {
		err = e.send(ctx, t.message(e.config.Now()))
	}
	return t, err
}

// RemoveTask removes a task. What it has said already is answered.
func (e *Engine) RemoveTask(ctx context.Context, id string) (Task, error) {
	t, err := e.task(ctx, id)
	for _, kind := range []string{tasks, fired} {
		if err == nil {
			_, err = e.config.Store.Remove(ctx, kind, id)
		}
	}
	return t, err
}

func (e *Engine) putFiring(ctx context.Context, t Task) error {
	raw, _ := json.Marshal(firing{t.Next, t.Last}) // times
	return e.config.Store.Put(ctx, fired, t.ID, raw)
}

// send accepts a message of the clock, and has it answered in the background.
func (e *Engine) send(ctx context.Context, m mail) error {
	a, m, err := e.ready(m)
	if err != nil {
		return err
	}
	return e.submit(ctx, e.key(a, m), m)
}

// runDue sends the messages of the tasks that are due. A message is accepted before the
// task moves on, under a key made of the task and the time, so that it is accepted once,
// however many processes look and whatever ends them in between.
func (e *Engine) runDue(ctx context.Context) error {
	list, err := e.Tasks(ctx)
	if err != nil {
		return err
	}
	now, errs := e.config.Now(), []error(nil)
	for _, t := range list {
		if t.Last.After(now) { // the clock was set back
			if next := t.after(now); next.Before(t.Next) {
				t.Next, t.Last = next, now
				if err := e.putFiring(ctx, t); err != nil {
					errs = append(errs, err)
				}
			}
		}
		if t.Next.IsZero() || t.Next.After(now) {
			continue
		}
		if err := e.runTask(ctx, t, now); err != nil {
			errs = append(errs, fmt.Errorf("task %s: %w", t.ID, err))
		}
	}
	return errors.Join(errs...)
}

// passing reports whether what the clock failed to send is to be tried again, because the engine,
// and not the message, is the cause.
func passing(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, ErrStore) || errors.Is(err, ErrStopping) || ctx.Err() != nil)
}

// runTask sends the messages of a task that is due, and moves it on.
func (e *Engine) runTask(ctx context.Context, t Task, now time.Time) error {
	for _, due := range t.due(now) {
		err := e.send(ctx, t.message(due))
		if passing(ctx, err) {
			return err
		}
		if err != nil { // its agent is gone, say: the next time may be better
			e.config.Log.ErrorContext(ctx, "a task could not run", "task", t.ID, "error", err)
		}
		t.Last = due
	}
	if _, once := t.once(); once && !t.Paused {
		_, err := e.RemoveTask(ctx, t.ID)
		return err
	}
	t.Next = t.after(now)
	return e.putFiring(ctx, t)
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

// Schedule adds a task for the caller of the turn that calls a tool with the context, in the
// same conversation. The task may use what the caller may use both now and when it runs.
func (e *Engine) Schedule(ctx context.Context, t Task) (Task, error) {
	f := tool.Caller(ctx)
	s, err := e.config.Store.Load(ctx, session.Key(f.Session), 1)
	if err != nil {
		return t, fmt.Errorf("%w: %w", ErrStore, err)
	}
	if s.Turn.ID == "" {
		return t, errors.New("there is no conversation to come back to")
	}
	_, m, err := e.begun(s)
	if err != nil {
		return t, err
	}
	now := e.facts(m, e.Catalog())
	if now.Sender != f.Sender || now.Channel != f.Channel || now.Chat != f.Chat || !slices.Equal(now.PlatformRoles, f.PlatformRoles) {
		return t, errors.New("somebody else's message is being answered in this conversation; try again when it is")
	}
	t.Agent, t.Session, t.Key, t.Caller = f.Agent, "", s.Key, m.Caller()
	t.Asked = &asked{Facts: f, Include: m.Include, Exclude: m.Exclude, IncludeSkills: m.IncludeSkills, ExcludeSkills: m.ExcludeSkills}
	if m.Asked != nil {
		t.Asked.First = cmp.Or(m.Asked.First, m.Asked)
	}
	return e.AddTask(ctx, t)
}
