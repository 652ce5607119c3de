package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/engine"
)

// TestCrowdKeepsOrder: the next message of a sender may come as soon as the one before is accepted.
func TestCrowdKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := &shut{open: make(chan struct{}), takes: time.Second} // of the bubble
		g, _ := newEngine(t, func(c *engine.Config) { c.MaxTurns, c.Agents[0].Model = 8, asks })
		say := func(user string, i int) engine.Message {
			return engine.Message{Channel: "irc", Account: "libera", Client: "channel irc", User: user, Text: fmt.Sprint(user, " ", i), IdempotencyKey: fmt.Sprint(user, i), Reply: []byte(`{}`), Later: true}
		}
		var all sync.WaitGroup
		for i := range 8 {
			accepted, m := make(chan struct{}), say("eve", i)
			m.Accepted = func() { close(accepted) }
			all.Go(func() { _, _ = send(g, t.Context(), m) })
			<-accepted
		}
		first := say("u", 8)
		first.Accepted = func() {
			if _, err := send(g, t.Context(), say("u", 9)); err != nil {
				t.Error(err)
			}
		}
		if _, err := send(g, t.Context(), first); err != nil {
			t.Error(err)
		}
		close(asks.open)
		all.Wait()
		g.Wait(t.Context())
		at := map[string]int{}
		for i, text := range asks.asked {
			at[text[strings.LastIndex(text, "\n")+1:]] = i
		}
		if len(at) != 10 || at["u 8"] > at["u 9"] {
			t.Errorf("asked in this order: %v", at)
		}
	})
}
