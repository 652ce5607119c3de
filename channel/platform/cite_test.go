package platform_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/platform"
)

// TestThread bounds a thread, and keeps how it began and how it ends.
func TestThread(t *testing.T) {
	t.Parallel()
	if got := platform.Thread(nil, "why?"); got != "why?" {
		t.Errorf("without a thread: %q", got)
	}
	said := []platform.Said{{Name: "Bob", Text: "It\nfailed."}, {Text: " "}, {Text: "ok"}}
	if got := platform.Thread(said, "why?"); got != "[The thread before this message]\n> Bob: It\n> failed.\n> somebody: ok\n\nwhy?" {
		t.Errorf("%q", got)
	}
	for range 1000 {
		said = append(said, platform.Said{Name: "Ann", Text: strings.Repeat("x", 500)})
	}
	got := platform.Thread(append(said, platform.Said{Name: "Ann", Text: "the end"}), "why?")
	if len(got) > 13_000 || !strings.Contains(got, "> Bob: It") || !strings.Contains(got, "> […]") || !strings.HasSuffix(got, "> Ann: the end\n\nwhy?") {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
}
