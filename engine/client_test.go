package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// These tests are about tools that a client brings: readFile is one.
var readFile = clienttool.Tool{Name: "read_file", Description: "Read a file", Parameters: []byte(`{"type":"object"}`)}

// mixed is an answer that calls a tool of etui and one of the client.
func mixed() fake.Step {
	return fake.Step{Text: "Looking.", Calls: []chat.Call{
		fake.Call("1", "read_file", `{"path":"a"}`), fake.Call("2", "echo", `{"word":"hello"}`),
	}}
}

// end sends a message and returns how its turn ended.
func end(t *testing.T, g *engine.Engine, m engine.Message) turn.End {
	t.Helper()
	var done *turn.End
	for e, err := range g.Send(t.Context(), m) {
		must(t, err)
		if e.Done != nil {
			done = e.Done
		}
	}
	if done == nil {
		t.Fatal("the turn has no end")
	}
	return *done
}

// spoken writes a conversation as the model got it, without notes.
func spoken(r model.Request) string {
	var lines []string
	for _, m := range r.Messages {
		line := string(m.Role) + " " + m.Text
		for _, c := range m.Calls {
			line += fmt.Sprintf(" [%s %s]", c.Name, c.Arguments)
		}
		if m.Result != nil {
			line += m.Result.Text
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// A turn hands the calls of the client's tools over once its own have run, and goes on with their
// results in another process, whether etui keeps the conversation or the client, who sends back
// only what it saw.
func TestClientTools(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"etui keeps the conversation": false, "the client keeps it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := &store.Memory{}
			change := func(c *engine.Config) { c.Store = kept }
			m := engine.Message{Text: "go", User: "ann", Offer: clienttool.Offer{Tools: []clienttool.Tool{readFile}}}
			if keeps {
				m.History = []chat.Message{}
			} else {
				m.Session = "s"
			}
			first, asked := newEngine(t, change, call("0", "get_weather"), mixed())
			done := end(t, first, m)
			if len(done.Handed) != 1 || done.Handed[0].Name != "read_file" || done.Calls != 2 || done.Reply != "Looking." {
				t.Fatalf("the client gets %+v", done)
			}
			if tools := asked.Requests()[0].Tools; tools[len(tools)-1].Name != "read_file" {
				t.Errorf("the model's last tool is %q", tools[len(tools)-1].Name)
			}
			result := chat.Result{CallID: done.Handed[0].ID, Text: "the file"}
			if m.Text = ""; keeps {
				m.History = []chat.Message{
					{Role: chat.User, Text: "go"}, {Role: chat.Assistant, Text: "Looking.", Calls: done.Handed},
					{Role: chat.Tool, Result: &result},
				}
			} else {
				m.Results = []chat.Result{result}
			}
			second, model := newEngine(t, change, fake.Step{Text: "It says: the file."})
			if done := end(t, second, m); done.Reply != "It says: the file." || len(done.Handed) > 0 {
				t.Errorf("the turn ends with %+v", done)
			}
			want := "user go\nassistant  [get_weather {}]\ntool sunny\n" +
				`assistant Looking. [read_file {"path":"a"}] [echo {"word":"hello"}]` + "\ntool hello\ntool the file"
			if got := spoken(model.Requests()[0]); got != want {
				t.Errorf("the model reads\n%s\nwant\n%s", got, want)
			}
			if a, b := asked.Requests()[1], model.Requests()[0]; a.System != b.System || a.Messages[0].Note != b.Messages[0].Note {
				t.Error("the request begins with other bytes than the one before")
			}
		})
	}
}

// The client's tool has its name; etui's tool of that name has another one, and runs.
func TestClientToolsNamedAlike(t *testing.T) {
	t.Parallel()
	g, m := newEngine(t, nil,
		fake.Step{Calls: []chat.Call{fake.Call("1", "etui_echo", `{"word":"own"}`)}},
		fake.Step{Calls: []chat.Call{fake.Call("2", "echo", `{"word":"client"}`)}})
	done := end(t, g, engine.Message{
		Text: "echo", User: "ann", Session: "s", Offer: clienttool.Offer{Tools: []clienttool.Tool{{Name: "echo"}}},
	})
	if len(done.Handed) != 1 || string(done.Handed[0].Arguments) != `{"word":"client"}` || done.Used[0].Tool != "echo" {
		t.Errorf("%+v", done)
	}
	if got, want := spoken(m.Requests()[1]), `assistant  [etui_echo {"word":"own"}]`+"\ntool own"; !strings.HasSuffix(got, want) {
		t.Errorf("the model reads %q, want %q", got, want)
	}
}

// What a client may not send is refused, and the turn goes on waiting.
func TestClientToolsRefused(t *testing.T) {
	t.Parallel()
	g, _ := newEngine(t, func(c *engine.Config) { c.Agents[1].NoClientTools = true }, fake.Step{Calls: []chat.Call{
		fake.Call("1", "read_file", "{}"), fake.Call("2", "read_file", "{}"),
	}}, fake.Step{})
	offer := clienttool.Offer{Tools: []clienttool.Tool{readFile}}
	m := engine.Message{Text: "go", User: "ann", Session: "s", Offer: offer}
	handed := end(t, g, m).Handed
	one, two := chat.Result{CallID: handed[0].ID, Text: "1"}, chat.Result{CallID: handed[1].ID, Text: "2"}
	deep := clienttool.Tool{Name: "deep", Parameters: []byte(strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70))}
	for name, c := range map[string]struct {
		change func(*engine.Message)
		want   error
		says   string
	}{
		"a call that was never made": {func(m *engine.Message) { m.Results = []chat.Result{one, two, {CallID: "x"}} }, message.ErrInvalid, `"x"`},
		"one result is missing":      {func(m *engine.Message) { m.Results = []chat.Result{one} }, message.ErrInvalid, handed[1].ID},
		"two results of a call":      {func(m *engine.Message) { m.Results = []chat.Result{one, one} }, message.ErrInvalid, "two results"},
		"somebody else":              {func(m *engine.Message) { m.Results, m.User = []chat.Result{one, two}, "bob" }, message.ErrInvalid, handed[0].ID},
		"too long": {func(m *engine.Message) {
			m.Results = []chat.Result{{CallID: "1", Text: strings.Repeat("x", clienttool.MaxResult+1)}}
		}, message.ErrInvalid, "at most"},
		"an agent without": {func(m *engine.Message) { m.Agent, m.Text = "other", "go" }, message.ErrNoClientTools, "other"},
		"too many": {func(m *engine.Message) {
			m.Text, m.Offer.Tools = "go", slices.Repeat([]clienttool.Tool{readFile}, clienttool.MaxTools+1)
		}, message.ErrInvalid, "1024"},
		"twice":    {func(m *engine.Message) { m.Text, m.Offer.Tools = "go", []clienttool.Tool{readFile, readFile} }, message.ErrInvalid, "two tools"},
		"too deep": {func(m *engine.Message) { m.Text, m.Offer.Tools = "go", []clienttool.Tool{deep} }, message.ErrInvalid, "deeper"},
		"no object": {func(m *engine.Message) {
			m.Text, m.Offer.Tools = "go", []clienttool.Tool{{Name: "a", Parameters: []byte("[]")}}
		}, message.ErrInvalid, "object"},
		"no name":         {func(m *engine.Message) { m.Text, m.Offer.Tools = "go", []clienttool.Tool{{}} }, message.ErrInvalid, "name"},
		"an unknown":      {func(m *engine.Message) { m.Text, m.Offer.Only = "go", "b" }, message.ErrInvalid, `"b"`},
		"no ID of a call": {func(m *engine.Message) { m.Results = []chat.Result{{CallID: strings.Repeat("x", 300)}} }, message.ErrInvalid, "300"},
	} {
		sent := engine.Message{User: "ann", Session: "s", Offer: offer}
		c.change(&sent)
		if _, err := send(g, t.Context(), sent); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.says)
		}
	}
	same(t, "reply", end(t, g, engine.Message{User: "ann", Session: "s", Results: []chat.Result{two, one}}).Reply, "ok")
}

// Another message, or a day without results, ends a turn that waits for its client.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	now, kept := time.Unix(1700000000, 0), &store.Memory{}
	g, m := newEngine(t, func(c *engine.Config) { c.Store, c.Now = kept, func() time.Time { return now } },
		mixed(), fake.Step{Text: "Never mind."}, mixed(), fake.Step{Text: "Here I am."})
	sent := engine.Message{Text: "go", User: "ann", Session: "s", Offer: clienttool.Offer{Tools: []clienttool.Tool{readFile}}}
	end(t, g, sent)
	same(t, "reply", end(t, g, engine.Message{Text: "stop that", User: "ann", Session: "s"}).Reply, "Never mind.")
	if got := spoken(m.Requests()[1]); !strings.Contains(got, "the client gave no result: a new message came first") {
		t.Errorf("the model reads %s", got)
	}
	end(t, g, sent)
	now = now.Add(clienttool.Wait + time.Minute)
	must(t, g.Expire(t.Context()))
	idle(t, g)
	open, err := kept.Open(t.Context())
	if must(t, err); len(open) > 0 {
		t.Errorf("%v are still open", open)
	}
}

// A client that takes one call at a time gets one.
func TestClientTakesOneCall(t *testing.T) {
	t.Parallel()
	g, m := newEngine(t, nil, fake.Step{Calls: []chat.Call{
		fake.Call("1", "read_file", "{}"), fake.Call("2", "read_file", "{}"),
	}}, fake.Step{Text: "ok"})
	sent := engine.Message{
		Text: "go", User: "ann", Session: "s",
		Offer: clienttool.Offer{Tools: []clienttool.Tool{readFile}, Serial: true, Required: true},
	}
	handed := end(t, g, sent).Handed
	same(t, "calls", len(handed), 1)
	if r := m.Requests()[0]; !r.Serial || !r.Required {
		t.Errorf("the model is asked with %+v", r)
	}
	end(t, g, engine.Message{User: "ann", Session: "s", Results: []chat.Result{{CallID: handed[0].ID, Text: "a"}}})
	if got := spoken(m.Requests()[1]); !strings.Contains(got, "one call at a time") {
		t.Errorf("the model reads %s", got)
	}
}

// A call of etui that waits for a person comes before those of the client: they are handed over once it
// has run.
func TestClientWaitsForAPerson(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	change := func(c *engine.Config) { c.Store = kept; approving(c) }
	g, _ := newEngine(t, change, fake.Step{Calls: []chat.Call{
		fake.Call("1", "read_file", "{}"), fake.Call("2", "get_weather", "{}"),
	}})
	m := engine.Message{
		Text: "go", User: "ann", Session: "s", Offer: clienttool.Offer{Tools: []clienttool.Tool{readFile}},
	}
	asked := end(t, g, m)
	if len(asked.Awaits) != 1 || len(asked.Handed) > 0 {
		t.Fatalf("%+v", asked)
	}
	second, model := newEngine(t, change, fake.Step{Text: "Done."})
	m.Text, m.Answers = "", []session.Answer{{Call: "2", ID: asked.Awaits[0].ID, Approved: true}}
	handed := end(t, second, m).Handed
	same(t, "calls for the client", len(handed), 1)
	m.Answers, m.Results = nil, []chat.Result{{CallID: handed[0].ID, Text: "the file"}}
	same(t, "reply", end(t, second, m).Reply, "Done.")
	if got := spoken(model.Requests()[0]); !strings.Contains(got, "tool sunny\ntool the file") {
		t.Errorf("the model reads %s", got)
	}
}

// A client's result has a text and pictures, and may have failed. It has nothing that etui alone says of
// results, and what is kept of it has no secrets.
func TestClientResultIsNoMore(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Calls: []chat.Call{fake.Call("1", "read_file", "{}")}}, fake.Step{Text: "ok"})
	m := engine.Message{Text: "go", User: "ann", Session: "s", Offer: clienttool.Offer{Tools: []clienttool.Tool{readFile}}}
	handed := end(t, g, m).Handed
	sent := chat.Result{
		CallID: handed[0].ID, Name: "get_weather", Text: "text", Failed: true, Tools: []string{"hidden"}, Pending: true,
		Session: "agent:main:person:bob", Unknown: true, View: &chat.View{Text: strings.Repeat("x", 1<<20), Data: []byte(`{}`)},
	}
	m.Text, m.Results = "", []chat.Result{sent}
	end(t, g, m)
	who, err := g.Agents().Whoami(m)
	must(t, err)
	s, err := kept.Load(t.Context(), who.Session, 100)
	must(t, err)
	for _, said := range s.Messages {
		if said.Result != nil {
			want := chat.Result{CallID: sent.CallID, Name: "read_file", Text: "text", Failed: true}
			if got := *said.Result; !reflect.DeepEqual(got, want) {
				t.Errorf("%.300v is kept, want %v", fmt.Sprintf("%+v", got), want)
			}
		}
	}
}

// The result of a call counts once, however often it comes.
func TestClientResultTwice(t *testing.T) {
	t.Parallel()
	g, m := newEngine(t, nil, fake.Step{Calls: []chat.Call{fake.Call("1", "read_file", "{}")}}, fake.Step{Text: "ok"}, fake.Step{Text: "again"})
	sent := engine.Message{Text: "go", User: "ann", Session: "s", Offer: clienttool.Offer{Tools: []clienttool.Tool{readFile}}}
	sent.Results, sent.Text = []chat.Result{{CallID: end(t, g, sent).Handed[0].ID, Text: "a"}}, ""
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			_, err := send(g, t.Context(), sent)
			errs <- err
		}()
	}
	taken := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			taken++
		} else if !errors.Is(err, message.ErrInvalid) {
			t.Error(err)
		}
	}
	if taken != 1 || len(m.Requests()) != 2 {
		t.Errorf("%d are taken, the model is asked %d times", taken, len(m.Requests()))
	}
}

// crowd are many tools of a client, of which a message means few.
func crowd() (list []clienttool.Tool) {
	for i := range 60 {
		list = append(list, clienttool.Tool{
			Name: fmt.Sprintf("part_%02d", i), Description: fmt.Sprintf("Orders the spare part number %d of the machine", i),
		})
	}
	return append(list,
		clienttool.Tool{Name: "book_flight", Description: "Books a flight to a city", Parameters: []byte(`{"type":"object"}`)},
		clienttool.Tool{Name: "play_song", Description: "Plays a song in the kitchen"},
		clienttool.Tool{Name: "water_roses", Description: "Waters the roses in the garden"},
		clienttool.Tool{Name: "echo", Description: "The client's echo"}, clienttool.Tool{Name: "\u753b\u56fe", Description: "Draws"},
	)
}

// With client_tools: selected the model sees the tools of the client that fit the first message. Later ones
// are announced and found, the request begins with the same bytes, and calls of all are handed over.
func TestClientToolsSelected(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"etui keeps the conversation": false, "the client keeps it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := &store.Memory{}
			change := func(c *engine.Config) { c.Store, c.Agents[0].SelectClientTools = kept, true }
			g, first := newEngine(t, change, fake.Step{Text: "Booked."})
			m := engine.Message{User: "ann", Offer: clienttool.Offer{Tools: crowd()}}
			say := func(g *engine.Engine, text, before string) turn.End {
				switch m.Text = text; {
				case !keeps:
					m.Session = "s"
				case before == "":
					m.History = []chat.Message{}
				default:
					m.History = []chat.Message{{Role: chat.User, Text: before}, {Role: chat.Assistant, Text: "Booked."}}
				}
				return end(t, g, m)
			}
			say(g, "Book a flight to Rome", "")
			g, second := newEngine(t, change,
				fake.Step{Calls: []chat.Call{fake.Call("1", "find_tools", `{"queries":["song in the kitchen"]}`)}},
				fake.Step{Calls: []chat.Call{fake.Call("2", "call_tool", `{"name":"water_roses","arguments":{"minutes":5}}`)}})
			done := say(g, "Now water the roses", "Book a flight to Rome")
			a, b := first.Requests()[0], second.Requests()[0]
			var shown []string
			for _, d := range a.Tools {
				shown = append(shown, d.Name)
			}
			for _, want := range []string{"book_flight", "echo", "\u753b\u56fe", "etui_echo", "find_tools", "call_tool"} {
				if !slices.Contains(shown, want) {
					t.Errorf("the model sees %v, without %s", shown, want)
				}
			}
			if len(shown) > 30 || slices.Contains(shown, "water_roses") {
				t.Errorf("the model sees %d tools: %v", len(shown), shown)
			}
			if !reflect.DeepEqual(a.Tools, b.Tools) || a.System != b.System || a.Messages[0].Note != b.Messages[0].Note {
				t.Errorf("the second request begins with other bytes: %v", b.Tools)
			}
			if note := b.Messages[2].Note; !strings.Contains(note, "water_roses(): Waters the roses in the garden") {
				t.Errorf("the note is %q", note)
			}
			if got := spoken(second.Requests()[1]); !strings.Contains(got, "play_song()") {
				t.Errorf("the model reads %q", got)
			}
			if len(done.Handed) != 1 || done.Handed[0].Name != "water_roses" || string(done.Handed[0].Arguments) != `{"minutes":5}` {
				t.Errorf("the client gets %+v", done.Handed)
			}
		})
	}
}

// A call that the client asks for is shown in any case, and a provider that defers tools gets the others.
func TestClientToolsSelectedAlways(t *testing.T) {
	t.Parallel()
	g, m := newEngine(t, func(c *engine.Config) {
		c.Agents[0].SelectClientTools = true
		c.Selection.Direct = -1
	}, fake.Step{Text: "ok"}, fake.Step{Text: "ok"})
	m.Deferral = true
	asked := engine.Message{Text: "Book a flight", User: "ann", Session: "s", Offer: clienttool.Offer{Tools: crowd()}}
	asked.Offer.Only = "part_07"
	end(t, g, asked)
	names := func(list []tool.Definition) (names []string) {
		for _, d := range list {
			names = append(names, d.Name)
		}
		return names
	}
	r := m.Requests()[0]
	if shown := names(r.Tools); !slices.Contains(shown, "part_07") || slices.Contains(shown, "part_08") {
		t.Errorf("the model sees %v", shown)
	}
	if later := names(r.Deferred); !slices.Contains(later, "part_08") || slices.Contains(later, "part_07") {
		t.Errorf("the provider defers %v", later)
	}
}

// A request that a chat client sends by itself is answered by a model of its own, which sees no tools, and
// leaves nothing in the session that it names.
func TestChores(t *testing.T) {
	t.Parallel()
	kept, small := &store.Memory{}, fake.New(fake.Step{Text: "Flights"}, fake.Step{Text: "Flights"},
		fake.Step{Calls: []chat.Call{fake.Call("1", "title", `{"title":"Flights"}`)}})
	g, m := newEngine(t, func(c *engine.Config) {
		c.Store = kept
		c.Agents[0].Instructions, c.Agents[0].Skill = "You book flights.", "talking"
		c.Agents[0].Chores = &agent.Chores{Model: small, Match: func(text, _ string) bool { return text == "title?" }}
	}, fake.Step{Text: "Hello."}, fake.Step{Text: "Bye."})
	asked := engine.Message{Text: "hello", User: "ann", Session: "s"}
	end(t, g, asked)
	asked.Text, asked.Offer.Tools = "title?", []clienttool.Tool{readFile, {Name: "title"}}
	same(t, "title", end(t, g, asked).Reply, "Flights")
	asked.History, asked.Session = []chat.Message{{Role: chat.User, Text: "hello"}, {Role: chat.Assistant, Text: "Hello."}}, ""
	same(t, "title", end(t, g, asked).Reply, "Flights")
	asked.Offer.Only = "title"
	if done := end(t, g, asked); len(done.Handed) != 1 || done.Handed[0].Name != "title" {
		t.Errorf("the client gets %+v", done)
	}
	asked.Text, asked.Offer = "bye", clienttool.Offer{}
	end(t, g, asked)
	for i, r := range small.Requests()[:2] {
		if len(r.Tools)+len(r.Deferred) > 0 || strings.Contains(r.System, "book flights") || strings.Contains(r.System, "tool") || r.Messages[len(r.Messages)-1].Note != "" {
			t.Errorf("request %d is %+v", i, r)
		}
	}
	if a, b := m.Requests()[0], m.Requests()[1]; !reflect.DeepEqual(a.Tools, b.Tools) || len(a.Tools) == 0 {
		t.Errorf("a chore changes the tools of the conversation: %v", b.Tools)
	}
	list, err := kept.List(t.Context(), session.Filter{})
	must(t, err)
	if len(list) != 1 || list[0].Messages != 2 {
		t.Errorf("the store has %+v", list)
	}
	m.Add(fake.Step{Text: "Which one?"}) // on a channel a person asks
	same(t, "reply", end(t, g, engine.Message{Text: "title?", Channel: "telegram", Account: "bot", User: "42"}).Reply, "Which one?")
}

// With the client in the lead its instructions come first, and etui's follow.
func TestClientLeads(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]string{
		"": "You are a coder.\n\nUse a tool", "You know the plant.": "You are a coder.\n\nYou know the plant.\nUse a tool",
	} {
		g, m := newEngine(t, func(c *engine.Config) {
			c.Agents[0].ClientLeads, c.Agents[0].Instructions = true, own
		}, fake.Step{Text: "ok"})
		end(t, g, engine.Message{Text: "go", User: "ann", Instructions: "You are a coder."})
		if got := m.Requests()[0].System; !strings.HasPrefix(got, want) {
			t.Errorf("the system prompt is %q", got)
		}
	}
}
