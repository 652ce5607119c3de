package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type book string

func (b book) Read(context.Context, string) (string, error) { return string(b), nil }

// bare is a tool with an unchecked definition.
type bare struct{ d tool.Definition }

func (b bare) Definition() tool.Definition { return b.d }
func (bare) Call(context.Context, json.RawMessage) (chat.Result, error) {
	return chat.Result{}, nil
}

// TestSupply: a supply comes and goes as a whole, replaces nothing else, and keeps the
// registrations of tools that stay.
func TestSupply(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(newTool("own", "", tool.Read)))
	if _, err := r.SetSkills(catalog.Skill{Name: "mine", Tools: []string{"own"}}); err != nil {
		t.Fatal(err)
	}
	var seen []*catalog.Catalog
	r.Watch(func(c *catalog.Catalog) { seen = append(seen, c) })
	a, b := newTool("a", "", tool.Read), newTool("b", "", tool.Read)
	left := r.Supply("skills", catalog.Supply{
		Tools:       []tool.Tool{a, newTool("own", "", tool.Read), b, bare{tool.Definition{Name: "bad name"}}, newTool("b", "", tool.Write)},
		Skills:      []catalog.Skill{{Name: "guide", Guide: book("How to."), Tools: []string{"Bash"}}, {Name: "mine"}, {Name: "full"}, {Name: "set", Tools: []string{"a", "gone"}}},
		Unavailable: []catalog.Unavailable{{Name: "x", Reason: "needs y"}},
	})
	if len(left) != 4 {
		t.Errorf("left out: %v", left)
	}
	c := r.Catalog()
	if got := strings.Join(slices.Collect(c.Names()), " "); got != "own a b" || c != seen[len(seen)-1] {
		t.Errorf("tools %s", got)
	}
	var sets []string
	for _, s := range c.Skills() {
		members, _ := c.Members(s)
		sets = append(sets, fmt.Sprint(s.Name, len(members), c.Switches(s)))
	}
	if want := []string{"mine1 true", "guide0 false", "set1 true", "full3 true"}; !slices.Equal(sets, want) {
		t.Errorf("skills %v, want %v", sets, want)
	}
	if u := fmt.Sprint(c.Unavailable()); u != "[{mine the configuration has a skill of that name} {x needs y}]" {
		t.Errorf("unavailable %s", u)
	}
	before, _ := c.Get("a")
	r.Supply("skills", catalog.Supply{Tools: []tool.Tool{a}})
	now, _ := r.Catalog().Get("a")
	is(t, "tools afterwards", strings.Join(slices.Collect(r.Catalog().Names()), " "), "own a")
	is(t, "registration", now.Registration, before.Registration)
	is(t, "skills afterwards", len(r.Catalog().Skills()), 2)
	is(t, "same tools after a change", c.SameTools(r.Catalog()), false)
	is(t, "same skills after a change", c.SameSkills(r.Catalog()), false)
	c = r.Catalog()
	if r.Supply("skills", catalog.Supply{Tools: []tool.Tool{a}, Unavailable: []catalog.Unavailable{{Name: "z"}}}); !c.SameTools(r.Catalog()) {
		t.Error("the same tools are said to have changed")
	}
	must(t, r.Register(newTool("a", "other", tool.Read))) // the program's comes first
	e, _ := r.Catalog().Get("a")
	is(t, "in effect", e.Definition.Source, "other")
}
