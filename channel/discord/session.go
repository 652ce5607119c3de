package discord

import (
	"context"
	"sync"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// session is what one call of Run works with.
type session struct {
	*Channel
	*platform.Intake
	beats sync.WaitGroup
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	s := &session{Channel: c, Intake: platform.NewIntake("Discord", c.log, in, c.seen)}
	return s.Intake.Run(ctx, func(ctx context.Context) error { return platform.Renewing(ctx, s.connect) })
}

// take completes a message and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, a *arrival) error {
	return s.Hand(ctx, a.channel+":"+a.ID, &a.Incoming, len(a.files) > 0, func(ctx context.Context) error { return s.complete(ctx, a) })
}
