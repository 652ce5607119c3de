package app

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
	if err := try(t.Context(), s); err == nil || !strings.Contains(err.Error(), "read a file outside") {
		t.Error(err)
	}
}
