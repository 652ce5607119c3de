package platform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etui-run/etui/channel"
)

// Fetch asks a platform for an access token, which is valid for some time.
type Fetch func(ctx context.Context) (token string, life time.Duration, err error)

// Tokens keeps an access token.
type Tokens struct {
	fetch   Fetch
	expired []string // the codes that say so
	now     func() time.Time

	lock  chan struct{} // whoever holds it fetches the token; others wait for it
	value string
	until time.Time
}

// NewTokens returns an empty cache. Expired are the codes of answers that say that a token is
// not valid any more.
func NewTokens(now func() time.Time, fetch Fetch, expired ...string) *Tokens {
	return &Tokens{fetch: fetch, expired: expired, now: now, lock: make(chan struct{}, 1)}
}

// get returns a token that is valid for some minutes, other than the refused one.
func (t *Tokens) get(ctx context.Context, refused string) (string, error) {
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.value != "" && t.value != refused && t.now().Before(t.until) {
		return t.value, nil
	}
	value, life, err := t.fetch(ctx)
	if errors.Is(err, channel.ErrRejected) { // it says nothing of the message for which the token is needed
		err = fmt.Errorf("%w: %w", channel.ErrRefused, err)
	}
	if err != nil {
		return "", err
	}
	t.value, t.until = value, t.now().Add(life-min(life/10, 5*time.Minute))
	return value, nil
}

// With calls use with a token, and once more with a new one if the platform does not know
// the token any more.
func (t *Tokens) With(ctx context.Context, use func(token string) error) error {
	token, err := t.get(ctx, "")
	if err != nil {
		return err
	}
	err = use(token)
	if !Fails(err, t.expired...) {
		return err
	}
	if token, err = t.get(ctx, token); err != nil {
		return err
	}
	return use(token)
}
