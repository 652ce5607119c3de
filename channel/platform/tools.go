package platform

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/tool"
)

// Definition describes a tool that writes to a platform.
func Definition(platform, name, description, zh string, aliases, examples []string) tool.Definition {
	return tool.Definition{
		Name: name, Description: description, Translations: map[string]string{"zh": zh}, Aliases: aliases,
		Examples: examples,
		Groups:   []string{platform}, Channels: []string{platform}, Risk: tool.Write, Timeout: time.Minute,
		Version: "1", Source: "channel",
	}
}

// Here returns the chat that a call comes from: a group, or what the attribute chat says of a
// direct one.
func Here(ctx context.Context, platform string, valid func(at channel.Address) bool) (channel.Address, error) {
	f := tool.Caller(ctx)
	at := channel.Address{Chat: cmp.Or(f.Chat, f.Attrs["chat"]), Thread: f.Attrs["thread"]}
	if f.Channel != platform || !valid(at) {
		return channel.Address{}, fmt.Errorf("this works in a chat of %s only",
			strings.ToUpper(platform[:1])+platform[1:])
	}
	return at, nil
}

// CheckPoll says what is wrong with a poll; empty if nothing is. A question has at most longest
// characters, and a poll fewest to most options of at most option characters each.
func CheckPoll(question string, options []string, longest, fewest, most, option int) string {
	long := func(s string, most int) bool { return strings.TrimSpace(s) == "" || utf8.RuneCountInString(s) > most }
	switch {
	case long(question, longest):
		return fmt.Sprintf("the question must have 1 to %d characters", longest)
	case len(options) < fewest || len(options) > most:
		return fmt.Sprintf("a poll has %d to %d options, not %d", fewest, most, len(options))
	case slices.ContainsFunc(options, func(o string) bool { return long(o, option) }):
		return fmt.Sprintf("every option must have 1 to %d characters", option)
	}
	return ""
}

// Quote puts a text into a quotation of Markdown, in which it is no command. It is cut after so
// many characters.
func Quote(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// MaxCited is how many characters of an answered message are repeated.
const MaxCited = 2000
