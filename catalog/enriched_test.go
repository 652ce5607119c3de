package catalog_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type versioned struct{ description string }

func (v versioned) Definition() tool.Definition {
	return tool.Definition{Name: "mail", Description: v.description}
}

func (versioned) Call(context.Context, json.RawMessage) (chat.Result, error) {
	return chat.Result{}, nil
}

// Texts for another version of a tool wait; texts for any version always count.
func TestEnrichedFollowsTheDefinition(t *testing.T) {
	t.Parallel()
	r := catalog.NewRegistry(nil)
	if err := r.Register(versioned{"one"}); err != nil {
		t.Fatal(err)
	}
	e, _ := r.Catalog().Get("mail")
	texts := map[string]catalog.Enrichment{"mail": {Texts: tool.Texts{Aliases: []string{"post"}}, For: e.Hash()}, "gone": {}}
	r.Enrich(texts)
	has := func(want int) {
		t.Helper()
		if got := r.Catalog().ToolTexts(); len(got) != want {
			t.Errorf("texts %v, want %d", got, want)
		}
	}
	has(1)
	before := r.Catalog()
	if err := r.Register(versioned{"two"}); err != nil {
		t.Fatal(err)
	}
	has(0)
	if !before.SameTexts(r.Catalog()) {
		t.Error("a change of the tools changed the texts")
	}
	r.Enrich(map[string]catalog.Enrichment{"mail": {Texts: texts["mail"].Texts}})
	has(1)
	if before.SameTexts(r.Catalog()) {
		t.Error("other texts are the same")
	}
	s := catalog.Skill{Name: "trip", Description: "Plan a trip", Tools: []string{"mail"}}
	if _, err := r.SetSkills(s); err != nil {
		t.Fatal(err)
	}
	r.Enrich(map[string]catalog.Enrichment{catalog.SkillTexts("trip"): {Texts: tool.Texts{Aliases: []string{"voyage"}}, For: s.Hash()}})
	has(0)
	if got := r.Catalog().SkillTexts()["trip"].Aliases; len(got) != 1 {
		t.Errorf("the skill has %v", got)
	}
	if w := r.Wrap(func(t tool.Tool) tool.Tool { return t }); len(w.Catalog().SkillTexts()) != 1 {
		t.Error("a wrapped registry has lost the texts")
	}
}
