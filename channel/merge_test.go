package channel_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/store"
)

// TestMerge answers what a person writes in a row together, if configured, and nothing else with it.
func TestMerge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		w := begin(t, &store.Memory{}, channel.Account{Allow: []string{"*"}, Merge: 2 * time.Second}, p)
		defer w.stop()
		var all sync.WaitGroup
		say := func(m channel.Incoming) {
			m.ID, m.At.Chat = "m"+m.Text, m.From.ID
			all.Go(func() {
				if err := w.in.Receive(channel.WithNext(t.Context(), func() {}), m); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(500 * time.Millisecond)
		}
		say(person("1", "one"))
		say(person("2", "somebody else"))
		say(person("1", "tow"))
		edited := person("1", "two")
		edited.ID, edited.Edited = "mtow", true
		w.say(t, edited)
		third := person("1", "three")
		third.Files = []chat.File{{Name: "a.txt", Data: []byte("text")}}
		say(third)
		say(person("1", "/whoami"))
		all.Wait()
		time.Sleep(time.Second)
		expect(t, w.seen("2"), "you said somebody else, and 1 messages were here")
		seen := w.seen("1")
		if len(seen) != 2 || seen[1] != "you said one two three [File a.txt] text, and 1 messages were here" {
			t.Errorf("seen: %q", seen)
		}
	})
}
