// Package channeltest checks that a channel keeps its promises, against a real server or
// one that speaks the platform's protocol.
package channeltest

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
)

// Platform is a server that a channel talks to, as the suite drives it.
type Platform interface {
	// Channel returns a new adapter for the platform's one account.
	Channel(t *testing.T) channel.Channel
	// Say lets a person write, and returns the ID of the message; empty if the platform has
	// none. From, At.Chat, Group, Mentioned, Text and Files count.
	Say(t *testing.T, m channel.Incoming) string
	// Seen returns what the account has written in a chat, oldest first, as its readers see
	// it: without markup.
	Seen(t *testing.T, chat string) []string
	// Fail makes the next call of Send fail in one way.
	Fail(t *testing.T, how Failure)
}

// Failure is a way in which a platform fails.
type Failure int

// The failures.
const (
	Away     Failure = iota // no answer, or an internal error
	Busy                    // too many requests; wait for 7 seconds
	Gone                    // the chat does not exist any more, or the person has blocked the account
	Refused                 // the token was revoked
	Rejected                // an error of this message that is on no list; only of one that is [Picky]
)

// Cut is a platform that can drop its connections.
type Cut interface {
	// Cut ends all connections of the account.
	Cut(t *testing.T)
}

// Redelivering is a platform that delivers again what was not acknowledged.
type Redelivering interface {
	// Redelivers is a marker without effect.
	Redelivers()
}

// Direct is a platform on which an account hears nothing of groups.
type Direct interface {
	// Direct is a marker without effect.
	Direct()
}

// Named is a platform whose people and groups cannot be called 4711 and -100.
type Named interface {
	// Names returns the IDs by which the account knows them. What drives the platform goes
	// on to call them 4711 and -100.
	Names() (person, group string)
}

// Steady is a platform that never asks to wait, or not for a time that it says.
type Steady interface {
	// Steady is a marker without effect.
	Steady()
}

// Picky is a platform that may refuse one message.
type Picky interface {
	// Picky is a marker without effect.
	Picky()
}

// Own is a platform that the channel itself is: nobody else can refuse the account.
type Own interface {
	// Own is a marker without effect.
	Own()
}

// patience bounds each wait of the suite; it is far longer than any of them takes.
const patience = 30 * time.Second

// inbox is a receiver that keeps what it gets.
type inbox struct {
	got  chan channel.Incoming
	fail chan error // what the next calls return
}

func newInbox() *inbox {
	return &inbox{make(chan channel.Incoming, 64), make(chan error, 64)}
}

func (i *inbox) Receive(ctx context.Context, m channel.Incoming) error {
	if m.Added {
		return nil // nobody wrote
	}
	select {
	case err := <-i.fail:
		return err
	default:
	}
	select {
	case i.got <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (i *inbox) next(t *testing.T) channel.Incoming {
	t.Helper()
	select {
	case m := <-i.got:
		return m
	case <-time.After(patience):
		t.Fatal("the message did not arrive")
		panic("unreachable")
	}
}

// running runs a channel until the test ends, as a host does: again when it has failed.
func running(t *testing.T, c channel.Channel, in channel.Receiver) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := c.Run(ctx, in); err != nil && ctx.Err() == nil {
				t.Logf("Run: %v", err)
				select {
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("Run goes on after its context has ended")
		}
	})
}

// Run runs the suite. Each part gets a new platform.
func Run(t *testing.T, start func(t *testing.T) Platform) {
	ann := channel.Sender{ID: "4711", Handle: "ann", Name: "Ann"}
	direct := channel.Incoming{From: ann, At: channel.Address{Chat: "4711"}}
	group := channel.Incoming{From: ann, At: channel.Address{Chat: "-100"}, Group: true}
	begin := func(t *testing.T) (Platform, channel.Channel, *inbox) {
		p := start(t)
		c, in := p.Channel(t), newInbox()
		running(t, c, in)
		return p, c, in
	}
	say := func(m channel.Incoming, text string) channel.Incoming { m.Text = text; return m }
	names := func(p Platform) (person, place string) {
		if n, ok := p.(Named); ok {
			return n.Names()
		}
		return ann.ID, group.At.Chat
	}

	t.Run("direct message", func(t *testing.T) {
		t.Parallel()
		p, _, in := begin(t)
		id := p.Say(t, say(direct, "hello, 你好"))
		got := in.next(t)
		if person, _ := names(p); got.Text != "hello, 你好" || got.Group || got.From.ID != person || got.From.Bot ||
			got.At.Chat == "" {
			t.Errorf("got %+v", got)
		}
		if id != "" && got.ID != id {
			t.Errorf("its ID is %q, want %q", got.ID, id)
		}
	})
	t.Run("group", func(t *testing.T) {
		t.Parallel()
		p, _, in := begin(t)
		if _, ok := p.(Direct); ok {
			t.Log("the platform has no groups")
			return
		}
		p.Say(t, say(group, "to nobody"))
		named := say(group, "to you")
		named.Mentioned = true
		p.Say(t, named)
		first, second := in.next(t), in.next(t)
		if _, place := names(p); first.Text != "to nobody" || !first.Group || first.Mentioned ||
			first.At.Chat != place {
			t.Errorf("first: %+v", first)
		}
		if strings.TrimSpace(second.Text) != "to you" || !second.Group || !second.Mentioned {
			t.Errorf("second: %+v", second)
		}
	})
	t.Run("in order", func(t *testing.T) {
		t.Parallel()
		p, _, in := begin(t)
		want := strings.Fields("one two three four five six seven eight nine ten")
		for _, text := range want {
			p.Say(t, say(direct, text))
		}
		var got, ids []string
		for range want {
			m := in.next(t)
			got, ids = append(got, m.Text), append(ids, m.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		slices.Sort(ids)
		if len(slices.Compact(ids)) != len(want) {
			t.Errorf("IDs are not unique: %v", ids)
		}
	})
	t.Run("reply", func(t *testing.T) {
		t.Parallel()
		p, c, in := begin(t)
		p.Say(t, say(direct, "a question"))
		at := in.next(t).At
		id, err := c.Send(t.Context(),
			channel.Outgoing{To: at, Text: "**An** answer: `a_b*c` <tag> & 1 < 2, 好", Key: "k1"})
		if err != nil || id == "" {
			t.Fatalf("Send: %q, %v", id, err)
		}
		if seen := p.Seen(t, direct.At.Chat); len(seen) != 1 || !strings.Contains(seen[0], "An") ||
			!strings.Contains(seen[0], "a_b*c") || !strings.Contains(seen[0], "<tag> & 1 < 2, 好") {
			t.Errorf("seen: %q", seen)
		}
	})
	t.Run("a file alone", func(t *testing.T) {
		t.Parallel()
		p, c, in := begin(t)
		if c.Traits().MaxFile == 0 {
			t.Log("the channel sends no files")
			return
		}
		p.Say(t, say(direct, "a chart, please"))
		to := in.next(t).At
		file := chat.File{Name: "chart 图.txt", MediaType: "text/plain", Data: []byte("1, 2, 3")}
		if id, err := c.Send(t.Context(), channel.Outgoing{To: to, Files: []chat.File{file}, Key: "k1"}); err != nil ||
			id == "" {
			t.Errorf("Send: %q, %v", id, err)
		}
		if _, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "that was it", Key: "k2"}); err != nil {
			t.Fatal(err)
		}
		if seen := p.Seen(t, direct.At.Chat); len(seen) == 0 || !strings.Contains(seen[len(seen)-1], "that was it") {
			t.Errorf("seen: %q", seen)
		}
	})
	t.Run("the longest text", func(t *testing.T) {
		t.Parallel()
		p, c, in := begin(t)
		traits := c.Traits()
		if traits.MaxText == 0 {
			t.Log("nothing bounds a text")
			return
		}
		length := traits.Length
		if length == nil {
			length = utf8.RuneCountInString
		}
		most := sort.Search(traits.MaxText,
			func(n int) bool { return length(strings.Repeat("words ", n+1)) > traits.MaxText })
		text := strings.Repeat("words ", most)
		p.Say(t, say(direct, "much, please"))
		if _, err := c.Send(t.Context(),
			channel.Outgoing{To: in.next(t).At, Text: strings.TrimSpace(text), Key: "k1"}); err != nil {
			t.Fatal(err)
		}
		if seen := strings.Join(p.Seen(t, direct.At.Chat), " "); strings.Count(seen, "words") != strings.Count(text,
			"words") {
			t.Errorf("%d of %d words were seen", strings.Count(seen, "words"), strings.Count(text, "words"))
		}
	})
	t.Run("own messages", func(t *testing.T) {
		t.Parallel()
		p, c, in := begin(t)
		place := group
		if _, ok := p.(Direct); ok {
			place = direct
		}
		p.Say(t, say(place, "first"))
		if _, err := c.Send(t.Context(), channel.Outgoing{To: in.next(t).At, Text: "mine", Key: "k1"}); err != nil {
			t.Fatal(err)
		}
		p.Say(t, say(place, "second"))
		if got := in.next(t); got.Text != "second" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("edit", func(t *testing.T) {
		t.Parallel()
		p, c, in := begin(t)
		e, ok := c.(channel.Editor)
		if !ok {
			t.Log("the channel edits nothing")
			return
		}
		p.Say(t, say(direct, "a question"))
		at := in.next(t).At
		id, err := c.Send(t.Context(), channel.Outgoing{To: at, Text: "half", Key: "k1"})
		if err == nil {
			err = e.Edit(t.Context(), at, id, "whole")
		}
		if seen := p.Seen(t, direct.At.Chat); err != nil || !slices.Equal(seen, []string{"whole"}) {
			t.Errorf("seen: %q, %v", seen, err)
		}
	})
	t.Run("failures", func(t *testing.T) {
		t.Parallel()
		p, c, in := begin(t)
		p.Say(t, say(direct, "a question"))
		at := in.next(t).At
		send := func(how Failure) error {
			p.Fail(t, how)
			_, err := c.Send(t.Context(), channel.Outgoing{To: at, Text: "an answer", Key: "k"})
			return err
		}
		var limited *channel.Limited
		if err := send(Away); err == nil || errors.Is(err, channel.ErrGone) || errors.Is(err, channel.ErrRefused) ||
			errors.As(err, &limited) {
			t.Errorf("away: %v", err)
		}
		if _, ok := p.(Steady); ok {
			t.Log("the platform is never busy")
		} else if err := send(Busy); !errors.As(err, &limited) || limited.After < 6*time.Second ||
			limited.After > 8*time.Second {
			t.Errorf("busy: %v", err)
		}
		if _, ok := p.(Picky); ok {
			if err := send(Rejected); !errors.Is(err, channel.ErrRejected) {
				t.Errorf("rejected: %v", err)
			}
		}
		if err := send(Gone); !errors.Is(err, channel.ErrGone) {
			t.Errorf("gone: %v", err)
		}
		if _, ok := p.(Own); ok {
			t.Log("nobody refuses the account")
		} else if err := send(Refused); !errors.Is(err, channel.ErrRefused) {
			t.Errorf("refused: %v", err)
		}
	})
	t.Run("not accepted", func(t *testing.T) {
		t.Parallel()
		p := start(t)
		if _, ok := p.(Redelivering); !ok {
			t.Log("the platform delivers once")
			return
		}
		c, in := p.Channel(t), newInbox()
		in.fail <- errors.New("the store is away")
		running(t, c, in)
		p.Say(t, say(direct, "first"))
		p.Say(t, say(direct, "second"))
		seen := map[string]bool{}
		for !seen["first"] || !seen["second"] {
			seen[in.next(t).Text] = true
		}
	})
	t.Run("reconnects", func(t *testing.T) {
		t.Parallel()
		p, _, in := begin(t)
		cut, ok := p.(Cut)
		if !ok {
			t.Log("the platform keeps no connection")
			return
		}
		p.Say(t, say(direct, "before"))
		in.next(t)
		cut.Cut(t)
		p.Say(t, say(direct, "after"))
		for in.next(t).Text != "after" {
		}
	})
	runHosted(t, start)
}

// Meaning says what an error of Send is about: the message, the chat, the account or the moment.
func Meaning(err error) string {
	var limited *channel.Limited
	switch {
	case err == nil:
		return "nothing"
	case errors.As(err, &limited):
		return map[channel.Scope]string{
			channel.WholeAccount: "account waits", channel.OneKind: "kind waits", channel.OneChat: "chat waits",
		}[limited.Scope]
	case errors.Is(err, channel.ErrRejected):
		return "message"
	case errors.Is(err, channel.ErrGone):
		return "chat"
	case errors.Is(err, channel.ErrRefused):
		return "account"
	}
	return "moment"
}
