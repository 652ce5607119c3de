package channel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/store"
)

var errWontTake = fmt.Errorf("status 400: %w", channel.ErrRejected)

// parked returns the replies that were given up.
func (w *world) parked(t *testing.T) (list []inbox.Item) {
	t.Helper()
	all, err := inspect.New(w.engine).Inbox(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(i inbox.Item) bool { return i.State != store.Parked })
}

// TestRejected: a reply that the platform does not take in any form is given up after a few tries. The
// person reads that, and what comes behind it arrives, in this chat and in others.
func TestRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.traits.MaxFile = 5000
		tries := 0
		p.failing(func(m channel.Outgoing) error {
			if strings.Contains(m.Text, "bad") || len(m.Files) > 0 {
				tries++
				return errWontTake
			}
			return nil
		})
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, p)
		defer w.stop()
		w.say(t, person("1", "bad"))
		w.say(t, person("1", "good"))
		w.say(t, person("2", "good"))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		lost := "There is a reply for you here that cannot be shown: it was refused or came too late. Whoever runs this service can read it."
		expect(t, w.seen("1"), lost, "you said good, and 3 messages were here")
		expect(t, w.seen("2"), "you said good, and 1 messages were here")
		if tries > 20 {
			t.Errorf("%d tries", tries)
		}
		list := w.parked(t)
		if len(list) != 1 || list[0].Text != "bad" || !strings.Contains(list[0].Reason, "status 400") {
			t.Fatalf("given up: %+v", list)
		}
		if s := w.host.States()[0]; s.GivenUp != 1 || s.Waiting != 0 || !s.Until.IsZero() ||
			!strings.Contains(s.Lost, "status 400") {
			t.Errorf("state: %+v", s)
		}
		p.failing(nil)
		if err := w.engine.Inbox().Retry(t.Context(), list[0].ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if seen := w.seen("1"); len(seen) != 3 || seen[2] != "you said bad, and 1 messages were here" ||
			len(w.parked(t)) != 0 {
			t.Errorf("after a retry: %q, %+v", seen, w.parked(t))
		}
	})
}

// TestOtherForms: what the platform does not take comes in another form, and once.
func TestOtherForms(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("many words ", 80)
	for name, c := range map[string]struct {
		text   string
		thread string
		fails  func(m channel.Outgoing) error
		want   func(m channel.Outgoing) bool // the last message
		n      int
	}{
		"without the quote": {"hi", "", func(m channel.Outgoing) error {
			if m.To.Message != "" {
				return errWontTake
			}
			return nil
		}, func(m channel.Outgoing) bool { return !m.Plain && len(m.Files) == 0 }, 1},
		"outside of a thread that is not there": {"hi", "7", func(m channel.Outgoing) error {
			if m.To.Thread != "" {
				return fmt.Errorf("topic deleted: %w", channel.ErrGone)
			}
			return nil
		}, func(m channel.Outgoing) bool { return m.To.Thread == "" && !m.Plain }, 1},
		"plain, in the thread": {"hi", "7", func(m channel.Outgoing) error {
			if !m.Plain {
				return errWontTake
			}
			return nil
		}, func(m channel.Outgoing) bool { return m.To.Thread == "7" }, 1},
		"in parts": {long, "", func(m channel.Outgoing) error {
			if len(m.Text) > 500 {
				return errWontTake
			}
			return nil
		}, func(m channel.Outgoing) bool { return len(m.Text) <= 500 }, 3},
		"as a file": {"hi", "", func(m channel.Outgoing) error {
			if m.Text != "" {
				return errWontTake
			}
			return nil
		}, func(m channel.Outgoing) bool { return len(m.Files) == 1 && m.Files[0].Name == "reply.md" }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace()
				p.traits.MaxText, p.traits.MaxFile = 2000, 5000
				var taken []channel.Outgoing
				p.failing(func(m channel.Outgoing) error {
					err := c.fails(m)
					if err == nil {
						taken = append(taken, m)
					}
					return err
				})
				w := begin(t, &store.Memory{}, channel.Account{Groups: []string{"g"}}, p)
				defer w.stop()
				w.say(t, channel.Incoming{
					ID: "m", From: channel.Sender{ID: "1"}, Text: c.text, Group: true, Mentioned: true,
					At: channel.Address{Chat: "g", Thread: c.thread},
				})
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(taken) != c.n || !c.want(taken[len(taken)-1]) || len(w.parked(t)) != 0 {
					t.Errorf("%d messages: %+v; given up: %+v", len(taken), taken, w.parked(t))
				}
			})
		})
	}
}

// TestScopes: what a platform asks to wait for waits, and nothing else.
func TestScopes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope       channel.Scope
		there, here time.Duration // after which the other chat, and this one, have their reply
	}{
		"of a chat": {channel.OneChat, time.Second, 41 * time.Second},
		"of all":    {channel.WholeAccount, 41 * time.Second, 41 * time.Second},
		"of a kind": {channel.OneKind, 41 * time.Second, 41 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace()
				until := time.Now().Add(40 * time.Second)
				tries := 0
				p.failing(func(m channel.Outgoing) error {
					if left := time.Until(until); left > 0 && m.To.Chat == "1" {
						tries++
						return &channel.Limited{After: left, Scope: c.scope, Err: errors.New("too many")}
					}
					return nil
				})
				w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, p)
				defer w.stop()
				w.say(t, person("1", "one"))
				time.Sleep(time.Second)
				begun := time.Now()
				w.say(t, person("2", "two"))
				for _, wait := range []struct {
					chat string
					most time.Duration
				}{{"2", c.there}, {"1", c.here}} {
					for len(w.seen(wait.chat)) == 0 {
						time.Sleep(100 * time.Millisecond)
						if time.Since(begun) > wait.most+time.Second {
							t.Fatalf("chat %s waits for %v", wait.chat, time.Since(begun))
						}
					}
				}
				synctest.Wait()
				if c.there > time.Second && time.Since(begun) < 30*time.Second || tries != 1 {
					t.Errorf("after %v, %d tries", time.Since(begun), tries)
				}
			})
		})
	}
}

// TestIllChats: chats in which nothing arrives hold up no others.
func TestIllChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.failing(func(m channel.Outgoing) error {
			if strings.HasPrefix(m.To.Chat, "ill") {
				return errors.New("status 500")
			}
			return nil
		})
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, p)
		defer w.stop()
		for i := range 60 {
			for _, chat := range []string{"ill 1", "ill 2", "ill 3", "ill 4", "ill 5", "ill 6", "well"} {
				if m := person(chat, fmt.Sprint(chat, " ", i)); i == 0 || chat == "well" {
					w.say(t, m)
				}
			}
			time.Sleep(5 * time.Second)
			if n := len(w.seen("well")); i > 2 && n != i+1 { // at first it looks as if the platform were away
				t.Fatalf("%d of %d replies have arrived", n, i+1)
			}
		}
	})
}

// TestChatsOfOnePerson: a direct chat whose replies wait holds up no other one of the same person, though
// both are one conversation.
func TestChatsOfOnePerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.failing(func(m channel.Outgoing) error {
			if m.To.Chat == "room 1" {
				return errors.New("status 500")
			}
			return nil
		})
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, p)
		defer w.stop()
		for _, m := range []struct{ chat, text string }{{"room 1", "one"}, {"room 2", "two"}} {
			in := person("1", m.text)
			in.At.Chat = m.chat
			time.Sleep(time.Minute)
			w.say(t, in)
		}
		time.Sleep(2 * time.Second)
		expect(t, w.seen("room 1"))
		expect(t, w.seen("room 2"), "you said two, and 3 messages were here")
	})
}

// limitedEdits is a place whose edits are limited for a time.
type limitedEdits struct {
	editing
	after time.Duration
}

func (e limitedEdits) Edit(context.Context, channel.Address, string, string) error {
	return &channel.Limited{After: e.after, Scope: channel.OneChat, Err: errors.New("too many edits")}
}

// TestLimitedEdits: a limit on edits holds up no reply.
func TestLimitedEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}, Channel: limitedEdits{editing{p},
			40 * time.Second}}, p)
		defer w.stop()
		w.say(t, person("1", "slow and steady"))
		w.say(t, person("2", "quick"))
		time.Sleep(13 * time.Second)
		seen := w.seen("1")
		if len(seen) != 2 || seen[1] != "you said slow and steady, and 1 messages were here" {
			t.Errorf("seen: %q", seen)
		}
		expect(t, w.seen("2"), "you said quick, and 1 messages were here")
		if s := w.host.States()[0]; s.Error != "" {
			t.Errorf("all has arrived, and the state says %q", s.Error)
		}
	})
}

// TestCommandsWait: a command that comes while the account rests has its answer when the rest is over,
// also of the next process.
func TestCommandsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := &store.Memory{}, newPlace()
		p.failing(func(channel.Outgoing) error {
			return &channel.Limited{After: time.Hour, Err: errors.New("too many")}
		})
		w := begin(t, s, channel.Account{Allow: []string{"*"}}, p)
		for i := range 30 {
			m := person("1", "/whoami")
			m.ID = fmt.Sprint("m", i)
			w.say(t, m)
			time.Sleep(4 * time.Second)
		}
		w.stop()
		p = newPlace()
		w = begin(t, s, channel.Account{Allow: []string{"*"}}, p)
		defer w.stop()
		time.Sleep(time.Minute)
		if seen := w.seen("1"); len(seen) != 20 || !strings.HasPrefix(seen[0], "You are test:1") &&
			!strings.HasPrefix(seen[0], "You are ann") {
			t.Errorf("%d answers: %q", len(seen), seen)
		}
	})
}

// TestStubborn: a message to which the platform answers for ever that it may work later comes in another form,
// or is given up after some minutes, said, and holds nothing else up; while nothing at all arrives, it waits.
func TestStubborn(t *testing.T) {
	t.Parallel()
	errLater := errors.New("status 500")
	lost := "There is a reply for you here that cannot be shown: it was refused or came too late. Whoever runs this service can read it."
	for name, c := range map[string]struct {
		fails func(m channel.Outgoing) bool
		after time.Duration
		want  []string
	}{
		"plain": {func(m channel.Outgoing) bool { return strings.Contains(m.Text, "bad") && !m.Plain }, 10 * time.Second,
			[]string{"you said bad, and 1 messages were here", "you said good, and 3 messages were here"}},
		"in no form": {func(m channel.Outgoing) bool { return strings.Contains(m.Text, "bad") }, 4 * time.Minute,
			[]string{lost, "you said good, and 3 messages were here"}},
		"nothing arrives": {func(channel.Outgoing) bool { return true }, 30 * time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace()
				p.failing(func(m channel.Outgoing) error {
					if c.fails(m) {
						return errLater
					}
					return nil
				})
				w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, p)
				defer w.stop()
				w.say(t, person("1", "bad"))
				w.say(t, person("1", "good"))
				time.Sleep(c.after)
				synctest.Wait()
				expect(t, w.seen("1"), c.want...)
				if given := w.parked(t); len(given) > 0 != (name == "in no form") {
					t.Errorf("given up: %+v", given)
				}
				if c.want == nil { // it was only an outage
					p.failing(nil)
					time.Sleep(6 * time.Minute)
					expect(t, w.seen("1"), "you said bad, and 1 messages were here", "you said good, and 3 messages were here")
				}
			})
		})
	}
}
