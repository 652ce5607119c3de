package turn_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/anthropic"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// about is a tool about a thing.
func about(thing string) tool.Tool {
	return tool.Func(tool.Definition{Name: "get_" + thing, Description: "Tell about the " + thing, Risk: tool.Read},
		func(context.Context, struct{}) (string, error) { return "all about the " + thing, nil })
}

var things = strings.Fields("weather invoice pod flight salary")

func registryOf(tb testing.TB, tools ...tool.Tool) *catalog.Registry {
	tb.Helper()
	r := catalog.NewRegistry(nil)
	if err := r.Register(tools...); err != nil {
		tb.Fatal(err)
	}
	return r
}

func aboutThings(names []string) (tools []tool.Tool) {
	for _, name := range names {
		tools = append(tools, about(name))
	}
	return tools
}

// talk is a conversation that goes on from turn to turn, a minute after each
// other.
type talk struct {
	*turn.Runner
	registry *catalog.Registry
	model    *fake.Model
	in       turn.Input
}

func newTalk(r *catalog.Registry, cfg selection.Config, history int) *talk {
	m := fake.New()
	return &talk{
		turn.New(m, selection.Follow(r, cfg), prompt.New(prompt.Config{HistoryTokens: history}), turn.Config{Summarizer: offline.New(offline.Config{})}), r, m,
		turn.Input{Facts: chat.Facts{Time: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}},
	}
}

// ask runs a turn in which the model makes calls, one a step.
func (c *talk) ask(tb testing.TB, text string, calls ...chat.Call) *outcome {
	tb.Helper()
	for _, call := range calls {
		c.model.Add(fake.Step{Calls: []chat.Call{call}})
	}
	c.model.Add(fake.Step{Text: "ok"})
	c.in.Text, c.in.Facts.Time = text, c.in.Facts.Time.Add(time.Minute)
	o := run(&bench{c.Runner, c.model}, tb.Context(), c.in)
	if o.err != nil {
		tb.Fatal(o.err)
	}
	for _, s := range o.steps {
		c.in.Session = session.Session{Key: "k", State: s.State, Messages: append(c.in.Session.Messages, s.Messages...)}
	}
	return o
}

// last is the newest request.
func (c *talk) last() model.Request {
	all := c.model.Requests()
	return all[len(all)-1]
}

func (c *talk) declared() string {
	var names []string
	for _, d := range c.last().Tools {
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

// front is what stands before the conversation.
func (c *talk) front(tb testing.TB) string {
	raw, err := json.Marshal(c.last().Tools)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw) + c.last().System
}

// TestFrontKeepsItsBytes over turns, when the same tools are registered again in
// another order, and in another process: the test runs itself once more.
func TestFrontKeepsItsBytes(t *testing.T) {
	var all strings.Builder
	for _, mode := range selection.Modes() {
		t.Run(string(mode), func(t *testing.T) { all.WriteString(steadyFront(t, mode)) })
	}
	const file = "ETUI_TEST_FRONTS"
	if name := os.Getenv(file); name != "" { // this is the other process
		if err := os.WriteFile(name, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	name := filepath.Join(t.TempDir(), "fronts")
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFrontKeepsItsBytes$")
	again.Env = append(os.Environ(), file+"="+name)
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if there, err := os.ReadFile(name); err != nil || string(there) != all.String() {
		t.Errorf("in another process the fronts are\n%s\nand here\n%s (%v)", there, all.String(), err)
	}
}

// steadyFront is the front that all questions get in a mode.
func steadyFront(t *testing.T, mode selection.Mode) (before string) {
	t.Helper()
	backwards := slices.Clone(things)
	slices.Reverse(backwards)
	for _, order := range [][]string{things, backwards} {
		r := registryOf(t, aboutThings(order)...)
		if _, err := r.SetSkills(catalog.Skill{Name: "flying", Tools: []string{"get_flight"}}, catalog.Skill{Name: "paying"}); err != nil {
			t.Fatal(err)
		}
		c := newTalk(r, selection.Config{Mode: mode, Direct: -1, Limit: 2, Pinned: []string{"get_pod", "get_flight"}}, 0)
		c.model.Deferral = mode == selection.Native
		for _, q := range []string{"weather", "salary", "invoice"} {
			c.ask(t, q)
			if front := c.front(t); before != "" && front != before {
				t.Fatalf("%s, %v: the front is\n%s\nand was\n%s", q, order, front, before)
			}
			before = c.front(t)
			if err := c.registry.Register(aboutThings(backwards)...); err != nil {
				t.Fatal(err)
			}
		}
	}
	return before
}

// TestCacheBreaksHaveACause: each changes one thing between two questions.
func TestCacheBreaksHaveACause(t *testing.T) {
	allowed := true
	for cause, change := range map[turn.Break]func(*talk){
		"":                  func(*talk) {},
		turn.ModelSwitch:    func(c *talk) { c.model.Name = "another" },
		turn.Idle:           func(c *talk) { c.in.Facts.Time = c.in.Facts.Time.Add(5 * time.Minute) },
		turn.SkillSwitch:    func(c *talk) { c.in.Facts.Skill = "flying" },
		turn.GroupsChange:   func(c *talk) { c.in.Groups = "safe" },
		turn.ModeChange:     func(c *talk) { c.in.Mode = selection.Bridge },
		turn.StrategyChange: func(c *talk) { c.in.Options.Strategy = prompt.Lite },
		turn.PromptChanged:  func(c *talk) { c.in.Options.Instructions = "Be kind." },
		turn.Revocation:     func(*talk) { allowed = false },
		turn.Compaction:     func(c *talk) { c.ask(t, strings.Repeat("long ", 400)) },
		turn.DefinitionChanged: func(c *talk) {
			changed := tool.Func(tool.Definition{Name: "get_invoice", Description: "Tell about the invoice and more"}, func(context.Context, struct{}) (string, error) { return "", nil })
			if err := c.registry.Register(changed); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(string(cause), func(t *testing.T) {
			allowed = true
			r := registryOf(t, aboutThings(things)...)
			if err := r.RegisterWithFilter(about("safe"), func(chat.Facts) bool { return allowed }); err != nil {
				t.Fatal(err)
			}
			if _, err := r.SetSkills(catalog.Skill{Name: "flying", Tools: []string{"get_flight"}}); err != nil {
				t.Fatal(err)
			}
			c := newTalk(r, selection.Config{Direct: -1, Limit: 2}, 500)
			if got := c.ask(t, "safe invoice").done.CacheBreaks; !slices.Equal(got, []turn.Break{turn.NewSession}) {
				t.Fatalf("the first turn breaks the cache for %v", got)
			}
			if got := c.ask(t, "safe").done.CacheBreaks; got != nil {
				t.Fatalf("the second turn breaks the cache for %v", got)
			}
			change(c)
			got := c.ask(t, "weather").done.CacheBreaks
			if cause == "" && got != nil || cause != "" && !slices.Equal(got, []turn.Break{cause}) {
				t.Errorf("broken for %v, want %q", got, cause)
			}
			if cause != "" && c.CacheBreaks()[cause] == 0 {
				t.Errorf("counted %v", c.CacheBreaks())
			}
		})
	}
}

// TestToolsAppended: a tool that comes later is declared in a direct session,
// which is no break where there is no cache.
func TestToolsAppended(t *testing.T) {
	c := newTalk(registryOf(t, aboutThings(things)...), selection.Config{}, 0)
	c.ask(t, "weather")
	for _, want := range []turn.Break{turn.ToolsAppended, ""} {
		if err := c.registry.Register(about("later" + string(want))); err != nil {
			t.Fatal(err)
		}
		got := c.ask(t, "weather").done.CacheBreaks
		if want != "" && !slices.Equal(got, []turn.Break{want}) || want == "" && got != nil {
			t.Errorf("broken for %v, want %q; declared %s", got, want, c.declared())
		}
		c.model.CacheLife = 0
	}
}

// TestTooManyForDirect: when more tools come than auto sends without choosing, it
// chooses. What was called and is still talked about stays declared.
func TestTooManyForDirect(t *testing.T) {
	c := newTalk(registryOf(t, aboutThings(things)...), selection.Config{Direct: len(things), Limit: 1}, 0)
	if c.ask(t, "weather", fake.Call("1", "get_salary", `{}`)); c.declared() != "get_flight get_invoice get_pod get_salary get_weather" {
		t.Fatalf("declared %s", c.declared())
	}
	if err := c.registry.Register(about("taxes")); err != nil {
		t.Fatal(err)
	}
	if o := c.ask(t, "taxes"); c.declared() != "find_tools call_tool get_salary get_taxes" || !slices.Equal(o.done.CacheBreaks, []turn.Break{turn.ModeChange}) {
		t.Errorf("declared %s, broken for %v", c.declared(), o.done.CacheBreaks)
	}
}

// TestColdMoment: when nothing is cached the front is made anew, but what was
// called and is still talked about stays.
func TestColdMoment(t *testing.T) {
	c := newTalk(registryOf(t, aboutThings(things)...), selection.Config{Direct: -1, Limit: 1}, 0)
	c.ask(t, "weather", fake.Call("1", "get_weather", "{}"))
	c.ask(t, "invoice", fake.Call("2", "call_tool", `{"name":"get_invoice"}`))
	c.ask(t, "pod")
	if got := c.declared(); got != "find_tools call_tool get_weather" {
		t.Errorf("warm: declared %s", got)
	}
	c.in.Facts.Time = c.in.Facts.Time.Add(time.Hour)
	c.ask(t, "salary")
	if got := c.declared(); got != "find_tools call_tool get_weather get_invoice get_salary" {
		t.Errorf("cold: declared %s", got)
	}
}

// TestWithoutPromptCache: what later questions need is declared, behind the
// others, until that is too much.
func TestWithoutPromptCache(t *testing.T) {
	c := newTalk(registryOf(t, aboutThings(things)...), selection.Config{Direct: -1, Limit: 1, Budget: 40}, 0)
	c.model.CacheLife = 0
	for i, want := range []string{"get_weather", "get_weather get_invoice", "get_pod"} {
		c.ask(t, things[i])
		if got := c.declared(); got != "find_tools call_tool "+want {
			t.Errorf("question %d: declared %s", i, got)
		}
		if note := c.last().Messages[2*i].Note; strings.Contains(note, "call_tool") {
			t.Errorf("announced: %s", note)
		}
	}
}

// TestBridge declares the same for every question.
func TestBridge(t *testing.T) {
	c := newTalk(registryOf(t, aboutThings(things)...), selection.Config{Mode: selection.Bridge, Limit: 1, Pinned: []string{"get_pod"}}, 0)
	o := c.ask(t, "weather", fake.Call("1", "describe_tool", `{"name":"get_weather"}`), fake.Call("2", "call_tool", `{"name":"get_weather","arguments":{}}`))
	if got := c.declared(); got != "find_tools describe_tool call_tool get_pod" {
		t.Errorf("declared %s", got)
	}
	if note := c.last().Messages[0].Note; !strings.Contains(note, "get_weather(") {
		t.Errorf("the note is %q", note)
	}
	r := o.results()
	if !strings.Contains(r[0].Text, `Parameters: {"type":"object"`) {
		t.Errorf("the first result is %q, want %q in it", r[0].Text, `Parameters: {"type":"object"`)
	}
	if r[1].Text != "all about the weather" {
		t.Errorf("the second result is %q, want %q", r[1].Text, "all about the weather")
	}
}

// TestNative lets the provider defer what was not selected: a search loads it,
// and what was revoked since is not referred to.
func TestNative(t *testing.T) {
	call := func(name, args string) modeltest.Reply {
		return modeltest.Reply{Calls: []chat.Call{{Name: name, Arguments: []byte(args)}}}
	}
	s := modeltest.Anthropic(call("find_tools", `{"queries":["invoice","salary"]}`), call("get_invoice", `{}`), modeltest.Reply{Text: []string{"done"}},
		modeltest.Reply{Text: []string{"again"}}, modeltest.Reply{Text: []string{"without"}})
	defer s.Close()
	m, err := anthropic.New(anthropic.Config{Model: "claude-test", BaseURL: s.URL, APIKey: modeltest.Key, Transport: s.Transport(), Deferral: true})
	if err != nil {
		t.Fatal(err)
	}
	allowed := true
	r := registryOf(t, aboutThings([]string{"weather", "pod", "salary"})...)
	if err := r.RegisterWithFilter(about("invoice"), func(chat.Facts) bool { return allowed }); err != nil {
		t.Fatal(err)
	}
	runner := turn.New(m, selection.Follow(r, selection.Config{Direct: -1, Limit: 1}), prompt.New(prompt.Config{}), turn.Config{})
	in := turn.Input{}
	for _, text := range []string{"weather", "and the pod?", "salary"} {
		in.Text = text
		o := run(&bench{Runner: runner}, t.Context(), in)
		if o.err != nil {
			t.Fatal(o.err)
		}
		for _, step := range o.steps {
			in.Session = session.Session{State: step.State, Messages: append(in.Session.Messages, step.Messages...)}
		}
		if text == "and the pod?" {
			if kept := s.Kept(); kept < 0.99 {
				t.Errorf("%.2f of a request is kept for the next", kept)
			}
			allowed = false
		}
	}
	for _, problem := range s.Problems() {
		t.Error(problem)
	}
	bodies := make([]string, 0, 5)
	for _, r := range s.Requests() {
		bodies = append(bodies, string(r.Body))
	}
	if n := strings.Count(bodies[0], `"defer_loading":true`); n != 3 {
		t.Errorf("%d tools are deferred: %s", n, bodies[0])
	}
	reference := `{"tool_name":"get_invoice","type":"tool_reference"}`
	if !strings.Contains(bodies[1], reference) {
		t.Errorf("the second request is %q, want %q in it", bodies[1], reference)
	}
	if !strings.Contains(bodies[3], reference) {
		t.Errorf("the fourth request is %q, want %q in it", bodies[3], reference)
	}
	if strings.Contains(bodies[4], reference) {
		t.Errorf("the fifth request is %q, with %q in it", bodies[4], reference)
	}
	if got := in.Session.Messages[3].Calls[0].Name; got != "get_invoice" {
		t.Errorf("called %s", got)
	}
}

// TestNativeWithoutDeferral falls back, and the explanation says so.
func TestNativeWithoutDeferral(t *testing.T) {
	c := newTalk(registryOf(t, aboutThings(things)...), selection.Config{Mode: selection.Native, Limit: 1}, 0)
	x := c.Select(t.Context(), turn.Input{Text: "weather"}).Explain()
	if x.Mode != selection.Preselect {
		t.Errorf("the mode is %v, want %v", x.Mode, selection.Preselect)
	}
	if !strings.Contains(x.Why, "cannot defer") {
		t.Errorf("the reason is %q, want %q in it", x.Why, "cannot defer")
	}
	if x.Deferred != 0 {
		t.Errorf("%d deferred tools, want 0", x.Deferred)
	}
}

// TestOff declares everything, whatever the modes say.
func TestOff(t *testing.T) {
	c := newTalk(registryOf(t, aboutThings(things)...), selection.Config{Off: true, Mode: selection.Bridge, Limit: 1, Budget: 1}, 0)
	c.in.Mode = selection.Native
	c.ask(t, "weather")
	if got := c.declared(); got != "get_flight get_invoice get_pod get_salary get_weather" || strings.Contains(c.last().System, "# Tools") {
		t.Errorf("declared %s\n%s", got, c.last().System)
	}
}

// TestDirectoryIsFrozen until it names what the caller may not use any more.
func TestDirectoryIsFrozen(t *testing.T) {
	allowed := true
	r := registryOf(t, aboutThings(things)...)
	if err := r.RegisterWithFilter(about("safe"), func(chat.Facts) bool { return allowed }); err != nil {
		t.Fatal(err)
	}
	// Descriptions have the word "about", which is no mention of this tool.
	if err := r.RegisterWithFilter(raw{tool.Definition{Name: "about"}}, func(chat.Facts) bool { return false }); err != nil {
		t.Fatal(err)
	}
	c := newTalk(r, selection.Config{Direct: -1, Limit: 1}, 0)
	c.ask(t, "weather")
	before := c.last().System
	if !strings.Contains(before, "get_safe: Tell about the safe") {
		t.Fatalf("the directory is missing: %s", before)
	}
	if err := r.Register(about("later")); err != nil {
		t.Fatal(err)
	}
	c.ask(t, "pod")
	if c.last().System != before {
		t.Errorf("the system prompt changed: %s", c.last().System)
	}
	allowed = false
	if o := c.ask(t, "pod"); strings.Contains(c.last().System, "get_safe") || !slices.Equal(o.done.CacheBreaks, []turn.Break{turn.PromptChanged}) {
		t.Errorf("broken for %v: %s", o.done.CacheBreaks, c.last().System)
	}
}

// TestDirectoryForgets names and groups that the caller may not use any more,
// however short it is.
func TestDirectoryForgets(t *testing.T) {
	for _, tokens := range []int{45, 20} { // names, groups
		allowed := true
		r := registryOf(t, aboutThings(things)...)
		for _, name := range strings.Fields("safe money_of_the_house") {
			d := about(name).Definition()
			d.Groups = []string{"vault"}
			if err := r.RegisterWithFilter(raw{d}, func(chat.Facts) bool { return allowed }); err != nil {
				t.Fatal(err)
			}
		}
		c := newTalk(r, selection.Config{Direct: -1, Limit: 1, Directory: tokens}, 0)
		if c.ask(t, "weather"); !strings.Contains(c.last().System, "vault") || strings.Contains(c.last().System, "get_safe:") {
			t.Fatalf("with %d tokens: %s", tokens, c.last().System)
		}
		before := c.last().System
		if err := r.Register(about("later")); err != nil {
			t.Fatal(err)
		}
		if c.ask(t, "weather"); c.last().System != before {
			t.Errorf("with %d tokens it is not frozen: %s", tokens, c.last().System)
		}
		allowed = false
		if c.ask(t, "weather"); strings.Contains(c.last().System, "vault") || !strings.Contains(c.last().System, "other") {
			t.Errorf("with %d tokens: %s", tokens, c.last().System)
		}
	}
}

// TestUseSkill switches at once, for the calls that follow and for later turns.
func TestUseSkill(t *testing.T) {
	r := registryOf(t, aboutThings(things)...)
	if _, err := r.SetSkills(catalog.Skill{Name: "flying", Description: "Travel by air", Tools: []string{"get_flight"}}); err != nil {
		t.Fatal(err)
	}
	c := newTalk(r, selection.Config{Direct: -1, Limit: 1}, 0)
	o := c.ask(t, "weather", fake.Call("1", "use_skill", `{"name":"fling"}`), fake.Call("2", "use_skill", `{"name":"flying"}`),
		fake.Call("3", "get_weather", `{}`), fake.Call("4", "get_flight", `{}`))
	results := o.results()
	for i, says := range []string{`did you mean "flying"`, "The skill flying is active: Travel by air. It has 1 tools.\nget_flight()", `"get_weather" is not among the tools of the active skill flying; use_skill with the name full`, "all about the flight"} {
		if !strings.Contains(results[i].Text, says) {
			t.Errorf("result %d is %q, want %q", i, results[i].Text, says)
		}
	}
	if got := o.done.CacheBreaks; !slices.Equal(got, []turn.Break{turn.NewSession, turn.SkillSwitch}) {
		t.Errorf("broken for %v", got)
	}
	o = c.ask(t, "weather")
	if c.in.Session.Skill != "flying" {
		t.Errorf("the active skill is %q, want %q", c.in.Session.Skill, "flying")
	}
	if strings.Contains(c.declared(), "get_weather") {
		t.Errorf("declared are %q, with %q", c.declared(), "get_weather")
	}
	if o.done.CacheBreaks != nil {
		t.Errorf("the cache breaks by %v, want none", o.done.CacheBreaks)
	}
	if c.ask(t, "weather", fake.Call("5", "use_skill", `{"name":"full"}`)); !strings.Contains(c.declared(), "get_weather") {
		t.Errorf("back at full, declared %s", c.declared())
	}
}

// TestHiddenSkill: who may use none of a skill's tools reads its name nowhere.
// Rules that open tools to a skill do not hide it.
func TestHiddenSkill(t *testing.T) {
	r := registryOf(t, aboutThings(things)...)
	for name, filter := range map[string]func(chat.Facts) bool{
		"bonus": func(f chat.Facts) bool { return f.HasRole("boss") },
		"nuke":  func(f chat.Facts) bool { return f.Skill == "incident" },
	} {
		if err := r.RegisterWithFilter(about(name), filter); err != nil {
			t.Fatal(err)
		}
	}
	secret := catalog.Skill{Name: "paying", Tools: []string{"get_bonus"}}
	if _, err := r.SetSkills(secret); err != nil {
		t.Fatal(err)
	}
	c := newTalk(r, selection.Config{Direct: -1, Limit: 1, Recommend: selection.Recommend{On: true}}, 0)
	if c.ask(t, "weather of paying"); strings.Contains(c.last().System, "paying") || strings.Contains(c.declared(), "use_skill") {
		t.Errorf("declared %s, told %s", c.declared(), c.last().System)
	}
	c.in.Session = session.Session{State: session.State{Skill: "paying"}} // was allowed once
	if c.ask(t, "weather", fake.Call("1", "use_skill", `{"name":"full"}`)); !strings.Contains(c.declared(), "get_weather") {
		t.Errorf("out of a hidden skill: declared %s", c.declared())
	}
	c.in.Session = session.Session{State: session.State{Skill: "paying"}}
	if c.ask(t, "weather"); !strings.Contains(c.declared(), "use_skill") {
		t.Errorf("in a hidden skill: declared %s", c.declared())
	}
	if _, err := r.SetSkills(secret, catalog.Skill{Name: "incident", Tools: []string{"get_nuke"}}); err != nil {
		t.Fatal(err)
	}
	c.in.Session = session.Session{}
	o := c.ask(t, "paying", fake.Call("1", "use_skill", `{"name":"payin"}`), fake.Call("2", "use_skill", `{"name":"paying"}`), fake.Call("3", "use_skill", `{"name":"incident"}`))
	for i, want := range []string{`there is no skill "payin". The skills are: full, incident.`, `there is no skill "paying". The skills are: full, incident.`, "The skill incident is active. It has 1 tools."} {
		if got := o.results()[i].Text; !strings.HasPrefix(strings.ReplaceAll(got, "; did you mean \"full\"?", ""), want) {
			t.Errorf("result %d is %q", i, got)
		}
	}
	if !strings.Contains(c.last().System, "incident") || strings.Contains(c.last().System, "paying") {
		t.Errorf("told %s", c.last().System)
	}
	c.in.Session, c.in.Facts.Roles = session.Session{}, []string{"boss"}
	if c.ask(t, "weather"); !strings.Contains(c.last().System, "paying") {
		t.Errorf("the boss is told %s", c.last().System)
	}
}

// TestArgumentsAreMadeToFit where they can be read in one way only.
func TestArgumentsAreMadeToFit(t *testing.T) {
	echo := func(name, properties string) tool.Tool {
		return raw{tool.Definition{Name: name, Risk: tool.Read, Parameters: json.RawMessage(`{"type":"object","properties":` + properties + `,"required":["a"],"additionalProperties":false}`)}}
	}
	for schema, cases := range map[string]map[string]string{
		`{"a":{"type":"integer"},"b":{"type":"string"}}`: {
			`{"a":"5"}`: `{"a":5}`, `{"a":5,"b":6.50}`: `{"a":5,"b":"6.50"}`, `{"a":"5.5"}`: "do not fit", `{"a":"five"}`: "do not fit",
			`{"a":5,"b":null}`: `{"a":5}`, `{"a":null}`: "do not fit", `{"a":[5]}`: "do not fit", `{"a":5,"c":1}`: "do not fit",
			`{"a": 5, "b":"null"}`: `{"a": 5, "b":"null"}`,
		},
		`{"a":{"type":"array","items":{"type":"number"}},"b":{"type":["boolean","null"]}}`: {
			`{"a":3}`: `{"a":[3]}`, `{"a":"[1, \"2\"]","b":"True"}`: `{"a":[1,2],"b":true}`, `{"a":["7"],"b":"null"}`: `{"a":[7],"b":null}`,
		},
		`{"a":{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}}},"b":{"type":"array","items":{"type":"string"}}}`: {
			`{"a":{"n":"4"},"b":"x"}`: `{"a":{"n":4},"b":["x"]}`, `{"a":"{\"n\":4}"}`: `{"a":{"n":4}}`, `{"a":{"n":"null"},"b":7}`: `{"a":{"n":null},"b":["7"]}`,
		},
	} {
		for args, want := range cases {
			b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{echo("echo", schema)})
			r, err := b.Call(t.Context(), turn.Input{}, "echo", json.RawMessage(args))
			if (err != nil) != r.Failed || !strings.Contains(r.Text, want) {
				t.Errorf("%s with %s gives %q, want %q", schema, args, r.Text, want)
			}
		}
	}
}

// raw is a tool that gives its arguments back.
type raw struct{ d tool.Definition }

func (r raw) Definition() tool.Definition { return r.d }
func (r raw) Call(_ context.Context, args json.RawMessage) (chat.Result, error) {
	return tool.Text(string(args)), nil
}
