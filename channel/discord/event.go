package discord

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

// arrival is a message that has arrived, without what has to be asked for: the channel that
// a thread belongs to, the sender's roles, the bytes of its files.
type arrival struct {
	channel.Incoming
	channel  string // in which it was written: a thread, too
	guild    string // empty in a direct chat
	kind     int    // of the channel; -1 if the event does not say
	parent   string // of the thread, if the event says so
	roles    []string
	mentions []string // roles that are mentioned
	files    []attachment
	answer   *promise // of an interaction
	edit     string   // when it was edited; empty if it was not
}

// user is a person or a bot.
type user struct {
	ID, Username string
	Global       string `json:"global_name"`
	Bot          bool
	System       bool
}

// member is what a server says about a user.
type member struct {
	Nick  string
	Roles []string
	User  user
}

// attachment is a file of a message.
type attachment struct {
	ID, Filename, URL string
	MediaType         string `json:"content_type"`
	Size              int64
}

// kindGroup is a channel of several people without a server.
const kindGroup = 3

func threadKind(kind int) bool { return kind >= 10 && kind <= 12 }

// content is what a message says.
type content struct {
	Type     int
	Content  string
	Files    []attachment `json:"attachments"`
	Stickers []struct {
		Name string
	} `json:"sticker_items"`
	Mentions []struct {
		user
		Member *member
	}
	Poll *struct {
		Question struct{ Text string }
		Answers  []struct {
			Media struct{ Text string } `json:"poll_media"`
		}
	}
}

// message is an event MESSAGE_CREATE.
type message struct {
	content
	ID          string
	Channel     string `json:"channel_id"`
	ChannelType *int   `json:"channel_type"`
	Guild       string `json:"guild_id"`
	Author      user
	Member      *member
	Webhook     string    `json:"webhook_id"`
	Roles       []string  `json:"mention_roles"`
	Time        time.Time `json:"timestamp"`
	Edited      string    `json:"edited_timestamp"` // also set when Discord has loaded a page
	Reference   *struct {
		Type int
	} `json:"message_reference"`
	Referenced *struct {
		content
		Author user
	} `json:"referenced_message"`
	Snapshots []struct {
		Message content
	} `json:"message_snapshots"`
}

// Types of messages that people write: plain ones and answers. Others report that somebody
// joined, pinned something and the like.
const (
	plainMessage = 0
	answer       = 19
)

// unreadable stands for a message of a kind that is not read here.
const unreadable = "(a message of a kind that cannot be read)"

func (c *Channel) readMessage(self *account, data []byte) (*arrival, error) {
	var head struct {
		Type   int
		Author user
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Type != plainMessage && head.Type != answer || head.Author.ID == self.User {
		return nil, nil
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if !snowflake(m.ID) || !snowflake(m.Channel) || !snowflake(m.Author.ID) || m.Guild != "" && !snowflake(m.Guild) {
		return nil, errors.New("a message has no ID, channel or author")
	}
	a := &arrival{
		channel: m.Channel, guild: m.Guild, kind: -1, mentions: m.Roles, files: m.Files, edit: m.Edited,
		Incoming: channel.Incoming{
			ID: m.ID, From: sender(m.Author, m.Member), At: channel.Address{Chat: m.Channel, Message: m.ID},
			Group: m.Guild != "", Time: m.Time,
		},
	}
	a.From.Bot = a.From.Bot || m.Webhook != ""
	if m.ChannelType != nil {
		a.kind = *m.ChannelType
	}
	if m.Member != nil {
		a.roles = m.Member.Roles
	}
	a.Text = m.text(self.User)
	for _, u := range m.Mentions {
		a.Mentioned = a.Mentioned || u.ID == self.User
	}
	for _, s := range m.Snapshots[:min(len(m.Snapshots), 1)] { // Discord forwards one
		text := s.Message.text("")
		if len(s.Message.Files) == 0 {
			text = cmp.Or(text, unreadable)
		}
		if text != "" {
			a.Text = strings.TrimSpace("Forwarded:\n" + platform.Quote(text, platform.MaxCited) + "\n\n" + a.Text)
		}
		a.files = append(a.files, s.Message.Files...)
	}
	if r := m.Referenced; r != nil && m.Type == answer {
		if r.Author.ID == self.User {
			a.Mentioned = true
		} else if text := r.text(""); text != "" && !strings.HasPrefix(a.Text, "/") {
			a.Text = strings.TrimSpace(platform.Quote(text, platform.MaxCited) + "\n\n" + a.Text)
		}
	}
	if a.Mentioned = a.Mentioned && a.Group; !a.Group && len(a.files) == 0 { // there the bot may read all texts
		a.Text = cmp.Or(a.Text, unreadable)
	}
	if a.Text == "" && len(a.files) == 0 && !a.Mentioned && len(a.mentions) == 0 {
		return nil, nil // an embed, or a text that the bot may not read
	}
	return a, nil
}

// sender is who wrote something.
func sender(u user, m *member) channel.Sender {
	s := channel.Sender{ID: u.ID, Handle: printable.Line(u.Username, 100), Bot: u.Bot || u.System}
	nick := ""
	if m != nil {
		nick = m.Nick
	}
	s.Name = printable.Line(cmp.Or(nick, u.Global, u.Username), 100)
	return s
}

// marks are what Discord writes for people, roles, channels, emoji, times and commands.
var marks = regexp.MustCompile(`<(?:@([!&]?)(\d{1,20})|#(\d{1,20})|a?:(\w{1,32}):\d{1,20}|t:(-?\d{1,13})(?::\w)?|/([^:<>]{1,100}):\d{1,20})>`)

// text returns what a message says as Markdown, which Discord writes almost as it is. The
// mentions of bot go away, others become names.
func (m *content) text(bot string) string {
	names := map[string]string{}
	for _, u := range m.Mentions {
		nick := ""
		if u.Member != nil {
			nick = u.Member.Nick
		}
		names[u.ID] = printable.Line(cmp.Or(nick, u.Global, u.Username), 100)
	}
	text := marks.ReplaceAllStringFunc(m.Content, func(mark string) string {
		p := marks.FindStringSubmatch(mark)
		switch {
		case p[2] != "" && p[1] == "&":
			return mark // a role: it needs the server
		case p[2] != "" && p[2] == bot && names[bot] != "":
			return ""
		case p[2] != "":
			return "@" + cmp.Or(names[p[2]], p[2])
		case p[3] != "":
			return "#" + p[3]
		case p[4] != "":
			return ":" + p[4] + ":"
		case p[5] != "":
			if n, err := strconv.ParseInt(p[5], 10, 64); err == nil {
				return time.Unix(n, 0).UTC().Format(time.RFC3339)
			}
		case p[6] != "":
			return "/" + p[6]
		}
		return mark
	})
	for _, s := range m.Stickers[:min(len(m.Stickers), 3)] { // Discord's limit
		text += fmt.Sprintf("\n(a sticker: %s)", printable.Line(s.Name, 100))
	}
	if p := m.Poll; p != nil {
		text += "\nPoll: " + printable.Line(p.Question.Text, 300)
		for _, a := range p.Answers[:min(len(p.Answers), 10)] { // Discord's limit
			text += "\n- " + printable.Line(a.Media.Text, 100)
		}
	}
	return strings.TrimSpace(text)
}

// Kinds of interactions, of their places and of the answers to them.
const (
	isCommand   = 2
	isComponent = 3

	elsewhere = 2 // a chat of which the bot is no part

	answersLater = 5
	answersNot   = 6
)

// IDs of what is no message of a person begin with these.
const (
	commandID = "command-"
	pressID   = "press-"
)

// pressed begins the custom_id of the channel's own buttons.
const pressed = "etui:"

func (c *Channel) readInteraction(self *account, data []byte) (*arrival, error) {
	var i struct {
		ID, Token string
		App       string `json:"application_id"`
		Type      int
		Guild     string `json:"guild_id"`
		ChannelID string `json:"channel_id"`
		Channel   struct {
			Type   *int
			Parent string `json:"parent_id"`
		}
		Context *int
		Locale  string
		Member  *member
		User    *user
		Message struct{ ID string }
		Data    json.RawMessage
	}
	if err := json.Unmarshal(data, &i); err != nil {
		return nil, err
	}
	if i.Type != isCommand && i.Type != isComponent || i.App != self.App {
		return nil, nil
	}
	if i.Member != nil {
		i.User = &i.Member.User
	}
	if !snowflake(i.ID) || i.Token == "" || len(i.Token) > 1000 || !snowflake(i.ChannelID) || i.User == nil ||
		!snowflake(i.User.ID) || i.Guild != "" && !snowflake(i.Guild) {
		return nil, errors.New("an interaction has no ID, token, channel or user")
	}
	if i.Context != nil && *i.Context == elsewhere ||
		i.Guild == "" && i.Channel.Type != nil && *i.Channel.Type == kindGroup {
		return nil, nil // the answer could not be sent there
	}
	var d struct {
		Name    string
		Type    int
		Custom  string `json:"custom_id"`
		Kind    int    `json:"component_type"`
		Options []struct {
			Name  string
			Value any
		}
	}
	if err := json.Unmarshal(i.Data, &d); err != nil {
		return nil, err
	}
	a := &arrival{
		channel: i.ChannelID, guild: i.Guild, kind: -1, parent: i.Channel.Parent,
		answer: &promise{id: i.ID, token: i.Token, app: i.App, until: time.Now().Add(promiseTime)},
		Incoming: channel.Incoming{
			From: sender(*i.User, i.Member), At: channel.Address{Chat: i.ChannelID}, Group: i.Guild != "",
			Mentioned: i.Guild != "", Time: created(i.ID),
		},
	}
	if i.Channel.Type != nil {
		a.kind = *i.Channel.Type
	}
	if i.Member != nil {
		a.roles = i.Member.Roles
	}
	a.From.Language = i.Locale
	switch i.Type {
	case isCommand:
		if d.Name == "" || d.Type > 1 { // of a menu that this channel does not have
			return nil, nil
		}
		a.ID, a.Text, a.answer.kind = commandID+i.ID, "/"+d.Name, answersLater
		for _, o := range d.Options {
			if text, ok := o.Value.(string); ok && o.Name == option {
				a.Text = strings.TrimSpace(a.Text + " " + text)
			}
		}
	case isComponent:
		const isButton = 2
		text, ok := strings.CutPrefix(d.Custom, pressed)
		if d.Kind != isButton || !ok || text == "" || !snowflake(i.Message.ID) {
			return nil, nil
		}
		a.ID, a.Text, a.answer.kind = pressID+i.ID+"-"+i.Message.ID, text, answersNot
	}
	a.At.Message = a.ID
	return a, nil
}

// created returns the time in an ID: its upper 42 bits are milliseconds since 2015.
func created(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + 1420070400000)
}
