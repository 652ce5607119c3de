package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/contact"
	"github.com/etui-run/etui/phrase"
)

// Pairing is somebody who wants to write to a channel, or may.
type Pairing = contact.Pairing

// The reasons why a pairing cannot be made or taken back.
var (
	ErrNoCode    = contact.ErrNoCode
	ErrNotPaired = contact.ErrNotPaired
)

// paired reports whether somebody was let in.
func (a *account) paired(ctx context.Context, user string) bool {
	if !a.Pairing {
		return false
	}
	in, err := a.contacts.Paired(ctx, a.Name, user)
	if err != nil {
		a.log.WarnContext(ctx, "who was let in cannot be read, so strangers stay outside", "channel", a.Name, "error",
			err)
	}
	return in && err == nil
}

// Pairings returns who was let in, and who wants to be.
func (h *Host) Pairings(ctx context.Context) (in, waiting []Pairing, err error) {
	return h.contacts.Pairings(ctx)
}

// Pair lets in whoever was given a code.
func (h *Host) Pair(ctx context.Context, code string) (Pairing, error) {
	p, err := h.contacts.Pair(ctx, code)
	if a, known := h.account(p.Channel); err == nil && known == nil && a.up.Load() {
		a.answer(Incoming{ID: "paired", At: Address{Chat: p.Chat}}, phrase.In(p.Language, "You can write to me now."))
	}
	return p, err
}

// Unpair takes back what Pair gave. It returns [ErrNotPaired] where there is nothing, and says
// who was let in.
func (h *Host) Unpair(ctx context.Context, channel, user string) error {
	err := h.contacts.Unpair(ctx, channel, user)
	if _, unknown := h.account(channel); errors.Is(err, ErrNotPaired) && unknown != nil {
		return unknown
	}
	return err
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
			user, own := a.ids.Unscoped(user)
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
	a.heard.Forget(user)
	n, err = a.contacts.Forget(ctx, a.Name, user)
	if f, ok := a.Channel.(Forgetter); ok && err == nil {
		var found bool
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
	if last, ok := a.told.Get("code\x00" + m.From.ID); ok && time.Since(last) < contact.CodeLife {
		return nil
	}
	p, fresh, err := a.contacts.Ask(ctx,
		Pairing{Channel: a.Name, User: m.From.ID, Name: m.From.Name, Chat: m.At.Chat, Language: a.language(m)})
	if err != nil && !errors.Is(err, contact.ErrFull) {
		return err
	}
	a.told.Put("code\x00"+m.From.ID, time.Now())
	switch {
	case err != nil:
		a.log.WarnContext(ctx, "too many strangers ask to write: this one was left out", "channel", a.Name, "user",
			m.From.ID)
	case fresh:
		a.log.InfoContext(ctx, "somebody wants to write: etui channels pair lets them in", "channel", a.Name, "user",
			m.From.ID, "name", m.From.Name, "code", p.Code)
		a.answer(m, phrase.In(p.Language,
			"I do not know you yet. Give this code to whoever runs this service, who can let you in: %s", p.Code))
	}
	return nil
}
