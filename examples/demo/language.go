package demo

import (
	"fmt"
	"strings"
	"unicode"
)

// translate looks up the text in the world's phrases. If it is missing, the answer
// says so and lists the known phrases.
func (c *call) translate() (reply, error) {
	text, target := c.args["text"], c.args["target"]
	want := strings.Trim(fold(text), " .!?。！？")
	for _, phrase := range c.world.Phrases {
		for _, known := range phrase {
			if strings.Trim(fold(known), " .!?。！？") == want && phrase[target] != "" {
				return c.say(fmt.Sprintf("%q in %s: %s", text, target, phrase[target])), nil
			}
		}
	}
	var known []string
	for _, phrase := range c.world.Phrases {
		known = append(known, phrase["en"])
	}
	return c.say(fmt.Sprintf("The demo has no %s translation of %q. It knows: %s", target, text, strings.Join(known, "; "))), nil
}

// language guesses the language of a text from its script and its small words.
func (c *call) language() (reply, error) {
	name := "English"
	text := c.args["text"]
	words := " " + strings.ToLower(text) + " "
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return c.say("The text is Japanese."), nil
		case unicode.Is(unicode.Hangul, r):
			return c.say("The text is Korean."), nil
		case unicode.Is(unicode.Han, r):
			name = "Chinese"
		case unicode.Is(unicode.Cyrillic, r):
			name = "Russian"
		}
	}
	best := 0
	for _, l := range [][]string{
		{"German", " der ", " die ", " das ", " und ", " ist ", " nicht ", " ich "},
		{"French", " le ", " la ", " les ", " et ", " est ", " je ", " une "},
		{"Spanish", " el ", " los ", " y ", " es ", " una ", " que ", " por "},
	} {
		hits := 0
		for _, w := range l[1:] {
			hits += strings.Count(words, w)
		}
		if hits > best {
			name, best = l[0], hits
		}
	}
	return c.say("The text is most likely " + name + "."), nil
}

// summary keeps the first sentences of a text.
func (c *call) summary() (reply, error) {
	keep := max(1, int(number(c.args["sentences"])))
	text := strings.Join(strings.Fields(c.args["text"]), " ")
	end := 0
	for i, r := range text {
		if strings.ContainsRune(".!?。！？", r) {
			end = i + len(string(r))
			if keep--; keep == 0 {
				break
			}
		}
	}
	if end == 0 {
		end = len(text)
	}
	return c.say("In short: " + clip(text[:end], 600)), nil
}
