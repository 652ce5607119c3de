package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// inbox is the part of the suite about [store.Inbox].
func inbox(t *testing.T, open func(t *testing.T) store.Store) {
	t.Run("items come by priority, then in order", func(t *testing.T) { mailbox(t, open(t)) })
	t.Run("a key is accepted once", func(t *testing.T) { acceptedOnce(t, open(t)) })
	t.Run("an item ends with its step, once", func(t *testing.T) { ends(t, open(t)) })
	t.Run("a reply is kept until it is delivered", func(t *testing.T) { outbox(t, open(t)) })
	t.Run("what other holders left is found", func(t *testing.T) { holders(t, open(t)) })
	t.Run("an item can be parked and taken up again", func(t *testing.T) { parked(t, open(t)) })
	t.Run("sessions take their items with them", func(t *testing.T) { leaveWithSession(t, open(t)) })
	t.Run("many senders", func(t *testing.T) { manySenders(t, open(t)) })
}

func accept(t *testing.T, s store.Store, i store.Item) store.Item {
	t.Helper()
	if i.Message == nil {
		i.Message = []byte(`{"text":"hi"}`)
	}
	i, fresh, err := s.Accept(t.Context(), i)
	must(t, err)
	if !fresh || i.ID == 0 || i.State != store.Waiting || i.Accepted.IsZero() {
		t.Fatalf("accepted %+v, new: %v", i, fresh)
	}
	return i
}

func ids(t *testing.T, s store.Store, f store.ItemFilter) []int64 {
	t.Helper()
	list, err := s.Items(t.Context(), f)
	must(t, err)
	var ids []int64
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return ids
}

func mailbox(t *testing.T, s store.Store) {
	clock := accept(t, s, store.Item{Session: "a", Priority: store.Background}).ID
	first := accept(t, s, store.Item{Session: "a"}).ID
	other := accept(t, s, store.Item{Session: "b"}).ID
	second := accept(t, s, store.Item{Session: "a"}).ID
	if first >= other || other >= second {
		t.Errorf("IDs do not rise: %d, %d, %d", first, other, second)
	}
	if got, want := ids(t, s, store.ItemFilter{Session: "a", State: store.Waiting}),
		[]int64{first, second, clock}; !slices.Equal(got, want) {
		t.Errorf("the mailbox is %d, want %d", got, want)
	}
	if got := ids(t, s, store.ItemFilter{Session: "a", Limit: 1}); !slices.Equal(got, []int64{first}) {
		t.Errorf("the first item is %d, want %d", got, first)
	}
	if _, _, err := s.Accept(t.Context(), store.Item{Session: session.Key(make([]byte, 513))}); err == nil {
		t.Error("a key of 513 bytes is accepted")
	}
}

func acceptedOnce(t *testing.T, s store.Store) {
	first := accept(t, s, store.Item{Session: "a", User: "ann", Key: "k", Digest: "1"})
	for _, digest := range []string{"1", "2"} {
		again, fresh, err := s.Accept(t.Context(),
			store.Item{Session: "b", Key: "k", Digest: digest, Message: []byte(`{}`)})
		must(t, err)
		if fresh || again.ID != first.ID || again.Digest != "1" || again.Session != "a" || again.User != "ann" {
			t.Errorf("digest %s: %+v, new: %v", digest, again, fresh)
		}
	}
	if got := ids(t, s, store.ItemFilter{}); len(got) != 1 {
		t.Errorf("the inbox has %d", got)
	}
	// A passing key is free again when its item has ended.
	passing := store.Item{Session: "a", Key: store.Passing + "p", Digest: "1"}
	second := accept(t, s, passing)
	passing.Message = []byte(`{}`)
	if again, fresh, err := s.Accept(t.Context(), passing); err != nil || fresh || again.ID != second.ID ||
		again.Key != passing.Key {
		t.Errorf("a passing key: %+v, new: %v, %v", again, fresh, err)
	}
	must(t, s.Finish(t.Context(), store.End{ID: second.ID, Result: []byte(`{}`)}))
	if third := accept(t, s, passing); third.ID == second.ID {
		t.Error("a passing key is still taken after the end of its item")
	}
	// Items without a key are never the same.
	accept(t, s, store.Item{Session: "a"})
	accept(t, s, store.Item{Session: "a"})
}

func ends(t *testing.T, s store.Store) {
	keyed, plain := accept(t, s, store.Item{Session: "a", Key: "k"}), accept(t, s, store.Item{Session: "a"})
	for _, i := range []store.Item{keyed, plain} {
		end := store.End{ID: i.ID, Result: []byte(`{"done":1}`), Session: "a",
			State:    session.State{Skill: fmt.Sprint(i.ID)},
			Messages: []chat.Message{{Role: chat.Assistant, Text: "bye"}}}
		must(t, s.Finish(t.Context(), end))
		if err := s.Finish(t.Context(), end); !errors.Is(err, store.ErrEnded) {
			t.Errorf("finished twice: %v", err)
		}
		i.State = store.Waiting
		if err := s.Update(t.Context(), i); !errors.Is(err, store.ErrEnded) {
			t.Errorf("updated after its end: %v", err)
		}
	}
	got := load(t, s, "a", 0)
	if len(got.Messages) != 2 || got.Skill != fmt.Sprint(plain.ID) {
		t.Errorf("the session has %d messages and the skill %s", len(got.Messages), got.Skill)
	}
	list, err := s.Items(t.Context(), store.ItemFilter{})
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("the inbox has %d items, want the one with a key: %+v", len(list), list)
	}
	if i := list[0]; i.ID != keyed.ID || i.State != store.Done || string(i.Result) != `{"done":1}` ||
		len(i.Message) != 0 || i.Ended.IsZero() {
		t.Errorf("the item is %+v", i)
	}
	// An item can end without a step.
	must(t, s.Finish(t.Context(), store.End{ID: accept(t, s, store.Item{Session: "b"}).ID}))
	if got := load(t, s, "b", 0); len(got.Messages) != 0 {
		t.Errorf("the session b has %d messages", len(got.Messages))
	}
}

func outbox(t *testing.T, s store.Store) {
	keyed, plain := accept(t, s, store.Item{Session: "a", Key: "k"}), accept(t, s, store.Item{Session: "a"})
	waits := accept(t, s, store.Item{Session: "a"})
	for _, i := range []store.Item{keyed, plain} {
		end := store.End{ID: i.ID, Result: []byte(`{"reply":1}`), Deliver: true, Session: "a",
			Messages: []chat.Message{{Role: chat.Assistant, Text: "bye"}}}
		must(t, s.Finish(t.Context(), end))
		if err := s.Finish(t.Context(), end); !errors.Is(err, store.ErrEnded) {
			t.Errorf("finished twice: %v", err)
		}
		i.State, i.Tries, i.Reason, i.Holder = store.Answered, 2, "the platform is away", "me"
		must(t, s.Update(t.Context(), i))
	}
	if got := load(t, s, "a", 0); len(got.Messages) != 2 {
		t.Errorf("the session has %d messages", len(got.Messages))
	}
	list, err := s.Items(t.Context(), store.ItemFilter{State: store.Answered})
	must(t, err)
	if len(list) != 2 || list[0].ID != keyed.ID || list[1].ID != plain.ID {
		t.Fatalf("to be delivered: %+v", list)
	}
	list, err = s.Items(t.Context(), store.ItemFilter{State: store.Answered, After: keyed.ID - 1})
	must(t, err)
	if later, err := s.Items(t.Context(), store.ItemFilter{State: store.Answered, After: keyed.ID}); err != nil ||
		len(list) != 2 || len(later) != 1 || later[0].ID != plain.ID {
		t.Fatalf("after an ID: %+v and %+v, %v", list, later, err)
	}
	for _, i := range list {
		if string(i.Message) != `{"text":"hi"}` || string(i.Result) != `{"reply":1}` || i.Tries != 2 ||
			i.Reason != "the platform is away" || i.Ended.IsZero() {
			t.Errorf("the item is %+v", i)
		}
		must(t, s.Delivered(t.Context(), i.ID))
		if err := s.Delivered(t.Context(), i.ID); !errors.Is(err, store.ErrEnded) {
			t.Errorf("delivered twice: %v", err)
		}
	}
	for state, want := range map[store.State]int{store.Waiting: 1, store.Answered: 0, store.Parked: 0, store.Done: 1} {
		n, oldest, err := s.Depth(t.Context(), state)
		must(t, err)
		if n != want || oldest.IsZero() != (n == 0) || n > 0 && oldest.Sub(waits.Accepted).Abs() > time.Minute {
			t.Errorf("%d items are %s, the first from %v; want %d", n, state, oldest, want)
		}
	}
	if err := s.Delivered(t.Context(), waits.ID); !errors.Is(err, store.ErrEnded) {
		t.Errorf("delivered without a reply: %v", err)
	}
	if got := ids(t, s, store.ItemFilter{}); !slices.Equal(got, []int64{waits.ID, keyed.ID}) &&
		!slices.Equal(got, []int64{keyed.ID, waits.ID}) {
		t.Errorf("left: %d", got)
	}
	list, err = s.Items(t.Context(), store.ItemFilter{ID: keyed.ID})
	must(t, err)
	if len(list) != 1 || list[0].State != store.Done || len(list[0].Message) != 0 ||
		string(list[0].Result) != `{"reply":1}` || list[0].Ended.IsZero() {
		t.Errorf("delivered: %+v", list)
	}
}

func holders(t *testing.T, s store.Store) {
	first := accept(t, s, store.Item{Session: "b", Holder: "one"})
	accept(t, s, store.Item{Session: "c", Holder: "two"})
	accept(t, s, store.Item{Session: "a", Holder: "one"})
	accept(t, s, store.Item{Session: "b", Holder: "one"})
	for holder, want := range map[string][]session.Key{"one": {"c"}, "two": {"b", "a"}, "three": {"b", "c", "a"}} {
		got, err := s.Mailboxes(t.Context(), holder)
		must(t, err)
		if !slices.Equal(got, want) {
			t.Errorf("for %s: %q, want %q", holder, got, want)
		}
	}
	if got := ids(t, s, store.ItemFilter{Session: "b", NotOf: "one"}); len(got) != 0 {
		t.Errorf("not of one: %d", got)
	}
	first.Holder = "two"
	must(t, s.Update(t.Context(), first))
	if got := ids(t, s, store.ItemFilter{Session: "b", NotOf: "one"}); !slices.Equal(got, []int64{first.ID}) {
		t.Errorf("not of one: %d, want %d", got, first.ID)
	}
}

func parked(t *testing.T, s store.Store) {
	i := accept(t, s, store.Item{Session: "a", Holder: "one"})
	i.State, i.Reason, i.Tries, i.Message = store.Parked, "why", 4, nil
	must(t, s.Update(t.Context(), i))
	if keys, err := s.Mailboxes(t.Context(), "two"); err != nil || len(keys) != 0 {
		t.Errorf("a parked item waits: %q, %v", keys, err)
	}
	list, err := s.Items(t.Context(), store.ItemFilter{State: store.Parked})
	must(t, err)
	if len(list) != 1 || list[0].Reason != "why" || list[0].Tries != 4 || string(list[0].Message) != `{"text":"hi"}` {
		t.Fatalf("parked: %+v", list)
	}
	i.State, i.Tries, i.Amended = store.Waiting, 0, []byte(`{"text":"ho"}`)
	must(t, s.Update(t.Context(), i))
	if got := ids(t, s, store.ItemFilter{State: store.Waiting}); !slices.Equal(got, []int64{i.ID}) {
		t.Errorf("waiting: %d, want %d", got, i.ID)
	}
	if list, err = s.Items(t.Context(), store.ItemFilter{ID: i.ID}); err != nil || len(list) != 1 ||
		string(list[0].Message) != `{"text":"ho"}` {
		t.Errorf("amended: %+v, %v", list, err)
	}
}

func leaveWithSession(t *testing.T, s store.Store) {
	for _, key := range []session.Key{"a", "b"} {
		must(t, s.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, User: "ann", Text: "hi"}))
		done := accept(t, s, store.Item{Session: key, User: "ann", Key: string(key)})
		must(t, s.Finish(t.Context(), store.End{ID: done.ID, Result: []byte(`{}`)}))
	}
	waits := accept(t, s, store.Item{Session: "a", User: "ann"})
	letter := accept(t, s, store.Item{Session: "c"}) // of a session that there is not
	must(t, s.Finish(t.Context(), store.End{ID: letter.ID, Result: []byte(`{}`), Deliver: true}))
	if err := s.Delete(t.Context(), "c"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("deleting what is not there: %v", err)
	}
	must(t, s.Delete(t.Context(), "a"))
	lost := accept(t, s, store.Item{Session: "d", User: "ann"})
	lost.State = store.Parked
	must(t, s.Update(t.Context(), lost))
	for _, key := range []session.Key{"b", "d"} { // there is no session d
		_, err := s.Erase(t.Context(), key, session.State{}, "ann")
		must(t, err)
	}
	if got := ids(t, s, store.ItemFilter{}); !slices.Equal(got, []int64{waits.ID, letter.ID}) {
		t.Errorf("the inbox has %d, want %d and %d", got, waits.ID, letter.ID)
	}
}

// manySenders: each of many has its items in order, and nothing is lost or doubled.
func manySenders(t *testing.T, s store.Store) {
	const senders, each = 8, 25
	var all sync.WaitGroup
	errs := make([]error, senders)
	for n := range senders {
		all.Go(func() {
			key := session.Key(fmt.Sprint(n))
			for j := range each {
				i, _, err := s.Accept(context.Background(),
					store.Item{Session: key, Key: fmt.Sprint(n, "/", j/2*2), Message: []byte(`{}`)})
				if err == nil && j%2 == 1 {
					err = s.Finish(context.Background(),
						store.End{ID: i.ID, Session: key,
							Messages: []chat.Message{{Role: chat.User, Text: fmt.Sprint(j)}}})
				}
				errs[n] = errors.Join(errs[n], err)
			}
		})
	}
	all.Wait()
	must(t, errors.Join(errs...))
	for n := range senders {
		key := session.Key(fmt.Sprint(n))
		if got := ids(t, s, store.ItemFilter{Session: key, State: store.Waiting}); len(got) != 1 {
			t.Errorf("in session %s wait %d, want the last one", key, got)
		}
		for j, m := range load(t, s, key, 0).Messages {
			if want := fmt.Sprint(2*j + 1); m.Text != want {
				t.Errorf("message %d of session %s is %s, want %s", j, key, m.Text, want)
			}
		}
	}
}
