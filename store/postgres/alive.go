package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/session"
)

const (
	// Lease is how long a process counts as alive after it was last heard of.
	Lease = 4 * time.Second
	// renewal is how often it is heard of.
	renewal = time.Second
	// maxRenewal is how long that may take.
	maxRenewal = 3 * time.Second
	// doubtful is how long an item in doubt is looked for: longer than a commit can take.
	doubtful = time.Minute
)

// keepAlive renews the lease of this process and hears notifications, on a connection of
// its own, until ctx ends. Without the database it tries again at each renewal.
func (s *Store) keepAlive(ctx context.Context) {
	var telling panics.Group
	defer telling.Wait()
	telling.Go(func() { s.tell(ctx) })
	away := false
	for ctx.Err() == nil {
		err := panics.Try(s.log, "listening to the database", func() error { return s.listenOnce(ctx, &away) })
		if ctx.Err() == nil && !away {
			away = true
			s.log.WarnContext(ctx, "the database is away; accepted messages wait", "error", s.explain(err))
		}
		select {
		case <-time.After(renewal):
		case <-ctx.Done():
		}
	}
}

// listenOnce does that on one connection, until it breaks.
func (s *Store) listenOnce(ctx context.Context, away *bool) error {
	connecting, done := context.WithTimeout(ctx, maxRenewal)
	defer done()
	conn, err := pgx.ConnectConfig(connecting, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		closing, done := context.WithTimeout(context.Background(), renewal)
		defer done()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(connecting, `LISTEN etui`); err != nil {
		return err
	}
	done()
	for {
		if err := s.renew(ctx, conn); err != nil {
			return err
		}
		if *away {
			*away = false
			s.log.WarnContext(ctx, "the database is back")
		}
		s.mu.Lock()
		s.wakeAll() // should a notification be lost
		s.mu.Unlock()
		if err := s.hearUntil(ctx, conn, time.Now().Add(renewal)); err != nil {
			return err
		}
	}
}

// hearUntil takes notifications until a time.
func (s *Store) hearUntil(ctx context.Context, conn *pgx.Conn, until time.Time) error {
	for {
		waiting, done := context.WithDeadline(ctx, until)
		n, err := conn.WaitForNotification(waiting)
		timeout := waiting.Err() != nil
		done()
		switch {
		case err == nil:
			s.hear(n.Payload)
		case timeout && ctx.Err() == nil && !conn.IsClosed():
			return nil
		default:
			return err
		}
	}
}

// renew tells the database that this process is alive, and puts right what earlier
// failures have left: items in doubt, and claims that were not released.
func (s *Store) renew(ctx context.Context, db interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}) error {
	// Close waits for it: a renewal that is given up could still reach the database, after
	// Close has said there that the process ended.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), maxRenewal)
	defer done()
	s.mu.Lock()
	doubts := slices.Collect(maps.Keys(s.doubts))
	held := []string{}
	for key := range s.claims {
		held = append(held, string(key))
	}
	s.mu.Unlock()
	b := &pgx.Batch{}
	// While the database was away, no process could renew its lease. So where this one missed
	// a renewal, too, a lease that ended since the last one does not mean that its process
	// ended, and is renewed, too. The lock keeps another renewal of this process out.
	b.Queue(`SELECT FROM replicas WHERE holder = $1 FOR UPDATE`, s.holder)
	b.Queue(`UPDATE replicas o SET expires = clock_timestamp() + $2::interval FROM replicas me
		WHERE me.holder = $1 AND me.expires < clock_timestamp() + $3::interval AND o.holder <> $1 AND o.expires < clock_timestamp() AND o.expires BETWEEN me.expires - $2::interval AND me.expires + $2::interval`,
		s.holder, Lease, Lease-2*renewal)
	b.Queue(`INSERT INTO replicas (holder, expires) VALUES ($1, clock_timestamp() + $2) ON CONFLICT (holder) DO UPDATE SET expires = excluded.expires`, s.holder, Lease)
	b.Queue(`DELETE FROM replicas WHERE expires < clock_timestamp() - interval '1 hour'`)
	if len(doubts) > 0 {
		b.Queue(`UPDATE inbox SET holder = '' WHERE key = ANY ($1) AND holder = $2 AND state = 'waiting'`, doubts, s.holder)
	}
	unreleased := map[session.Key]int64{}
	b.Queue(`SELECT session, number FROM claims WHERE holder = $1 AND wanted AND NOT session = ANY ($2)`, s.holder, held).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var key session.Key
			var number int64
			if err := rows.Scan(&key, &number); err != nil {
				return err
			}
			unreleased[key] = number
		}
		return rows.Err()
	})
	if err := db.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	s.mu.Lock()
	// Numbers are never used again: what is not worked on now is left from a failure.
	maps.DeleteFunc(unreleased, func(key session.Key, _ int64) bool { return s.claims[key] != nil })
	maps.DeleteFunc(s.doubts, func(_ string, since time.Time) bool { return time.Since(since) > doubtful })
	s.mu.Unlock()
	for key, number := range unreleased {
		s.release(key, number)
	}
	return nil
}
