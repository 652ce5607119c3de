package tool

import "context"

// Replay says how a call may be repeated after a crash.
type Replay string

// The ways.
const (
	// Safe: the call may run again. Reading is safe, and so is setting a value to what
	// it is already.
	Safe Replay = "safe"
	// Keyed: the call may run again with the same idempotency key, by which the tool
	// avoids doing its work twice: see [IdempotencyKey].
	Keyed Replay = "keyed"
	// Never: the call does not run again. If the process ends while it runs, its
	// outcome is unknown, and the result says so to the model and the user.
	Never Replay = "never"
)

// Replays lists every way.
func Replays() []Replay { return []Replay{Safe, Keyed, Never} }

// Repeats returns how a call of the tool may be repeated: d.Replay, or if that is empty
// Safe for a tool that only reads and Never for any other.
func (d Definition) Repeats() Replay {
	switch {
	case d.Replay != "":
		return d.Replay
	case d.Risk == Read:
		return Safe
	}
	return Never
}

// IdempotencyKey returns the key of the call that ctx belongs to. A call that is
// repeated after a crash has the same key; every other call has another one. It is
// empty if the host provides none.
func IdempotencyKey(ctx context.Context) string {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h.Key
}
