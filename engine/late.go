package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
)

// maxWait is how long a turn waits for the outcome of a call that goes on.
// After that the outcome is stored when it comes.
const maxWait = 10 * time.Minute

// late receives the outcomes of calls that go on after their turn. While the
// one who asked waits, they become the next turn's message; after that they are
// stored in the session, for its next turn to see.
type late struct {
	gateway *Engine
	key     session.Key
	wait    bool

	mu      sync.Mutex
	closed  bool
	missing int         // outcomes that are still to come
	arrived chan string // bounded by the calls of a turn; more are stored
}

func (g *Engine) newLate(key session.Key, m Message) *late {
	return &late{gateway: g, key: key, wait: m.Wait, arrived: make(chan string, 64)}
}

// expect counts a call that goes on.
func (l *late) expect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missing++
}

// take receives an outcome.
func (l *late) take(call chat.Call, result chat.Result) {
	text := fmt.Sprintf("[%s, which was still running, has finished]\n%s", call.Name, result.Text)
	if result.Failed {
		text = fmt.Sprintf("[%s, which was still running, has failed]\n%s", call.Name, result.Text)
	}
	if len(text) > maxOutcome {
		text = strings.ToValidUTF8(text[:maxOutcome], "") + "\n(cut)"
	}
	// The tool may say so before its call returns, while the turn has the session.
	if !l.hand(text) {
		l.gateway.running.Add(1)
		go func() {
			defer l.gateway.running.Done()
			l.keep(text)
		}()
	}
}

// maxOutcome is how much of an outcome is kept, in bytes.
const maxOutcome = 32 << 10

// keep stores an outcome as soon as the session is free.
func (l *late) keep(text string) {
	leave, err := l.gateway.queues.enter(context.Background(), l.key, l.gateway.config.MaxWaiting)
	if err != nil {
		l.gateway.config.Log.Error("the outcome of a call could not be stored", "session", l.key, "error", err)
		return
	}
	defer leave()
	l.store(text)
}

// hand gives an outcome to the one who waits for it, if somebody does.
func (l *late) hand(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || !l.wait {
		return false
	}
	select {
	case l.arrived <- text:
		return true
	default:
		return false
	}
}

// store keeps an outcome for the session's next turn. The caller has the
// session to itself.
func (l *late) store(text string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := l.gateway.config.Store.Load(ctx, l.key, 1)
	if err == nil {
		err = l.gateway.config.Store.Append(ctx, l.key, s.State, chat.Message{Role: chat.User, Note: text, Time: l.gateway.config.Now()})
	}
	if err != nil {
		l.gateway.config.Log.Error("the outcome of a call could not be stored", "session", l.key, "error", err)
	}
}

// next waits for an outcome and makes it the next message.
func (l *late) next(ctx context.Context, m Message) (Message, bool) {
	l.mu.Lock()
	missing := l.missing
	l.missing--
	l.mu.Unlock()
	if !l.wait || missing <= 0 {
		return m, false
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case m.note = <-l.arrived:
		m.Text = ""
		return m, true
	case <-ctx.Done():
		return m, false
	}
}

// close stores what arrived and was not taken, and lets what comes later go to
// the store. It is called while the session is still the caller's.
func (l *late) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for {
		select {
		case text := <-l.arrived:
			l.store(text)
		default:
			return
		}
	}
}
