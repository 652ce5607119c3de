package schedule

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

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/order"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/store"
)

// ErrNoTask says that there is no task with an ID.
var ErrNoTask = errors.New("no such task")

const (
	// maxTasks is how many tasks there may be, maxStrange of all who are no persons of the
	// configuration and not the operator, and maxOwned of one person.
	maxTasks, maxStrange, maxOwned = 1000, 750, 50
)

// tasks and fired are the kinds of the records of tasks: what people say, and what the
// clock has done, so that neither undoes the other.
const tasks, fired = "task", "task-fired"

// firing is what the clock has done with a task.
type firing struct {
	Next time.Time `json:"next,omitzero"`
	Last time.Time `json:"last,omitzero"`
}

// Engine answers what is scheduled, see [engine.Engine].
type Engine interface {
	Agents() *agent.Agents
	Expire(ctx context.Context) error
	Now() time.Time
	Orders() *order.Orders
	Stopping() bool
	Store() store.Store
}

// Tasks are the tasks in the store of an engine. They are safe for concurrent use.
type Tasks struct{ engine Engine }

// NewTasks returns the tasks in the store of an engine.
func NewTasks(e Engine) *Tasks { return &Tasks{e} }

// Add stores a task, and returns it with its ID and when it runs first.
func (s *Tasks) Add(ctx context.Context, t Task) (Task, error) {
	now := s.engine.Now()
	if err := t.check(now); err != nil {
		return t, err
	}
	t.ID, t.Created = strings.ToLower(rand.Text()[:6]), now.Round(time.Second)
	o, err := s.engine.Orders().Check(t.order(now))
	if err != nil {
		return t, err
	}
	if strings.TrimSpace(t.Text) == "" {
		return t, engine.ErrEmpty
	}
	t.Text = s.engine.Agents().Secrets().Redactor().Text(t.Text)
	if t.Key == "" && t.Session == "" && t.Chat == "" && t.User == "" { // a guest has no conversation of its own
		t.Session = "task-" + t.ID
		o.Session, o.To = t.Session, ""
		if o, err = s.engine.Orders().Check(o); err != nil {
			return t, err
		}
	}
	t.Key = o.To
	if err := s.room(ctx, t, 1); err != nil {
		return t, err
	}
	if err := s.put(ctx, t); err != nil {
		return t, err
	}
	if err := s.room(ctx, t, 0); errors.Is(err, engine.ErrBusy) { // others were added at once
		_, gone := s.Remove(context.WithoutCancel(ctx), t.ID)
		return t, errors.Join(err, gone)
	}
	t.Next = t.after(t.Created)
	return t, nil
}

// AddFromTurn adds a task for the caller of the turn that calls a tool with the context, in the
// same conversation. The task may use what the caller may use both now and when it runs.
func (s *Tasks) AddFromTurn(ctx context.Context, t Task) (Task, error) {
	o, err := s.engine.Orders().New(ctx)
	if err != nil {
		return t, err
	}
	t.Agent, t.Session, t.Key, t.Caller, t.Bounds = o.Agent, "", o.To, o.Caller, o.Bounds
	return s.Add(ctx, t)
}

// room refuses a task if there would be too many with so many more.
func (s *Tasks) room(ctx context.Context, t Task, more int) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	// Of those without a name, the operator and each group have a share of their own.
	share := func(t Task) string { return cmp.Or(s.owner(t), route.Remembered(t.Key)) }
	stranger := func(t Task) bool {
		return s.sender(t).Kind() != identity.Person && !route.Operator(t.Key)
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
		return phrase.Errorf("%w: there are %d tasks of people whom etui does not know; at most %d are kept",
			engine.ErrBusy, strange, maxStrange)
	}
	if len(list)+more > maxTasks || owned+more > maxOwned {
		return phrase.Errorf("%w: there are %d tasks, %d of them of this user; at most %d and %d are kept",
			engine.ErrBusy, len(list), owned, maxTasks, maxOwned)
	}
	return nil
}

// sender returns who a task belongs to, by the configuration as it is now.
func (s *Tasks) sender(t Task) identity.Sender {
	return s.engine.Agents().Users().Sender(t.Channel, t.User)
}

// owner returns who a task belongs to, as [identity.Sender.Record] has it.
func (s *Tasks) owner(t Task) string { return s.sender(t).Record() }

func (s *Tasks) put(ctx context.Context, t Task) error {
	t.Next, t.Last = time.Time{}, time.Time{}
	raw, _ := json.Marshal(t) // texts and times
	return s.engine.Store().Put(ctx, tasks, t.ID, raw)
}

// List returns all tasks, in the order in which they run next; those that do not come
// last.
func (s *Tasks) List(ctx context.Context) ([]Task, error) {
	records, err := s.engine.Store().Records(ctx, tasks)
	if err != nil {
		return nil, err
	}
	done, err := s.firings(ctx)
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

func (s *Tasks) firings(ctx context.Context) (map[string]firing, error) {
	records, err := s.engine.Store().Records(ctx, fired)
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

// Of returns the tasks of the sender with some facts.
func (s *Tasks) Of(ctx context.Context, f chat.Facts) ([]Task, error) {
	list, err := s.List(ctx)
	return slices.DeleteFunc(list, func(t Task) bool {
		return s.owner(t) != f.Record() || f.Record() == "" && string(t.Key) != f.Session
	}), err
}

func (s *Tasks) get(ctx context.Context, id string) (Task, error) {
	list, err := s.List(ctx)
	if err != nil {
		return Task{}, err
	}
	i := slices.IndexFunc(list, func(t Task) bool { return t.ID == id })
	if i < 0 {
		return Task{}, fmt.Errorf("%q: %w", id, ErrNoTask)
	}
	return list[i], nil
}

// Pause makes the clock leave a task out, or not any more. The clock does not catch up on the
// times that came meanwhile.
func (s *Tasks) Pause(ctx context.Context, id string, paused bool) (Task, error) {
	t, err := s.get(ctx, id)
	if err != nil || t.Paused == paused {
		return t, err
	}
	t.Paused = paused
	if !paused {
		t.Next = t.after(s.engine.Now())
		if err := s.putFiring(ctx, t); err != nil {
			return t, err
		}
	}
	return t, s.put(ctx, t)
}

// Run has a task say its text now, whatever its times.
func (s *Tasks) Run(ctx context.Context, id string) (Task, error) {
	t, err := s.get(ctx, id)
	if err == nil {
		err = s.engine.Orders().Submit(ctx, t.order(s.engine.Now()))
	}
	return t, err
}

// Remove removes a task. A message that it has sent already is answered.
func (s *Tasks) Remove(ctx context.Context, id string) (Task, error) {
	t, err := s.get(ctx, id)
	for _, kind := range []string{tasks, fired} {
		if err == nil {
			_, err = s.engine.Store().Remove(ctx, kind, id)
		}
	}
	return t, err
}

// Erase removes the tasks of a person.
func (s *Tasks) Erase(ctx context.Context, names []string) (map[string]int, error) {
	list, err := s.List(ctx)
	n := 0
	for _, t := range list {
		if err == nil && slices.Contains(names, s.owner(t)) {
			_, err = s.Remove(ctx, t.ID)
			n++
		}
	}
	return map[string]int{"tasks": n}, err
}

func (s *Tasks) putFiring(ctx context.Context, t Task) error {
	raw, _ := json.Marshal(firing{t.Next, t.Last}) // times
	return s.engine.Store().Put(ctx, fired, t.ID, raw)
}
