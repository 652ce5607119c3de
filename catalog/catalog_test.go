package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type empty struct{}

func newTool(name, source string, risk tool.Risk, groups ...string) tool.Tool {
	return tool.Func(tool.Definition{Name: name, Description: "does " + name + " from " + source, Source: source, Risk: risk, Groups: groups},
		func(context.Context, empty) (string, error) { return source, nil })
}

func names(entries []*catalog.Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Definition.Name)
	}
	return strings.Join(list, " ")
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// is compares one fact.
func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestIndexes(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(newTool("a", "s1", tool.Read, "file", "io"), newTool("b", "s1", "", "shell"), newTool("c", "s2", tool.Destructive, "file", "shell", "file"), newTool("d", "s2", tool.Read)))
	c := r.Catalog()
	for list, want := range map[string]string{"file": "a c", "shell": "b c", "file,shell": "a b c", "shell, file": "a b c", "file,file": "a c", "nothing": "", "": ""} {
		if got := names(c.Groups(list)); got != want {
			t.Errorf("Groups(%q) = %q, want %q", list, got, want)
		}
	}
	if got := names(c.Risk(tool.Write)); got != "b" {
		t.Errorf("a tool without a risk is not a writing one: %q", got)
	}
	e, ok := c.Get("c")
	if !ok {
		t.Fatal("Get does not find c")
	}
	is(t, "source", e.Definition.Source, "s2")
	is(t, "position", e.Position(), 2)
	is(t, "the tool there", c.At(2), e)
	if _, ok := c.Get("x"); ok || c.Len() != 4 {
		t.Error("Get finds a missing tool")
	}
	if got := c.GroupNames(); !slices.Equal(got, []string{"file", "io", "shell"}) {
		t.Errorf("GroupNames: %v", got)
	}
}

func TestSnapshotStays(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(newTool("a", "s", tool.Read)))
	before := r.Catalog()
	must(t, r.Register(newTool("b", "s", tool.Read)))
	r.Remove("a")
	if before.Len() != 1 || r.Catalog().Len() != 1 {
		t.Errorf("before %d, now %d", before.Len(), r.Catalog().Len())
	}
	if _, ok := before.Get("a"); !ok {
		t.Error("the old snapshot has lost its tool")
	}
}

func TestLaterNameWinsAndComesBack(t *testing.T) {
	var log strings.Builder
	r := catalog.NewRegistry(logger(&log))
	must(t, r.Register(newTool("a", "first", tool.Read)))
	must(t, r.Register(newTool("a", "second", tool.Read)))
	e, _ := r.Catalog().Get("a")
	is(t, "in effect", e.Definition.Source, "second")
	shadowed := r.Catalog().Shadowed()
	if len(shadowed) != 1 {
		t.Fatalf("%d tools are shadowed: %s", len(shadowed), names(shadowed))
	}
	is(t, "shadowed", shadowed[0].Definition.Source, "first")
	is(t, "its position", shadowed[0].Position(), -1)
	if !strings.Contains(log.String(), "name clash") || !strings.Contains(log.String(), "shadowed=first") {
		t.Errorf("log: %s", log.String())
	}
	is(t, "removed", r.Remove("a", "missing"), 1)
	if e, ok := r.Catalog().Get("a"); !ok || e.Definition.Source != "first" {
		t.Error("the shadowed tool has not come back")
	}
}

func TestRegisterRefuses(t *testing.T) {
	r := catalog.NewRegistry(nil)
	bad := map[string]tool.Definition{
		"no name":     {},
		"letters":     {Name: "a b"},
		"64":          {Name: strings.Repeat("a", 65)},
		"risk":        {Name: "a", Risk: "mild"},
		"group":       {Name: "a", Groups: []string{"a,b"}},
		"JSON Schema": {Name: "a", Parameters: json.RawMessage(`{`)},
		"object":      {Name: "a", Parameters: json.RawMessage(`{"type":"string"}`)},
	}
	for says, d := range bad {
		err := r.Register(newTool("good", "", tool.Read), raw{d})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want it to say %q", d, err, says)
		}
	}
	if r.Catalog().Len() != 0 {
		t.Error("a part of a refused registration is there")
	}
	if r.RegisterWithFilter(newTool("a", "", tool.Read), nil) == nil {
		t.Error("a nil filter was taken")
	}
}

type raw struct{ d tool.Definition }

func (r raw) Definition() tool.Definition { return r.d }
func (r raw) Call(_ context.Context, args json.RawMessage) (chat.Result, error) {
	if string(args) == `{"panic":true}` {
		panic("secret detail")
	}
	return tool.Text(string(args)), nil
}

func TestFilters(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(newTool("open", "", tool.Read)))
	must(t, r.RegisterWithFilter(newTool("admin", "", tool.Read), func(f chat.Facts) bool { return f.HasRole("admin") }))
	must(t, r.RegisterWithFilter(newTool("broken", "", tool.Read), func(chat.Facts) bool { panic("oops") }))
	c := r.Catalog()
	visible := func(f chat.Facts) string {
		var list []string
		for _, d := range c.Definitions(f) {
			list = append(list, d.Name)
		}
		return strings.Join(list, " ")
	}
	if got := visible(chat.Facts{}); got != "open" {
		t.Errorf("a guest sees %q", got)
	}
	if got := visible(chat.Facts{Roles: []string{"user", "admin"}}); got != "open admin" {
		t.Errorf("an admin sees %q", got)
	}
	broken, _ := c.Get("broken")
	if ok, err := broken.Visible(&chat.Facts{}); ok || err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a panicking filter: %v, %v", ok, err)
	}
}

func TestRun(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(raw{tool.Definition{Name: "t"}}, raw{tool.Definition{Name: "odd", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integr"}}}`)}}))
	e, _ := r.Catalog().Get("t")
	result, err := e.Run(t.Context(), json.RawMessage(`{"n":2}`))
	must(t, err)
	is(t, "result", result.Text, `{"n":2}`)
	var panicked *catalog.PanicError
	if _, err := e.Run(t.Context(), json.RawMessage(`{"panic":true}`)); !errors.As(err, &panicked) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a panic: %v", err)
	}
	odd, _ := r.Catalog().Get("odd")
	if _, err := odd.Schema(); err == nil || !strings.Contains(err.Error(), "not a valid JSON Schema") {
		t.Errorf("a broken schema: %v", err)
	}
}

func TestSkills(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(newTool("a", "", tool.Read, "g"), newTool("b", "", tool.Read, "g"), newTool("c", "", tool.Read)))
	unknown, err := r.SetSkills(catalog.Skill{Name: "some", Tools: []string{"c", "group:g", "a", "nope", "group:none"}}, catalog.Skill{Name: "every"})
	must(t, err)
	if len(unknown) != 2 || unknown[0] != (catalog.UnknownTarget{Skill: "some", Target: "nope"}) {
		t.Errorf("unknown: %v", unknown)
	}
	c := r.Catalog()
	some, _ := c.Skill("some")
	if members, _ := c.Members(some); names(members) != "a b c" {
		t.Errorf("members: %s", names(members))
	}
	for _, name := range []string{"every", catalog.Full} {
		s, ok := c.Skill(name)
		if members, _ := c.Members(s); !ok || len(members) != 3 {
			t.Errorf("%s has %d tools", name, len(members))
		}
	}
	if _, ok := c.Skill("x"); ok {
		t.Error("there is no skill x")
	}
	for _, bad := range [][]catalog.Skill{{{}}, {{Name: "a"}, {Name: "a"}}, {{Name: "full", Tools: []string{"a"}}}} {
		if _, err := r.SetSkills(bad...); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
	if len(r.Catalog().Skills()) != 3 {
		t.Error("a refused change has changed something")
	}
}

// denyAll are rules that hide everything.
type denyAll struct{}

func (denyAll) Guard(c *catalog.Catalog) catalog.Guard { return deniedAll(c.Len()) }

type deniedAll int

func (n deniedAll) Denied(*chat.Facts) (tools, skills []bool, failed []error) {
	return slices.Repeat([]bool{true}, int(n)), nil, nil
}
func (deniedAll) Reason(*chat.Facts, *catalog.Entry) string { return "denied" }
func (deniedAll) SkillReason(*chat.Facts, int) string       { return "denied" }

// TestWrap: a wrapped registry calls other tools under the same names, for the same
// callers, and the two registries change separately.
func TestWrap(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(newTool("a", "s", tool.Read)))
	must(t, r.RegisterWithFilter(newTool("b", "s", tool.Read), func(f chat.Facts) bool { return f.HasRole("admin") }))
	_, err := r.SetSkills(catalog.Skill{Name: "few", Tools: []string{"a"}})
	must(t, err)
	r.SetRules(denyAll{})
	w := r.Wrap(func(tool.Tool) tool.Tool { return newTool("other", "elsewhere", tool.Write) })
	must(t, w.Register(newTool("c", "s", tool.Read)))
	_, ok := w.Catalog().Skill("few")
	is(t, "the skill is there", ok, true)
	is(t, "tools", r.Catalog().Len(), 2)
	is(t, "wrapped tools", w.Catalog().Len(), 3)
	before, _ := r.Catalog().Get("b")
	after, _ := w.Catalog().Get("b")
	is(t, "definition", string(after.JSON), string(before.JSON))
	is(t, "risk", after.Definition.Risk, tool.Read)
	if ok, _ := after.Visible(&chat.Facts{}); ok {
		t.Error("the filter was lost")
	}
	if denied, _ := w.Catalog().Denied(&chat.Facts{}); len(denied) != 3 || !denied[0] {
		t.Error("the rules were lost")
	}
	result, err := after.Run(t.Context(), json.RawMessage("{}"))
	if err != nil || result.Text != "elsewhere" {
		t.Errorf("the call gave %q, %v", result.Text, err)
	}
}

// TestReadersAndWriters is for the race detector: hundreds of readers while tools come,
// change and go.
func TestReadersAndWriters(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(newTool("fixed", "s", tool.Read, "file")))
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 200 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c := r.Catalog()
				n := 0
				for e := range c.All() {
					if c.At(e.Position()) != e {
						t.Error("a snapshot does not agree with itself")
						return
					}
					n++
				}
				if _, ok := c.Get("fixed"); !ok || n != c.Len() || len(c.Groups("file,x")) < 1 {
					t.Error("a snapshot is not whole")
					return
				}
				runtime.Gosched() // writers get their turn
			}
		})
	}
	for w := range 4 {
		writers.Go(func() {
			for i := range 15 {
				name := fmt.Sprintf("t%d", (w*15+i)%20)
				if err := r.Register(newTool(name, fmt.Sprint(w), tool.Read, "x")); err != nil {
					t.Error(err)
				}
				if left := r.Supply("mcp", catalog.Supply{Tools: []tool.Tool{newTool("m", "", tool.Read)}}); left != nil {
					t.Error(left)
				}
				r.Remove(name)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if got := r.Catalog().Len(); got != 2 {
		t.Errorf("%d tools are left, want fixed and m", got)
	}
}

func TestDefinitionBytes(t *testing.T) {
	d := tool.Definition{Name: "a", Description: "x < y & z", Parameters: json.RawMessage("{ \"type\": \"object\",\n \"properties\": {} }"), Aliases: []string{"never sent"}}
	got, err := json.Marshal(d)
	must(t, err)
	if want := `{"type":"function","function":{"name":"a","description":"x < y & z","parameters":{"type":"object","properties":{}}}}`; string(got) != want && string(got) != strings.NewReplacer("<", `\u003c`, "&", `\u0026`).Replace(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func BenchmarkRegisterOneOf1000(b *testing.B) {
	r := catalog.NewRegistry(nil)
	var tools []tool.Tool
	for i := range 1000 {
		tools = append(tools, newTool(fmt.Sprintf("tool_%d", i), "s", tool.Read, fmt.Sprintf("g%d", i%20)))
	}
	must(b, r.Register(tools...))
	one := newTool("tool_500", "s", tool.Read, "g1")
	b.ReportAllocs()
	for b.Loop() {
		must(b, r.Register(one))
	}
}

func BenchmarkGroupsOf1000(b *testing.B) {
	r := catalog.NewRegistry(nil)
	for i := range 1000 {
		must(b, r.Register(newTool(fmt.Sprintf("tool_%d", i), "s", tool.Read, fmt.Sprintf("g%d", i%100))))
	}
	c := r.Catalog()
	b.ReportAllocs()
	for b.Loop() {
		if len(c.Groups("g1,g2")) != 20 {
			b.Fatal("wrong")
		}
	}
}

// TestOriginals: a tool is found by its original name as well, unless another tool has that name.
func TestOriginals(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(
		raw{tool.Definition{Name: "get_user_d77d8f", Original: "get user"}},
		raw{tool.Definition{Name: "list_a_123456", Original: "list.a"}},
		raw{tool.Definition{Name: "list.a"}},
	))
	unknown, err := r.SetSkills(catalog.Skill{Name: "some", Tools: []string{"get user", "list.a"}})
	must(t, err)
	is(t, "unknown targets", len(unknown), 0)
	c := r.Catalog()
	for name, want := range map[string]string{"get user": "get_user_d77d8f", "list.a": "list.a", "list_a_123456": "list_a_123456"} {
		if e, ok := c.Get(name); !ok || e.Definition.Name != want {
			t.Errorf("%s is %+v", name, e)
		}
	}
	some, _ := c.Skill("some")
	members, _ := c.Members(some)
	is(t, "members", names(members), "get_user_d77d8f list.a")
}
