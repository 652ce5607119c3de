package postgres

import (
	"context"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// claim is a session that this process works on.
type claim struct {
	number int64 // 0 while it is asked for, lost when another process has it
}

// lost is the number of a claim that another process has taken.
const lost = -1

// poll is how often one who waits looks again, should a notification be lost.
const poll = time.Second

// Holder implements [store.Shared].
func (s *Store) Holder() string { return s.process.holder }

// Alive implements [store.Shared].
func (s *Store) Alive(ctx context.Context) ([]string, error) {
	return collect(ctx, s.db, pgx.RowTo[string],
		`SELECT holder FROM replicas WHERE holder <> $1 AND expires > clock_timestamp() ORDER BY holder`,
		s.process.holder)
}

// Left implements [store.Shared].
func (s *Store) Left() <-chan struct{} { return s.process.left }

// Claim implements [store.Shared].
func (s *Store) Claim(ctx context.Context, c store.Claim) error {
	wake := make(chan struct{}, 1)
	s.process.mu.Lock()
	if mine := s.process.claims[c.Session]; mine != nil && mine.number > 0 {
		s.process.mu.Unlock()
		return nil
	}
	s.process.wakes[wake] = c.Session // before the first look: a release after it is noticed
	mine := &claim{}
	s.process.claims[c.Session] = mine
	s.process.mu.Unlock()
	var heard *listener
	if c.Item != 0 && c.News != nil {
		heard = s.process.listen(c.Item)
	}
	defer func() {
		s.process.mu.Lock()
		defer s.process.mu.Unlock()
		delete(s.process.wakes, wake)
		if mine.number <= 0 && s.process.claims[c.Session] == mine {
			delete(s.process.claims, c.Session)
		}
		if heard != nil && s.process.heard[c.Item] == heard {
			delete(s.process.heard, c.Item)
		}
	}()
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		var number int64
		err := s.db.read(ctx, func(ctx context.Context) error {
			return s.db.pool.QueryRow(ctx, `SELECT claim($1, $2, $3)`, c.Session, s.process.holder,
				c.Item).Scan(&number)
		})
		switch {
		case err != nil:
			return err
		case number > 0:
			s.process.mu.Lock()
			mine.number = number
			s.process.mu.Unlock()
			return nil
		case number < 0:
			heard.drain(c.News)
			return store.ErrEnded
		case c.Try:
			return store.ErrClaimed
		}
		if heard != nil {
			s.process.follow(ctx, c.Item, heard)
		}
	waiting:
		for {
			select {
			case <-wake:
				break waiting
			case <-again.C:
				break waiting
			case news := <-heard.news():
				c.News(news)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// Wanted implements [store.Shared].
func (s *Store) Wanted(ctx context.Context, key session.Key) (wanted bool, err error) {
	err = s.db.read(ctx, func(ctx context.Context) error {
		return s.db.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM claims WHERE session = $1 AND wanted)`,
			key).Scan(&wanted)
	})
	return wanted, err
}

// Release implements [store.Shared].
func (s *Store) Release(key session.Key) {
	s.process.mu.Lock()
	mine := s.process.claims[key]
	delete(s.process.claims, key)
	last := s.process.untold(key)
	maps.DeleteFunc(s.process.told, func(_ int64, t *transcript) bool { return t.session == key })
	s.process.mu.Unlock()
	if mine == nil || mine.number <= 0 {
		return
	}
	// Nobody here needs to wait: this process can claim the session anew before it is done.
	s.process.ended.Go(func() {
		defer panics.Log(s.db.log, "releasing a conversation")
		for _, text := range last {
			s.db.notify(context.Background(), text)
		}
		s.process.release(key, mine.number)
	})
}

// release gives up a claim. If that fails, keepAlive does it as soon as somebody waits.
func (p *process) release(key session.Key, number int64) {
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	b := &pgx.Batch{}
	// If the database crashes, the claim is still there, and is given up as if this had failed.
	b.Queue(`SET LOCAL synchronous_commit = off`)
	b.Queue(`SELECT release($1, $2)`, key, number)
	if err := p.db.pool.SendBatch(ctx, b).Close(); err != nil {
		p.db.log.Debug("a conversation was not released", "session", key, "error", p.db.explain(err))
	}
}

// fence makes a transaction fail when this process has claimed a session and lost it.
func (p *process) fence(b *pgx.Batch, key session.Key) {
	if number, claimed := p.number(key); claimed {
		b.Queue(`SELECT fence($1, $2)`, key, number)
	}
}

// fenced does the same at once.
func (p *process) fenced(ctx context.Context, tx pgx.Tx, key session.Key) error {
	number, claimed := p.number(key)
	if !claimed {
		return nil
	}
	_, err := tx.Exec(ctx, `SELECT fence($1, $2)`, key, number)
	return err
}

func (p *process) number(key session.Key) (number int64, claimed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.claims[key]
	if c == nil || c.number == 0 {
		return 0, false
	}
	return c.number, true
}

// lost remembers that a write failed because another process has a session.
func (p *process) lost(key session.Key, err error) error {
	if err == store.ErrLost { //nolint:errorlint // update and within return it as it is
		p.mu.Lock()
		defer p.mu.Unlock()
		if c := p.claims[key]; c != nil {
			c.number = lost
		}
	}
	return err
}

// doubt remembers an item that may or may not have been accepted. Its sender was told that
// it was not, so nobody here works on it.
func (p *process) doubt(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.doubts) < maxDoubts {
		p.doubts[key] = time.Now()
	}
}

// maxDoubts bounds the items that are remembered. Others wait until this process ends, or
// their senders repeat them.
const maxDoubts = 10_000
