package channel_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/store"
)

// TestOneSenderHoldsUpNobody: a sender whose share of the places is used up learns it.
// An error would have the platform send the message again, and a channel that polls stop for
// everybody meanwhile.
func TestOneSenderHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, newPlace(), func(c *engine.Config) { c.MaxTurns = 8 })
		defer w.stop()
		for i := range 12 {
			w.say(t, person("2", fmt.Sprint("slow ", i)))
		}
		w.say(t, person("1", "hello"))
		time.Sleep(time.Second)
		if seen := w.seen("1"); len(seen) != 1 || !strings.Contains(seen[0], "you said hello") {
			t.Errorf("ann reads %q", seen)
		}
		time.Sleep(10 * time.Minute)
		if seen := w.seen("2"); len(seen) != 9 || !strings.Contains(strings.Join(seen, "\n"), "this one was left out") {
			t.Errorf("the other one reads %q", seen)
		}
	})
}

// TestStrangersHoldUpNobody: when strangers have used up the places of all strangers, what the next
// ones write waits, and people of the configuration are answered first.
func TestStrangersHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, newPlace(), func(c *engine.Config) { c.MaxTurns = 8 })
		defer w.stop()
		for i := range 20 {
			w.say(t, person(fmt.Sprint(100+i), "slow"))
		}
		w.say(t, person("1", "hello"))
		time.Sleep(10 * time.Minute)
		for _, who := range append([]string{"1"}, strings.Split("100 101 107 108 109 118 119", " ")...) {
			if seen := w.seen(who); len(seen) != 1 || !strings.Contains(seen[0], "you said") {
				t.Errorf("%s reads %q", who, seen)
			}
		}
	})
}

// TestSentAgainWhileBusy: a message that was accepted, and that the platform sends again, was not left
// out, and its sender is not told so.
func TestSentAgainWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, newPlace(), func(c *engine.Config) { c.MaxTurns = 8 })
		defer w.stop()
		for i := range 8 {
			w.say(t, person("2", fmt.Sprint("slow ", i)))
		}
		w.say(t, person("2", "slow 7"))
		time.Sleep(10 * time.Minute)
		if seen := w.seen("2"); len(seen) != 8 || strings.Contains(strings.Join(seen, "\n"), "left out") {
			t.Errorf("the sender reads %q", seen)
		}
	})
}

// TestBusyCommand: a command that cannot be answered at the moment is not sent again, either.
func TestBusyCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, newPlace(), func(c *engine.Config) { c.MaxTurns = 8 })
		defer w.stop()
		for i := range 8 {
			w.say(t, person("2", fmt.Sprint("slow ", i)))
		}
		w.say(t, person("2", "/tools weather"))
		time.Sleep(time.Second)
		if seen := w.seen("2"); len(seen) == 0 || !strings.Contains(seen[0], "in a moment") {
			t.Errorf("seen: %q", seen)
		}
	})
}
