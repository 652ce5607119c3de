package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// narrow is a model with a window. It counts the tokens of requests as [chat.Tokens]
// does, and refuses a request that leaves less than 512 for the answer.
type narrow struct {
	info     model.Info
	window   int    // 0: none
	says     string // in errors, with a %d for the window
	requests []model.Request
	summary  string // its answer to requests for a summary; empty: it fails
	answer   func(model.Request) fake.Step
}

func (n *narrow) Info() model.Info { return n.info }

func (n *narrow) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	n.requests = append(n.requests, req)
	switch {
	case n.window > 0 && chat.Tokens(flat(req)) > n.window-512:
		says := n.says
		if strings.Contains(says, "%d") {
			says = fmt.Sprintf(says, n.window)
		}
		refusal := model.Error{Model: "narrow", Kind: model.ErrTooLong, Detail: says}
		return fake.New(fake.Step{Err: endpoint.Failure(ctx, errors.New(says), refusal, "", nil)}).Stream(ctx, req)
	case isSummary(req) && n.summary == "":
		return fake.New(fake.Step{Err: errors.New("no summary today")}).Stream(ctx, req)
	case isSummary(req):
		return fake.New(fake.Step{Text: n.summary}).Stream(ctx, req)
	case n.answer != nil:
		return fake.New(n.answer(req)).Stream(ctx, req)
	}
	return fake.New(fake.Step{Text: "ok"}).Stream(ctx, req)
}

// flat is what a provider caches of a request, in its order.
func flat(req model.Request) (all []byte) {
	all = append(all, req.System...)
	for _, d := range req.Tools {
		all = append(append(append(all, d.Name...), d.Description...), d.Parameters...)
	}
	for _, m := range req.Messages {
		all = append(append(append(append(all, 0), m.Role...), m.Note...), m.Text...)
		for _, c := range m.Calls {
			all = append(append(append(all, c.ID...), c.Name...), c.Arguments...)
		}
		if m.Result != nil {
			all = append(append(all, m.Result.CallID...), m.Result.Text...)
		}
	}
	return all
}

func isSummary(req model.Request) bool { return strings.HasPrefix(req.System, "You summarize") }

// talker sends messages of one conversation, stored or not.
type talker struct {
	*engine.Engine
	stateless bool
	history   []chat.Message
}

func (c *talker) say(ctx context.Context, text string) error {
	m := engine.Message{Text: text}
	if c.stateless {
		m.History = append([]chat.Message{}, c.history...)
	}
	reply, err := send(c.Engine, ctx, m)
	c.history = append(c.history, chat.Message{Role: chat.User, Text: text}, chat.Message{Role: chat.Assistant, Text: reply})
	return err
}

// TestWindow: no conversation outgrows the window of its model, whether it is
// configured, stated in an error, or unknown.
func TestWindow(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]narrow{
		"configured": {info: model.Info{Name: "narrow", Window: 8192}, says: "must not happen"},
		"stated":     {says: "This model's maximum context length is %d tokens. However, your messages resulted in more."},
		"unknown":    {says: "the request exceeds the available context size, try increasing it"},
	} {
		for _, stateless := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " stateless=", stateless), func(t *testing.T) {
				t.Parallel()
				m := model
				m.window, m.summary = 8192, "They talked."
				g, _ := newEngine(t, func(c *engine.Config) { c.Agents = []engine.Agent{{Name: "main", Model: &m}} })
				c := talker{Engine: g, stateless: stateless}
				text := strings.Repeat("some more words ", 3500/16)
				for i := range 30 {
					if err := c.say(t.Context(), fmt.Sprint(i, text)); err != nil {
						t.Fatalf("message %d: %v", i, err)
					}
				}
				refused := 0
				for _, r := range m.requests {
					if chat.Tokens(flat(r)) > m.window-512 {
						refused++
					}
				}
				limit := map[string]int{"configured": 0, "stated": 1, "unknown": 30}[name]
				if refused > limit {
					t.Errorf("%d requests were too long, want at most %d", refused, limit)
				}
				last := m.requests[len(m.requests)-1]
				if len(last.Messages) < 2 {
					t.Errorf("the last request has %d messages: too much was left out", len(last.Messages))
				}
			})
		}
	}
}

// TestRefusedMessage: a message that does not fit alone fails, and the next one does
// not, which knows what was said before.
func TestRefusedMessage(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]int{"known": 8192, "unknown": 0} {
		m := &narrow{info: model.Info{Window: window}, window: 8192, says: "prompt is too long", summary: "They talked about Rome."}
		store := &store.Memory{}
		g, _ := newEngine(t, func(c *engine.Config) {
			c.Agents, c.Store = []engine.Agent{{Name: "main", Model: m}}, store
		})
		c := talker{Engine: g}
		must(t, c.say(t.Context(), "tell me about Rome"))
		huge := strings.Repeat("word ", 10_000)
		if err := c.say(t.Context(), huge); !errors.Is(err, model.ErrTooLong) {
			t.Errorf("%s window: a huge message gives %v", name, err)
		}
		must(t, c.say(t.Context(), "hi"))
		last := string(flat(m.requests[len(m.requests)-1]))
		if !strings.Contains(last, "Rome") {
			t.Errorf("%s window: what was said before is lost: %s", name, last)
		}
		if strings.Contains(last, "word word") {
			t.Errorf("%s window: the refused message is sent again", name)
		}
		s := load(t, store)
		if !strings.Contains(s.Messages[2].Text, "word word") {
			t.Errorf("%s window: the refused message is not stored: %+v", name, s.Messages[2])
		}
		if answer := s.Messages[3]; !answer.Refused || !strings.Contains(answer.Text, "too long") {
			t.Errorf("%s window: it is answered with %+v", name, answer)
		}
	}
}

// TestAfterARefusedMessage: the next request begins with the bytes of the one before the
// refused message, which the provider still has.
func TestAfterARefusedMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window, known int
		said, refused string
	}{
		"window known":          {8192, 8192, "tell me about Rome", strings.Repeat("word ", 10_000)},
		"window learned":        {8192, 0, "tell me about Rome", strings.Repeat("word ", 10_000)},
		"beyond the usual size": {0, 0, strings.Repeat("tell me about Rome ", 5000), "what the provider forbids"},
	} {
		m := &narrow{info: model.Info{Window: c.known, CacheLife: time.Hour}, window: c.window, says: "prompt is too long", summary: "They talked about Rome."}
		m.answer = func(req model.Request) fake.Step {
			if req.Messages[len(req.Messages)-1].Text == "what the provider forbids" {
				return fake.Step{Err: &model.Error{Model: "narrow", Kind: model.ErrRequest}}
			}
			return fake.Step{Text: "ok"}
		}
		g, _ := newEngine(t, func(c *engine.Config) { c.Agents = []engine.Agent{{Name: "main", Model: m}} })
		talk := talker{Engine: g}
		must(t, talk.say(t.Context(), c.said))
		before := flat(m.requests[len(m.requests)-1])
		if err := talk.say(t.Context(), c.refused); !errors.Is(err, model.ErrTooLong) && !errors.Is(err, model.ErrRequest) {
			t.Fatalf("%s: it was not refused: %v", name, err)
		}
		must(t, talk.say(t.Context(), "hi"))
		last := flat(m.requests[len(m.requests)-1])
		if kept := common(before, last); kept < len(before) {
			t.Errorf("%s: only %d of %d bytes are the same", name, kept, len(before))
		}
	}
}

// TestLongResults: a turn whose results outgrow the window goes on with less of them.
func TestLongResults(t *testing.T) {
	t.Parallel()
	r := catalog.NewRegistry(nil)
	must(t, r.Register(tool.Func(tool.Definition{Name: "read", Risk: tool.Read}, func(context.Context, struct{}) (string, error) { return strings.Repeat("line\n", 20_000), nil })))
	for name, window := range map[string]int{"known": 8192, "unknown": 0} {
		m := &narrow{info: model.Info{Window: window}, window: 8192, says: "prompt is too long"}
		calls := 0
		m.answer = func(model.Request) fake.Step {
			if calls++; calls > 5 {
				return fake.Step{Text: "read"}
			}
			return fake.Step{Calls: []chat.Call{fake.Call("", "read", "{}")}}
		}
		g, _ := newEngine(t, func(c *engine.Config) {
			c.Agents, c.Registry = []engine.Agent{{Name: "main", Model: m}}, r
		})
		reply, err := send(g, t.Context(), engine.Message{Text: "read it all"})
		must(t, err)
		if reply != "read" {
			t.Errorf("%s window: the reply is %q", name, reply)
		}
	}
}

// TestLongConversation: over hundreds of turns nearly every request begins with the bytes of
// the one before.
func TestLongConversation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window    int
		stateless bool
	}{{0, false}, {32_000, true}} {
		window, stateless := c.window, c.stateless
		turns := 530 // with four messages each: past every limit of what is loaded and replayed
		var before []chat.Message
		if stateless {
			turns = 80 // after others: past every limit of what is replayed, and of two processes
			for i := range 380 {
				before = append(before, chat.Message{Role: chat.User, Text: fmt.Sprint("tell the weather, number ", i)}, chat.Message{Role: chat.Assistant, Text: strings.Repeat("sunny ", 9)})
			}
		}
		t.Run(fmt.Sprintf("window=%d stateless=%t", window, stateless), func(t *testing.T) {
			t.Parallel()
			m := &narrow{info: model.Info{Name: "narrow", Window: window, CacheLife: time.Hour}, window: window, says: "too long", summary: "They talked for long."}
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			newEngine := func() *engine.Engine {
				g, _ := newEngine(t, func(c *engine.Config) {
					c.Agents, c.Now = []engine.Agent{{Name: "main", Model: m}}, func() time.Time { return now }
				})
				return g
			}
			c := talker{Engine: newEngine(), stateless: stateless, history: before}
			var last []byte
			broken := 0
			for i := range turns {
				now = now.Add(time.Second)
				if i == 40 && stateless { // another process begins in the same way
					c.Engine = newEngine()
				}
				must(t, c.say(t.Context(), fmt.Sprint("echo and tell the weather, number ", i, strings.Repeat(" please", i%20))))
				next := flat(m.requests[len(m.requests)-1])
				m.requests = nil
				if kept := common(last, next); float64(kept) < 0.97*float64(len(last)) {
					broken++
				}
				last = next
			}
			if broken > turns/50 {
				t.Errorf("%d of %d requests begin otherwise than the one before", broken, turns)
			}
			if window > 0 && broken == 0 {
				t.Error("nothing was ever left out")
			}
		})
	}
}

// common is how many bytes two texts begin with.
func common(a, b []byte) int {
	return sort.Search(min(len(a), len(b)), func(n int) bool { return !bytes.Equal(a[:n+1], b[:n+1]) })
}

// TestSummary: what is not sent any more is summarized, by the model that is named for
// it, together with the summary before. The messages stay in the store, and calls keep
// their results.
func TestSummary(t *testing.T) {
	t.Parallel()
	writer := &narrow{summary: "They talked about Rome."}
	m := &narrow{}
	m.answer = func(req model.Request) fake.Step {
		if req.Messages[len(req.Messages)-1].Role == chat.Tool {
			return fake.Step{Text: strings.Repeat("I say. ", 40)}
		}
		return fake.Step{Calls: []chat.Call{fake.Call("", "echo", `{"word":"Rome"}`)}}
	}
	store := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) {
		c.Agents, c.Store, c.Turn.Summarizer = []engine.Agent{{Name: "main", Model: m, HistoryTokens: 1000}}, store, writer
	})
	c := talker{Engine: g}
	const turns = 30
	for i := range turns {
		must(t, c.say(t.Context(), fmt.Sprint("question ", i)))
	}
	if len(writer.requests) < 2 {
		t.Fatalf("the model for summaries was asked %d times", len(writer.requests))
	}
	asked := writer.requests[1].Messages[0].Text
	for _, want := range []string{"They talked about Rome.", "user: question", "assistant: I say.", `call: echo {"word":"Rome"}`, "result of echo: Rome"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the second summary is made of %q, want %q in it", asked, want)
		}
	}
	last := m.requests[len(m.requests)-1]
	if note := last.Messages[0].Note; !strings.Contains(note, "They talked about Rome.") {
		t.Errorf("the first message has the note %q", note)
	}
	for _, req := range m.requests {
		if req.Messages[0].Role != chat.User {
			t.Fatalf("a request begins with a message of role %s", req.Messages[0].Role)
		}
		calls := 0
		for _, said := range req.Messages {
			if calls += len(said.Calls); said.Result != nil {
				calls--
			}
		}
		if calls != 0 {
			t.Fatalf("%d calls of a request have no result", calls)
		}
	}
	s := load(t, store)
	if len(s.Messages) != turns*4 {
		t.Errorf("%d messages are stored, want %d", len(s.Messages), turns*4)
	}
	if s.Summary != "They talked about Rome." {
		t.Errorf("the stored summary is %q", s.Summary)
	}
}

// TestSummaryFails: then it is an extract, and the turn goes on.
func TestSummaryFails(t *testing.T) {
	t.Parallel()
	m := &narrow{} // writes no summaries
	g, _ := newEngine(t, func(c *engine.Config) { c.Agents = []engine.Agent{{Name: "main", Model: m, HistoryTokens: 500}} })
	c := talker{Engine: g}
	must(t, c.say(t.Context(), "my name is Ann "+strings.Repeat("and so on ", 60)))
	for range 4 {
		must(t, c.say(t.Context(), strings.Repeat("more words ", 60)))
	}
	last := m.requests[len(m.requests)-1]
	if note := last.Messages[0].Note; !strings.Contains(note, "user: my name is Ann") {
		t.Errorf("the first message has the note %q", note)
	}
}

// TestCompact: the message /compact summarizes by hand and is no message of the
// conversation.
func TestCompact(t *testing.T) {
	t.Parallel()
	m := &narrow{summary: "They talked about Rome."}
	store := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) {
		c.Agents, c.Store = []engine.Agent{{Name: "main", Model: m}}, store
	})
	compact := func() string {
		t.Helper()
		text, err := send(g, t.Context(), engine.Message{Text: "/compact"})
		must(t, err)
		return text
	}
	if got := compact(); got != "There is nothing to summarize." {
		t.Errorf("a new conversation: %q", got)
	}
	for _, text := range []string{"tell me about Rome", "more"} {
		_, err := send(g, t.Context(), engine.Message{Text: text})
		must(t, err)
	}
	if got := compact(); !strings.HasPrefix(got, "The conversation so far, 4 messages, is now a summary of about 6 tokens.") {
		t.Errorf("after two turns: %q", got)
	}
	for _, text := range []string{"and Paris?", "and Oslo?"} {
		_, err := send(g, t.Context(), engine.Message{Text: text})
		must(t, err)
	}
	last := m.requests[len(m.requests)-1]
	if len(last.Messages) != 3 {
		t.Errorf("%d messages are sent, want 3", len(last.Messages))
	}
	if all := string(flat(last)); !strings.Contains(all, "They talked about Rome.") || strings.Contains(all, "tell me about Rome") {
		t.Errorf("sent is %s", all)
	}
	s := load(t, store)
	if len(s.Messages) != 8 {
		t.Errorf("%d messages are stored, want 8", len(s.Messages))
	}
	text, err := send(g, t.Context(), engine.Message{Text: "/compact", History: []chat.Message{}})
	must(t, err)
	if !strings.HasPrefix(text, "The client keeps this conversation") {
		t.Errorf("a conversation of the client: %q", text)
	}
}
