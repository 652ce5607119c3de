package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/internal/row"
	"github.com/etui-run/etui/store/internal/trail"
)

// Stored messages never change. So the newest messages of recent sessions stay decoded
// in memory, and each step adds its own once they are stored. One query reads the state and
// makes sure that the file has just these messages: a number is not used again while the
// store is open, so it always means the same message.

const (
	// maxKept is how many bytes are kept of all sessions together. Beyond that, the
	// sessions that were loaded longest ago are forgotten.
	maxKept = 16 << 20
	// perKept is about how many bytes a message has in memory beside its texts.
	perKept = 400
)

// cachedMessages is what is kept of a session: all of its messages with the numbers from first to
// last.
type cachedMessages struct {
	numbers  []int64 // of the messages, rising
	messages []chat.Message
	bytes    []int // of the messages, as they are stored

	// end is where this value ends in the arrays of its slices, and taken how far values
	// have been put into them: who moves it on may write there.
	end   int64
	taken *atomic.Int64
}

func newKept() *recent.Cache[session.Key, cachedMessages] {
	return recent.NewSized[session.Key](maxKept, func(k cachedMessages) int {
		total := perKept * len(k.bytes)
		for _, n := range k.bytes {
			total += n
		}
		return total
	})
}

// errNotKept says that a session has to be read.
var errNotKept = errors.New("the session is not kept")

// loadKept loads a session of which all that the limit wants is kept.
func (s *Store) loadKept(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	out := session.Session{Key: key}
	k, ok := s.kept.Get(key)
	if !ok {
		return out, errNotKept
	}
	var state sql.RawBytes
	var there int
	var newest sql.NullInt64
	rows, err := s.read.QueryContext(ctx, `SELECT state, (SELECT count(*) FROM messages WHERE session = ?1 AND id BETWEEN ?2 AND ?3),
		(SELECT max(id) FROM messages WHERE session = ?1) FROM sessions WHERE key = ?1`, key, k.numbers[0], k.last())
	if err != nil {
		return out, err
	}
	defer rows.Close()
	if !rows.Next() {
		return out, cmp.Or(rows.Err(), errNotKept)
	}
	if err = rows.Scan(&state, &there, &newest); err != nil {
		return out, err
	}
	if there != len(k.numbers) || newest.Int64 != k.last() {
		return out, errNotKept
	}
	if out.State, err = row.DecodeState(key, state); err != nil {
		return out, err
	}
	limit = out.Limit(limit)
	if limit == 0 || limit > len(k.messages) {
		return out, errNotKept
	}
	k = k.newest(limit)
	s.kept.Put(key, k)
	out.Messages = whole(k.messages)
	return out, rows.Err()
}

// newest returns the newest messages of a session, oldest first, at most limit of them;
// 0 means all.
func (s *Store) newest(ctx context.Context, tx trail.Tx, key session.Key, limit int) ([]chat.Message, error) {
	k, err := stored(ctx, tx, key, limit)
	if err != nil || limit == 0 {
		return k.messages, err
	}
	if len(k.messages) > 0 {
		s.kept.Put(key, k)
	}
	return whole(k.messages), nil
}

// whole copies messages without leading results whose calls were cut off.
func whole(list []chat.Message) []chat.Message {
	for len(list) > 0 && list[0].Role == chat.Tool {
		list = list[1:]
	}
	return slices.Clone(list)
}

// keep adds the messages of a stored step to those of its session that are kept.
func (s *Store) keep(step *row.Step, first int64) {
	k, ok := s.kept.Get(step.Key)
	if !ok || len(step.Rows) == 0 || k.last() >= first {
		return
	}
	var more cachedMessages
	for i, raw := range step.Rows {
		m, err := row.Decode([]byte(raw)) // as the next start reads it
		if err != nil {
			return // the next load says so
		}
		more.add(first+int64(i), m, len(raw))
	}
	s.kept.Put(step.Key, k.with(more))
}

// last is the number of the newest message.
func (k cachedMessages) last() int64 { return k.numbers[len(k.numbers)-1] }

func (k *cachedMessages) add(number int64, m chat.Message, bytes int) {
	k.numbers, k.messages, k.bytes = append(k.numbers, number), append(k.messages, m), append(k.bytes, bytes)
}

// stored reads the newest messages of a session, at most limit of them and [session.MaxLoad]
// bytes; 0 means all.
func stored(ctx context.Context, tx trail.Tx, key session.Key, limit int) (k cachedMessages, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, message FROM messages WHERE session = ? ORDER BY id DESC`+limited,
		key, all(limit))
	if err != nil {
		return cachedMessages{}, err
	}
	defer rows.Close()
	total := 0
	for rows.Next() {
		var id int64
		var raw sql.RawBytes
		if err := rows.Scan(&id, &raw); err != nil {
			return cachedMessages{}, err
		}
		if total += len(raw); total > session.MaxLoad && limit > 0 && len(k.numbers) > 0 {
			break
		}
		m, err := row.Decode(raw)
		if err != nil {
			return cachedMessages{}, fmt.Errorf("a message of session %q: %w", key, err)
		}
		k.add(id, m, len(raw))
	}
	slices.Reverse(k.numbers)
	slices.Reverse(k.messages)
	slices.Reverse(k.bytes)
	return k, rows.Err()
}

// with returns what is kept and what came after it, as a new value. The old value
// stays as it is for others who have it, and is not copied each time.
func (k cachedMessages) with(more cachedMessages) cachedMessages {
	end := k.end + int64(len(more.numbers))
	if k.taken == nil || !k.taken.CompareAndSwap(k.end, end) {
		k.numbers, k.messages, k.bytes = slices.Clip(k.numbers), slices.Clip(k.messages), slices.Clip(k.bytes)
		k.taken = &atomic.Int64{}
		k.taken.Store(end)
	}
	return cachedMessages{append(k.numbers, more.numbers...), append(k.messages, more.messages...),
		append(k.bytes, more.bytes...), end, k.taken}
}

// newest returns the last limit of the messages, at most [session.MaxLoad] bytes of them.
func (k cachedMessages) newest(limit int) cachedMessages {
	from, total := len(k.numbers), 0
	for from > max(0, len(k.numbers)-limit) {
		if total += k.bytes[from-1]; total > session.MaxLoad && from < len(k.numbers) {
			break
		}
		from--
	}
	return cachedMessages{k.numbers[from:], k.messages[from:], k.bytes[from:], k.end, k.taken}
}
