package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// incoming makes a message of its updates; false if there is nothing to hand over.
func (c *Channel) incoming(ctx context.Context, r *run, updates []update) (channel.Incoming, bool) {
	switch u := updates[0]; {
	case u.Callback != nil:
		return c.press(ctx, u.Callback)
	case u.Message != nil:
		return c.message(ctx, r, updates)
	case u.ChannelPost != nil:
		m, ok := c.message(ctx, r, []update{{Message: u.ChannelPost}})
		return m, ok && m.Mentioned
	case u.Edited != nil:
		m, ok := c.message(ctx, r, whole(c.recent, u.Edited))
		m.Edited = true
		if first, is := c.firsts.Get(id(u.chat()) + " " + u.Edited.Album); is {
			m.ID = first // the text of an album may stand below any part
		}
		return m, ok
	case u.Membership != nil:
		return added(u, c.Former(id(u.Membership.Chat.ID)))
	}
	return channel.Incoming{}, false
}

// added tells of a group to which somebody has added the bot. One that has moved is known already.
func added(u update, known string) (channel.Incoming, bool) {
	m := u.Membership
	in := func(status string) bool {
		return slices.Contains([]string{"member", "administrator", "restricted"}, status)
	}
	return channel.Incoming{
		ID: "added-" + id(u.ID), From: person(m.From), At: channel.Address{Chat: id(m.Chat.ID)}, Group: true,
		Added: true,
	}, known == "" && m.Chat.Type != "private" && m.Chat.Type != "channel" && in(m.New.Status) && !in(m.Old.Status)
}

func (c *Channel) message(ctx context.Context, r *run, updates []update) (channel.Incoming, bool) {
	me, m := r.me, updates[0].Message
	if m.MigrateTo != 0 {
		c.moves.Move(ctx, id(m.Chat.ID), id(m.MigrateTo))
		return channel.Incoming{}, false
	}
	if m.MovedFrom != 0 {
		c.moves.Move(ctx, id(m.MovedFrom), id(m.Chat.ID))
		return channel.Incoming{}, false
	}
	if m.From != nil && m.From.ID == c.id {
		return channel.Incoming{}, false
	}
	in := channel.Incoming{
		ID: id(m.ID), From: sender(m), Group: m.Chat.Type != "private",
		At:   channel.Address{Chat: id(m.Chat.ID), Message: id(m.ID)},
		Time: time.Unix(m.Date, 0), Former: c.Former(id(m.Chat.ID)),
	}
	if m.InTopic {
		in.At.Thread = id(m.Thread)
	}
	if len(updates) > 1 {
		c.recent.Put(albumOf(m), updates)
	}
	var files []file
	for _, u := range updates {
		text, entities := u.Message.Text, u.Message.Entities
		if text == "" {
			text, entities = u.Message.Caption, u.Message.Captions
		}
		text, named := words(me, text, entities)
		if in.Mentioned = in.Mentioned || named; in.Text == "" {
			in.Text = text
		}
		files = append(files, attached(u.Message)...)
	}
	if m.Album != "" && len(updates) > 1 {
		c.firsts.Put(in.At.Chat+" "+m.Album, in.ID)
	}
	in.Text = cmp.Or(in.Text, described(m))
	if in.Text == "" && len(files) == 0 && m.External == nil {
		return channel.Incoming{}, false // somebody joined, a title changed, …
	}
	command := strings.HasPrefix(in.Text, "/")
	if in.Mentioned = in.Mentioned || answers(me, m); command && othersCommand(me, m) {
		in.Mentioned = false
	}
	switch {
	case m.Origin != nil:
		in.Text = "Forwarded from " + m.Origin.name() + ":\n" + platform.Quote(in.Text, len(in.Text))
	case m.Reply != nil && !command:
		if q := cited(me, m); q != "" {
			in.Text = strings.TrimSpace(platform.Quote(q, platform.MaxCited) + "\n\n" + in.Text)
		}
		if !m.Reply.of(me) {
			files = append(files, attached(m.Reply)...)
		}
	case m.OfStory != nil && !command:
		q := "(a story of " + m.OfStory.Chat.name() + ", which bots cannot see)"
		in.Text = strings.TrimSpace(platform.Quote(q, platform.MaxCited) + "\n\n" + in.Text)
	case m.External != nil && !command:
		q := cmp.Or(m.External.Text, m.External.Caption, described(&m.External.message))
		if m.Quote != nil {
			q = cmp.Or(m.Quote.Text, q)
		}
		if there := attached(&m.External.message); q == "" && len(there) > 0 {
			q = "(a file: " + there[0].Name + ")"
		}
		q = "From " + m.External.Origin.name() + ":\n" + cmp.Or(q, "(a message that is not shown)")
		in.Text = strings.TrimSpace(platform.Quote(q, platform.MaxCited) + "\n\n" + in.Text)
		files = append(files, attached(&m.External.message)...)
	}
	if !r.Wants(ctx, in) {
		in.Text = platform.Unread(in.Text, files, func(f file) string { return f.Name })
		return in, true
	}
	in.Files = c.fetch(ctx, files)
	if in.Group {
		in.From.Roles = c.rolesOf(ctx, m)
	}
	return in, true
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// sender says who wrote a message: a person, or a chat for its anonymous administrators
// and for posts of a channel.
func sender(m *message) channel.Sender {
	if s := m.SenderChat; s != nil {
		return channel.Sender{ID: id(s.ID), Handle: s.Username, Name: printable.Line(s.Title, 100),
			Bot: m.From != nil && m.From.ID == service}
	}
	if m.From == nil {
		return channel.Sender{ID: id(m.Chat.ID), Name: printable.Line(m.Chat.Title, 100)}
	}
	return person(*m.From)
}

// service is the account of Telegram itself, which repeats a channel's posts in its group.
const service = 777000

func person(u user) channel.Sender {
	return channel.Sender{ID: id(u.ID), Handle: u.Username, Name: u.name(), Language: u.Language, Bot: u.Bot}
}

func (u user) name() string { return printable.Line(u.First+" "+u.Last, 100) }

func (m *message) of(u user) bool { return m.From != nil && m.From.ID == u.ID }

// words returns a text as Markdown without the mentions of the bot, and whether there were
// any. A text that is nothing but a mention stays.
func words(me user, text string, entities []entity) (string, bool) {
	units, at, mentioned := utf16.Encode([]rune(text)), 0, false
	var out strings.Builder
	entities = slices.Clone(entities)
	slices.SortStableFunc(entities, func(a, b entity) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, e := range entities {
		if e.Offset < at || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			continue
		}
		part, end := string(utf16.Decode(units[e.Offset:e.Offset+e.Length])), e.Offset+e.Length
		with := ""
		switch name, to, _ := strings.Cut(part, "@"); {
		case e.Type == "mention" && name == "" && strings.EqualFold(to, me.Username), e.Type == "text_mention" &&
			e.User != nil && e.User.ID == me.ID:
			mentioned = true
			if begins := strings.TrimSpace(string(utf16.Decode(units[:e.Offset]))) == ""; begins ||
				units[e.Offset-1] == ' ' {
				for end < len(units) && (units[end] == ' ' || begins && (units[end] == ',' || units[end] == ':')) {
					end++
				}
			}
		case e.Type == "bot_command" && strings.EqualFold(to, me.Username):
			mentioned, with = true, name
		case e.Type == "code":
			with = codeSpan(part)
		case e.Type == "pre":
			with = "```" + printable.Line(strings.ReplaceAll(e.Language, "`", ""), 40) + "\n" +
				strings.TrimSuffix(part, "\n") + "\n```"
		case e.Type == "text_link":
			with = "[" + part + "](" + printable.OneLine(e.URL) + ")"
		default:
			continue
		}
		out.WriteString(string(utf16.Decode(units[at:e.Offset])))
		out.WriteString(with)
		at = end
	}
	out.WriteString(string(utf16.Decode(units[at:])))
	return cmp.Or(strings.TrimSpace(out.String()), strings.TrimSpace(text)), mentioned
}

// codeSpan is a text as code within a line of Markdown.
func codeSpan(text string) string {
	mark := "`"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	if len(mark) > 1 {
		return mark + " " + text + " " + mark
	}
	return mark + text + mark
}

// answers reports whether a message answers one of the bot's. The first message of a topic
// looks as if it were answered by all others.
func answers(me user, m *message) bool {
	return m.Reply != nil && m.Reply.of(me) && m.Reply.TopicMade == nil
}

// othersCommand reports whether a message begins with a command for another bot.
func othersCommand(me user, m *message) bool {
	first, _, _ := strings.Cut(cmp.Or(m.Text, m.Caption), " ")
	_, to, ok := strings.Cut(first, "@")
	return ok && !strings.EqualFold(strings.TrimSpace(to), me.Username)
}

// cited returns what a message answers, as far as the model needs it: the part that was
// chosen, or the text of somebody else.
func cited(me user, m *message) string {
	text := cmp.Or(m.Reply.Text, m.Reply.Caption, described(m.Reply))
	switch {
	case m.Quote != nil && m.Quote.Text != "":
		text = m.Quote.Text
	case m.Reply.of(me) || m.Reply.TopicMade != nil:
		return ""
	}
	return text
}

func (o *origin) name() string {
	switch {
	case o.User != nil:
		return cmp.Or(o.User.name(), "somebody")
	case o.From != nil:
		return printable.Line(o.From.Title, 100)
	case o.Chat != nil:
		return printable.Line(o.Chat.Title, 100)
	}
	return cmp.Or(printable.Line(o.Name, 100), "somebody")
}

// described says in words what else a message can be.
func described(m *message) string {
	switch {
	case m.Sticker != nil && m.Sticker.Set != "":
		return fmt.Sprintf("%s (a sticker of the set %s)", m.Sticker.Emoji, printable.Line(m.Sticker.Set, 64))
	case m.Sticker != nil:
		return m.Sticker.Emoji + " (a sticker)"
	case m.Venue != nil:
		return printable.Line("Place: "+m.Venue.Title+", "+m.Venue.Address, 500)
	case m.Location != nil:
		return fmt.Sprintf("Location: latitude %g, longitude %g", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		return printable.Line(fmt.Sprintf("Contact: %s %s, %s", m.Contact.First, m.Contact.Last, m.Contact.Phone), 500)
	case m.Poll != nil:
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, printable.Line(o.Text, 200))
		}
		return "Poll: " + printable.Line(m.Poll.Question, 500) + "\n- " + strings.Join(options, "\n- ")
	case m.Checklist != nil:
		var tasks []string
		for _, t := range m.Checklist.Tasks {
			tasks = append(tasks, printable.Line(t.Text, 200))
		}
		return "Checklist: " + printable.Line(m.Checklist.Title, 500) + "\n- " + strings.Join(tasks, "\n- ")
	case m.Dice != nil:
		return fmt.Sprintf("%s (a die shows %d)", m.Dice.Emoji, m.Dice.Value)
	case m.Game != nil:
		return "Game: " + printable.Line(m.Game.Title, 200)
	case m.Story != nil:
		return "(a story of " + m.Story.Chat.name() + ", which bots cannot see)"
	case m.Paid != nil:
		return "(media to be paid for, which bots cannot see)"
	case m.Invoice != nil:
		return "Invoice: " + printable.Line(m.Invoice.Title, 200)
	case m.Giveaway != nil:
		return "(a giveaway)"
	case m.kind != "":
		return "(" + strings.ReplaceAll(platform.Word(m.kind), "_", " ") + ": a message of a kind that cannot be read)"
	}
	return ""
}

// attached lists the files of a message, of a picture the largest size that can be
// downloaded.
func attached(m *message) (list []file) {
	if len(m.Photo) > 0 {
		best := m.Photo[0]
		for _, p := range m.Photo {
			if p.Size > best.Size && p.Size <= maxFile {
				best = p
			}
		}
		best.Name, best.MediaType = "photo.jpg", "image/jpeg"
		list = append(list, best)
	}
	document := m.Document
	if m.Animation != nil {
		document = nil // it is there twice
	}
	for _, f := range []struct {
		*file
		name, mediaType string
	}{
		{document, "document", "application/octet-stream"}, {m.Animation, "animation.mp4", "video/mp4"},
		{m.Audio, "audio.mp3", "audio/mpeg"},
		{m.Video, "video.mp4", "video/mp4"}, {m.VideoNote, "video.mp4", "video/mp4"},
		{m.Voice, "voice.ogg", "audio/ogg"},
	} {
		if f.file != nil {
			list = append(list, file{f.ID, cmp.Or(fileName(f.Name), f.name),
				cmp.Or(printable.Line(f.MediaType, 100), f.mediaType), f.Size})
		}
	}
	return list
}

// files reports whether messages have files, or answer one that has.
func files(updates []update) bool {
	return slices.ContainsFunc(updates, func(u update) bool {
		m := u.Message
		return m != nil && (len(attached(m)) > 0 || m.Reply != nil && len(attached(m.Reply)) > 0 ||
			m.External != nil && len(attached(&m.External.message)) > 0)
	})
}

// fetch downloads files, together no more than one may have. Those that are larger, or that
// cannot be downloaded at a second try either, come without their bytes. Other messages
// wait meanwhile, so there is a limit to it.
func (c *Channel) fetch(ctx context.Context, files []file) []chat.File {
	ctx, stop := context.WithTimeout(ctx, fetchTime)
	defer stop()
	var list []platform.Attachment
	for _, f := range files {
		list = append(list, platform.Attachment{
			Name: f.Name, MediaType: f.MediaType, Size: f.Size,
			Fetch: func(ctx context.Context, limit int64) ([]byte, error) {
				data, err := c.api.download(ctx, f.ID, limit)
				var no *platform.Failure
				if err != nil && !errors.Is(err, platform.ErrTooLarge) && (!errors.As(err, &no) || no.Status >= 500) {
					data, err = c.api.download(ctx, f.ID, limit)
				}
				return data, err
			},
		})
	}
	return platform.Load(ctx, c.log, list, maxFile)
}

// member is a person in a group.
type member struct{ chat, user int64 }

// rolesOf returns the roles of who wrote a message in a group. Who writes as the group
// itself is an administrator; a channel that writes in a group is unknown.
func (c *Channel) rolesOf(ctx context.Context, m *message) []string {
	switch {
	case m.SenderChat != nil && m.SenderChat.ID != m.Chat.ID, m.From == nil && m.SenderChat == nil &&
		m.Chat.Type != "channel":
		return nil
	case m.SenderChat != nil, m.From == nil:
		return []string{"administrator", "member"}
	}
	return c.standing(ctx, member{m.Chat.ID, m.From.ID})
}

// standing returns a person's roles in a group; none if Telegram does not say, so that
// rules see less than there may be, and never more.
func (c *Channel) standing(ctx context.Context, who member) []string {
	return c.roles.Get(ctx, who, func() (roles []string, known bool) {
		var got struct {
			Status string `json:"status"`
			Member bool   `json:"is_member"`
		}
		if err := c.api.call(ctx, "getChatMember", params{"chat_id": who.chat, "user_id": who.user}, &got); err != nil {
			c.log.WarnContext(ctx, "the role of a person in a group is unknown", "chat", who.chat, "person", who.user,
				"error", err)
			return nil, false
		}
		switch {
		case got.Status == "creator":
			return []string{"owner", "administrator", "member"}, true
		case got.Status == "administrator":
			return []string{"administrator", "member"}, true
		case got.Status == "member":
			return []string{"member"}, true
		case got.Status == "restricted" && got.Member:
			return []string{"restricted"}, true
		}
		// Somebody who has left or was never in, such as who comments on a channel's post.
		return []string{"guest"}, true
	})
}
