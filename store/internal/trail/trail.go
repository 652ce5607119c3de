// Package trail keeps the audit in tables of a database: records, decisions and marks in
// one chain of hashes. SQLite and PostgreSQL run the same statements.
package trail

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/audit"
)

// Tx is a transaction, such as a [sql.Tx].
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Trail is a log in the tables audit, audit_gaps and audit_head.
type Trail struct {
	// Update runs f in a transaction, which may run twice after all was undone. View runs
	// it on the tables as they are at one moment.
	Update, View func(ctx context.Context, f func(Tx) error) error
	Limits       Limits
}

// Limits bound a trail.
type Limits struct {
	// Most is how many calls, and how many decisions of each class, are kept. For a while
	// there may be a twentieth more.
	Most int
	// Age is how long they are kept.
	Age time.Duration
	// Now tells the time.
	Now func() time.Time
}

// oldest is the time of the oldest entry that may be kept.
func (l Limits) oldest() int64 { return l.Now().Add(-l.Age).UnixMilli() }

var _ audit.Log = (*Trail)(nil)

// Add implements [audit.Log].
func (t *Trail) Add(ctx context.Context, records ...audit.Record) error {
	return add(ctx, t, audit.Record.Entry, records)
}

// AddDecisions implements [audit.Log].
func (t *Trail) AddDecisions(ctx context.Context, decisions ...audit.Decision) error {
	return add(ctx, t, audit.Decision.Entry, decisions)
}

func add[T any](ctx context.Context, t *Trail, entryOf func(T) (audit.Entry, error), list []T) error {
	entries := make([]audit.Entry, len(list))
	for i, one := range list {
		var err error
		if entries[i], err = entryOf(one); err != nil {
			return err
		}
		entries[i].Salt = salt()
	}
	return t.Update(ctx, func(tx Tx) error {
		c, err := t.chain(ctx, tx)
		if err != nil || c.has(ctx, entries) {
			return errors.Join(err, c.err)
		}
		before := c.head.Number
		c.add(ctx, entries)
		c.bound(ctx, before)
		return c.end(ctx)
	})
}

// salt returns 16 random bytes.
func salt() []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return b
}

// chain is the chain within a transaction that has it to itself. Its first error stays, and
// what follows does nothing.
type chain struct {
	*Trail
	tx   Tx
	head audit.Head
	err  error
}

// chain returns the chain. Others who add to it wait for the end of the transaction.
func (t *Trail) chain(ctx context.Context, tx Tx) (*chain, error) {
	c := &chain{Trail: t, tx: tx}
	err := tx.QueryRowContext(ctx, `UPDATE audit_head SET number = number RETURNING number, hash`).Scan(&c.head.Number,
		&c.head.Hash)
	return c, err
}

// has reports whether entries were added by an earlier attempt, of which nobody knew how it
// ended. Others may have added some since.
func (c *chain) has(ctx context.Context, entries []audit.Entry) (there bool) {
	if c.err == nil && len(entries) > 0 {
		c.err = c.tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM audit WHERE number > $1 AND salt = $2)`,
			c.head.Number-lately, entries[0].Salt).Scan(&there)
	}
	return there
}

// lately is among how many of the newest entries one is looked for that an attempt may have
// added.
const lately = 1000

// add adds entries at the end.
func (c *chain) add(ctx context.Context, entries []audit.Entry) {
	for part := range slices.Chunk(entries, 50) {
		var rows []string
		var args []any
		for _, e := range part {
			c.head = c.head.Link(&e)
			n := len(args)
			rows = append(rows, fmt.Sprintf("($%d,$%d,$%d,$%d,$%d,$%d,$%d,$%d,$%d)", n+1, n+2, n+3, n+4, n+5, n+6, n+7,
				n+8, n+9))
			args = append(args, e.Number, e.Class, e.Time.UnixMilli(), e.User, e.Name, e.Outcome, e.Salt, e.Text,
				e.Hash)
		}
		c.exec(ctx, `INSERT INTO audit (number, class, time, who, name, outcome, salt, record, hash) VALUES `+
			strings.Join(rows, ","), args...)
	}
}

// end remembers the head.
func (c *chain) end(ctx context.Context) error {
	c.exec(ctx, `UPDATE audit_head SET number = $1, hash = $2`, c.head.Number, c.head.Hash)
	return c.err
}

func (c *chain) exec(ctx context.Context, query string, args ...any) {
	if c.err == nil {
		_, c.err = c.tx.ExecContext(ctx, query, args...)
	}
}

// place is an entry that may be dropped.
type place struct {
	audit.Head

	class, text string
}

func (c *chain) places(ctx context.Context, query string, args ...any) (list []place) {
	if c.err != nil {
		return nil
	}
	list, c.err = Collect(ctx, c.tx, func(rows *sql.Rows) (p place, err error) {
		err = rows.Scan(&p.Number, &p.Hash, &p.class, &p.text)
		return p, err
	}, query, args...)
	return list
}

// bound drops what is too old and, every so many entries, what is too much in a class: the
// oldest of the user who has most there, so that one user does not push out the others.
func (c *chain) bound(ctx context.Context, before int64) {
	c.drop(ctx, audit.DroppedByLimits,
		c.places(ctx, `SELECT number, hash, class, '' FROM audit WHERE time < $1 AND class <> $2`, c.Limits.oldest(),
			audit.ClassMark))
	every := int64(max(1, c.Limits.Most/20))
	if c.err != nil || before/every == c.head.Number/every {
		return
	}
	type share struct {
		class, who string
		n, oldest  int
	}
	all, err := Collect(ctx, c.tx, func(rows *sql.Rows) (s share, err error) {
		err = rows.Scan(&s.class, &s.who, &s.n, &s.oldest)
		return s, err
	}, `SELECT class, who, count(*), min(number) FROM audit WHERE class <> $1 GROUP BY class, who`, audit.ClassMark)
	if c.err = err; err != nil {
		return
	}
	classes := map[string][]share{}
	for _, s := range all {
		classes[s.class] = append(classes[s.class], s)
	}
	for class, shares := range classes {
		total := 0
		for _, s := range shares {
			total += s.n
		}
		for over := total - c.Limits.Most; over > 0; {
			most := &shares[0]
			for i := range shares {
				if s := &shares[i]; s.n > most.n || s.n == most.n && s.oldest < most.oldest {
					most = s
				}
			}
			n := min(most.n, over)
			c.drop(ctx, audit.DroppedByLimits,
				c.places(ctx, `SELECT number, hash, class, '' FROM audit WHERE class = $1 AND who = $2 ORDER BY time, number LIMIT $3`, class, most.who, n))
			if c.err != nil {
				return
			}
			most.n -= n
			over -= n
		}
	}
}

// drop deletes entries, and the mark before, and adds one that says which are missing now.
func (c *chain) drop(ctx context.Context, why string, list []place) {
	dropped := c.remove(ctx, list)
	n := len(dropped)
	if n == 0 {
		return
	}
	var before audit.Mark
	marks := c.places(ctx, `SELECT number, hash, class, record FROM audit WHERE class = $1`, audit.ClassMark)
	for _, p := range marks {
		if err := json.Unmarshal([]byte(p.text), &before); err != nil {
			c.err = fmt.Errorf("record %d: %w", p.Number, err)
		}
	}
	dropped = append(dropped, c.remove(ctx, marks)...)
	slices.SortFunc(dropped, func(a, b audit.Head) int { return cmp.Compare(a.Number, b.Number) })
	old := c.gaps(ctx)
	gaps := old.With(dropped)
	c.replace(ctx, old, gaps)
	m, err := audit.Mark{Time: c.Limits.Now().UTC().Truncate(time.Millisecond), Why: why, Now: n,
		Dropped: before.Dropped + int64(n), Gaps: gaps.Hash()}.Entry()
	if c.err = errors.Join(c.err, err); c.err == nil {
		m.Salt = salt()
		c.add(ctx, []audit.Entry{m})
	}
}

// remove deletes entries, and returns those that were in the chain.
func (c *chain) remove(ctx context.Context, list []place) (chained []audit.Head) {
	for part := range slices.Chunk(list, 500) {
		numbers := make([]string, len(part))
		for i, p := range part {
			numbers[i] = strconv.FormatInt(p.Number, 10)
			if len(p.Hash) > 0 {
				chained = append(chained, p.Head)
			}
		}
		c.exec(ctx, `DELETE FROM audit WHERE number IN (`+strings.Join(numbers, ",")+`)`)
	}
	return chained
}

func (c *chain) gaps(ctx context.Context) (list audit.Gaps) {
	if c.err == nil {
		list, c.err = gaps(ctx, c.tx)
	}
	return list
}

func gaps(ctx context.Context, tx Tx) (audit.Gaps, error) {
	return Collect(ctx, tx, func(rows *sql.Rows) (g audit.Gap, err error) {
		err = rows.Scan(&g.First, &g.Last, &g.Hash)
		return g, err
	}, `SELECT begins, ends, hash FROM audit_gaps ORDER BY begins`)
}

// replace stores what has changed of the gaps.
func (c *chain) replace(ctx context.Context, old, now audit.Gaps) {
	same := map[int64]int64{}
	for _, g := range old {
		same[g.First] = g.Last
	}
	for _, g := range now {
		if last, there := same[g.First]; !there || last != g.Last {
			c.exec(ctx, `INSERT INTO audit_gaps (begins, ends, hash) VALUES ($1, $2, $3) ON CONFLICT (begins) DO UPDATE SET ends = excluded.ends, hash = excluded.hash`, g.First, g.Last, g.Hash)
		}
		delete(same, g.First)
	}
	for first := range same { // it is part of the one before
		c.exec(ctx, `DELETE FROM audit_gaps WHERE begins = $1`, first)
	}
}

// List implements [audit.Log].
func (t *Trail) List(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	return list[audit.Record](ctx, t, "a call", `SELECT record FROM audit WHERE class = 'call' AND time >= $1 AND ($2 = '' OR name = $2) AND ($3 = '' OR who = $3) AND ($4 = '' OR outcome = $4)
		ORDER BY time DESC, number DESC LIMIT $5`, t.Limits.oldest(), f.Skill, f.User, f.Outcome, all(f.Limit))
}

// Decisions implements [audit.Log].
func (t *Trail) Decisions(ctx context.Context, f audit.DecisionFilter) ([]audit.Decision, error) {
	return list[audit.Decision](ctx, t, "a decision", `SELECT record FROM audit WHERE class IN ('allowed', 'destructive', 'denied', 'refused', 'approval') AND time >= $1 AND ($2 = '' OR name = $2) AND ($3 = '' OR who = $3)
		AND (NOT $4 OR class IN ('denied', 'refused')) ORDER BY time DESC, number DESC LIMIT $5`, t.Limits.oldest(), f.Tool, f.User, f.Denied, all(f.Limit))
}

// all makes a limit one for SQL.
func all(limit int) int64 {
	if limit <= 0 {
		return 1 << 62
	}
	return int64(limit)
}

// list returns the rows of a query, each of one JSON text, which errors call what.
func list[T any](ctx context.Context, t *Trail, what, query string, args ...any) (found []T, err error) {
	err = t.View(ctx, func(tx Tx) (err error) {
		found, err = Collect(ctx, tx, JSON[T](what), query, args...)
		return err
	})
	return found, err
}

// Collect returns the rows of a query, each as one reads it.
func Collect[T any](ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, one func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		value, err := one(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, rows.Err()
}

// JSON reads rows of one JSON text, which errors call what.
func JSON[T any](what string) func(*sql.Rows) (T, error) {
	return func(rows *sql.Rows) (value T, err error) {
		var raw sql.RawBytes
		if err := rows.Scan(&raw); err != nil {
			return value, err
		}
		if err := json.Unmarshal(raw, &value); err != nil {
			return value, fmt.Errorf("%s: %w", what, err)
		}
		return value, nil
	}
}

// Erase implements [audit.Log]. The decisions of the user are dropped, and added again
// without them.
func (t *Trail) Erase(ctx context.Context, user string) (records, decisions int, err error) {
	err = t.Update(ctx, func(tx Tx) error {
		records, decisions = 0, 0
		c, err := t.chain(ctx, tx)
		if err != nil {
			return err
		}
		var gone []place
		var again []audit.Entry
		for _, p := range c.places(ctx,
			`SELECT number, hash, class, record FROM audit WHERE who = $1 AND class <> $2 ORDER BY number`, user,
			audit.ClassMark) {
			gone = append(gone, p)
			if p.class == audit.ClassCall {
				records++
				continue
			}
			var d audit.Decision
			if err := json.Unmarshal([]byte(p.text), &d); err != nil {
				return fmt.Errorf("record %d: %w", p.Number, err)
			}
			decisions++
			e, err := d.Anonymous().Entry()
			if err != nil {
				return err
			}
			e.Salt = salt()
			again = append(again, e)
		}
		c.add(ctx, again)
		c.drop(ctx, audit.DroppedByErasure, gone)
		return c.end(ctx)
	})
	return records, decisions, err
}

// Verify implements [audit.Log].
func (t *Trail) Verify(ctx context.Context, kept *audit.Head) (v audit.Verdict, err error) {
	err = t.View(ctx, func(tx Tx) error {
		gaps, err := gaps(ctx, tx)
		if err != nil {
			return err
		}
		var head audit.Head
		if err := tx.QueryRowContext(ctx, `SELECT number, hash FROM audit_head`).Scan(&head.Number,
			&head.Hash); err != nil {
			return err
		}
		c := audit.NewChecker(gaps, kept)
		rows, err := tx.QueryContext(ctx,
			`SELECT number, class, time, who, name, outcome, salt, record, hash FROM audit ORDER BY number`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e audit.Entry
			var at int64
			if err := rows.Scan(&e.Number, &e.Class, &at, &e.User, &e.Name, &e.Outcome, &e.Salt, &e.Text,
				&e.Hash); err != nil {
				return err
			}
			e.Time = time.UnixMilli(at)
			c.Add(e)
		}
		v = c.End(head)
		return rows.Err()
	})
	return v, err
}
