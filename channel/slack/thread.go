package slack

import (
	"cmp"
	"context"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

// complete adds to a message what Slack has to be asked for: the names of those that it mentions, what
// it passes on, and the thread that it is about.
func (s *session) complete(ctx context.Context, a *arrival, m *channel.Incoming) {
	if a.raw != "" {
		m.Text, _ = readText(s.named(ctx, a.raw), s.self.User)
	}
	if strings.HasPrefix(m.Text, "/") {
		return
	}
	for _, passed := range a.shared {
		if text, _ := readText(s.named(ctx, passed.text()), ""); text != "" {
			text = platform.Quote(text, platform.MaxCited)
			from := cmp.Or(printable.Line(passed.Author, 100), "somebody")
			m.Text = strings.TrimSpace("Forwarded from " + from + ":\n" + text + "\n\n" + m.Text)
		}
	}
	if a.below {
		m.Text = platform.Thread(s.before(ctx, m), m.Text)
	}
}

// replies asks for the messages of a thread (conversations.replies), the first ones and those after a
// time.
func (s *session) replies(ctx context.Context, at channel.Address, oldest string, limit int) (list []event, err error) {
	for cursor, pages := "", 0; pages < maxPages; pages++ {
		var answer struct {
			Messages []event
			Next     struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		args := url.Values{"channel": {at.Chat}, "ts": {at.Thread}, "limit": {strconv.Itoa(limit)}}
		if oldest != "" {
			args.Set("oldest", oldest)
		}
		if cursor != "" {
			args.Set("cursor", cursor)
		}
		if err := s.call(ctx, s.config.Token, "conversations.replies", args, &answer); err != nil {
			return list, err
		}
		list = append(list, answer.Messages...)
		if cursor = answer.Next.Cursor; cursor == "" || limit == 1 {
			break
		}
	}
	return list, nil
}

// maxPages is how many pages of a thread are read, and page how many messages each has.
const maxPages, page = 5, 200

// before returns what was said in a thread before a message, and after what the agent has read there.
func (s *session) before(ctx context.Context, m *channel.Incoming) (said []platform.Said) {
	key := messageID(m.At.Chat, m.At.Thread)
	_, ts := splitID(m.ID)
	oldest := s.upTo.After(key, ts)
	read := oldest != ""
	list, err := s.replies(ctx, m.At, oldest, page)
	if platform.Fails(err, "thread_not_found") {
		return nil
	}
	if err != nil {
		const hidden = "slack does not show a thread: the app may need the scopes channels:history and groups:history"
		s.log.WarnContext(ctx, hidden, "error", err)
		if read {
			return nil
		}
		return []platform.Said{{Name: "etui", Text: "(The messages before this one in the thread could not be read.)"}}
	}
	s.upTo.Note(key, ts)
	for _, e := range list {
		if e.TS >= ts || read && (e.TS <= oldest || e.User == s.self.User) {
			continue
		}
		text, _ := readText(s.named(ctx, e.Text), s.self.User)
		for _, f := range e.Files {
			text += " [file " + printable.Line(cmp.Or(f.Name, f.Title), 100) + "]"
		}
		for _, a := range e.Attachments {
			passed, _ := readText(a.text(), "")
			text += "\n" + passed
		}
		said = append(said, platform.Said{Name: s.nameOf(ctx, e.User), Text: text})
	}
	return said
}

// began reports whether a thread began with a mention of the bot: then its replies are for the bot.
func (s *session) began(ctx context.Context, at channel.Address) bool {
	key := messageID(at.Chat, at.Thread)
	if is, known := s.begun.Get(key); known {
		return is
	}
	list, err := s.replies(ctx, at, "", 1)
	if err != nil {
		s.log.DebugContext(ctx, "slack does not show how a thread began", "error", err)
	}
	is := len(list) > 0 && strings.Contains(list[0].Text, "<@"+s.self.User+">")
	s.begun.Put(key, is)
	return is
}

// nameOf returns a person's name, or the ID if Slack does not tell it.
func (s *session) nameOf(ctx context.Context, id string) string {
	if id == s.self.User {
		return "you"
	}
	who := channel.Sender{ID: id}
	if id != "" {
		s.people.Introduce(ctx, &who, s.meet)
	}
	return cmp.Or(who.Name, who.Handle, id)
}

var mention = regexp.MustCompile(`<@([UW][A-Z0-9]{1,30})>`)

// maxNamed is how many people are asked about for a text.
const maxNamed = 10

// named writes names for the people that a text mentions.
func (s *session) named(ctx context.Context, text string) string {
	left := maxNamed
	return mention.ReplaceAllStringFunc(text, func(mark string) string {
		id := mark[2 : len(mark)-1]
		if left--; id == s.self.User || left < 0 {
			return mark
		}
		return "<@" + id + "|" + strings.NewReplacer("|", " ", "<", " ", ">", " ").Replace(s.nameOf(ctx, id)) + ">"
	})
}
