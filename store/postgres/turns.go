package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/usage"
)

// maxTurns is how many turns of each agent are kept.
const maxTurns = 5000

// TurnLimits bound the record of past turns; what is zero has a default.
type TurnLimits struct {
	Most int              // of each agent; 0 means 5,000
	Age  time.Duration    // 0 means 90 days
	Now  func() time.Time // nil means time.Now
}

// Turns is the record of past turns of all processes that use the database.
type Turns struct {
	store  *Store
	limits TurnLimits
}

var _ usage.Log = (*Turns)(nil)

// Turns returns the record of past turns. It is part of the store, and is used until that is
// closed. Beyond the limits, the oldest turn of whoever has most is dropped.
func (s *Store) Turns(l TurnLimits) *Turns {
	if l.Most == 0 {
		l.Most = maxTurns
	}
	if l.Age == 0 {
		l.Age = kept
	}
	if l.Now == nil {
		l.Now = time.Now
	}
	return &Turns{s, l}
}

func (t *Turns) oldest() int64 { return t.limits.Now().Add(-t.limits.Age).UnixMilli() }

// Add implements [usage.Log].
func (t *Turns) Add(ctx context.Context, turn usage.Turn) error { return t.add(ctx, true, turn) }

// Move adds turns that were kept elsewhere, unless they are there already.
func (t *Turns) Move(ctx context.Context, turns []usage.Turn) error {
	return t.add(ctx, false, turns...)
}

// add adds turns, which are new or may be there already.
func (t *Turns) add(ctx context.Context, fresh bool, turns ...usage.Turn) error {
	return t.store.db.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		agents := map[string]bool{}
		b := &pgx.Batch{}
		b.Queue(`SELECT pg_advisory_xact_lock(x'65747569'::integer, hashtext('turns'))`) // two that drop the same turns would wait for each other
		for _, turn := range turns {
			raw, err := json.Marshal(turn)
			if err != nil {
				return err
			}
			agents[turn.Agent] = true
			b.Queue(`INSERT INTO turns (time, agent, sender, turn) SELECT $1, $2, $3, $4 WHERE $5 OR NOT EXISTS (SELECT 1 FROM turns WHERE time = $1 AND turn = $4)`,
				turn.Time.UnixMilli(), turn.Agent, turn.User, string(raw), fresh)
		}
		b.Queue(`DELETE FROM turns WHERE time < $1`, t.oldest())
		for agent := range agents {
			b.Queue(`DELETE FROM turns WHERE agent = $1 AND (SELECT count(*) FROM turns WHERE agent = $1) > $2 AND id IN (SELECT id FROM
				(SELECT id, row_number() OVER (PARTITION BY sender ORDER BY time DESC, id DESC) AS nth FROM turns WHERE agent = $1) AS ranked
				ORDER BY nth, id DESC OFFSET $2)`, agent, t.limits.Most)
		}
		return tx.SendBatch(ctx, b).Close()
	})
}

// List implements [usage.Log].
func (t *Turns) List(ctx context.Context, f usage.Filter) ([]usage.Turn, error) {
	list, err := collect(ctx, t.store.db, func(row pgx.CollectableRow) (turn usage.Turn, err error) {
		var raw string
		if err := row.Scan(&raw); err != nil {
			return turn, err
		}
		if err := json.Unmarshal([]byte(raw), &turn); err != nil {
			return turn, fmt.Errorf("a turn: %w", err)
		}
		return turn, nil
	}, `SELECT turn FROM turns WHERE time >= $1 AND ($2 = '' OR agent = $2) AND ($3 = '' OR sender = $3) ORDER BY time DESC, id DESC LIMIT nullif($4, 0)`,
		t.oldest(), f.Agent, f.User, f.Limit)
	slices.Reverse(list)
	return list, err
}

// Erase implements [usage.Log].
func (t *Turns) Erase(ctx context.Context, user string, everybody bool) (n int, err error) {
	err = t.store.db.read(ctx, func(ctx context.Context) error {
		result, err := t.store.db.pool.Exec(ctx, `DELETE FROM turns WHERE $1 OR sender = $2`, everybody, user)
		n += int(result.RowsAffected())
		return err
	})
	return n, err
}
