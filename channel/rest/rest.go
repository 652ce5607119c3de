// Package rest knows what an account leaves alone for a time, because its platform asked for that:
// everything, the requests of a kind, or these in one chat.
package rest

import (
	"sync"
	"time"

	"github.com/etui-run/etui/internal/recent"
)

// Kind is a kind of requests, which platforms count apart.
type Kind string

// The kinds.
const (
	Sending Kind = "send"
	Editing Kind = "edit"
)

// remembered bounds the places that rest; beyond it, the ones of long ago are forgotten.
const remembered = 10_000

// Rests are the rests of an account. They are safe for concurrent use.
type Rests struct {
	begin sync.Mutex // two requests that end together may both say how long
	until *recent.Cache[place, time.Time]
}

// place is what rests: an empty chat means all of them, and an empty kind all requests.
type place struct {
	kind Kind
	chat string
}

// New returns an account that does not rest.
func New() *Rests { return &Rests{until: recent.New[place, time.Time](remembered)} }

// Begin begins a rest, of requests of a kind in a chat. An empty chat means all chats, and an empty
// kind all requests. It never shortens a rest.
func (r *Rests) Begin(kind Kind, chat string, until time.Time) {
	r.begin.Lock()
	defer r.begin.Unlock()
	if is, _ := r.until.Get(place{kind, chat}); until.After(is) {
		r.until.Put(place{kind, chat}, until)
	}
}

// Until returns when requests of a kind may be made again in a chat. With neither it is when the
// account goes on.
func (r *Rests) Until(kind Kind, chat string) (until time.Time) {
	for _, p := range []place{{}, {kind, ""}, {kind, chat}} {
		if at, _ := r.until.Get(p); at.After(until) {
			until = at
		}
	}
	return until
}

// Now reports whether such requests rest.
func (r *Rests) Now(kind Kind, chat string) bool { return time.Now().Before(r.Until(kind, chat)) }
