// Package storetest is the conformance suite of store.Store.
//
// It says what the interface's comments leave open: a history that is cut off
// does not begin with the result of a call that was cut off; the arguments of
// calls come back byte for byte, broken ones too; state and messages that are
// loaded together were stored together; appends of one caller keep their order;
// keys of more than 512 bytes are refused.
package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Test runs the suite on stores that open makes, each empty.
func Test(t *testing.T, open func(t *testing.T) store.Store) {
	t.Run("unknown session is new and empty", func(t *testing.T) {
		s, err := open(t).Load(t.Context(), "nobody", 0)
		if err != nil || s.Key != "nobody" || len(s.Messages) != 0 || len(s.Declared) != 0 {
			t.Fatalf("Load = %+v, %v", s, err)
		}
	})
	t.Run("everything comes back as it was", func(t *testing.T) { everything(t, open(t)) })
	t.Run("arguments keep their bytes", func(t *testing.T) { arguments(t, open(t)) })
	t.Run("files are kept once, while a message refers to them", func(t *testing.T) { files(t, open(t)) })
	t.Run("records are replaced and removed", func(t *testing.T) { records(t, open(t)) })
	t.Run("memory is shared by processes", func(t *testing.T) { memories(t, open(t)) })
	t.Run("limit gives the newest", func(t *testing.T) { newest(t, open(t)) })
	t.Run("no result without its call", func(t *testing.T) { orphans(t, open(t)) })
	t.Run("state is replaced", func(t *testing.T) { state(t, open(t)) })
	t.Run("list and delete", func(t *testing.T) { list(t, open(t)) })
	t.Run("list is in order of change", func(t *testing.T) { order(t, open(t)) })
	t.Run("list is filtered", func(t *testing.T) { filtered(t, open(t)) })
	t.Run("list in pages", func(t *testing.T) { pages(t, open(t)) })
	t.Run("summaries say who wrote", func(t *testing.T) { summaries(t, open(t)) })
	t.Run("messages in pages", func(t *testing.T) { messagePages(t, open(t)) })
	t.Run("erase removes what a user said", func(t *testing.T) { erase(t, open(t)) })
	t.Run("sweep removes old sessions", func(t *testing.T) { sweep(t, open(t)) })
	t.Run("open sessions are found", func(t *testing.T) { openSessions(t, open(t)) })
	t.Run("sessions that ask are found", func(t *testing.T) { asking(t, open(t)) })
	t.Run("what is sent is loaded", func(t *testing.T) { sent(t, open(t)) })
	t.Run("keys are kept apart", func(t *testing.T) { keys(t, open(t)) })
	t.Run("bytes have a limit", func(t *testing.T) { longMessages(t, open(t)) })
	t.Run("keys have a limit", func(t *testing.T) { longKey(t, open(t)) })
	t.Run("many writers", func(t *testing.T) { many(t, open(t)) })
	t.Run("state and messages agree", func(t *testing.T) { agree(t, open(t)) })
	t.Run("what is loaded is the caller's own", func(t *testing.T) { own(t, open(t)) })
	inbox(t, open)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, store session.Store, key session.Key, limit int) session.Session {
	t.Helper()
	s, err := store.Load(t.Context(), key, limit)
	must(t, err)
	return s
}

func everything(t *testing.T, store session.Store) {
	want := []chat.Message{
		{Role: chat.User, Text: "你好 \x00 \U0001F600 \"q\"", Note: "[note]", Tools: []string{"a", "b"},
			Why:  []byte(`{"tools":2,"sent":[{"tool":"a","score":1.25}]}`),
			Time: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)},
		{
			Role: chat.Assistant, Text: "one moment", State: []byte(`{"reasoning_content":"r"}`), StateOf: "m",
			Calls: []chat.Call{{ID: "1", Name: "a", Arguments: []byte(`{"x":1}`), Client: true,
				State: []byte(`{"extra_content":{"s":"c2ln"}}`)}},
		},
		{Role: chat.Tool, Result: &chat.Result{CallID: "1", Name: "a", Text: "done", Tools: []string{"a"}, Failed: true,
			Pending: true, View: &chat.View{
				Text: "t", Data: []byte(`[1]`), Error: "e",
				Files: []chat.File{{Name: "f", MediaType: "text/plain", Data: []byte{0, 255}}},
			}}},
	}
	state := session.State{Skill: "s", Declared: []string{"a"}, Directory: "a: 目录\nb", Front: session.Front{
		Mode: "m", Model: "o", Strategy: "full", Skill: "s", Tools: "1", System: "2", First: "3",
		Used: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
	}}
	must(t, store.Append(t.Context(), "k", state, want...))
	got := load(t, store, "k", 0)
	if !reflect.DeepEqual(got.Messages, want) {
		t.Errorf("messages:\ngot  %+v\nwant %+v", got.Messages, want)
	}
	if !reflect.DeepEqual(got.State, state) {
		t.Errorf("state: %+v", got.State)
	}
}

func arguments(t *testing.T, store session.Store) {
	var calls []chat.Call
	for i, args := range []string{`{"x":1}`, `{ "x": 1,\n "a": "<b> & 你好" }`, `{"broken": "`, `"text"`, `not JSON`,
		`{"n":1.0, "n":2e3}`, ` {} `} {
		calls = append(calls, chat.Call{ID: fmt.Sprint(i), Name: "a", Arguments: []byte(args)})
	}
	must(t, store.Append(t.Context(), "k", session.State{}, chat.Message{Role: chat.Assistant, Calls: calls}))
	got := load(t, store, "k", 0).Messages
	if len(got) != 1 || len(got[0].Calls) != len(calls) {
		t.Fatalf("got %+v", got)
	}
	for i, c := range got[0].Calls {
		if c.ID != calls[i].ID || string(c.Arguments) != string(calls[i].Arguments) {
			t.Errorf("call %d:\ngot  %s\nwant %s", i, c.Arguments, calls[i].Arguments)
		}
	}
}

func files(t *testing.T, store session.Store) {
	file := func(name, data string) chat.File {
		return chat.File{Name: name, MediaType: "image/png", Data: []byte(data), Size: len(data),
			SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(data)))}
	}
	said := func(user string, files ...chat.File) chat.Message {
		return chat.Message{Role: chat.User, User: user, Text: "look", Files: files}
	}
	red, blue, green := file("red", "r\x00\xff"), file("blue", "b"), file("green", "g")
	again := red
	again.Name = "red again"
	must(t, store.Append(t.Context(), "a", session.State{}, said("ann", red, blue), said("bob", again, again)))
	later()
	now := time.Now()
	later()
	must(t, store.Append(t.Context(), "b", session.State{}, said("ann", red), said("ann", green)))

	for what, read := range map[string]func() []chat.Message{
		"Load": func() []chat.Message { return load(t, store, "a", 0).Messages },
		"Messages": func() []chat.Message {
			list, err := store.Messages(t.Context(), "a", 0, 0)
			must(t, err)
			return list
		},
	} {
		want := []chat.Message{said("ann", red, blue), said("bob", again, again)}
		for i := range want {
			want[i].Files = chat.WithoutData(want[i].Files)
		}
		if got := read(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
		}
	}
	check := func(when string, there ...chat.File) {
		t.Helper()
		for _, f := range []chat.File{red, blue, green} {
			wanted := slices.ContainsFunc(there, func(g chat.File) bool { return g.SHA256 == f.SHA256 })
			data, err := store.File(t.Context(), f.SHA256)
			switch {
			case wanted && (err != nil || string(data) != string(f.Data)):
				t.Errorf("%s: %s is %q, %v", when, f.Name, data, err)
			case !wanted && !errors.Is(err, session.ErrNoFile):
				t.Errorf("%s: %s is still there: %v", when, f.Name, err)
			}
		}
	}
	check("at first", red, blue, green)
	_, err := store.Erase(t.Context(), "a", session.State{}, "ann")
	must(t, err)
	check("after Erase", red, green)
	_, err = store.Sweep(t.Context(), now, 10)
	must(t, err)
	check("after Sweep", red, green)
	must(t, store.Delete(t.Context(), "b"))
	check("after Delete")
}

func texts(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text + " ")
	}
	return strings.TrimSpace(b.String())
}

func newest(t *testing.T, store session.Store) {
	for i := range 5 {
		must(t, store.Append(t.Context(), "k", session.State{}, chat.Message{Role: chat.User, Text: fmt.Sprint(i)}))
	}
	for limit, want := range map[int]string{0: "0 1 2 3 4", 2: "3 4", 9: "0 1 2 3 4"} {
		if got := texts(load(t, store, "k", limit).Messages); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
}

// longMessages: however long the messages are, a store returns a bounded number of bytes.
func longMessages(t *testing.T, store session.Store) {
	text := strings.Repeat("x", 1<<20)
	for i := range 20 {
		must(t, store.Append(t.Context(), "k", session.State{},
			chat.Message{Role: chat.User, Text: fmt.Sprintf("%02d%s", i, text)}))
	}
	for range 2 { // once from the store, once from what it keeps in memory
		got := load(t, store, "k", 2000).Messages
		if n := len(got); n != 15 || got[n-1].Text[:2] != "19" {
			t.Errorf("of 20 messages of 1 MiB, %d are loaded; want the newest 15", n)
		}
	}
	must(t, store.Append(t.Context(), "k", session.State{}, chat.Message{Role: chat.User, Text: "20" + text}))
	if got := load(t, store, "k", 2000).Messages; len(got) != 15 || got[14].Text[:2] != "20" {
		t.Errorf("after another one, %d are loaded; want the newest 15", len(got))
	}
	// Messages that do not fit any more between two loads leave no gap.
	must(t, store.Append(t.Context(), "g", session.State{}, chat.Message{Role: chat.User, Text: "first"},
		chat.Message{Role: chat.User, Text: "second"}))
	load(t, store, "g", 2)
	for range 3 {
		must(t, store.Append(t.Context(), "g", session.State{},
			chat.Message{Role: chat.User, Text: strings.Repeat(text, 6)}))
	}
	if got := load(t, store, "g", 4).Messages; len(got) != 2 || got[0].Text == "second" {
		t.Errorf("%d messages are loaded, the first with %.6q; want the last two of 6 MiB", len(got), got[0].Text)
	}
	page, err := store.Messages(t.Context(), "k", 3, 500)
	must(t, err)
	if len(page) != 15 || page[0].Text[:2] != "03" {
		t.Errorf("a page has %d messages, want 15 from the fourth on", len(page))
	}
}

func orphans(t *testing.T, store session.Store) {
	result := func(id string) chat.Message {
		return chat.Message{Role: chat.Tool, Text: "result" + id, Result: &chat.Result{CallID: id}}
	}
	must(t, store.Append(t.Context(), "k", session.State{},
		chat.Message{Role: chat.User, Text: "question"},
		chat.Message{Role: chat.Assistant, Text: "calls",
			Calls: []chat.Call{{ID: "1", Name: "a"}, {ID: "2", Name: "a"}}},
		result("1"), result("2"),
		chat.Message{Role: chat.Assistant, Text: "answer"}))
	for limit, want := range map[int]string{
		1: "answer", 2: "answer", 3: "answer", 4: "calls result1 result2 answer",
		5: "question calls result1 result2 answer", 0: "question calls result1 result2 answer",
	} {
		if got := texts(load(t, store, "k", limit).Messages); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
}

func state(t *testing.T, store session.Store) {
	must(t, store.Append(t.Context(), "k", session.State{Skill: "a", Declared: []string{"x"}}))
	must(t, store.Append(t.Context(), "k", session.State{Skill: "b"}))
	if got := load(t, store, "k", 0); got.Skill != "b" || len(got.Declared) != 0 {
		t.Errorf("state: %+v", got.State)
	}
}

func list(t *testing.T, store session.Store) {
	for _, key := range []session.Key{"a", "b"} {
		must(t, store.Append(t.Context(), key, session.State{Skill: "s" + string(key)},
			chat.Message{Role: chat.User, Text: "hi"}, chat.Message{Role: chat.Assistant, Text: "ho"}))
	}
	all, err := store.List(t.Context(), session.Filter{})
	must(t, err)
	if len(all) != 2 || all[0].Messages != 2 || all[0].Created.IsZero() || all[0].Skill != "s"+string(all[0].Key) {
		t.Errorf("List = %+v", all)
	}
	one, err := store.List(t.Context(), session.Filter{Limit: 1})
	must(t, err)
	if len(one) != 1 {
		t.Errorf("List with limit 1 = %+v", one)
	}
	must(t, store.Append(t.Context(), "sub", session.State{Parent: "a"}))
	if subs, err := store.List(t.Context(), session.Filter{Key: "sub"}); err != nil || len(subs) != 1 ||
		subs[0].Parent != "a" || all[0].Parent != "" {
		t.Errorf("the parent is missing in %+v, %v", subs, err)
	}
	must(t, store.Delete(t.Context(), "a"))
	if got := load(t, store, "a", 0); len(got.Messages) != 0 || got.Skill != "" {
		t.Errorf("deleted session still has %+v", got)
	}
	if err := store.Delete(t.Context(), "a"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("deleting twice: %v", err)
	}
}

func order(t *testing.T, store session.Store) {
	for _, key := range []session.Key{"b", "c", "a", "b"} {
		must(t, store.Append(t.Context(), key, session.State{}))
		// The next change is later, by any store's clock.
		for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
		}
	}
	got, err := store.List(t.Context(), session.Filter{Limit: 2})
	must(t, err)
	if len(got) != 2 || got[0].Key != "b" || got[1].Key != "a" {
		t.Fatalf("List = %+v, want b and a", got)
	}
	if !got[0].Created.Before(got[1].Created) || !got[0].Updated.After(got[0].Created) {
		t.Errorf("the times are wrong: %+v", got)
	}
}

func openSessions(t *testing.T, store session.Store) {
	turn := session.State{Turn: session.Turn{ID: "t", Request: []byte(`{"user":"ann"}`), Resumed: 1}}
	await := session.State{Awaits: []session.Await{{Call: "1", Tool: "slow", For: session.Outcome}}}
	must(t, store.Append(t.Context(), "turn", turn, chat.Message{Role: chat.User, Text: "go"}))
	must(t, store.Append(t.Context(), "await", await))
	must(t, store.Append(t.Context(), "done", turn))
	must(t, store.Append(t.Context(), "done", session.State{}))
	keys, err := store.Open(t.Context())
	must(t, err)
	slices.Sort(keys)
	if !slices.Equal(keys, []session.Key{"await", "turn"}) {
		t.Errorf("Open = %q, want await and turn", keys)
	}
	if got := load(t, store, "turn", 0).State; !reflect.DeepEqual(got, turn) {
		t.Errorf("the open turn came back as %+v", got)
	}
	if got := load(t, store, "await", 0).State; !reflect.DeepEqual(got, await) {
		t.Errorf("the awaited call came back as %+v", got)
	}
	must(t, store.Delete(t.Context(), "turn"))
	if keys, err := store.Open(t.Context()); err != nil || !slices.Equal(keys, []session.Key{"await"}) {
		t.Errorf("after one was deleted: %q, %v", keys, err)
	}
}

func asking(t *testing.T, store session.Store) {
	waits := func(id string, what session.AwaitKind) session.State {
		return session.State{Turn: session.Turn{ID: "t", Request: []byte(`{"text":"\"for\":\"approval\""}`)},
			Awaits: []session.Await{{Call: "1", Tool: "act", For: what, ID: id}}}
	}
	for _, s := range []struct {
		key   session.Key
		state session.State
	}{{"b", waits("bbbbbb", session.Approval)}, {"turn", session.State{Turn: waits("", "").Turn}},
		{"outcome", waits("cccccc", session.Outcome)}, {"a", waits("aaaaaa", session.Approval)},
		{"answered", waits("dddddd", session.Approval)}, {"answered", session.State{}}} {
		must(t, store.Append(t.Context(), s.key, s.state, chat.Message{Role: chat.User, Text: "go"}))
	}
	for id, want := range map[string][]session.Key{"": {"b", "a"}, "aaaaaa": {"a"}, "cccccc": nil, "dddddd": nil,
		"aaa": nil, "%": nil, `"`: nil} {
		if keys, err := store.Asking(t.Context(), id); err != nil || !slices.Equal(keys, want) {
			t.Errorf("Asking(%q) = %q, %v, want %q", id, keys, err, want)
		}
	}
	must(t, store.Delete(t.Context(), "b"))
	if keys, err := store.Asking(t.Context(), ""); err != nil || !slices.Equal(keys, []session.Key{"a"}) {
		t.Errorf("after one was deleted: %q, %v", keys, err)
	}
}

func sent(t *testing.T, store session.Store) {
	for i := range 5 {
		must(t, store.Append(t.Context(), "k", session.State{Sent: 3},
			chat.Message{Role: chat.User, Text: fmt.Sprint(i)}))
		must(t, store.Append(t.Context(), "uncounted", session.State{},
			chat.Message{Role: chat.User, Text: fmt.Sprint(i)}))
	}
	for key, want := range map[session.Key]string{"k": "2 3 4", "uncounted": "0 1 2 3 4"} {
		if got := texts(load(t, store, key, session.Sent).Messages); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

func longKey(t *testing.T, store session.Store) {
	longest := session.Key(strings.Repeat("k", 512))
	must(t, store.Append(t.Context(), longest, session.State{Skill: "s"}))
	if got := load(t, store, longest, 0); got.Skill != "s" {
		t.Errorf("a key of 512 bytes: %+v", got)
	}
	if err := store.Append(t.Context(), longest+"k", session.State{}); err == nil ||
		!strings.Contains(err.Error(), "512") {
		t.Errorf("a key of 513 bytes: %v, want an error that says how many are allowed", err)
	}
	got, err := store.List(t.Context(), session.Filter{})
	must(t, err)
	if len(got) != 1 {
		t.Errorf("List = %+v", got)
	}
}

func keys(t *testing.T, store session.Store) {
	odd := []session.Key{"a:b", "a%3Ab", "A:b", "' OR 1=1 --", "键", "a:b "}
	for _, key := range odd {
		must(t, store.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, Text: string(key)}))
	}
	for _, key := range odd {
		if got := load(t, store, key, 0); len(got.Messages) != 1 || got.Messages[0].Text != string(key) {
			t.Errorf("session %q holds %+v", key, got.Messages)
		}
	}
}

func many(t *testing.T, store session.Store) {
	const writers, each = 8, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			own := session.Key(fmt.Sprint("own", w))
			for i := range each {
				m := chat.Message{Role: chat.User, Text: fmt.Sprintf("%d.%d", w, i)}
				if err := errors.Join(store.Append(t.Context(), own, session.State{}, m),
					store.Append(t.Context(), "shared", session.State{}, m)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := load(t, store, "shared", 0); len(got.Messages) != writers*each {
		t.Errorf("%d messages, want %d", len(got.Messages), writers*each)
	}
	next := map[string]int{}
	for _, m := range load(t, store, "shared", 0).Messages {
		w, i, _ := strings.Cut(m.Text, ".")
		if i != fmt.Sprint(next[w]) {
			t.Fatalf("writer %s: message %s came when %d was next", w, i, next[w])
		}
		next[w]++
	}
}

// agree reads while another writes: each append makes the state say how many
// messages there are.
func agree(t *testing.T, store session.Store) {
	done := make(chan error, 1)
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		for i := range 50 {
			m := chat.Message{Role: chat.User, Text: fmt.Sprint(i)}
			if err := store.Append(t.Context(), "k", session.State{Skill: fmt.Sprint(2*i + 2)}, m, m); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	})
	for running := true; running; {
		select {
		case err := <-done:
			must(t, err)
			running = false
		default:
		}
		if s := load(t, store, "k", 0); s.Skill != "" && s.Skill != fmt.Sprint(len(s.Messages)) {
			t.Errorf("%d messages with the state of %s", len(s.Messages), s.Skill)
			return
		}
	}
}

func own(t *testing.T, store session.Store) {
	must(t, store.Append(t.Context(), "k", session.State{Declared: []string{"x"}},
		chat.Message{Role: chat.User, Text: "a"}))
	s := load(t, store, "k", 0)
	s.Declared[0], s.Messages[0].Text = "changed", "changed"
	if again := load(t, store, "k", 0); again.Declared[0] != "x" || again.Messages[0].Text != "a" {
		t.Errorf("the stored session changed: %+v", again)
	}
}

func listed(t *testing.T, store session.Store, f session.Filter) string {
	t.Helper()
	list, err := store.List(t.Context(), f)
	must(t, err)
	var b strings.Builder
	for _, s := range list {
		b.WriteString(string(s.Key) + " ")
	}
	return strings.TrimSpace(b.String())
}

// later lets a moment pass, so that the next change is later by any store's clock.
func later() {
	for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
	}
}

func from(user, text string) chat.Message {
	return chat.Message{Role: chat.User, Text: text, User: user, Channel: "web"}
}

func filtered(t *testing.T, store session.Store) {
	for _, key := range []session.Key{"team:1", "own:2", "own:20"} {
		must(t, store.Append(t.Context(), key, session.State{}, from("ann", "hi")))
		later()
	}
	must(t, store.Append(t.Context(), "team:1", session.State{}, from("bob", "ho")))
	for _, c := range []struct {
		f    session.Filter
		want string
	}{
		{session.Filter{}, "team:1 own:20 own:2"},
		{session.Filter{Users: []string{"ann"}}, "team:1 own:20 own:2"},
		{session.Filter{Users: []string{"bob"}}, "team:1"},
		{session.Filter{Users: []string{"an"}}, ""},
		{session.Filter{Users: []string{"nobody", "bob"}}, "team:1"},
		{session.Filter{Part: "own:"}, "own:20 own:2"},
		{session.Filter{Part: "%"}, ""},
		{session.Filter{Key: "own:2"}, "own:2"},
		{session.Filter{Part: "own:", Users: []string{"ann"}, Limit: 1}, "own:20"},
	} {
		if got := listed(t, store, c.f); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.f, got, c.want)
		}
	}
}

func pages(t *testing.T, store session.Store) {
	keys := []session.Key{"e", "a", "d", "b", "c"}
	for _, key := range keys { // some may have the same time
		must(t, store.Append(t.Context(), key, session.State{}))
	}
	want := listed(t, store, session.Filter{})
	var got []string
	f := session.Filter{Limit: 2}
	for {
		list, err := store.List(t.Context(), f)
		must(t, err)
		if len(list) == 0 || len(got) > len(keys) {
			break
		}
		for _, s := range list {
			got = append(got, string(s.Key))
		}
		f.After = list[len(list)-1].Cursor()
		must(t, store.Delete(t.Context(), f.After.Key)) // the place remains
	}
	if strings.Join(got, " ") != want {
		t.Errorf("the pages have %q, the list %q", got, want)
	}
}

func summaries(t *testing.T, store session.Store) {
	must(t, store.Append(t.Context(), "k", session.State{},
		chat.Message{Role: chat.User, Note: "an outcome"}, from("bob", "你好 "+strings.Repeat("x", 1000)),
		chat.Message{Role: chat.Assistant, Text: "answer", User: "no"},
		chat.Message{Role: chat.User, Text: "b", User: "ann", Channel: "cli"}, from("bob", "c")))
	for i := range 30 {
		must(t, store.Append(t.Context(), "many", session.State{}, from(fmt.Sprintf("u%02d", i), "x")))
	}
	list, err := store.List(t.Context(), session.Filter{})
	must(t, err)
	for _, s := range list {
		if s.Key == "many" {
			if len(s.Users) != session.MaxUsers {
				t.Errorf("%d users are named, at most %d are allowed", len(s.Users), session.MaxUsers)
			}
			continue
		}
		if want := []string{"ann", "bob"}; !slices.Equal(s.Users, want) {
			t.Errorf("users %q, want %q", s.Users, want)
		}
		if want := []string{"cli", "web"}; !slices.Equal(s.Channels, want) {
			t.Errorf("channels %q, want %q", s.Channels, want)
		}
		if !strings.HasPrefix(s.Title, "你好 x") {
			t.Errorf("the title is %q, want the first question", s.Title)
		}
		if len(s.Title) > session.MaxTitle {
			t.Errorf("the title has %d bytes", len(s.Title))
		}
	}
}

func messagePages(t *testing.T, store session.Store) {
	for i := range 5 {
		must(t, store.Append(t.Context(), "k", session.State{}, from("ann", fmt.Sprint(i))))
	}
	for _, c := range []struct {
		skip, limit int
		want        string
	}{{0, 0, "0 1 2 3 4"}, {0, 2, "0 1"}, {3, 2, "3 4"}, {4, 9, "4"}, {5, 1, ""}, {9, 1, ""}} {
		got, err := store.Messages(t.Context(), "k", c.skip, c.limit)
		must(t, err)
		if texts(got) != c.want {
			t.Errorf("after %d, at most %d: got %q, want %q", c.skip, c.limit, texts(got), c.want)
		}
	}
	if got, err := store.Messages(t.Context(), "none", 0, 0); err != nil || len(got) != 0 {
		t.Errorf("an unknown session: %v, %v", got, err)
	}
}

func erase(t *testing.T, store session.Store) {
	answer := func(text string) []chat.Message {
		return []chat.Message{
			{Role: chat.Assistant, Text: text + "-calls", Calls: []chat.Call{{ID: text, Name: "a"}}},
			{Role: chat.Tool, Text: text + "-result", Result: &chat.Result{CallID: text}},
			{Role: chat.Assistant, Text: text + "-reply"},
		}
	}
	for _, m := range []chat.Message{from("ann", "a1"), from("bob", "b1"), from("ann", "a2"), from("", "n1"),
		from("annette", "o1")} {
		must(t, store.Append(t.Context(), "k", session.State{Skill: "before"},
			append([]chat.Message{m}, answer(m.Text)...)...))
	}
	before := listed(t, store, session.Filter{Users: []string{"ann"}})
	n, err := store.Erase(t.Context(), "k", session.State{Skill: "after", Turn: session.Turn{ID: "t"}}, "ann")
	must(t, err)
	if n != 8 {
		t.Errorf("%d messages were removed, want 8", n)
	}
	s := load(t, store, "k", 0)
	if got, want := texts(s.Messages),
		"b1 b1-calls b1-result b1-reply n1 n1-calls n1-result n1-reply o1 o1-calls o1-result o1-reply"; got != want {
		t.Errorf("left is %q, want %q", got, want)
	}
	if s.Skill != "after" {
		t.Errorf("the state was not replaced: %+v", s.State)
	}
	if open, err := store.Open(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("the new state is not open: %v, %v", open, err)
	}
	if after := listed(t, store, session.Filter{Users: []string{"ann"}}); before != "k" || after != "" {
		t.Errorf("sessions with ann: %q, then %q", before, after)
	}
	for _, key := range []session.Key{"k", "none"} {
		n, err := store.Erase(t.Context(), key, session.State{Skill: "again"}, "ann")
		must(t, err)
		if n != 0 {
			t.Errorf("%s: %d messages of nobody were removed", key, n)
		}
	}
	if got := load(t, store, "k", 0).Skill; got != "after" {
		t.Errorf("the state was replaced although nothing was removed: %q", got)
	}
}

func sweep(t *testing.T, store session.Store) {
	for _, key := range []session.Key{"a", "b", "c"} {
		must(t, store.Append(t.Context(), key, session.State{}, from("ann", "hi")))
		later()
	}
	must(t, store.Append(t.Context(), "open", session.State{Turn: session.Turn{ID: "t"}}, from("ann", "hi")))
	later()
	now := time.Now()
	later()
	must(t, store.Append(t.Context(), "new", session.State{}, from("ann", "hi")))
	for _, c := range []struct {
		n    int
		left string
	}{{2, "new open c"}, {1, "new open"}, {0, "new open"}} {
		n, err := store.Sweep(t.Context(), now, 2)
		must(t, err)
		if n != c.n {
			t.Errorf("%d sessions were removed, want %d", n, c.n)
		}
		if got := listed(t, store, session.Filter{}); got != c.left {
			t.Errorf("left are %q, want %q", got, c.left)
		}
	}
}
