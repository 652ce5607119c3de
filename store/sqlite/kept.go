package sqlite

import (
	"context"
	"database/sql"
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
// in memory, and a load reads only what came after them. In the same transaction it
// makes sure that all of them are still there: a number is not used again while the
// store is open, so it always means the same message.

const (
	// maxKept is how many bytes are kept of all sessions together. Beyond that, the
	// sessions that were loaded longest ago are forgotten.
	maxKept = 16 << 20
	// perKept is about how many bytes a message has in memory beside its texts.
	perKept = 400
)

// kept is what is kept of a session: all of its messages with the numbers from first to
// last.
type kept struct {
	numbers  []int64 // of the messages, rising
	messages []chat.Message
	bytes    []int // of the messages, as they are stored

	// end is where this value ends in the arrays of its slices, and taken how far values
	// have been put into them: who moves it on may write there.
	end   int64
	taken *atomic.Int64
}

func newKept() *recent.Cache[session.Key, kept] {
	return recent.NewSized[session.Key](maxKept, func(k kept) int {
		total := perKept * len(k.bytes)
		for _, n := range k.bytes {
			total += n
		}
		return total
	})
}

// newest returns the newest messages of a session, oldest first, at most limit of them;
// 0 means all.
func (s *Store) newest(ctx context.Context, tx trail.Tx, key session.Key, limit int) ([]chat.Message, error) {
	k, ok := s.kept.Get(key)
	if ok {
		var err error
		if ok, err = k.there(ctx, tx, key); err != nil {
			return nil, err
		}
	}
	var all kept
	if ok && limit > 0 {
		more, whole, err := rowsAfter(ctx, tx, key, k.numbers[len(k.numbers)-1], limit)
		if err != nil {
			return nil, err
		}
		if whole { // else messages are missing between them
			all = k.with(more)
		}
	}
	if limit == 0 || len(all.messages) < limit { // what is kept is not enough
		var err error
		if all, _, err = rowsAfter(ctx, tx, key, 0, limit); err != nil {
			return nil, err
		}
	}
	all = all.newest(limit)
	if limit > 0 && len(all.messages) > 0 {
		s.kept.Put(key, all)
	}
	messages := slices.Clone(all.messages)
	// Drop leading results whose calls were truncated.
	for limit > 0 && len(messages) > 0 && messages[0].Role == chat.Tool {
		messages = messages[1:]
	}
	return messages, nil
}

// there reports whether a session has all messages that are kept of it, and none between
// them.
func (k kept) there(ctx context.Context, tx trail.Tx, key session.Key) (bool, error) {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT count(*) FROM messages WHERE session = ? AND id BETWEEN ? AND ?`, key, k.numbers[0], k.numbers[len(k.numbers)-1]).Scan(&n)
	return n == len(k.numbers), err
}

// rowsAfter reads the newest messages of a session after a number, at most limit of
// them and [session.MaxLoad] bytes; 0 means all. Whole means that the bytes left none out.
func rowsAfter(ctx context.Context, tx trail.Tx, key session.Key, number int64, limit int) (k kept, whole bool, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, message FROM messages WHERE session = ? AND id > ? ORDER BY id DESC`+limited, key, number, all(limit))
	if err != nil {
		return kept{}, false, err
	}
	defer rows.Close()
	total := 0
	whole = true
	for rows.Next() {
		var id int64
		var raw sql.RawBytes
		if err := rows.Scan(&id, &raw); err != nil {
			return kept{}, false, err
		}
		if total += len(raw); total > session.MaxLoad && limit > 0 && len(k.numbers) > 0 {
			whole = false
			break
		}
		m, err := row.Decode(raw)
		if err != nil {
			return kept{}, false, fmt.Errorf("a message of session %q: %w", key, err)
		}
		k.numbers, k.messages, k.bytes = append(k.numbers, id), append(k.messages, m), append(k.bytes, len(raw))
	}
	slices.Reverse(k.numbers)
	slices.Reverse(k.messages)
	slices.Reverse(k.bytes)
	return k, whole, rows.Err()
}

// with returns what is kept and what came after it, as a new value. What is kept stays as it
// is for others who have it, and is not copied each time.
func (k kept) with(more kept) kept {
	end := k.end + int64(len(more.numbers))
	if k.taken == nil || !k.taken.CompareAndSwap(k.end, end) {
		k.numbers, k.messages, k.bytes = slices.Clip(k.numbers), slices.Clip(k.messages), slices.Clip(k.bytes)
		k.taken = &atomic.Int64{}
		k.taken.Store(end)
	}
	return kept{append(k.numbers, more.numbers...), append(k.messages, more.messages...), append(k.bytes, more.bytes...), end, k.taken}
}

// newest returns the last limit of the messages, at most [session.MaxLoad] bytes of them;
// 0 means all.
func (k kept) newest(limit int) kept {
	if limit == 0 {
		return k
	}
	from, total := len(k.numbers), 0
	for from > max(0, len(k.numbers)-limit) {
		if total += k.bytes[from-1]; total > session.MaxLoad && from < len(k.numbers) {
			break
		}
		from--
	}
	return kept{k.numbers[from:], k.messages[from:], k.bytes[from:], k.end, k.taken}
}
