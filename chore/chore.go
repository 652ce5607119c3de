// Package chore recognises the requests that chat clients send by themselves, beside the messages of
// people: for the title or the tags of a conversation, or for questions that could follow.
package chore

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/etui-run/etui/internal/patternsize"
)

// The limits of patterns: how many there may be, how much work all are for each byte of a text, and how much
// of a text they read. Clients begin their chores with the instruction.
const (
	maxPatterns = 100
	maxWork     = 10_000
	maxRead     = 4 << 10
)

// known are how the chores of clients begin. Open WebUI also begins a person's question with "### Task:", when
// it adds documents to it, so these are whole sentences.
var known = []string{
	// Open WebUI: DEFAULT_*_GENERATION_PROMPT_TEMPLATE in backend/open_webui/config.py.
	`### Task:\s+Generate a concise, 3-5 word title`,
	`### Task:\s+Generate 1-3 broad tags`,
	`### Task:\s+Suggest 3-5 relevant follow-up questions`,
	`### Task:\s+Analyze the chat history to determine the necessity of generating search queries`,
	`### Task:\s+Generate a detailed prompt for am? image generation`,
	`### Task:\s+You are an autocompletion system`,
	`Your task is to reflect the speaker's likely facial expression`,
	// LibreChat: title.ts of @librechat/agents.
	`Provide a concise, 5-word-or-less title for the conversation`,
	`Analyze this conversation and provide:\s+1\. The detected language of the conversation\s+2\. A concise title`,
}

// Patterns recognise chores. They are immutable.
type Patterns []*regexp.Regexp

// New returns the patterns for the clients that etui knows, and further ones. Each must match at the
// beginning of a text, in any case of its letters.
func New(further []string) (Patterns, error) {
	if len(further) > maxPatterns {
		return nil, fmt.Errorf("there are %d patterns, at most %d are accepted", len(further), maxPatterns)
	}
	work, patterns := 0, Patterns{}
	for i, text := range append(append([]string{}, known...), further...) {
		re, err := regexp.Compile(`(?i)^\s*(?:` + text + `)`)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q: %w", text, err)
		}
		if i >= len(known) {
			work += patternsize.Of(re.String())
		}
		patterns = append(patterns, re)
	}
	if work > maxWork {
		return nil, fmt.Errorf("the patterns are too much work for each message: %d instructions, at most %d", work,
			maxWork)
	}
	return patterns, nil
}

// Match reports whether a message of a client is a chore: its text begins as one, or the client's
// instructions do.
func (p Patterns) Match(text, instructions string) bool {
	for _, said := range []string{text, instructions} {
		if said = said[:min(len(said), maxRead)]; strings.TrimSpace(said) == "" {
			continue
		}
		for _, re := range p {
			if re.MatchString(said) {
				return true
			}
		}
	}
	return false
}
