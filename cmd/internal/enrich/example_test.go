package enrich_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/enrich"
)

// TestAddExample: an example is shown before it is written, and is a person's from then on.
func TestAddExample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "enriched.jsonl")
	f := enrich.Open(path)
	if _, after, err := f.AddExample("mail", "write  to Ann", false); err != nil || !slices.Equal(after.Examples, []string{"write to Ann"}) {
		t.Fatalf("%+v, %v", after, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("what is only shown was written")
	}
	for range 2 { // the second time changes nothing
		if _, after, err := f.AddExample("mail", "write to Ann", true); err != nil || len(after.Examples) != 1 || !after.Edited() {
			t.Errorf("%+v, %v", after, err)
		}
	}
	for _, wrong := range []string{"", " ", strings.Repeat("x", 400), "a\x1b[2Jb"} {
		if _, _, err := f.AddExample("mail", wrong, true); err == nil {
			t.Errorf("%q was added", wrong)
		}
	}
	if lines, err := f.Read(); err != nil || len(lines["mail"].Examples) != 1 {
		t.Errorf("%+v, %v", lines, err)
	}
}
