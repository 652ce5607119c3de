package webhook_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/webhook"
	"github.com/etui-run/etui/chat"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	older  = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0A=="
)

// platform is a program of one's own. It signs and checks with the library of the
// specification's authors.
type platform struct {
	*httptest.Server
	hook *standardwebhooks.Webhook

	mu    sync.Mutex
	c     *webhook.Channel
	n     int
	seen  map[string][]string
	posts []post
	next  func(w http.ResponseWriter) // answers the next request; nil accepts it
	last  func() *http.Request        // the last delivery, as it was signed
}

// post is a request of the channel.
type post struct {
	header http.Header
	body   map[string]any
}

func start(t *testing.T) *platform {
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	p := &platform{hook: hook, seen: map[string][]string{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := hook.Verify(body, r.Header); err != nil {
			t.Errorf("the library refuses a request: %v", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if answer := p.next; answer != nil {
			p.next = nil
			answer(w)
			return
		}
		var m map[string]any
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		p.posts = append(p.posts, post{r.Header, m})
		p.seen[m["chat"].(string)] = append(p.seen[m["chat"].(string)], m["text"].(string))
		fmt.Fprintf(w, `{"id": "m%d"}`, len(p.posts))
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *platform) Channel(t *testing.T) channel.Channel {
	c, err := webhook.New(webhook.Config{Secrets: []string{older, secret}, URL: p.URL + "/in?token=hidden", Client: p.Client()})
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.c = c
	return c
}

func (p *platform) Say(t *testing.T, m channel.Incoming) string {
	p.mu.Lock()
	p.n++
	id, c := "in"+strconv.Itoa(p.n), p.c
	p.mu.Unlock()
	body, _ := json.Marshal(map[string]any{"id": id, "chat": m.At.Chat, "thread": m.At.Thread, "group": m.Group, "mentioned": m.Mentioned, "user": m.From.ID, "name": m.From.Name, "text": m.Text})
	at := time.Now()
	p.last = func() *http.Request { return p.delivery("msg_"+id, at, body) }
	p.repeat(t, c)
	return id
}

// Again implements [channeltest.Again].
func (p *platform) Again(t *testing.T) { p.repeat(t, p.c) }

// repeat posts the last delivery until it is accepted.
func (p *platform) repeat(t *testing.T, c *webhook.Channel) {
	t.Helper()
	for {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, p.last())
		switch {
		case w.Code == http.StatusOK:
			return
		case w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "":
			t.Fatalf("the delivery is answered %d %s", w.Code, w.Body)
		}
		<-time.After(time.Millisecond) // as senders do
	}
}

// delivery is a signed request.
func (p *platform) delivery(id string, at time.Time, body []byte) *http.Request {
	signature, err := p.hook.Sign(id, at, body)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("webhook-signature", "v1a,bm90IG91cnM= v1,bm9uZQ== "+signature)
	return r
}

func (p *platform) Seen(_ *testing.T, chat string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[chat]
}

// Picky implements [channeltest.Picky].
func (p *platform) Picky() {}

func (p *platform) Fail(_ *testing.T, how channeltest.Failure) {
	p.answer(map[channeltest.Failure]int{channeltest.Away: 500, channeltest.Busy: 429, channeltest.Gone: 410,
		channeltest.Refused: 401, channeltest.Rejected: 422}[how], "Retry-After", "7")
}

// answer sets the status of the next answer.
func (p *platform) answer(status int, header, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = func(w http.ResponseWriter) {
		w.Header().Set(header, value)
		w.WriteHeader(status)
	}
}

// Redelivers implements [channeltest.Redelivering].
func (p *platform) Redelivers() {}

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return start(t) })
}

// receiver is a function that takes messages.
type receiver func(channel.Incoming) error

func (f receiver) Receive(_ context.Context, m channel.Incoming) error { return f(m) }

// run lets a channel run until the test ends, and returns when it takes deliveries.
func (p *platform) run(t *testing.T, in receiver) {
	p.Channel(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.c.Run(ctx, in) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	for p.post(httptest.NewRequest(http.MethodPost, "/", nil)).Code == http.StatusServiceUnavailable {
		<-time.After(time.Millisecond)
	}
}

func (p *platform) post(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.c.ServeHTTP(w, r)
	return w
}

func TestDelivery(t *testing.T) {
	p := start(t)
	var got channel.Incoming
	p.run(t, func(m channel.Incoming) error { got = m; return nil })
	data := []byte("some bytes")
	body := `{"chat":"c","thread":"t","group":true,"mentioned":true,"user":"4711","name":"Ann\u202e\u0007","roles":["owner"],"text":"look",` +
		`"files":[{"name":"a.txt","media_type":"text/plain","data":"` + base64.StdEncoding.EncodeToString(data) + `"},{"name":"b.iso"}],"time":"2026-01-02T03:04:05Z"}`
	if w := p.post(p.delivery("msg_1", time.Now(), []byte(body))); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	want := channel.Incoming{
		ID: "msg_1", From: channel.Sender{ID: "4711", Name: "Ann", Roles: []string{"owner"}},
		At: channel.Address{Chat: "c", Thread: "t", Message: "msg_1"}, Group: true, Mentioned: true, Text: "look",
		Files: []chat.File{{Name: "a.txt", MediaType: "text/plain", Data: data}, {Name: "b.iso"}}, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if w := p.post(p.delivery("msg_2", time.Now(), []byte(`{"user":"4711","text":"hi"}`))); w.Code != 200 || got.At.Chat != "4711" || got.ID != "msg_2" {
		t.Errorf("%d %+v", w.Code, got)
	}
}

// TestRefused: what is not signed, not fresh or not a message reaches nobody.
// broken is a connection that ends in the middle of a body.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRefused(t *testing.T) {
	p := start(t)
	taken := 0
	p.run(t, func(channel.Incoming) error { taken++; return nil })
	good := []byte(`{"user":"4711","text":"hi"}`)
	now := time.Now()
	with := func(change func(*http.Request)) *http.Request {
		r := p.delivery("msg_1", now, good)
		change(r)
		return r
	}
	set := func(name, value string) *http.Request {
		return with(func(r *http.Request) { r.Header.Set(name, value) })
	}
	signature := func(h string) string {
		key, _ := standardwebhooks.NewWebhook("whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32))))
		s, _ := key.Sign("msg_1", now, good)
		return h + s
	}
	signed := func(body string) *http.Request { return p.delivery("msg_1", now, []byte(body)) }
	for name, c := range map[string]struct {
		r    *http.Request
		want int
	}{
		"a GET":                   {with(func(r *http.Request) { r.Method = http.MethodGet }), 405},
		"no signature":            {with(func(r *http.Request) { r.Header.Del("webhook-signature") }), 401},
		"no ID":                   {with(func(r *http.Request) { r.Header.Del("webhook-id") }), 401},
		"another ID":              {set("webhook-id", "msg_2"), 401},
		"an ID that hides":        {p.delivery("msg_\u200b1", now, good), 401},
		"a long ID":               {p.delivery(strings.Repeat("x", 257), now, good), 401},
		"another time":            {set("webhook-timestamp", strconv.FormatInt(now.Unix()+1, 10)), 401},
		"no number":               {set("webhook-timestamp", "now"), 401},
		"another body":            {with(func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"user":"1","text":"hi"}`)) }), 401},
		"another secret":          {set("webhook-signature", signature("")), 401},
		"another version":         {set("webhook-signature", strings.ReplaceAll(p.delivery("msg_1", now, good).Header.Get("webhook-signature"), "v1,", "v2,")), 401},
		"too many signatures":     {set("webhook-signature", strings.Repeat("v1,YQ== ", 16)+p.delivery("msg_1", now, good).Header.Get("webhook-signature")), 401},
		"an old delivery":         {p.delivery("msg_1", now.Add(-6*time.Minute), good), 401},
		"a delivery of tomorrow":  {p.delivery("msg_1", now.Add(6*time.Minute), good), 401},
		"a time out of all range": {p.delivery("msg_1", time.Unix(-1<<62, 0), good), 401},
		"too large":               {signed(`{"user":"4711","text":"` + strings.Repeat("x", 32<<20) + `"}`), 413},
		"a body that breaks off":  {with(func(r *http.Request) { r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(good[:9]), broken{})) }), 503},
		"no JSON":                 {signed("hi"), 400},
		"two values":              {signed(string(good) + string(good)), 400},
		"an unknown field":        {signed(`{"user":"4711","text":"hi","txt":""}`), 400},
		"a field twice":           {signed(`{"user":"4711","user":"1","text":"hi"}`), 400},
		"no user":                 {signed(`{"text":"hi"}`), 400},
		"a group without chat":    {signed(`{"user":"4711","text":"hi","group":true}`), 400},
		"nothing said":            {signed(`{"user":"4711"}`), 400},
		"an ID of two lines":      {signed(`{"user":"47\n11","text":"hi"}`), 400},
		"many files":              {signed(`{"user":"4711","files":[` + strings.Repeat(`{"name":"a"},`, 16) + `{"name":"a"}]}`), 400},
		"many roles":              {signed(`{"user":"4711","text":"hi","roles":["a"` + strings.Repeat(`,"a"`, 32) + `]}`), 400},
		"a message of the agent":  {signed(`{"id":"a","chat":"4711","text":"hi","key":"k"}`), 400},
	} {
		if w := p.post(c.r); w.Code != c.want {
			t.Errorf("%s: answered %d %s, want %d", name, w.Code, w.Body, c.want)
		}
	}
	if taken != 0 {
		t.Errorf("%d messages were handed over", taken)
	}
	if w := p.post(p.delivery("msg_1", now.Add(-4*time.Minute), good)); w.Code != 200 || taken != 1 {
		t.Errorf("the real one: %d %s", w.Code, w.Body)
	}
}

// TestRepeated: an accepted delivery is acknowledged again and not handed over again, one
// that failed is handed over again, and one at a time.
func TestRepeated(t *testing.T) {
	p := start(t)
	var results = []error{errors.New("away"), nil}
	began, goOn := make(chan bool), make(chan bool)
	p.run(t, func(channel.Incoming) error {
		began <- true
		<-goOn
		err := results[0]
		results = results[1:]
		return err
	})
	post := func() int {
		return p.post(p.delivery("msg_1", time.Now(), []byte(`{"user":"4711","text":"hi"}`))).Code
	}
	both := make(chan int)
	begin := func() {
		go func() { both <- post() }()
		<-began
	}
	begin()
	goOn <- true
	if got := <-both; got != 503 {
		t.Errorf("not stored: %d", got)
	}
	begin()
	go func() { both <- post() }() // it waits for the first one, or is known
	goOn <- true
	if first, second := <-both, <-both; first != 200 || second != 200 {
		t.Errorf("%d and %d", first, second)
	}
	if got := post(); got != 200 {
		t.Errorf("after it was accepted: %d", got)
	}
}

func TestSend(t *testing.T) {
	p := start(t)
	c := p.Channel(t)
	m := channel.Outgoing{
		To: channel.Address{Chat: "c", Thread: "t", Message: "in1"}, Text: "look", Key: "k1",
		Files: []chat.File{{Name: "a.txt", MediaType: "text/plain", Data: []byte("bytes")}}, Buttons: []channel.Button{{Label: "Yes", Text: "/approve 1"}},
	}
	for range 2 {
		if id, err := c.Send(t.Context(), m); err != nil || !strings.HasPrefix(id, "m") {
			t.Fatalf("%q, %v", id, err)
		}
	}
	body, _ := json.Marshal(p.posts[0].body)
	id := p.posts[0].header.Get("webhook-id")
	want := `{"buttons":[{"label":"Yes","text":"/approve 1"}],"chat":"c","files":[{"data":"Ynl0ZXM=","media_type":"text/plain","name":"a.txt"}],"id":"` + id + `","key":"k1","reply_to":"in1","text":"look","thread":"t"}`
	if string(body) != want {
		t.Errorf("posted %s\nwant   %s", body, want)
	}
	if again := p.posts[1].header.Get("webhook-id"); again != id {
		t.Errorf("the same message has the IDs %s and %s", id, again)
	}
	if n := len(strings.Fields(p.posts[0].header.Get("webhook-signature"))); n != 2 {
		t.Errorf("%d signatures for two secrets", n)
	}
	m.Key = "k2"
	for _, answer := range []string{"thank you", `{"id": 5}`, `{"id": "a\u0007"}`, `{}`} {
		p.next = func(w http.ResponseWriter) { fmt.Fprint(w, answer) }
		if got, err := c.Send(t.Context(), m); err != nil || !strings.HasPrefix(got, "msg_") || got == id {
			t.Errorf("answered %s: %q, %v", answer, got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	p := start(t)
	c := p.Channel(t)
	send := func() error {
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "c"}, Text: "hi", Key: "k"})
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Fatalf("the error is %v", err)
		}
		return err
	}
	var limited *channel.Limited
	for _, c := range []struct {
		status        int
		header, value string
		refused       bool
		after         time.Duration
	}{
		{403, "X", "", true, 0},
		{429, "X", "", false, 5 * time.Second},
		{503, "Retry-After", "7", false, 7 * time.Second},
		{503, "Retry-After", "99999999", false, time.Hour},
		{429, "Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), false, 0},
		{503, "Retry-After", "99999999999999999999", false, 0},
		{500, "Retry-After", "7", false, 0},
		{404, "X", "", false, 0},
		{302, "Location", "/elsewhere", false, 0},
		{307, "Location", "/elsewhere", false, 0},
	} {
		p.answer(c.status, c.header, c.value)
		err := send()
		if after := time.Duration(0); errors.As(err, &limited) {
			if after = limited.After; after != c.after {
				t.Errorf("%d %s: wait %s, want %s", c.status, c.value, after, c.after)
			}
		} else if c.after != 0 {
			t.Errorf("%d %s: %v", c.status, c.value, err)
		}
		if gone, refused := errors.Is(err, channel.ErrGone), errors.Is(err, channel.ErrRefused); gone || refused != c.refused {
			t.Errorf("%d: %v", c.status, err)
		}
	}
	if len(p.posts) != 0 {
		t.Errorf("a redirect was followed: %v", p.posts)
	}
	p.Close()
	_ = send()
	silent, err := webhook.New(webhook.Config{Secrets: []string{secret}})
	if err == nil {
		_, err = silent.Send(t.Context(), channel.Outgoing{})
	}
	if !errors.Is(err, channel.ErrRefused) {
		t.Errorf("without a URL: %v", err)
	}
}

func TestConfig(t *testing.T) {
	for want, c := range map[string]webhook.Config{
		"needs a secret": {},
		"secret 1":       {Secrets: []string{"whsec_c2hvcnQ="}},
		"secret 2":       {Secrets: []string{secret, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}},
		"URL":            {Secrets: []string{secret}, URL: "ftp://example.com"},
	} {
		if _, err := webhook.New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "MfKQ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzDelivery posts signed and unsigned bodies: nothing panics, and only whole messages
// with a signature are taken.
func FuzzDelivery(f *testing.F) {
	f.Add(true, []byte(`{"user":"4711","text":"hi","roles":["a"],"files":[{"name":"x","data":"YQ=="}],"time":"2026-01-02T03:04:05Z"}`), "")
	f.Add(false, []byte(`{"user":"4711","text":"hi"}`), "v1,YQ==")
	f.Add(true, []byte(`{"user":null,"files":[null]}`), "v1, ,,v1")
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		f.Fatal(err)
	}
	p := &platform{hook: hook}
	c, err := webhook.New(webhook.Config{Secrets: []string{secret}})
	if err != nil {
		f.Fatal(err)
	}
	p.c = c
	var got *channel.Incoming
	ctx, stop := context.WithCancel(context.Background())
	f.Cleanup(stop)
	go func() { _ = c.Run(ctx, receiver(func(m channel.Incoming) error { got = &m; return nil })) }()
	for p.post(httptest.NewRequest(http.MethodPost, "/", nil)).Code == http.StatusServiceUnavailable {
		<-time.After(time.Millisecond)
	}
	n := 0
	f.Fuzz(func(t *testing.T, signed bool, body []byte, signature string) {
		n++
		r := p.delivery("msg_"+strconv.Itoa(n), time.Now(), body)
		if !signed {
			r.Header.Set("webhook-signature", cmp.Or(signature, "v1,"))
		}
		got = nil
		w := p.post(r)
		if taken := w.Code == 200; taken != (got != nil) || taken && (!signed || got.From.ID == "" || got.At.Chat == "" || got.ID == "") || w.Code >= 500 {
			t.Errorf("answered %d, taken: %+v", w.Code, got)
		}
	})
}
