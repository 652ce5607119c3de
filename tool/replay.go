package tool

import "context"

// Replay says how a call may be repeated after a crash.
type Replay string

// The ways.
const (
	// Safe: the call may run again. Looking something up is safe, and so is
	// setting a value to what it is already.
	Safe Replay = "safe"
	// Keyed: the call may run again with the same idempotency key, by which the tool
	// knows it and does nothing twice: see [IdempotencyKey].
	Keyed Replay = "keyed"
	// Never: the call does not run again. When the process ends while it runs, its
	// outcome is unknown, and the model and the user learn that.
	Never Replay = "never"
)

// Replays lists every way.
func Replays() []Replay { return []Replay{Safe, Keyed, Never} }

// Repeats returns how a call of the tool may be repeated: d.Replay, or when that is
// empty Safe for a tool that only reads and Never for any other.
func (d Definition) Repeats() Replay {
	switch {
	case d.Replay != "":
		return d.Replay
	case d.Risk == Read:
		return Safe
	}
	return Never
}

// IdempotencyKey returns the key of the call that ctx belongs to: the same when the
// call is repeated after a crash, another for every other call. It is empty when the
// host gives none.
func IdempotencyKey(ctx context.Context) string {
	h, _ := ctx.Value(hostKey{}).(Host)
	return h.Key
}
