package agent_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inbox/inboxtest"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

func TestMistakes(t *testing.T) {
	t.Parallel()
	m := fake.New()
	for want, list := range map[string][]agent.Config{
		"needs a name and a model":   {{Name: "main"}},
		`"main" is defined twice`:    {{Name: "main", Model: m}, {Name: "main", Model: m}},
		`agent main: skill "oncall"`: {{Name: "main", Model: m, Skill: "oncall"}},
		"agent main: unknown mode":   {{Name: "main", Model: m, Mode: "every"}},
		"agent main: ":               {{Name: "main", Model: m, Strategy: 9}},
	} {
		r := catalog.NewRegistry(nil)
		_, err := agent.New(agent.Host{
			Store: &store.Memory{}, People: people.New(people.Config{Catalog: r.Catalog}), Catalog: r.Catalog,
			Selector: selection.Follow(r, selection.Config{}), Log: slog.New(slog.DiscardHandler), Now: time.Now,
			Voting: func(_ string, s func() *selection.Selector) func() *selection.Selector { return s },
		}, list)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestIdentify: a message says once who sends it, and its As becomes a sender.
func TestIdentify(t *testing.T) {
	t.Parallel()
	p := inboxtest.New(t)
	for name, c := range map[string]struct {
		message message.Message
		caller  identity.Caller
		err     error
	}{
		"a sender":      {message.Message{Channel: "telegram", User: "1"}, identity.Caller{Channel: "telegram", User: "1"}, nil},
		"an identity":   {message.Message{Channel: "web", As: "telegram:1"}, identity.Caller{Channel: "telegram", User: "1"}, nil},
		"a person":      {message.Message{Channel: "web", As: "alice"}, identity.Caller{Channel: "web", User: "alice"}, nil},
		"nobody":        {message.Message{As: "allice"}, identity.Caller{}, message.ErrUnknown},
		"two senders":   {message.Message{As: "alice", User: "bob"}, identity.Caller{}, message.ErrInvalid},
		"etui's own":    {message.Message{Channel: identity.System}, identity.Caller{}, message.ErrInvalid},
		"a long name":   {message.Message{User: strings.Repeat("x", 10_000)}, identity.Caller{}, message.ErrInvalid},
		"the operator":  {message.Message{Channel: "cli"}, identity.Caller{Channel: "cli"}, nil},
		"a named guest": {message.Message{Channel: "web", Session: "s"}, identity.Caller{Channel: "web"}, nil},
	} {
		m, err := p.Agents.Identify(message.New(c.message))
		got := m.Caller()
		if !errors.Is(err, c.err) || err == nil && (got.Channel != c.caller.Channel || got.User != c.caller.User || got.Guest != "" || m.As != "") {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, err, c.caller, c.err)
		}
	}
	one, _ := p.Agents.Identify(message.New(message.Message{Channel: "web"}))
	two, _ := p.Agents.Identify(message.New(message.Message{Channel: "web"}))
	if one.Guest == "" || one.Guest == two.Guest {
		t.Errorf("two guests are %q and %q", one.Guest, two.Guest)
	}
}

// TestReady: what cannot be answered is refused at the door, and secrets do not pass it.
func TestReady(t *testing.T) {
	t.Parallel()
	p := inboxtest.New(t)
	long := strings.Repeat("x", inboxtest.MaxMessage+1)
	for name, c := range map[string]struct {
		message message.Message
		err     error
	}{
		"a text":         {message.Message{Text: "hi"}, nil},
		"no text":        {message.Message{}, message.ErrEmpty},
		"too long":       {message.Message{Text: long}, message.ErrTooLong},
		"a long answer":  {message.Message{Answers: []session.Answer{{Call: "c", Reason: long}}}, message.ErrTooLong},
		"text, answers":  {message.Message{Text: "hi", Answers: []session.Answer{{Call: "c"}}}, message.ErrInvalid},
		"no such agent":  {message.Message{Text: "hi", Agent: "nobody"}, message.ErrUnknown},
		"no workflow":    {message.Message{Text: "hi", Workflow: "release"}, message.ErrUnknown},
		"only a command": {message.Message{Text: "/run release"}, nil}, // there are no workflows
	} {
		a, m, err := p.Agents.Ready(message.New(c.message))
		if !errors.Is(err, c.err) || err == nil && (a.Name != "main" || m.Text != c.message.Text) {
			t.Errorf("%s: %+v, %v, want %v", name, m, err, c.err)
		}
	}
	answers := []session.Answer{{Call: "c", Reason: "with " + inboxtest.Secret}}
	_, m, err := p.Agents.Ready(message.New(message.Message{Answers: answers, Instructions: "use " + inboxtest.Secret}))
	if err != nil || m.Answers[0].Reason != "with (hidden)" || m.Instructions != "use (hidden)" || m.Kind != message.KindAnswer {
		t.Errorf("%+v, %v", m, err)
	}
	if answers[0].Reason != "with "+inboxtest.Secret {
		t.Error("the caller's answers were changed")
	}
}

// TestCheckNames: a message names tools and skills that exist for its sender.
func TestCheckNames(t *testing.T) {
	t.Parallel()
	p := inboxtest.New(t)
	a, err := p.Agents.Get("")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		message message.Message
		err     string
	}{
		"nothing":         {message.Message{}, ""},
		"a tool":          {message.Message{Include: []string{"remove"}}, ""},
		"a mistyped tool": {message.Message{Exclude: []string{"remov"}}, `did you mean "remove"`},
		"a skill":         {message.Message{Skill: catalog.Full}, ""},
		"no skill":        {message.Message{IncludeSkills: []string{catalog.None}}, ""},
		"none and others": {message.Message{IncludeSkills: []string{catalog.None, "x"}}, "cannot be in a list with others"},
		"a missing skill": {message.Message{ExcludeSkills: []string{"oncall"}}, `skill "oncall": not found`},
	} {
		err := p.Agents.CheckNames(a, message.New(c.message), session.Session{Key: "agent:main:main"})
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

// TestInput: what a turn may use is what its agent, its message and those in whose names it works allow.
func TestInput(t *testing.T) {
	t.Parallel()
	p := inboxtest.New(t, agent.Config{Name: "main", Spawn: agent.Spawn{AtOnce: 1, Depth: 2}}, agent.Config{Name: "other"})
	main, err := p.Agents.Get("main")
	if err != nil {
		t.Fatal(err)
	}
	s := session.Session{Key: "agent:main:person:alice"}
	m := message.New(message.Message{Channel: "telegram", User: "1", Include: []string{"remove"}, Skill: "gone"})
	in := p.Agents.Input(main, m, s)
	if f := in.Facts; f.User != "alice" || !slices.Equal(f.Roles, []string{"admin"}) || f.Agent != "main" || f.Session != string(s.Key) ||
		f.Skill != catalog.Full || !f.Time.Equal(p.Clock) {
		t.Errorf("facts %+v", f)
	}
	if !slices.Equal(in.Options.IncludeTools, []string{"remove"}) || len(in.Options.ExcludeTools) > 0 || len(in.Bounds) > 0 {
		t.Errorf("options %+v, bounds %+v", in.Options, in.Bounds)
	}
	m.Origin = &message.Origin{Steps: 3, Tokens: 7, Within: []message.Ancestor{
		{Agent: "main", Session: "agent:main:main", Exclude: []string{"x"}}, {Agent: "gone", Session: "agent:gone:main", Skill: catalog.Full},
	}}
	in = p.Agents.Input(main, m, s)
	if !in.Unasked || in.MaxSteps != 3 || in.MaxTokens != 7 || len(in.Bounds) != 2 || in.Bounds[0].Facts.Agent != "main" ||
		!slices.Equal(in.Bounds[0].Exclude, []string{"x"}) {
		t.Errorf("a sub-agent: %+v", in)
	}
	if _, ok := p.Registry.Catalog().Skill(in.Bounds[1].Facts.Skill); ok {
		t.Error("in the name of an agent that is gone it may use something")
	}
	for _, name := range []string{agent.SpawnTool, "ask_user", "schedule"} {
		if !slices.Contains(in.Options.ExcludeTools, name) {
			t.Errorf("a sub-agent at the end has the tool %s", name)
		}
	}
	m.Origin.Left = 5
	if got := main.Depth(m); got != 2 {
		t.Errorf("it may nest %d more, want 2", got)
	}
	if err := agent.CheckKey(session.Key(strings.Repeat("x", 513))); !errors.Is(err, message.ErrInvalid) {
		t.Errorf("a long key: %v", err)
	}
}

func TestWhoami(t *testing.T) {
	t.Parallel()
	p := inboxtest.New(t)
	w, err := p.Agents.Whoami(message.Message{Channel: "telegram", User: "1", Roles: []string{"lead"}})
	if err != nil || w.Kind != identity.Person || w.User != "alice" || !slices.Equal(w.Roles, []string{"admin", "lead"}) ||
		!slices.Equal(w.Identities, []string{"telegram:1"}) || w.Session != "agent:main:person:alice" {
		t.Errorf("alice is %+v, %v", w, err)
	}
	if w, err = p.Agents.Whoami(message.Message{Channel: "telegram", User: "2"}); err != nil || w.Kind != identity.Peer || w.Sender != "telegram:2" || len(w.Roles) > 0 {
		t.Errorf("a peer is %+v, %v", w, err)
	}
	f, err := p.Agents.Caller(message.Message{Channel: "telegram", User: "2", Session: "work"})
	if err != nil || f.Agent != "main" || f.Session == "" || f.Session == string(w.Session) {
		t.Errorf("in a conversation with a name: %+v, %v", f, err)
	}
}
