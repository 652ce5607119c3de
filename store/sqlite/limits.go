package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Limits bound a record. What is beyond them is dropped when something is added, and
// not listed.
type Limits struct {
	// Most is how many are kept, the newest ones; 0 means a number that depends on the
	// record.
	Most int
	// Age is how long they are kept; 0 means 90 days.
	Age time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

func (l Limits) withDefaults(most int) Limits {
	if l.Now == nil {
		l.Now = time.Now
	}
	return Limits{cmp.Or(l.Most, most), cmp.Or(l.Age, 90*24*time.Hour), l.Now}
}

// oldest is the time of the oldest entry that may be kept.
func (l Limits) oldest() int64 { return l.Now().Add(-l.Age).UnixMilli() }

// read returns the rows of a query, each of one JSON text. What names one in errors.
func read[T any](ctx context.Context, s *Store, what, query string, args ...any) ([]T, error) {
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		var raw sql.RawBytes
		var value T
		if err := rows.Scan(&raw); err != nil {
			return nil, s.explain(err)
		}
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, s.explain(fmt.Errorf("%s: %w", what, err))
		}
		list = append(list, value)
	}
	return list, s.explain(rows.Err())
}
