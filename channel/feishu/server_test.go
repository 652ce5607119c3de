package feishu_test

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/feishu"
	"github.com/etui-run/etui/channel/feishu/feishutest"
)

type object = feishutest.Object

// server is Feishu with what the conformance suite needs.
type server struct {
	*feishutest.Server
	t    testing.TB
	hook bool // events go as HTTP requests, not through the long connection
}

func newServer(t testing.TB) *server {
	s := feishutest.Start()
	t.Cleanup(s.Close)
	return &server{Server: s, t: t}
}

// await waits until a condition holds.
func (s *server) await(what string, condition func() bool) {
	s.t.Helper()
	ctx, done := context.WithTimeout(context.Background(), 30*time.Second)
	defer done()
	if err := s.Wait(ctx, condition); err != nil {
		s.t.Fatalf("waiting for %s took too long", what)
	}
}

// acknowledged waits until something was acknowledged.
func (s *server) acknowledged(d *feishutest.Delivery) {
	s.t.Helper()
	s.await("an acknowledgement", d.Acknowledged)
}

// config is a configuration for the server.
func (s *server) config() feishu.Config {
	c := feishu.Config{AppID: feishutest.AppID, AppSecret: feishutest.AppSecret, URL: s.URL, Client: s.Client}
	if s.hook {
		c.EncryptKey, c.VerificationToken = feishutest.Key, feishutest.Token
	}
	return c
}

func (s *server) connect(t testing.TB) *feishu.Channel {
	c, err := feishu.New(s.config())
	if err != nil {
		t.Fatal(err)
	}
	if s.hook {
		hook := httptest.NewServer(c)
		t.Cleanup(hook.Close)
		s.Deliver(hook.URL)
	}
	return c
}

// Channel implements [channeltest.Platform].
func (s *server) Channel(t *testing.T) channel.Channel { return s.connect(t) }

// chats are the IDs of the suite's chats.
func chats(chat string) string {
	if chat == "-100" {
		return "oc_-100"
	}
	return feishutest.DirectChat("ou_" + chat)
}

// Names implements [channeltest.Named].
func (s *server) Names() (person, group string) { return "ou_4711", "oc_-100" }

// Say implements [channeltest.Platform].
func (s *server) Say(_ *testing.T, m channel.Incoming) string {
	fields := object{"content": object{"text": m.Text}}
	if m.Group {
		fields["chat_id"], fields["chat_type"] = chats(m.At.Chat), "group"
	}
	if m.Mentioned {
		fields["content"] = object{"text": "@_user_1 " + m.Text}
		fields["mentions"] = []object{feishutest.Mention(1, feishutest.Bot, "etui")}
	}
	id, _ := s.Write("ou_"+m.From.ID, fields)
	return id
}

// Seen implements [channeltest.Platform].
func (s *server) Seen(t *testing.T, chat string) (seen []string) {
	for _, m := range s.Sent(chats(chat)) {
		seen = append(seen, shown(t, m.Text()))
	}
	return seen
}

var reaches = regexp.MustCompile(`(?i)<(at|person|link|font|text_tag|audio)\b`)

// shown is a text as readers see it.
func shown(t testing.TB, text string) string {
	if reaches.MatchString(text) {
		t.Errorf("what is not escaped is a tag: %q", text)
	}
	return html.UnescapeString(strings.NewReplacer("**", "", "`", "").Replace(text))
}

// Fail implements [channeltest.Platform].
// Picky implements [channeltest.Picky].
func (s *server) Picky() {}

func (s *server) Fail(_ *testing.T, how channeltest.Failure) {
	s.Server.Fail(map[channeltest.Failure]feishutest.Failure{
		channeltest.Away:     {Status: http.StatusBadGateway},
		channeltest.Busy:     {Status: http.StatusTooManyRequests, Code: 99991400, Reset: 7},
		channeltest.Gone:     {Status: http.StatusBadRequest, Code: 230002},
		channeltest.Rejected: {Status: http.StatusBadRequest, Code: 230028},
		channeltest.Refused:  {Status: http.StatusBadRequest, Code: 99991663, Revoked: true},
	}[how])
}

// Redelivers implements [channeltest.Redelivering].
func (s *server) Redelivers() {}

// Patient implements [channeltest.Patient].
func (s *server) Patient() {}

// Again implements [channeltest.Again].
func (s *server) Again(*testing.T) { s.Server.Again() }

// Press implements [channeltest.Pressing].
func (s *server) Press(t *testing.T, person, group, label string) {
	sent := s.Sent(chats(group))
	for i := len(sent) - 1; i >= 0; i-- {
		if slices.Contains(sent[i].Buttons(), label) {
			s.Server.Press("ou_"+person, sent[i].ID, label)
			return
		}
	}
	t.Fatalf("there is no button %q", label)
}

// socket is a platform with connections to cut.
type socket struct{ *server }

// Cut implements [channeltest.Cut].
func (s socket) Cut(*testing.T) { s.Server.Cut() }

// inbox receives what a channel hands over.
type inbox chan channel.Incoming

func (i inbox) Receive(ctx context.Context, m channel.Incoming) error {
	select {
	case i <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (i inbox) next(t testing.TB) channel.Incoming {
	t.Helper()
	select {
	case m := <-i:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("nothing arrived")
		panic("unreachable")
	}
}

// run runs a channel until the test ends.
func run(t testing.TB, c *feishu.Channel, in channel.Receiver) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := c.Run(ctx, in); err != nil && ctx.Err() == nil {
				t.Log(err)
				<-time.After(10 * time.Millisecond)
			}
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
}

// start returns a server, a channel that runs, and what it hands over.
func start(t testing.TB, hook bool) (*server, *feishu.Channel, inbox) {
	s := newServer(t)
	s.hook = hook
	c, in := s.connect(t), make(inbox, 64)
	run(t, c, in)
	return s, c, in
}
