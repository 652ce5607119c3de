package rank

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
)

// How a message leans on the conversation before it. Fitted on public dialogues and on
// ones made from single questions; held-out dialogues gain as much.
const (
	// recent is the weight of the words of the last exchange; those of a question that the
	// assistant asked count answered. The words of each exchange before count decay times
	// as much, but those that opened the request that is answered count recent at least.
	recent, answered, decay = 0.7, 1.0, 0.6
	// stated scales the words of the assistant when it asks for nothing.
	stated = 0.5
	// leaning is how much an empty message leans on the conversation, as a share of an
	// answer, and alone is how many words of its own let a message lean on nothing.
	leaning, alone = 0.5, 4
	// openFrom is how much a message must lean on the conversation so that its sentences
	// are read together with the request that it answers, and maxOpen is how many messages
	// of the user that request has at most.
	openFrom, maxOpen = 0.3, 3
	// maxAsking is how much of the end of a message is searched for a question, in bytes.
	maxAsking = 400
	// maxCalled is how much is read of the names of the tools that a message called.
	maxCalled = 1 << 10
)

// asking are phrases that ask the user for something.
var asking = []string{
	"?", "？", "please provide", "please tell", "please give", "please specify", "please share", "please let me know",
	"could you provide", "i need your",
	"请提供", "请您提供", "请告诉", "请告知", "请给出", "请输入", "请指定", "请说明", "请补充", "请确认", "请描述",
	"请选择",
}

// closing are phrases that ask for the next request, not for a part of the last one.
var closing = []string{
	"anything else", "something else", "any other", "other question", "need further", "further help", "help you with?",
	"assist you with?", "need anything",
	"还有什么", "还有其他", "其他帮助", "其他需要", "其他问题", "还需要", "别的",
}

// asks reports whether a message of the assistant ends with a question about the request.
func asks(m chat.Message) bool {
	text := lowerASCII(ending(m))
	return holds(text, asking) && !holds(text, closing)
}

// holds reports whether a text has one of the phrases.
func holds(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// ending returns the end of a message of the assistant; empty for others.
func ending(m chat.Message) string {
	if m.Role != chat.Assistant {
		return ""
	}
	text := m.Text[max(0, len(m.Text)-maxAsking):]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// dialogue returns the part of a conversation that is read, newest message first, and how
// much a question of so many words that say something leans on it, from 0 to 1: an answer to the assistant does, and a short
// message does a little.
func dialogue(history []chat.Message, content float32) (read []chat.Message, lean float32) {
	for _, m := range slices.Backward(history) {
		if len(read) == maxHistory {
			break
		}
		if m.Role != chat.Tool && (m.Text != "" || len(m.Calls) > 0) {
			read = append(read, m)
		}
	}
	switch {
	case len(read) == 0:
		return nil, 0
	case asks(read[0]):
		return read, 1
	}
	return read, max(0, leaning*(1-content/alone))
}

// called returns the names of the tools that a message called, as a text.
func (q *Query) called(m chat.Message) string {
	var names strings.Builder
	for _, c := range m.Calls {
		name := c.Name
		if q.Called != nil {
			name = q.Called(c)
		}
		names.WriteByte(' ')
		names.WriteString(name)
	}
	return names.String()
}

// open returns the messages of the request that the last question of the assistant
// belongs to, newest first: the last one opened it. Read is the conversation, newest
// message first.
func open(read []chat.Message) []chat.Message {
	length := 0
	for i, m := range read {
		if m.Role == chat.User {
			length = i + 1
		} else if i > 0 && !asks(m) {
			break
		}
	}
	return read[:length]
}

// wording returns the last messages of the user, at most maxOpen, as a text. Read are
// messages, newest first.
func wording(read []chat.Message) string {
	var texts []string
	for _, m := range read {
		if m.Role == chat.User && len(texts) < maxOpen {
			texts = append(texts, requestOf(m))
		}
	}
	slices.Reverse(texts)
	return strings.Join(texts, "\n")
}

// requestOf returns the text of a message, of one of the user without the material that came with it.
func requestOf(m chat.Message) string {
	if m.Role == chat.User {
		return Divide(m.Text).Request
	}
	return m.Text
}
