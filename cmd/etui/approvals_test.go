package main

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/cmd/etui/internal/report"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
)

// TestApprovalsAreWhole: an operator sees all of the arguments before they decide.
func TestApprovalsAreWhole(t *testing.T) {
	long := `{"command":"` + strings.Repeat("echo  safe; ", 60) + `rm -rf /"}`
	text := report.Approvals("", api.Approvals{Waiting: []approval.Approval{{Await: session.Await{ID: "k3f9ab", Tool: "exec", Arguments: long}}}})
	if !strings.Contains(text, long) {
		t.Errorf("the list leaves out a part of the arguments:\n%s", text)
	}
}
