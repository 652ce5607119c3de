package storetest

import (
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Fill writes one of everything that a store keeps, under a name.
func Fill(t *testing.T, s store.Store, name string) {
	t.Helper()
	key := session.Key("agent:main:person:" + name)
	state := session.State{Skill: "s",
		Awaits: []session.Await{{ID: "abc" + name, Call: "1", Tool: "pay", User: name, For: session.Approval}}}
	must(t, s.Append(t.Context(), key, state,
		chat.Message{Role: chat.User, Text: "pay " + name, User: name, Channel: "web",
			Files: []chat.File{{Name: "a.png", MediaType: "image/png", SHA256: "5e1f" + name, Data: []byte(name)}}},
		chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "1", Name: "pay", Arguments: []byte(`{ "n":1}`)}}}))
	accept(t, s, store.Item{Session: key, User: name, Key: "k1" + name, Digest: "d",
		Message: []byte(`{"text":"waits"}`)})
	done := accept(t, s, store.Item{Session: key, User: name, Key: "k2" + name, Digest: "d", Message: []byte(`{}`)})
	must(t, s.Finish(t.Context(), store.End{ID: done.ID, Result: []byte(`{"done":1}`)}))
	letter := accept(t, s, store.Item{Session: key, User: name, Message: []byte(`{}`)})
	must(t, s.Finish(t.Context(), store.End{ID: letter.ID, Result: []byte(`{"reply":1}`), Deliver: true}))
	must(t, s.Put(t.Context(), "task", name, []byte(`{"text":"look"}`)))
}

// Filled checks that what Fill wrote under a name is there.
func Filled(t *testing.T, s store.Store, name string) {
	t.Helper()
	key := session.Key("agent:main:person:" + name)
	kept := load(t, s, key, 0)
	if len(kept.Messages) != 2 || kept.Skill != "s" || len(kept.Awaits) != 1 || kept.Messages[0].Text != "pay "+name ||
		string(kept.Messages[1].Calls[0].Arguments) != `{ "n":1}` {
		t.Errorf("the session is %+v", kept)
	}
	if data, err := s.File(t.Context(), "5e1f"+name); err != nil || string(data) != name {
		t.Errorf("the file is %q, %v", data, err)
	}
	if asking, err := s.Asking(t.Context(), "abc"+name); err != nil || len(asking) != 1 || asking[0] != key {
		t.Errorf("%v asks, %v", asking, err)
	}
	for state, want := range map[store.State]string{store.Waiting: `{"text":"waits"}`, store.Done: "",
		store.Answered: `{}`} {
		list, err := s.Items(t.Context(), store.ItemFilter{Session: key, State: state})
		must(t, err)
		if len(list) != 1 || string(list[0].Message) != want || list[0].User != name {
			t.Errorf("%s: %+v", state, list)
		}
	}
	if list, err := s.Records(t.Context(), "task", name); err != nil || len(list) != 1 ||
		string(list[0].Value) != `{"text":"look"}` {
		t.Errorf("the records are %+v, %v", list, err)
	}
}
