package printable

import "sync"

// Keeper is a writer that keeps the first and the last bytes that are written. It
// is safe for concurrent use.
type Keeper struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte // up to twice maxTail, so that it is seldom moved
	maxHead int
	maxTail int
	dropped int64
}

// NewKeeper returns a writer that keeps head bytes from the beginning and tail bytes
// from the end.
func NewKeeper(head, tail int) *Keeper { return &Keeper{maxHead: head, maxTail: tail} }

// Write never fails.
func (k *Keeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(p)
	first := min(n, k.maxHead-len(k.head))
	k.head, p = append(k.head, p[:first]...), p[first:]
	if len(p) > k.maxTail {
		k.dropped += int64(len(p) - k.maxTail)
		p = p[len(p)-k.maxTail:]
	}
	k.tail = append(k.tail, p...)
	if len(k.tail) > 2*k.maxTail {
		k.trim()
	}
	return n, nil
}

func (k *Keeper) trim() {
	if more := len(k.tail) - k.maxTail; more > 0 {
		k.dropped += int64(more)
		k.tail = append(k.tail[:0], k.tail[more:]...)
	}
}

// Parts returns the bytes from the beginning and from the end, and how many were
// dropped between them.
func (k *Keeper) Parts() (head, tail []byte, dropped int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trim()
	return append([]byte(nil), k.head...), append([]byte(nil), k.tail...), k.dropped
}

// Bytes returns all bytes that were kept.
func (k *Keeper) Bytes() []byte {
	head, tail, _ := k.Parts()
	return append(head, tail...)
}
