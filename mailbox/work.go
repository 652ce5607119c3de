package mailbox

import (
	"context"
	"log/slog"
	"sync"

	"github.com/etui-run/etui/internal/panics"
)

// Work counts running tasks. Unlike with a sync.WaitGroup, a task may begin while a
// caller waits for the end of all, because the outcome of a call can come at any time.
// The zero value is ready to use.
type Work struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil if no caller waits
}

// Begin is called before a task, and End after it.
func (w *Work) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

// End is called after a task.
func (w *Work) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// Wait returns when no task is running, or when ctx ends.
func (w *Work) Wait(ctx context.Context) {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// Go runs f as a task of its own. A panic is logged with what the task was doing.
func (w *Work) Go(log *slog.Logger, doing string, f func()) {
	w.Begin()
	go func() {
		defer w.End()
		defer panics.Log(log, doing)
		f()
	}()
}
