package channel_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/store"
)

const (
	drawn    = "you said draw, and 3 messages were here"
	chart    = "{chart.png image/png 10}"
	tooLarge = "[huge.zip: it has 5 kB, and at most 1 kB can be sent here]"
)

// The files that a tool gives to the user come after the reply, each once; the user learns
// of those that cannot be sent.
func TestFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.traits.MaxFile = 1000
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, p)
		defer w.stop()
		w.say(t, person("1", "draw"))
		time.Sleep(time.Second)
		expect(t, w.seen("1"), drawn, chart, tooLarge)
	})
}

func TestFilesWhereThereAreNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, newPlace())
		defer w.stop()
		w.say(t, person("1", "draw"))
		time.Sleep(time.Second)
		expect(t, w.seen("1"), drawn, "[chart.png: files cannot be sent here]\n[huge.zip: files cannot be sent here]")
	})
}

// A platform that does not take a file gets the text once, and the user learns of it.
func TestFilesThatFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		p.traits.MaxFile = 1000
		tries := 0
		p.failing(func(m channel.Outgoing) error {
			if len(m.Files) > 0 {
				tries++
				return errors.New("no such type of file")
			}
			return nil
		})
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}}, p)
		defer w.stop()
		w.say(t, person("1", "draw"))
		time.Sleep(time.Hour)
		expect(t, w.seen("1"), drawn, "[chart.png: it could not be sent]\n"+tooLarge)
		if tries != 3 {
			t.Errorf("the file was tried %d times", tries)
		}
		if s := w.host.States()[0]; s.Waiting != 0 {
			t.Errorf("state: %+v", s)
		}
	})
}

// Files wait with their reply through a restart.
func TestFilesSurvive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, s := newPlace(), &store.Memory{}
		p.traits.MaxFile = 1000
		away := true
		p.failing(func(channel.Outgoing) error {
			if away {
				return errors.New("away")
			}
			return nil
		})
		w := begin(t, s, channel.Account{Allow: []string{"*"}}, p)
		w.say(t, person("1", "draw"))
		time.Sleep(time.Second)
		w.stop()
		away, p.ready = false, make(chan struct{})
		w = begin(t, s, channel.Account{Allow: []string{"*"}}, p)
		defer w.stop()
		time.Sleep(time.Hour)
		if seen := w.seen("1"); !slices.Contains(seen, chart) || !slices.Contains(seen, drawn) {
			t.Errorf("seen: %q", seen)
		}
	})
}

// keeping is a place that keeps something of people.
type keeping struct {
	*place
	forgot []string
}

func (k *keeping) Forget(_ context.Context, user string) (bool, error) {
	k.forgot = append(k.forgot, user)
	return true, nil
}

// Who is forgotten was not let in any more, and the channel forgets the person, too.
func TestForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		k := &keeping{place: p}
		w := begin(t, &store.Memory{}, channel.Account{Pairing: true, Channel: k}, p)
		defer w.stop()
		w.say(t, person("7", "one"))
		w.say(t, person("8", "two"))
		_, waiting, err := w.host.Pairings(t.Context())
		if err != nil || len(waiting) != 2 {
			t.Fatalf("waiting: %+v, %v", waiting, err)
		}
		for _, p := range waiting {
			if p.User == "7" {
				if _, err := w.host.Pair(t.Context(), p.Code); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, names := range [][]string{{"ann", "test:7", "other:8"}, {"test:8"}} {
			if n, err := w.host.Erase(t.Context(), names); err != nil || n["chats"] != 2 {
				t.Errorf("%d: %v were forgotten, %v", i, n, err)
			}
		}
		expect(t, k.forgot, "7", "8")
		if in, waiting, err := w.host.Pairings(t.Context()); err != nil || len(in)+len(waiting) != 0 {
			t.Errorf("still there: %+v, %+v, %v", in, waiting, err)
		}
	})
}
