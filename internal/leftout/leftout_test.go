package leftout_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/leftout"
)

// A test whose program is missing is skipped, and says so; where all tests are to run, it fails.
func TestWithout(t *testing.T) {
	t.Setenv("TEST_ALL", "")
	t.Run("go test", func(t *testing.T) {
		t.Cleanup(func() {
			if !t.Skipped() {
				t.Error("the test is not left out")
			}
		})
		leftout.Without(t, "zork")
	})
	if line := leftout.Line("zork"); !strings.HasPrefix(line, "left out: zork is not installed") {
		t.Errorf("it says %q", line)
	}
	t.Setenv("TEST_ALL", "1")
	if err := leftout.Refused("zork"); err == nil || !strings.Contains(err.Error(), "zork is not installed") {
		t.Errorf("where all tests are to run: %v", err)
	}
}
