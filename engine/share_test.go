package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
)

// TestShares: nobody uses up the places of others. Of 64 places, guests, an account or a
// sender fill their own only, and a person of the configuration still gets in.
func TestShares(t *testing.T) {
	t.Parallel()
	users, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"web:7"}}})
	must(t, err)
	for name, c := range map[string]struct {
		message func(i int) engine.Message
		in      int
	}{
		"guests of a page": {func(i int) engine.Message {
			return engine.Message{Channel: "web", User: fmt.Sprint("guest-", i), PlatformRoles: []string{"guest"}}
		}, 16},
		"nameless requests":          {func(int) engine.Message { return engine.Message{Channel: "api"} }, 16},
		"requests in the background": {func(int) engine.Message { return engine.Message{Channel: "api", Background: true} }, 16},
		"one sender":                 {func(i int) engine.Message { return engine.Message{Channel: "web", User: "42", Session: fmt.Sprint(i)} }, 16},
		"an account": {func(i int) engine.Message {
			return engine.Message{Channel: "irc", Account: "libera", User: fmt.Sprint(i)}
		}, 32},
		"a key": {func(i int) engine.Message { return engine.Message{Channel: "api", Client: "shop", User: fmt.Sprint(i)} }, 32},
		"strangers": {func(i int) engine.Message {
			return engine.Message{Channel: "irc", Account: fmt.Sprint(i), User: fmt.Sprint(i)}
		}, 48},
		"trusted programs": {func(int) engine.Message { return engine.Message{Channel: "api", Trusted: true} }, 64},
	} {
		hold := make(chan struct{})
		var steps []fake.Step
		for range 65 {
			steps = append(steps, fake.Step{Text: "1", Wait: hold})
		}
		g, _ := newEngine(t, func(c *engine.Config) {
			c.MaxTurns, c.Users = 32, func(*catalog.Catalog) *identity.Users { return users }
		}, steps...)
		var all sync.WaitGroup
		refused := 0
		for i := range 64 {
			accepted, ended := make(chan struct{}), make(chan error, 1)
			m := c.message(i)
			m.Text, m.Accepted = "x", func() { close(accepted) }
			all.Go(func() {
				_, err := send(g, t.Context(), m)
				ended <- err
			})
			select {
			case <-accepted:
			case err := <-ended:
				if refused++; !errors.Is(err, engine.ErrBusy) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if refused != 64-c.in {
			t.Errorf("%s: %d of 64 are refused, want %d", name, refused, 64-c.in)
		}
		if c.in < 64 {
			accepted := make(chan struct{})
			all.Go(func() {
				if _, err := send(g, t.Context(), engine.Message{Text: "x", Channel: "web", User: "7", Accepted: func() { close(accepted) }}); err != nil {
					t.Errorf("%s: a person of the configuration: %v", name, err)
				}
			})
			select {
			case <-accepted:
			case <-t.Context().Done():
			}
		}
		close(hold)
		all.Wait()
	}
}

// shut is a model that waits until it is open, takes some time, and keeps what it was asked.
type shut struct {
	open  chan struct{}
	takes time.Duration
	mu    sync.Mutex
	asked []string
}

func (*shut) Info() model.Info { return model.Info{Name: "shut"} }
func (s *shut) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		<-s.open
		time.Sleep(s.takes)
		s.mu.Lock()
		s.asked = append(s.asked, r.Messages[len(r.Messages)-1].Text)
		s.mu.Unlock()
		_ = yield(model.Event{Text: "hello"}, nil) && yield(model.Event{Stop: model.Done}, nil)
	}
}

// TestCrowdWaits: messages of strangers who find no place wait in the store, in order, up to a limit,
// and people come before them.
func TestCrowdWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, crowdWaits)
}

func crowdWaits(t *testing.T) {
	users, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"irc:ann"}}})
	must(t, err)
	asks := &shut{open: make(chan struct{}), takes: time.Second} // of the bubble
	g, _ := newEngine(t, func(c *engine.Config) {
		c.MaxTurns, c.Users, c.Agents[0].Model = 8, func(*catalog.Catalog) *identity.Users { return users }, asks
	})
	say := func(user string, i int) engine.Message {
		return engine.Message{Channel: "irc", Account: "libera", Client: "channel irc", User: user, Text: fmt.Sprint(user, " ", i), IdempotencyKey: fmt.Sprint(user, i), Reply: []byte(`{}`), Later: true}
	}
	var all sync.WaitGroup
	enters := func(m engine.Message) {
		accepted := make(chan struct{})
		m.Accepted = func() { close(accepted) }
		all.Go(func() {
			if _, err := send(g, t.Context(), m); err != nil {
				t.Error(m.Text, err)
			}
		})
		<-accepted
	}
	for i := range 8 {
		enters(say("eve", i))
	}
	const more = 2048
	for i := range more {
		if _, err := send(g, t.Context(), say(fmt.Sprint("u", i/2), i%2)); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := send(g, t.Context(), say("u0", 1)); err != nil && !errors.Is(err, engine.ErrCrowd) {
		t.Error("sent again:", err)
	}
	if _, err := send(g, t.Context(), say("last", 0)); !errors.Is(err, engine.ErrCrowd) {
		t.Error("one more:", err)
	}
	enters(say("ann", 0))
	synctest.Wait() // everybody waits for a turn
	close(asks.open)
	all.Wait()
	g.Wait(t.Context())
	at := map[string]int{}
	for i, text := range asks.asked {
		at[text[strings.LastIndex(text, "\n")+1:]] = i
	}
	if len(asks.asked) != 8+more+1 || len(at) != len(asks.asked) {
		t.Fatalf("%d turns of %d messages", len(asks.asked), len(at))
	}
	if at["ann 0"] > 8+8 {
		t.Errorf("a person comes after %d others", at["ann 0"])
	}
	for i := range more / 2 {
		if first, second := fmt.Sprint("u", i, " 0"), fmt.Sprint("u", i, " 1"); at[first] > at[second] {
			t.Errorf("%s comes after %s", first, second)
		}
	}
	enters(say("late", 0)) // there are places again
	all.Wait()
}

// TestFewPlaces: where there are few places, strangers do not have all of them either.
func TestFewPlaces(t *testing.T) {
	t.Parallel()
	users, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"irc:ann"}}})
	must(t, err)
	for _, turns := range []int{1, 2, 4} {
		asks := &shut{open: make(chan struct{})}
		g, _ := newEngine(t, func(c *engine.Config) {
			c.MaxTurns, c.Users, c.Agents[0].Model = turns, func(*catalog.Catalog) *identity.Users { return users }, asks
		})
		var all sync.WaitGroup
		enters := func(user string) error {
			accepted, ended := make(chan struct{}), make(chan error, 1)
			all.Go(func() {
				_, err := send(g, t.Context(), engine.Message{Channel: "irc", Account: "libera", User: user, Text: "x", Accepted: func() { close(accepted) }})
				ended <- err
			})
			select {
			case <-accepted:
				return nil
			case err := <-ended:
				return err
			}
		}
		for i := range 3 * turns {
			if err := enters(fmt.Sprint(i)); err != nil && !errors.Is(err, engine.ErrCrowd) {
				t.Errorf("%d turns: stranger %d: %v", turns, i, err)
			}
		}
		if err := enters("ann"); err != nil {
			t.Errorf("%d turns: a person of the configuration: %v", turns, err)
		}
		close(asks.open)
		all.Wait()
	}
}

// pausing is a model that takes ten milliseconds.
type pausing struct{}

func (pausing) Info() model.Info { return model.Info{Name: "pausing"} }
func (pausing) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		select {
		case <-time.After(10 * time.Millisecond):
			_ = yield(model.Event{Text: "hello"}, nil) && yield(model.Event{Stop: model.Done}, nil)
		case <-ctx.Done():
			yield(model.Event{}, ctx.Err())
		}
	}
}

// BenchmarkHonest measures the messages of eight people while nobody else writes, and while
// 64 guests write as fast as they can. p99-ms is how long an answer takes at the most but for
// one in a hundred; refused counts messages of the people.
func BenchmarkHonest(b *testing.B) {
	users, err := identity.New([]identity.User{{Name: "u0"}, {Name: "u1"}, {Name: "u2"}, {Name: "u3"}, {Name: "u4"}, {Name: "u5"}, {Name: "u6"}, {Name: "u7"}})
	must(b, err)
	for name, abusers := range map[string]int{"alone": 0, "beside_abusers": 64} {
		b.Run(name, func(b *testing.B) {
			g, _ := newEngine(b, func(c *engine.Config) {
				c.Agents[0].Model = pausing{}
				c.Users = func(*catalog.Catalog) *identity.Users { return users }
			})
			ctx, stop := context.WithCancel(b.Context())
			var others, people sync.WaitGroup
			for i := range abusers {
				others.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						if _, err := send(g, ctx, engine.Message{Text: "x", Channel: "web", User: fmt.Sprintf("guest-%d-%d", i, n), PlatformRoles: []string{"guest"}}); errors.Is(err, engine.ErrBusy) {
							select {
							case <-time.After(2 * time.Millisecond): // over a network
							case <-ctx.Done():
							}
						}
					}
				})
			}
			var refused atomic.Int64
			var mu sync.Mutex
			var took []time.Duration
			b.ResetTimer()
			for i := range 8 {
				people.Go(func() {
					for range (b.N + 7) / 8 {
						began := time.Now()
						if _, err := send(g, ctx, engine.Message{Text: "hello", User: fmt.Sprint("u", i), Channel: "api"}); err != nil {
							refused.Add(1)
						}
						mu.Lock()
						took = append(took, time.Since(began))
						mu.Unlock()
					}
				})
			}
			people.Wait()
			b.StopTimer()
			stop()
			others.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(refused.Load()), "refused")
		})
	}
}
