package mattermost_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/mattermost"
	"github.com/etui-run/etui/channel/mattermost/mattermosttest"
	"github.com/etui-run/etui/store"
)

var (
	ann    = mattermosttest.ID("4711")
	town   = mattermosttest.ID("100")
	dm     = mattermosttest.ID("d4711")
	places = map[string]string{"4711": dm, "-100": town}
)

// server is a Mattermost with what the conformance suite needs.
type server struct {
	*mattermosttest.Server
	t       *testing.T
	records store.Memory
}

func newServer(t *testing.T) *server {
	s := &server{Server: mattermosttest.Start(), t: t}
	t.Cleanup(s.Close)
	return s
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

// ready waits until a channel has begun to listen for the first time: what was written before
// is left out.
func (s *server) ready() {
	s.t.Helper()
	s.await("a connection", func() bool { // Find asks for both
		return len(s.Called("GET users/me/channels")) > len(s.Called("GET users/me/teams"))
	})
}

func (s *server) config() mattermost.Config {
	return mattermost.Config{URL: s.URL, Token: mattermosttest.Token, Records: &s.records, Client: s.Client}
}

// Channel implements [channeltest.Platform].
func (s *server) Channel(t *testing.T) channel.Channel {
	c, err := mattermost.New(s.config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Names implements [channeltest.Named].
func (s *server) Names() (person, group string) { return ann, town }

// Say implements [channeltest.Platform].
func (s *server) Say(_ *testing.T, m channel.Incoming) string {
	s.ready()
	text := m.Text
	if m.Mentioned {
		text = "@etui " + text
	}
	return s.Write(mattermosttest.Post{User: mattermosttest.ID(m.From.ID), Chat: places[m.At.Chat], Message: text})
}

// Seen implements [channeltest.Platform].
func (s *server) Seen(t *testing.T, chat string) (seen []string) {
	for _, p := range s.Sent(places[chat]) {
		seen = append(seen, shown(t, p.Message))
	}
	return seen
}

// shown is a text as readers see it.
func shown(t *testing.T, text string) string {
	if strings.Contains(text, "@all") || strings.Contains(text, "@channel") {
		t.Errorf("it notifies everybody: %q", text)
	}
	return strings.NewReplacer(`\\`, `\`, `\*`, "*", `\_`, "_", `\~`, "~", `\|`, "|", `\[`, "[", `\<`, "<", "\\`", "`", "**", "", "`", "", "\u200b", "").Replace(text)
}

// Fail implements [channeltest.Platform].
// Picky implements [channeltest.Picky].
func (s *server) Picky() {}

func (s *server) Fail(_ *testing.T, how channeltest.Failure) {
	s.Server.Fail("POST posts", map[channeltest.Failure]mattermosttest.Failure{
		channeltest.Away:     {Status: http.StatusBadGateway},
		channeltest.Busy:     {Status: http.StatusTooManyRequests, RetryAfter: 7},
		channeltest.Gone:     {Status: http.StatusForbidden, ID: "api.context.permissions.app_error"},
		channeltest.Rejected: {Status: http.StatusBadRequest, ID: "model.post.is_valid.something.app_error"},
		channeltest.Refused:  {Status: http.StatusUnauthorized, ID: "api.context.session_expired.app_error"},
	}[how])
}

// Redelivers implements [channeltest.Redelivering].
func (s *server) Redelivers() {}

// Patient implements [channeltest.Patient].
func (s *server) Patient() {}

// Again implements [channeltest.Again].
func (s *server) Again(*testing.T) { s.Server.Again() }

// Cut implements [channeltest.Cut].
func (s *server) Cut(*testing.T) { s.Server.Cut() }

// Call implements [channeltest.Calling].
func (s *server) Call(_ *testing.T, name string, twice bool) string {
	other := mattermosttest.Object{"type": "P", "team_id": mattermosttest.ID("other"), "name": "else"}
	if twice {
		other["name"] = strings.TrimPrefix(name, "#")
	}
	s.Rename(mattermosttest.ID("200"), other)
	s.Rename(town, mattermosttest.Object{"type": "O", "team_id": mattermosttest.ID("team"), "name": strings.TrimPrefix(name, "#")})
	return name
}
