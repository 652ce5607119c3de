package scan

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
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

// Definition is a tool as a server lists it: its own words, and the decoded schemas.
type Definition struct {
	Name, Title, Description string
	Annotation               string // the title in the annotations
	Input, Output            any
}

// maxDepth is how deep the texts of a schema are read.
const maxDepth = 160

// passages returns all texts of a definition.
func (d *Definition) passages() []passage {
	list := []passage{{"name", anywhere, d.Name}, {"title", anywhere, d.Title},
		{"description", anywhere, d.Description}, {"annotations/title", anywhere, d.Annotation}}
	list = texts(list, "inputSchema", d.Input, argument, 0)
	return texts(list, "outputSchema", d.Output, argument, 0)
}

// texts appends the texts and names in a schema.
func texts(list []passage, place string, v any, k kind, depth int) []passage {
	if depth > maxDepth {
		return list
	}
	switch v := v.(type) {
	case string:
		list = append(list, passage{place, k, v})
	case []any:
		for i, inner := range v {
			list = texts(list, place+"/"+strconv.Itoa(i), inner, k, depth+1)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at, inner := place+"/"+printable.Line(name, 60), k
			switch name {
			case "enum", "const", "default", "examples", "example", "required":
				inner = value
			}
			list = texts(append(list, passage{at, argument, name}), at, v[name], inner, depth+1)
		}
	}
	return list
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

// Judge finds texts that instruct the assistant instead of describing the tool, or that
// are hidden from people. Each rule is a class of attack and matches if all its signs are
// near one another. A single sign - SSH, a password, "always", another tool - appears in
// honest tools, too. own are the names of the server's tools in lower case: an honest
// tool may say when to call them.
func (ds *Definitions) Judge(d Definition, own map[string]bool) (found []Finding) {
	passages := d.passages()
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
			f, ok := ds.suspect(p, reading, false)
			if !ok {
				f, ok = ds.suspect(p, foreign(reading, own, names), true)
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
func (ds *Definitions) suspect(p passage, reading string, marked bool) (Finding, bool) {
	key := readingVerdict{p.kind, marked, reading}
	f, known := ds.looked[key]
	for i := 0; i < len(ds.matchers) && !known; i++ {
		r := &ds.matchers[i]
		if p.kind < r.least || r.marked != marked {
			continue
		}
		if from, to, ok := near(reading, r.signs, r.within); ok {
			f, known = Finding{"", r.why, printable.Line(strings.ReplaceAll(reading[from:to], mark, ""), 160)}, true
		}
	}
	ds.looked[key] = f
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
	places = slices.DeleteFunc(places, func(at []int) bool { return !nameOfTool(reading, at) })
	documented := map[string]bool{}
	for _, at := range places {
		if rest := strings.TrimLeft(reading[at[1]:], "`'\"* "); strings.HasPrefix(rest, ":") ||
			strings.HasPrefix(rest, "=") {
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

// nameOfTool reports whether an identifier may name a tool: not as a part of an address or a
// placeholder, and not if it reads like the name of a value.
func nameOfTool(reading string, at []int) bool {
	before := strings.TrimRight(reading[:at[0]], "`'\"*")
	begin := strings.LastIndexByte(reading[:at[0]], ' ') + 1
	name := reading[at[0]:at[1]]
	switch {
	case strings.Contains(reading[begin:at[0]], "://"), before != strings.TrimRight(before, "<$="):
		return false
	case strings.HasSuffix(strings.TrimRight(reading[:at[0]], "`'\"*, "), "."+name+"\" not"):
		return false // "base.request" not "request": a value is to be written in full
	case !strings.Contains(name, "_"):
		return before == strings.TrimRight(before, "./-") && nouns.MatchString(reading[at[1]:])
	}
	return !values.MatchString(name) || verbs.MatchString(name)
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

	// nouns is what follows a word such as shell if it names a tool: "shell is", not "shell operators".
	nouns = regexp.MustCompile("^[`'\"*)]{0,3}(?:$|[^\\w `'\"*)-]| (?:tools?|functions?|servers?|commands?|calls?|is|are|was|has|have|had|must|should|shall|needs?|runs?|ran|" +
		"returns?|returned|exists?|for|to|and|or|when|if|before|after|with|first|on|then|now|instead|because|as|it|in|at|but|can|will|would|may|be|gets?|starts?|ends?|via|by|directly|any|again)\\b)")
	// values are how names of values end, and verbs how names of tools begin.
	values = regexp.MustCompile(`^(?:needs|is|has|was|not|no|in|on|un[a-z]+)_|_(?:ids?|at|keys?|tokens?|names?|counts?|types?|status|errors?|codes?|found|failed|exceeded|invalid|required|e?mails?|dates?|times?|numbers?|sizes?|limits?|offsets?|index|paths?|dirs?|version|mode|format|user|account)$`)
	verbs  = regexp.MustCompile(`^(?:send|create|read|write|edit|delete|remove|list|post|fetch|transfer|query|run|exec|execute|call|update|upload|download|search|open|move|copy|pay|buy|sell|book|commit|push|publish|submit|make|set|get|add|approve|invite|notify|reply|forward|find|show|load|save|store|check|start|stop|dump|export|import)_`)

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

// smuggled returns the text that tag characters and variation selectors spell: models
// may read them as letters.
func smuggled(s string) string {
	var b []byte
	for _, r := range s {
		switch {
		case r >= 0xE0020 && r <= 0xE007E:
			b = append(b, byte(r-0xE0000))
		case r >= 0xE0100 && r <= 0xE01EF:
			b = append(b, byte(r-0xE0100+16))
		}
	}
	return strings.ToValidUTF8(string(b), " ")
}

// class is a class of attack: signs that lie within some bytes of one another.
type class struct {
	why    string
	least  kind // the first kind of passage that it applies to
	within int
	signs  []string
}

// matcher is a compiled class.
type matcher struct {
	class
	marked bool // it is about foreign tools
	signs  []*regexp.Regexp
}

// Definitions judges the definitions of one server, whose tools have many texts in common. It is
// for one goroutine. To compile the classes takes some milliseconds and a megabyte.
type Definitions struct {
	matchers []matcher
	looked   map[readingVerdict]Finding // without their places; empty where nothing was found
}

// readingVerdict is a reading that was looked at.
type readingVerdict struct {
	kind    kind
	marked  bool
	reading string
}

// NewDefinitions compiles the classes.
func NewDefinitions() *Definitions {
	var made []matcher
	for i, c := range slices.Concat(classes, foreignClasses) {
		m := matcher{class: c, marked: i >= len(classes)}
		for _, sign := range c.signs {
			m.signs = append(m.signs, regexp.MustCompile(`(?i)`+sign))
		}
		made = append(made, m)
	}
	return &Definitions{made, map[readingVerdict]Finding{}}
}
