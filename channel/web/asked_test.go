package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/web"
	"github.com/etui-run/etui/chat"
)

// knowing is a receiver that knows one file, and which tools the message q1 got.
type knowing struct {
	inbox
	why chan channel.Incoming
}

func (knowing) File(_ context.Context, sha256 string) ([]byte, error) {
	if sha256 != "aa" {
		return nil, fmt.Errorf("file %s: %w", sha256, channel.ErrGone)
	}
	return []byte("<script>1</script>"), nil
}

func (k knowing) Why(_ context.Context, m channel.Incoming) (json.RawMessage, error) {
	k.why <- m
	if m.Text != "first" {
		return nil, nil
	}
	return json.RawMessage(`{"tools":7}`), nil
}

// TestAsked: a person, and nobody else, gets the files that the agent sent and which tools a message of
// theirs got, with the agent that it was for. The page of another site gets nothing.
func TestAsked(t *testing.T) {
	both(t, func(t *testing.T, sse bool) {
		p := start(t, sse, func(c *web.Config) { c.Agents = []string{"main", "second"} })
		c, got := p.Channel(t).(*web.Channel), knowing{make(inbox, 64), make(chan channel.Incoming, 9)}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = c.Run(ctx, got) }()
		t.Cleanup(func() { stop(); <-ended })
		p.guest("starting").leave() // it runs
		signed := func(sub string) string {
			return token(secret, hs256, map[string]any{"sub": sub, "exp": in(time.Hour)})
		}
		ann, welcome := p.tab(`{"type": "hello", "token": "`+signed("4711")+`"}`, browser(""))
		defer ann.leave()
		if fmt.Sprint(welcome["agents"]) != "[main second]" {
			t.Errorf("the welcome is %v", welcome)
		}
		ann.say("q1", "first")
		ann.next()
		sent, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Key: "k", Files: []chat.File{
			{Name: "a\u202e.html", MediaType: "text/html", Size: 18, SHA256: "aa"}, {Name: "b.png", SHA256: "bb"}}})
		if err != nil {
			t.Fatal(err)
		}
		first, second := ann.next(), ann.next()
		if file, _ := first["file"].(map[string]any); first.str("id") != sent || file["media_type"] != "text/html" || file["sha256"] != nil {
			t.Errorf("the file came as %v", first)
		}
		ask := func(body string, header http.Header) (int, string, http.Header) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = header
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return answer.StatusCode, string(text), answer.Header
		}
		of := func(what, id, sub string) string {
			return fmt.Sprintf(`{"type":%q,"id":%q,"token":%q}`, what, id, signed(sub))
		}
		status, text, header := ask(of("file", sent, "4711"), browser(""))
		if status != 200 || text != "<script>1</script>" || header.Get("Content-Type") != "application/octet-stream" ||
			!strings.HasPrefix(header.Get("Content-Disposition"), "attachment") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the file: %d %s %v", status, text, header)
		}
		status, text, _ = ask(of("why", "q1", "4711"), browser(""))
		if status != 200 || !strings.Contains(text, `"tools":7`) {
			t.Errorf("why: %d %s", status, text)
		}
		if m := <-got.why; m.From.ID != "4711" || m.At.Chat != "4711" || m.Text != "first" || m.Time.IsZero() {
			t.Errorf("it was asked about %+v", m)
		}
		other := http.Header{"Origin": {"https://evil.example"}}
		for _, c := range []struct {
			body   string
			header http.Header
			status int
		}{
			{of("file", second.str("id"), "4711"), browser(""), 404}, // its conversation is gone
			{of("file", sent, "4712"), browser(""), 404},
			{fmt.Sprintf(`{"type":"file","id":%q}`, sent), browser(cookieOf("bob")), 404},
			{`{"type":"file","id":"1","token":"x"}`, browser(""), 401},
			{of("why", "q1", "4712"), browser(""), 404},
			{of("why", "q9", "4711"), browser(""), 404},
			{of("file", sent, "4711"), other, 403},
			{of("say", "q1", "4711"), browser(""), 400},
		} {
			if status, text, _ := ask(c.body, c.header); status != c.status || strings.Contains(text, "script") {
				t.Errorf("%s: %d %s, not %d", c.body, status, text, c.status)
			}
		}
		codes := map[string]int{}
		for range 40 {
			_, text, _ := ask(of("why", "q9", "4711"), browser(""))
			codes[text[:min(len(text), 40)]]++
		}
		if len(codes) < 2 {
			t.Errorf("nothing bounds how often one may ask: %v", codes)
		}
	})
}

// TestChosenAgent: a message goes to the agent that the person chose among those that the channel offers.
func TestChosenAgent(t *testing.T) {
	t.Parallel()
	p, _, got := serve(t, false, func(c *web.Config) { c.Agents = []string{"second"} })
	ann, _ := p.tab(`{"type": "hello", "token": "`+token(secret, hs256, map[string]any{"sub": "4711", "exp": in(time.Hour)})+`"}`, browser(""))
	defer ann.leave()
	s := ann.(*socket)
	say := func(id, agent string) event {
		t.Helper()
		said := fmt.Sprintf(`{"type": "say", "id": %q, "text": "x", "agent": %q}`, id, agent)
		if err := s.ws.Write(t.Context(), websocket.MessageText, []byte(said)); err != nil {
			t.Fatal(err)
		}
		return <-s.answers
	}
	say("1", "second")
	if m := <-got; m.Agent != "second" {
		t.Errorf("the message is for %q", m.Agent)
	}
	if e := s.next(); e.str("agent") != "second" { // other windows learn of it, too
		t.Errorf("the message is shown as %v", e)
	}
	if e := say("2", "main"); e.str("type") != "error" || e.str("code") != "bad" {
		t.Errorf("an agent that is not offered: %v", e)
	}
}
