package web

import (
	"context"
	"time"
)

// MaxChats, Keep and PerPerson are the bounds.
const (
	Keep      = keep
	PerPerson = perPerson
	Burst     = burst
	Queued    = queued
)

// Tidy removes chats of long ago, as if it were later.
func (c *Channel) Tidy(ctx context.Context, after time.Duration) error {
	return c.tidy(ctx, time.Now().Add(after))
}

// Busy says how many chats and connections are held.
func (c *Channel) Busy() (chats, connections int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.chats), c.slots.all + len(c.slots.unknown) + len(c.slots.of)
}

// Verify checks a token.
func (c *Channel) Verify(token string) (user string, err error) {
	p, err := c.verify(token, time.Now())
	return p.ID, err
}

// Decode reads what a client sends.
func Decode(body []byte) error {
	r, err := decode(body)
	if err == nil {
		_, err = filesOf(r.Files, person{})
	}
	return err
}
