package platform_test

import (
	"testing"

	"github.com/etui-run/etui/channel/platform"
)

// TestRead: a message that is edited brings the same part of a thread as before.
func TestRead(t *testing.T) {
	r := platform.NewRead(10)
	for _, c := range [][2]string{{"1", ""}, {"1", ""}, {"2", "1"}, {"2", "1"}, {"3", "2"}} {
		if after := r.After("t", c[0]); after != c[1] {
			t.Errorf("%s comes after %q, want %q", c[0], after, c[1])
		}
		r.Note("t", c[0])
	}
}
