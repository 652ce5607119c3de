package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// maxInterruptions is how many interruptions wait to be taken. Others are dropped: who asks
// asks again.
const maxInterruptions = 64

// lateAnswer is how long an answer may take after the end of the claim: it comes on another
// connection, from a process that may be busy.
const lateAnswer = 5 * poll

// Interruptions implements [store.Shared].
func (s *Store) Interruptions() <-chan store.Interruption { return s.process.interruptions }

// Interrupt implements [store.Shared]. It asks again every second, and does not stop what a
// later claim has begun.
func (s *Store) Interrupt(ctx context.Context, key session.Key) (stopped bool, err error) {
	wake, answered := make(chan struct{}, 1), make(chan struct{}, 1)
	var number int64
	s.process.mu.Lock()
	s.process.wakes[wake] = key
	s.process.mu.Unlock()
	defer func() {
		s.process.mu.Lock()
		defer s.process.mu.Unlock()
		delete(s.process.wakes, wake)
		delete(s.process.asked, number)
	}()
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		now, err := s.process.ask(ctx, key, number, answered)
		if err != nil || now == 0 && (stopped || number == 0) {
			return stopped, err
		}
		if now == 0 { // the answer may come after the end
			again.Reset(lateAnswer)
			select {
			case <-answered:
				return true, nil
			case <-again.C:
				return false, nil
			case <-ctx.Done():
				return false, context.Cause(ctx)
			}
		}
		number = now
		for waiting := true; waiting; {
			select {
			case <-answered:
				stopped = true
			case <-wake:
				waiting = false
			case <-again.C:
				waiting = false
			case <-ctx.Done():
				return stopped, context.Cause(ctx)
			}
		}
	}
}

// ask asks the process that has claimed a session. It returns the number of the claim, and 0
// when no other process has one, or not that with the number before.
func (p *process) ask(ctx context.Context, key session.Key, before int64, answered chan struct{}) (number int64,
	err error) {
	err = p.db.read(ctx, func(ctx context.Context) error {
		err := p.db.pool.QueryRow(ctx,
			`UPDATE claims SET wanted = true WHERE session = $1 AND holder NOT IN ('', $2) AND alive(holder) AND $3::bigint IN (0, number) RETURNING number`, key, p.holder, before).Scan(&number)
		if errors.Is(err, pgx.ErrNoRows) {
			number, err = 0, nil
		}
		return err
	})
	if err == nil && number != 0 {
		p.mu.Lock()
		p.asked[number] = answered // before the question: the answer after it is noticed
		p.mu.Unlock()
		p.db.notify(ctx, fmt.Sprintf("stop %d %s", number, key))
	}
	return number, err
}

// interrupted takes a question of another process, if it is about a claim of this one. The
// caller holds the lock.
func (p *process) interrupted(text string) {
	at, key, _ := strings.Cut(text, " ")
	number, err := strconv.ParseInt(at, 10, 64)
	if c := p.claims[session.Key(key)]; err != nil || c == nil || c.number != number {
		return
	}
	select {
	case p.interruptions <- store.Interruption{Session: session.Key(key), Stopped: func() { p.answer(number) }}:
	default:
	}
}

// answer tells who asks that what runs under a claim is being ended.
func (p *process) answer(number int64) {
	p.ended.Go(func() {
		defer panics.Log(p.db.log, "answering another process")
		p.db.notify(context.Background(), fmt.Sprintf("stopped %d", number))
	})
}
