//go:build !etui_nogloss

package lexicon_test

import (
	"testing"

	"github.com/etui-run/etui/internal/lexicon"
)

func TestGloss(t *testing.T) {
	if stems, ok := lexicon.English("沙发"); !ok || stems != "sofa" {
		t.Errorf("%q, %v", stems, ok)
	}
	if s := string([]rune{lexicon.Simplified('護'), lexicon.Simplified('照'), lexicon.Simplified('x')}); s != "护照x" {
		t.Error(s)
	}
}
