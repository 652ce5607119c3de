package feishu

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
	"github.com/etui-run/etui/internal/printable"
)

// envelope is an event or a callback, version 2.0 (事件结构, event structure), or the check of
// a URL.
type envelope struct {
	Type      string
	Token     string
	Challenge string
	Header    struct {
		ID        string `json:"event_id"`
		EventType string `json:"event_type"`
		Token     string
		AppID     string `json:"app_id"`
		Tenant    string `json:"tenant_key"`
	}
	Event json.RawMessage
}

func readEnvelope(text []byte) (*envelope, error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, errors.New("it is not JSON")
	}
	return &e, nil
}

// arrival is a message that has arrived, without what has to be asked for: whether several
// people read its chat, if a button was pressed, the sender's name and roles, and the bytes
// of its files.
type arrival struct {
	channel.Incoming
	files    []file
	external bool   // the sender belongs to another company
	pressed  string // the label of the button that was pressed; empty means a message
	parent   string // the message that it quotes
	merged   bool   // it is several messages that somebody passes on
}

// pressID is the ID of the press of a button: of the event, and of the message with the
// button, so that the reply can quote it.
func pressID(event, message string) string { return event + "@" + message }

// messageOf returns the message that an ID names, which may be that of a press; empty if it
// names none.
func messageOf(id string) string {
	id = id[strings.LastIndexByte(id, '@')+1:]
	if !isID(id, "om_") {
		return ""
	}
	return id
}

// isID reports whether s is an ID of the platform with a prefix. IDs go into paths.
func isID(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && rest != "" && len(s) <= 256 &&
		strings.Trim(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// read reads what the platform has delivered. It returns nil if there is nothing to hand
// over.
func (s *session) read(e *envelope) (*arrival, error) {
	switch e.Header.EventType {
	case "im.message.receive_v1":
		return s.readMessage(e)
	case "card.action.trigger":
		return s.readPress(e)
	case "im.chat.member.bot.added_v1":
		return readAdded(e)
	}
	return nil, nil
}

// readAdded reads that somebody has added the bot to a group (机器人进群, im-v1/chat-member-bot/events/added).
func readAdded(e *envelope) (*arrival, error) {
	var added struct {
		Chat     string `json:"chat_id"`
		Operator userID `json:"operator_id"`
	}
	if err := json.Unmarshal(e.Event, &added); err != nil {
		return nil, err
	}
	if !isID(added.Chat, "oc_") {
		return nil, errors.New("an event tells of a group without an ID")
	}
	return &arrival{Incoming: channel.Incoming{
		ID: "added-" + e.Header.ID, From: channel.Sender{ID: cmp.Or(added.Operator.Open, added.Chat)},
		At: channel.Address{Chat: added.Chat}, Group: true, Added: true,
	}}, nil
}

// userID is an ID of a person or of a bot.
type userID struct {
	Open string `json:"open_id"`
}

// mention is what a key such as @_user_1 in a text means.
type mention struct {
	Key  string
	ID   userID
	Name string
}

// readMessage reads a message (接收消息, im-v1/message/events/receive).
func (s *session) readMessage(e *envelope) (*arrival, error) {
	var event struct {
		Sender struct {
			ID     userID `json:"sender_id"`
			Type   string `json:"sender_type"`
			Tenant string `json:"tenant_key"`
		}
		Message struct {
			ID       string `json:"message_id"`
			Root     string `json:"root_id"`
			Parent   string `json:"parent_id"`
			Thread   string `json:"thread_id"`
			Created  string `json:"create_time"`
			Chat     string `json:"chat_id"`
			ChatType string `json:"chat_type"`
			Type     string `json:"message_type"`
			Content  string
			Mentions []mention
		}
	}
	if err := json.Unmarshal(e.Event, &event); err != nil {
		return nil, err
	}
	m, from := event.Message, event.Sender
	if !isID(m.ID, "om_") || m.Chat == "" {
		return nil, errors.New("a message has no ID or chat")
	}
	if from.ID.Open == "" || from.ID.Open == s.self.ID {
		return nil, nil
	}
	text, files, err := readContent(m.Type, m.Content)
	if err != nil {
		return nil, err
	}
	text, named := replaceMentions(text, m.Mentions, s.self.ID)
	if text == "" && len(files) == 0 && !named {
		return nil, nil
	}
	group := m.ChatType != "p2p"
	_, own := s.mine.Get(m.Parent)
	a := &arrival{
		files: files, merged: m.Type == "merge_forward",
		external: from.Tenant != "" && e.Header.Tenant != "" && from.Tenant != e.Header.Tenant,
		Incoming: channel.Incoming{
			ID: m.ID, From: channel.Sender{ID: from.ID.Open, Bot: from.Type != "user"},
			At:        channel.Address{Chat: m.Chat, Message: m.ID},
			Group:     group,
			Mentioned: group && (named || own),
			Text:      text,
			Time:      written(m.Created),
		},
	}
	if !own && isID(m.Parent, "om_") {
		a.parent = m.Parent
	}
	if m.Thread != "" { // the thread is known by its first message, which can be answered
		a.At.Thread = m.ID
		if isID(m.Root, "om_") {
			a.At.Thread = m.Root
		}
	}
	return a, nil
}

// written reads a time in milliseconds; the zero time means that there is none.
func written(milliseconds string) time.Time {
	n, err := strconv.ParseInt(milliseconds, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}

// value is what a button of the channel carries.
type value struct {
	Say    string `json:"etui"`
	Label  string `json:"label"`
	Thread string `json:"thread,omitempty"`
}

// readPress reads the press of a button that Send has shown (卡片回传交互,
// feishu-cards/card-callback-communication).
func (s *session) readPress(e *envelope) (*arrival, error) {
	var event struct {
		Operator struct {
			ID     string `json:"open_id"`
			Tenant string `json:"tenant_key"`
		}
		Action struct {
			Tag   string
			Value json.RawMessage
		}
		Context struct {
			Message string `json:"open_message_id"`
			Chat    string `json:"open_chat_id"`
		}
	}
	if err := json.Unmarshal(e.Event, &event); err != nil {
		return nil, err
	}
	var v value
	if event.Action.Tag == "button" {
		_ = json.Unmarshal(event.Action.Value, &v) // others carry anything
	}
	if v.Say == "" {
		return nil, nil // not a button of this channel
	}
	if event.Operator.ID == "" || e.Header.ID == "" || !isID(event.Context.Message, "om_") || event.Context.Chat == "" {
		return nil, errors.New("a pressed button has no person, event, message or chat")
	}
	id := pressID(e.Header.ID, event.Context.Message)
	a := &arrival{
		pressed:  v.Label,
		external: event.Operator.Tenant != "" && e.Header.Tenant != "" && event.Operator.Tenant != e.Header.Tenant,
		Incoming: channel.Incoming{
			ID: id, From: channel.Sender{ID: event.Operator.ID},
			At:   channel.Address{Chat: event.Context.Chat, Message: id},
			Text: v.Say,
		},
	}
	if a.pressed == "" {
		a.pressed = v.Say
	}
	if isID(v.Thread, "om_") {
		a.At.Thread = v.Thread
	}
	return a, nil
}

// answer is what the platform gets for something that is safe. A press of a button shows
// what was chosen; in a direct chat, where nobody else can press, the buttons go away.
func (c *Channel) answer(a *arrival) any {
	if a.pressed == "" {
		return struct{}{}
	}
	type object map[string]any
	chosen := "✓ " + printable.Line(a.pressed, 60)
	reply := object{"toast": object{"type": "success", "content": chosen}}
	if text, ok := c.cards.Get(messageOf(a.ID)); ok && !a.Group {
		reply["card"] = object{"type": "raw", "data": card(strings.TrimSpace(text+"\n\n"+escape(chosen)), nil)}
	}
	return reply
}

// file is a file of a message, as the platform names it.
type file struct {
	key             string
	kind            string // image or file
	name, mediaType string // no type: the event does not say it
	message         string // that has it; empty means the one that has arrived
}

const maxListed = 20 // files of a message that are handed over

// readContent returns the text of a message as Markdown and its files (接收消息内容,
// im-v1/message/events/message_content). Of a type that is not read it returns a line that says so.
func readContent(kind, content string) (text string, files []file, err error) {
	var c struct {
		Text      string
		ImageKey  string `json:"image_key"`
		FileKey   string `json:"file_key"`
		FileName  string `json:"file_name"`
		Name      string
		Longitude string
		Latitude  string
		Chat      string `json:"chat_id"`
		User      string `json:"user_id"`
		Topic     string
		Options   []string
		Summary   string
	}
	switch kind {
	case "post":
		text, files, err := readPost(content)
		if err == nil && text == "" && len(files) == 0 {
			text = "(a rich text that cannot be shown here)"
		}
		return text, files, err
	case "interactive":
		text, files, err := readPost(content)
		if err != nil || text == "" {
			text = "(a card, which cannot be shown here)"
		}
		return text, files, nil
	case "text", "image", "file", "audio", "media", "location", "share_chat", "share_user", "vote",
		"share_calendar_event", "calendar":
		if err := json.Unmarshal([]byte(content), &c); err != nil {
			return "", nil, fmt.Errorf("the content of a message of the type %s: %w", kind, err)
		}
	}
	switch kind {
	case "text":
		return c.Text, nil, nil
	case "location":
		return strings.TrimSpace(fmt.Sprintf("%s (geo:%s,%s)", c.Name, c.Latitude, c.Longitude)), nil, nil
	case "sticker":
		return "(a sticker)", nil, nil
	case "share_chat":
		return "(a group is shared: " + printable.Line(c.Chat, 100) + ")", nil, nil
	case "share_user":
		return "(a contact is shared: " + printable.Line(c.User, 100) + ")", nil, nil
	case "vote":
		return printable.Text("Poll: " + c.Topic + "\n- " + strings.Join(c.Options, "\n- ")), nil, nil
	case "share_calendar_event", "calendar":
		return "(an event of a calendar: " + printable.Line(c.Summary, 200) + ")", nil, nil
	case "system":
		return "", nil, nil
	}
	f, ok := map[string]file{
		"image": {c.ImageKey, "image", "image", "", ""},
		"file":  {c.FileKey, "file", cmp.Or(c.FileName, "file"), "", ""},
		"audio": {c.FileKey, "file", "audio.opus", "audio/ogg", ""},
		"media": {c.FileKey, "file", cmp.Or(c.FileName, "video.mp4"), "video/mp4", ""},
	}[kind]
	if !ok || f.key == "" {
		return "(a message of the type " + printable.Line(kind, 40) + ", which cannot be shown here)", nil, nil
	}
	return "", []file{f}, nil
}

// element is a piece of a rich text.
type element struct {
	Tag      string
	Text     string
	Href     string
	User     string `json:"user_id"` // the key of a mention
	UserName string `json:"user_name"`
	ImageKey string `json:"image_key"`
	FileKey  string `json:"file_key"`
	Emoji    string `json:"emoji_type"`
	Language string
}

// readPost reads a rich text (富文本, the same page).
func readPost(content string) (string, []file, error) {
	var post struct {
		Title    string
		Content  [][]element
		Elements [][]element // of a card
	}
	if err := json.Unmarshal([]byte(content), &post); err != nil {
		return "", nil, fmt.Errorf("the content of a rich text: %w", err)
	}
	post.Content = append(post.Content, post.Elements...)
	var files []file
	lines := make([]string, 0, len(post.Content)+1)
	if post.Title != "" {
		lines = append(lines, "**"+post.Title+"**")
	}
	for _, paragraph := range post.Content {
		var line strings.Builder
		for _, e := range paragraph {
			switch e.Tag {
			case "text", "md":
				line.WriteString(e.Text)
			case "a":
				if e.Text == "" || e.Text == e.Href {
					line.WriteString(e.Href)
				} else {
					line.WriteString("[" + e.Text + "](" + e.Href + ")")
				}
			case "at":
				if strings.HasPrefix(e.User, "@_") {
					line.WriteString(e.User)
				} else {
					line.WriteString("@" + cmp.Or(e.UserName, e.User))
				}
			case "emotion":
				line.WriteString(":" + e.Emoji + ":")
			case "code_block":
				line.WriteString("```" + strings.ToLower(e.Language) + "\n" + strings.TrimRight(e.Text, "\n") + "\n```")
			case "hr":
				line.WriteString("---")
			case "img":
				if e.ImageKey != "" && len(files) < maxListed {
					files = append(files, file{e.ImageKey, "image", "image", "", ""})
				}
			case "media":
				if e.FileKey != "" && len(files) < maxListed {
					files = append(files, file{e.FileKey, "file", "video.mp4", "video/mp4", ""})
				}
			default:
				line.WriteString(e.Text)
			}
		}
		lines = append(lines, line.String())
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), files, nil
}

// maxMentions is how many mentions of a message are replaced.
const maxMentions = 200

// replaceMentions writes names for the keys of mentions, and leaves out those of the bot.
func replaceMentions(text string, mentions []mention, bot string) (out string, named bool) {
	names := map[string]string{"@_all": "@all"}
	for _, m := range mentions[:min(len(mentions), maxMentions)] {
		if !strings.HasPrefix(m.Key, "@_") {
			continue
		}
		names[m.Key] = "@" + printable.Line(cmp.Or(m.Name, m.ID.Open), 100)
		if m.ID.Open == bot {
			names[m.Key], named = "", true
		}
	}
	text = mentioned.ReplaceAllStringFunc(text, func(key string) string {
		bare := strings.TrimSuffix(key, " ")
		switch name, ok := names[bare]; {
		case !ok:
			return key
		case name == "":
			return ""
		default:
			return name + key[len(bare):]
		}
	})
	return strings.TrimSpace(text), named
}

// mentioned matches the key of a mention, and a space behind it.
var mentioned = regexp.MustCompile(`@_[_a-z0-9]* ?`)
