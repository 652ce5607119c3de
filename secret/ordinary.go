package secret

import (
	"regexp"
	"strings"
)

// Ordinary reports whether a value is no secret, although it is in the place of one: a placeholder
// such as "sk-xxx", "your-api-key" or "<TOKEN>", a number such as 123456, or one common word, such
// as the key "ollama" of a server that wants none. To hide it would harm ordinary texts, in
// which it is just a word. A value with a digit among its letters, or with several words that say
// nothing of keys, is a secret.
func (v Value) Ordinary() bool {
	if service.MatchString(string(v)) {
		return true
	}
	unknown, parts := 0, pieces.FindAllString(string(v), -1)
	last := len(parts) - 1
	if last >= 0 && counting(parts[last]) {
		parts = parts[:last]
	}
	for _, part := range parts {
		switch lower := strings.ToLower(part); {
		case strings.Count(lower, lower[:1]) == len(lower) &&
			len(lower) > 1, strings.Contains(placeholders, " "+lower+" "):
		case len(parts) > last && pronounceable(lower): // no number behind it
			unknown++
		default:
			return false
		}
	}
	return unknown <= 1
}

// service matches the address of a service that consists of a host and ordinary words, such as
// https://api.example.com/v1. An address that lets somebody in has a word of another kind.
var service = regexp.MustCompile(`^https?://[a-z0-9.-]{1,80}(?::[0-9]{1,5})?(?:/(?:v[0-9]{1,2}|[a-z]{2,12}))*/?$`)

// pieces matches the words and numbers of a value: those of yourApiKey are three. The
// characters between them say nothing, unless they are letters of another script.
var pieces = regexp.MustCompile(`(?i:gpt4all)|[A-Z]+[a-z]*|[a-z]+|[0-9]+|[^\x00-\x7f]+`)

// longestWord is how many letters a common word has at most.
const longestWord = 12

// consonants matches more consonants than a word has behind one another.
var consonants = regexp.MustCompile(`[^aeiouy]{5}|[^a-z]`)

// pronounceable reports whether a text in lower case looks like a word, which hardly any
// random letters do.
func pronounceable(text string) bool {
	return len(text) > 2 && len(text) <= longestWord && !consonants.MatchString(text)
}

// counting reports whether a text is a number or letters of which each follows the one before, or
// is the same: 1, 1234567890, 000, abc.
func counting(text string) bool {
	for i := 1; i < len(text); i++ {
		before, c := text[i-1], text[i]
		if c != text[0] && c != before+1 && (before != '9' || c != '0') {
			return false
		}
	}
	return text[0] <= '9' || len(text) > 2 && text[0] < 0x80
}

// placeholders are the words of keys that are none, with a space around each.
const placeholders = " a abc ai an any anything api apikey auth authorization basic bearer bogus bot change changeme " +
	"client cloud code credential credentials default demo dev dummy empty enter example fake foo bar " +
	"baz free goes gpt gpt4all here hidden id ignore ignored in insert is it its key keys kobold " +
	"koboldcpp lite litellm llama llamacpp llm lm lmstudio local localhost me mock model my na needed " +
	"necessary nil no nokey none not nothing null ollama open openai openrouter optional or passphrase " +
	"password passwd paste pat placeholder please private proj project put pw redacted replace required " +
	"sample secret server set sk studio test testing that the this to todo token tokens unknown unused " +
	"use used user value vllm with xai x you your "
