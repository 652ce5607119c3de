package matrix

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
)

// Types of events.
const (
	typeMessage   = "m.room.message"
	typeEncrypted = "m.room.encrypted"
	typeSticker   = "m.sticker"
	typeMember    = "m.room.member"
	typeLevels    = "m.room.power_levels"
	typeTombstone = "m.room.tombstone"
	typeCreate    = "m.room.create"
	typeTopic     = "m.room.topic"
	typeDirect    = "m.direct"
	typePoll      = "org.matrix.msc3381.poll.start"
	typeNewPoll   = "m.poll.start"
	typeCall      = "m.call.invite"
	typeRing      = "org.matrix.msc4075.rtc.notification"
	typeBeacon    = "org.matrix.msc3672.beacon_info" // somebody shows where they are, for a time
	typeNewBeacon = "m.beacon_info"
)

// agentKey marks in a message that a program wrote it: two agents do not answer each other.
const agentKey = "run.etui.agent"

// event is an event of a room, or of the account's data.
type event struct {
	Type     string          `json:"type"`
	ID       string          `json:"event_id"`
	Sender   string          `json:"sender"`
	StateKey *string         `json:"state_key"`
	TS       float64         `json:"origin_server_ts"` // a number of milliseconds, however large
	Content  json.RawMessage `json:"content"`
	Unsigned struct {
		Replaces string  `json:"replaces_state"`
		Before   *member `json:"prev_content"`
	} `json:"unsigned"`
}

// member is the content of an event about somebody in a room.
type member struct {
	Membership string `json:"membership"`
	Name       string `json:"displayname"`
	Direct     bool   `json:"is_direct"`
}

// parse reads an event of a room. Those that a server has stripped have no ID.
func parse(data []byte) (e event, err error) {
	var loose struct {
		event
		Unsigned json.RawMessage `json:"unsigned"`
	}
	if err := json.Unmarshal(data, &loose); err != nil {
		return event{}, err
	}
	e = loose.event
	if len(loose.Unsigned) > 0 {
		_ = json.Unmarshal(loose.Unsigned, &e.Unsigned) // prev_content has another form in other events
	}
	if e.ID != "" && !eventID(e.ID) || !userID(e.Sender) || e.Type == "" || e.ID == "" && e.StateKey == nil {
		return event{}, errors.New("it has no ID, sender or type")
	}
	return e, nil
}

// time is when an event was sent; zero if it does not say.
func (e event) time() time.Time {
	if e.TS <= 0 || e.TS > 1<<52 {
		return time.Time{}
	}
	return time.UnixMilli(int64(e.TS))
}

// beacon reports whether somebody shows where they are: such an event is state, and written like a message.
func (e event) beacon() bool { return e.Type == typeBeacon || e.Type == typeNewBeacon }

// relation is how a message relates to others.
type relation struct {
	Type     string `json:"rel_type"`
	Event    string `json:"event_id"`
	Fallback bool   `json:"is_falling_back"`
	Reply    struct {
		Event string `json:"event_id"`
	} `json:"m.in_reply_to"`
}

// content is what a message says.
type content struct {
	Kind     string          `json:"msgtype"`
	Body     string          `json:"body"`
	HTML     string          `json:"formatted_body"`
	Filename string          `json:"filename"`
	URL      string          `json:"url"`
	Geo      string          `json:"geo_uri"`
	Locked   json.RawMessage `json:"file"` // a file that is encrypted
	Agent    bool            `json:"run.etui.agent"`
	Live     bool            `json:"live"` // of a place that is shown for a time
	Info     struct {
		MediaType string  `json:"mimetype"`
		Size      float64 `json:"size"`
	} `json:"info"`
	Mentions *struct {
		Users []string `json:"user_ids"`
	} `json:"m.mentions"`
	Relates relation `json:"m.relates_to"`
}

// arrival is a message that has arrived, without what has to be asked for: what it answers,
// the sender's name and roles, the bytes of its files.
type arrival struct {
	channel.Incoming
	encrypted bool
	replyTo   string // empty if it answers nothing
	files     []file
}

// file is a file of a message.
type file struct {
	name, mediaType, url string
	size                 int64
}

// arrival makes a message of an event; false if there is nothing to hand over.
func (c *Channel) arrival(me *account, room string, e event) (*arrival, bool) {
	if e.ID == "" || e.StateKey != nil && !e.beacon() || e.Sender == me.ID {
		return nil, false
	}
	a := &arrival{Incoming: channel.Incoming{
		ID: e.ID, From: channel.Sender{ID: e.Sender, Handle: printable.Line(local(e.Sender), 100)},
		At: channel.Address{Chat: room, Message: e.ID}, Time: e.time(),
	}}
	var said content
	if err := json.Unmarshal(e.Content, &said); err != nil {
		c.log.Warn("a message of Matrix is not as expected, and is left out", "event", e.ID, "error", err)
		return nil, false
	}
	if first := said.Relates.Event; said.Relates.Type == "m.replace" {
		var now struct {
			New content `json:"m.new_content"`
		}
		if !eventID(first) || json.Unmarshal(e.Content, &now) != nil {
			return nil, false
		}
		said, a.ID, a.At.Message, a.Edited = now.New, first, first, true
	}
	a.relate(said.Relates)
	switch e.Type {
	case typeEncrypted:
		a.encrypted = true
		return a, true
	case typeSticker:
		said.Kind = typeSticker
	case typePoll, typeNewPoll:
		said.Kind, said.Body = "m.text", asked(e.Content)
	case typeCall, typeRing:
		said.Kind, said.Body = "m.text", "(a call, which cannot be answered here)"
	case typeBeacon, typeNewBeacon:
		if !said.Live {
			return nil, false // it ends
		}
		said.Kind, said.Body = "m.text", "(a live location, which cannot be followed here)"
	case typeMessage:
	default:
		return nil, false
	}
	a.From.Bot = said.Kind == "m.notice" || said.Kind == "m.server_notice" || said.Agent
	a.Text, a.files = said.says(a.replyTo != "")
	a.Text, a.Mentioned = me.named(a.Text, said)
	a.Text = command(a.Text)
	return a, a.Text != "" || len(a.files) > 0
}

// relate notes the thread of a message and what it answers.
func (a *arrival) relate(to relation) {
	if to.Type == "m.thread" && eventID(to.Event) {
		a.At.Thread = to.Event
	}
	if reply := to.Reply.Event; eventID(reply) && (a.At.Thread == "" || !to.Fallback) {
		a.replyTo = reply
	}
}

// says returns what a message says in words, and its files. A reply of an older client begins
// with what it answers.
func (s content) says(reply bool) (text string, files []file) {
	body := strings.TrimSpace(s.Body)
	if reply && strings.HasPrefix(body, "> ") {
		if _, rest, ok := strings.Cut(body, "\n\n"); ok {
			body = strings.TrimSpace(rest)
		}
	}
	switch s.Kind {
	case "m.image", "m.file", "m.audio", "m.video":
		name := cmp.Or(printable.Line(s.Filename, 255), printable.Line(s.Body, 255), strings.TrimPrefix(s.Kind, "m."))
		files = []file{{name, printable.Line(strings.ToLower(s.Info.MediaType), 100), s.URL,
			int64(min(max(s.Info.Size, 0), 1<<40))}}
		if s.Filename == "" || s.Filename == s.Body {
			body = ""
		}
		return body, files
	case "m.text", "m.notice":
		return body, nil
	case "m.emote":
		return "*" + body + "*", nil
	case "m.location":
		return strings.TrimSpace("Location: " + printable.Line(s.Geo, 200) + "\n" + body), nil
	case typeSticker:
		return "(a sticker: " + printable.Line(body, 200) + ")", nil
	}
	if strings.HasPrefix(s.Kind, "m.key.") {
		return "", nil // of clients that verify each other
	}
	if body == "" && s.Kind != "" { // a redacted one has none
		body = "(a message of the type " + printable.Line(s.Kind, 100) + ", which cannot be read)"
	}
	return body, nil // of a kind that nobody knows
}

// asked returns what a poll asks.
func asked(raw json.RawMessage) string {
	type text struct {
		Text string `json:"org.matrix.msc1767.text"`
		Now  []struct {
			Body string `json:"body"`
		} `json:"m.text"`
	}
	says := func(t text) string {
		for _, now := range t.Now {
			t.Text = cmp.Or(t.Text, now.Body)
		}
		return t.Text
	}
	type poll struct {
		Question text
		Answers  []text
	}
	var said struct {
		Poll *poll `json:"org.matrix.msc3381.poll.start"`
		Now  *poll `json:"m.poll"`
	}
	err := json.Unmarshal(raw, &said)
	one := cmp.Or(said.Poll, said.Now)
	if err != nil || one == nil || says(one.Question) == "" {
		return "(a poll, which cannot be shown here)"
	}
	out := "Poll: " + printable.Line(says(one.Question), 300)
	for _, a := range one.Answers[:min(len(one.Answers), 20)] {
		out += "\n- " + printable.Line(says(a), 200)
	}
	return out
}

// named reports whether a message names the account, and returns the text without its name at
// the beginning. A text that is nothing but the name stays.
func (me *account) named(text string, s content) (string, bool) {
	named := s.Mentions != nil && slices.Contains(s.Mentions.Users[:min(len(s.Mentions.Users), 1000)], me.ID)
	if s.Mentions == nil { // an older client
		named = strings.Contains(s.HTML, "https://matrix.to/#/"+me.ID+`"`)
	}
	for _, name := range []string{me.ID, me.Name, local(me.ID)} {
		if rest, ok := without(strings.TrimPrefix(text, "@"), name); ok {
			return cmp.Or(rest, text), true
		}
		if rest, ok := without(text, name); ok {
			return cmp.Or(rest, text), true
		}
	}
	if i := strings.Index(text, me.ID); i >= 0 {
		next, _ := utf8.DecodeRuneInString(text[i+len(me.ID):])
		named = named || !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '-' && next != '.' ||
			next == utf8.RuneError
	}
	return text, named
}

// without returns a text without a name at its beginning; false if it does not begin with it.
func without(text, name string) (string, bool) {
	if len(text) < len(name) || name == "" || !strings.EqualFold(text[:len(name)], name) {
		return "", false
	}
	rest := text[len(name):]
	next, size := utf8.DecodeRuneInString(rest)
	if size > 0 && !unicode.IsSpace(next) && !strings.ContainsRune(":,，：;!?", next) {
		return "", false
	}
	return strings.TrimSpace(strings.TrimLeft(rest, ":,，：; \t\n")), true
}

// command writes a command with a slash that begins with an exclamation mark: clients keep
// texts that begin with a slash to themselves.
func command(text string) string {
	rest, ok := strings.CutPrefix(text, "!")
	if !ok {
		return text
	}
	name, _, _ := strings.Cut(rest, " ")
	if slices.ContainsFunc(channel.Commands(), func(c channel.Command) bool { return c.Name == name }) {
		return "/" + rest
	}
	return text
}

// cited is a message that is answered.
type cited struct {
	sender, text string
	said         content
	files        []file
}

// citation returns what an event says.
func citation(e event) cited {
	var said content
	switch {
	case e.Type == typePoll || e.Type == typeNewPoll:
		return cited{sender: e.Sender, text: asked(e.Content)}
	case e.Type != typeMessage && e.Type != typeSticker || json.Unmarshal(e.Content, &said) != nil:
		return cited{sender: e.Sender}
	}
	if e.Type == typeSticker {
		said.Kind = typeSticker
	}
	text, files := said.says(eventID(said.Relates.Reply.Event))
	return cited{e.Sender, text, said, files}
}

// poll is a poll as clients know it.
func poll(question string, options []string, most int) map[string]any {
	type object = map[string]any
	const plain = "org.matrix.msc1767.text"
	answers, fallback := make([]object, len(options)), question
	for i, o := range options {
		answers[i] = object{"id": fmt.Sprintf("option-%d", i+1), plain: o}
		fallback += fmt.Sprintf("\n%d. %s", i+1, o)
	}
	return object{
		plain: fallback, "m.mentions": object{}, agentKey: true,
		typePoll: object{"kind": "org.matrix.msc3381.poll.disclosed", "max_selections": most,
			"question": object{plain: question}, "answers": answers},
	}
}
