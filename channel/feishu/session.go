package feishu

import (
	"context"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// session is what one call of Run works with.
type session struct {
	*Channel
	in     channel.Receiver
	self   *account
	intake *platform.Intake
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	self, err := c.ask(ctx)
	if err != nil {
		return err
	}
	s := &session{c, in, self, platform.NewIntake("Feishu", c.log)}
	ctx, stop := context.WithCancel(ctx)
	defer s.intake.Wait()
	defer stop() // what was not handed over arrives again
	if !c.pushed() {
		return s.connection(ctx)
	}
	c.open.Store(s)
	defer c.open.CompareAndSwap(s, nil)
	return s.intake.Serve(ctx)
}

// take completes a message and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, a *arrival) error {
	// A press that comes again is placed, too: its answer must be the same.
	if err := s.place(ctx, a); err != nil {
		return err
	}
	if _, seen := s.seen.Get(a.ID); seen {
		return nil
	}
	m := a.Incoming
	if channel.Wanted(ctx, s.in, m) {
		if len(a.files) > 0 {
			release, err := s.intake.Load(ctx)
			if err != nil {
				return err
			}
			defer release()
		}
		s.introduce(ctx, a, &m)
		m.Files = s.load(ctx, a)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.in.Receive(ctx, m); err != nil {
		return err
	}
	s.seen.Put(a.ID, struct{}{})
	return nil
}
