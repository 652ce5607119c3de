package sandbox

import (
	"fmt"
	"slices"

	"github.com/etui-run/etui/internal/printable"
)

// Output is what a program wrote, bounded.
type Output struct {
	// Head and Tail are the first and the last bytes. They are the whole output if
	// Dropped is 0.
	Head, Tail []byte
	// Dropped is how many bytes between them are missing.
	Dropped int64
}

func outputOf(k *printable.Keeper) (o Output) {
	o.Head, o.Tail, o.Dropped = k.Parts()
	return o
}

// Bytes returns all bytes that were kept.
func (o Output) Bytes() []byte { return slices.Concat(o.Head, o.Tail) }

// String returns all bytes that were kept, with a note where some are missing.
func (o Output) String() string {
	if o.Dropped == 0 {
		return string(o.Bytes())
	}
	return fmt.Sprintf("%s\n... (%d bytes left out) ...\n%s", o.Head, o.Dropped, o.Tail)
}
