package mattermost

import (
	"testing"

	"github.com/etui-run/etui/channel/markup/markuptest"
)

func TestGolden(t *testing.T) { markuptest.Golden(t, dialect().Render) }
