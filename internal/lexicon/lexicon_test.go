package lexicon_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/lexicon"
)

func TestLookup(t *testing.T) {
	w, ok := lexicon.Lookup("pictur")
	if !ok || !strings.Contains(" "+w.Same+" ", " imag ") || w.Common == 0 {
		t.Errorf("pictur: %+v, %v", w, ok)
	}
	if w, ok := lexicon.Lookup("kubernetes"); ok {
		t.Errorf("kubernetes: %+v", w)
	}
	make, _ := lexicon.Lookup("make")
	if delete, _ := lexicon.Lookup("delet"); make.Common != 1 || delete.Common >= make.Common {
		t.Errorf("make is as common as %v, delete as %v", make.Common, delete.Common)
	}
}

// The first one is what the first question pays.
func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		lexicon.Lookup("pictur")
	}
}
