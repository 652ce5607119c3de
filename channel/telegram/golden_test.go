package telegram

import (
	"testing"

	"github.com/etui-run/etui/channel/markup/markuptest"
)

func TestGolden(t *testing.T) { markuptest.Golden(t, (&Channel{dialect: dialect()}).html) }
