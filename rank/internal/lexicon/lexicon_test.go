package lexicon_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

func TestLookup(t *testing.T) {
	w, ok := lexicon.Lookup("pictur")
	if !ok {
		t.Error("ok is false")
	}
	if !strings.Contains(" "+w.Same+" ", " imag ") {
		t.Errorf("\" \"+w.Same+\" \": %q does not contain %q", " "+w.Same+" ", " imag ")
	}
	if w.Common == 0 {
		t.Errorf("w.Common = %v, want another than 0", w.Common)
	}
	if w, ok := lexicon.Lookup("kubernetes"); ok {
		t.Errorf("kubernetes: %+v", w)
	}
	make, _ := lexicon.Lookup("make")
	if delete, _ := lexicon.Lookup("delet"); make.Common != 1 || delete.Common >= make.Common {
		t.Errorf("make is as common as %v, delete as %v", make.Common, delete.Common)
	}
}

// The first question also pays for reading the file.
func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		lexicon.Lookup("pictur")
	}
}

// file yields the lines of a data file that are not comments.
func file(t *testing.T, name string, line func(word, rest string)) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(raw), "# ") || raw[len(raw)-1] != '\n' {
		t.Errorf("%s does not begin with its notice, or does not end with its last line", name)
	}
	for text := range strings.Lines(string(raw)) {
		if text[0] == '#' {
			continue
		}
		word, rest, ok := strings.Cut(strings.TrimSuffix(text, "\n"), "\t")
		if !ok {
			t.Fatalf("%s: %q", name, text)
		}
		line(word, rest)
	}
}

// Every line of the data files is readable.
func TestData(t *testing.T) {
	file(t, "synonyms.txt", func(stem, rest string) {
		if rest == "" || rest[0] < '0' || rest[0] > '9' || strings.Count(rest, "|") != 1 {
			t.Errorf("%s: %q", stem, rest)
		}
		w, ok := lexicon.Lookup(stem)
		if !ok {
			t.Error("ok is false")
		}
		if w.Common < 0 {
			t.Errorf("w.Common = %v, want at least 0", w.Common)
		}
		if w.Common > 1 {
			t.Errorf("w.Common = %v, want at most 1", w.Common)
		}
	})
	file(t, "gloss.txt", func(word, stems string) {
		if utf8.RuneCountInString(word) > lexicon.MaxWord || len(strings.Fields(stems)) > 4 && word != "" {
			t.Errorf("%s: %q", word, stems)
		}
	})
}
