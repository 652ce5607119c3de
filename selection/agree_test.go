package selection_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// house makes a catalog with filters, rules, channels and skills, and returns the names
// of its tools.
func house(t *testing.T) (*catalog.Catalog, []string) {
	r := catalog.NewRegistry(nil)
	var names []string
	for i, verb := range []string{"open", "close", "read", "send"} {
		for j, noun := range []string{"safe", "door", "mail", "file", "log"} {
			n := len(names)
			d := tool.Definition{Name: fmt.Sprint(verb, "_", noun), Description: verb + " the " + noun + strings.Repeat(" more", 3*(i+j)), Groups: []string{noun}}
			names = append(names, d.Name)
			if n%7 == 3 {
				d.Channels = []string{"web"}
			}
			filter := func(f chat.Facts) bool { return n%5 != 2 || f.User == "ann" }
			must(t, r.RegisterWithFilter(described{d}, filter))
		}
	}
	_, err := r.SetSkills(
		catalog.Skill{Name: "guard", Description: "safe and door", Tools: []string{"open_safe", "close_door"}},
		catalog.Skill{Name: "post", Description: "mail", Tools: []string{"group:mail"}, Channels: []string{"web"}},
		catalog.Skill{Name: "audit", Description: "log", Tools: []string{"group:log"}},
		catalog.Skill{Name: "people", Description: "files", Manual: true},
	)
	must(t, err)
	r.SetRules(compile(t, rules.Rule{Deny: []string{"open_*"}, When: `user.id == "bob"`}, rules.Rule{Deny: []string{"skill:audit"}, When: `channel == "slack"`}))
	return r.Catalog(), names
}

// dice draws requests.
type dice struct{ *rand.Rand }

func (d dice) of(list ...string) string { return list[d.IntN(len(list))] }

func (d dice) some(list []string, oneIn int) (drawn []string) {
	for _, s := range list {
		if d.IntN(oneIn) == 0 {
			drawn = append(drawn, s)
		}
	}
	return drawn
}

func (d dice) facts() chat.Facts {
	return chat.Facts{User: d.of("", "ann", "bob"), Channel: d.of("web", "slack"), Agent: d.of("main", "helper"), Skill: d.of("", "", "full", "guard", "audit"), Time: time.Unix(1e9, 0)}
}

// draw changes the request of a session's next question.
func (d dice) draw(req *selection.Request, tools []string) {
	skills := []string{"guard", "post", "audit", "people"}
	if req.Began == "" || d.IntN(3) == 0 {
		req.Facts, req.Bounds = d.facts(), nil
		if d.IntN(3) == 0 {
			req.Bounds = []selection.Bound{{Facts: d.facts(), Groups: d.of("", "safe,mail"), Exclude: d.some(tools, 9), ExcludeSkills: d.some(skills, 4)}}
		}
	}
	req.Query = d.of("open", "close", "read", "thanks") + " " + d.of("safe", "mail", "log") + d.of("", " then read the file", "?")
	req.Groups, req.Phase, req.Mode = d.of("", "", "safe,mail"), d.of("", "", "flow/phase"), selection.Mode(d.of("", "", "direct", "bridge", "preselect"))
	req.Exclude, req.IncludeSkills, req.ExcludeSkills = d.some(tools, 20), d.some(skills, 8), d.some(skills, 8)
	req.Native, req.Uncached, req.Cold, req.Held = d.IntN(3) == 0, d.IntN(4) == 0, d.IntN(5) == 0, d.IntN(4) == 0
	req.Preferred, req.Called = d.some([]string{"open_safe", "skill:guard", "skill:audit", "gone"}, 3), d.some(tools, 5)
	req.Used = []selection.Use{{Tool: d.of(tools...), Time: time.Unix(1e9-100, 0)}}
}

// Whatever callers, sessions and configurations are: no text and no list has what Admit
// and AdmitSkill refuse, and the explanation says of each tool and skill what happened
// to it.
func TestSelectAdmitAndExplainAgree(t *testing.T) {
	t.Parallel()
	c, tools := house(t)
	d := dice{rand.New(rand.NewPCG(1, 2))}
	for range 150 {
		cfg := selection.Config{
			Mode: selection.Mode(d.of("", "", "direct", "bridge", "native")), Limit: d.IntN(6), Budget: 100 * d.IntN(5), Direct: d.IntN(6) - 1, Skills: 20 * d.IntN(4),
			Directory: 50 * d.IntN(8), Pinned: d.some(tools[:4], 4), Disabled: d.some(tools[4:8], 4), Recommend: selection.Recommend{On: d.IntN(2) == 0},
		}
		s := selection.New(c, cfg)
		var req selection.Request
		directory := ""
		for range 5 {
			d.draw(&req, tools)
			sel := s.Select(req)
			directory = sel.Directory(directory)
			disagree(t, s, sel, directory)
			if t.Failed() {
				t.Fatalf("%+v\n%+v", cfg, req)
			}
			req.Began, req.Declared = sel.Mode, names(sel.Declared)
			if req.Cold {
				req.Announced = nil
			}
			req.Announced = slices.Concat(req.Announced, names(sel.Announced), names(sel.Named))
			if len(req.IncludeSkills) == 0 {
				req.SkillList = sel.SkillList
			}
		}
	}
}

func names(entries []*catalog.Entry) (list []string) {
	for _, e := range entries {
		list = append(list, e.Definition.Name)
	}
	return list
}

// disagree reports what contradicts a selection.
func disagree(t *testing.T, s *selection.Selector, sel *selection.Selection, directory string) {
	t.Helper()
	req, x := sel.Request, sel.Explain()
	reached := slices.Concat(names(sel.Declared), names(sel.Announced), names(sel.Named))
	for _, v := range x.Tools {
		_, stage := s.Admit(req, v.Tool)
		if stage.Usable() != v.Stage.Usable() || !stage.Usable() && stage != v.Stage {
			t.Errorf("%s: a call gets to %v, the selection says %v", v.Tool, stage, v.Stage)
		}
		held := req.Held && stage == selection.Toolset
		if !stage.Usable() && !held && (slices.Contains(reached, v.Tool) || strings.Contains(directory, v.Tool)) {
			t.Errorf("%s reaches the model and may not be used: %v", v.Tool, stage)
		}
		if !stage.Usable() && slices.Contains(names(sel.Deferred), v.Tool) {
			t.Errorf("%s reaches the provider and may not be used: %v", v.Tool, stage)
		}
		if known := slices.Contains(reached, v.Tool) || slices.Contains(req.Announced, v.Tool); v.Sent && !known || !v.Sent && slices.Contains(reached, v.Tool) && !held {
			t.Errorf("%s: sent %v, %s; reached %v", v.Tool, v.Sent, v.Reason, reached)
		}
		if v.Reason == "" || strings.Contains(v.Reason, "rank 0") {
			t.Errorf("%s: the reason is %q", v.Tool, v.Reason)
		}
	}
	for _, m := range s.Search(req, 5) {
		if _, stage := s.Admit(req, m.Definition.Name); !stage.Usable() {
			t.Errorf("a search finds %s: %v", m.Definition.Name, stage)
		}
	}
	for _, v := range x.Skills {
		told := strings.Contains(sel.SkillList, v.Skill) || slices.ContainsFunc(sel.AnnouncedSkills, func(a *catalog.Skill) bool { return a.Name == v.Skill })
		if v.Told != told {
			t.Errorf("the skill %s is told: %v, explained as %v: %s", v.Skill, told, v.Told, v.Reason)
		}
		if _, ok := s.AdmitSkill(req, v.Skill); !ok && (told || slices.Contains(sel.Recommended, v.Skill)) {
			t.Errorf("the model learns of the skill %s, which it may not take up", v.Skill)
		}
	}
}
