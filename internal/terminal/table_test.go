package terminal_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/terminal"
)

// TestTableLeavesRoom: however wide the columns before it are, the last one can be read, and a line is no
// wider than the terminal.
func TestTableLeavesRoom(t *testing.T) {
	t.Parallel()
	rows := [][]string{
		{"TIME", "TOOL", "USER", "CHANNEL", "DECISION"},
		{"2026-11-29 02:28:35", "refund", "mattermost:4711xxxxxxxxxxxxxxxxxxxxxx", "mattermost", "approved"},
	}
	want := "TIME                TOOL   USER                              CHANNEL    DECISION\n" +
		"2026-11-29 02:28:35 refund mattermost:4711xxxxxxxxxxxxxxxxx… mattermost approved\n"
	if got := terminal.Table(rows, 80); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, width := range []int{1, 20} {
		narrow := terminal.Table(rows, width)
		for line := range strings.Lines(narrow) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > width {
				t.Errorf("a line is wider than %d:\n%s", width, narrow)
			}
		}
	}
}
