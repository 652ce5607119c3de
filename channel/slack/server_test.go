package slack_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/slack"
	"github.com/etui-run/etui/channel/slack/slacktest"
)

type object = slacktest.Object

const bot, team = slacktest.Bot, slacktest.Team

// server is Slack with what the conformance suite needs.
type server struct {
	*slacktest.Server
	t    *testing.T
	hook bool // events go as HTTP requests, not in Socket Mode

	presses atomic.Int64
}

func newServer(t *testing.T) *server {
	s := slacktest.Start()
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
func (s *server) acknowledged(d *slacktest.Delivery) {
	s.t.Helper()
	s.await("an acknowledgement", d.Acknowledged)
}

// request is a signed request with JSON or a form.
func request(t *testing.T, to, contentType string, body []byte) *http.Request {
	return slacktest.Request(t.Context(), to, contentType, body)
}

// config is a configuration for the server.
func (s *server) config() slack.Config {
	return slack.Config{Token: slacktest.BotToken, AppToken: slacktest.AppToken, URL: s.URL + "/api/", Client: s.Client}
}

// Channel implements [channeltest.Platform].
func (s *server) Channel(t *testing.T) channel.Channel {
	config := s.config()
	if s.hook {
		config.AppToken, config.Secret = "", slacktest.Secret
	}
	c, err := slack.New(config)
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

// Say implements [channeltest.Platform].
func (s *server) Say(_ *testing.T, m channel.Incoming) string {
	fields := object{"channel": m.At.Chat, "user": m.From.ID, "text": escaped(m.Text)}
	if m.Group {
		fields["channel_type"] = "channel"
	}
	if m.Mentioned {
		fields["text"] = "<@" + bot + "> " + escaped(m.Text)
	}
	return m.At.Chat + ":" + s.Write(fields)
}

func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// Seen implements [channeltest.Platform].
func (s *server) Seen(t *testing.T, chat string) (seen []string) {
	for _, m := range s.Sent(chat) {
		seen = append(seen, shown(t, m.Text))
	}
	return seen
}

var (
	entity = regexp.MustCompile(`&(amp|lt|gt);`)
	link   = regexp.MustCompile(`<(https?|mailto):[^<>|]+(\|[^<>]+)?>`)
)

// shown is a text as readers see it.
func shown(t *testing.T, text string) string {
	if rest := link.ReplaceAllString(entity.ReplaceAllString(text, ""), ""); strings.ContainsAny(strings.ReplaceAll("\n"+rest, "\n> ", ""), "&<>") {
		t.Errorf("what is not escaped mentions somebody: %q", text)
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "*An*", "An", "`", "").Replace(text)
}

// Fail implements [channeltest.Platform].
// Picky implements [channeltest.Picky].
func (s *server) Picky() {}

func (s *server) Fail(_ *testing.T, how channeltest.Failure) {
	s.Server.Fail(map[channeltest.Failure]slacktest.Failure{
		channeltest.Away:     {Status: http.StatusServiceUnavailable},
		channeltest.Busy:     {Status: http.StatusTooManyRequests, Error: "ratelimited", RetryAfter: 7},
		channeltest.Gone:     {Error: "channel_not_found"},
		channeltest.Rejected: {Error: "something_new"},
		channeltest.Refused:  {Error: "token_revoked"},
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
	sent := s.Sent(group)
	for i := len(sent) - 1; i >= 0; i-- {
		for _, b := range sent[i].Blocks {
			elements, _ := b["elements"].([]any)
			for _, e := range elements {
				e := e.(map[string]any)
				if text, _ := e["text"].(map[string]any); text["text"] != label {
					continue
				}
				p := press(group, e["value"].(string))
				p["user"] = object{"id": person, "username": person, "team_id": team}
				p["container"].(object)["message_ts"], p["message"] = sent[i].TS, object{"type": "message", "ts": sent[i].TS, "thread_ts": sent[i].Thread}
				action := p["actions"].([]object)[0]
				action["action_id"], action["action_ts"] = e["action_id"], s.ts()
				s.Push("interactive", p)
				return
			}
		}
	}
	t.Fatalf("there is no button %q", label)
}

// ts is a new time of an action.
func (s *server) ts() string { return fmt.Sprintf("1700000105.%06d", s.presses.Add(1)) }

// Cut implements [channeltest.Cut].
func (s *server) Cut(*testing.T) { s.Server.Cut() }

// webhook is a platform that has no connections to cut.
type webhook struct{ channeltest.Platform }

// Redelivers implements [channeltest.Redelivering].
func (webhook) Redelivers() {}

// Again implements [channeltest.Again].
func (w webhook) Again(t *testing.T) { w.Platform.(channeltest.Again).Again(t) }

// Patient implements [channeltest.Patient].
func (webhook) Patient() {}

// Press implements [channeltest.Pressing].
func (w webhook) Press(t *testing.T, person, group, label string) {
	w.Platform.(channeltest.Pressing).Press(t, person, group, label)
}

// Call implements [channeltest.Calling]. In a workspace no two channels have the same name.
func (s *server) Call(_ *testing.T, name string, twice bool) string {
	if twice {
		return ""
	}
	for i := range 5 {
		s.Rename(fmt.Sprint("-0", i), fmt.Sprint("other", i))
	}
	s.Rename("-100", strings.TrimPrefix(name, "#"))
	return name
}
