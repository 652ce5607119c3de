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
	in     channel.Receiver
	intake *platform.Intake
	beats  sync.WaitGroup
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	s := &session{Channel: c, in: in, intake: platform.NewIntake("Discord", c.log)}
	ctx, stop := context.WithCancel(ctx)
	defer s.intake.Wait()
	defer stop() // what was not handed over arrives again
	return platform.Renewing(ctx, s.connect)
}

// take completes a message and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, a *arrival) error {
	key := a.channel + ":" + a.ID
	if _, seen := s.seen.Get(key); seen {
		return nil
	}
	if len(a.files) > 0 {
		release, err := s.intake.Load(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	if err := s.complete(ctx, a); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.in.Receive(ctx, a.Incoming); err != nil {
		return err
	}
	s.seen.Put(key, struct{}{})
	return nil
}
