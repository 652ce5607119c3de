package phrase

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// made is a phrase with arguments, and how to find these in a text that it made.
type made struct {
	english string
	words   string // the longest piece that is no argument
	pattern *regexp.Regexp
	verbs   []string
	keys    bool // its single words are keys of a configuration
}

var argument = regexp.MustCompile(`%(?:\[\d+\])?[-+ 0-9.]*([a-zA-Z])`)

// place is that of a mistake in a file, and separator ends a part of a text that one phrase makes.
var (
	place     = regexp.MustCompile(`^\S+:\d+:\d+: `)
	separator = regexp.MustCompile(`[;:] `)
)

// fewest is how many letters a phrase has around its arguments to be found in a text: with
// fewer, as in "%s by %s", it would be in texts of others.
const fewest = 4

var patterns = sync.OnceValue(func() (list []made) {
	keys := configuration()
	for english := range words() {
		_, ofKeys := keys[english]
		if m := (made{english: english, keys: ofKeys}); strings.Contains(english, "%") && !strings.Contains(english, "%[") &&
			m.read() {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b made) int {
		return cmp.Or(letters(b.english)-letters(a.english), strings.Compare(a.english, b.english))
	})
	return list
})

// read makes the pattern of a phrase. It reports whether there is one.
func (m *made) read() bool {
	pattern, from := "", 0
	piece := func(text string) {
		text = strings.ReplaceAll(text, "%%", "%")
		pattern += regexp.QuoteMeta(text)
		if len(text) > len(m.words) {
			m.words = text
		}
	}
	for _, at := range argument.FindAllStringSubmatchIndex(m.english, -1) {
		piece(m.english[from:at[0]])
		verb := m.english[at[2]:at[3]]
		m.verbs, from = append(m.verbs, verb), at[1]
		pattern += cmp.Or(map[string]string{"d": `(-?\d+)`, "q": `("(?:[^"\\]|\\.)*")`, "f": `(-?[\d.]+)`}[verb],
			`(.*?)`)
	}
	piece(m.english[from:])
	if len(m.verbs) == 0 || letters(m.english) < fewest {
		return false
	}
	m.pattern = regexp.MustCompile(`(?s)^` + pattern + `$`)
	return true
}

// letters counts those of a phrase that are not in its arguments.
func letters(english string) (n int) {
	for _, r := range argument.ReplaceAllString(english, "") {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			n++
		}
	}
	return n
}

// Reword returns in a language a text that came in English, from another program or as the result of a
// tool: it finds the phrases that made the text, and their arguments. What no phrase made stays as it is.
func Reword(lang, english string) string {
	if lang != Chinese || english == "" {
		return english
	}
	if text := Word(lang, english); text != english {
		return text
	}
	if at := place.FindString(english); at != "" {
		return at + Reword(lang, english[len(at):])
	}
	for _, m := range patterns() {
		if !strings.Contains(english, m.words) {
			continue
		}
		if found := m.pattern.FindStringSubmatch(english); found != nil {
			return In(lang, m.english, m.arguments(lang, found[1:])...)
		}
	}
	if before, after, ok := strings.Cut(english, "\n"); ok {
		return Reword(lang, before) + "\n" + Reword(lang, after)
	}
	if at := separator.FindStringIndex(english); at != nil {
		return Reword(lang, english[:at[0]]) + english[at[0]:at[1]] + Reword(lang, english[at[1]:])
	}
	return english
}

// arguments are those of a phrase, found as texts.
func (m made) arguments(lang string, found []string) []any {
	args := make([]any, len(found))
	for i, text := range found {
		switch m.verbs[i] {
		case "d":
			n, _ := strconv.Atoi(text) // digits; one that no int holds is 0
			args[i] = n
		case "f":
			n, _ := strconv.ParseFloat(text, 64) // digits
			args[i] = n
		case "q":
			args[i], _ = strconv.Unquote(text) // as %q wrote it
		default:
			if args[i] = text; !m.keys || strings.Contains(text, " ") {
				args[i] = Reword(lang, text)
			}
		}
	}
	return args
}
