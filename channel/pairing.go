package channel

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

// The kinds of the records of people who were let in, and of those who want to be.
const (
	pairedKind  = "channel-paired"
	pairingKind = "channel-pairing"
)

const (
	// codeLife is how long a code counts, and maxCodes how many may be open in an account.
	codeLife = time.Hour
	maxCodes = 100
	// maxPaired is how many people can be let in by codes.
	maxPaired = 10_000
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
	Language string    `json:"language,omitempty"` // of etui's own words to the person
	Time     time.Time `json:"time"`
}

// ErrNoCode says that no open pairing has a code.
var ErrNoCode = errors.New("no such code, or its hour is over")

// paired reports whether somebody was let in.
func (a *account) paired(ctx context.Context, user string) bool {
	if !a.Pairing {
		return false
	}
	list, err := a.records.Records(ctx, pairedKind, a.Name+":"+user)
	if err != nil {
		a.log.WarnContext(ctx, "who was let in cannot be read, so strangers stay outside", "channel", a.Name, "error", err)
	}
	return err == nil && len(list) > 0
}

func (h *Host) pairings(ctx context.Context, kind string) ([]Pairing, error) {
	records, err := h.records.Records(ctx, kind)
	list := make([]Pairing, len(records))
	for i, r := range records {
		if err == nil {
			err = json.Unmarshal(r.Value, &list[i])
		}
	}
	return list, err
}

// Pairings returns who was let in, and who wants to be.
func (h *Host) Pairings(ctx context.Context) (in, waiting []Pairing, err error) {
	if in, err = h.pairings(ctx, pairedKind); err != nil {
		return nil, nil, err
	}
	waiting, err = h.pairings(ctx, pairingKind)
	open := []Pairing{}
	for _, p := range waiting {
		if time.Since(p.Time) < codeLife {
			open = append(open, p)
		}
	}
	return in, open, err
}

// Pair lets in whoever was given a code.
func (h *Host) Pair(ctx context.Context, code string) (Pairing, error) {
	in, waiting, err := h.Pairings(ctx)
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
		if err := h.records.Put(ctx, pairedKind, p.Channel+":"+p.User, value); err != nil {
			return p, err
		}
		_, err := h.records.Remove(ctx, pairingKind, code)
		if a, known := h.account(p.Channel); known == nil && a.up.Load() {
			a.answer(Incoming{ID: "paired", At: Address{Chat: p.Chat}}, phrase.In(p.Language, "You can write to me now."))
		}
		return p, err
	}
	return Pairing{}, fmt.Errorf("%q: %w", code, ErrNoCode)
}

// ErrNotPaired says that nobody was let in by a code who has this name.
var ErrNotPaired = errors.New("was not let in by a code")

// Unpair takes back what Pair gave. It returns [ErrNotPaired] where there is nothing, and says
// who was let in.
func (h *Host) Unpair(ctx context.Context, channel, user string) error {
	found, err := h.records.Remove(ctx, pairedKind, channel+":"+user)
	if err != nil || found {
		return err
	}
	if _, err := h.account(channel); err != nil {
		return err
	}
	list, err := h.pairings(ctx, pairedKind)
	if err != nil {
		return err
	}
	var in []string
	for _, p := range list {
		if p.Channel == channel && len(in) < 10 {
			in = append(in, p.User)
		}
	}
	if len(in) == 0 {
		return fmt.Errorf("%s %w, and nobody else was; allow in etui.yaml names the others who may write to %s", printable.Line(user, 100), ErrNotPaired, channel)
	}
	return fmt.Errorf("%s %w; these were: %s", printable.Line(user, 100), ErrNotPaired, strings.Join(in, ", "))
}

// Erase removes what is kept of a person, who is named as in [identity.Users.Names]: that
// they were let in, or want to be, and what channels keep themselves. It counts these as chats.
func (h *Host) Erase(ctx context.Context, names []string) (map[string]int, error) {
	n, err := h.erase(ctx, names)
	return map[string]int{"chats": n}, err
}

func (h *Host) erase(ctx context.Context, names []string) (n int, err error) {
	for _, a := range h.accounts {
		for _, name := range names {
			platform, user, ok := strings.Cut(name, ":")
			user, own := a.unscoped(user)
			if !ok || !own || platform != a.traits.Platform {
				continue
			}
			more, err := a.forget(ctx, user)
			if n += more; err != nil {
				return n, fmt.Errorf("channel %s: %w", a.Name, err)
			}
		}
	}
	return n, nil
}

func (a *account) forget(ctx context.Context, user string) (n int, err error) {
	found, err := a.records.Remove(ctx, pairedKind, a.Name+":"+user)
	if err != nil {
		return n, err
	}
	if found {
		n++
	}
	waiting, err := a.pairings(ctx, pairingKind)
	for _, p := range waiting {
		if err == nil && p.Channel == a.Name && p.User == user {
			n++
			_, err = a.records.Remove(ctx, pairingKind, p.Code)
		}
	}
	if f, ok := a.Channel.(Forgetter); ok && err == nil {
		if found, err = f.Forget(ctx, user); found {
			n++
		}
	}
	return n, err
}

// stranger answers somebody who may not write: with a code, with the refusal, or not at
// all, and once an hour at most.
func (a *account) stranger(ctx context.Context, m Incoming) error {
	if !a.Pairing {
		if a.Refusal != "" {
			a.tell(m, "stranger", time.Hour, a.Refusal)
		}
		return nil
	}
	if last, ok := a.told.Get("code\x00" + m.From.ID); ok && time.Since(last) < codeLife {
		return nil
	}
	list, err := a.pairings(ctx, pairingKind)
	if err != nil {
		return err
	}
	open := 0
	for _, p := range list {
		switch {
		case time.Since(p.Time) >= codeLife:
			_, _ = a.records.Remove(ctx, pairingKind, p.Code) // the next stranger tries again
		case p.Channel != a.Name: // the strangers of one account do not shut out those of others
		case p.User == m.From.ID:
			return nil // another process has told the code
		default:
			open++
		}
	}
	a.told.Put("code\x00"+m.From.ID, time.Now())
	if open >= maxCodes {
		a.log.WarnContext(ctx, "too many strangers ask to write: this one was left out", "channel", a.Name, "user", m.From.ID)
		return nil
	}
	p := Pairing{Code: rand.Text()[:8], Channel: a.Name, User: m.From.ID, Name: m.From.Name, Chat: m.At.Chat}
	p.Language, p.Time = a.language(m), time.Now().Round(time.Second)
	value, _ := json.Marshal(p) // texts and a time
	if err := a.records.Put(ctx, pairingKind, p.Code, value); err != nil {
		return err
	}
	a.log.InfoContext(ctx, "somebody wants to write: etui channels pair lets them in", "channel", a.Name, "user", m.From.ID, "name", m.From.Name, "code", p.Code)
	a.answer(m, phrase.In(p.Language,
		"I do not know you yet. Give this code to whoever runs this service, who can let you in: %s", p.Code))
	return nil
}
