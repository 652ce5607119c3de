package replay_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/lab/replay"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

func read(tb testing.TB, lines ...string) []replay.Conversation {
	tb.Helper()
	list, err := replay.Read(strings.NewReader(strings.Join(lines, "\n")), "test.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func play(tb testing.TB, cfg replay.Config, list []replay.Conversation) replay.Run {
	tb.Helper()
	run, err := replay.Play(context.Background(), cfg, list)
	if err != nil {
		tb.Fatal(err)
	}
	return run
}

// serve is a configuration with one agent.
func serve(r *catalog.Registry, s selection.Config) engine.Config {
	return engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New()}}, Selection: s}
}

func named(name, description string) tool.Tool {
	return tool.Func(tool.Definition{Name: name, Description: description, Risk: tool.Read}, func(context.Context, struct {
		Text string `json:"text"`
	}) (string, error) {
		panic("a replay runs no tool")
	})
}

// small is a catalog of four tools, one of which only admins see.
func small(tb testing.TB) *catalog.Registry {
	r := catalog.NewRegistry(nil)
	if err := r.Register(named("send_mail", "Send an e-mail."), named("get_weather", "Tell the weather of a place."), named("book_flight", "Book a flight.")); err != nil {
		tb.Fatal(err)
	}
	if err := r.RegisterWithFilter(named("drop_tables", "Drop all tables."), func(f chat.Facts) bool { return f.HasRole("admin") }); err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestReach follows tools through a conversation: how each reached the model.
func TestReach(t *testing.T) {
	list := read(t, `{"id":"a","turns":[{"text":"weather in Rome","tools":["get_weather"]},{"text":"and in Paris","tools":["get_weather"]},{"text":"book a flight there","tools":["book_flight"]},{"text":"hm, 11 o'clock","tools":["book_flight",{"name":"send_mail","search":"send e-mail"}]},{"text":"zzz","tools":["drop_tables","no_such_tool"]},{"text":"thanks"}]}`,
		`{"id":"b","turns":[{"text":"zzz","tools":["send_mail"]}]}`)
	list = slices.Clone(list)
	cfg := replay.Config{Engine: serve(small(t), selection.Config{Direct: -1, Limit: 1, Directory: -1}), Mode: replay.Configured, Provider: replay.Providers()[0]}
	run := play(t, cfg, list)
	var got []string
	for _, c := range run.Conversations {
		for _, turn := range c.Turns {
			for _, n := range turn.Tools {
				got = append(got, n.Tool+" "+string(n.Reach))
			}
		}
	}
	want := []string{
		"get_weather declared", "get_weather declared", "book_flight announced", "book_flight known", "send_mail found",
		"drop_tables refused", "no_such_tool absent", "send_mail missed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	figures := run.Figures
	// A request for each call, each search and each reply.
	if want := 5 + 2 + 7; figures.Requests != want {
		t.Errorf("%d requests, want %d", figures.Requests, want)
	}
	figures.Bill = replay.Bill{}
	if want := (replay.Figures{Needs: 6, Direct: 4, Found: 1, Missed: 1, Refused: 1, Absent: 1, Searches: 2}); figures != want {
		t.Errorf("got  %+v\nwant %+v", figures, want)
	}
	if told := run.Conversations[0].Turns[2].Told; !slices.Equal(told, []string{"book_flight"}) {
		t.Errorf("turn 3 shows %q for the first time", told)
	}
}

// TestLongReplay: no model is asked for a summary of a long conversation, neither the one that
// the configuration names nor the script, which would take the request for the next question.
func TestLongReplay(t *testing.T) {
	summarizer := fake.New()
	cfg := replay.Config{Engine: serve(small(t), selection.Config{Direct: -1, Limit: 1, Directory: -1}), Mode: replay.Configured, Provider: replay.Providers()[0]}
	cfg.Engine.Agents[0].HistoryTokens = 100
	cfg.Engine.Turn.Summarizer = summarizer
	cfg.Engine.Turn.Audit = func(audit.Decision, json.RawMessage) { t.Error("a replay is in the audit") }
	var turns []string
	for range 20 {
		turns = append(turns, `{"text":"weather in Rome","tools":["get_weather",{"name":"send_mail","search":"send e-mail"}]}`)
	}
	run := play(t, cfg, read(t, `{"id":"a","turns":[`+strings.Join(turns, ",")+`]}`))
	if run.Missed > 0 || run.Needs != 40 {
		t.Errorf("got %+v", run.Figures)
	}
	if n := len(summarizer.Requests()); n > 0 {
		t.Errorf("a model was asked for %d summaries", n)
	}
}

// TestDeferral: what a provider defers is billed when a search has loaded it,
// with its definition, and not before.
func TestDeferral(t *testing.T) {
	list := read(t, `{"id":"a","turns":[{"text":"hello"},{"text":"zzz","tools":[{"name":"book_flight","search":"flight"}]}]}`)
	for _, p := range replay.Providers() {
		cfg := replay.Config{Engine: serve(small(t), selection.Config{Limit: 1, Directory: -1}), Mode: "native", Provider: p}
		native := play(t, cfg, list).Conversations[0].Turns
		cfg.Mode = "preselect"
		preselect := play(t, cfg, list).Conversations[0].Turns
		if native[1].Found != 1 || native[1].Failed != 0 {
			t.Errorf("%s: the second turn found %d tools and failed with %d calls", p.Name, native[1].Found, native[1].Failed)
		}
		if got, want := native[0].Input, preselect[0].Input; got != want {
			t.Errorf("%s: before the search %d tokens, want %d", p.Name, got, want)
		}
		if more := native[1].Input > preselect[1].Input; more != p.Deferral {
			t.Errorf("%s: the definition is billed: %v, want %v", p.Name, more, p.Deferral)
		}
	}
}

// TestSame: a replay gives the same every time, and the conversations of a
// report can be compared after it was written and read.
func TestSame(t *testing.T) {
	list := read(t, `{"id":"a","turns":[{"text":"weather in Rome","tools":["get_weather"]},{"text":"mail it to Tom","pause":"20m","tools":["send_mail"]}]}`)
	cfg := replay.Config{Engine: serve(small(t), selection.Config{Direct: -1, Limit: 1, Directory: -1}), Mode: replay.Configured, Provider: replay.Providers()[1]}
	first, err := json.Marshal(replay.Report{Runs: []replay.Run{play(t, cfg, list)}})
	if err != nil {
		t.Fatal(err)
	}
	second := replay.Report{Runs: []replay.Run{play(t, cfg, list)}}
	raw, err := json.Marshal(second)
	if err != nil || string(raw) != string(first) {
		t.Errorf("two replays differ (%v):\n%s\n%s", err, first, raw)
	}
	var before replay.Report
	if err := json.Unmarshal(first, &before); err != nil {
		t.Fatal(err)
	}
	if changes, worse := replay.Compare(before, second), replay.Worse(before, second); len(changes)+len(worse) > 0 {
		t.Errorf("nothing changed, but: %v %v", changes, worse)
	}

	without := catalog.NewRegistry(nil)
	if err := without.Register(named("get_weather", "Tell the weather of a place.")); err != nil {
		t.Fatal(err)
	}
	cfg.Engine.Registry = without
	after := replay.Report{Runs: []replay.Run{play(t, cfg, list)}}
	changes := replay.Compare(before, after)
	if len(changes) != 1 {
		t.Fatalf("len(changes) = %v, want 1: %+v", len(changes), changes)
	}
	if changes[0].Turn != 2 {
		t.Fatalf("changes[0].Turn = %v, want 2", changes[0].Turn)
	}
	if got := changes[0].Dropped; !slices.Equal(got, []string{"send_mail"}) {
		t.Errorf("dropped %q", got)
	}
	if got := changes[0].Tools; !slices.Equal(got, []replay.NeedChange{{Tool: "send_mail", Before: replay.Announced, After: replay.Absent}}) {
		t.Errorf("changed %+v", got)
	}
	if worse := replay.Worse(before, after); len(worse) != 1 || !strings.Contains(worse[0], "1 needed tools do not exist, not 0") {
		t.Errorf("worse %q", worse)
	}
}

// TestBill holds the arithmetic to the providers' rules. All is in front of
// every request, so nearly all of it is read from the cache while that lives.
func TestBill(t *testing.T) {
	r := catalog.NewRegistry(nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := r.Register(named(name, strings.Repeat("word ", 400))); err != nil {
			t.Fatal(err)
		}
	}
	turns := func(pause string) []replay.Conversation {
		return read(t, `{"id":"x","turns":[{"text":"one"},{"text":"two","pause":"`+pause+`"}]}`)
	}
	for _, p := range replay.Providers() {
		cfg := replay.Config{Engine: serve(r, selection.Config{}), Mode: replay.All, Provider: p}
		soon, late := play(t, cfg, turns("1m")), play(t, cfg, turns("11m"))
		first, second := soon.Conversations[0].Turns[0].Bill, soon.Conversations[0].Turns[1].Bill
		if first.Read != 0 {
			t.Errorf("%s: the first request read %d tokens from an empty cache", p.Name, first.Read)
		}
		if least := first.Input - p.Block; second.Read < least || second.Read > second.Input || second.Read%p.Block != 0 {
			t.Errorf("%s: the second request read %d of %d tokens, want at least %d in blocks of %d", p.Name, second.Read, second.Input, least, p.Block)
		}
		if late.Read != 0 {
			t.Errorf("%s: %d tokens were read from a cache that had forgotten", p.Name, late.Read)
		}
		written := first.Written
		if p.Write == 1 {
			written = first.Input
		}
		want := (float64(written)*p.Write*p.Input + float64(first.Output)*p.Output) / 1e6
		if first.Dollars != want {
			t.Errorf("first.Dollars = %v, want %v", first.Dollars, want)
		}
		if p.Marked != (first.Written == first.Input) {
			t.Errorf("p.Marked = %v, want %v", p.Marked, (first.Written == first.Input))
		}
		cfg.Warm = true
		twice := append(turns("1m"), turns("1m")...)
		if warm := play(t, cfg, twice); warm.Conversations[1].Turns[0].Read == 0 {
			t.Errorf("%s: a warm cache gave nothing", p.Name)
		}
	}
}

// TestRead: errors name the file and the line.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"a","turns":[{"text":"x"}]}` + "\n\n" + `{"id":"a","turns":[{"text":"x"}]}`: `f:3: the id "a" is already used in line 1`,
		`{"turns":[{"text":"x"}]}`:                              `f:1: the conversation has no "id"`,
		`{"id":"a"}`:                                            `f:1: the conversation "a" has no turns`,
		`{"id":"a","turns":[{"text":"x"},{}]}`:                  `f:1: turn 2 of "a" has no text`,
		`{"id":"a","turns":[{"text":"x","tool":["y"]}]}`:        `unknown field "tool"`,
		`{"id":"a","turns":[{"text":"x","pause":"soon"}]}`:      `"soon" is not a duration such as 30m`,
		`{"id":"a","turns":[{"text":"x","tools":[""]}]}`:        `f:1: turn 1 of "a" needs a tool without a name`,
		`{"id":"a","turns":[{"text":"x","tools":[{"a":"b"}]}]}`: `unknown field "a"`,
		`nonsense`: `f:1: not a conversation`,
	} {
		if _, err := replay.Read(strings.NewReader(text), "f"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestFromSession: what took place is replayed with its arguments and results.
func TestFromSession(t *testing.T) {
	at := time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC)
	call := func(id, name, args string) chat.Message {
		return chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: id, Name: name, Arguments: json.RawMessage(args)}}}
	}
	result := func(id, text string, failed bool) chat.Message {
		return chat.Message{Role: chat.Tool, Result: &chat.Result{CallID: id, Text: text, Failed: failed}}
	}
	c := replay.FromSession(session.Session{Key: "agent:main:main", State: session.State{Skill: "full"}, Messages: []chat.Message{
		{Role: chat.User, Text: "weather in Rome?", Time: at},
		call("1", selection.FindTools, `{"query":"weather"}`), result("1", "get_weather(text)", false),
		call("2", selection.CallTool, `{"name":"get_weather","arguments":{"text":"Rome"}}`), result("2", "sunny", false),
		call("3", "get_weather", `{"txet":"Rome"}`), result("3", "no", true),
		{Role: chat.Assistant, Text: "It is sunny."},
		{Role: chat.User, Text: "thanks", Time: at.Add(time.Hour)},
		{Role: chat.Assistant, Text: "Welcome."},
	}})
	switching := replay.FromSession(session.Session{Key: "k", State: session.State{Skill: "ops"}, Messages: []chat.Message{
		{Role: chat.User, Text: "weather in Rome?", Time: at},
		call("1", selection.DescribeTool, `{"name":"get_weather"}`), result("1", "{}", false),
		{Role: chat.User, Text: "to work"},
		call("1", selection.UseSkill, `{"name":"ops"}`), result("1", "active", false),
	}})
	t0, t1 := switching.Turns[0], switching.Turns[1]
	if len(t0.Tools)+len(t1.Tools) != 0 {
		t.Errorf("len(t0.Tools)+len(t1.Tools) = %v, want 0", len(t0.Tools)+len(t1.Tools))
	}
	if t0.Skill != "" {
		t.Errorf("t0.Skill = %q, want %q", t0.Skill, "")
	}
	if t1.Skill != "ops" {
		t.Errorf("t1.Skill = %q, want %q", t1.Skill, "ops")
	}
	raw, err := json.Marshal(c)
	want := `{"id":"agent:main:main","turns":[{"text":"weather in Rome?","tools":[{"name":"get_weather","arguments":{"text":"Rome"},"result":"sunny"}],"skill":"full","answer":"It is sunny."},{"text":"thanks","pause":"1h0m0s","answer":"Welcome."}]}`
	if err != nil || string(raw) != want {
		t.Errorf("got  %s (%v)\nwant %s", raw, err, want)
	}
	run := play(t, replay.Config{Engine: serve(small(t), selection.Config{}), Mode: replay.Configured, Provider: replay.Providers()[0]}, []replay.Conversation{c})
	if run.Direct != 1 {
		t.Errorf("run.Direct = %v, want 1", run.Direct)
	}
	if run.Failed != 0 {
		t.Errorf("run.Failed = %v, want 0", run.Failed)
	}
}
