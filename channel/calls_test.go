package channel_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/store"
)

// unfolding is a place that shows calls.
type unfolding struct {
	*place
	mu    sync.Mutex
	calls []channel.Call
}

func (u *unfolding) Unfold(_ context.Context, to channel.Address, calls []channel.Call) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range calls {
		c.Name += "@" + to.Message
		u.calls = append(u.calls, c)
	}
	return nil
}

// TestCalls: a channel is shown each call of a message when it begins and when it ends, also where the turn
// ends at once: cut, and without secrets.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		u := &unfolding{place: p}
		var known secret.Set
		if err := known.Set("test", "tr0ub4dor-and-3"); err != nil {
			t.Fatal(err)
		}
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"1"}, Channel: u}, p, func(c *engine.Config) { c.Turn.Secrets = &known })
		defer w.stop()
		w.say(t, person("1", "post tr0ub4dor-and-3 "+strings.Repeat("long ", 2000)))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		u.mu.Lock()
		defer u.mu.Unlock()
		if len(u.calls) != 2 {
			t.Fatalf("shown: %+v", u.calls)
		}
		began, ended := u.calls[0], u.calls[1]
		if began.Name != ended.Name || !strings.HasPrefix(began.Name, "message@mpost") || began.ID == "" || began.ID != ended.ID || began.Done || !ended.Done || ended.Result == "" {
			t.Errorf("shown: %+v, %+v", began, ended)
		}
		if !strings.Contains(began.Arguments, "(hidden)") || len(began.Arguments) > 2_200 {
			t.Errorf("the arguments have %d bytes: %.100s", len(began.Arguments), began.Arguments)
		}
		for _, c := range u.calls {
			if strings.Contains(c.Arguments+c.Result, "tr0ub4dor") {
				t.Errorf("a secret is shown: %+v", c)
			}
		}
	})
}
