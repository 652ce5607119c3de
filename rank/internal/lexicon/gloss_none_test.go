//go:build etui_nogloss

package lexicon_test

import (
	"testing"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

func TestNoGloss(t *testing.T) {
	if stems, ok := lexicon.English("沙发"); ok || lexicon.Simplify('護') != '護' {
		t.Errorf("%q, %v", stems, ok)
	}
}
