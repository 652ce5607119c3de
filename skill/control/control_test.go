package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/control"
)

type plain struct{ name, version string }

func (p plain) Name() string                                        { return p.name }
func (plain) Description() string                                   { return "Does something." }
func (plain) Parameters() skill.ParameterSchema                     { return nil }
func (p plain) Details() skill.Details                              { return skill.Details{Version: p.version} }
func (plain) Execute(context.Context, json.RawMessage) (any, error) { return nil, nil }

func tableOf(skills ...plain) *skill.Table {
	t := skill.NewTable(nil)
	for _, s := range skills {
		t.As("test", "").Replace(skill.Change{Source: s.name + s.version + ".yaml", Scope: skill.Workspace, Skills: []skill.Skill{s}})
	}
	return t
}

func state(t *testing.T, table *skill.Table, name string) (skill.State, string) {
	t.Helper()
	e, ok := table.Snapshot().Get(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return e.State, e.Why
}

// TestDecisions: a decision of one process is in effect in another one, now and
// after a restart, also for a skill that is loaded later.
func TestDecisions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "skills.json")
	table, other := tableOf(plain{"a", "1"}, plain{"a", "2"}), tableOf(plain{"a", "1"}, plain{"a", "2"})
	c, o := control.New(file, table, control.Limits{}, nil), control.New(file, other, control.Limits{}, nil)
	change := func(name string, f func(*skill.Decision)) {
		t.Helper()
		if err := c.Change(name, "ann", "leaks\nlogs", f); err != nil {
			t.Fatal(err)
		}
		o.Look()
	}
	change("a", func(d *skill.Decision) { d.State = skill.Disabled })
	change("later", func(d *skill.Decision) { d.State = skill.Disabled })
	for _, x := range []*skill.Table{table, other, func() *skill.Table {
		x := tableOf(plain{"a", ""})
		control.New(file, x, control.Limits{}, nil)
		return x
	}()} {
		if s, why := state(t, x, "a"); s != skill.Disabled || why != "disabled by ann: leaks logs" {
			t.Errorf("%s, %s", s, why)
		}
	}
	other.As("test", "").Replace(skill.Change{Source: "later.yaml", Skills: []skill.Skill{plain{"later", ""}}})
	if s, _ := state(t, other, "later"); s != skill.Disabled {
		t.Errorf("a skill that came later: %s", s)
	}
	change("a", func(d *skill.Decision) { d.State, d.Version = skill.Enabled, "1" })
	if e, _ := other.Snapshot().Get("a"); e.Details.Version != "1" || e.State != skill.Enabled {
		t.Errorf("%+v", e)
	}
	change("a", func(d *skill.Decision) { d.Removed, d.Version = []string{"a2.yaml"}, "" })
	if e, _ := other.Snapshot().Get("a"); e.Details.Version != "1" || len(e.Shadows) != 0 {
		t.Errorf("%+v", e)
	}
	change("a", func(d *skill.Decision) { *d = skill.Decision{} })
	if e, _ := other.Snapshot().Get("a"); e.Details.Version != "2" {
		t.Errorf("%+v", e)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// TestBroken: a file that cannot be read never enables anything.
func TestBroken(t *testing.T) {
	for _, text := range []string{"", "{", `{"version":2}`, `{"version":1,"skills":{"a":{"state":"off"}}}`, `{"version":1,"skils":{}}`, `{"version":1,"skills":{"a":{"sate":"disabled"}}}`} {
		file := filepath.Join(t.TempDir(), "skills.json")
		table := tableOf(plain{"a", ""}, plain{"b", ""})
		c := control.New(file, table, control.Limits{}, nil)
		if err := c.Change("a", "", "", func(d *skill.Decision) { d.State = skill.Disabled }); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Look()
		if s, _ := state(t, table, "a"); s != skill.Disabled || c.Err() == nil {
			t.Errorf("%q: %s, %v", text, s, c.Err())
		}
		if s, _ := state(t, table, "b"); s != skill.Enabled {
			t.Errorf("%q: the other one is %s", text, s)
		}
		if err := c.Change("b", "", "", func(d *skill.Decision) { d.State = skill.Disabled }); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: changed: %v", text, err)
		}
		begun := tableOf(plain{"b", ""})
		fresh := control.New(file, begun, control.Limits{}, nil)
		if s, why := state(t, begun, "b"); s != skill.Loaded || !strings.Contains(why, file) {
			t.Errorf("%q: at the start: %s, %s", text, s, why)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if c.Look(); c.Err() == nil {
			t.Errorf("%q: a missing file is no error", text)
		}
		if s, _ := state(t, table, "a"); s != skill.Disabled {
			t.Errorf("%q: gone: %s", text, s)
		}
		fresh.Look()
		if s, _ := state(t, begun, "b"); s != skill.Enabled {
			t.Errorf("%q: repaired: %s", text, s)
		}
	}
}

func TestLimits(t *testing.T) {
	table := tableOf(plain{"db_read", ""}, plain{"db_drop", ""}, plain{"mail", ""})
	c := control.New(filepath.Join(t.TempDir(), "skills.json"), table, control.Limits{Allow: []string{"db_*"}, Deny: []string{"*_drop"}}, nil)
	check := func(want ...skill.State) {
		t.Helper()
		for i, name := range []string{"db_read", "db_drop", "mail"} {
			if s, why := state(t, table, name); s != want[i] || (s == skill.Enabled) != (why == "") {
				t.Errorf("%s is %s: %s", name, s, why)
			}
		}
	}
	check(skill.Enabled, skill.Loaded, skill.Loaded)
	if err := c.Change("db_drop", "", "", func(d *skill.Decision) { d.State = skill.Enabled }); err != nil {
		t.Fatal(err)
	}
	check(skill.Enabled, skill.Loaded, skill.Loaded)
	c.Restrict(control.Limits{})
	check(skill.Enabled, skill.Enabled, skill.Enabled)
}

// TestTogether: concurrent changes are all kept.
func TestTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skills.json")
	var all sync.WaitGroup
	for _, name := range strings.Split("abcdefghij", "") {
		all.Go(func() {
			c := control.New(file, tableOf(), control.Limits{}, nil)
			if err := c.Change(name, "", "", func(d *skill.Decision) { d.State = skill.Disabled }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	raw, err := os.ReadFile(file)
	if err != nil || strings.Count(string(raw), "disabled") != 10 {
		t.Errorf("%v\n%s", err, raw)
	}
}

// together are decisions in memory that several controls share.
type together struct {
	mu      sync.Mutex
	said    map[string]json.RawMessage
	err     error
	changed []chan struct{}
}

func (s *together) Read(context.Context) (map[string]json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.said), s.err
}

func (s *together) Change(_ context.Context, name string, change func(json.RawMessage) (json.RawMessage, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	said, err := change(s.said[name])
	if err != nil {
		return err
	}
	s.said[name] = said
	for _, c := range s.changed {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return nil
}

func (s *together) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{}, 1)
	s.changed = append(s.changed, c)
	return c
}

// TestShared: a decision is in effect wherever the same ones are shared. If they cannot be
// read, the last ones stay in effect, and at the start nothing is enabled.
func TestShared(t *testing.T) {
	kept := &together{said: map[string]json.RawMessage{}}
	table, other := tableOf(plain{"a", "1"}), tableOf(plain{"a", "1"})
	c, o := control.NewShared(kept, table, control.Limits{}, nil), control.NewShared(kept, other, control.Limits{}, nil)
	disable := func(d *skill.Decision) { d.State = skill.Disabled }
	if err := c.Change("a", "ann", "leaks", disable); err != nil {
		t.Fatal(err)
	}
	o.Look()
	for _, x := range []*skill.Table{table, other} {
		if s, why := state(t, x, "a"); s != skill.Disabled || why != "disabled by ann: leaks" {
			t.Errorf("%s, %s", s, why)
		}
	}
	kept.err = errors.New("the database is away")
	o.Look()
	if s, _ := state(t, other, "a"); s != skill.Disabled || o.Err() == nil {
		t.Errorf("while the database is away: %s, %v", s, o.Err())
	}
	if err := c.Change("a", "ann", "", func(d *skill.Decision) { d.State = skill.Enabled }); err == nil {
		t.Error("a change was not refused")
	}
	third := tableOf(plain{"a", "1"}, plain{"b", "1"})
	begun := control.NewShared(kept, third, control.Limits{}, nil)
	if s, why := state(t, third, "b"); s == skill.Enabled || !strings.Contains(why, "database is away") {
		t.Errorf("a start without the database: %s, %s", s, why)
	}
	kept.err = nil
	begun.Look()
	if s, _ := state(t, third, "b"); s != skill.Enabled {
		t.Error("b is not enabled")
	}
}

// TestMove: the decisions of a file come to the shared ones, and disabled wins.
func TestMove(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skills.json")
	if err := os.WriteFile(file, []byte(`{"version":1,"skills":{"a":{"state":"disabled"},"b":{"state":"enabled"},"c":{"state":"disabled"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := &together{said: map[string]json.RawMessage{"b": json.RawMessage(`{"state":"disabled"}`), "c": json.RawMessage(`{"state":"enabled","version":"2"}`)}}
	for range 2 {
		if err := control.Move(t.Context(), file, kept); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a": "disabled", "b": "disabled", "c": "disabled2"} {
		var d skill.Decision
		if err := json.Unmarshal(kept.said[name], &d); err != nil || string(d.State)+d.Version != want {
			t.Errorf("%s: %+v, %v, want %s", name, d, err, want)
		}
	}
}
