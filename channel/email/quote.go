package email

import (
	"regexp"
	"slices"
	"strings"
)

// newest returns what a writer has added: the text without a signature and, if answers is
// true, without the mail below it that it answers. Quotes between which somebody has written
// stay. A text of which nothing would be left stays as it is.
func newest(text string, answers bool) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	kept := lines
	if answers {
		kept = unquoted(kept)
	}
	kept = unsigned(kept)
	short := strings.TrimSpace(strings.Join(kept, "\n"))
	if short == "" {
		return strings.TrimSpace(text)
	}
	return short
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
	return lines
}

// unquoted cuts the mail that was answered, if it comes last: lines with > after one that
// says who wrote them, or what begins with the head of a mail.
func unquoted(lines []string) []string {
	for i := range lines {
		if divided(lines, i) {
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
	// Who wrote it stands on one or two lines: "On Monday, Ann\n<ann@example.org> wrote:".
	if end > 1 && introduces.MatchString(lines[end-2]) && introduction.MatchString(clean(lines[end-2]+" "+lines[end-1])) {
		return lines[:end-2], true
	}
	if end > 0 && introduction.MatchString(clean(lines[end-1])) {
		return lines[:end-1], true
	}
	return lines[:end], true
}

// clean takes the marks of bold and italic text away.
func clean(line string) string { return strings.Trim(line, "*_ \t") }

func blank(line string) bool  { return strings.TrimSpace(line) == "" }
func quotes(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), ">") }

// introduction matches a line that says who wrote what follows: it ends with a colon, and
// has an address, a time or a year in it.
var introduction = regexp.MustCompile(`(?i)^.{0,300}(@|\d{4}|\d:\d\d|写道|寫道|wrote|schrieb|écrit|escribió|scritto).{0,200}[:：]$`)

// introduces matches the first of two such lines.
var introduces = regexp.MustCompile(`^[*_ ]*(On|Am|Le|El|Il|Em|Op|Den|在|于) ?`)

// divided reports whether a mail that was answered begins at a line: with its head, or with
// a line that says so before its head.
func divided(lines []string, i int) bool {
	line := strings.Trim(lines[i], "*-_ \t")
	if blank(lines[i]) || quotes(lines[i]) {
		return false
	}
	at := i
	if originalMessage.MatchString(line) && strings.HasPrefix(strings.TrimSpace(lines[i]), "--") || line == "" && len(strings.TrimSpace(lines[i])) >= 3 {
		at++
		for at < len(lines) && blank(lines[at]) {
			at++
		}
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

var (
	originalMessage = regexp.MustCompile(`(?i)^(original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale|原始邮件|原始郵件|元のメッセージ)$`)
	headFrom        = regexp.MustCompile(`(?i)^(from|von|de|da|van|发件人|寄件者|差出人)\**\s?[:：]`)
	headMore        = regexp.MustCompile(`(?i)^(sent|date|to|subject|gesendet|datum|an|betreff|envoyé|à|objet|enviado|fecha|para|asunto|inviato|a|oggetto|verzonden|aan|onderwerp|发送时间|日期|收件人|主题|寄件日期|收件者|主旨|送信日時|宛先|件名)\**\s?[:：]`)
)
