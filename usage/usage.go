// Package usage is what is kept of past turns, when the operator wants it: what
// was asked, cleaned, and which tools answered. No arguments, no results, no
// replies. Package selection makes votes of it.
package usage

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Turn is what is kept of one turn.
type Turn struct {
	Time  time.Time `json:"time"`
	Agent string    `json:"agent"`
	// User is who asked, as the message said; empty when it did not.
	User string `json:"user,omitempty"`
	// Text is the question as [Clean] leaves it.
	Text string `json:"text"`
	// Tools are those that did what they were asked to, Failed those that did not.
	Tools  []string `json:"tools,omitempty"`
	Failed []string `json:"failed,omitempty"`
}

// Filter chooses turns; its empty fields choose all.
type Filter struct {
	Agent string
	User  string
	// Limit is how many turns are wanted, the newest ones; 0 means all.
	Limit int
}

// Log keeps turns. It drops the oldest ones itself, see its implementation for
// its bounds, and is safe for concurrent use.
type Log interface {
	// Add keeps a turn.
	Add(ctx context.Context, t Turn) error
	// List returns turns, oldest first.
	List(ctx context.Context, f Filter) ([]Turn, error)
	// Erase forgets all turns of a user, or all turns there are when everybody is
	// set, for good. It returns how many there were.
	Erase(ctx context.Context, user string, everybody bool) (int, error)
}

// maxText is how much of a question is kept, in bytes.
const maxText = 500

// values are the parts of a question that say who or what, not what to do. The
// words that announce a secret stay, what they announce goes.
var values = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)((?:\b(?:pass(?:word|phrase|wd|code)?|pwd|pin|secret|token|credentials?|api[ _-]?key)|密码|口令|密钥|令牌)\s*(?:\bis\b|[=:：]|是|为)\s*)\S+`), "$1"},
	{regexp.MustCompile(`(?i)\bbearer\s+\S+`), " "},
	{regexp.MustCompile(`[\p{Latin}\p{Cyrillic}\p{Greek}\p{Nd}._%+'-]+@[\p{Latin}\p{Cyrillic}\p{Greek}\p{Nd}._-]+`), " "},
	{regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)[\w./?&=%#~:@!$*+,;()\[\]-]+`), " "},
	{regexp.MustCompile(`[A-Za-z0-9_+/=.-]{12,}`), ""}, // only those with a digit, see Clean
	{regexp.MustCompile(`\+?\p{Nd}[\p{Nd} .,()/:-]+\p{Nd}|\p{Nd}{2,}`), " "},
}

// Clean takes out of a question what looks like mail and web addresses, numbers,
// keys and passwords, and cuts it to 500 bytes. It cannot know names of people.
func Clean(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), 8*maxText)], "")
	for _, v := range values {
		if v.instead != "" {
			text = v.pattern.ReplaceAllString(text, v.instead)
			continue
		}
		text = v.pattern.ReplaceAllStringFunc(text, func(word string) string {
			if strings.ContainsAny(word, "0123456789") {
				return " "
			}
			return word
		})
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxText {
		return text
	}
	at := maxText
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return strings.TrimSpace(text[:at])
}
