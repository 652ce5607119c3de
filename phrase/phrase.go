// Package phrase is the catalogue of etui's own words to people: commands, refusals, questions and
// errors that somebody reads in a chat, and all that the command line says. The English text is the key of a
// phrase, as in the catalogues of golang.org/x/text, and the files chinese_*.go have the others. What models
// and programs read, logs among it, is in English and has no place here.
package phrase

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
)

// The languages of the catalogue. Anything else, such as an empty text, means English.
const (
	English = "en"
	Chinese = "zh"
)

var phrases = sync.OnceValue(func() catalog.Catalog {
	b := catalog.NewBuilder(catalog.Fallback(language.English))
	for english, text := range words() {
		if strings.Contains(text, "${") { // a variable of x/text; Word says it
			continue
		}
		if err := b.SetString(language.Chinese, english, text); err != nil {
			panic(fmt.Errorf("phrase %q: %w", english, err)) // a programmer's mistake
		}
	}
	return b
})

var words = sync.OnceValue(chinese)

// Languages lists the languages of the catalogue.
func Languages() []string { return []string{English, Chinese} }

// Match returns the language of the catalogue that suits somebody who prefers others in this order: as
// tags (zh-CN), as an HTTP header (zh-CN,zh;q=0.9) or as a locale (zh_CN.UTF-8). It is empty if
// nothing is said, or none suits.
func Match(preferred ...string) string {
	for _, p := range preferred {
		if !strings.Contains(p, ";") { // a locale
			p, _, _ = strings.Cut(strings.ReplaceAll(p, "_", "-"), ".")
		}
		tags, _, err := language.ParseAcceptLanguage(p)
		if err != nil || len(tags) == 0 || len(p) > maxPreferred {
			continue
		}
		_, i, sure := language.NewMatcher([]language.Tag{language.English, language.Chinese}).Match(tags...)
		if sure != language.No {
			return Languages()[i]
		}
	}
	return ""
}

// maxPreferred bounds what a client says of its languages, in bytes.
const maxPreferred = 1000

// Locale returns the language of a terminal, found as gettext does: LC_ALL, LC_MESSAGES or LANG names it,
// the first that is set, and the languages in LANGUAGE come before that one, unless it is C.
func Locale(getenv func(string) string) string {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG"), "C")
	if locale == "C" || locale == "POSIX" {
		return ""
	}
	return Match(append(strings.Split(getenv("LANGUAGE"), ":"), locale)...)
}

// In returns a phrase in a language, with arguments as for [fmt.Sprintf]. Errors and hints
// among them are said in the language, too. White space around the phrase is no part of it.
func In(lang, english string, args ...any) string {
	switch {
	case len(args) == 0:
		return Word(lang, english)
	case lang != Chinese: // x/text would write 12,345, also where a program reads it
		return fmt.Sprintf(english, args...)
	}
	said := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case interface{ In(lang string) string }:
			said[i] = arg.In(lang)
		case error:
			said[i] = Say(lang, arg)
		default:
			said[i] = arg
		}
	}
	before, bare, after := bared(english)
	return spaced(before, message.NewPrinter(language.Chinese, message.Catalog(phrases())).Sprintf(bare, said...),
		after)
}

// spaced puts white space around a Chinese text again, but for a blank beside a sign that needs none.
func spaced(before, text, after string) string {
	if first, _ := utf8.DecodeRuneInString(text); before == " " && strings.ContainsRune("（，；", first) {
		before = ""
	}
	if last, _ := utf8.DecodeLastRuneInString(text); after == " " && strings.ContainsRune("。：；）", last) {
		after = ""
	}
	return before + text + after
}

// bared returns a phrase without the white space around it.
func bared(english string) (before, bare, after string) {
	const space = " \n"
	text := strings.TrimLeft(english, space)
	bare = strings.TrimRight(text, space)
	return english[:len(english)-len(text)], bare, text[len(bare):]
}

// Fprintf writes a phrase in a language, as [In] returns it.
func Fprintf(w io.Writer, lang, english string, args ...any) (int, error) {
	return io.WriteString(w, In(lang, english, args...))
}

// Word returns a phrase without arguments in a language. One that the catalogue lacks stays as it is.
func Word(lang, english string) string {
	if lang != Chinese {
		return english
	}
	if text, ok := words()[english]; ok { // also of white space and signs alone
		return text
	}
	before, bare, after := bared(english)
	if text, ok := words()[bare]; ok {
		return spaced(before, text, after)
	}
	return english
}

// Count says a number of things: "1 tool", "2 tools".
func Count(lang string, n int, thing string) string {
	if lang != Chinese {
		return printable.Count(n, thing)
	}
	return In(lang, "%d "+thing+"s", n)
}

// List joins the first names, and says how many more there are.
func List(lang string, names []string, most int) string {
	if lang != Chinese {
		return printable.First(names, most)
	}
	if len(names) <= most {
		return strings.Join(names, "、")
	}
	return In(lang, "%s and %d more", strings.Join(names[:most], "、"), len(names)-most)
}

// Join writes sentences one after the other. Chinese has no blank between them. An empty one is left out.
func Join(lang string, sentences ...string) string {
	between := " "
	if lang == Chinese {
		between = ""
	}
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), between)
}

// Number is a number of things that [Count] says.
type Number struct {
	N  int
	Of string
}

func (n Number) String() string { return n.In(English) }

// In returns the number of things in a language.
func (n Number) In(lang string) string { return Count(lang, n.N, n.Of) }

// Text is a phrase without arguments, as an argument of another one.
type Text string

// In returns the text in a language.
func (t Text) In(lang string) string { return Word(lang, string(t)) }

// Hint is the end of a sentence that proposes a name; an empty one proposes none.
type Hint string

// Near proposes the known name that somebody may have meant.
func Near(written string, known iter.Seq[string]) Hint {
	name, _ := nearest.Name(written, known)
	return Hint(name)
}

func (h Hint) String() string { return h.In(English) }

// In returns the hint in a language.
func (h Hint) In(lang string) string {
	if h == "" {
		return ""
	}
	return In(lang, "; did you mean %q?", string(h))
}

// LocalizedError is an error that people read. Its text as an error is the English one.
type LocalizedError interface {
	error
	In(lang string) string
}

// failure is a Localized error: what [fmt.Errorf] made, and what of.
type failure struct {
	error
	english string
	args    []any
}

func (f *failure) Unwrap() error         { return f.error }
func (f *failure) In(lang string) string { return In(lang, f.english, f.args...) }

// Errorf returns a [LocalizedError]. It takes what [fmt.Errorf] takes, and its format is a phrase of the
// catalogue, with %v in place of %w.
func Errorf(english string, args ...any) error {
	return &failure{fmt.Errorf(english, args...), strings.ReplaceAll(english, "%w", "%v"), args}
}

// Error returns what an error says to people in a language: in other languages than English only what a
// [LocalizedError] in its chain says, and nothing if there is none.
func Error(lang string, err error) string {
	var l LocalizedError
	switch {
	case lang != Chinese:
		return err.Error()
	case errors.As(err, &l):
		return l.In(lang)
	}
	return ""
}

// Say returns the whole text of an error in a language. Its parts that are in English alone stay so.
func Say(lang string, err error) string {
	english := err.Error()
	if lang != Chinese {
		return english
	}
	var parts []error
	switch err := err.(type) { //nolint:errorlint // the parts are looked at one by one
	case LocalizedError:
		return err.In(lang)
	case interface{ Unwrap() error }:
		parts = []error{err.Unwrap()}
	case interface{ Unwrap() []error }:
		parts = err.Unwrap()
	}
	if len(parts) == 0 {
		return Reword(lang, english)
	}
	text := Word(lang, english)
	for _, part := range parts {
		if part != nil {
			text = strings.Replace(text, part.Error(), Say(lang, part), 1)
		}
	}
	return text
}

// Catalogue returns the Chinese text of each English phrase, for tests and tools.
func Catalogue() map[string]string { return words() }
