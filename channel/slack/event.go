package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

// arrival is a message that has arrived, without what has to be asked for: the sender's
// name and roles and the bytes of its files.
type arrival struct {
	channel.Incoming
	edit   string // when it was edited; empty if it was not
	files  []file
	raw    string // the text as Slack writes it; empty if Incoming has it
	shared []shared
	below  bool   // it is in a thread that somebody else has begun
	moved  string // the ID that the chat has had; it is no message then
	// renamed means that chats have other names now; it is no message then, either.
	renamed bool
}

// messageID is the ID of a message in all chats.
func messageID(chat, ts string) string { return chat + ":" + ts }

// splitID returns the chat and the timestamp of a message's ID.
func splitID(id string) (chat, ts string) {
	i := strings.LastIndexByte(id, ':')
	return id[:max(i, 0)], id[i+1:]
}

// read reads what Slack has delivered, by the kinds of Socket Mode. It returns nil if there
// is nothing to hand over.
func (s *session) read(kind string, payload []byte) (*arrival, error) {
	switch kind {
	case "events_api":
		return s.readEvent(payload)
	case "slash_commands":
		return readCommand(payload)
	case "interactive":
		return readPress(payload)
	}
	return nil, nil
}

// event is a message, or the mention of a bot in one.
type event struct {
	Type        string
	Subtype     string
	Hidden      bool
	User        string
	Bot         string `json:"bot_id"`
	Text        string
	TS          string
	Thread      string `json:"thread_ts"`
	Parent      string `json:"parent_user_id"`
	Channel     string
	ChannelType string `json:"channel_type"`
	Files       []file
	Inviter     string
	// Message and Previous are those of an edited message.
	Message     *version
	Previous    *version `json:"previous_message"`
	Attachments []shared
	Blocks      []struct{ Type string }
}

// version is a message before or after it was edited.
type version struct {
	event
	Edited struct{ TS string }
}

// edited returns an edited message as the event of a new one; false if its text is the same, as when
// Slack has loaded the page of a link.
func (e event) edited() (event, bool) {
	if e.Subtype != "message_changed" || e.Message == nil || e.Previous == nil || e.Message.Text == e.Previous.Text {
		return e, false
	}
	now := e.Message.event
	now.Type, now.Channel, now.ChannelType = e.Type, e.Channel, e.ChannelType
	return now, true
}

// shared is a message that somebody passes on, or what a program has attached.
type shared struct {
	Share    bool   `json:"is_share"`
	Unfurl   bool   `json:"is_msg_unfurl"`
	Author   string `json:"author_name"`
	Title    string
	Text     string
	Fallback string
	Files    []file
}

// text returns what an attachment says, as Slack writes it; empty for the preview of a link.
func (a shared) text() string {
	if !a.Share && !a.Unfurl {
		return ""
	}
	text := strings.TrimSpace(a.Title + "\n" + cmp.Or(a.Text, a.Fallback))
	if text == "" && a.Share && len(a.Files) == 0 {
		return "(a message that cannot be read)"
	}
	return text
}

func (s *session) readEvent(payload []byte) (*arrival, error) {
	var outer struct {
		Type  string
		Event json.RawMessage
	}
	if err := json.Unmarshal(payload, &outer); err != nil {
		return nil, err
	}
	switch outer.Type {
	case "event_callback":
	case "app_rate_limited":
		s.log.Warn("slack leaves events out, as the workspace has more than it delivers to an app")
		return nil, nil
	default:
		return nil, nil
	}
	var kind struct{ Type string }
	if err := json.Unmarshal(outer.Event, &kind); err != nil {
		return nil, err
	}
	if kind.Type == "member_joined_channel" {
		var e event
		err := json.Unmarshal(outer.Event, &e)
		if err != nil || e.User != s.self.User || e.Channel == "" {
			return nil, err
		}
		return &arrival{Incoming: channel.Incoming{
			ID: messageID(e.Channel, "added-"+e.Inviter), From: channel.Sender{ID: cmp.Or(e.Inviter, e.User)},
			At: channel.Address{Chat: e.Channel}, Group: true, Added: true,
		}}, nil
	}
	if kind.Type == "channel_id_changed" {
		var e struct {
			Old string `json:"old_channel_id"`
			New string `json:"new_channel_id"`
		}
		err := json.Unmarshal(outer.Event, &e)
		if err != nil || e.Old == "" || e.New == "" {
			return nil, err
		}
		return &arrival{moved: e.Old, Incoming: channel.Incoming{At: channel.Address{Chat: e.New}}}, nil
	}
	switch kind.Type {
	case "channel_rename", "group_rename", "channel_created", "channel_archive", "channel_unarchive", "channel_deleted":
		return &arrival{renamed: true}, nil
	}
	if kind.Type != "message" && kind.Type != "app_mention" {
		return nil, nil // others have fields of the same name and another type
	}
	var e event
	if err := json.Unmarshal(outer.Event, &e); err != nil {
		return nil, err
	}
	edit := ""
	if now, is := e.edited(); is {
		edit, e = e.Message.Edited.TS, now
	}
	switch {
	case e.Hidden, e.User == "", e.Channel == "", e.TS == "":
		return nil, nil
	case !slices.Contains([]string{"", "file_share", "thread_broadcast", "me_message"}, e.Subtype):
		return nil, nil // edits, deletions, joins and the like
	case e.User == s.self.User, e.Bot != "" && e.Bot == s.self.Bot:
		return nil, nil // its own
	}
	written, err := moment(e.TS)
	if err != nil {
		return nil, err
	}
	text, named := readText(e.Text, s.self.User)
	var passed []shared
	for _, a := range e.Attachments {
		if a.text() != "" || len(a.Files) > 0 {
			passed = append(passed, a)
		}
	}
	if text == "" && len(e.Files) == 0 && !named && len(passed) == 0 {
		switch {
		case len(e.Blocks) > 0:
			text = "(a message of blocks of the type " + platform.Word(e.Blocks[0].Type) + ", which cannot be read)"
		case len(e.Attachments) > 0:
			text = "(a message with an attachment that cannot be read)"
		default:
			return nil, nil
		}
	}
	for _, a := range passed {
		e.Files = append(e.Files, a.Files...)
	}
	direct := e.Type == "message" &&
		(e.ChannelType == "im" || e.ChannelType == "app_home" ||
			e.ChannelType == "" && strings.HasPrefix(e.Channel, "D"))
	a := &arrival{files: e.Files, raw: e.Text, shared: passed, Incoming: channel.Incoming{
		ID:        messageID(e.Channel, e.TS),
		From:      channel.Sender{ID: e.User, Bot: e.Bot != "" || e.User == "USLACKBOT"},
		At:        channel.Address{Chat: e.Channel, Thread: e.Thread, Message: messageID(e.Channel, e.TS)},
		Group:     !direct,
		Mentioned: !direct && (named || e.Type == "app_mention" || e.Parent != "" && e.Parent == s.self.User),
		Text:      text,
		Time:      written,
		Edited:    edit != "",
	}, edit: edit}
	if a.below = a.Group && a.At.Thread != "" && a.At.Thread != e.TS; !a.below && a.Group {
		a.At.Thread = e.TS // the reply begins a thread, and what is written there belongs to it
		if a.Mentioned {
			s.begun.Put(messageID(e.Channel, e.TS), true)
			s.upTo.Note(messageID(e.Channel, e.TS), e.TS) // the conversation has it
		}
	}
	return a, nil
}

// moment reads the timestamp that is a message's ID: seconds and microseconds.
func moment(ts string) (time.Time, error) {
	seconds, rest, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || s < 0 || len(ts) > 32 {
		return time.Time{}, fmt.Errorf("the timestamp of a message is %q", platform.Word(ts))
	}
	micros, _ := strconv.ParseInt((rest + "000000")[:6], 10, 64)
	return time.Unix(s, max(micros, 0)*1000), nil
}

// readCommand reads /etui TEXT.
func readCommand(payload []byte) (*arrival, error) {
	var c struct {
		Text    string
		User    string `json:"user_id"`
		Handle  string `json:"user_name"`
		Channel string `json:"channel_id"`
		Name    string `json:"channel_name"`
		Trigger string `json:"trigger_id"`
		Answer  string `json:"response_url"`
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	if c.User == "" || c.Channel == "" || c.Trigger == "" {
		return nil, errors.New("a slash command has no user, channel or trigger")
	}
	text, _ := readText(strings.TrimSpace(c.Text), "")
	if text == "" {
		return nil, nil
	}
	a := &arrival{Incoming: channel.Incoming{
		ID:        messageID(c.Channel, c.Trigger),
		From:      channel.Sender{ID: c.User, Handle: printable.Text(c.Handle)},
		At:        channel.Address{Chat: c.Channel, Answer: c.Answer},
		Group:     true,
		Mentioned: true,
		Text:      text,
	}}
	if c.Name == "directmessage" {
		// This may be the chat of two people. The reply is for the one who wrote the command:
		// with a person's ID Slack finds the chat with the bot.
		a.At.Chat, a.Group, a.Mentioned = c.User, false, false
	}
	return a, nil
}

// pressed begins the action_id of the channel's own buttons.
const pressed = "etui_"

// readPress reads the press of a button that Send has shown.
func readPress(payload []byte) (*arrival, error) {
	var p struct {
		Type string
		User struct {
			ID, Username string
		}
		Container struct {
			Message string `json:"message_ts"`
			Thread  string `json:"thread_ts"`
		}
		Channel struct{ ID, Name string }
		Message struct {
			Thread string `json:"thread_ts"`
		}
		Actions []struct {
			ID    string `json:"action_id"`
			Type  string
			Value string
			TS    string `json:"action_ts"`
		}
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, err
	}
	if p.Type != "block_actions" || len(p.Actions) != 1 || p.Actions[0].Type != "button" ||
		!strings.HasPrefix(p.Actions[0].ID, pressed) {
		return nil, nil
	}
	action := p.Actions[0]
	if p.User.ID == "" || p.Channel.ID == "" || action.TS == "" || p.Container.Message == "" {
		return nil, errors.New("a pressed button has no user, channel, message or time")
	}
	written, err := moment(action.TS)
	if err != nil {
		return nil, err
	}
	direct := p.Channel.Name == "directmessage"
	a := &arrival{Incoming: channel.Incoming{
		ID:   messageID(p.Channel.ID, action.TS+"-"+p.User.ID), // two people may press at the same moment
		From: channel.Sender{ID: p.User.ID, Handle: printable.Text(p.User.Username)},
		At: channel.Address{Chat: p.Channel.ID, Thread: p.Message.Thread,
			Message: messageID(p.Channel.ID, p.Container.Message)},
		Group:     !direct,
		Mentioned: !direct,
		Text:      action.Value,
		Time:      written,
	}}
	if a.At.Thread == "" {
		a.At.Thread = p.Container.Thread
	}
	if a.Group && a.At.Thread == "" {
		a.At.Thread = p.Container.Message
	}
	return a, nil
}
