package engine

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
)

// shares divide the places of all messages that run or wait, twice [Config.MaxTurns], among
// those who send them, so that nobody uses up the places of the others:
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
type shares struct {
	places int

	mu   sync.Mutex
	held map[string]int           // places, by share
	pace map[string]*rate.Limiter // of the shares in use
}

// share is a part of the places.
type share struct {
	name   string // "" is that of all who are no persons
	says   string // whose it is, for people
	places int
	every  time.Duration // between two messages; 0 means that the pace is free
	busy   error         // when it is used up; nil is [ErrCrowd]
}

// fewest is how many places a share has at least, if there are so many.
const fewest = 8

// sharesOf returns the shares of which a message in a conversation takes a place.
func (e *Engine) sharesOf(m mail, key session.Key) []share {
	part := func(n, of int) int { return max(e.shares.places*n/of, min(e.shares.places, fewest)) }
	s := e.sender(m)
	list := []share{{name: "sender " + s.Record(), says: "of yours", places: part(1, 4), busy: ErrShare}}
	switch {
	case route.Operator(key):
		return nil
	case s.Kind() == identity.Person:
		return list
	case e.isGuest(m, key):
		list[0] = share{name: "guests", says: "of guests", places: part(1, 4), every: 4 * time.Second / time.Duration(part(1, 4))}
	}
	for kind, name := range map[string]string{"account": m.Channel + "/" + m.Account, "key": m.Client} {
		if m.Account != "" && kind == "account" || m.Client != "" && kind == "key" {
			list = append(list, share{name: kind + " " + name, says: "of the " + kind + " " + name, places: part(1, 2), every: time.Second / time.Duration(e.shares.places)})
		}
	}
	list = append(list, share{name: "strangers", says: "of people whom etui does not know", places: part(3, 4)})
	if list[0].name == "guests" {
		for i := range list {
			list[i].busy = ErrBusy // their page sends the message again
		}
	}
	return list
}

// share takes a place of the shares of a message's sender, and of more, until leave is called.
// The clients of operators need none of the sender's.
func (e *Engine) share(m mail, key session.Key, more ...share) (leave func(), err error) {
	var list []share
	if !m.Trusted {
		list = e.sharesOf(m, key)
	}
	if n := len(list); m.Later && n > 0 && list[n-1].name == "strangers" && list[n-1].busy == nil && e.deferred.Load() > 0 {
		return nil, fmt.Errorf("%w: others came first", ErrCrowd) // nobody overtakes them, their own messages least of all
	}
	return e.shares.take(append(list, more...))
}

// take takes a place of each share until leave is called, or says which one is used up.
func (s *shares) take(list []share) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held, s.pace = map[string]int{}, map[string]*rate.Limiter{}
	}
	for _, one := range list {
		if s.held[one.name] >= one.places {
			return nil, fmt.Errorf("%w: there are too many %s; try again in a moment", cmp.Or(one.busy, ErrCrowd), one.says)
		}
	}
	for _, one := range list {
		if one.every == 0 {
			continue
		}
		pace := s.pace[one.name]
		if pace == nil {
			pace = rate.NewLimiter(rate.Every(one.every), one.places)
			s.pace[one.name] = pace
		}
		if !pace.Allow() {
			return nil, fmt.Errorf("%w: too many %s came at once; try again in a moment", cmp.Or(one.busy, ErrCrowd), one.says)
		}
	}
	for _, one := range list {
		s.held[one.name]++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, one := range list {
			if s.held[one.name]--; s.held[one.name] > 0 {
				continue
			}
			delete(s.held, one.name)
			if pace := s.pace[one.name]; pace != nil && pace.Tokens() >= float64(one.places) {
				delete(s.pace, one.name) // a new one would be as full
			}
		}
	}, nil
}
