package platform

import "github.com/etui-run/etui/internal/recent"

// Read remembers how far the agent has read threads, by the IDs of messages.
type Read struct{ kept *recent.Cache[string, mark] }

// mark is a message that brought what came before it, after another one.
type mark struct{ message, after string }

// NewRead returns an empty one that remembers so many threads.
func NewRead(most int) *Read { return &Read{recent.New[string, mark](most)} }

// After returns the message up to which a thread was read before another one came; empty if it was not. A
// message that is edited brings the same as before.
func (r *Read) After(thread, message string) string {
	last, _ := r.kept.Get(thread)
	if last.message == message {
		return last.after
	}
	return last.message
}

// Note says that a thread was read up to a message.
func (r *Read) Note(thread, message string) {
	r.kept.Put(thread, mark{message, r.After(thread, message)})
}
