package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/etui-run/etui/internal/printable"
)

// Output is what a program has written, bounded.
type Output struct {
	// Head and Tail are the first and the last of it. Nothing is missing between
	// them when Dropped is 0.
	Head, Tail []byte
	// Dropped is how many bytes were left out.
	Dropped int64
}

// Bytes returns all that was kept.
func (o Output) Bytes() []byte { return slices.Concat(o.Head, o.Tail) }

// String returns all that was kept, and says where something was left out.
func (o Output) String() string {
	if o.Dropped == 0 {
		return string(o.Bytes())
	}
	return fmt.Sprintf("%s\n... (%d bytes left out) ...\n%s", o.Head, o.Dropped, o.Tail)
}

// Keeper is a writer that keeps the first and the last of what is written. It is
// safe for concurrent use.
type Keeper struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte // up to twice as long as it may be, so that it is seldom moved
	maxHead int
	maxTail int
	dropped int64
}

// NewKeeper returns a writer that keeps so many bytes of the beginning and of the
// end.
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

// Output returns what has been kept so far.
func (k *Keeper) Output() Output {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trim()
	return Output{slices.Clone(k.head), slices.Clone(k.tail), k.dropped}
}

const (
	excerptLines = 8
	excerptBytes = 2000
)

// Excerpt returns what a program has written, fit to be shown to a model: the
// first line and the last 7, 2,000 bytes at most, as [printable.Text] leaves it, and
// without what hide takes out. A nil hide takes out nothing.
func Excerpt(output []byte, hide func(string) string) string {
	text := strings.ToValidUTF8(string(output), "\uFFFD")
	if hide != nil {
		text = hide(text) // before a cut can leave half of a secret
	}
	lines := strings.Split(strings.TrimSpace(printable.Text(text)), "\n")
	if len(lines) > excerptLines {
		lines = slices.Concat(lines[:1], []string{"..."}, lines[len(lines)-excerptLines+1:])
	}
	text = strings.Join(lines, "\n")
	if len(text) > excerptBytes {
		text = "..." + strings.ToValidUTF8(text[len(text)-excerptBytes:], "")
	}
	return text
}
