package wecom_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/wecom"
	"github.com/etui-run/etui/channel/wecom/wecomtest"
)

const (
	corp   = wecomtest.Corp
	agent  = wecomtest.Agent
	secret = wecomtest.Secret
	token  = wecomtest.Token
	aesKey = wecomtest.AESKey
)

// platform is WeCom with what the conformance suite needs.
type platform struct {
	*wecomtest.Server
	callback *httptest.Server
}

func newPlatform(t testing.TB) *platform {
	s := wecomtest.Start()
	t.Cleanup(s.Close)
	return &platform{Server: s}
}

func (p *platform) config() wecom.Config {
	return wecom.Config{CorpID: corp, Agent: agent, Secret: secret, Token: token, AESKey: aesKey, URL: p.URL}
}

// connect makes a channel and lets the platform deliver to it.
func (p *platform) connect(t testing.TB) *wecom.Channel {
	c, err := wecom.New(p.config())
	if err != nil {
		t.Fatal(err)
	}
	p.callback = httptest.NewServer(c)
	t.Cleanup(p.callback.Close)
	p.Deliver(p.callback.URL)
	return c
}

func (p *platform) Channel(t *testing.T) channel.Channel { return p.connect(t) }

func (p *platform) Direct() {}

func (p *platform) Picky() {}

func (p *platform) Redelivers() {}

func (p *platform) Again(t *testing.T) {
	query, body := p.Last()
	again, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(30 * time.Second); ; <-time.After(5 * time.Millisecond) {
		switch status, answer := p.post(t, again, string(body)); {
		case status == http.StatusOK:
			return
		case status != http.StatusServiceUnavailable || time.Now().After(late): // else it is starting
			t.Fatalf("a delivery that was accepted before is answered %d %s", status, answer)
		}
	}
}

func (p *platform) Fail(_ *testing.T, how channeltest.Failure) {
	p.Server.Fail(map[channeltest.Failure]wecomtest.Failure{
		channeltest.Away:     {Code: -1},
		channeltest.Busy:     {Status: http.StatusTooManyRequests, RetryAfter: 7},
		channeltest.Gone:     {Code: 81013},
		channeltest.Rejected: {Code: 45002},
		channeltest.Refused:  {Code: 40014, Revoked: true},
	}[how])
}

func (p *platform) Say(t *testing.T, m channel.Incoming) string {
	if m.From.Name != "" {
		p.Member(m.From.ID, m.From.Name, false)
	}
	id, err := p.Write(m.From.ID, m.Text)
	if err != nil {
		t.Error(err)
	}
	return id
}

// say delivers a message until it is accepted, at most four times.
func (p *platform) say(t testing.TB, from, rest string) string {
	t.Helper()
	id, err := p.Server.Say(from, rest)
	if err != nil {
		t.Error(err)
	}
	return id
}

// save waits until the channel runs.
func (p *platform) save(t testing.TB) {
	t.Helper()
	if err := p.Save(); err != nil {
		t.Fatal(err)
	}
}

// deliver posts a message to the callback.
func (p *platform) deliver(t testing.TB, text string) (status int, body string) {
	t.Helper()
	status, body, err := p.Send(text)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

func (p *platform) post(t testing.TB, query url.Values, body string) (int, string) {
	t.Helper()
	status, answer, err := p.Post(query, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

// Seen implements [channeltest.Platform].
func (p *platform) Seen(_ *testing.T, chat string) []string { return p.Server.Seen(chat) }
