package doctor

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

// TestProbeIsLive: the attacks of doctor work where there is no sandbox.
func TestProbeIsLive(t *testing.T) {
	s, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		t.Fatal(err)
	}
	err = try(t.Context(), s)
	for _, what := range []string{"read a file outside", "changed a file outside", "made a file outside", "connected to a service", "reached the process", "read the environment"} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("it finds %v, and not that a command %s", err, what)
		}
	}
	err = tryGuard(t.Context(), s, false)
	for _, what := range []string{"replaced the workspace of another agent", "changed etui.yaml", "left settings", "left a repository"} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("it finds %v, and not that a command %s", err, what)
		}
	}
	if err := tryGuard(t.Context(), s, true); err != nil {
		t.Error(err)
	}
}
