package terminal

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/markup/markuptest"
)

func TestGolden(t *testing.T) {
	markuptest.Golden(t, func(s string) string {
		var b strings.Builder
		m := NewMarkdown(&b, 60, false)
		if _, err := m.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
}
