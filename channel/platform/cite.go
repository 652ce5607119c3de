package platform

import (
	"cmp"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
)

// Said is a message that is not the one to answer: one before it in a thread.
type Said struct{ Name, Text string }

const (
	// MaxThread is how many messages of a thread are repeated, and maxSaid how many characters of them
	// in all.
	MaxThread = 100
	maxSaid   = 12_000
)

// Thread returns the messages before a question as material for it, with the question. The first and
// the newest messages stay if there are too many.
func Thread(before []Said, question string) string {
	lines := bounded(before)
	if len(lines) == 0 {
		return question
	}
	return channel.ThreadHead + "\n" + strings.Join(lines, "\n") + "\n\n" + question
}

// Passed returns messages that somebody passes on together.
func Passed(said []Said) string {
	return "[Messages that are passed on]\n" + strings.Join(bounded(said), "\n")
}

func bounded(said []Said) []string {
	var lines []string
	for _, s := range said {
		if text := strings.TrimSpace(s.Text); text != "" {
			lines = append(lines, Quote(cmp.Or(printable.Line(s.Name, 60), "somebody")+": "+text, MaxCited))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	room := maxSaid - len(lines[0])
	from := len(lines)
	for from > 1 && len(lines)-from < MaxThread && room >= len(lines[from-1]) {
		from--
		room -= len(lines[from])
	}
	kept := lines[:1:1]
	if from > 1 {
		kept = append(kept, "> […]")
	}
	return append(kept, lines[from:]...)
}
