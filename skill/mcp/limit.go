package mcp

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// longestCall bounds a call, however often its server says that it goes on.
const longestCall = 10 * time.Minute

// limit is the time limit of a call. It counts from the last progress.
type limit struct {
	token string
	tool.Progress
	dialog      *dialog // nil if nobody can be asked
	each        time.Duration
	timer, most *time.Timer
	tell        func(tool.Progress)
	caller      atomic.Pointer[context.Context] // of the call now; nil while it is put aside
}

// limitKey is the key of a call's limit in its context, which a version of the protocol hands on to
// requests that a call causes.
type limitKey struct{}

// limits are the time limits of running calls, by the token of their progress. The zero value
// is ready.
type limits struct {
	mu      sync.Mutex
	last    int
	byToken map[string]*limit
	left    time.Time // when a call was last left, which its server may go on with
}

// begin returns a context that ends when nothing was heard of a call for a time. The caller
// calls done.
func (l *limits) begin(ctx context.Context, each time.Duration) (_ context.Context, own *limit, done func()) {
	caller := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	own = &limit{each: each, tell: func(p tool.Progress) { tool.Report(caller, p) }}
	own.caller.Store(&caller)
	if own.dialog, _ = ctx.Value(dialogKey{}).(*dialog); own.dialog != nil {
		own.dialog.own = own
	}
	own.most = time.AfterFunc(longestCall, func() {
		const late = "%w: it did not end within %v, the longest time of a call"
		cancel(fmt.Errorf(late, skill.ErrProviderTimeout, longestCall))
	})
	own.timer = time.AfterFunc(each, func() {
		cancel(fmt.Errorf("%w: it did not answer within %v", skill.ErrProviderTimeout, each))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byToken == nil {
		l.byToken = map[string]*limit{}
	}
	l.last++
	own.token = strconv.Itoa(l.last)
	l.byToken[own.token] = own
	ctx = context.WithValue(ctx, limitKey{}, own)
	return ctx, own, func() {
		own.most.Stop()
		own.timer.Stop()
		l.mu.Lock()
		defer l.mu.Unlock()
		if ctx.Err() != nil {
			l.left = time.Now()
		}
		cancel(nil)
		delete(l.byToken, own.token)
	}
}

// extend begins the limit of a call that still runs anew.
func (own *limit) extend() {
	if own.timer.Stop() {
		own.timer.Reset(own.each)
	}
}

// pause stops the limits of a call while a person is asked, and what the host is told: it has
// put the call aside. The caller calls the function that begins them anew.
func (l *limits) pause(own *limit) (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own.timer.Stop()
	own.most.Stop()
	own.tell = func(tool.Progress) {}
	own.caller.Store(nil)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.byToken[own.token] == own {
			own.timer.Reset(own.each)
			own.most.Reset(longestCall)
		}
	}
}

// hold stops the time limit of a call while its server waits for etui. The caller calls the function
// that begins it anew.
func (l *limits) hold(own *limit) (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own.timer.Stop()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.byToken[own.token] == own && own.caller.Load() != nil {
			own.timer.Reset(own.each)
		}
	}
}

// only returns the only call that the server can mean; nil if it may be another.
func (l *limits) only() *limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.byToken) == 1 && (l.left.IsZero() || time.Since(l.left) > askTime) {
		for _, own := range l.byToken {
			return own
		}
	}
	return nil
}

// progress extends the limit of a call. A server that does not give the token back means the
// only call there is.
func (l *limits) progress(p *sdk.ProgressNotificationParams) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.byToken[fmt.Sprint(p.ProgressToken)]
	if own == nil && len(l.byToken) == 1 {
		for _, own = range l.byToken {
			continue
		}
	}
	if own != nil {
		own.extend()
		own.tell(tool.Progress{Text: printable.Line(p.Message, 200), Done: p.Progress, Total: p.Total})
	}
}
