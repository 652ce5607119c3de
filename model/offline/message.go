package offline

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
)

// maxText limits how much of a message is searched for arguments, in bytes.
const maxText = 16 << 10

// message is a question prepared for the search.
type message struct {
	text  string
	lower string // text in lower case, of the same length
	words []word
	names map[string]bool // words that name a parameter
	used  []bool          // by byte: part of an argument already
	now   time.Time
}

// word is a run of letters, digits and the punctuation inside names and numbers, or a
// run of Chinese.
type word struct {
	start, end int
	text       string // lower case
	wide       bool
}

func read(text string, params []parameter, now time.Time) *message {
	if len(text) > maxText {
		text = text[:maxText]
	}
	text = strings.ToValidUTF8(text, " ")
	m := &message{text: text, lower: lower(text), names: map[string]bool{}, used: make([]bool, len(text)), now: now}
	for _, p := range params {
		for _, name := range p.names() {
			m.names[name] = true
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		j := i + size
		switch {
		case chat.Wide(r):
			j += runOf(text[j:], func(r rune) bool { return chat.Wide(r) && r != '，' && r != '。' })
			m.words = append(m.words, word{i, j, m.lower[i:j], true})
		case inWord(r):
			j += runOf(text[j:], func(r rune) bool { return inWord(r) && !chat.Wide(r) })
			if w := strings.TrimRight(text[i:j], ".-:'"); w != "" {
				m.words = append(m.words, word{i, i + len(w), m.lower[i : i+len(w)], false})
			}
		}
		i = j
	}
	return m
}

// runOf returns the length of the characters of a kind at the beginning of a text.
func runOf(text string, kind func(rune) bool) int {
	return len(text) - len(strings.TrimLeftFunc(text, kind))
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./@#%+:'", r)
}

// lower is strings.ToLower for ASCII: bytes keep their places.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// take marks a part of the text as used and reports whether it was free.
func (m *message) take(start, end int) bool {
	if slices.Contains(m.used[start:end], true) {
		return false
	}
	for i := start; i < end; i++ {
		m.used[i] = true
	}
	return true
}

// match returns the first free match of a pattern's last group.
func (m *message) match(pattern expression) (string, bool) {
	for _, at := range pattern().FindAllStringSubmatchIndex(m.text, 50) {
		start, end := at[len(at)-2], at[len(at)-1]
		if start >= 0 && m.take(start, end) {
			return m.text[start:end], true
		}
	}
	return "", false
}

// names returns the words with which a message may name a parameter.
func (p *parameter) names() []string {
	whole := strings.ToLower(strings.ReplaceAll(p.name, "_", " "))
	names := []string{whole}
	parts := strings.Fields(whole)
	if n := len(parts); n > 1 {
		if last := parts[n-1]; last == "id" || last == "name" || last == "number" || last == "key" {
			names = append(names, strings.Join(parts[:n-1], " "))
		}
	}
	for _, name := range slices.Clone(names) {
		names = append(names, synonyms[name]...)
	}
	return names
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// expression is a regular expression compiled on first use: only this model needs
// them, and compiling all costs time and memory.
type expression func() *regexp.Regexp

func lazily(text string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
