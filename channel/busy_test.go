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

// TestStrangersHoldUpNobody: when strangers have used up the places of all strangers, the next one
// learns it, and people of the configuration are answered.
func TestStrangersHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, newPlace(), func(c *engine.Config) { c.MaxTurns = 8 })
		defer w.stop()
		for i := range 20 {
			w.say(t, person(fmt.Sprint(100+i), "slow"))
		}
		w.say(t, person("1", "hello"))
		time.Sleep(10 * time.Minute)
		if seen := w.seen("1"); len(seen) != 1 || !strings.Contains(seen[0], "you said hello") {
			t.Errorf("ann reads %q", seen)
		}
		answered, left := 0, 0
		for i := range 20 {
			switch seen := strings.Join(w.seen(fmt.Sprint(100+i)), "; "); {
			case strings.Contains(seen, "this message was left out"):
				left++
			case strings.Contains(seen, "you said slow"):
				answered++
			}
		}
		if answered != 8 || left != 12 {
			t.Errorf("%d strangers are answered and %d learn that their message was left out, want 8 and 12", answered, left)
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
