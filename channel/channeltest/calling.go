package channeltest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
)

// Calling is a platform on which people call chats by names.
type Calling interface {
	// Call gives the group -100 a name, and returns it as people write it. An empty one takes the name
	// away. With twice, another chat has the same name; it returns nothing where that cannot be.
	Call(t *testing.T, name string, twice bool) string
}

// Silent is a platform that is Calling and does not tell the account of new names.
type Silent interface {
	// Silent is a marker without effect.
	Silent()
}

// byName checks that a name of a group counts for it wherever its ID does, for as long as it has the
// name, and that the host says which names mean no chat.
func byName(t *testing.T, p Platform) {
	calling, ok := p.(Calling)
	if !ok {
		t.Log("the platform has no names of chats")
		return
	}
	name := calling.Call(t, "#ops", false)
	c := p.Channel(t)
	h := newHosted(t, c.Traits().Platform)
	host, _ := h.host(t, c, name)
	group := channel.Incoming{
		From: channel.Sender{ID: "4711", Handle: "ann", Name: "Ann"}, At: channel.Address{Chat: "-100"}, Group: true,
		Mentioned: true,
	}
	group.Text = "hello there"
	p.Say(t, group)
	shows(t, p, "-100", "answer to hello there")
	if err := host.Say(t.Context(), "account", channel.Address{Chat: name}, "some news"); err != nil {
		t.Fatal(err)
	}
	shows(t, p, "-100", "some news")
	place := "-100"
	if n, ok := p.(Named); ok {
		_, place = n.Names()
	}
	if _, to, err := host.Place(t.Context(), "account", name); err != nil || !strings.Contains(string(to), place) {
		t.Errorf("a message goes to %s, %v", to, err)
	}
	at, err := host.Chat(t.Context(), "account:"+name)
	if err != nil || strings.TrimPrefix(at.From.Chat, "account/") != place {
		t.Errorf("%s is %+v, %v", name, at, err)
	}
	if who, err := host.Probe(t.Context(), "account"); err != nil {
		t.Errorf("%q, %v", who, err)
	}
	absent := strings.Replace(name, "#ops", "#nowhere", 1)
	if at, err := host.Chat(t.Context(), "account:"+absent); err == nil {
		t.Errorf("a chat that is not there: %+v", at)
	}
	if _, _, err := host.Place(t.Context(), "account", absent); err == nil ||
		!strings.Contains(err.Error(), "names no chat") {
		t.Errorf("an agent that writes to any chat learns: %v", err)
	}
	if list := host.States()[0].Unknown; len(list) != 1 || !strings.Contains(list[0], absent) {
		t.Errorf("the state: %q", list)
	}
	if _, err := host.Probe(t.Context(), "account"); err == nil || !strings.Contains(err.Error(), absent) {
		t.Errorf("the check: %v", err)
	}

	known := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
			if _, err = host.Chat(context.Background(), "account:"+name); (err == nil) == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the name is known: %v", err)
			}
		}
	}
	again := func() {
		if _, silent := p.(Silent); silent { // it finds out after some minutes
			next := p.Channel(t)
			h := newHosted(t, c.Traits().Platform)
			host, _ = h.host(t, next, name)
		}
	}
	if calling.Call(t, "#ops", true) != "" {
		again()
		known(false)
		if !strings.Contains(err.Error(), "2 chats") || !strings.Contains(err.Error(), place) {
			t.Errorf("two chats have the name: %v", err)
		}
	}
	if alike := "#op\u017f"; calling.Call(t, alike, false) == alike { // a letter that is folded to an s
		again()
		known(false)
	}
	calling.Call(t, "", false)
	again()
	known(false)
	calling.Call(t, "#ops", false)
	again()
	known(true)
}
