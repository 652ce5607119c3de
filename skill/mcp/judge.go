package mcp

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/etui-run/etui/internal/printable"
)

// Finding is a reason to distrust a text of a server.
type Finding struct {
	// Place is the place of the text in the definition, such as "description" or
	// "inputSchema/properties/a/enum/2".
	Place string `json:"place"`
	// Why says what the text seems to attempt.
	Why string `json:"why"`
	// Text is the suspicious part, without invisible characters.
	Text string `json:"text"`
}

// passage is a text of a definition.
type passage struct {
	place string
	kind  kind
	text  string
}

// kind says what a passage is for.
type kind int

const (
	anywhere kind = iota // describes the tool
	argument             // describes or names an argument
	value                // a possible value of an argument
)

// judge finds texts that instruct the assistant instead of describing the tool, or that
// are hidden from people. Each rule is a class of attack and matches if all its signs are
// near one another. A single sign - SSH, a password, "always", another tool - appears in
// honest tools, too. own are the names of the server's tools in lower case: an honest
// tool may say when to call them.
func (rs *rules) judge(passages []passage, own map[string]bool) (found []Finding) {
	names := map[string]bool{} // of arguments
	for _, p := range passages {
		if p.kind == argument {
			names[strings.ToLower(p.text)] = true
		}
	}
	for _, p := range passages {
		if f, ok := concealed(p); ok {
			found = append(found, f)
			continue
		}
		for _, reading := range readings(p) {
			f, ok := rs.suspect(p, reading, false)
			if !ok {
				f, ok = rs.suspect(p, foreign(reading, own, names), true)
			}
			if ok {
				if !slices.Contains(found, f) {
					found = append(found, f)
				}
				break
			}
		}
	}
	return found
}

// readings returns the ways to read a text: as it is, the text that invisible characters
// spell, and texts that are encoded in it.
func readings(p passage) []string {
	all := []string{normal(p.text)}
	if words := normal(wordsOf(p.text)); words != all[0] {
		all = append(all, words)
	}
	if hidden := smuggled(p.text); len(hidden) > 3 {
		all = append(all, normal(hidden))
	}
	if text := codes.ReplaceAllStringFunc(p.text, character); text != p.text {
		all = append(all, normal(text))
	}
	for _, blob := range blobs.FindAllString(p.text, 8) {
		if text := decoded(blob); text != "" {
			all = append(all, normal(text))
		}
	}
	return all
}

// suspect looks for the rules about foreign tools in a marked reading, and for all others
// in an unmarked one.
func (rs *rules) suspect(p passage, reading string, marked bool) (Finding, bool) {
	key := looked{p.kind, marked, reading}
	f, known := rs.looked[key]
	for i := 0; i < len(rs.list) && !known; i++ {
		r := &rs.list[i]
		if p.kind < r.least || r.marked != marked {
			continue
		}
		if from, to, ok := near(reading, r.signs, r.within); ok {
			f, known = Finding{"", r.why, cut(strings.TrimSpace(strings.ReplaceAll(reading[from:to], mark, "")), 160)}, true
		}
	}
	rs.looked[key] = f
	f.Place = p.place
	return f, f.Why != ""
}

// mark precedes the name of a foreign tool in a reading.
const mark = "§"

// foreign marks the names in a reading that are neither the server's tools, or the end of
// one, nor the tool's arguments. A name before a colon or an equals sign documents an
// argument.
func foreign(reading string, own, arguments map[string]bool) string {
	places := identifiers.FindAllStringIndex(reading, -1)
	documented := map[string]bool{}
	for _, at := range places {
		if rest := strings.TrimLeft(reading[at[1]:], "`'\"* "); strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=") {
			documented[reading[at[0]:at[1]]] = true
		}
	}
	var b strings.Builder
	end := 0
	for _, at := range places {
		b.WriteString(reading[end:at[0]])
		if name := reading[at[0]:at[1]]; !arguments[name] && !documented[name] && !endsOne(own, name) {
			b.WriteString(mark)
		}
		end = at[0]
	}
	b.WriteString(reading[end:])
	return b.String()
}

// endsOne reports whether a name is one of some others, or the end of one, as get_page is
// of wiki_get_page.
func endsOne(names map[string]bool, name string) bool {
	if names[name] {
		return true
	}
	for other := range names {
		if strings.HasSuffix(other, "_"+name) {
			return true
		}
	}
	return false
}

// near finds one match of each sign, all within a number of bytes.
func near(text string, signs []*regexp.Regexp, within int) (from, to int, ok bool) {
	matches := make([][][]int, len(signs))
	for i, sign := range signs {
		if matches[i] = sign.FindAllStringIndex(text, 32); matches[i] == nil {
			return 0, 0, false
		}
	}
	for _, first := range matches[0] {
		if from, to, ok = gather(first[0], first[1], matches[1:], within); ok {
			return from, to, true
		}
	}
	return 0, 0, false
}

func gather(from, to int, rest [][][]int, within int) (int, int, bool) {
	if len(rest) == 0 {
		return from, to, true
	}
	for _, m := range rest[0] {
		lo, hi := min(from, m[0]), max(to, m[1])
		if hi-lo > within && hi-lo > to-from && hi-lo > m[1]-m[0] {
			continue
		}
		if lo, hi, ok := gather(lo, hi, rest[1:], within); ok {
			return lo, hi, true
		}
	}
	return 0, 0, false
}

// normal returns a text as the rules expect it: lower case, letters of one script,
// single spaces, no invisible characters.
func normal(s string) string {
	s = norm.NFKC.String(printable.Text(s))
	space := true
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			if space {
				return -1
			}
			space = true
			return ' '
		}
		space = false
		r = unicode.ToLower(r)
		if i := strings.IndexRune(lookalikes, r); i >= 0 && r >= utf8.RuneSelf {
			return rune(latin[utf8.RuneCountInString(lookalikes[:i])])
		}
		return r
	}, s))
}

// lookalikes are quotes and letters of other scripts that look like Latin ones.
const (
	lookalikes = "аеорсухіјѕԁһӏвкмнтгпиαεορτυνικ‘’“”"
	latin      = "aeopcyxijsdhlbkmhtrnuaeoptuvik''\"\""
)

// wordsOf separates the words of an identifier.
func wordsOf(s string) string {
	if strings.ContainsAny(s, " \n") || len(s) > 200 {
		return s
	}
	return camel.ReplaceAllString(strings.NewReplacer("_", " ", "-", " ").Replace(s), "$1 $2")
}

var (
	identifiers = regexp.MustCompile(`\b(?:[a-z0-9]+(?:_+[a-z0-9]+)+|` + otherTool + `)\b`)

	camel = regexp.MustCompile(`([a-z])([A-Z])`)
	blobs = regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}={0,2}`)
	codes = regexp.MustCompile(`(?:\\u|\\x|%|&#x)[0-9a-fA-F]{2,4};?`)
)

// character returns the character of an escape sequence.
func character(code string) string {
	n, err := strconv.ParseUint(strings.TrimRight(strings.TrimLeft(code, `\ux%&#`), ";"), 16, 32)
	if err != nil {
		return code
	}
	return string(rune(n))
}

// decoded returns the text that is encoded in a blob, or nothing.
func decoded(blob string) string {
	raw := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(blob, "="))
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.RawStdEncoding.DecodeString} {
		if text, err := decode(raw); err == nil && readable(text) {
			return string(text)
		}
	}
	return ""
}

func readable(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	for _, r := range string(text) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

// rule is a class of attack: signs that lie within some bytes of one another.
type rule struct {
	why    string
	least  kind // the first kind of passage that it applies to
	marked bool // it is about foreign tools
	within int
	signs  []*regexp.Regexp
}

// rules are all classes, compiled. That takes some milliseconds and a megabyte, and is needed
// only when a server shows new definitions. They are for the definitions of one server, whose
// tools have many texts in common, and for one goroutine.
type rules struct {
	list   []rule
	looked map[looked]Finding // without their places; empty where nothing was found
}

// looked is a reading that was looked at.
type looked struct {
	kind    kind
	marked  bool
	reading string
}

func newRules() *rules {
	made := make([]rule, 0, len(classes)+len(foreignClasses))
	for i, c := range slices.Concat(classes, foreignClasses) {
		r := rule{why: c.why, least: c.least, marked: i >= len(classes), within: c.within}
		for _, sign := range c.signs {
			r.signs = append(r.signs, regexp.MustCompile(sign))
		}
		made = append(made, r)
	}
	return &rules{made, map[looked]Finding{}}
}
