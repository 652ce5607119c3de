package sqlite

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/store/internal/trail"
)

// writers share commits: while one transaction reaches the disk, the writers that come
// meanwhile gather, and the next transaction takes all of them, in the order in which
// they came. Each is undone by itself if it fails.
type writers struct {
	mu      sync.Mutex
	waiting []*write
	busy    chan struct{} // has room for the one whose caller writes for all
}

// write is a part of a transaction.
type write struct {
	ctx  context.Context //nolint:containedctx // of its caller, who waits for it
	do   func(trail.Tx) error
	done chan struct{} // closed when err says what became of it
	err  error

	panicked *panics.Error // by do, which may run in the goroutine of another caller
}

// run does the write. A panic undoes it, and is its own caller's.
func (w *write) run(tx trail.Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.panicked = &panics.Error{Value: p, Stack: debug.Stack()}
			err = w.panicked
		}
	}()
	return w.do(tx)
}

// end returns what became of the write.
func (w *write) end() error {
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w.err
}

// maxTogether is how many writes one transaction takes. The rest waits for the next one.
const maxTogether = 64

// update runs f in a transaction: its changes are undone when f fails, and stored when update
// returns nil. It may run f twice, after all that f did was undone.
func (s *Store) update(ctx context.Context, f func(trail.Tx) error) error {
	w := &write{ctx: ctx, do: f, done: make(chan struct{})}
	s.writers.mu.Lock()
	s.writers.waiting = append(s.writers.waiting, w)
	s.writers.mu.Unlock()
	select {
	case <-w.done:
		return w.end()
	case s.writers.busy <- struct{}{}:
		defer func() { <-s.writers.busy }()
	case <-ctx.Done():
		if s.writers.withdraw(w) {
			return ctx.Err()
		}
		<-w.done // it is being written: at most as long as a locked file is waited for
		return w.end()
	}
	for {
		select {
		case <-w.done:
			return w.end()
		default:
			s.together(s.writers.next())
		}
	}
}

// withdraw takes back a write that waits, and reports whether it did.
func (q *writers) withdraw(w *write) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting, w)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	return at >= 0
}

// next takes the writes of the next transaction.
func (q *writers) next() []*write {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxTogether)
	batch := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch
}

// errUndone says that SQLite has undone a whole transaction because one of its writes
// failed.
var errUndone = errors.New("the transaction was undone")

// together runs writes in one transaction. If one of them makes SQLite undo it, each runs
// in a transaction of its own.
func (s *Store) together(batch []*write) {
	batch = slices.DeleteFunc(batch, func(w *write) bool {
		if w.err = w.ctx.Err(); w.err != nil {
			close(w.done)
		}
		return w.err != nil
	})
	ctx := context.Background() // none of them may undo the others
	if len(batch) == 1 {
		ctx = batch[0].ctx
	}
	failed := make([]error, len(batch))
	err := within(ctx, s.write, lock, func(tx trail.Tx) error {
		if len(batch) == 1 {
			return batch[0].run(tx)
		}
		for i, w := range batch {
			if failed[i] = apart(tx, w); errors.Is(failed[i], errUndone) {
				return failed[i]
			}
		}
		return nil
	})
	for i, w := range batch {
		if errors.Is(err, errUndone) {
			w.err = within(w.ctx, s.write, lock, w.run)
		} else {
			w.err = err
			if err == nil {
				w.err = failed[i]
			}
		}
		close(w.done)
	}
}

// apart runs a write so that it alone is undone if it fails.
func apart(tx trail.Tx, w *write) error {
	ctx := context.Background()
	if _, err := tx.ExecContext(ctx, "SAVEPOINT one"); err != nil {
		return errors.Join(errUndone, err)
	}
	failed := w.run(tx)
	if failed != nil {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO one"); err != nil {
			return errors.Join(errUndone, failed, err)
		}
	}
	if _, err := tx.ExecContext(ctx, "RELEASE one"); err != nil {
		return errors.Join(errUndone, failed, err)
	}
	return failed
}
