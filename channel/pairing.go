package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/channel/pairing"
	"github.com/etui-run/etui/internal/printable"
)

// paired reports whether somebody was let in.
func (a *account) paired(ctx context.Context, user string) bool {
	if !a.Pairing {
		return false
	}
	in, err := a.pairings.Has(ctx, a.Name, user)
	if err != nil {
		a.log.WarnContext(ctx, "who was let in cannot be read, so strangers stay outside", "channel", a.Name, "error", err)
	}
	return err == nil && in
}

// Pairings returns who was let in, and who wants to be.
func (h *Host) Pairings(ctx context.Context) (in, waiting []pairing.Pairing, err error) {
	return h.pairings.List(ctx)
}

// Pair lets in whoever was given a code.
func (h *Host) Pair(ctx context.Context, code string) (pairing.Pairing, error) {
	p, err := h.pairings.Confirm(ctx, code)
	if a, known := h.account(p.Channel); known == nil && a.up.Load() {
		a.answer(Incoming{ID: "paired", At: Address{Chat: p.Chat}}, "You can write to me now.")
	}
	return p, err
}

// ErrNotPaired says that nobody was let in by a code who has this name.
var ErrNotPaired = errors.New("was not let in by a code")

// Unpair takes back what Pair gave. It returns [ErrNotPaired] where there is nothing, and says
// who was let in.
func (h *Host) Unpair(ctx context.Context, channel, user string) error {
	found, err := h.pairings.Remove(ctx, channel, user)
	if err != nil || found {
		return err
	}
	if _, err := h.account(channel); err != nil {
		return err
	}
	list, _, err := h.pairings.List(ctx)
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
	a.heard.Forget(user)
	n, err = a.pairings.Forget(ctx, a.Name, user)
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
	if last, ok := a.told.Get("code\x00" + m.From.ID); ok && time.Since(last) < pairing.Life {
		return nil
	}
	code, err := a.pairings.Open(ctx, pairing.Pairing{Channel: a.Name, User: m.From.ID, Name: m.From.Name,
		Chat: m.At.Chat})
	switch {
	case errors.Is(err, pairing.ErrFull):
		a.log.WarnContext(ctx, "too many strangers ask to write: this one was left out", "channel", a.Name,
			"user", m.From.ID)
	case err != nil:
		return err
	}
	a.told.Put("code\x00"+m.From.ID, time.Now())
	if code != "" {
		a.log.InfoContext(ctx, "somebody wants to write: etui channels pair lets them in", "channel", a.Name,
			"user", m.From.ID, "name", m.From.Name, "code", code)
		a.answer(m, "I do not know you yet. Give this code to whoever runs this service, who can let you in: "+code)
	}
	return nil
}
