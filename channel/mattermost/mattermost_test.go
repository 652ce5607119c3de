package mattermost_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/mattermost"
	"github.com/etui-run/etui/channel/mattermost/mattermosttest"
	"github.com/etui-run/etui/chat"
)

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return newServer(t) })
}

type post = mattermosttest.Post

// got collects what arrives.
type got chan channel.Incoming

func (g got) Receive(ctx context.Context, m channel.Incoming) error {
	select {
	case g <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g got) next(t *testing.T) channel.Incoming {
	t.Helper()
	select {
	case m := <-g:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("nothing arrived")
		panic("unreachable")
	}
}

// run runs a channel until stop or the end of the test.
func run(t *testing.T, c channel.Channel, in channel.Receiver) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx, in); ctx.Err() == nil {
			t.Errorf("Run: %v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func begin(t *testing.T) (*server, *mattermost.Channel, got) {
	s, in := newServer(t), make(got, 64)
	c := s.Channel(t).(*mattermost.Channel)
	run(t, c, in)
	s.ready()
	return s, c, in
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]mattermost.Config{
		"":                  {URL: "https://chat.example.org/", Token: mattermosttest.Token},
		"url is missing":    {Token: mattermosttest.Token},
		"not the address":   {URL: "chat.example.org", Token: mattermosttest.Token},
		"write https":       {URL: "http://chat.example.org", Token: mattermosttest.Token},
		"not that of a bot": {URL: "https://chat.example.org", Token: "a/../b"},
	} {
		if _, err := mattermost.New(config); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "../b")) {
			t.Errorf("%q: %v", want, err)
		}
	}
	s := newServer(t)
	c := s.Channel(t).(*mattermost.Channel)
	if name, err := c.Probe(t.Context()); err != nil || name != "@etui ("+mattermosttest.Bot+")" {
		t.Errorf("%q, %v", name, err)
	}
	s.Server.Fail("GET users/me", mattermosttest.Failure{Status: 401, ID: "api.context.session_expired.app_error"})
	if _, err := c.Probe(t.Context()); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("a token that is not valid any more: %v", err)
	}
}

// TestMentions checks what counts as naming the bot in a channel, and that the text is without it.
func TestMentions(t *testing.T) {
	t.Parallel()
	s, _, in := begin(t)
	for _, c := range []struct {
		text, want string
		mentioned  bool
	}{
		{"@etui hello", "hello", true}, {"@ETUI: hello", "hello", true}, {"so, @etui, what now?", "so, what now?", true}, {"hello @etui.", "hello .", true},
		{":smile: hello", ":smile: hello", false}, {"me@etui.example", "me@etui.example", false}, {"@etui-test hello", "@etui-test hello", false},
		{"@etui.test hello", "@etui.test hello", false}, {"@@etui", "@@etui", false},
	} {
		id := s.Write(post{User: ann, Chat: town, Message: c.text})
		if m := in.next(t); m.ID != id || m.Text != c.want || m.Mentioned != c.mentioned || !m.Group || m.At.Thread != id || m.At.Chat != town {
			t.Errorf("%q: %+v", c.text, m)
		}
	}
}

// TestThreads checks that an answer to the bot counts as naming it, and where replies go.
// TestNamesShown: the name that people see counts only where no channel has it in its address.
func TestNamesShown(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		s := newServer(t)
		s.Rename(town, mattermosttest.Object{"type": "P", "team_id": mattermosttest.ID("team"), "name": "mine", "display_name": "Ops"})
		if taken {
			s.Rename(mattermosttest.ID("200"), mattermosttest.Object{"type": "O", "team_id": mattermosttest.ID("team"), "name": "ops", "outside": true})
		}
		c := s.Channel(t).(channel.Finder)
		id, err := c.Names().ID(t.Context(), "#ops")
		if want := map[bool]string{false: town, true: mattermosttest.ID("200")}[taken]; id != want || (err != nil) != taken {
			t.Errorf("taken %v: %q, %v", taken, id, err)
		}
	}
}

func TestThreads(t *testing.T) {
	t.Parallel()
	s, c, in := begin(t)
	root, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: town}, Text: "news"})
	if err != nil {
		t.Fatal(err)
	}
	s.Write(post{User: ann, Chat: town, Root: root, Message: "tell me more"})
	m := in.next(t)
	if !m.Mentioned || m.At.Thread != root {
		t.Errorf("an answer to the bot: %+v", m)
	}
	id, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "more"})
	if err != nil || s.Get(id).Root != root {
		t.Errorf("%+v, %v", s.Get(id), err)
	}
	own := s.Write(post{User: ann, Chat: town, Message: "a question"})
	in.next(t)
	s.Write(post{User: ann, Chat: town, Root: own, Message: "and another"})
	if m := in.next(t); m.Mentioned || m.At.Thread != own {
		t.Errorf("a thread of somebody else: %+v", m)
	}
	if err := c.Typing(t.Context(), m.At); err != nil || s.Called("POST users/me/typing")[0].Body["parent_id"] != root {
		t.Errorf("typing: %v, %v", s.Called("POST users/me/typing"), err)
	}
	s.Server.Fail("POST posts", mattermosttest.Failure{Status: 400, ID: "api.post.create_post.root_id.app_error"})
	if _, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "more"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("a thread that was deleted: %v", err)
	}
}

// TestThreadBefore checks that a mention in a thread brings what was said there, and later ones what is new.
func TestThreadBefore(t *testing.T) {
	t.Parallel()
	s, c, in := begin(t)
	root := s.Write(post{User: ann, Chat: town, Message: "The deploy failed."})
	in.next(t)
	s.Write(post{User: ann, Chat: town, Root: root, Message: "At 10:02."})
	in.next(t)
	s.Write(post{User: ann, Chat: town, Root: root, Message: "@etui summarize this"})
	m := in.next(t)
	if want := "[The thread before this message]\n> Ann: The deploy failed.\n> Ann: At 10:02.\n\nsummarize this"; m.Text != want || !m.Mentioned {
		t.Errorf("%+v", m)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "It failed."}); err != nil {
		t.Fatal(err)
	}
	s.Write(post{User: ann, Chat: town, Root: root, Message: "It works again."})
	in.next(t)
	s.Write(post{User: ann, Chat: town, Root: root, Message: "and now, @etui?"})
	if m := in.next(t); m.Text != "[The thread before this message]\n> Ann: It works again.\n\nand now,?" && m.Text != "[The thread before this message]\n> Ann: It works again.\n\nand now, ?" {
		t.Errorf("%q", m.Text)
	}
	begun := s.Write(post{User: ann, Chat: town, Message: "@etui hello"})
	in.next(t)
	s.Write(post{User: ann, Chat: town, Root: begun, Message: "more"})
	if m := in.next(t); m.Text != "more" || !m.Mentioned {
		t.Errorf("in a thread that began with a mention: %+v", m)
	}
	own, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: town}, Text: "It is up."})
	if err != nil {
		t.Fatal(err)
	}
	s.Write(post{User: ann, Chat: town, Root: own, Message: "Since when?"})
	if m := in.next(t); m.Text != "[The thread before this message]\n> you: It is up.\n\nSince when?" || !m.Mentioned {
		t.Errorf("below what the bot has written by itself: %+v", m)
	}
}

// TestLeftOut checks what is no message of a person to the bot.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	s, _, in := begin(t)
	s.Write(post{User: ann, Chat: town, Message: "ann joined", Type: "system_join_channel"})
	s.Write(post{User: mattermosttest.Bot, Chat: town, Message: "mine"})
	s.Write(post{User: "../../x", Chat: town, Message: "no ID"})
	s.Event("posted", mattermosttest.Object{"post": "{", "channel_type": "D"})
	s.Event("typing", mattermosttest.Object{"user_id": ann})
	s.Write(post{User: ann, Chat: town, Message: "from a program", Props: mattermosttest.Object{"from_webhook": "true"}})
	if m := in.next(t); m.Text != "from a program" || !m.From.Bot {
		t.Errorf("%+v", m)
	}
	s.Person(mattermosttest.ID("other"), mattermosttest.Object{"username": "other", "is_bot": true})
	s.Write(post{User: mattermosttest.ID("other"), Chat: town, Message: "from another bot"})
	if m := in.next(t); m.Text != "from another bot" || !m.From.Bot {
		t.Errorf("%+v", m)
	}
}

// aloof wants nothing of a group that does not mention the bot.
type aloof struct{ got }

func (aloof) Wants(_ context.Context, m channel.Incoming) bool { return !m.Group || m.Mentioned }

// TestOverheard: what does not mention the bot comes with the name of who said it and those of its files, and
// without their bytes.
func TestOverheard(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	run(t, s.Channel(t), aloof{in})
	s.ready()
	s.Write(post{User: ann, Chat: town, Message: "look", Files: []string{s.Upload("a.pdf", "application/pdf", []byte("%PDF-"))}})
	if m := in.next(t); m.From.Name != "Ann" || m.Text != "look\n(a file: a.pdf)" || len(m.Files) > 0 {
		t.Errorf("%+v", m)
	}
}

// TestEdited: an edited post comes once for each text, and the bot says when it was added to a channel.
func TestEdited(t *testing.T) {
	t.Parallel()
	s, _, in := begin(t)
	id := s.Write(post{User: ann, Chat: town, Message: "@etui first"})
	if m := in.next(t); m.Edited || m.Text != "first" {
		t.Errorf("%+v", m)
	}
	edit := func(text string, at int64) {
		text = fmt.Sprintf(`{"id":%q,"user_id":%q,"channel_id":%q,"create_at":5,"edit_at":%d,"message":%q}`, id, ann, town, at, text)
		s.Event("post_edited", mattermosttest.Object{"post": text})
	}
	edit("@etui first", 0) // it was pinned
	edit("@etui second", 7)
	edit("@etui second", 7) // somebody has reacted
	edit("@etui third", 8)
	for _, want := range []string{"second", "third"} {
		if m := in.next(t); !m.Edited || m.ID != id || m.Text != want || !m.Mentioned || !m.Group {
			t.Errorf("edited: %+v", m)
		}
	}
	for _, who := range []string{ann, mattermosttest.Bot} {
		s.Write(post{User: ann, Chat: town, Message: "added", Type: "system_add_to_channel",
			Props: mattermosttest.Object{"addedUserId": who}})
	}
	if m := in.next(t); !m.Added || !m.Group || m.At.Chat != town || m.From.ID != ann {
		t.Errorf("added: %+v", m)
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	s, _, in := begin(t)
	for id, profile := range map[string]mattermosttest.Object{
		"admin": {"username": "root", "nickname": "Boss", "roles": "system_user system_admin"}, "guest": {"username": "g", "roles": "system_guest"},
		"4711": {"username": "ann", "first_name": "Ann", "last_name": "Lee", "roles": "system_user"},
	} {
		s.Person(mattermosttest.ID(id), profile)
	}
	for id, want := range map[string]channel.Sender{
		"admin": {Handle: "root", Name: "Boss", Roles: []string{"administrator", "member"}}, "guest": {Handle: "g", Roles: []string{"guest"}},
		"4711": {Handle: "ann", Name: "Ann Lee", Roles: []string{"member"}}, "nobody": {},
	} {
		want.ID = mattermosttest.ID(id)
		for range 2 {
			s.Write(post{User: want.ID, Chat: town, Message: "hello"})
			if m := in.next(t); m.From.ID != want.ID || m.From.Handle != want.Handle || m.From.Name != want.Name || !slices.Equal(m.From.Roles, want.Roles) {
				t.Errorf("%+v, want %+v", m.From, want)
			}
		}
	}
	if n := len(s.Called("GET users/{user}")); n != 4 {
		t.Errorf("people were asked about %d times", n)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s, c, in := begin(t)
	small, large := s.Upload("a.txt", "text/plain", []byte("small")), s.Upload("b.bin", "application/x-b", make([]byte, 21<<20))
	s.Write(post{User: ann, Chat: dm, Files: []string{small, large}})
	m := in.next(t)
	if len(m.Files) != 2 || string(m.Files[0].Data) != "small" || m.Files[0].Name != "a.txt" || m.Files[0].MediaType != "text/plain" || m.Files[1].Data != nil || m.Files[1].Size != 21<<20 {
		t.Errorf("%d files, %+v", len(m.Files), m.Text)
	}
	files := []chat.File{{Name: "f.txt", MediaType: "text/plain", Data: []byte("f")}, {Name: "g.txt", MediaType: "text/plain", Data: []byte("g")}}
	for range 2 { // the same message twice is posted once
		if _, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "two", Files: files, Key: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	sent := s.Sent(dm)
	if len(sent) != 3 || sent[0].Message != "two" || len(sent[0].Files) != 0 || sent[2].Message != "" || !slices.Equal(s.Content(sent[2]), []string{"g.txt=g"}) {
		t.Errorf("%+v", sent)
	}
	next := s.Channel(t) // which does not remember it, but the server does
	if id, err := next.Send(t.Context(), channel.Outgoing{To: m.At, Text: "two", Files: files, Key: "k"}); err != nil || id != sent[0].ID || len(s.Sent(dm)) != 3 {
		t.Errorf("%q, %v", id, err)
	}
}

// TestCatchUp checks that what is written while nobody listens arrives with the next start, in
// its order, from all pages, and only once.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	s, first := newServer(t), make(got, 64)
	s.Write(post{User: ann, Chat: dm, Message: "before the first start"})
	stop := run(t, s.Channel(t), first)
	s.ready()
	s.Write(post{User: ann, Chat: dm, Message: "now"})
	if m := first.next(t); m.Text != "now" {
		t.Errorf("%+v", m)
	}
	stop()
	other := mattermosttest.ID("other")
	s.Chat(other, "P")
	var want []string
	for i := range 230 { // more than a page
		text := fmt.Sprint("meanwhile ", i)
		s.Write(post{User: ann, Chat: dm, Message: text})
		want = append(want, text)
	}
	s.Write(post{User: ann, Chat: other, Message: "elsewhere"})
	second := make(got, 300)
	run(t, s.Channel(t), second)
	var texts []string
	elsewhere := false
	for len(texts) < len(want) || !elsewhere {
		m := second.next(t)
		if elsewhere = elsewhere || m.Text == "elsewhere"; strings.HasPrefix(m.Text, "meanwhile") { // what was written just before may come again
			texts = append(texts, m.Text)
		}
	}
	if !slices.Equal(texts, want) {
		t.Errorf("%d messages: %q", len(texts), texts)
	}
}

// TestKinds: a post that passes another one on brings its text, and one of an unknown kind leaves a line.
func TestKinds(t *testing.T) {
	t.Parallel()
	s, _, in := begin(t)
	embed := func(kind, text string) map[string]any {
		return map[string]any{"embeds": []map[string]any{{"type": kind, "url": "https://chat.example.org/t/pl/1",
			"data": map[string]any{"post_id": "1", "post": map[string]any{"message": text}}}}}
	}
	for want, p := range map[string]post{
		"look\n\nForwarded:\n> It failed.\n> At ten.": {Message: "look", Metadata: embed("permalink", "It failed.\nAt ten.")},
		"see": {Message: "see", Metadata: embed("opengraph", "a preview")},
		"(a message of the type custom_voice, which cannot be read)": {Type: "custom_voice"},
		"(a message of the type attachment, which cannot be read)":   {Props: mattermosttest.Object{"attachments": []mattermosttest.Object{{"text": "x"}}}},
		"burnt": {Type: "burn_on_read", Message: "burnt"},
	} {
		p.User, p.Chat = ann, town
		s.Write(p)
		if m := in.next(t); m.Text != want {
			t.Errorf("%q, want %q", m.Text, want)
		}
	}
}

// TestRefusals: what Mattermost refuses is about a message, a chat, the account or the moment.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s, c, _ := begin(t)
	for _, f := range []struct {
		mattermosttest.Failure
		want string
	}{
		{mattermosttest.Failure{Status: 400, ID: "model.post.is_valid.message_length.app_error"}, "message"},
		{mattermosttest.Failure{Status: 400, ID: "something.new.app_error"}, "message"},
		{mattermosttest.Failure{Status: 413, ID: "api.context.request_body_too_large.app_error"}, "message"},
		{mattermosttest.Failure{Status: 400, ID: "api.post.create_post.root_id.app_error"}, "chat"},
		{mattermosttest.Failure{Status: 400, ID: "api.post.create_post.can_not_post_to_deleted.error"}, "chat"},
		{mattermosttest.Failure{Status: 403, ID: "api.context.permissions.app_error"}, "chat"},
		{mattermosttest.Failure{Status: 404, ID: "app.channel.get.existing.app_error"}, "chat"},
		{mattermosttest.Failure{Status: 401, ID: "api.context.session_expired.app_error"}, "account"},
		{mattermosttest.Failure{Status: 500, ID: "app.post.save.app_error"}, "moment"},
		{mattermosttest.Failure{Status: 403}, "moment"},
		{mattermosttest.Failure{Status: 429, RetryAfter: 40}, "account waits"},
		{mattermosttest.Failure{Status: 429}, "account waits"},
	} {
		s.Server.Fail("POST posts", f.Failure)
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: town}, Text: "x"})
		if got := channeltest.Meaning(err); got != f.want {
			t.Errorf("%+v is about the %s, want the %s: %v", f.Failure, got, f.want, err)
		}
	}
}
