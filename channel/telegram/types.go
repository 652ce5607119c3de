package telegram

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/printable"
)

// The objects of the Bot API, with the fields that are read here.

type update struct {
	ID          int64     `json:"update_id"`
	Message     *message  `json:"message"`
	ChannelPost *message  `json:"channel_post"`
	Callback    *callback `json:"callback_query"`
	Edited      *message  `json:"edited_message"`
	Membership  *struct { // of the bot
		Chat place                   `json:"chat"`
		From user                    `json:"from"`
		Old  struct{ Status string } `json:"old_chat_member"`
		New  struct{ Status string } `json:"new_chat_member"`
	} `json:"my_chat_member"`
}

// chat returns the chat that an update belongs to; 0 for none.
func (u update) chat() int64 {
	switch {
	case u.Message != nil:
		return u.Message.Chat.ID
	case u.ChannelPost != nil:
		return u.ChannelPost.Chat.ID
	case u.Callback != nil && u.Callback.Message != nil:
		return u.Callback.Message.Chat.ID
	case u.Edited != nil:
		return u.Edited.Chat.ID
	case u.Membership != nil:
		return u.Membership.Chat.ID
	}
	return 0
}

// album returns the album that a message is a part of; empty for none.
func (u update) album() string {
	if u.Message == nil {
		return ""
	}
	return u.Message.Album
}

type user struct {
	ID       int64  `json:"id"`
	Bot      bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Username string `json:"username"`
	Language string `json:"language_code"`
}

type place struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	First    string `json:"first_name"` // of a direct chat
	Username string `json:"username"`
}

func (p place) name() string {
	return cmp.Or(printable.Line(cmp.Or(p.Title, p.First), 100), "somebody")
}

type message struct {
	ID         int64                                  `json:"message_id"`
	Thread     int64                                  `json:"message_thread_id"`
	InTopic    bool                                   `json:"is_topic_message"`
	From       *user                                  `json:"from"`
	SenderChat *place                                 `json:"sender_chat"`
	Date       int64                                  `json:"date"`
	Chat       place                                  `json:"chat"`
	Origin     *origin                                `json:"forward_origin"`
	Reply      *message                               `json:"reply_to_message"`
	Quote      *struct{ Text string }                 `json:"quote"`
	Text       string                                 `json:"text"`
	Entities   []entity                               `json:"entities"`
	Caption    string                                 `json:"caption"`
	Captions   []entity                               `json:"caption_entities"`
	Album      string                                 `json:"media_group_id"`
	Photo      []file                                 `json:"photo"`
	Document   *file                                  `json:"document"`
	Animation  *file                                  `json:"animation"`
	Audio      *file                                  `json:"audio"`
	Video      *file                                  `json:"video"`
	VideoNote  *file                                  `json:"video_note"`
	Voice      *file                                  `json:"voice"`
	Sticker    *sticker                               `json:"sticker"`
	Location   *struct{ Latitude, Longitude float64 } `json:"location"`
	Venue      *struct{ Title, Address string }       `json:"venue"`
	Contact    *contact                               `json:"contact"`
	External   *external                              `json:"external_reply"`
	Poll       *poll                                  `json:"poll"`
	Dice       *struct {
		Emoji string
		Value int
	} `json:"dice"`
	Game      *struct{ Title, Description string } `json:"game"`
	Story     *struct{ Chat place }                `json:"story"`
	Checklist *struct {
		Title string
		Tasks []struct{ Text string }
	} `json:"checklist"`
	Paid      *struct{}               `json:"paid_media"`
	Invoice   *struct{ Title string } `json:"invoice"`
	Giveaway  *struct{}               `json:"giveaway"`
	MigrateTo int64                   `json:"migrate_to_chat_id"`
	MovedFrom int64                   `json:"migrate_from_chat_id"`
	TopicMade *struct{}               `json:"forum_topic_created"`
	Markup    *keyboard               `json:"reply_markup"`
	OfStory   *struct{ Chat place }   `json:"reply_to_story"`

	// kind names the field that has the content, if none of the above has it.
	kind string
}

// plain is a message as it is decoded without a method of its own.
type plain message

// UnmarshalJSON implements [json.Unmarshaler].
func (m *message) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	if m.Text != "" || m.Caption != "" || described(m) != "" || len(attached(m)) > 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if strings.HasPrefix(string(fields[name]), "{") && !beside.MatchString(name) {
			m.kind = name
			break
		}
	}
	return nil
}

// beside are the fields with an object that are no content: what stands beside one, and what tells of the
// chat.
var beside = regexp.MustCompile(`^(from|chat|origin|quote|sender_.*|via_.*|guest_bot_.*|forward_.*|reply_.*|` +
	`external_reply|link_preview_options|business_.*|direct_message.*|suggested_post_.*|receiver_user|.*_members?|` +
	`.*_chat_created|pinned_message|message_auto_delete_timer_changed|write_access_allowed|` +
	`proximity_alert_triggered|boost_added|chat_(owner|background)_.*|(general_)?forum_topic_.*|` +
	`giveaway_(created|completed)|paid_message_price_changed|video_chat_.*|voice_chat_.*|` +
	`checklist_tasks_.*|managed_bot_.*|poll_option_.*)$`)

// external is a message of another chat that is answered, with what it has.
type external struct {
	message
	Origin origin `json:"origin"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *external) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &e.message); err != nil {
		return err
	}
	var from struct {
		Origin origin `json:"origin"`
	}
	err := json.Unmarshal(data, &from)
	e.Origin = from.Origin
	return err
}

type poll struct {
	Question string
	Options  []struct{ Text string }
}

type origin struct {
	User *user  `json:"sender_user"`
	Name string `json:"sender_user_name"`
	From *place `json:"sender_chat"`
	Chat *place `json:"chat"`
}

type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"` // in UTF-16 units, as Length
	Length   int    `json:"length"`
	URL      string `json:"url"`
	User     *user  `json:"user"`
	Language string `json:"language"`
}

type file struct {
	ID        string `json:"file_id"`
	Name      string `json:"file_name"`
	MediaType string `json:"mime_type"`
	Size      int64  `json:"file_size"`
}

type sticker struct {
	ID    string `json:"file_id"`
	Emoji string `json:"emoji"`
	Set   string `json:"set_name"`
}

type contact struct {
	Phone string `json:"phone_number"`
	First string `json:"first_name"`
	Last  string `json:"last_name"`
}

type callback struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

type button struct {
	Label string `json:"text"`
	Data  string `json:"callback_data"`
}
