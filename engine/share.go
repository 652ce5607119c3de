package engine

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/engine/internal/share"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
)

// fewest is how many places a share has at least. There are twice as many, so that strangers
// leave some to people.
const fewest = 8

// shares are the parts of the places of messages that senders have.
type shares struct {
	people   *people.People
	total    int // of all messages that run or wait
	taken    share.Places
	deferred atomic.Int64 // messages that wait in the store alone, see maxDeferred
}

// of returns the shares of which a message in a conversation takes a place.
//
// The shares divide the places of all messages that run or wait, twice [Config.MaxTurns]
// but at least 16, among those who send them, so that nobody uses up the places of the others:
//
//   - guests together have a quarter,
//   - each account of a channel and each API key half,
//   - each sender a quarter,
//   - and all who are not persons of the configuration together three quarters.
//
// The places of a second are bounded in the same way, but for guests: they may send as many
// messages in four seconds as they have places. A message beyond a share is refused with
// [ErrShare] or [ErrCrowd], and one of a guest with [ErrBusy]. A person of the configuration
// needs a place of their own share only, and the operator needs none.
func (s *shares) of(m message.Mail, key session.Key) []share.Share {
	part := func(of int) int { return max(s.total/of, fewest) }
	who := s.people.Sender(m.Caller())
	list := []share.Share{{Name: "sender " + who.Record(), Says: "of yours", Places: part(4), Busy: ErrShare}}
	switch {
	case route.Operator(key):
		return nil
	case who.Kind() == identity.Person:
		return list
	case s.people.Guest(m.Caller(), key):
		list[0] = share.Share{
			Name: "guests", Says: "of guests", Places: part(4), Every: 4 * time.Second / time.Duration(part(4)),
			Busy: ErrCrowd,
		}
	}
	for kind, name := range map[string]string{"account": m.Channel + "/" + m.Account, "key": m.Client} {
		if m.Account != "" && kind == "account" || m.Client != "" && kind == "key" {
			list = append(list, share.Share{
				Name: kind + " " + name, Says: "of the " + kind + " " + name, Places: part(2),
				Every: time.Second / time.Duration(s.total), Busy: ErrCrowd,
			})
		}
	}
	list = append(list, share.Share{
		Name: "strangers", Says: "of people whom etui does not know", Places: s.total * 3 / 4, Busy: ErrCrowd,
	})
	if list[0].Name == "guests" {
		for i := range list {
			list[i].Busy = ErrBusy // their page sends the message again
		}
	}
	return list
}

// take takes a place of the shares of a message's sender, and of more, until leave is called.
// The clients of operators need none of the sender's.
func (s *shares) take(m message.Mail, key session.Key, more ...share.Share) (leave func(), err error) {
	var list []share.Share
	if !m.Trusted {
		list = s.of(m, key)
	}
	if n := len(list); m.Later && n > 0 && list[n-1].Name == "strangers" && errors.Is(list[n-1].Busy, ErrCrowd) &&
		s.deferred.Load() > 0 {
		return nil, phrase.Errorf("%w: others came first",
			ErrCrowd) // nobody overtakes them, their own messages least of all
	}
	return s.taken.Take(append(list, more...))
}
