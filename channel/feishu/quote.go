package feishu

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

// stored is a message as the platform keeps it (获取指定消息的内容, im-v1/message/get).
type stored struct {
	ID      string `json:"message_id"`
	Type    string `json:"msg_type"`
	Deleted bool
	Sender  struct {
		ID   string
		Type string `json:"sender_type"`
	}
	Body     struct{ Content string }
	Mentions []struct{ Key, ID, Name string }
}

// cite adds to a message what it quotes, and what it passes on.
func (s *session) cite(ctx context.Context, a *arrival, m *channel.Incoming) {
	if a.merged {
		list, err := s.messages(ctx, a.ID)
		var said []platform.Said
		for _, item := range list {
			if item.ID != a.ID {
				text, _ := s.textOf(item)
				said = append(said, platform.Said{Name: s.nameOf(ctx, item), Text: text})
			}
		}
		if err != nil || len(said) == 0 {
			m.Text = "(Messages that somebody passes on, which could not be read.)"
			return
		}
		m.Text = platform.Passed(said)
	}
	key := m.At.Chat + " " + m.At.Thread + " " + a.parent
	if a.parent == "" || strings.HasPrefix(m.Text, "/") || m.At.Thread != "" && s.quoted.Has(key) {
		return
	}
	list, err := s.messages(ctx, a.parent)
	if err != nil || len(list) == 0 || list[0].Deleted {
		s.log.DebugContext(ctx, "feishu does not show a quoted message", "message", platform.Word(a.parent), "error",
			err)
		m.Text = strings.TrimSpace(platform.Quote("(a message that could not be read)", 100) + "\n\n" + m.Text)
		return
	}
	item := list[0]
	if item.Sender.ID == s.config.AppID || item.Sender.ID == s.self.ID {
		return // the conversation has it
	}
	s.quoted.Add(key)
	text, files := s.textOf(item)
	for i := range files {
		files[i].message = item.ID
	}
	a.files = append(a.files, files...)
	if text == "" {
		text = "(a message with files)"
	}
	m.Text = strings.TrimSpace(platform.Quote(s.nameOf(ctx, item)+": "+text, platform.MaxCited) + "\n\n" + m.Text)
}

// hopes reports whether a message would be wanted if it were for the bot.
func (s *session) hopes(ctx context.Context, m channel.Incoming) bool {
	m.Mentioned = true
	return s.Wants(ctx, m)
}

// began reports whether a thread began with a mention of the bot: then its replies are for the bot.
func (s *session) began(ctx context.Context, root string) bool {
	if is, known := s.begun.Get(root); known {
		return is
	}
	list, err := s.messages(ctx, root)
	if err != nil {
		s.log.DebugContext(ctx, "feishu does not show how a thread began", "error", err)
	}
	is := false
	if len(list) > 0 {
		for _, m := range list[0].Mentions {
			is = is || m.ID == s.self.ID
		}
	}
	s.begun.Put(root, is)
	return is
}

// messages asks for a message, and for those that it passes on.
func (s *session) messages(ctx context.Context, id string) ([]stored, error) {
	if !isID(id, "om_") {
		return nil, errors.New("it is not the ID of a message")
	}
	var answer struct{ Items []stored }
	query := url.Values{"user_id_type": {"open_id"}}
	err := s.call(ctx, http.MethodGet, "im/v1/messages/"+id, query, nil, &answer)
	return answer.Items, err
}

func (s *session) textOf(m stored) (string, []file) {
	text, files, err := readContent(m.Type, m.Body.Content)
	if err != nil {
		return "(a message that cannot be shown here)", nil
	}
	var mentions []mention
	for _, at := range m.Mentions {
		mentions = append(mentions, mention{Key: at.Key, ID: userID{at.ID}, Name: at.Name})
	}
	text, _ = replaceMentions(text, mentions, s.self.ID)
	return text, files
}

// nameOf returns the name of a message's sender, or the ID if the platform does not tell it.
func (s *session) nameOf(ctx context.Context, m stored) string {
	if m.Sender.Type == "app" {
		return "an app"
	}
	id := m.Sender.ID
	p := s.people.Get(ctx, id, func() (person, bool) { return s.person(ctx, id) })
	if p.name == "" {
		return printable.Line(id, 100)
	}
	return p.name
}
