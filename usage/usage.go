// Package usage is the record of past turns, if the operator wants one: the cleaned
// question and the tools that answered it, without arguments, results and replies.
// Package selection derives votes from it.
package usage

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Turn is the record of one turn.
type Turn struct {
	Time  time.Time `json:"time"`
	Agent string    `json:"agent"`
	// User is the sender that the message names, if any.
	User string `json:"user,omitempty"`
	// Channel is where it came from. Session tells conversations apart: a hash of the
	// session's key, the same in all its turns. It is empty for conversations that clients
	// keep themselves.
	Channel string `json:"channel,omitempty"`
	Session string `json:"session,omitempty"`
	// Text is the question after [Clean].
	Text string `json:"text"`
	// Tools are those that succeeded, Failed those that did not.
	Tools  []string `json:"tools,omitempty"`
	Failed []string `json:"failed,omitempty"`
	// Versions tells versions of the definitions of Tools apart, by name.
	Versions map[string]string `json:"versions,omitempty"`
	// Searches are the model's searches that led to one of Tools.
	Searches []Search `json:"searches,omitempty"`
	// Corrects is the request that Text corrects; nil for most turns.
	Corrects *Correction `json:"corrects,omitempty"`
}

// Search is what a model searched for, after [Clean], and the tool that it then called.
type Search struct {
	Text string `json:"text"`
	Tool string `json:"tool"`
}

// Correction is an earlier request of the conversation, after [Clean], and the tools that
// answered it by mistake.
type Correction struct {
	Text  string   `json:"text"`
	Tools []string `json:"tools"`
}

// Filter chooses turns; its empty fields match all.
type Filter struct {
	Agent string
	User  string
	// Limit bounds the result to the newest turns; 0 means all.
	Limit int
}

// Log stores turns. It drops the oldest ones itself - the implementation documents its
// bounds - and is safe for concurrent use.
type Log interface {
	Add(ctx context.Context, t Turn) error
	// List returns turns, oldest first.
	List(ctx context.Context, f Filter) ([]Turn, error)
	// Erase deletes all turns of a user, or all turns when everybody is set. It
	// returns how many there were.
	Erase(ctx context.Context, user string, everybody bool) (int, error)
}

// maxText is how many bytes of a question are stored.
const maxText = 500

// values are the parts of a question that say who or what, not what to do. The words
// that introduce a secret stay, the secret goes.
var values = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)((?:\b(?:pass(?:word|phrase|wd|code)?|pwd|pin|secret|token|credentials?|api[ _-]?key)|密码|口令|密钥|令牌)\s*(?:\bis\b|[=:：]|是|为)\s*)\S+`), "$1"},
	{regexp.MustCompile(`(?i)\bbearer\s+\S+`), " "},
	{regexp.MustCompile(`[\p{Latin}\p{Cyrillic}\p{Greek}\p{Nd}._%+'-]+@[\p{Latin}\p{Cyrillic}\p{Greek}\p{Nd}._-]+`),
		" "},
	{regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)[\w./?&=%#~:@!$*+,;()\[\]-]+`), " "},
	{regexp.MustCompile(`[A-Za-z0-9_+/=.-]{12,}`), ""}, // only those with a digit, see Clean
	{regexp.MustCompile(`\+?\p{Nd}[\p{Nd} .,()/:-]+\p{Nd}|\p{Nd}{2,}`), " "},
}

// Clean removes from a question anything that looks like a mail or web address, a
// number, a key or a password, and cuts it to 500 bytes. It does not recognize names of
// people.
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
