package skill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// ability is a callable skill that says which one it is.
type ability struct {
	name, says string
	details    skill.Details
	closed     atomic.Bool
	block      chan struct{} // calls wait for it; may be nil
}

func (a *ability) Name() string                      { return a.name }
func (a *ability) Description() string               { return "Says\u200b\n what it is." }
func (a *ability) Parameters() skill.ParameterSchema { return nil }
func (a *ability) Details() skill.Details            { return a.details }
func (a *ability) Close() error                      { a.closed.Store(true); return nil }
func (a *ability) Execute(context.Context, json.RawMessage) (any, error) {
	if a.block != nil {
		<-a.block
	}
	return a.says, nil
}

// manual is a skill with instructions.
type manual struct{ ability }

func (m *manual) Read(_ context.Context, file string) (string, error) { return m.says + file, nil }

// remote brings tools.
type remote struct {
	ability
	events  func(string)
	tools   atomic.Pointer[[]tool.Tool]
	changed func()
}

func (r *remote) Run(ctx context.Context, changed func()) {
	r.events("run " + r.says)
	r.changed = changed
	<-ctx.Done()
	r.events("end " + r.says)
}

func (r *remote) Tools() []tool.Tool {
	if list := r.tools.Load(); list != nil {
		return *list
	}
	return nil
}

// tools is what a catalog holds, in a line.
func tools(r *catalog.Registry) string {
	var list []string
	for e := range r.Catalog().All() {
		list = append(list, e.Definition.Source+":"+e.Definition.Name)
	}
	for _, t := range r.Catalog().Skills() {
		if t.Name != catalog.Full {
			list = append(list, fmt.Sprintf("%s%v", t.Name, t.Tools))
		}
	}
	for _, u := range r.Catalog().Unavailable() {
		list = append(list, u.Name+"("+u.Reason+")")
	}
	return strings.Join(list, " ")
}

func candidates(name string) tool.Tool {
	return tool.Func(tool.Definition{Name: name, Description: "A tool."}, func(context.Context, struct{}) (chat.Result, error) { return tool.Text("own"), nil })
}

func call(t *testing.T, r *catalog.Registry, name string) (string, error) {
	t.Helper()
	e, ok := r.Catalog().Get(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	result, err := e.Run(t.Context(), json.RawMessage(`{}`))
	return result.Text, err
}

func replace(table *skill.Table, skills ...skill.Skill) {
	for _, s := range skills {
		table.As("test", "").Replace(skill.Change{Source: s.Name() + ".yaml", Scope: skill.Workspace, Skills: []skill.Skill{s}})
	}
}

func TestPublish(t *testing.T) {
	r, table := catalog.NewRegistry(nil), skill.NewTable(nil)
	if err := r.Register(candidates("taken")); err != nil {
		t.Fatal(err)
	}
	var used []string
	p := skill.Publish(table, r, skill.PublishConfig{Observe: func(ctx context.Context, u skill.Use, run func(context.Context) error) error {
		err := run(ctx)
		used = append(used, fmt.Sprintf("%s/%s %s %v", u.Skill, u.Tool, u.Arguments, err))
		return err
	}})
	defer p.Close()
	replace(table, &ability{name: "echo", says: "one"}, &ability{name: "taken", says: "not me"},
		&manual{ability{name: "guide", says: "How to.", details: skill.Details{Tools: []string{"taken"}}}},
		&ability{name: "needy", details: skill.Details{Unmet: []string{"needs ffmpeg"}}}, &ability{name: "off"})
	if err := table.As("ann", "too risky").Disable("off"); err != nil {
		t.Fatal(err)
	}
	want := ":taken skill:echo guide[taken] needy(unmet: needs ffmpeg) off(disabled by ann: too risky)"
	if got := tools(r); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	guide, _ := r.Catalog().Skill("guide")
	same(t, "the description", guide.Description, "Says what it is.")
	if text, err := guide.Read(t.Context(), "!"); text != "How to.!" || err != nil {
		t.Errorf("%q %v, described as %q", text, err, guide.Description)
	}
	if got, err := call(t, r, "taken"); got != "own" || err != nil {
		t.Errorf("the program's tool is replaced: %q %v", got, err)
	}

	// A turn keeps its catalog, but not skills that may no longer be used.
	held, _ := r.Catalog().Get("echo")
	replace(table, &ability{name: "other", says: "x"})
	if now, _ := r.Catalog().Get("echo"); now.Registration != held.Registration {
		t.Error("what did not change was made anew")
	}
	replace(table, &ability{name: "echo", says: "two"})
	if got, err := held.Run(t.Context(), json.RawMessage(`{}`)); got.Text != "one" || err != nil {
		t.Errorf("a skill that was replaced: %q %v", got.Text, err)
	}
	if got, err := call(t, r, "echo"); got != "two" || err != nil {
		t.Errorf("its replacement: %q %v", got, err)
	}
	_ = table.Disable("echo")
	if _, err := held.Run(t.Context(), json.RawMessage(`{}`)); !errors.Is(err, skill.ErrDisabled) {
		t.Errorf("a disabled skill: %v", err)
	}
	if _, ok := r.Catalog().Get("echo"); ok {
		t.Error("a disabled skill is in the catalog")
	}
	_ = table.Unregister("guide")
	if _, err := guide.Read(t.Context(), ""); !errors.Is(err, skill.ErrNotFound) {
		t.Errorf("a removed skill: %v", err)
	}
	if want := []string{`guide/ {"file":"!"} <nil>`, "echo/echo {} <nil>", "echo/echo {} <nil>"}; !slices.Equal(used[:3], want) {
		t.Errorf("used %q", used)
	}
}

// TestPublishServer: a server runs while it is enabled, and one at a time.
func TestPublishServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, table := catalog.NewRegistry(nil), skill.NewTable(nil)
		p := skill.Publish(table, r, skill.PublishConfig{})
		var mu sync.Mutex
		var got []string
		event := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, s)
		}
		start := func(says string) *remote {
			s := &remote{ability: ability{name: "git", says: says}, events: event}
			replace(table, s)
			synctest.Wait()
			return s
		}
		first := start("1")
		list := []tool.Tool{candidates("push"), candidates("pull")}
		first.tools.Store(&list)
		first.changed()
		event(tools(r))
		before, _ := r.Catalog().Get("push")
		list = []tool.Tool{list[0]}
		first.tools.Store(&list)
		first.changed()
		event(tools(r))
		if now, _ := r.Catalog().Get("push"); now.Registration != before.Registration {
			t.Error("a tool that did not change was made anew")
		}
		start("2")
		first.changed() // without an effect: the server is stopped
		event(tools(r))
		if _, err := before.Run(t.Context(), json.RawMessage(`{}`)); !errors.Is(err, skill.ErrProviderUnavailable) {
			t.Errorf("a tool of a server that was replaced: %v", err)
		}
		_ = table.Disable("git")
		synctest.Wait()
		_ = table.Enable("git")
		synctest.Wait()
		replace(table, &ability{name: "git", says: "no server"})
		synctest.Wait()
		event(tools(r))
		start("3")
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		event(tools(r))
		want := []string{"run 1", ":push :pull git[push pull]", ":push git[push]", "end 1", "run 2", "git(its server offers no tools now)", "end 2", "run 2", "end 2", "skill:git", "run 3", "end 3", ""}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

// TestPublishCloses replaced skills, when no turn holds them anymore and no call
// runs.
func TestPublishCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, table := catalog.NewRegistry(nil), skill.NewTable(nil)
		p := skill.Publish(table, r, skill.PublishConfig{})
		first, second := &ability{name: "a", says: "1", block: make(chan struct{})}, &ability{name: "a", says: "2"}
		replace(table, first)
		held, _ := r.Catalog().Get("a")
		var said chat.Result
		go func() { said, _ = held.Run(t.Context(), json.RawMessage(`{}`)) }()
		synctest.Wait()
		_ = table.Disable("a")
		_ = table.Enable("a")
		replace(table, second)
		time.Sleep(10 * time.Minute)
		if first.closed.Load() {
			t.Error("closed while a call runs")
		}
		close(first.block)
		synctest.Wait()
		if !first.closed.Load() {
			t.Error("first.closed.Load() is false, want true")
		}
		if said.Text != "1" {
			t.Errorf("said.Text = %q, want %q", said.Text, "1")
		}
		if second.closed.Load() {
			t.Error("second.closed.Load() is true, want false")
		}
		if _, err := held.Run(t.Context(), json.RawMessage(`{}`)); !errors.Is(err, skill.ErrProviderUnavailable) {
			t.Errorf("a call of what is closed: %v", err)
		}
		if _ = p.Close(); !second.closed.Load() {
			t.Error("closing the publisher leaves a skill open")
		}
	})
}

// TestPublishWhileUsed: readers and callers go on while skills change.
func TestPublishWhileUsed(t *testing.T) {
	r, table := catalog.NewRegistry(nil), skill.NewTable(nil)
	p := skill.Publish(table, r, skill.PublishConfig{})
	var done atomic.Bool
	var using sync.WaitGroup
	for range 4 {
		using.Go(func() {
			for !done.Load() {
				for e := range r.Catalog().All() {
					if _, err := e.Run(t.Context(), json.RawMessage(`{}`)); err != nil && skill.Status(err) == 500 {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range 300 {
		name := fmt.Sprint("s", i%7)
		replace(table, &ability{name: name, says: fmt.Sprint(i)})
		if i%3 == 0 {
			_ = table.Disable(name)
		} else {
			_ = table.Enable(name)
		}
	}
	done.Store(true)
	using.Wait()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkPublishOneOf10000(b *testing.B) {
	r, table := catalog.NewRegistry(nil), skill.NewTable(nil)
	p := skill.Publish(table, r, skill.PublishConfig{})
	defer p.Close()
	var changes []skill.Change
	for i := range 10_000 {
		s := &ability{name: fmt.Sprint("s", i)}
		changes = append(changes, skill.Change{Source: s.name, Skills: []skill.Skill{s}})
	}
	table.As("bench", "").Replace(changes...)
	b.ResetTimer()
	for b.Loop() {
		replace(table, &ability{name: "s5000", says: "again"})
	}
}
