package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// files are those of a skill, by path; the empty path is the instructions.
type files map[string]string

func (f files) Read(_ context.Context, file string) (string, error) {
	text, ok := f[file]
	switch {
	case !ok:
		return "", errors.New("the skill has no file " + file)
	case text == "panic":
		panic("reading")
	}
	return text, nil
}

// guided gives the registry skills with instructions.
func guided(t *testing.T, r *catalog.Registry, skills ...catalog.Skill) {
	t.Helper()
	if left := r.Supply("skills", catalog.Supply{Skills: skills}); left != nil {
		t.Fatal(left)
	}
}

// TestInstructions reach the model when it takes a skill up, once, and break no
// cache.
func TestInstructions(t *testing.T) {
	r := registryOf(t, aboutThings(things)...)
	pdf := files{"": "Fill the form.\n" + strings.Repeat("Step by step. ", 4000), "docs/form.md": "The form.", "bad": "panic"}
	guided(t, r, catalog.Skill{Name: "pdf-forms", Description: "Fill PDF forms", Guide: pdf, Tools: []string{"Bash"}})
	c := newTalk(r, selection.Config{Direct: -1, Limit: 1}, 0)
	o := c.ask(t, "weather", calling("use_skill", `{"name":"pdf-forms"}`), calling("use_skill", `{"name":"pdf-forms"}`), calling("pdf-forms", `{"file":"docs/form.md"}`),
		calling("call_tool", `{"name":"pdf-forms","arguments":{}}`), calling("use_skill", `{"name":"pdf-forms","file":"../secret"}`), calling("use_skill", `{"name":"pdf-forms","file":"bad"}`), calling("use_skill", `{"name":"pdf-form"}`))
	for i, want := range []string{"the instructions of the skill pdf-forms:\n" + pdf[""], "unchanged, see above", "The form.", "unchanged, see above", "no file ../secret", "failed unexpectedly", `did you mean "pdf-forms"?`} {
		if got := o.results()[i]; !strings.Contains(got.Text, want) || got.Failed != (i > 3) {
			t.Errorf("result %d: %.200q, want %.100q", i, got.Text, want)
		}
	}
	if !strings.Contains(c.last().System, "- pdf-forms: Fill PDF forms") {
		t.Errorf("the system prompt is %q, want %q in it", c.last().System, "- pdf-forms: Fill PDF forms")
	}
	if len(o.done.CacheBreaks) != 1 {
		t.Errorf("%d breaks of the cache, want 1: %v", len(o.done.CacheBreaks), o.done.CacheBreaks)
	}
	if c.in.Session.Skill != "" {
		t.Errorf("the active skill is %q, want %q", c.in.Session.Skill, "")
	}
	pdf[""] = "Changed."
	if o = c.ask(t, "again", calling("use_skill", `{"name":"pdf-forms"}`)); o.results()[0].Text != "the instructions of the skill pdf-forms:\nChanged." {
		t.Errorf("changed instructions: %q", o.results()[0].Text)
	}
	pdf["long"] = strings.Repeat("é", 40<<10)
	if o = c.ask(t, "long", calling("use_skill", `{"name":"pdf-forms","file":"long"}`)); !strings.Contains(o.results()[0].Text, "(cut: 65536 of 81920 bytes)") {
		t.Errorf("%d bytes of a long file", len(o.results()[0].Text))
	}
}

// TestInstructionsWithTools: what a skill allows becomes the toolset, and is no
// more than the caller may use.
func TestInstructionsWithTools(t *testing.T) {
	r := registryOf(t, aboutThings(things)...)
	if err := r.RegisterWithFilter(about("bonus"), func(f chat.Facts) bool { return f.HasRole("boss") }); err != nil {
		t.Fatal(err)
	}
	guided(t, r, catalog.Skill{Name: "trips", Description: "Plan trips", Guide: files{"": "How to travel."}, Tools: []string{"get_flight", "get_bonus", "Read"}},
		catalog.Skill{Name: "audit", Description: "Left to people", Guide: files{"": "How to audit."}, Manual: true})
	c := newTalk(r, selection.Config{Direct: -1, Limit: 1}, 0)
	o := c.ask(t, "weather", calling("use_skill", `{"name":"trips"}`), calling("get_bonus", `{}`), calling("get_weather", `{}`), calling("use_skill", `{"name":"audit"}`))
	got := o.results()
	if !strings.Contains(got[0].Text, "It has 1 tools.") {
		t.Errorf("the first result is %q, want %q in it", got[0].Text, "It has 1 tools.")
	}
	if !strings.HasSuffix(got[0].Text, "How to travel.") {
		t.Errorf("the first result is %q, want the suffix %q", got[0].Text, "How to travel.")
	}
	if !got[1].Failed {
		t.Error("the second call did not fail")
	}
	if !got[2].Failed {
		t.Error("the third call did not fail")
	}
	if !strings.Contains(got[3].Text, "no skill") {
		t.Errorf("the fourth result is %q, want %q in it", got[3].Text, "no skill")
	}
	if strings.Contains(c.last().System, "audit") || c.in.Session.Skill != "trips" {
		t.Errorf("skill %q, told %s", c.in.Session.Skill, c.last().System)
	}
	// What a person chose is told once.
	c = newTalk(r, selection.Config{Direct: -1, Limit: 1}, 0)
	c.in.Facts.Skill = "audit"
	c.ask(t, "weather")
	c.ask(t, "on")
	said := fmt.Sprint(c.last().Messages)
	if strings.Count(said, "How to audit.") != 1 || strings.Count(c.declared(), "get_") != 1 {
		t.Errorf("told %s, declared %s", said, c.declared())
	}
}

// TestManySkills: the list is bounded, stays as it is, and what it leaves out is
// told with the message that it fits, or found.
func TestManySkills(t *testing.T) {
	for name, c := range map[string]struct {
		skills int
		list   string
	}{
		"descriptions": {20, "- skill-0: Do the thing that is numbered 0, when"}, "short ones": {45, "…\n- skill-1: Do the"},
		"names": {300, "By name: skill-0, skill-1, "}, "count": {2000, "2001 skills, too many to list."},
	} {
		t.Run(name, func(t *testing.T) {
			r := registryOf(t, aboutThings(things)...)
			all := make([]catalog.Skill, c.skills, c.skills+2)
			for i := range all {
				all[i] = catalog.Skill{Name: fmt.Sprint("skill-", i), Description: fmt.Sprintf("Do the thing that is numbered %d, when somebody asks for exactly that one and for nothing else in the world, as far as anybody knows.", i), Guide: files{}}
			}
			all = append(all, catalog.Skill{Name: "embroidery", Description: "Stitch flowers", Guide: files{"": "Thread the needle."}})
			guided(t, r, all...)
			talk := newTalk(r, selection.Config{Direct: -1, Limit: 1}, 0)
			o := talk.ask(t, "stitch me a flower", calling("find_tools", `{"queries":["stitch flowers"]}`))
			first := talk.last()
			_, list, _ := strings.Cut(first.System, "takes up:\n")
			list, _, _ = strings.Cut(list, "\n\n# ")
			described := strings.Contains(list, "- embroidery: Stitch flowers")
			if !strings.Contains(list, c.list) || chat.Tokens(list) > 1600 {
				t.Errorf("%d tokens: %.300s", chat.Tokens(list), list)
			}
			if note := first.Messages[0].Note; strings.Contains(note, "- embroidery: Stitch flowers") == described || strings.Contains(o.results()[0].Text, "- embroidery") == described {
				t.Errorf("listed %v, told with the message: %q, found: %q", described, note, o.results()[0].Text)
			}
			guided(t, r, append(all, catalog.Skill{Name: "skill", Description: "Feed lions", Guide: files{}})...)
			o = talk.ask(t, "feed the lions", calling("find_tools", `{"queries":["feed lions"]}`))
			last := talk.last().Messages[:len(talk.last().Messages)-2]
			if found := o.results()[0].Text; !strings.Contains(found, "- skill: Feed lions") {
				t.Errorf("a new skill: found %q", found)
			}
			if got := talk.last().System; got != first.System {
				t.Errorf("the system prompt is %v, want %v", got, first.System)
			}
			if len(o.done.CacheBreaks) > 0 {
				t.Errorf("%d breaks of the cache, want none: %v", len(o.done.CacheBreaks), o.done.CacheBreaks)
			}
			if !strings.Contains(last[len(last)-1].Note, "- skill: Feed lions") {
				t.Errorf("the note is %q, want %q in it", last[len(last)-1].Note, "- skill: Feed lions")
			}
		})
	}
}

// TestTakenAwayMeanwhile: a turn goes on with what has been replaced, and not with
// what has been taken away or is hidden now.
func TestTakenAwayMeanwhile(t *testing.T) {
	r := registryOf(t, aboutThings(things)...)
	says := func(text string) tool.Tool {
		return tool.Func(tool.Definition{Name: "replaced", Description: text, Risk: tool.Read}, func(context.Context, struct{}) (chat.Result, error) { return tool.Text(text), nil })
	}
	act := tool.Func(tool.Definition{Name: "act", Description: "Change it all", Risk: tool.Write}, func(context.Context, struct{}) (chat.Result, error) {
		guided(t, r)
		r.Remove("get_flight")
		r.SetRules(denying{"get_weather"})
		return tool.Text("done"), r.Register(says("new"))
	})
	if err := r.Register(says("old"), act); err != nil {
		t.Fatal(err)
	}
	guided(t, r, catalog.Skill{Name: "trips", Description: "Plan trips", Guide: files{"": "How to travel."}})
	c := newTalk(r, selection.Config{}, 0)
	o := c.ask(t, "go", calling("replaced", `{}`), calling("act", `{}`), calling("replaced", `{}`), calling("get_flight", `{}`), calling("get_weather", `{}`), calling("use_skill", `{"name":"trips"}`))
	for i, want := range []string{"old", "done", "old", `there is no tool "get_flight"`, `there is no tool "get_weather"`, `there is no skill "trips"`} {
		if got := o.results()[i].Text; !strings.HasPrefix(got, want) {
			t.Errorf("result %d: %q, want %q", i, got, want)
		}
	}
	c.in.Session = session.Session{}
	if o = c.ask(t, "go", calling("replaced", `{}`)); o.results()[0].Text != "new" {
		t.Errorf("the next turn has %q", o.results()[0].Text)
	}
}

// denying is rules that deny one tool to everybody.
type denying struct{ name string }

func (d denying) Guard(c *catalog.Catalog) catalog.Guard {
	denied := make([]bool, c.Len())
	if e, ok := c.Get(d.name); ok {
		denied[e.Position()] = true
	}
	return denies(denied)
}

type denies []bool

func (d denies) Denied(*chat.Facts) ([]bool, []bool, []error) { return d, nil, nil }
func (d denies) Reason(*chat.Facts, *catalog.Entry) string    { return "denied" }
func (d denies) SkillReason(*chat.Facts, int) string          { return "denied" }

// calling is a call without an ID, as some models make them.
func calling(name, args string) chat.Call { return fake.Call("", name, args) }
