package tool

import (
	"context"

	"github.com/etui-run/etui/chat"
)

// Progress is how far a running call has come.
type Progress struct {
	// Text says in a few words what is being done.
	Text string `json:"text,omitempty"`
	// Done and Total count steps of any unit; a Total of 0 means unknown.
	Done  float64 `json:"done,omitempty"`
	Total float64 `json:"total,omitempty"`
}

// Host is what the runner of a call offers to the tool. Its functions may be nil and
// must be safe for concurrent use.
type Host struct {
	// Facts describe the caller.
	Facts chat.Facts
	// Key is the idempotency key of the call; empty when the host gives none.
	Key string
	// Progress receives how far the call has come.
	Progress func(Progress)
	// Asks is set where a [Question] of the call is asked. Reply is the answer to the last one, if
	// that named what goes on with it.
	Asks  bool
	Reply *Reply
	// Finish receives the outcome of a call whose result was Pending.
	Finish func(chat.Result)
}

type hostKey struct{}

// WithHost returns a context whose calls can use h.
func WithHost(ctx context.Context, h Host) context.Context {
	return context.WithValue(ctx, hostKey{}, h)
}

// Caller returns the facts about the caller of a tool, for records. The decision
// whether the call may run has been made before.
func Caller(ctx context.Context) chat.Facts {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h.Facts
}

// Report tells the host how far the call has come. Without a host it does nothing. A
// host may drop reports that come faster than it reads them.
func Report(ctx context.Context, p Progress) {
	if h, _ := ctx.Value(hostKey{}).(Host); h.Progress != nil {
		h.Progress(p)
	}
}

// Asks reports whether a person can be asked a [Question], and returns the answer to the last
// one; nil if there is none.
func Asks(ctx context.Context) (reply *Reply, ok bool) {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h.Reply, h.Asks
}

// Defer returns the function with which a tool delivers its outcome after Call has
// returned a Result with Pending set. It returns false when the host accepts no late
// outcomes; the tool must then finish before it returns. The call's context ends with
// the turn, so the work needs a context of its own (context.WithoutCancel). Call finish
// once.
func Defer(ctx context.Context) (finish func(chat.Result), ok bool) {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h.Finish, h.Finish != nil
}
