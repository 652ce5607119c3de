// Package contact keeps who writes directly to the accounts of channels: people whom a code let in, those
// who want to be, and where the people of the configuration read what is for them alone.
package contact

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/store"
)

// The kinds of the records.
const (
	pairedKind  = "channel-paired"
	pairingKind = "channel-pairing"
	directKind  = "channel-direct"
)

const (
	// CodeLife is how long a code counts, and maxCodes how many may be open in an account.
	CodeLife = time.Hour
	maxCodes = 100
	// maxPaired is how many people can be let in by codes.
	maxPaired = 10_000
	// noted is how long it is not stored again that somebody wrote from the same place.
	noted = 24 * time.Hour
	// remembered is how many people are remembered for that, the last ones.
	remembered = 10_000
)

// Pairing is somebody who wants to write to a channel, or may.
type Pairing struct {
	// Code is what the operator confirms; empty once that has happened.
	Code    string `json:"code,omitempty"`
	Channel string `json:"channel"`
	User    string `json:"user"`
	// Name is what the platform shows; it proves nothing.
	Name     string    `json:"name,omitempty"`
	Chat     string    `json:"chat,omitempty"`
	Language string    `json:"language,omitempty"` // of etui\'s own words to the person
	Time     time.Time `json:"time"`
}

// Direct is where a person reads what is for them alone.
type Direct struct {
	// To is the host's own record of the place.
	To json.RawMessage `json:"to"`
	// Language is that of what the person wrote there last: zh, en, or empty if it is not known.
	Language string    `json:"language,omitempty"`
	Time     time.Time `json:"time"`
}

var (
	// ErrNoCode says that no open pairing has a code.
	ErrNoCode = errors.New("no such code, or its hour is over")
	// ErrNotPaired says that nobody was let in by a code who has this name.
	ErrNotPaired = errors.New("was not let in by a code")
)

// Book has the contacts in a store. It is safe for concurrent use.
type Book struct {
	records store.Records
	known   *recent.Cache[string, Direct]
}

// NewBook returns the contacts in a store.
func NewBook(records store.Records) *Book {
	return &Book{records, recent.New[string, Direct](remembered)}
}

// Paired reports whether somebody was let in to an account.
func (b *Book) Paired(ctx context.Context, account, user string) (bool, error) {
	list, err := b.records.Records(ctx, pairedKind, account+":"+user)
	return len(list) > 0, err
}

func (b *Book) pairings(ctx context.Context, kind string) ([]Pairing, error) {
	records, err := b.records.Records(ctx, kind)
	list := make([]Pairing, len(records))
	for i, r := range records {
		if err == nil {
			err = json.Unmarshal(r.Value, &list[i])
		}
	}
	return list, err
}

// Pairings returns who was let in, and who wants to be.
func (b *Book) Pairings(ctx context.Context) (in, waiting []Pairing, err error) {
	if in, err = b.pairings(ctx, pairedKind); err != nil {
		return nil, nil, err
	}
	all, err := b.pairings(ctx, pairingKind)
	waiting = []Pairing{}
	for _, p := range all {
		if time.Since(p.Time) < CodeLife {
			waiting = append(waiting, p)
		}
	}
	return in, waiting, err
}

// Pair lets in whoever was given a code.
func (b *Book) Pair(ctx context.Context, code string) (Pairing, error) {
	in, waiting, err := b.Pairings(ctx)
	if err != nil {
		return Pairing{}, err
	}
	code = strings.ToUpper(strings.TrimSpace(code))
	for _, p := range waiting {
		if p.Code != code {
			continue
		}
		if len(in) >= maxPaired {
			return p, fmt.Errorf("%d people were let in already; list further ones in etui.yaml", len(in))
		}
		p.Code, p.Time = "", time.Now().Round(time.Second)
		value, _ := json.Marshal(p) // texts and a time
		if err := b.records.Put(ctx, pairedKind, p.Channel+":"+p.User, value); err != nil {
			return p, err
		}
		_, err := b.records.Remove(ctx, pairingKind, code)
		return p, err
	}
	return Pairing{}, fmt.Errorf("%q: %w", code, ErrNoCode)
}

// Unpair takes back what Pair gave. It returns [ErrNotPaired] where there is nothing, and says
// who was let in.
func (b *Book) Unpair(ctx context.Context, account, user string) error {
	found, err := b.records.Remove(ctx, pairedKind, account+":"+user)
	if err != nil || found {
		return err
	}
	list, err := b.pairings(ctx, pairedKind)
	if err != nil {
		return err
	}
	var in []string
	for _, p := range list {
		if p.Channel == account && len(in) < 10 {
			in = append(in, p.User)
		}
	}
	if len(in) == 0 {
		return fmt.Errorf("%s %w, and nobody else was; allow in etui.yaml names the others who may write to %s",
			printable.Line(user, 100), ErrNotPaired, account)
	}
	return fmt.Errorf("%s %w; these were: %s", printable.Line(user, 100), ErrNotPaired, strings.Join(in, ", "))
}

// ErrFull says that too many strangers of an account have a code already.
var ErrFull = errors.New("too many strangers ask to write")

// Ask gives somebody a code. Without ok, the person has one already.
func (b *Book) Ask(ctx context.Context, p Pairing) (made Pairing, ok bool, err error) {
	list, err := b.pairings(ctx, pairingKind)
	if err != nil {
		return p, false, err
	}
	open := 0
	for _, known := range list {
		switch {
		case time.Since(known.Time) >= CodeLife:
			_, _ = b.records.Remove(ctx, pairingKind, known.Code) // the next stranger tries again
		case known.Channel != p.Channel: // the strangers of one account do not shut out those of others
		case known.User == p.User:
			return p, false, nil // another process has told the code
		default:
			open++
		}
	}
	if open >= maxCodes {
		return p, false, ErrFull
	}
	p.Code, p.Time = rand.Text()[:8], time.Now().Round(time.Second)
	value, _ := json.Marshal(p) // texts and a time
	return p, true, b.records.Put(ctx, pairingKind, p.Code, value)
}

// Note keeps where a person writes directly to an account. It stores only what is new, or a day old.
func (b *Book) Note(ctx context.Context, account, user string, d Direct) error {
	key := account + ":" + user
	last, ok := b.known.Get(key)
	if ok && string(last.To) == string(d.To) && last.Language == d.Language && d.Time.Sub(last.Time) < noted {
		return nil
	}
	value, err := json.Marshal(d)
	if err == nil {
		err = b.records.Put(ctx, directKind, key, value)
	}
	if err == nil {
		b.known.Put(key, d)
	}
	return err
}

// Direct returns where somebody has written directly to an account.
func (b *Book) Direct(ctx context.Context, account, user string) (d Direct, ok bool, err error) {
	if d, ok = b.known.Get(account + ":" + user); ok {
		return d, true, nil
	}
	list, err := b.records.Records(ctx, directKind, account+":"+user)
	if err == nil && len(list) > 0 {
		ok, err = true, json.Unmarshal(list[0].Value, &d)
	}
	return d, ok && err == nil, err
}

// Forget removes what is kept of somebody in an account, and returns how much that was.
func (b *Book) Forget(ctx context.Context, account, user string) (n int, err error) {
	for _, kind := range []string{pairedKind, directKind} {
		found, err := b.records.Remove(ctx, kind, account+":"+user)
		if err != nil {
			return n, err
		}
		if found {
			n++
		}
	}
	b.known.Remove(account + ":" + user)
	waiting, err := b.pairings(ctx, pairingKind)
	for _, p := range waiting {
		if err == nil && p.Channel == account && p.User == user {
			n++
			_, err = b.records.Remove(ctx, pairingKind, p.Code)
		}
	}
	return n, err
}
