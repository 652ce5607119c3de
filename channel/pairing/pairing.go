// Package pairing keeps who was let in to a channel by a code, and who has one.
package pairing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/store"
)

// The kinds of the records of people who were let in, and of those who want to be.
const (
	inKind      = "channel-paired"
	waitingKind = "channel-pairing"
)

const (
	// Life is how long a code counts, and maxCodes how many may be open in an account.
	Life     = time.Hour
	maxCodes = 100
	// maxIn is how many people can be let in by codes.
	maxIn = 10_000
)

// Pairing is somebody who wants to write to a channel, or may.
type Pairing struct {
	// Code is what the operator confirms; empty once that has happened.
	Code    string `json:"code,omitempty"`
	Channel string `json:"channel"`
	User    string `json:"user"`
	// Name is what the platform shows; it proves nothing.
	Name string    `json:"name,omitempty"`
	Chat string    `json:"chat,omitempty"`
	Time time.Time `json:"time"`
}

// The errors of pairings.
var (
	// ErrNoCode says that no open pairing has a code.
	ErrNoCode = errors.New("no such code, or its hour is over")
	// ErrFull says that too many codes of a channel are open.
	ErrFull = errors.New("too many strangers ask to write")
)

// Pairings are those that some records keep. They are safe for concurrent use.
type Pairings struct{ records store.Records }

// New returns the pairings in records.
func New(records store.Records) *Pairings { return &Pairings{records} }

// Has reports whether somebody was let in.
func (p *Pairings) Has(ctx context.Context, channel, user string) (bool, error) {
	list, err := p.records.Records(ctx, inKind, channel+":"+user)
	return len(list) > 0, err
}

func (p *Pairings) list(ctx context.Context, kind string) ([]Pairing, error) {
	records, err := p.records.Records(ctx, kind)
	list := make([]Pairing, len(records))
	for i, r := range records {
		if err == nil {
			err = json.Unmarshal(r.Value, &list[i])
		}
	}
	return list, err
}

// List returns who was let in, and who wants to be.
func (p *Pairings) List(ctx context.Context) (in, waiting []Pairing, err error) {
	if in, err = p.list(ctx, inKind); err != nil {
		return nil, nil, err
	}
	all, err := p.list(ctx, waitingKind)
	waiting = []Pairing{}
	for _, w := range all {
		if time.Since(w.Time) < Life {
			waiting = append(waiting, w)
		}
	}
	return in, waiting, err
}

// Confirm lets in whoever was given a code. It may return somebody who was let in with an error.
func (p *Pairings) Confirm(ctx context.Context, code string) (Pairing, error) {
	in, waiting, err := p.List(ctx)
	if err != nil {
		return Pairing{}, err
	}
	code = strings.ToUpper(strings.TrimSpace(code))
	for _, w := range waiting {
		if w.Code != code {
			continue
		}
		if len(in) >= maxIn {
			return Pairing{}, fmt.Errorf("%d people were let in already; list further ones in etui.yaml", len(in))
		}
		w.Code, w.Time = "", time.Now().Round(time.Second)
		if err := p.put(ctx, inKind, w.Channel+":"+w.User, w); err != nil {
			return Pairing{}, err
		}
		_, err := p.records.Remove(ctx, waitingKind, code)
		return w, err
	}
	return Pairing{}, fmt.Errorf("%q: %w", code, ErrNoCode)
}

func (p *Pairings) put(ctx context.Context, kind, key string, who Pairing) error {
	value, _ := json.Marshal(who) // texts and a time
	return p.records.Put(ctx, kind, key, value)
}

// Open gives a stranger a code; none if the stranger has one already. It returns [ErrFull] where too many
// have one.
func (p *Pairings) Open(ctx context.Context, who Pairing) (code string, err error) {
	list, err := p.list(ctx, waitingKind)
	if err != nil {
		return "", err
	}
	open := 0
	for _, w := range list {
		switch {
		case time.Since(w.Time) >= Life:
			_, _ = p.records.Remove(ctx, waitingKind, w.Code) // the next stranger tries again
		case w.Channel != who.Channel: // the strangers of one account do not shut out those of others
		case w.User == who.User:
			return "", nil // another process has told the code
		default:
			open++
		}
	}
	if open >= maxCodes {
		return "", ErrFull
	}
	who.Code, who.Time = rand.Text()[:8], time.Now().Round(time.Second)
	return who.Code, p.put(ctx, waitingKind, who.Code, who)
}

// Remove takes back what Confirm gave, and reports whether there was something.
func (p *Pairings) Remove(ctx context.Context, channel, user string) (bool, error) {
	return p.records.Remove(ctx, inKind, channel+":"+user)
}

// Forget removes all that is kept of somebody, and counts it.
func (p *Pairings) Forget(ctx context.Context, channel, user string) (n int, err error) {
	found, err := p.Remove(ctx, channel, user)
	if err != nil {
		return 0, err
	}
	if found {
		n++
	}
	waiting, err := p.list(ctx, waitingKind)
	for _, w := range waiting {
		if err == nil && w.Channel == channel && w.User == user {
			n++
			_, err = p.records.Remove(ctx, waitingKind, w.Code)
		}
	}
	return n, err
}
