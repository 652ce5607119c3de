package explanation_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/etui/internal/explanation"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/selection"
)

// TestRenderFits: no line is longer than the terminal, in any script, the columns stand below each other,
// and a narrow terminal shows whole reasons.
func TestRenderFits(t *testing.T) {
	r := catalog.NewRegistry(nil)
	if err := r.Register(demo.Tools("http://127.0.0.1:1", http.DefaultClient)...); err != nil {
		t.Fatal(err)
	}
	s := selection.New(r.Catalog(), selection.Config{})
	for _, query := range []string{"帮我查一下上个月客户的退款和发票", "show me the error logs of the checkout pod", "\x1b[31mred\x1b[0m \x00 logs"} {
		for _, width := range []int{60, 80, 120} {
			sel := s.Select(selection.Request{Query: query, Facts: chat.Facts{Channel: "cli"}})
			x := sel.Explain()
			x.Alternatives = sel.Alternatives(selection.Try{Roles: []string{"管理员"}})
			text := explanation.Text("", x, false, width)
			_, table, _ := strings.Cut(text, "\n\n")
			column := -1
			for line := range strings.Lines(table) {
				if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns of %d: %s", n, width, line)
				}
				if before, _, ok := strings.Cut(line, "rank "); ok {
					if n := ansi.StringWidth(before); column >= 0 && n != column {
						t.Errorf("why stands in column %d, not in %d: %s", n, column, line)
					} else {
						column = n
					}
				}
			}
			if column < 0 {
				t.Errorf("no tool is shown for %q:\n%s", query, text)
			}
			if width == 60 && strings.Contains(text, "…") {
				t.Errorf("a reason is cut:\n%s", text)
			}
		}
	}
}
