package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// clock is a time that tests set.
type clock struct{ now atomic.Pointer[time.Time] }

func newClock(text string) *clock {
	c := &clock{}
	c.set(text)
	return c
}

func (c *clock) set(text string) {
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	c.now.Store(&at)
}

func (c *clock) Now() time.Time { return *c.now.Load() }

// place is an engine with its tasks and its clock.
type place struct {
	*engine.Engine

	tasks *schedule.Tasks
	clock *schedule.Clock
}

// newPlace makes an engine with a heartbeat.
func newPlace(tb testing.TB, h schedule.Heartbeat, change func(*engine.Config), steps ...fake.Step) (*place, *fake.Model) {
	tb.Helper()
	m := fake.New(steps...)
	r := catalog.NewRegistry(nil)
	must(tb, r.RegisterWithFilter(
		tool.Func(tool.Definition{Name: "admin_only", Description: "Restart everything"}, func(context.Context, struct{}) (string, error) { return "done", nil }),
		func(f chat.Facts) bool { return f.HasRole("admin") }))
	cfg := engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}}
	change(&cfg)
	g, err := engine.New(cfg)
	must(tb, err)
	return &place{g, schedule.NewTasks(g), schedule.NewClock(g, h, nil)}, m
}

func newEngine(tb testing.TB, change func(*engine.Config), steps ...fake.Step) (*place, *fake.Model) {
	tb.Helper()
	return newPlace(tb, schedule.Heartbeat{}, change, steps...)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func send(t *testing.T, g *place, m engine.Message) {
	t.Helper()
	for _, err := range g.Send(t.Context(), m) {
		must(t, err)
	}
}

func idle(t *testing.T, g *place) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	g.Wait(ctx)
	must(t, ctx.Err())
}

// timed makes an engine with a clock and a store.
func timed(t *testing.T, c *clock, kept store.Store, replies int) (*place, *fake.Model) {
	t.Helper()
	var steps []fake.Step
	for i := range replies {
		steps = append(steps, fake.Step{Text: fmt.Sprintf("reply %d", i)})
	}
	return newEngine(t, func(cfg *engine.Config) { cfg.Now, cfg.Store = c.Now, kept }, steps...)
}

// said returns what was said in the conversation of a task.
func said(t *testing.T, kept store.Store, task schedule.Task) (list []string) {
	t.Helper()
	s, err := kept.Load(t.Context(), task.Key, 0)
	must(t, err)
	for _, m := range s.Messages {
		if m.Role == chat.User {
			list = append(list, m.Text)
		}
	}
	return list
}

func tick(t *testing.T, engines ...*place) {
	t.Helper()
	var all sync.WaitGroup
	for _, g := range engines {
		all.Go(func() {
			if err := g.clock.Tick(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, g := range engines {
		idle(t, g)
	}
}

// A task runs once at its time, in its time zone, however many processes look and however
// the clock jumps.
func TestTaskRunsOnce(t *testing.T) {
	t.Parallel()
	kept, now := &store.Memory{}, newClock("2026-03-02 07:00:00") // a Monday
	a, _ := timed(t, now, kept, 9)
	b, _ := timed(t, now, kept, 9)
	task, err := a.tasks.Add(t.Context(), schedule.Task{When: "0 9 * * 1-5", Zone: "Europe/Berlin", Text: "what is on today?", Caller: identity.Caller{User: "ann"}})
	must(t, err)
	if want := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC); !task.Next.Equal(want) {
		t.Errorf("it runs next %v, want %v", task.Next, want)
	}
	for _, at := range []string{"07:59:59", "08:00:00", "08:00:01", "07:30:00", "08:00:00", "08:10:00"} {
		now.set("2026-03-02 " + at)
		tick(t, a, b)
	}
	want := "(scheduled task " + task.ID + ", due 2026-03-02 09:00 CET)\nwhat is on today?"
	if got := said(t, kept, task); len(got) != 1 || got[0] != want {
		t.Errorf("said %q, want %q once", got, want)
	}
	now.set("2026-03-03 08:00:30")
	tick(t, a, b)
	if got := said(t, kept, task); len(got) != 2 {
		t.Errorf("the next day: %q", got)
	}
}

// A clock that is a year ahead for a moment does not silence a task for a year.
func TestTaskAfterAWrongClock(t *testing.T) {
	t.Parallel()
	kept, now := &store.Memory{}, newClock("2026-03-02 07:00:00")
	g, _ := timed(t, now, kept, 9)
	task, err := g.tasks.Add(t.Context(), schedule.Task{When: "0 9 * * *", Zone: "UTC", Text: "x", Caller: identity.Caller{User: "ann"}})
	must(t, err)
	for _, at := range []string{"2027-03-02 10:00:00", "2026-03-02 08:00:00", "2026-03-02 09:00:00", "2026-03-02 09:00:01"} {
		now.set(at)
		tick(t, g)
	}
	if got := said(t, kept, task); len(got) != 2 {
		t.Errorf("said %q, want it twice", got)
	}
}

// The catch-up rule says what becomes of the times at which nothing ran.
func TestTaskCatchesUp(t *testing.T) {
	t.Parallel()
	for rule, want := range map[schedule.CatchUp]string{"": "11:00", schedule.CatchOnce: "11:00", schedule.CatchSkip: "", schedule.CatchAll: "09:00 10:00 11:00"} {
		kept, now := &store.Memory{}, newClock("2026-03-02 08:30:00")
		g, _ := timed(t, now, kept, 9)
		task, err := g.tasks.Add(t.Context(), schedule.Task{When: "@hourly", Zone: "UTC", Text: "x", CatchUp: rule, Caller: identity.Caller{User: "ann"}})
		must(t, err)
		now.set("2026-03-02 11:45:00")
		g, _ = timed(t, now, kept, 9) // another process
		tick(t, g)
		tick(t, g)
		var got []string
		for _, text := range said(t, kept, task) {
			got = append(got, strings.Fields(text)[5])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("rule %q: said at %q, want %q", rule, got, want)
		}
		now.set("2026-03-02 12:00:05")
		tick(t, g)
		if n := len(said(t, kept, task)); n != len(got)+1 {
			t.Errorf("rule %q: then said %d times, want %d", rule, n, len(got)+1)
		}
	}
}

// forgetful is a store that loses what the clock has done, once.
type forgetful struct {
	*store.Memory
	failures atomic.Int32
}

func (f *forgetful) Put(ctx context.Context, kind, key string, value json.RawMessage) error {
	if kind == "task-fired" && f.failures.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return f.Memory.Put(ctx, kind, key, value)
}

// A process that ends between sending and noting that it did sends once.
func TestTaskSurvives(t *testing.T) {
	t.Parallel()
	kept, now := &forgetful{Memory: &store.Memory{}}, newClock("2026-03-02 08:30:00")
	kept.failures.Store(2)
	g, _ := timed(t, now, kept, 9)
	task, err := g.tasks.Add(t.Context(), schedule.Task{When: "@hourly", Zone: "UTC", Text: "x", Caller: identity.Caller{User: "ann"}})
	must(t, err)
	now.set("2026-03-02 09:00:00")
	for i := range 4 {
		if err := g.clock.Tick(t.Context()); (err != nil) != (i < 2) {
			t.Errorf("look %d: %v", i, err)
		}
		idle(t, g)
	}
	if got := said(t, kept.Memory, task); len(got) != 1 {
		t.Errorf("said %q, want it once", got)
	}
}

// A task that runs once is gone after that; one that is paused does not run, and what it
// missed is not caught up; one can be run at any time and removed.
func TestTasksChange(t *testing.T) {
	t.Parallel()
	kept, now := &store.Memory{}, newClock("2026-03-02 08:30:00")
	g, _ := timed(t, now, kept, 9)
	once, err := g.tasks.Add(t.Context(), schedule.Task{When: "2026-03-02T10:15", Zone: "UTC", Text: "once", Caller: identity.Caller{User: "ann"}})
	must(t, err)
	hourly, err := g.tasks.Add(t.Context(), schedule.Task{When: "@hourly", Zone: "UTC", Text: "hourly", CatchUp: schedule.CatchAll, Caller: identity.Caller{User: "bob"}})
	must(t, err)
	_, err = g.tasks.Pause(t.Context(), hourly.ID, true)
	must(t, err)
	now.set("2026-03-02 10:20:00")
	tick(t, g)
	_, err = g.tasks.Pause(t.Context(), hourly.ID, false)
	must(t, err)
	tick(t, g)
	if a, b := said(t, kept, once), said(t, kept, hourly); len(a) != 1 || len(b) != 0 {
		t.Errorf("said %q and %q", a, b)
	}
	if list, err := g.tasks.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != hourly.ID {
		t.Errorf("tasks: %+v, %v", list, err)
	}
	_, err = g.tasks.Run(t.Context(), hourly.ID)
	must(t, err)
	idle(t, g)
	_, err = g.tasks.Remove(t.Context(), hourly.ID)
	must(t, err)
	now.set("2026-03-02 13:00:00")
	tick(t, g)
	if b := said(t, kept, hourly); len(b) != 1 {
		t.Errorf("said %q, want it once", b)
	}
	for _, err := range []error{
		func() error { _, err := g.tasks.Pause(t.Context(), hourly.ID, true); return err }(),
		func() error { _, err := g.tasks.Run(t.Context(), hourly.ID); return err }(),
		func() error { _, err := g.tasks.Remove(t.Context(), hourly.ID); return err }(),
	} {
		if !errors.Is(err, schedule.ErrNoTask) {
			t.Errorf("a removed task: %v", err)
		}
	}
}

// A task that somebody asked for may use what they might use then, and still may when it
// runs.
func TestTaskHasItsOwnersRights(t *testing.T) {
	t.Parallel()
	kept, now := &store.Memory{}, newClock("2026-03-02 08:30:00")
	var role atomic.Value
	role.Store("admin")
	var g *place
	call := fake.Step{Calls: []chat.Call{fake.Call("1", "schedule", "{}")}}
	g, m := newEngine(t, func(c *engine.Config) {
		c.Now, c.Store = now.Now, kept
		c.Users = func(*catalog.Catalog) *identity.Users {
			users, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"web:7"}, Roles: []string{role.Load().(string)}}})
			must(t, err)
			return users
		}
		must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "schedule", Description: "Do it later"}, func(ctx context.Context, _ struct{}) (string, error) {
			task, err := g.tasks.AddFromTurn(ctx, schedule.Task{When: "@hourly", Zone: "UTC", Text: "restart everything"})
			return task.ID, err
		})))
	}, call, fake.Step{Text: "later"}, fake.Step{Text: "1"}, fake.Step{Text: "2"}, call, fake.Step{Text: "later"}, fake.Step{Text: "3"})
	ask := func() schedule.Task {
		t.Helper()
		send(t, g, engine.Message{Channel: "web", User: "7", Text: "restart everything every hour"})
		list, err := g.tasks.Of(t.Context(), chat.Facts{User: "ann", Sender: "ann"})
		must(t, err)
		if len(list) != 1 || list[0].User != "7" {
			t.Fatalf("the tasks of ann: %+v", list)
		}
		return list[0]
	}
	offered := func(hour int) bool {
		t.Helper()
		now.set(fmt.Sprintf("2026-03-02 %02d:00:00", hour))
		tick(t, g)
		requests := m.Requests()
		last := requests[len(requests)-1]
		return strings.Contains(fmt.Sprint(last.Tools, last.System), "admin_only")
	}
	task := ask()
	if !offered(9) {
		t.Error("an admin who asked as an admin is offered nothing")
	}
	role.Store("guest")
	if offered(10) {
		t.Error("a task keeps a right that its owner has lost")
	}
	if got := said(t, kept, task); len(got) != 3 {
		t.Errorf("said %q", got)
	}
	if list, err := g.tasks.Of(t.Context(), chat.Facts{User: "bob", Sender: "bob"}); err != nil || len(list) != 0 {
		t.Errorf("bob's tasks: %+v, %v", list, err)
	}
	if f, err := g.tasks.Erase(t.Context(), g.Agents().Users().Names("ann")); err != nil || f["tasks"] != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if list, err := g.tasks.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("tasks of a forgotten person: %+v, %v", list, err)
	}
	ask()
	role.Store("admin")
	if offered(11) {
		t.Error("a task has a right that its owner had not when they asked")
	}
}

// A task that a task asks for may not use what the person who asked for the first one might not,
// though its owner has gained rights meanwhile.
func TestTaskOfATask(t *testing.T) {
	t.Parallel()
	kept, now := &store.Memory{}, newClock("2026-03-02 08:30:00")
	var role atomic.Value
	role.Store("guest")
	var g *place
	call := fake.Step{Calls: []chat.Call{fake.Call("1", "schedule", "{}")}}
	g, m := newEngine(t, func(c *engine.Config) {
		c.Now, c.Store = now.Now, kept
		c.Users = func(*catalog.Catalog) *identity.Users {
			users, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"web:7"}, Roles: []string{role.Load().(string)}}})
			must(t, err)
			return users
		}
		must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "schedule", Description: "Do it later"}, func(ctx context.Context, _ struct{}) (string, error) {
			task, err := g.tasks.AddFromTurn(ctx, schedule.Task{When: now.Now().Add(time.Hour).Format(time.RFC3339), Text: "restart everything"})
			return task.ID, err
		})))
	}, call, fake.Step{Text: "later"}, call, fake.Step{Text: "still later"}, call, fake.Step{Text: "later yet"}, fake.Step{Text: "3"})
	send(t, g, engine.Message{Channel: "web", User: "7", Text: "restart everything in an hour"})
	role.Store("admin")
	for _, hour := range []string{"09:30:00", "10:30:00", "11:30:00"} {
		now.set("2026-03-02 " + hour)
		tick(t, g)
	}
	requests := m.Requests()
	if len(requests) != 7 {
		t.Fatalf("the model was asked %d times, want 7", len(requests))
	}
	for i, r := range requests {
		if strings.Contains(fmt.Sprint(r.Tools, r.System), "admin_only") {
			t.Errorf("request %d offers what the one who asked might not use", i)
		}
	}
}

// What somebody schedules by calling the tool themselves is not done in the name of the member
// whose message is being answered in the group.
func TestScheduledInNoOthersName(t *testing.T) {
	t.Parallel()
	hold, begun := make(chan struct{}), make(chan struct{})
	var g *place
	g, _ = newEngine(t, func(c *engine.Config) {
		must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "schedule", Description: "Do it later"}, func(ctx context.Context, _ struct{}) (string, error) {
			task, err := g.tasks.AddFromTurn(ctx, schedule.Task{When: "@hourly", Text: "restart everything"})
			return task.ID, err
		})))
		must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "work", Description: "Work long"}, func(context.Context, struct{}) (string, error) {
			close(begun)
			<-hold
			return "done", nil
		})))
	}, fake.Step{Calls: []chat.Call{fake.Call("1", "work", `{}`)}}, fake.Step{Text: "done"})
	room := engine.Message{Channel: "web", Chat: "room", User: "bob", Text: "work"}
	var all sync.WaitGroup
	all.Go(func() {
		send(t, g, room)
	})
	<-begun
	for _, user := range []string{"ann", ""} {
		room.User = user
		if result, err := g.Call(t.Context(), room, "schedule", []byte(`{}`)); !result.Failed {
			t.Errorf("%q has scheduled %q, %v", user, result.Text, err)
		}
	}
	close(hold)
	all.Wait()
	if list, err := g.tasks.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the tasks are %+v, %v", list, err)
	}
}

func TestTasksRefused(t *testing.T) {
	t.Parallel()
	g, _ := timed(t, newClock("2026-03-02 08:30:00"), &store.Memory{}, 0)
	for says, task := range map[string]schedule.Task{
		"is neither a time such as": {When: "soon", Text: "x"},
		`the day of the week is "8"; it may be 0 to 7, where 0 and 7 are Sunday`: {When: "0 9 * * 8", Text: "x"},
		`the minute is "60"; it may be 0 to 59`:                                  {When: "60 9 * * 1", Text: "x"},
		`the month is "foo"; it may be 1 to 12, or jan to dec`:                   {When: "0 9 1 foo *", Text: "x"},
		`it has 4 fields, and a cron expression has five`:                        {When: "0 9 * *", Text: "x"},
		"it may be @hourly":                {When: "@sometimes", Text: "x"},
		"is in the past":                   {When: "2026-03-02T08:30", Zone: "UTC", Text: "x"},
		"is more often than once a minute": {When: "@every 10s", Text: "x"},
		"never comes":                      {When: "0 0 31 2 *", Text: "x"},
		`there is no time zone "Berlin"`:   {When: "@daily", Zone: "Berlin", Text: "x"},
		"has a field of its own":           {When: "CRON_TZ=UTC @daily", Text: "x"},
		`not "never"`:                      {When: "@daily", CatchUp: "never", Text: "x"},
		"the message is empty":             {When: "@daily", Text: " "},
		`agent "nope": not found`:          {When: "@daily", Text: "x", Agent: "nope"},
	} {
		if _, err := g.tasks.Add(t.Context(), task); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want it to say %q", task, err, says)
		}
	}
	for i := range 51 {
		if _, err := g.tasks.Add(t.Context(), schedule.Task{When: "@daily", Text: "x", Caller: identity.Caller{User: "ann"}}); errors.Is(err, engine.ErrBusy) != (i == 50) {
			t.Errorf("task %d: %v", i, err)
		}
		if _, err := g.tasks.Add(t.Context(), schedule.Task{When: "@daily", Text: "x", Session: fmt.Sprint(i), Caller: identity.Caller{Channel: "shop"}}); errors.Is(err, engine.ErrBusy) != (i == 50) {
			t.Errorf("task %d of guests: %v", i, err)
		}
	}
	if _, err := g.tasks.Add(t.Context(), schedule.Task{When: "@daily", Text: "x", Caller: identity.Caller{Channel: "cli"}}); err != nil {
		t.Errorf("guests leave no place for the operator: %v", err)
	}
}

// The heartbeat runs in a conversation of its own and without what was said there, once
// for all processes; an empty one is left out.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	kept, now := &store.Memory{}, newClock("2026-03-02 08:31:00")
	var text atomic.Value
	text.Store("look at the mail")
	h := schedule.Heartbeat{Every: 30 * time.Minute, Text: func() (string, error) { return text.Load().(string), nil }}
	make := func() (*place, *fake.Model) {
		return newPlace(t, h, func(c *engine.Config) { c.Now, c.Store = now.Now, kept }, fake.Step{Text: "1"}, fake.Step{Text: "2"}, fake.Step{Text: "3"})
	}
	a, m := make()
	b, n := make()
	for _, at := range []string{"08:31:00", "08:59:59", "09:00:00", "09:00:01", "09:29:00", "09:31:00"} {
		now.set("2026-03-02 " + at)
		tick(t, a, b)
	}
	text.Store("")
	now.set("2026-03-02 10:00:00")
	tick(t, a, b)
	requests := append(m.Requests(), n.Requests()...)
	if len(requests) != 2 {
		t.Fatalf("the models were asked %d times, want 2", len(requests))
	}
	for i, r := range requests {
		if len(r.Messages) != 1 || r.Messages[0].Text != "look at the mail" {
			t.Errorf("request %d has %+v", i, r.Messages)
		}
	}
	w, err := a.Agents().Whoami(engine.Message{Session: "heartbeat"})
	must(t, err)
	s, err := kept.Load(t.Context(), w.Session, 0)
	must(t, err)
	if len(s.Messages) != 4 {
		t.Errorf("the conversation has %d messages, want 4", len(s.Messages))
	}
}

// A clock that is a year ahead for a moment does not silence the heartbeat for a year, and a
// text that cannot be sent does not keep it from the next one.
func TestHeartbeatGoesOn(t *testing.T) {
	t.Parallel()
	kept, now := &store.Memory{}, newClock("2026-03-02 08:31:00")
	text := "one"
	h := schedule.Heartbeat{Every: 30 * time.Minute, Text: func() (string, error) { return text, nil }}
	g, m := newPlace(t, h, func(c *engine.Config) { c.Now, c.Store, c.MaxMessage = now.Now, kept, 10 }, fake.Step{Text: "1"}, fake.Step{Text: "2"}, fake.Step{Text: "3"})
	tick(t, g)
	for _, at := range []string{"2027-03-02 10:00:00", "2026-03-02 09:00:00", "2026-03-02 09:00:01"} {
		now.set(at)
		tick(t, g)
	}
	text = "much too long for a message"
	now.set("2026-03-02 09:30:00")
	tick(t, g)
	text = "two"
	for _, at := range []string{"2026-03-02 09:30:01", "2026-03-02 10:00:00"} {
		now.set(at)
		tick(t, g)
	}
	var got []string
	for _, r := range m.Requests() {
		got = append(got, r.Messages[0].Text)
	}
	if strings.Join(got, " ") != "one one two" {
		t.Errorf("the model was asked %q", got)
	}
}

// together is a store in which several tasks are added at once: each has seen those before.
type together struct {
	*store.Memory
	at   int
	adds atomic.Int32
	all  chan struct{}
}

func (m *together) Put(ctx context.Context, kind, key string, value json.RawMessage) error {
	if n := int(m.adds.Add(1)); n == m.at {
		close(m.all)
	} else if n > m.at-3 {
		<-m.all
	}
	return m.Memory.Put(ctx, kind, key, value)
}

// No user has more tasks than may be, also if several are added at once.
func TestTasksAreBounded(t *testing.T) {
	t.Parallel()
	kept := &together{Memory: &store.Memory{}, at: 52, all: make(chan struct{})}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
	add := func() error {
		_, err := g.tasks.Add(t.Context(), schedule.Task{When: "@hourly", Text: "look", Caller: identity.Caller{User: "ann"}})
		return err
	}
	for range 49 {
		must(t, add())
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if err := add(); err != nil && !errors.Is(err, engine.ErrBusy) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := g.tasks.List(t.Context()); err != nil || len(list) > 50 {
		t.Errorf("%d tasks, %v", len(list), err)
	}
}

// TestTasksOfStrangers: people whom etui does not know do not use up the tasks of all.
func TestTasksOfStrangers(t *testing.T) {
	kept := &store.Memory{}
	users, err := identity.New([]identity.User{{Name: "bob"}})
	must(t, err)
	g, _ := newEngine(t, func(c *engine.Config) {
		c.Store, c.Users = kept, func(*catalog.Catalog) *identity.Users { return users }
	})
	task := func(channel, user string) schedule.Task {
		return schedule.Task{When: "@every 1h", Text: "x", Caller: identity.Caller{Channel: channel, User: user}}
	}
	for i := range 749 { // as AddTask stores them, which takes its time
		one := task("irc", fmt.Sprint("eve", i/50))
		one.ID = fmt.Sprint(i)
		raw, err := json.Marshal(one)
		must(t, err)
		must(t, kept.Put(t.Context(), "task", one.ID, raw))
	}
	_, err = g.tasks.Add(t.Context(), task("irc", "mallory"))
	must(t, err)
	if _, err := g.tasks.Add(t.Context(), task("irc", "mallory")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("the 751st task of strangers: %v", err)
	}
	for _, one := range []schedule.Task{task("api", "bob"), task("", "")} {
		if _, err := g.tasks.Add(t.Context(), one); err != nil {
			t.Errorf("%+v: %v", one.Caller, err)
		}
	}
}
