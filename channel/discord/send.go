package discord

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/phrase"
)

// promise is an interaction whose answer was announced. Discord's token for it is valid for
// 15 minutes.
type promise struct {
	id, token, app string
	kind           int // of the announcement
	until          time.Time

	mu  sync.Mutex
	key string // of the message that is the answer
}

// promiseTime is for how long a promise is kept.
const promiseTime = 14 * time.Minute

// claim reports whether the message with a key is the answer: the first one, as often as it
// is sent.
func (p *promise) claim(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key == "" {
		p.key = key
	}
	return p.key == key && time.Now().Before(p.until)
}

// open reports whether there is no answer yet.
func (p *promise) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key == "" && time.Now().Before(p.until)
}

// acknowledge announces the answer to an interaction: Discord waits three seconds for that.
// If it fails, the answer comes as a message of its own.
func (s *session) acknowledge(ctx context.Context, a *arrival) {
	if a.answer == nil {
		return
	}
	err := s.call(ctx, "POST", "interactions/{}/{}/callback", []string{a.answer.id, a.answer.token},
		map[string]any{"type": a.answer.kind}, nil)
	switch {
	case platform.Fails(err, alreadyAnswered): // it arrives again
		if _, known := s.waiting.Get(a.ID); known {
			return
		}
	case err != nil:
		s.log.WarnContext(ctx, "discord takes no answer to an interaction; it comes as a message", "error", err)
		return
	}
	if a.answer.kind == answersLater {
		s.waiting.Put(a.ID, a.answer)
	}
}

// Send implements [channel.Channel].
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	in := cmp.Or(m.To.Thread, m.To.Chat)
	if !snowflake(in) {
		return "", fmt.Errorf("discord: %q is not the ID of a channel: %w", platform.Word(in), channel.ErrGone)
	}
	return c.sent.Parts(m, func(part channel.Outgoing) (string, error) {
		body := c.body(part.Text)
		if part.Plain {
			body["content"] = markup.EscapeMarkdown(part.Text)
		}
		if rows := c.rows(part.Buttons); len(rows) > 0 {
			body["components"] = rows
		}
		id, err := c.fulfil(ctx, part.To, cmp.Or(part.Key, "-"), body, part.Files)
		if id != "" || err != nil {
			return id, err
		}
		if part.Key != "" {
			body["nonce"], body["enforce_nonce"] = platform.Digest(25, in, part.Key), true // Discord's limit
		}
		if message := messageOf(part.To.Message); message != "" {
			if p, _ := c.places.Get(in); !p.direct {
				body["message_reference"] = map[string]any{"message_id": message, "fail_if_not_exists": false}
			}
		}
		id, err = c.write(ctx, "POST", "channels/{}/messages", []string{in}, body, part.Files)
		if platform.Fails(err, noHistory) {
			delete(body, "message_reference")
			id, err = c.write(ctx, "POST", "channels/{}/messages", []string{in}, body, part.Files)
		}
		return id, err
	})
}

// body returns a message as the API wants it. It notifies nobody, and Discord does not load the
// pages of its links: one that a model was tricked into writing could tell their servers
// something.
func (c *Channel) body(text string) map[string]any {
	const suppressEmbeds = 1 << 2
	return map[string]any{"content": c.dialect.Render(text), "allowed_mentions": none, "flags": suppressEmbeds}
}

var none = map[string]any{"parse": []string{}, "replied_user": false}

// fulfil sends a message as the answer to a command, in the place of what announces it. It
// returns no ID if the message is to be sent on its own.
func (c *Channel) fulfil(ctx context.Context, to channel.Address, key string, body map[string]any,
	files []chat.File) (string, error) {
	p, ok := c.waiting.Get(to.Message)
	if !ok || !p.claim(key) {
		return "", nil
	}
	id, err := c.write(ctx, "PATCH", "webhooks/{}/{}/messages/@original", []string{p.app, p.token}, body, files)
	if platform.Fails(err, unknownMessage, unknownWebhook, unknownInteraction, badToken) {
		return "", nil // somebody has removed it, or it took too long
	}
	return id, err
}

// write calls a route that writes a message, and returns its ID.
func (c *Channel) write(ctx context.Context, method, route string, args []string, message map[string]any,
	files []chat.File) (string, error) {
	var body any = message
	if len(files) > 0 {
		f, err := form(message, files)
		if err != nil {
			return "", fmt.Errorf("discord: writing a message with files: %w", err)
		}
		body = f
	}
	var answer struct{ ID string }
	if err := c.call(ctx, method, route, args, body, &answer); err != nil {
		return "", err
	}
	if !snowflake(answer.ID) {
		return "", fmt.Errorf("discord: %s %s names no message", method, route)
	}
	return answer.ID, nil
}

// messageOf returns the message that an ID means: also the one whose button was pressed. It
// is empty if there is none.
func messageOf(id string) string {
	if rest, ok := strings.CutPrefix(id, pressID); ok {
		_, id, _ = strings.Cut(rest, "-")
	}
	if !snowflake(id) {
		return ""
	}
	return id
}

// Limits of buttons.
const (
	maxLabel  = 80  // characters; the rest is left out
	maxCustom = 100 // bytes of a custom_id, which Discord counts in characters
	perRow    = 5
	maxRows   = 5 // more buttons are left out
)

// rows returns buttons as components. Each has a custom_id of its own in the message.
func (c *Channel) rows(buttons []channel.Button) (rows []map[string]any) {
	buttons = platform.Buttons(c.log, buttons, perRow*maxRows, maxLabel, maxCustom-len(pressed))
	for some := range slices.Chunk(buttons, perRow) {
		var list []map[string]any
		for _, b := range some {
			list = append(list, map[string]any{"type": 2, "style": 2, "label": b.Label, "custom_id": pressed + b.Text})
		}
		rows = append(rows, map[string]any{"type": 1, "components": list})
	}
	return rows
}

// Edit implements [channel.Editor]. Buttons go away.
func (c *Channel) Edit(ctx context.Context, to channel.Address, id, text string) error {
	body := c.body(text)
	body["components"] = []any{}
	return c.call(ctx, "PATCH", "channels/{}/messages/{}", []string{cmp.Or(to.Thread, to.Chat), id}, body, nil)
}

// Typing implements [channel.Typer]. Below a command Discord shows by itself that the answer
// is being written.
func (c *Channel) Typing(ctx context.Context, to channel.Address) error {
	if p, ok := c.waiting.Get(to.Message); ok && p.open() {
		return nil
	}
	return c.call(ctx, "POST", "channels/{}/typing", []string{cmp.Or(to.Thread, to.Chat)}, nil, nil)
}

// option is what commands call the words that follow them.
const option = "text"

// SetMenu implements [channel.Menu]: the commands become the application's only ones, in
// servers that have it and in direct chats with the bot.
func (c *Channel) SetMenu(ctx context.Context, commands []channel.Command) error {
	self, err := c.who(ctx)
	if err != nil {
		return err
	}
	const most, help = 100, 100 // Discord's limits: commands, and characters of their descriptions
	list := []map[string]any{}
	for _, command := range commands[:min(len(commands), most)] {
		about := []rune(cmp.Or(command.Help, command.Name))
		list = append(list, map[string]any{
			"type": 1, "name": strings.ToLower(command.Name), "description": string(about[:min(len(about), help)]),
			"integration_types": []int{0}, "contexts": []int{0, 1},
			"description_localizations": localized(command.Help, help),
			"options": []map[string]any{{"type": 3, "name": option, "description": following, "required": false,
				"max_length":                maxText,
				"description_localizations": localized(following, help)}},
		})
	}
	return c.call(ctx, "PUT", "applications/{}/commands", []string{self.App}, list, nil)
}

// following describes the words after a command.
const following = "what follows the command, if it takes something"

// localized has the text of a command for people whose Discord is in Chinese.
func localized(english string, most int) map[string]string {
	text := []rune(phrase.Word(phrase.Chinese, english))
	about := string(text[:min(len(text), most)])
	return map[string]string{"zh-CN": about, "zh-TW": about}
}

// dialect is Discord's kind of Markdown, which knows neither tables nor pictures nor headings
// below the third, and in which <, _ and | mean other things. Without a < no text can mention
// anybody.
func dialect() markup.Dialect {
	d := markup.Markdown(markup.EscapeMarkdown)
	d.Link, d.Heading, d.Quote = link, heading, quote
	d.Table = func(t markup.Table) string { return markup.Fenced("", markup.Aligned(t.Words, 30, false)) }
	return d
}

// length is how Discord counts a text of the agent: as it is sent, in UTF-16.
func (c *Channel) length(markdown string) int { return markup.UTF16(c.dialect.Sent(markdown, maxText)) }

func heading(level int, s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	switch {
	case level <= 3:
		return strings.Repeat("#", level) + " " + s
	case strings.Contains(s, "**"):
		return s
	}
	return "**" + s + "**"
}

// quote writes a quotation. Discord shows no code in one, and no other quotation.
func quote(body string, _ bool) string {
	if strings.Contains(body, "```") {
		return body
	}
	return markup.Indent(strings.ReplaceAll("\n"+body, "\n> ", "\n")[1:], "> ", "> ")
}

// link writes a link. Only addresses of the web become one; <> around them would be no
// address to Discord if there were one inside.
func link(l markup.Link) string {
	switch {
	case !l.Web():
		return markup.EscapeMarkdown(l.Plain())
	case l.Label == "" || l.Label == l.Target:
		return markup.InLink(l.Target)
	}
	// Discord shows no link if its label looks like one.
	label := strings.NewReplacer("https://", "", "http://", "").Replace(l.Label)
	return "[" + strings.ReplaceAll(markup.EscapeMarkdown(label), "]", `\]`) + "](" + markup.InLink(l.Target) + ")"
}
