package lexicon_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// said returns the sayings in a text of narrow words, or of wide characters.
func said(text string) (found []string) {
	add := func(s *lexicon.Saying) { found = append(found, s.Text) }
	if text[0] >= utf8.RuneSelf {
		for i := range text {
			lexicon.WideSayings(text[i:], add)
		}
		return found
	}
	var stems []string
	for word := range strings.FieldsSeq(text) {
		if !lexicon.Stop(word) {
			word = lexicon.Stem(word)
		}
		stems = append(stems, word)
	}
	for i := range stems {
		lexicon.Sayings(stems[i:], add)
	}
	return found
}

func TestSayings(t *testing.T) {
	for text, want := range map[string]string{
		"we ran out of milk":            "run out", // in all forms
		"they are running out":          "run out",
		"please put me through":         "put ~ through",
		"put it all right through":      "put ~ through", // up to three words
		"put it all the way up through": "",
		"put through":                   "put ~ through",
		"through put":                   "",
		"get 20 off":                    "0 off",
		"get twenty off":                "",
		"让小王看一下":                        "让~看",
		"让我们今天去公园里看":                    "", // up to six characters
		"机器挂了":                          "挂了",
	} {
		found := said(text)
		if want == "" && len(found) > 0 || want != "" && !slices.Contains(found, want) {
			t.Errorf("%s: %q, want %q", text, found, want)
		}
	}
	lexicon.Sayings([]string{""}, func(s *lexicon.Saying) { t.Errorf("no word: %q", s.Text) })
}

// Every saying finds itself, has one line, and means at most five words.
func TestSayingsData(t *testing.T) {
	raw, err := os.ReadFile("sayings.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		text, meaning, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if line[0] == '#' {
			continue
		}
		words := strings.Fields(meaning)
		if strings.Contains(line, "-") {
			t.Errorf("%q: a word of several parts is heard as one", line)
		}
		if !ok || len(words) == 0 || len(words) > 5 || seen[text] ||
			strings.HasPrefix(text, "~") || strings.HasSuffix(text, "~") {
			t.Errorf("%q", line)
		}
		for _, w := range words {
			if wide := w[0] >= utf8.RuneSelf; wide && utf8.RuneCountInString(w) < 2 {
				t.Errorf("%q: %s is a single character", line, w)
			}
		}
		seen[text] = true
		if !slices.Contains(said(strings.ReplaceAll(text, "~", "")), text) {
			t.Errorf("%s does not find itself", text)
		}
	}
}
