package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel/web"
	"github.com/etui-run/etui/store"
)

// TestGuestsPushOutNobody: ten thousand guests, each of whom has written once, do not remove the
// chats of people.
func TestGuestsPushOutNobody(t *testing.T) {
	kept := &store.Memory{}
	c, err := web.New(web.Config{Name: "web", Secrets: []string{secret}, Guests: true, Origins: []string{"https://shop.example.com"}, Records: kept})
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string, at time.Time) {
		seen, _ := json.Marshal(at)
		for kind, value := range map[string]json.RawMessage{"channel-web-seen": seen, "channel-web": json.RawMessage(`{"messages":[{"id":1,"seq":1,"text":"hi"}]}`)} {
			if err := kept.Put(t.Context(), kind, "web/"+id, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := time.Now().UTC()
	put("ann", now.Add(-24*time.Hour))
	put("guest-old", now.Add(-24*time.Hour))
	for i := range 10_000 {
		put(fmt.Sprint("guest-", i), now)
	}
	if err := c.Tidy(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int{"ann": 1, "guest-old": 0, "guest-7": 1} {
		if list, err := kept.Records(t.Context(), "channel-web", "web/"+id); err != nil || len(list) != want {
			t.Errorf("%s: %d chats, %v, want %d", id, len(list), err, want)
		}
	}
}

// TestSilentSockets: whoever connects and says nothing keeps nobody else out: the one that has
// been silent for longest makes room.
func TestSilentSockets(t *testing.T) {
	t.Parallel()
	p, _, _ := serve(t, false, func(c *web.Config) { c.Connections = 32 })
	for range 20 {
		ws, _, err := p.dial("?guest", browser(cookieOf("eve")))
		if err == nil {
			defer func() { _ = ws.CloseNow() }()
		}
	}
	signed := token(secret, hs256, map[string]any{"sub": "4711", "exp": in(time.Hour)})
	c, e := p.tab(`{"type": "hello", "token": "`+signed+`"}`, browser(""))
	if c == nil || e.str("type") != "welcome" {
		t.Fatalf("a person is answered %v", e)
	}
	c.leave()
}

// TestSilentSocketLearnsWhy: the client that made room learns that too many are connected, and can
// try again later.
func TestSilentSocketLearnsWhy(t *testing.T) {
	t.Parallel()
	p, _, _ := serve(t, false, func(c *web.Config) { c.Connections = 16 })
	var all []*websocket.Conn
	for range 3 {
		ws, _, err := p.dial("?guest", browser(cookieOf("eve")))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ws.CloseNow() }()
		all = append(all, ws)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, said, err := all[0].Read(ctx); err != nil || !strings.Contains(string(said), "too many are connected") {
		t.Errorf("it reads %q, %v", said, err)
	}
}
