package wecom

import (
	"testing"

	"github.com/etui-run/etui/channel/markup/markuptest"
)

func TestGolden(t *testing.T) {
	markuptest.Golden(t, func(s string) string {
		out, marked := render(s)
		return map[bool]string{true: "markdown", false: "text"}[marked] + "\n" + out
	})
}
