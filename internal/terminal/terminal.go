package terminal

import (
	"io"
	"os"

	"github.com/charmbracelet/x/term"
)

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// CanTalk reports whether a conversation is possible on these streams: both are
// terminals that can move the cursor.
func CanTalk(in io.Reader, out io.Writer) bool {
	return Is(in) && Is(out) && os.Getenv("TERM") != "dumb"
}

// size returns the columns and rows of a terminal; 80 and 24 if they are unknown.
func size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(f.Fd())
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}
