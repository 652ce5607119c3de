package irc

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/internal/printable"
)

// tooFast is how long to wait when the server says that we wrote to too many.
const tooFast = time.Minute

// send sends a message, and returns the ID that the server gave its first line, if any.
func (s *session) send(ctx context.Context, m channel.Outgoing) (id string, err error) {
	target, err := s.target(ctx, m.To.Chat)
	if err != nil {
		return "", err
	}
	var lines []ircmsg.Message
	for _, line := range render(m.Text) {
		for _, part := range wrap(line, width(s.name(), target)) {
			lines = append(lines, ircmsg.MakeMessage(nil, "", "PRIVMSG", target, part))
		}
	}
	if len(lines) == 0 {
		return "", nil
	}
	if m.To.Message != "" && len(m.To.Message) <= 256 && s.passes("draft/reply") {
		lines[0].SetTag("+draft/reply", m.To.Message)
	}
	var refused error
	name := s.folded(target)
	err = s.exchange(ctx, lines, func(m ircmsg.Message) {
		switch {
		case len(m.Params) < 2:
		case m.Command == "PRIVMSG":
			if _, msgid := m.GetTag("msgid"); id == "" && s.fold(m.Nick()) == s.fold(s.nick) &&
				s.fold(m.Params[0]) == name {
				id = msgid
			}
		case refused == nil && s.fold(m.Params[1]) == name:
			refused = refusal(m)
		}
	})
	if refused != nil {
		return "", refused
	}
	return id, err
}

// refusal is what a number means for a message; nil if it is not about one.
func refusal(m ircmsg.Message) error {
	said := fmt.Errorf("the server says: %s", printable.Line(m.Params[len(m.Params)-1], 200))
	switch m.Command {
	case "439": // ERR_TARGETTOOFAST
		return &channel.Limited{After: tooFast, Scope: channel.OneChat, Err: said}
	case "401", // ERR_NOSUCHNICK
		"403", "404", "474", // no such channel, not allowed to write there, banned
		"477", "486", // only for accounts
		"531", "716": // the person wants no messages
		return fmt.Errorf("%w: %w", said, channel.ErrGone)
	}
	if failed(m) {
		return fmt.Errorf("%w: %w", said, channel.ErrRejected)
	}
	return nil
}

// target returns the room or nick of a chat. Of an account it is the nick that is logged in
// to it now: otherwise somebody who took the nick would read the message.
func (s *session) target(ctx context.Context, chat string) (string, error) {
	s.mu.Lock()
	isRoom, absent := s.isRoom(chat), s.configured(chat) && !s.joined[s.fold(chat)]
	s.mu.Unlock()
	switch nick, unproven := strings.CutPrefix(chat, "nick/"); {
	case isRoom && absent:
		return "", fmt.Errorf("we are not in %s on IRC now", chat)
	case isRoom && validRoom(chat):
		return chat, nil
	case isRoom || !validNick(nick):
		return "", fmt.Errorf("%w: %w", errName(chat), channel.ErrGone)
	case unproven:
		return nick, nil
	}
	nick, ok := s.c.nicks.Get(chat)
	if !ok {
		nick = chat
	}
	is, err := s.whois(ctx, nick)
	if err != nil {
		return "", err
	}
	if s.folded(is.account) != s.folded(chat) {
		return "", fmt.Errorf("nobody with the nick %s is logged in as %s on IRC: %w", nick, chat, channel.ErrGone)
	}
	return nick, nil
}

// passes reports whether the server passes on a tag that clients set.
func (s *session) passes(tag string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.caps["message-tags"] {
		return false
	}
	denied, allowed := false, false
	for name := range strings.SplitSeq(s.support["CLIENTTAGDENY"], ",") {
		denied = denied || name == "*" || name == tag
		allowed = allowed || name == "-"+tag
	}
	return allowed || !denied
}

// typing shows that an answer is being written, if there is room for the line.
func (s *session) typing(to channel.Address) error {
	if !s.passes("typing") || s.c.pace.Tokens() < 2 || !s.c.pace.Allow() {
		return nil
	}
	target, ok := s.c.nicks.Get(to.Chat)
	if !ok {
		target = strings.TrimPrefix(to.Chat, "nick/")
	}
	if !validRoom(target) || target == "" || target[0] == ':' {
		return errName(to.Chat)
	}
	return s.write(ircmsg.MakeMessage(map[string]string{"+typing": "active"}, "", "TAGMSG", target))
}

// The codes for bold, italic and struck text: each turns it on and off.
const (
	bold   = "\x02"
	italic = "\x1d"
	struck = "\x1e"
)

// width is how many bytes of text a line to target has, so that what the server passes on
// has 512: it puts our nick, user and host in front, of which the host may change at any time.
func width(nick, target string) int {
	const user, host = 20, 64
	return 512 - len(":!@ PRIVMSG  :\r\n") - len(nick) - user - host - len(target)
}

// wrap cuts a line into lines of at most width bytes: between words, or else between
// characters. What is bold stays bold on the next line.
func wrap(line string, width int) []string {
	var out []string
	on := ""
	for len(on)+len(line) > width {
		at := cut(line, width-len(on))
		if part := strings.TrimRight(line[:at], " "); part != "" {
			out = append(out, on+part)
		}
		on = styled(on, line[:at])
		line = strings.TrimLeft(line[at:], " ")
	}
	if strings.Trim(line, bold+italic+struck+" ") != "" {
		out = append(out, on+line)
	}
	return out
}

// cut returns where to cut a line that is longer than most.
func cut(line string, most int) int {
	if line[most] == ' ' {
		return most
	}
	if at := strings.LastIndexByte(line[:most], ' '); at > most/4 {
		return at + 1
	}
	at := most
	for range 32 { // not between a character and what belongs to it, unless that has no end
		for !utf8.RuneStart(line[at]) {
			at--
		}
		next, _ := utf8.DecodeRuneInString(line[at:])
		before, size := utf8.DecodeLastRuneInString(line[:at])
		if !unicode.In(next, unicode.M, unicode.Cf, unicode.Sk) && before != 0x200D || at-size <= most/2 {
			return at
		}
		at -= size
	}
	return at
}

// styled returns the codes that are on after a text, of those that were on before.
func styled(on, text string) string {
	for i := range len(text) {
		switch code := text[i : i+1]; code {
		case bold, italic, struck:
			if strings.Contains(on, code) {
				on = strings.ReplaceAll(on, code, "")
			} else {
				on += code
			}
		}
	}
	return on
}

// render turns Markdown into lines with codes for bold, italic and struck text. Code
// keeps its backticks, a link shows its address, and empty lines are left out.
func render(markdown string) []string {
	out := dialect().Render(printable.Text(markdown))
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

func dialect() markup.Dialect {
	return markup.Dialect{
		Parser:      markup.GFM(false),
		Text:        func(s string, _ bool) string { return clean(s) },
		Strong:      markup.Around(bold, bold),
		Italic:      markup.Around(italic, italic),
		Struck:      markup.Around(struck, struck),
		Code:        func(code string) string { return "`" + clean(code) + "`" },
		Link:        link,
		Checked:     "[x] ",
		Unchecked:   "[ ] ",
		Heading:     func(_ int, s string) string { return lines(bold + s + bold) },
		BoldHeading: true,
		Paragraph:   lines,
		Fence:       func(_, code string) string { return lines(markup.Indent(printable.Text(code), "  ", "  ")) },
		Bullet:      "• ",
		Quote:       func(body string, _ bool) string { return within(body, "> ", "> ") },
		Item:        func(mark, body string) string { return within(body, mark, "  ") },
		Table:       table,
		Gap:         func(markup.Block) bool { return false },
	}
}

// lines leaves out empty lines; what is bold at the end of a line is bold on the next one.
func lines(s string) string {
	var kept []string
	on := ""
	for line := range strings.SplitSeq(s, "\n") {
		if strings.Trim(line, bold+italic+struck+" \t") != "" {
			kept = append(kept, on+line)
		}
		on = styled(on, line)
	}
	return strings.Join(kept, "\n")
}

// within puts first before the first line of a text and rest before the others.
func within(body, first, rest string) string {
	if body == "" {
		return ""
	}
	return markup.Indent(body, first, rest)
}

func table(t markup.Table) string {
	var rows []string
	for _, cells := range t.Cells {
		rows = append(rows, strings.Join(cells, " | "))
	}
	return lines(strings.Join(rows, "\n"))
}

func link(l markup.Link) string {
	target := clean(l.Target)
	switch {
	case l.Bare:
		return clean(l.Label)
	case l.Inner == "" || l.Inner == target:
		return target
	}
	return l.Inner + " <" + target + ">"
}

// clean leaves nothing that ends a line or means something to a client of IRC.
func clean(text string) string {
	return strings.ReplaceAll(strings.TrimRight(printable.Text(text), "\n"), "\n", " ")
}
