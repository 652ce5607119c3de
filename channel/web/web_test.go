package web_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/web"
	"github.com/etui-run/etui/store"
)

const (
	secret = "0123456789abcdef0123456789abcdef"
	older  = "fedcba9876543210fedcba9876543210"
	site   = "https://shop.example.com"
	// patience is far longer than anything here takes.
	patience = 20 * time.Second
)

// flaky is a store that can fail once.
type flaky struct {
	store.Memory
	mu   sync.Mutex
	fail bool
}

func (f *flaky) Put(ctx context.Context, kind, key string, value json.RawMessage) error {
	f.mu.Lock()
	fail := f.fail
	f.fail = false
	f.mu.Unlock()
	if fail {
		return errors.New("the disk is full")
	}
	return f.Memory.Put(ctx, kind, key, value)
}

// platform is the channel's own server with the browsers of people, who are guests with a
// cookie that follows from their name.
type platform struct {
	*httptest.Server
	t      *testing.T
	sse    bool
	store  *flaky
	config web.Config

	mu      sync.Mutex
	c       *web.Channel
	n       int
	last    [3]string // who said what was said last, its ID and text
	clients map[string]client
	serving sync.WaitGroup
}

// client is a tab.
type client interface {
	// say sends a message and returns the answer to it.
	say(id, text string) event
	// next returns the next event that is not typing.
	next() event
	// missed is how many messages come first, which it has missed.
	missed() int
	leave()
}

type event map[string]any

func (e event) str(key string) string { s, _ := e[key].(string); return s }

func start(t *testing.T, sse bool, change func(*web.Config)) *platform {
	p := &platform{t: t, sse: sse, store: &flaky{}, clients: map[string]client{}}
	p.config = web.Config{Name: "web", Secrets: []string{secret, older}, Guests: true, Origins: []string{site}, Records: p.store}
	if change != nil {
		change(&p.config)
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.serving.Add(1)
		defer p.serving.Done()
		p.mu.Lock()
		c := p.c
		p.mu.Unlock()
		c.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		p.Cut(t)
		p.Close()
	})
	return p
}

func (p *platform) Channel(t *testing.T) channel.Channel {
	c, err := web.New(p.config)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.c, p.clients = c, map[string]client{} // tabs of an earlier process have lost their connections
	return c
}

func cookieOf(name string) string { return (name + strings.Repeat("x", 26))[:26] }

func guestOf(name string) string {
	sum := sha256.Sum256([]byte(cookieOf(name)))
	return "guest-" + hex.EncodeToString(sum[:10])
}

func (p *platform) tab(hello string, header http.Header) (client, event) {
	p.t.Helper()
	if p.sse {
		return p.stream(hello, header)
	}
	return p.socket(hello, header)
}

func browser(cookie string) http.Header {
	h := http.Header{"Origin": {site}, "Sec-Fetch-Site": {"same-site"}}
	if cookie != "" {
		h.Set("Cookie", "__Host-etui-guest="+cookie)
	}
	return h
}

func (p *platform) guest(name string) client {
	p.t.Helper()
	for {
		c, e := p.tab(`{"type": "hello"}`, browser(cookieOf(name)))
		if c != nil && e.str("type") == "welcome" {
			return c
		}
		if e.str("code") != "again" { // else the channel is starting
			p.t.Fatalf("the hello is answered %v", e)
		}
		<-time.After(time.Millisecond)
	}
}

func (p *platform) Say(t *testing.T, m channel.Incoming) string {
	p.mu.Lock()
	p.n++
	id, c := "in"+strconv.Itoa(p.n), p.clients[m.From.ID]
	p.mu.Unlock()
	if c == nil {
		c = p.guest(m.From.ID)
		p.mu.Lock()
		p.clients[m.From.ID] = c
		p.mu.Unlock()
	}
	p.last = [3]string{m.From.ID, id, m.Text}
	p.say(t, c)
	return id
}

func (p *platform) say(t *testing.T, c client) {
	for {
		switch e := c.say(p.last[1], p.last[2]); {
		case e.str("type") == "ack":
			return
		case e.str("code") != "again":
			t.Fatalf("the message is answered %v", e)
		}
	}
}

// Again implements [channeltest.Again]: a tab does not know whether it was taken.
func (p *platform) Again(t *testing.T) {
	c := p.guest(p.last[0])
	defer c.leave()
	p.say(t, c)
}

// Seen is what a new tab shows.
func (p *platform) Seen(_ *testing.T, chat string) (texts []string) {
	c := p.guest(chat)
	defer c.leave()
	for range c.missed() {
		if e := c.next(); e.str("from") == "agent" {
			texts = append(texts, e.str("text"))
		}
	}
	return texts
}

// Cut ends all connections.
func (p *platform) Cut(*testing.T) {
	p.mu.Lock()
	all := p.clients
	p.clients = map[string]client{}
	p.mu.Unlock()
	for _, c := range all {
		c.leave()
	}
	p.serving.Wait()
}

func (p *platform) Fail(t *testing.T, how channeltest.Failure) {
	switch how {
	case channeltest.Away:
		p.store.mu.Lock()
		defer p.store.mu.Unlock()
		p.store.fail = true
	case channeltest.Gone: // the cookie has ended, and the chat with it
		p.Cut(t)
		if err := p.c.Tidy(t.Context(), 2*web.Keep); err != nil {
			t.Error(err)
		}
	}
}

func (p *platform) Names() (person, group string) { return guestOf("4711"), "" }
func (p *platform) Redelivers()                   {}
func (p *platform) Direct()                       {}
func (p *platform) Steady()                       {}
func (p *platform) Own()                          {}

func TestConformance(t *testing.T) {
	t.Run("WebSocket", func(t *testing.T) {
		t.Parallel()
		channeltest.Run(t, func(t *testing.T) channeltest.Platform { return start(t, false, nil) })
	})
	t.Run("events", func(t *testing.T) {
		t.Parallel()
		channeltest.Run(t, func(t *testing.T) channeltest.Platform { return start(t, true, nil) })
	})
}

// tabs keeps the events of a client in order.
type tabs struct {
	t       *testing.T
	events  chan event
	answers chan event // acks and errors
	count   int
	close   func()
}

func (c *tabs) next() event {
	c.t.Helper()
	select {
	case e, ok := <-c.events:
		if !ok {
			return nil
		}
		return e
	case <-time.After(patience):
		c.t.Fatal("no event came")
		return nil
	}
}

func (c *tabs) missed() int { return c.count }
func (c *tabs) leave()      { c.close() }

// take sorts an event.
func (c *tabs) take(e event) {
	switch e.str("type") {
	case "typing":
	case "ack", "error":
		c.answers <- e
	default:
		c.events <- e
	}
}

// welcomed returns the client and the first event.
func welcomed(c *tabs, whole client) (client, event) {
	c.t.Helper()
	select {
	case e, ok := <-c.events:
		if !ok { // the connection has ended; a refusal came before
			select {
			case e = <-c.answers:
			default:
			}
			return nil, e
		}
		n, _ := e["missed"].(float64)
		c.count = int(n)
		return whole, e
	case e := <-c.answers:
		c.close()
		return nil, e
	case <-time.After(patience):
		c.t.Fatal("nothing came after the hello")
		return nil, nil
	}
}

type socket struct {
	*tabs
	ws *websocket.Conn
}

func (p *platform) dial(query string, header http.Header) (*websocket.Conn, *http.Response, error) {
	ws, res, err := websocket.Dial(p.t.Context(), p.URL+query, &websocket.DialOptions{HTTPHeader: header})
	if ws != nil {
		ws.SetReadLimit(1 << 20)
	}
	return ws, res, err
}

func (p *platform) socket(hello string, header http.Header) (client, event) {
	p.t.Helper()
	query := ""
	if !strings.Contains(hello, "token") {
		query = "?guest"
	}
	ws, res, err := p.dial(query, header)
	if err != nil {
		if res == nil {
			p.t.Fatal(err)
		}
		var e event
		_ = json.NewDecoder(res.Body).Decode(&e)
		return nil, e
	}
	c := &tabs{t: p.t, events: make(chan event, 1000), answers: make(chan event, 100)}
	ended := make(chan struct{})
	c.close = func() {
		_ = ws.CloseNow()
		<-ended
	}
	ctx := context.WithoutCancel(p.t.Context())
	if err := ws.Write(ctx, websocket.MessageText, []byte(hello)); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(ended)
		defer close(c.events)
		for {
			_, body, err := ws.Read(ctx)
			if err != nil {
				return
			}
			var e event
			if err := json.Unmarshal(body, &e); err != nil {
				p.t.Error(err)
			}
			c.take(e)
		}
	}()
	return welcomed(c, &socket{c, ws})
}

func (s *socket) say(id, text string) event {
	s.t.Helper()
	said, _ := json.Marshal(event{"type": "say", "id": id, "text": text})
	if err := s.ws.Write(s.t.Context(), websocket.MessageText, said); err != nil {
		s.t.Fatal(err)
	}
	select {
	case e := <-s.answers:
		return e
	case <-time.After(patience):
		s.t.Fatal("no answer came")
		return nil
	}
}

type sse struct {
	*tabs
	p      *platform
	header http.Header
	stream string
	key    string
}

// open posts a body.
func (p *platform) open(ctx context.Context, query, body string, header http.Header) *http.Response {
	p.t.Helper()
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+query, strings.NewReader(body))
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "text/plain;charset=UTF-8") // as fetch does
	res, err := p.Client().Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// post posts a body and returns what is answered, of a stream its first event.
func (p *platform) post(query, body string, header http.Header) (event, *http.Response) {
	p.t.Helper()
	res := p.open(p.t.Context(), query, body, header)
	defer res.Body.Close()
	first, err := bufio.NewReader(res.Body).ReadString('\n')
	var e event
	if json.Unmarshal([]byte(strings.TrimPrefix(first, "data: ")), &e) != nil {
		p.t.Fatal(res.Status, first, err)
	}
	return e, res
}

func (p *platform) stream(hello string, header http.Header) (client, event) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.t.Context()))
	res := p.open(ctx, "", hello, header)
	c := &tabs{t: p.t, events: make(chan event, 1000), answers: make(chan event, 100)}
	ended := make(chan struct{})
	c.close = func() {
		cancel()
		<-ended
	}
	go func() {
		defer close(ended)
		defer close(c.events)
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			line := strings.TrimPrefix(lines.Text(), "data: ")
			var e event
			if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &e) == nil {
				c.take(e)
			}
		}
	}()
	s := &sse{tabs: c, p: p, header: header}
	whole, e := welcomed(c, s)
	s.stream, s.key = e.str("stream"), e.str("key")
	return whole, e
}

func (s *sse) say(id, text string) event {
	s.t.Helper()
	said, _ := json.Marshal(event{"type": "say", "id": id, "text": text, "key": s.key})
	e, _ := s.p.post("?stream="+s.stream, string(said), s.header)
	return e
}

// token signs claims.
func token(key, header string, claims map[string]any) string {
	body, _ := json.Marshal(claims)
	signed := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(body)
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

const hs256 = `{"alg":"HS256","typ":"JWT"}`

func in(d time.Duration) int64 { return time.Now().Add(d).Unix() }
