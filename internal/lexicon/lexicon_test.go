package lexicon_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/etui-run/etui/internal/lexicon"
)

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

// TestData: every line of the data files can be read.
func TestData(t *testing.T) {
	file(t, "synonyms.txt", func(stem, rest string) {
		if rest == "" || rest[0] < '0' || rest[0] > '9' || strings.Count(rest, "|") != 1 {
			t.Errorf("%s: %q", stem, rest)
		}
		if w, ok := lexicon.Lookup(stem); !ok || w.Common < 0 || w.Common > 1 || !lexicon.Known(stem) {
			t.Errorf("%s: %+v, %v", stem, w, ok)
		}
	})
	file(t, "gloss.txt", func(word, stems string) {
		if utf8.RuneCountInString(word) > lexicon.MaxWord || len(strings.Fields(stems)) > 4 && word != "" {
			t.Errorf("%s: %q", word, stems)
		}
	})
}

func TestLookup(t *testing.T) {
	if w, ok := lexicon.Lookup("doctor"); !ok || !strings.Contains(w.Same, "physician") {
		t.Errorf("%+v, %v", w, ok)
	}
	if w, ok := lexicon.Lookup("qqq"); ok || lexicon.Known("qqq") {
		t.Errorf("%+v", w)
	}
}
