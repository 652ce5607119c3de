package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

// change sends JSON to a gateway's API and returns the status and the answer.
func change(t *testing.T, g *engine.Gateway, method, path, body string, into any) int {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, r)
	must(t, json.Unmarshal(w.Body.Bytes(), into))
	return w.Code
}

// declared names the tools of a request to the model, but those for searching
// and switching.
func declared(r model.Request) string {
	var names []string
	for _, d := range r.Tools {
		if !selection.Meta(d.Name) {
			names = append(names, d.Name)
		}
	}
	return strings.Join(names, " ")
}

// TestControl: what is changed holds from the next turn on, in sessions that
// have begun, too.
func TestControl(t *testing.T) {
	g, m := newGateway(t, nil, fake.Step{}, fake.Step{}, fake.Step{}, fake.Step{})
	ask := func() (tools, system string) {
		t.Helper()
		if _, err := send(g, t.Context(), engine.Message{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		requests := m.Requests()
		last := requests[len(requests)-1]
		return declared(last), last.System
	}
	if tools, system := ask(); tools != "echo get_weather" || !strings.Contains(system, "- talking") {
		t.Errorf("at first %q\n%s", tools, system)
	}
	must(t, g.SetGroups("main", "world"))
	must(t, g.SetSkillsFilter("main", []string{catalog.Full}))
	if tools, system := ask(); tools != "get_weather" || strings.Contains(system, "talking") {
		t.Errorf("with fewer %q\n%s", tools, system)
	}
	must(t, g.SetGroups("main", " talk , world"))
	must(t, g.SetSkillsFilter("", nil))
	if tools, system := ask(); tools != "echo get_weather" || !strings.Contains(system, "- talking") {
		t.Errorf("with more %q\n%s", tools, system)
	}
	groups, err := g.Groups("")
	skills, err2 := g.SkillsFilter("main")
	if groups != "talk,world" || len(skills) != 0 || err != nil || err2 != nil {
		t.Errorf("%q, %v, %v, %v", groups, skills, err, err2)
	}
	for says, err := range map[string]error{
		`group "wrld": not found; did you mean "world"?`:     g.SetGroups("main", "talk,wrld"),
		`skill "talkin": not found; did you mean "talking"?`: g.SetSkillsFilter("main", []string{"talkin"}),
		`agent "mian": not found; did you mean "main"?`:      g.SetGroups("mian", ""),
	} {
		if err == nil || err.Error() != says {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// TestSkillsThatGo: an agent whose skill is taken away has nothing until it is
// given another one: what was closed stays closed.
func TestSkillsThatGo(t *testing.T) {
	var r *catalog.Registry
	g, m := newGateway(t, func(c *engine.Config) { r, c.Agents[0].Skill = c.Registry, "talking" }, fake.Step{}, fake.Step{}, fake.Step{})
	for i, want := range []string{"echo", "", "echo get_weather"} {
		switch i {
		case 1:
			_, err := r.SetSkills()
			must(t, err)
		case 2:
			must(t, g.SetSkill("main", catalog.Full))
		}
		if _, err := send(g, t.Context(), engine.Message{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		if got := declared(m.Requests()[i]); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

// TestGroupsRebuildTheFront: a session whose tools were chosen is given new ones
// in front when its agent's groups change, and not before.
func TestGroupsRebuildTheFront(t *testing.T) {
	g, m := newGateway(t, func(c *engine.Config) { c.Selection = selection.Config{Direct: -1} }, fake.Step{}, fake.Step{}, fake.Step{})
	for i, c := range []struct{ groups, text, want string }{
		{"", "say a word again", "echo"},
		{"", "tell the weather", "echo"},
		{"world,talk", "tell the weather", "get_weather echo"},
	} {
		must(t, g.SetGroups("main", c.groups))
		if _, err := send(g, t.Context(), engine.Message{Text: c.text}); err != nil {
			t.Fatal(err)
		}
		if got := declared(m.Requests()[i]); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

func TestFilterAndMessage(t *testing.T) {
	g, m := newGateway(t, func(c *engine.Config) {
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

// TestToldConversationsBeginTheSame: where the client tells the conversation
// anew with each message, the recommender's choices are made again, too.
func TestToldConversationsBeginTheSame(t *testing.T) {
	chooses := fake.New(fake.Step{Text: "skill:b"}, fake.Step{Text: "echo"})
	g, m := newGateway(t, func(c *engine.Config) {
		_, err := c.Registry.SetSkills(catalog.Skill{Name: "a", Description: "Weather"}, catalog.Skill{Name: "b", Description: "Weather"}, catalog.Skill{Name: "c", Description: "Words"})
		must(t, err)
		c.Selection = selection.Config{Direct: -1, Recommend: selection.Recommend{On: true}}
		c.Turn.Chooser = turn.NewChooser(chooses, 0, nil)
	}, fake.Step{Text: "sunny"}, fake.Step{Text: "ok"})
	told := []chat.Message{}
	for _, text := range []string{"the weather?", "say a word again"} {
		if _, err := send(g, t.Context(), engine.Message{Text: text, History: told}); err != nil {
			t.Fatal(err)
		}
		told = append(told, chat.Message{Role: chat.User, Text: text}, chat.Message{Role: chat.Assistant, Text: "sunny"})
	}
	first, second := m.Requests()[0], m.Requests()[1]
	if !strings.Contains(first.System, "- a: Weather\n- b: Weather\n\n") || second.System != first.System || declared(first) != declared(second) || first.Messages[0].Note != second.Messages[0].Note {
		t.Errorf("%+v\n%+v", first, second)
	}
	if note := second.Messages[2].Note; !strings.Contains(note, "- c: Words") {
		t.Errorf("note %q", note)
	}
	if s := g.Status().Agents[0]; s.Chooser.Asked != 1 || s.Chooser.Cached != 1 {
		t.Errorf("chooser %+v", s.Chooser)
	}
}

func TestControlOverHTTP(t *testing.T) {
	g, _ := newGateway(t, nil)
	var s engine.AgentStatus
	if code := change(t, g, http.MethodPut, "/api/agents/main", `{"groups":"world","skills":["talking"],"skill":"talking"}`, &s); code != http.StatusOK ||
		s.Groups != "world" || s.Tools != 1 || s.Skill != "talking" || len(s.Skills) != 1 || s.Strategy != "full" {
		t.Errorf("%d %+v", code, s)
	}
	var p engine.Problem
	if code := change(t, g, http.MethodPut, "/api/agents/main", `{"skills":[],"groups":"wrld"}`, &p); code != http.StatusNotFound || !strings.Contains(p.Error.Message, `did you mean "world"?`) {
		t.Errorf("%d %+v", code, p)
	}
	if code := change(t, g, http.MethodPut, "/api/agents/main", `{"grups":"world"}`, &p); code != http.StatusBadRequest || !strings.Contains(p.Error.Message, "nothing to change") {
		t.Errorf("%d %+v", code, p)
	}
	var list []engine.AgentStatus
	if change(t, g, http.MethodGet, "/api/agents", "", &list); len(list) != 2 || len(list[0].Skills) != 1 || list[1].Groups != "world" || list[1].Skill != catalog.Full {
		t.Errorf("a refused change changed something: %+v", list)
	}
	if change(t, g, http.MethodPut, "/api/agents/main", `{"skills":[],"groups":""}`, &s); s.Groups != "" || len(s.Skills) != 0 || s.Skill != "talking" {
		t.Errorf("%+v", s)
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
	g, _ := newGateway(t, func(c *engine.Config) {
		_, err := c.Registry.SetSkills(catalog.Skill{Name: "talking"}, catalog.Skill{Name: "travel"})
		must(t, err)
	}, steps...)
	settings := []string{`{"groups":"talk","skills":["talking"]}`, `{"groups":"world","skills":["travel"]}`}
	var s engine.AgentStatus
	change(t, g, http.MethodPut, "/api/agents/main", settings[0], &s)
	done := make(chan struct{})
	var changing, asking sync.WaitGroup
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				var s engine.AgentStatus
				change(t, g, http.MethodPut, "/api/agents/main", settings[i%2], &s)
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
