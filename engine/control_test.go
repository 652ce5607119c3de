package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/chooser"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/store"
)

// TestControl: a change applies from the next turn on, also in sessions that have
// begun.
func TestControl(t *testing.T) {
	g, m := newEngine(t, nil, fake.Step{}, fake.Step{}, fake.Step{}, fake.Step{}, fake.Step{})
	for i, c := range []struct {
		groups string
		skills []string
		tools  string
		lists  bool // talking
	}{
		{"", []string{}, "echo get_weather", true},
		{"world", []string{catalog.Full}, "get_weather", false},
		{" talk , world", []string{}, "echo get_weather", true},
		{"talk", []string{catalog.None}, "echo", false},
		{"talk,world", []string{}, "echo get_weather", true},
	} {
		must(t, g.Agents().Roster.Change(t.Context(), "main", roster.Change{Groups: &c.groups, Skills: c.skills}))
		if _, err := send(g, t.Context(), engine.Message{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		if got := declared(m.Requests()[i]); got != c.tools {
			t.Errorf("groups %q: tools %q, want %q", c.groups, got, c.tools)
		}
		if got := strings.Contains(m.Requests()[i].System, "- talking"); got != c.lists {
			t.Errorf("skills %q: the prompt lists talking: %v, want %v", c.skills, got, c.lists)
		}
	}
	now, err := g.Agents().Status("")
	must(t, err)
	if now.Groups != "talk,world" {
		t.Errorf("groups %q", now.Groups)
	}
	if len(now.Skills) != 0 {
		t.Errorf("skills %q", now.Skills)
	}
}

// TestRefusedControl: a refused change changes nothing.
func TestRefusedControl(t *testing.T) {
	g, _ := newEngine(t, nil)
	for says, err := range map[string]error{
		`group "wrld": not found; did you mean "world"?`:                            g.Agents().Roster.Change(t.Context(), "main", roster.Change{Groups: new("talk,wrld")}),
		`skill "talkin": not found; did you mean "talking"?`:                        g.Agents().Roster.Change(t.Context(), "main", roster.Change{Skills: []string{"talkin"}}),
		`agent "mian": not found; did you mean "main"?`:                             g.Agents().Roster.Change(t.Context(), "mian", roster.Change{Groups: new("")}),
		`"none" means no skill, and cannot be in a list with others: none, talking`: g.Agents().Roster.Change(t.Context(), "main", roster.Change{Skills: []string{catalog.None, "talking"}}),
		`skill "nope": not found`:                                                   g.Agents().Roster.Change(t.Context(), "main", roster.Change{Skill: new(catalog.Full), Skills: []string{"nope"}}),
	} {
		if err == nil || err.Error() != says {
			t.Errorf("%v, want %s", err, says)
		}
	}
	now, err := g.Agents().Status("main")
	must(t, err)
	if now.Groups != "" || len(now.Skills) != 0 {
		t.Errorf("groups %q, skills %q", now.Groups, now.Skills)
	}
}

// TestGroupsRebuildTheFront: the tools in front of a session are chosen again when
// its agent's groups change, and not before.
func TestGroupsRebuildTheFront(t *testing.T) {
	g, m := newEngine(t, func(c *engine.Config) { c.Selection = selection.Config{Direct: -1} }, fake.Step{}, fake.Step{}, fake.Step{})
	for i, c := range []struct{ groups, text, want string }{
		{"", "say a word again", "echo"},
		{"", "tell the weather", "echo"},
		{"world,talk", "tell the weather", "get_weather echo"},
	} {
		must(t, g.Agents().Roster.Change(t.Context(), "main", roster.Change{Groups: &c.groups}))
		if _, err := send(g, t.Context(), engine.Message{Text: c.text}); err != nil {
			t.Fatal(err)
		}
		if got := declared(m.Requests()[i]); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

func TestFilterAndMessage(t *testing.T) {
	g, m := newEngine(t, func(c *engine.Config) {
		_, err := c.Registry.SetSkills(catalog.Skill{Name: "a"}, catalog.Skill{Name: "b"}, catalog.Skill{Name: "c"})
		must(t, err)
		c.Agents[0].Skills = []string{"a", "b"}
	}, fake.Step{}, fake.Step{}, fake.Step{}, fake.Step{})
	for i, c := range []struct {
		include, exclude []string
		want             string
	}{
		{nil, nil, "- a\n- b"}, {[]string{"b", "c"}, nil, "- b"}, {nil, []string{"a"}, "- b"}, {[]string{"c"}, nil, ""},
	} {
		if _, err := send(g, t.Context(), engine.Message{Text: "x", IncludeSkills: c.include, ExcludeSkills: c.exclude}); err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(m.Requests()[i].System, "use_skill takes up:\n")
		if list != c.want {
			t.Errorf("%v without %v: %q, want %q", c.include, c.exclude, list, c.want)
		}
	}
}

// TestToldConversationsBeginTheSame: when the client sends the conversation with
// each message, the recommender makes the same choices for it again.
func TestToldConversationsBeginTheSame(t *testing.T) {
	chooses := fake.New(fake.Step{Text: "skill:b"}, fake.Step{Text: "echo"})
	g, m := newEngine(t, func(c *engine.Config) {
		_, err := c.Registry.SetSkills(catalog.Skill{Name: "a", Description: "Weather"}, catalog.Skill{Name: "b", Description: "Weather"}, catalog.Skill{Name: "c", Description: "Words"})
		must(t, err)
		c.Selection = selection.Config{Direct: -1, Recommend: selection.Recommend{On: true}}
		c.Turn.Chooser = chooser.New(chooses, 0, nil)
	}, fake.Step{Text: "sunny"}, fake.Step{Text: "ok"})
	told := []chat.Message{}
	for _, text := range []string{"the weather?", "say a word again"} {
		if _, err := send(g, t.Context(), engine.Message{Text: text, History: told}); err != nil {
			t.Fatal(err)
		}
		told = append(told, chat.Message{Role: chat.User, Text: text}, chat.Message{Role: chat.Assistant, Text: "sunny"})
	}
	first, second := m.Requests()[0], m.Requests()[1]
	if !strings.Contains(first.System, "- a: Weather\n- b: Weather\n\n") {
		t.Errorf("the first system prompt is %q", first.System)
	}
	if second.System != first.System {
		t.Errorf("the second system prompt is %q, want %q", second.System, first.System)
	}
	if first, second := declared(first), declared(second); first != second {
		t.Errorf("declared %q, then %q", first, second)
	}
	if first, second := first.Messages[0].Note, second.Messages[0].Note; first != second {
		t.Errorf("the first note is %q, then %q", first, second)
	}
	if note := second.Messages[2].Note; !strings.Contains(note, "- c: Words") {
		t.Errorf("note %q", note)
	}
	s, err := g.Agents().Status("")
	must(t, err)
	if s.Chooser.Asked != 1 || s.Chooser.Cached != 1 {
		t.Errorf("the chooser was asked %d times and remembered %d times, want 1 and 1", s.Chooser.Asked, s.Chooser.Cached)
	}
}

// TestControlsAreConsistent: while an agent is changed in one step again and
// again, each turn sees one of its settings, never parts of two.
func TestControlsAreConsistent(t *testing.T) {
	const turns = 300
	steps := make([]fake.Step, turns)
	for i := range steps {
		steps[i].Check = func(r model.Request) error {
			talks, world := strings.Contains(r.System, "- talking"), strings.Contains(r.System, "- travel")
			if tools := declared(r); talks == world || talks != (tools == "echo") || world != (tools == "get_weather") {
				return fmt.Errorf("tools %q with\n%s", tools, r.System)
			}
			return nil
		}
	}
	g, _ := newEngine(t, func(c *engine.Config) {
		_, err := c.Registry.SetSkills(catalog.Skill{Name: "talking"}, catalog.Skill{Name: "travel"})
		must(t, err)
	}, steps...)
	settings := []roster.Change{{Groups: new("talk"), Skills: []string{"talking"}}, {Groups: new("world"), Skills: []string{"travel"}}}
	must(t, g.Agents().Roster.Change(t.Context(), "main", settings[0]))
	done := make(chan struct{})
	var changing, asking sync.WaitGroup
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				if err := g.Agents().Roster.Change(t.Context(), "main", settings[i%2]); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 10 {
		asking.Go(func() {
			for j := range turns / 10 {
				if _, err := send(g, t.Context(), engine.Message{Text: "hello", Session: fmt.Sprint(i, j/3)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	asking.Wait()
	close(done)
	changing.Wait()
}

// TestControlsAreKept: what people change of an agent outlives the engine, until the
// configuration of that agent changes.
func TestControlsAreKept(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	next := func(groups string) agent.Status {
		g, _ := newEngine(t, func(c *engine.Config) { c.Store, c.Agents[0].Groups = kept, groups })
		now, err := g.Agents().Status("main")
		must(t, err)
		return now
	}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
	must(t, g.Agents().Roster.Change(t.Context(), "main", roster.Change{Groups: new("world")}))
	must(t, g.Agents().Roster.SetSkill(t.Context(), "main", "talking"))
	if now := next(""); now.Groups != "world" || now.Skill != "talking" {
		t.Errorf("after a restart: %+v", now)
	}
	if now := next("talk"); now.Groups != "talk" || now.Skill != catalog.Full {
		t.Errorf("after a change of the configuration: %+v", now)
	}
}
