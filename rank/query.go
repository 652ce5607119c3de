package rank

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank/internal/divide"
)

// Query is a question and what else a ranking takes into account.
type Query struct {
	// Text is the question, in the user's words.
	Text string
	// History is the conversation before it, oldest first. Only the messages of
	// user and assistant are read, the newest first, with the names of the tools that
	// they called.
	History []chat.Message
	// Called returns the name of the tool that a call in the history reached; empty
	// when its name says nothing. Nil takes the name as the model wrote it.
	Called func(chat.Call) string
	// Admitted says by position which definitions may influence the scores of
	// others; nil admits all. The others are scored too, for explanations.
	Admitted []bool
	// Votes add to scores, see [Votes.Cast].
	Votes []Vote
	// Vector is the question's meaning, compared with Vectors. It counts when both
	// are set and have as many numbers.
	Vector  []float32
	Vectors *Vectors
}

// Bounds of what is read of a question. What follows in a pasted log file, say,
// asks for nothing more.
const (
	maxQuery     = 16 << 10 // bytes of the question, and of all earlier messages together
	maxTerms     = 64       // different words that are searched for, the rarest; and as many of earlier messages
	maxSentences = 8
	maxMaterial  = 4 << 10 // bytes of what came with the question
	maxHistory   = 12      // earlier messages of user and assistant
)

// head returns the first n bytes of a text, cut between characters.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

var (
	mailAddress = regexp.MustCompile(`[\w.+-]+@[\w.-]+`)
	webAddress  = regexp.MustCompile(`\w+://[\w./?&=%#~:+-]+`)
)

// withoutAddresses removes mail and web addresses from a question: they are
// values, and their words do not say what the question is about. That there is a
// web address may say it.
func withoutAddresses(query string) string {
	if strings.Contains(query, "@") {
		query = mailAddress.ReplaceAllString(query, " ")
	}
	if strings.Contains(query, "://") {
		query = webAddress.ReplaceAllString(query, " url ")
	}
	return query
}

// Parts is a message, divided by the form and the place of its lines.
type Parts struct {
	// Request is what the message asks for. It is the whole message when nothing else is in it.
	Request string
	// Material is what came with the request, such as a log, a mail or a table; empty when there
	// is none. It says a little about what is asked for.
	Material string
}

// Divide divides a message into what it asks for and the material that came with it. See
// [divide.Message].
func Divide(text string) Parts {
	request, material := divide.Message(text)
	return Parts{request, material}
}
