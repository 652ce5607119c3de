//go:build !etui_nogloss

package lexicon_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

func TestGloss(t *testing.T) {
	for word, want := range map[string]string{"天气": "weather", "航班": "flight", "会议": "meet"} {
		stems, ok := lexicon.English(word)
		if !ok || !slices.Contains(strings.Fields(stems), want) {
			t.Errorf("%s means %q, want %s among it", word, stems, want)
		}
	}
	if got := string([]rune{lexicon.Simplify('訂'), lexicon.Simplify('天'), lexicon.Simplify('x')}); got != "订天x" {
		t.Errorf("simplified: %s", got)
	}
}

// TestAllWords: a word is found whatever words are beside it in the file, and nothing else.
func TestAllWords(t *testing.T) {
	file(t, "gloss.txt", func(word, stems string) {
		if got, ok := lexicon.English(word); !ok || got != stems {
			t.Errorf("%s means %q, want %q", word, got, stems)
		}
		if _, ok := lexicon.English(word + "\t"); ok {
			t.Errorf("%q is found", word+"\t")
		}
	})
}
