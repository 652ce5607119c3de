package turn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/chooser"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// advised makes a runner whose recommender asks the chooser's script.
func advised(tb testing.TB, chooser *chooser.Chooser, steps ...fake.Step) *bench {
	tb.Helper()
	r := catalog.NewRegistry(nil)
	other := func(name, description string) tool.Tool {
		return tool.Func(tool.Definition{Name: name, Description: description, Risk: tool.Read}, func(context.Context, struct{}) (chat.Result, error) { return tool.Text("done"), nil })
	}
	news := tool.Func(tool.Definition{Name: "get_news", Description: "Tell the news reports of a city", Risk: tool.Read}, sunny)
	if err := r.Register(weather(tool.Read, sunny), news, other("send_mail", "Send a mail"),
		other("add_numbers", "Give the sum"), other("read_file", "Give the text of a file"), other("take_note", "Keep a text")); err != nil {
		tb.Fatal(err)
	}
	_, err := r.SetSkills(catalog.Skill{Name: "travel", Description: "Trips to a city", Tools: []string{"get_weather"}}, catalog.Skill{Name: "post", Description: "Mail", Tools: []string{"send_mail"}})
	if err != nil {
		tb.Fatal(err)
	}
	m := fake.New(steps...)
	follow := selection.Follow(r, selection.Config{Direct: -1, Limit: 2, Recommend: selection.Recommend{On: true}})
	return &bench{turn.New(m, follow, prompt.New(prompt.Config{}), turn.Config{Chooser: chooser}), m}
}

func order(sel *selection.Selection) string {
	var names []string
	for _, m := range sel.Ranked {
		names = append(names, m.Definition.Name)
	}
	return strings.Join(names, " ")
}

func TestChooser(t *testing.T) {
	const rules, turned = "get_weather get_news", "get_news get_weather"
	for name, c := range map[string]struct {
		answer     fake.Step
		want, says string
		failed     int
	}{
		"one":             {fake.Step{Text: "get_news"}, turned, "chosen by fake", 0},
		"a list":          {fake.Step{Text: "`get_news`,\n- get_weather"}, turned, "chosen by fake", 0},
		"both":            {fake.Step{Text: "get_news, get_weather"}, turned, "chosen by fake", 0},
		"none":            {fake.Step{Text: "None."}, rules, "chosen by fake: none of the candidates", 0},
		"nonsense":        {fake.Step{Text: "I would use get_news"}, rules, "its answer is not a list of candidates; the rules decide", 1},
		"not a candidate": {fake.Step{Text: "send_mail"}, rules, "not a list of candidates", 1},
		"nothing":         {fake.Step{}, rules, "not a list of candidates", 1},
		"failure":         {fake.Step{Err: errors.New("away")}, rules, "gave no choice: away; the rules decide", 1},
		"late":            {fake.Step{Delay: time.Hour, Text: "get_news"}, rules, "it did not answer within 3s", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := fake.New(c.answer)
				chooser := chooser.New(m, 3*time.Second, nil)
				b := advised(t, chooser)
				began := time.Now()
				sel := b.Select(t.Context(), turn.Input{Text: "what is on in the city"})
				if got := order(sel); got != c.want || !strings.Contains(sel.Request.Advice, c.says) {
					t.Errorf("%q: %q", got, sel.Request.Advice)
				}
				if time.Since(began) > 3*time.Second {
					t.Errorf("the turn waited for %v", time.Since(began))
				}
				n := chooser.Counts()
				if n.Asked != 1 {
					t.Errorf("%d requests, want 1", n.Asked)
				}
				if n.Failed != c.failed {
					t.Errorf("%d failures, want %v", n.Failed, c.failed)
				}
				x := sel.Explain()
				if x.Advice != sel.Request.Advice || !slices.Equal(x.Preferred, sel.Request.Preferred) {
					t.Errorf("explained as %q %v", x.Advice, x.Preferred)
				}
			})
		})
	}
}

// TestAnnouncedLikeAnother: a skill is described with its message although the line of another
// one, which an earlier message shows, begins with its line.
func TestAnnouncedLikeAnother(t *testing.T) {
	r := catalog.NewRegistry(nil)
	for i := range 6 {
		if err := r.Register(tool.Func(tool.Definition{Name: fmt.Sprint("tool_", i)}, sunny)); err != nil {
			t.Fatal(err)
		}
	}
	tools := []string{"tool_1", "tool_2"}
	if _, err := r.SetSkills(catalog.Skill{Name: "travel", Tools: tools}, catalog.Skill{Name: "post", Tools: tools}, catalog.Skill{Name: "post-merge", Description: "Join letters", Tools: tools}); err != nil {
		t.Fatal(err)
	}
	m := fake.New(fake.Step{Text: "yes"}, fake.Step{Text: "yes"}, fake.Step{Text: "yes"})
	b := &bench{turn.New(m, selection.Follow(r, selection.Config{Direct: -1, Recommend: selection.Recommend{On: true}}), prompt.New(prompt.Config{}), turn.Config{}), m}
	var s session.Session
	for _, text := range []string{"travel", "join letters", "post"} {
		o := run(b, t.Context(), turn.Input{Session: s, Text: text})
		for _, step := range o.steps {
			s.State = step.State
			s.Messages = append(s.Messages, step.Messages...)
		}
	}
	for i, line := range map[int]string{2: "- post-merge: Join letters", 4: "- post"} {
		if !slices.Contains(strings.Split(s.Messages[i].Note, "\n"), line) {
			t.Errorf("the note of %q is %q", s.Messages[i].Text, s.Messages[i].Note)
		}
	}
}

// TestChooserOfNamesWithBlanks: a candidate has one line, whatever its description holds, and
// may have blanks in its name.
func TestChooserOfNamesWithBlanks(t *testing.T) {
	r := catalog.NewRegistry(nil)
	for i := range 6 {
		if err := r.Register(tool.Func(tool.Definition{Name: fmt.Sprint("tool_", i)}, sunny)); err != nil {
			t.Fatal(err)
		}
	}
	tools := []string{"tool_1", "tool_2"}
	if _, err := r.SetSkills(catalog.Skill{Name: "city trips", Description: "Trips to a city\nnews: no", Tools: tools}, catalog.Skill{Name: "city news", Description: "News of a city\ntrips: no", Tools: tools}); err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		"skill:city news, skill:city trips":       "skill:city news skill:city trips",
		"- skill:city news\n- `skill:city trips`": "skill:city news skill:city trips",
		"skill:city trips":                        "skill:city trips",
		"skill:city":                              "",
	} {
		m := fake.New(fake.Step{Text: answer})
		follow := selection.Follow(r, selection.Config{Direct: -1, Limit: 2, Recommend: selection.Recommend{On: true}})
		b := &bench{turn.New(fake.New(), follow, prompt.New(prompt.Config{}), turn.Config{Chooser: chooser.New(m, 0, nil)}), m}
		sel := b.Select(t.Context(), turn.Input{Text: "trips and news of the city"})
		if got := strings.Join(sel.Request.Preferred, " "); got != want {
			t.Errorf("%q: chosen are %q, %s", answer, got, sel.Request.Advice)
		}
		if asked := m.Requests()[0].Messages[0].Text; !strings.Contains(asked, "\nskill:city trips: Trips to a city news: no\n") {
			t.Errorf("the model reads %q", asked)
		}
	}
}

// TestChooserIsAskedOnce for a message and its candidates, and only when the
// rules are unsure.
func TestChooserIsAskedOnce(t *testing.T) {
	m := fake.New(fake.Step{Text: "get_news"})
	chooser := chooser.New(m, 0, nil)
	b := advised(t, chooser)
	in := turn.Input{Text: "what is on in the city", Again: true}
	if sel := b.Select(t.Context(), in); order(sel) != "get_weather get_news" || sel.Request.Advice != "" {
		t.Errorf("a message that was answered before is asked about: %q", sel.Request.Advice)
	}
	in.Again = false
	b.Select(t.Context(), in)
	in.Again = true
	if sel := b.Select(t.Context(), in); order(sel) != "get_news get_weather" || sel.Request.Advice != "chosen by fake (as before)" {
		t.Errorf("%s, %q", order(sel), sel.Request.Advice)
	}
	for _, sure := range []string{"send a mail", "hi"} {
		if sel := b.Select(t.Context(), turn.Input{Text: sure}); sel.Request.Advice != "" {
			t.Errorf("%q: %q", sure, sel.Request.Advice)
		}
	}
	n := chooser.Counts()
	if n.Asked != 1 {
		t.Errorf("%d requests, want 1", n.Asked)
	}
	if n.Cached != 1 {
		t.Errorf("%d choices from the cache, want 1", n.Cached)
	}
	q := m.Requests()[0]
	if !strings.Contains(q.Messages[0].Text, "get_news: Tell the news reports of a city\n") {
		t.Errorf("the question to the chooser is %q, want %q in it", q.Messages[0].Text, "get_news: Tell the news reports of a city\n")
	}
	if strings.Contains(q.Messages[0].Text, "send_mail") {
		t.Errorf("the question to the chooser is %q, with %q in it", q.Messages[0].Text, "send_mail")
	}
	if q.MaxTokens == 0 {
		t.Error("the limit of the answer is 0")
	}
}

// TestChooserRests: a model that does not answer costs one turn its time limit,
// and is asked again later.
func TestChooserRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := advised(t, chooser.New(fake.New(fake.Step{Delay: time.Hour}, fake.Step{Text: "get_news"}), 0, nil))
		in := turn.Input{Text: "what is on in the city"}
		began := time.Now()
		b.Select(t.Context(), in)
		sel := b.Select(t.Context(), in)
		if took := time.Since(began); took != 2*time.Second || !strings.Contains(sel.Request.Advice, "did not answer a moment ago") {
			t.Errorf("two turns waited for %v: %q", took, sel.Request.Advice)
		}
		time.Sleep(10 * time.Second)
		if sel = b.Select(t.Context(), in); sel.Request.Advice != "chosen by fake" {
			t.Errorf("later %q", sel.Request.Advice)
		}
	})
}

// TestRecommendedOverASession: what was used comes back, the skills of the first
// question stay in the system prompt while it is cached, and others are said with
// the message.
func TestRecommendedOverASession(t *testing.T) {
	b := advised(t, nil,
		fake.Step{Calls: []chat.Call{fake.Call("1", "call_tool", `{"name":"get_news","arguments":{"city":"Rome"}}`), fake.Call("2", "get_weather", `{}`)}}, fake.Step{Text: "done"},
		fake.Step{Text: "yes"}, fake.Step{Text: "sent"}, fake.Step{Text: "sent"})
	var s session.Session
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	say := func(text string, breaks ...turn.Break) {
		t.Helper()
		o := run(b, t.Context(), turn.Input{Session: s, Text: text, Facts: chat.Facts{Time: now}})
		if o.err != nil {
			t.Fatal(o.err)
		}
		if !slices.Equal(o.done.CacheBreaks, breaks) {
			t.Errorf("%q: the cache is broken for %v", text, o.done.CacheBreaks)
		}
		for _, step := range o.steps {
			s.State = step.State
			s.Messages = append(s.Messages, step.Messages...)
		}
		now = now.Add(time.Minute)
	}
	say("what is on in the city", turn.NewSession)
	if s.SkillList != "- travel: Trips to a city" {
		t.Errorf("skills %q", s.SkillList)
	}
	sel := b.Select(t.Context(), turn.Input{Session: s, Text: "and in Paris?", Facts: chat.Facts{Time: now}})
	if got := order(sel); got != "get_news get_weather" { // the other call failed
		t.Errorf("after a use %q", got)
	}
	say("and in Paris?")
	say("write a mail")
	requests := b.model.Requests()
	last := requests[len(requests)-1]
	first := requests[0]
	if !strings.Contains(first.System, "- travel") {
		t.Errorf("the first system prompt is %q, want %q in it", first.System, "- travel")
	}
	if strings.Contains(first.System, "- post") {
		t.Errorf("the first system prompt is %q, with %q in it", first.System, "- post")
	}
	if last.System != first.System {
		t.Errorf("the last system prompt is %v, want %v", last.System, first.System)
	}
	if note := last.Messages[len(last.Messages)-1].Note; !strings.Contains(note, "Skills that fit this message") || !strings.Contains(note, "- post: Mail") {
		t.Errorf("note %q", note)
	}
	now = now.Add(2 * time.Hour)
	say("write a mail", turn.Idle)
	if s.SkillList != "- post: Mail" {
		t.Errorf("when nothing is cached any more, the skills are %q", s.SkillList)
	}
	o := run(b, t.Context(), turn.Input{Session: s, Text: "write a mail", Options: prompt.Options{IncludeSkills: []string{"post"}}})
	requests = b.model.Requests()
	if system := requests[len(requests)-1].System; !strings.Contains(system, "- post") || strings.Contains(system, "- travel") {
		t.Errorf("the explicit choice does not win (%v):\n%s", o.err, system)
	}
}

// TestRecommendedByUseAlone: what was used lately is sent again, and told as what the
// words ask for: a call's name is a word of the conversation.
func TestRecommendedByUseAlone(t *testing.T) {
	b := advised(t, nil, fake.Step{Text: "sunny"})
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	s := session.Session{Messages: []chat.Message{
		{Role: chat.User, Text: "hello", Time: now},
		{Role: chat.Assistant, Calls: []chat.Call{fake.Call("1", "get_news", `{"city":"Rome"}`)}},
		{Role: chat.Tool, Result: &chat.Result{CallID: "1", Name: "get_news"}},
	}}
	in := turn.Input{Session: s, Text: "and in Paris?", Facts: chat.Facts{Time: now.Add(time.Minute)}}
	o := run(b, t.Context(), in)
	if o.err != nil {
		t.Fatal(o.err)
	}
	if got := order(b.Select(t.Context(), in)); got != "get_news" {
		t.Errorf("sends %q, want get_news", got)
	}
	if told := b.model.Requests()[0].Ranked; !slices.Equal(told, []string{"get_news"}) {
		t.Errorf("told as %v, want get_news", told)
	}
}

// meanings knows the vectors of two texts.
type meanings struct{ asked []string }

func (m *meanings) Vector(_ context.Context, text string, again bool) []float32 {
	m.asked = append(m.asked, fmt.Sprint(text, again))
	return map[string][]float32{"umbrella?": {1, 0}, "letter": {0, 1}}[text]
}

// A panic in ranking costs that turn its ranking and nothing more: pinned tools remain, it
// is logged and counted, and the next question is ranked.
func TestRankingPanics(t *testing.T) {
	r := catalog.NewRegistry(nil)
	if err := r.Register(weather(tool.Read, sunny), tool.Func(tool.Definition{Name: "send_mail", Description: "Write to somebody", Risk: tool.Read}, sunny)); err != nil {
		t.Fatal(err)
	}
	s := selection.New(r.Catalog(), selection.Config{Direct: -1, Pinned: []string{"send_mail"}}).WithVectors([][]float32{{1, 0}, {0, 1}, {1, 0}}) // one too many
	m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "send_mail", `{"city":"a"}`)}}, fake.Step{Text: "sent"}, fake.Step{Text: "sunny"})
	var out bytes.Buffer
	log := panics.CountIn(slog.New(slog.NewTextHandler(&out, nil)))
	b := &bench{turn.New(m, func() *selection.Selector { return s }, prompt.New(prompt.Config{}), turn.Config{Embedder: &meanings{}, Log: log}), m}
	o := run(b, t.Context(), turn.Input{Text: "umbrella?"})
	if o.err != nil || len(o.results()) != 1 || o.results()[0].Failed {
		t.Errorf("the turn gives %v, %v", o.results(), o.err)
	}
	if n := panics.Count(log); n != 1 || !strings.Contains(out.String(), "ranking the tools") || !strings.Contains(out.String(), "addMeanings") {
		t.Errorf("%d panics are counted, and logged is %s", n, &out)
	}
	run(b, t.Context(), turn.Input{Text: "weather"})
	if got := m.Requests()[2].Ranked; !slices.Equal(got, []string{"get_weather"}) || panics.Count(log) != 1 {
		t.Errorf("afterwards it ranks %v", got)
	}
}

// TestMeaningReachesTheSelection, of the message and of a search.
func TestMeaningReachesTheSelection(t *testing.T) {
	r := catalog.NewRegistry(nil)
	if err := r.Register(weather(tool.Read, sunny), tool.Func(tool.Definition{Name: "send_mail", Description: "Write to somebody", Risk: tool.Read}, sunny)); err != nil {
		t.Fatal(err)
	}
	s := selection.New(r.Catalog(), selection.Config{Direct: -1}).WithVectors([][]float32{{1, 0}, {0, 1}})
	m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "find_tools", `{"queries":["letter"]}`)}}, fake.Step{Text: "found"})
	known := &meanings{}
	b := &bench{turn.New(m, func() *selection.Selector { return s }, prompt.New(prompt.Config{}), turn.Config{Embedder: known}), m}
	o := run(b, t.Context(), turn.Input{Text: "umbrella?"})
	if got := m.Requests()[0].Ranked; !slices.Equal(got, []string{"get_weather"}) {
		t.Errorf("ranked %v (%v)", got, o.err)
	}
	if found := o.results()[0].Text; !strings.HasPrefix(found, "send_mail(") {
		t.Errorf("found %q", found)
	}
	b.Select(t.Context(), turn.Input{Text: "umbrella?", Again: true})
	if want := []string{"umbrella?false", "letterfalse", "umbrella?true"}; !slices.Equal(known.asked, want) {
		t.Errorf("asked %v", known.asked)
	}
}
