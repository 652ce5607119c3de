package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
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

// process is this process, among those that share a database: its lease, the sessions that it has
// claimed, and what it tells others and hears of them.
type process struct {
	db     *database
	holder string // its name
	ended  sync.WaitGroup
	left   chan struct{}

	mu            sync.Mutex                    // guards the rest
	claims        map[session.Key]*claim        // what it works on, or has lost
	wakes         map[chan struct{}]session.Key // of those who wait for a session
	doubts        map[string]time.Time          // keys of items that may have been accepted, and since when
	told          map[int64]*transcript         // of the items that it works on
	heard         map[int64]*listener           // of the items that others work on
	watched       map[chan struct{}]string      // the kinds of records, by who watches them
	asked         map[int64]chan struct{}       // who waits for the end of what runs under the claim of another process
	interruptions chan store.Interruption
}

func newProcess(db *database) *process {
	host, _ := os.Hostname() // people read the name; what is random makes it one of its own
	return &process{
		db: db, holder: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()), left: make(chan struct{}, 1),
		claims: map[session.Key]*claim{}, wakes: map[chan struct{}]session.Key{}, doubts: map[string]time.Time{},
		told: map[int64]*transcript{}, heard: map[int64]*listener{}, watched: map[chan struct{}]string{},
		asked: map[int64]chan struct{}{}, interruptions: make(chan store.Interruption, maxInterruptions),
	}
}

// keepAlive renews the lease of this process and hears notifications, on a connection of
// its own, until ctx ends. Without the database it tries again at each renewal.
func (p *process) keepAlive(ctx context.Context) {
	var telling panics.Group
	defer telling.Wait()
	telling.Go(func() { p.tell(ctx) })
	away := false
	for ctx.Err() == nil {
		err := panics.Try(p.db.log, "listening to the database", func() error { return p.listenOnce(ctx, &away) })
		if ctx.Err() == nil && !away {
			away = true
			p.db.log.WarnContext(ctx, "the database is away; accepted messages wait", "error", p.db.explain(err))
		}
		sleep.For(ctx, renewal)
	}
}

// listenOnce does that on one connection, until it breaks.
func (p *process) listenOnce(ctx context.Context, away *bool) error {
	connecting, done := context.WithTimeout(ctx, maxRenewal)
	defer done()
	conn, err := pgx.ConnectConfig(connecting, p.db.pool.Config().ConnConfig)
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
		if err := p.renew(ctx, conn); err != nil {
			return err
		}
		if *away {
			*away = false
			p.db.log.WarnContext(ctx, "the database is back")
		}
		p.mu.Lock()
		p.wakeAll() // should a notification be lost
		p.mu.Unlock()
		if err := p.hearUntil(ctx, conn, time.Now().Add(renewal)); err != nil {
			return err
		}
	}
}

// hearUntil takes notifications until a time.
func (p *process) hearUntil(ctx context.Context, conn *pgx.Conn, until time.Time) error {
	for {
		waiting, done := context.WithDeadline(ctx, until)
		n, err := conn.WaitForNotification(waiting)
		timeout := waiting.Err() != nil
		done()
		switch {
		case err == nil:
			p.hear(n.Payload)
		case timeout && ctx.Err() == nil && !conn.IsClosed():
			return nil
		default:
			return err
		}
	}
}

// renew tells the database that this process is alive, and puts right what earlier
// failures have left: items in doubt, and claims that were not released.
func (p *process) renew(ctx context.Context, db interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}) error {
	// Close waits for it: a renewal that is given up could still reach the database, after
	// Close has said there that the process ended.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), maxRenewal)
	defer done()
	p.mu.Lock()
	doubts := slices.Collect(maps.Keys(p.doubts))
	held := []string{}
	for key := range p.claims {
		held = append(held, string(key))
	}
	p.mu.Unlock()
	b := &pgx.Batch{}
	// While the database was away, no process could renew its lease. So where this one missed
	// a renewal, too, a lease that ended since the last one does not mean that its process
	// ended, and is renewed, too. The lock keeps another renewal of this process out.
	b.Queue(`SELECT FROM replicas WHERE holder = $1 FOR UPDATE`, p.holder)
	b.Queue(`UPDATE replicas o SET expires = clock_timestamp() + $2::interval FROM replicas me
		WHERE me.holder = $1 AND me.expires < clock_timestamp() + $3::interval AND o.holder <> $1 AND o.expires < clock_timestamp() AND o.expires BETWEEN me.expires - $2::interval AND me.expires + $2::interval`,
		p.holder, Lease, Lease-2*renewal)
	b.Queue(`INSERT INTO replicas (holder, expires) VALUES ($1, clock_timestamp() + $2) ON CONFLICT (holder) DO UPDATE SET expires = excluded.expires`, p.holder, Lease)
	b.Queue(`DELETE FROM replicas WHERE expires < clock_timestamp() - interval '1 hour'`)
	if len(doubts) > 0 {
		b.Queue(`UPDATE inbox SET holder = '' WHERE key = ANY ($1) AND holder = $2 AND state = 'waiting'`, doubts,
			p.holder)
	}
	unreleased := map[session.Key]int64{}
	b.Queue(`SELECT session, number FROM claims WHERE holder = $1 AND wanted AND NOT session = ANY ($2)`, p.holder,
		held).Query(func(rows pgx.Rows) error {
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
	p.mu.Lock()
	// Numbers are never used again: what is not worked on now is left from a failure.
	maps.DeleteFunc(unreleased, func(key session.Key, _ int64) bool { return p.claims[key] != nil })
	maps.DeleteFunc(p.doubts, func(_ string, since time.Time) bool { return time.Since(since) > doubtful })
	p.mu.Unlock()
	for key, number := range unreleased {
		p.release(key, number)
	}
	return nil
}
