package channeltest

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// Again is a platform that can deliver a message once more that was acknowledged: because the
// acknowledgement was lost, or because somebody has recorded the delivery and posts it.
type Again interface {
	// Again delivers what it delivered last, before anything that is said later.
	Again(t *testing.T)
}

// Patient is a platform that keeps what is said while nobody listens.
type Patient interface {
	// Patient is a marker without effect.
	Patient()
}

// Pressing is a platform whose groups show buttons.
type Pressing interface {
	// Press lets a person press a button under the newest message in a group that has one with
	// that label.
	Press(t *testing.T, person, group, label string)
}

// hosted runs a channel in a host, with an engine whose model calls the tools that a message names.
type hosted struct {
	*catalog.Registry
	kept  *store.Memory
	model *obedient

	mu    sync.Mutex
	facts []chat.Facts // with which the tools were asked for
	ran   []string     // tools
}

// asking is the tool that somebody has to approve.
const asking = "careful_tool"

// obedient is a model that calls what the last message names after "call", by its name and through
// call_tool, and then repeats the message.
type obedient struct {
	mu      sync.Mutex
	asked   []string
	results map[string]string // by the ID of the call
}

func (*obedient) Info() model.Info { return model.Info{Name: "obedient"} }

func (o *obedient) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		o.mu.Lock()
		defer o.mu.Unlock()
		asked, results := "", 0
		for _, m := range r.Messages {
			switch {
			case m.Role == chat.User:
				asked, results = m.Text, 0
			case m.Result != nil:
				o.results[m.Result.CallID] = m.Result.Text
				results++
			}
		}
		if _, list, ok := strings.Cut(asked, "call "); ok && results == 0 {
			o.asked = append(o.asked, asked)
			for _, name := range strings.Fields(list) {
				through, _ := json.Marshal(map[string]any{"name": name, "arguments": struct{}{}})
				if !yield(model.Event{Call: &chat.Call{ID: name, Name: name, Arguments: json.RawMessage(`{}`)}}, nil) ||
					name != asking && !yield(model.Event{Call: &chat.Call{ID: "through-" + name, Name: "call_tool",
						Arguments: through}}, nil) {
					return
				}
			}
		} else {
			if results == 0 {
				o.asked = append(o.asked, asked)
			}
			if !yield(model.Event{Text: "answer to " + strings.TrimSpace(asked)}, nil) {
				return
			}
		}
		yield(model.Event{Stop: model.Done}, nil)
	}
}

func newHosted(t *testing.T, platform string) *hosted {
	h := &hosted{Registry: catalog.NewRegistry(nil), kept: &store.Memory{},
		model: &obedient{results: map[string]string{}}}
	for name, seen := range map[string]func(chat.Facts) bool{
		"opening_hours": func(f chat.Facts) bool { return f.Channel == platform && f.Attrs["account"] == "account" },
		asking:          func(chat.Facts) bool { return true },
		"secret_keys":   func(f chat.Facts) bool { return f.Channel != platform || slices.Contains(f.Roles, "boss") },
	} {
		err := h.RegisterWithFilter(tool.Func(tool.Definition{Name: name, Description: "Does something.",
			Risk: tool.Read}, func(context.Context, struct{}) (string, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ran = append(h.ran, name)
			return "it ran", nil
		}), func(f chat.Facts) bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.facts = append(h.facts, f)
			return seen(f)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// run runs a channel in a host. Stop ends it as a process ends that is asked to.
func (h *hosted) run(t *testing.T, c channel.Channel) (stop func()) {
	t.Helper()
	_, stop = h.host(t, c, channel.Everybody)
	return stop
}

// host runs a channel in a host that answers in some groups.
func (h *hosted) host(t *testing.T, c channel.Channel, groups ...string) (_ *channel.Host, stop func()) {
	t.Helper()
	config := engine.Config{Registry: h.Registry, Agents: []engine.Agent{{Name: "main", Model: h.model}}, Store: h.kept}
	config.Turn.Approvals = true
	config.Turn.Decide = func(_ context.Context, a rules.Attempt) rules.Decision {
		if a.Entry.Definition.Name == asking {
			return rules.Decision{Effect: rules.Ask}
		}
		return rules.Decision{Effect: rules.Allow}
	}
	config.Approvers = func(context.Context,
		rules.Attempt) rules.Decision {
		return rules.Decision{Effect: rules.Ask}
	} // whoever asked
	e, err := engine.New(config)
	if err != nil {
		t.Fatal(err)
	}
	host, err := channel.New(channel.Config{Engine: e, Records: h.kept, Accounts: []channel.Account{{
		Name: "account", Channel: c, Allow: []string{channel.Everybody}, Groups: groups, Whole: true, PerMinute: 1000,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		host.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		e.Stop(ctx)
		<-ended
	})
	t.Cleanup(stop)
	return host, stop
}

// answers waits until the account has written a text in the direct chat, and returns all that it
// has written there.
func answers(t *testing.T, p Platform, text string) []string {
	t.Helper()
	return shows(t, p, "4711", text)
}

// shows is the same for any chat.
func shows(t *testing.T, p Platform, chat, text string) []string {
	t.Helper()
	for late := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) { // the platform is somebody else's
		seen := p.Seen(t, chat)
		if strings.Contains(strings.Join(seen, "\n"), text) {
			return seen
		}
		if time.Now().After(late) {
			t.Fatalf("no %q in %q", text, seen)
		}
	}
}

// runHosted is the part of the suite in which a channel runs in a host.
func runHosted(t *testing.T, start func(t *testing.T) Platform) {
	say := func(t *testing.T, p Platform, text string) {
		p.Say(t, channel.Incoming{From: channel.Sender{ID: "4711", Handle: "ann", Name: "Ann"},
			At: channel.Address{Chat: "4711"}, Text: text})
	}
	t.Run("hidden tools", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		c := p.Channel(t)
		h := newHosted(t, c.Traits().Platform)
		h.run(t, c)
		say(t, p, "call opening_hours secret_keys absent")
		answers(t, p, "answer to")
		h.mu.Lock()
		defer h.mu.Unlock()
		person := "4711"
		if n, ok := p.(Named); ok {
			person, _ = n.Names()
		}
		if c.Traits().Local {
			person = "account/" + person
		}
		for _, f := range h.facts {
			if f.Channel != c.Traits().Platform || f.Chat == "" || f.Attrs["account"] != "account" ||
				f.Attrs["chat_kind"] != "direct" || f.User != person || len(f.Roles) > 0 {
				t.Errorf("rules read %+v", f)
			}
		}
		if len(h.facts) == 0 || !slices.Equal(h.ran, []string{"opening_hours", "opening_hours"}) {
			t.Errorf("%q ran", h.ran)
		}
		h.model.mu.Lock()
		defer h.model.mu.Unlock()
		for _, through := range []string{"", "through-"} {
			hidden, unknown := h.model.results[through+"secret_keys"], h.model.results[through+"absent"]
			if unknown == "" || hidden != strings.ReplaceAll(unknown, "absent", "secret_keys") {
				t.Errorf("a hidden tool: %q; one that does not exist: %q", hidden, unknown)
			}
		}
	})
	t.Run("buttons in a group", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		pressing, ok := p.(Pressing)
		if !ok {
			t.Log("the platform has no buttons in groups")
			return
		}
		c := p.Channel(t)
		h := newHosted(t, c.Traits().Platform)
		stop := h.run(t, c)
		p.Say(t, channel.Incoming{From: channel.Sender{ID: "4711", Handle: "ann", Name: "Ann"},
			At: channel.Address{Chat: "-100"}, Group: true, Mentioned: true, Text: "call " + asking})
		shows(t, p, "-100", "needs an approval")
		pressing.Press(t, "4712", "-100", "Approve")
		shows(t, p, "-100", "your answer does not count")
		stop()
		h.run(t, p.Channel(t)) // which does not remember the buttons
		pressing.Press(t, "4712", "-100", "Deny")
		for deadline := time.Now().Add(patience); strings.Count(strings.Join(shows(t, p, "-100", ""), ""),
			"does not count") < 2; <-time.After(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the second press has no answer: %q", p.Seen(t, "-100"))
			}
		}
		pressing.Press(t, "4711", "-100", "Approve")
		shows(t, p, "-100", "answer to call")
		pressing.Press(t, "4711", "-100", "Approve")
		shows(t, p, "-100", "was approved by")
		h.mu.Lock()
		defer h.mu.Unlock()
		if !slices.Equal(h.ran, []string{asking}) {
			t.Errorf("%q ran", h.ran)
		}
	})
	t.Run("a refused reply", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		if _, ok := p.(Picky); !ok {
			t.Log("the platform refuses no single message")
			return
		}
		c := p.Channel(t)
		h := newHosted(t, c.Traits().Platform)
		h.run(t, c)
		p.Fail(t, Rejected)
		say(t, p, "first")
		answers(t, p, "answer to first") // in another form
		say(t, p, "second")
		answers(t, p, "answer to second")
	})
	t.Run("chats by their names", func(t *testing.T) { t.Parallel(); byName(t, start(t)) })
	t.Run("over a restart", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		c := p.Channel(t)
		h := newHosted(t, c.Traits().Platform)
		stop := h.run(t, c)
		say(t, p, "first")
		answers(t, p, "answer to first")
		stop()
		want := []string{"first", "second"}
		next := p.Channel(t)
		if _, ok := p.(Patient); ok {
			say(t, p, "meanwhile")
			want = []string{"first", "meanwhile", "second"}
		}
		h.run(t, next)
		if _, ok := p.(Patient); ok {
			answers(t, p, "answer to meanwhile")
		}
		if again, ok := p.(Again); ok {
			again.Again(t)
		}
		say(t, p, "second")
		seen := answers(t, p, "answer to second")
		h.model.mu.Lock()
		defer h.model.mu.Unlock()
		if !slices.Equal(h.model.asked, want) {
			t.Errorf("the model was asked %q", h.model.asked)
		}
		if n := strings.Count(strings.Join(seen, "\n"), "answer to"); n != len(want) {
			t.Errorf("%d answers: %q", n, seen)
		}
	})
}
