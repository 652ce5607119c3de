package irc

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/markup/markuptest"
)

func TestGolden(t *testing.T) {
	markuptest.Golden(t, func(s string) string { return strings.Join(render(s), "\n") })
}
