package matrix

import (
	"testing"

	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/markup/markuptest"
)

func TestGolden(t *testing.T) {
	markuptest.Golden(t, func(text string) string { return render(markup.HTML(""), text) })
}
