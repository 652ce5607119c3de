package tool

import (
	"context"

	"github.com/etui-run/etui/chat"
)

// Progress is how far a running call has come.
type Progress struct {
	// Text says what is being done, in a few words.
	Text string `json:"text,omitempty"`
	// Done and Total count steps of any unit; a Total of 0 means unknown.
	Done  float64 `json:"done,omitempty"`
	Total float64 `json:"total,omitempty"`
}

// Host is what the one who runs a call offers to it. Both functions may be nil
// and must be safe for concurrent use.
type Host struct {
	// Facts are what is known about the caller.
	Facts chat.Facts
	// Key is the idempotency key of the call; empty when the host gives none.
	Key string
	// Progress is told how far the call has come.
	Progress func(Progress)
	// Finish takes the outcome of a call whose result was Pending.
	Finish func(chat.Result)
}

type hostKey struct{}

// WithHost returns a context whose calls can use h.
func WithHost(ctx context.Context, h Host) context.Context {
	return context.WithValue(ctx, hostKey{}, h)
}

// Caller returns what is known about who makes a call, for records of it. Whether
// the call may be made was decided before.
func Caller(ctx context.Context) chat.Facts {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h.Facts
}

// Report tells the host how far the call has come. Without a host it does
// nothing. Reports may be dropped when they come faster than they are read.
func Report(ctx context.Context, p Progress) {
	if h, _ := ctx.Value(hostKey{}).(Host); h.Progress != nil {
		h.Progress(p)
	}
}

// Later returns the function with which a tool delivers its outcome after Call
// has returned a Result with Pending set. It reports false when the host takes
// no late outcomes: then the tool must finish before it returns. The call's
// context ends with the turn, so the work goes on under a context of its own
// (context.WithoutCancel). Finish is to be called once.
func Later(ctx context.Context) (finish func(chat.Result), ok bool) {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h.Finish, h.Finish != nil
}
