package selection_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// guarded is the office with a skill, a tool for a role and one for a channel.
func guarded(tb testing.TB) *catalog.Catalog {
	r := office(tb)
	must(tb, r.RegisterWithFilter(define("read_salaries", "Read what people earn", "hr"), func(f chat.Facts) bool { return f.HasRole("hr") }))
	must(tb, r.RegisterWithFilter(define("read_badge", "Read a badge at the door, earn entry", "hr"), func(f chat.Facts) bool { return f.Channel == "door" }))
	_, err := r.SetSkills(catalog.Skill{Name: "post", Tools: []string{"group:mail"}})
	must(tb, err)
	return r.Catalog()
}

// The fields of a term add up to its score.
func TestFieldsAddUp(t *testing.T) {
	s := selection.New(guarded(t), choosing)
	x := s.Select(selection.Request{Query: "the logs of a pod for kubernetes, and a sabbatical"}).Explain()
	seen := map[string]bool{}
	for _, v := range x.Tools {
		for _, term := range v.Terms {
			if term.Fields == nil {
				continue // what no word has alone
			}
			sum := 0.0
			for field, score := range term.Fields {
				seen[field] = true
				sum += score
			}
			if math.Abs(sum-term.Score) > 0.03 {
				t.Errorf("%s: %+v adds up to %.2f", v.Tool, term, sum)
			}
		}
	}
	for _, field := range []string{"name", "description", "group", "parameter_text"} {
		if !seen[field] {
			t.Errorf("no word is in the field %s: %v", field, seen)
		}
	}
}

// TestRequestIsExplained: of a message with pasted text, an explanation says what was taken as the request.
func TestRequestIsExplained(t *testing.T) {
	s := selection.New(guarded(t), choosing)
	got := s.Select(selection.Request{Query: "Which pods are down?\n\n" + strings.Repeat("10:00:01 WARN [mail] read badge id=1\n", 4)})
	if x := got.Explain(); x.Request != "Which pods are down?" || got.Compact().Request != x.Request {
		t.Errorf("the request is %q, and stored %q", x.Request, got.Compact().Request)
	}
	if x := s.Select(selection.Request{Query: "Which pods are down?"}).Explain(); x.Request != "" {
		t.Errorf("the request is %q", x.Request)
	}
}

func TestAlternatives(t *testing.T) {
	s := selection.New(guarded(t), choosing)
	find := func(list []selection.Alternative, change, value string) selection.Alternative {
		i := slices.IndexFunc(list, func(a selection.Alternative) bool { return a.Change == change && a.Value == value })
		if i < 0 {
			t.Fatalf("%s %s is not in %+v", change, value, list)
		}
		return list[i]
	}
	facts := chat.Facts{Skill: "post", Roles: []string{"user"}}
	sel := s.Select(selection.Request{Query: "what do people earn, by mail", Facts: facts})
	list := sel.Alternatives(selection.Try{Roles: []string{"hr", "user"}, Channels: []string{"door"}})
	if len(list) != 3 { // the role that the caller has, and the active skill, are no change
		t.Errorf("tried %+v", list)
	}
	if a := find(list, "skill", catalog.Full); a.Usable != 8 || slices.Contains(a.Opens, "read_salaries") {
		t.Errorf("the skill alone opens nothing that a filter hides: %+v", a)
	}
	facts.Skill = catalog.Full
	sel = s.Select(selection.Request{Query: "what do people earn", Facts: facts})
	list = sel.Alternatives(selection.Try{Roles: []string{"hr"}, Channels: []string{"door"}})
	if a := find(list, "role", "hr"); !slices.Equal(a.Opens, []string{"read_salaries"}) || !slices.Equal(a.Added, a.Opens) || a.Sent != 1 || a.Usable != 9 {
		t.Errorf("role: %+v", a)
	}
	if a := find(list, "channel", "door"); !slices.Equal(a.Opens, []string{"read_badge"}) {
		t.Errorf("channel: %+v", a)
	}
	sel = s.Select(selection.Request{Query: "invoice", Facts: facts})
	if a := find(sel.Alternatives(selection.Try{}), "skill", "post"); !slices.Equal(a.Dropped, []string{"createInvoice"}) || a.Sent != 0 {
		t.Errorf("skill: %+v", a)
	}
	if len(facts.Roles) != 1 {
		t.Error("trying changed the caller's roles")
	}
	many := selection.Try{}
	for i := range 100 {
		many.Roles = append(many.Roles, fmt.Sprint("r", i))
	}
	if n := len(sel.Alternatives(many)); n != selection.MaxTried {
		t.Errorf("%d tried", n)
	}
}

func TestCompact(t *testing.T) {
	s := selection.New(guarded(t), choosing)
	sel := s.Select(selection.Request{Query: "read mail people earn", Facts: chat.Facts{User: "bob"}})
	raw, err := json.Marshal(sel.Compact())
	must(t, err)
	var c selection.Compact
	must(t, json.Unmarshal(raw, &c))
	if c.Tools != 10 {
		t.Errorf("%d tools, want 10", c.Tools)
	}
	if c.Dropped[selection.Visibility] != 2 {
		t.Errorf("%d hidden tools, want 2", c.Dropped[selection.Visibility])
	}
	if len(c.Declared) != 5 {
		t.Fatalf("%d declared tools, want 5: %v", len(c.Declared), c.Declared)
	}
	if c.Declared[3].Score == 0 {
		t.Error("the score of the fourth tool is 0")
	}
	if *c.Near[0].Stage != selection.Visibility {
		t.Errorf("the stage of the nearest tool is %v, want %v", *c.Near[0].Stage, selection.Visibility)
	}
	c.Skills = []string{"mine", "gone"}
	visible := c.Only(func(name string) bool {
		_, stage := s.Admit(sel.Request, name)
		return stage.Usable()
	}, func(skill string) bool { return skill == "mine" })
	raw, _ = json.Marshal(visible)
	if strings.Contains(string(raw), "read_salaries") {
		t.Errorf("the explanation %s names %s", string(raw), "read_salaries")
	}
	if len(visible.Declared) != 5 {
		t.Errorf("%d declared tools that the caller sees, want 5: %v", len(visible.Declared), visible.Declared)
	}
	if !slices.Equal(visible.Skills, []string{"mine"}) {
		t.Errorf("the caller sees the skills %q, want %q", visible.Skills, []string{"mine"})
	}
	if len(c.Near) < 3 {
		t.Errorf("%d near tools, want at least 3: %v", len(c.Near), c.Near)
	}
}

// Of many declared tools, the compact explanation names those that fit the question best.
func TestCompactNamesTheBest(t *testing.T) {
	r := office(t)
	for i := range 20 {
		must(t, r.Register(define(fmt.Sprintf("paint_wall_%02d", i), "Paint a wall")))
	}
	must(t, r.Register(define("water_flowers", "Water the flowers")))
	c := selection.New(r.Catalog(), selection.Config{Direct: 1000, Budget: 1 << 20}).Select(selection.Request{Query: "water the flowers"}).Compact()
	if c.More == 0 {
		t.Errorf("%d further tools, want more", c.More)
	}
	if c.Declared[0].Tool != "water_flowers" {
		t.Errorf("the first tool is %q, want %q", c.Declared[0].Tool, "water_flowers")
	}
}

// A compact explanation is small even with the longest names.
func TestCompactIsSmall(t *testing.T) {
	r := catalog.NewRegistry(nil)
	for i := range 200 {
		must(t, r.Register(define(fmt.Sprintf("%s_%03d", strings.Repeat("n", 60), i), "a pod", fmt.Sprint("g", i))))
	}
	for _, cfg := range []selection.Config{{Direct: 1000, Budget: 1 << 20}, {Limit: 100, Budget: 1 << 20}, {Budget: 100, Disabled: []string{"group:g7"}}} {
		s := selection.New(r.Catalog(), cfg)
		for _, declared := range [][]string{nil, {selection.FindTools, selection.CallTool}} {
			c := s.Select(selection.Request{Query: "pod", Declared: declared}).Compact()
			raw, err := json.Marshal(c)
			must(t, err)
			if len(raw) > 2048 || len(c.Declared)+len(c.Announced) == 0 {
				t.Errorf("%d bytes: %s", len(raw), raw)
			}
		}
	}
}

// Whatever a definition contains, the others are found and everything is explained.
func TestHostileTools(t *testing.T) {
	r := office(t)
	deep := strings.Repeat(`{"type":"object","properties":{"pod":`, 500) + `{"type":"string"}` + strings.Repeat(`}}`, 500)
	items := `{"type":"object","properties":{"a":` + strings.Repeat(`{"items":`, 3000) + `{}` + strings.Repeat(`}`, 3001) + `}`
	for i, d := range []tool.Definition{
		{Description: strings.Repeat("pod logs and more ", 50_000)},
		{Description: strings.Repeat("x", 1<<20), Aliases: []string{"", "\x00", "\xff\xfe", strings.Repeat("豆", 10_000)}},
		{Parameters: json.RawMessage(deep), Examples: []string{strings.Repeat("a_", 10_000), strings.Repeat("'", 10_000)}},
		{Parameters: json.RawMessage(items), Body: strings.Repeat("\xe8\xb1", 20_000)},
		{Parameters: json.RawMessage(`{"type":"object","properties":{"self":{"$ref":"#"},"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}}`)},
		{Parameters: json.RawMessage(`{"type":"object","properties":[1],"enum":{"x":1},"items":7}`), Translations: map[string]string{"": "\x00"}},
	} {
		d.Name = fmt.Sprint("hostile", i)
		if err := r.Register(described{d}); err != nil {
			t.Logf("refused: %.100s", err) // that is an answer, too
		}
	}
	s := selection.New(r.Catalog(), choosing)
	sel := s.Select(selection.Request{Query: "get_pod_logs of the pod"})
	if sel.Ranked[0].Definition.Name != "get_pod_logs" {
		t.Errorf("found %s", sent(sel))
	}
	if x := sel.Explain(); len(x.Tools) != r.Catalog().Len() {
		t.Errorf("%d of %d tools are explained", len(x.Tools), r.Catalog().Len())
	}
	sel.Compact()
	sel.Alternatives(selection.Try{Roles: []string{"\xff"}})
}

// BenchmarkCompact is what explaining costs in each turn.
func BenchmarkCompact(b *testing.B) {
	sel := many(b, 1000, 0).Select(selection.Request{Query: "approve the overdue invoice of the customer"})
	b.ReportAllocs()
	for b.Loop() {
		sel.Compact()
	}
}
