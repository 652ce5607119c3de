package slack

import (
	"context"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// session is what one call of Run works with.
type session struct {
	*Channel
	*platform.Intake
	self *account
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	self, err := c.ask(ctx)
	if err != nil {
		return err
	}
	s := &session{c, platform.NewIntake("Slack", c.log, in, c.seen), self}
	return s.Intake.Run(ctx, func(ctx context.Context) error {
		if c.config.AppToken != "" {
			return platform.Renewing(ctx, s.socket)
		}
		c.open.Store(s)
		defer c.open.CompareAndSwap(s, nil)
		return s.Serve(ctx)
	})
}

// take completes a message and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, a *arrival) error {
	m := a.Incoming
	if !s.Wants(ctx, m) {
		a.files = nil
	}
	return s.Hand(ctx, a.ID, &m, len(a.files) > 0, func(ctx context.Context) error {
		s.people.Introduce(ctx, &m.From, s.meet)
		m.Files = s.load(ctx, a.files)
		return nil
	})
}
