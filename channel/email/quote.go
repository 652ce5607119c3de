package email

import (
	"regexp"
	"slices"
	"strings"
)

// newest returns what a writer has added: the text without a signature and, if answers is
// true or self has written it, without the mail below it that it answers. Quotes between which somebody
// has written stay. A text of which nothing would be left stays as it is.
func newest(text string, answers bool, self string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	kept := lines
	if short := unquoted(kept); answers || introduces(kept[len(short):], self) {
		kept = short
	}
	kept = unsigned(kept)
	short := strings.TrimSpace(strings.Join(kept, "\n"))
	if short == "" {
		return strings.TrimSpace(text)
	}
	return short
}

// introduces reports whether the beginning of a quoted mail names an address.
func introduces(quote []string, address string) bool {
	head := strings.ToLower(strings.Join(quote[:min(len(quote), 6)], "\n"))
	return address != "" && strings.Contains(head, "<"+address+">")
}

// maxSignature is how many lines of a signature are taken for one.
const maxSignature = 12

// unsigned cuts a signature: what follows the last line "-- ", if it is short.
func unsigned(lines []string) []string {
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-1-maxSignature; i-- {
		if lines[i] == "-- " || lines[i] == "--" || lines[i] == `\--` {
			return lines[:i]
		}
	}
	last := len(lines)
	for last > 0 && blank(lines[last-1]) {
		last--
	}
	if last > 0 && device.MatchString(clean(lines[last-1])) {
		return lines[:last-1]
	}
	return lines
}

// device matches the line that a phone adds.
var device = regexp.MustCompile(`(?i)^(sent from|get outlook for|发自我?的?|發自我?的?|von mein|gesendet|envoyé|enviado|inviato|verzonden)` +
	`.{0,30}(iphone|ipad|ios|android|galaxy|huawei|xiaomi|pixel|outlook|手机|手機|华为|小米|mobil).{0,30}$`)

// unquoted cuts the mail that was answered, if it comes last: lines with > after one that
// says who wrote them, or what begins with the head of a mail, or follows an introduction without
// such marks.
func unquoted(lines []string) []string {
	for i := range lines {
		if divided(lines, i) || unmarked(lines, i) {
			return lines[:i]
		}
	}
	if short, ok := trailed(lines); ok {
		return short
	}
	if short, ok := trailed(unsigned(lines)); ok { // a signature follows the quote
		return short
	}
	return lines
}

// trailed cuts the quote that a text ends with, if it does.
func trailed(lines []string) ([]string, bool) {
	end := len(lines)
	for end > 0 && (blank(lines[end-1]) || quotes(lines[end-1])) {
		end--
	}
	if !slices.ContainsFunc(lines[end:], quotes) {
		return nil, false
	}
	// Its introduction has one or two lines: "On Monday, Ann\n<ann@example.org> wrote:".
	if end > 1 && !blank(lines[end-2]) && (end == 2 || blank(lines[end-3])) {
		if introduction.MatchString(clean(lines[end-2] + " " + lines[end-1])) {
			return lines[:end-2], true
		}
	}
	if end > 0 && introduction.MatchString(clean(lines[end-1])) {
		return lines[:end-1], true
	}
	if end > 0 && end < len(lines) { // Apple puts it into the quote
		first := end + slices.IndexFunc(lines[end:], quotes)
		if introduction.MatchString(clean(strings.TrimLeft(lines[first], "> "))) &&
			strings.Contains(lines[first], "@") {
			return lines[:end], true
		}
	}
	if end > 0 && marks(lines[end:]) <= maxCited {
		return lines, true // the person has quoted it
	}
	return lines[:end], true
}

// maxCited is how many lines a quote without an introduction may have that a person has written.
const maxCited = 10

// marks is how many lines are quoted.
func marks(lines []string) (n int) {
	for _, l := range lines {
		if quotes(l) {
			n++
		}
	}
	return n
}

// unmarked reports whether a line introduces all that follows, which has no marks: so do 163.com and
// QQ Mail.
func unmarked(lines []string, i int) bool {
	return i > 0 && blank(lines[i-1]) && strong.MatchString(clean(lines[i])) && marks(lines[i+1:]) == 0
}

// strong matches a line that can introduce nothing but a mail.
var strong = regexp.MustCompile(`(?i)^.{0,300}\d{4}.{0,200}@.{0,200}` +
	`(写道|寫道|wrote|schrieb|écrit|escribió|escreveu|scritto|schreef|skrev|napisał(\(a\))?|пишет|написал(а)?)\s?[:：]$`)

// clean takes the marks of bold and italic text away.
func clean(line string) string { return strings.Trim(line, "*_ \t") }

func blank(line string) bool  { return strings.TrimSpace(line) == "" }
func quotes(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), ">") }

// introduction matches a line that says who wrote what follows: it ends with a colon, and
// has an address, a time or a year in it.
var introduction = regexp.MustCompile(`(?i)^.{0,300}(@|\d{4}|\d:\d\d|写道|寫道|wrote|schrieb|écrit|escribió|scritto).{0,200}[:：]$`)

// divided reports whether a mail that was answered begins at a line: with its head, or with
// a line that says so before its head.
func divided(lines []string, i int) bool {
	line := strings.Trim(strings.ReplaceAll(lines[i], "&nbsp;", " "), "*-_ \t") // QQ Mail writes that
	if blank(lines[i]) || quotes(lines[i]) {
		return false
	}
	at := i
	barred := bar.MatchString(strings.ReplaceAll(lines[i], "&nbsp;", " "))
	if barred || line == "" && len(strings.TrimSpace(lines[i])) >= 3 {
		at++
		for at < len(lines) && blank(lines[at]) {
			at++
		}
	}
	if labelled(lines, at) && (at > i || i > 0 && blank(lines[i-1])) {
		return true
	}
	if barred && at+1 < len(lines) && strings.Contains(lines[at], "@") &&
		slices.ContainsFunc(lines[at+1:min(at+4, len(lines))], clock.MatchString) {
		return true // a table of labels, as 163.com writes it
	}
	// Of the head, the sender comes first, and two more have to follow.
	if at >= len(lines) || !headFrom.MatchString(strings.TrimLeft(lines[at], "*_ \t")) {
		return false
	}
	more := 0
	for _, l := range lines[at+1 : min(at+12, len(lines))] {
		if headMore.MatchString(strings.TrimLeft(l, "*_ \t")) {
			more++
		}
	}
	return more >= 2
}

// labelled reports whether the head of a mail begins at a line, in any language: the sender's
// address behind a label, and three more labels below it, one of them with a time.
func labelled(lines []string, at int) bool {
	if at+3 >= len(lines) || !label.MatchString(lines[at]) || !strings.Contains(lines[at], "@") {
		return false
	}
	timed := false
	for _, l := range lines[at+1 : at+4] {
		if !label.MatchString(l) {
			return false
		}
		timed = timed || clock.MatchString(l)
	}
	return timed
}

var (
	label = regexp.MustCompile(`^[*_ \t]*[\p{L}\p{M}][\p{L}\p{M} ]{0,24}\**\s?[:：]\**\s*\S`)
	clock = regexp.MustCompile(`\d[:.]\d\d|\d{4}`)
)

var (
	// bar matches a line such as "---- Original message ----", in any language.
	bar      = regexp.MustCompile(`^\s*-{2,}\s?[\p{L}\p{M}][\p{L}\p{M}' -]{1,40}?\s?-{2,}\s*$`)
	headFrom = regexp.MustCompile(`(?i)^(from|von|de|da|van|发件人|寄件者|差出人)\**\s?[:：]`)
	headMore = regexp.MustCompile(`(?i)^(sent|date|to|subject|gesendet|datum|an|betreff|envoyé|à|objet|enviado|fecha|para|asunto|inviato|a|oggetto|verzonden|aan|onderwerp|发送时间|日期|收件人|主题|寄件日期|收件者|主旨|送信日時|宛先|件名)\**\s?[:：]`)
)
