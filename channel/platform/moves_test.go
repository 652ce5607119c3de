package platform_test

import (
	"log/slog"
	"strconv"
	"sync"
	"testing"

	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/store"
)

// TestMoveTwice: a platform tells of a move in the old chat and in the new one. Each of the two, when it is
// remembered, has made the chat known.
func TestMoveTwice(t *testing.T) {
	t.Parallel()
	m := platform.NewMoves("test", slog.New(slog.DiscardHandler), &store.Memory{})
	if err := m.Open(t.Context(), "bot"); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		old, now := strconv.Itoa(i), "new-"+strconv.Itoa(i)
		var both sync.WaitGroup
		begin := make(chan struct{})
		for range 2 {
			both.Go(func() {
				<-begin
				m.Move(t.Context(), old, now)
				if got := m.Former(now); got != old {
					t.Errorf("after the move, %s was %q", now, got)
				}
			})
		}
		close(begin)
		both.Wait()
	}
}
