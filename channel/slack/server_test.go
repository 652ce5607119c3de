package slack_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/slack"
)

const (
	botToken  = "xoxb-1-secret"
	appToken  = "xapp-1-secret"
	userToken = "xoxp-1-secret"
	secret    = "8f742231b10e8888abcd99yyyzzz85a5" // the one of Slack's own example
	bot       = "U0ETUI"
	team      = "T061EG9R6"
)

// object is JSON.
type object = map[string]any

// server speaks Slack's protocol as docs.slack.dev described it in 2026: Web API, "Using
// Socket Mode", "Events API" and "Verifying requests from Slack". TestThirdParty checks it
// with slack-go. It delivers again what is not acknowledged, much sooner than Slack.
type server struct {
	*httptest.Server
	t       *testing.T
	deliver string // where events go as HTTP requests; empty means Socket Mode

	mu        sync.Mutex
	ts        int
	queue     []*delivery // what is not acknowledged yet
	conns     []*websocket.Conn
	connected int
	messages  []*posted
	calls     []call
	fail      []channeltest.Failure
	answers   map[string]object // instead of the usual ones, by method
	files     map[string][]byte // by path
	people    map[string]object
	reactions map[string][]string // by channel and timestamp
	changed   chan struct{}       // closed at each change
	client    *http.Client
}

// delivery is an envelope.
type delivery struct {
	id, kind string
	payload  any
	sent     int
	acked    bool
}

// posted is a message that the bot has written.
type posted struct {
	chat, ts, text, thread string
	blocks                 []object
	files                  []string
}

// call is a call of a method.
type call struct {
	method string
	form   url.Values
}

func newServer(t *testing.T) *server {
	s := &server{
		t: t, ts: 1, answers: map[string]object{}, files: map[string][]byte{}, reactions: map[string][]string{}, changed: make(chan struct{}), client: &http.Client{Transport: &http.Transport{}},
		people: map[string]object{
			"4711": {"name": "ann", "team_id": team, "profile": object{"display_name": "Ann"}},
			bot:    {"name": "etui", "team_id": team, "is_bot": true, "profile": object{"display_name": "etui"}},
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/{method}", s.api)
	mux.HandleFunc("GET /socket", s.socket)
	mux.HandleFunc("GET /files/{name}", s.file)
	mux.HandleFunc("POST /upload/{name}", s.file)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.Cut(t)
		s.client.CloseIdleConnections()
		s.Close()
	})
	return s
}

// touch wakes those who wait for a change. The caller holds mu.
func (s *server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until a condition holds.
func (s *server) await(what string, condition func() bool) {
	s.t.Helper()
	late := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		ok, changed := condition(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			s.t.Fatalf("waiting for %s took too long", what)
		}
	}
}

func (s *server) api(w http.ResponseWriter, r *http.Request) {
	method := r.PathValue("method")
	if err := r.ParseMultipartForm(1 << 20); err != nil && r.ParseForm() != nil {
		http.Error(w, "form", http.StatusBadRequest)
		return
	}
	form := r.Form
	answer := func(o object) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		json.NewEncoder(w).Encode(o)
	}
	no := func(code string) { answer(object{"ok": false, "error": code}) }
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call{method, form})
	s.touch()
	want := botToken
	switch method {
	case "apps.connections.open":
		want = appToken
	case "reminders.add":
		want = userToken
	}
	if got := cmp.Or(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), form.Get("token")); got != want {
		no("invalid_auth")
		return
	}
	if o, ok := s.answers[method]; ok {
		answer(o)
		return
	}
	if method == "chat.postMessage" && len(s.fail) > 0 {
		how := s.fail[0]
		s.fail = s.fail[1:]
		switch how {
		case channeltest.Away:
			http.Error(w, "upstream connect error", http.StatusServiceUnavailable)
		case channeltest.Busy:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			answer(object{"ok": false, "error": "ratelimited"})
		case channeltest.Gone:
			no("channel_not_found")
		case channeltest.Refused:
			no("token_revoked")
		}
		return
	}
	switch method {
	case "auth.test":
		answer(object{"ok": true, "url": "https://acme.slack.com/", "team": "Acme", "user": "etui", "team_id": team, "user_id": bot, "bot_id": "B0ETUI", "is_enterprise_install": false})
	case "apps.connections.open":
		answer(object{"ok": true, "url": strings.Replace(s.URL, "http", "ws", 1) + "/socket?ticket=one-time-secret&app_id=A1"})
	case "chat.postMessage":
		chat := form.Get("channel")
		if strings.HasPrefix(chat, "U") {
			chat = "D" + chat[1:]
		}
		m := &posted{chat: chat, ts: s.next(), text: form.Get("text"), thread: form.Get("thread_ts")}
		if form.Get("blocks") != "" {
			if err := json.Unmarshal([]byte(form.Get("blocks")), &m.blocks); err != nil {
				no("invalid_blocks_format")
				return
			}
		}
		if m.text == "" && len(m.blocks) == 0 {
			no("no_text")
			return
		}
		s.messages = append(s.messages, m)
		message := object{"type": "message", "user": bot, "bot_id": "B0ETUI", "app_id": "A1", "team": team, "text": m.text, "ts": m.ts}
		if m.thread != "" {
			message["thread_ts"] = m.thread
		}
		answer(object{"ok": true, "channel": chat, "ts": m.ts, "message": message})
		// Slack tells the app of its own messages, too.
		event := object{"channel": chat, "channel_type": "channel", "event_ts": m.ts}
		for k, v := range message {
			event[k] = v
		}
		s.push("events_api", s.callback(event))
	case "chat.update":
		m := s.message(form.Get("channel"), form.Get("ts"))
		switch {
		case m == nil:
			no("message_not_found")
		case len(form.Get("text")) > 4000:
			no("msg_too_long")
		default:
			m.text = form.Get("text")
			if form.Get("blocks") == "[]" {
				m.blocks = nil
			}
			answer(object{"ok": true, "channel": m.chat, "ts": m.ts, "text": m.text})
		}
	case "reactions.add", "reactions.remove":
		key := form.Get("channel") + ":" + form.Get("timestamp")
		has := slices.Contains(s.reactions[key], form.Get("name"))
		switch {
		case method == "reactions.add" && has:
			no("already_reacted")
		case method == "reactions.add":
			s.reactions[key] = append(s.reactions[key], form.Get("name"))
			answer(object{"ok": true})
		case !has:
			no("no_reaction")
		default:
			s.reactions[key] = slices.DeleteFunc(s.reactions[key], func(n string) bool { return n == form.Get("name") })
			answer(object{"ok": true})
		}
	case "users.info":
		u, ok := s.people[form.Get("user")]
		if !ok {
			no("user_not_found")
			return
		}
		o := object{"id": form.Get("user")}
		for k, v := range u {
			o[k] = v
		}
		answer(object{"ok": true, "user": o})
	case "files.getUploadURLExternal":
		n, err := strconv.Atoi(form.Get("length"))
		if err != nil || n < 1 || form.Get("filename") == "" {
			no("invalid_arguments")
			return
		}
		id := "F" + strings.ReplaceAll(s.next(), ".", "")
		answer(object{"ok": true, "upload_url": s.URL + "/upload/" + id, "file_id": id})
	case "files.completeUploadExternal":
		var files []struct{ ID, Title string }
		if err := json.Unmarshal([]byte(form.Get("files")), &files); err != nil {
			no("invalid_arguments")
			return
		}
		chat := cmp.Or(form.Get("channel_id"), form.Get("channels"))
		m := &posted{chat: chat, ts: s.next(), thread: form.Get("thread_ts")}
		var list []object
		for _, f := range files {
			if _, ok := s.files["/upload/"+f.ID]; !ok {
				no("file_not_found")
				return
			}
			m.files = append(m.files, f.Title+"="+string(s.files["/upload/"+f.ID]))
			list = append(list, object{"id": f.ID, "title": f.Title})
		}
		s.messages = append(s.messages, m)
		answer(object{"ok": true, "files": list})
	case "assistant.threads.setStatus", "reminders.add":
		answer(object{"ok": true})
	default:
		no("unknown_method")
	}
}

func (s *server) next() string {
	s.ts++
	return fmt.Sprintf("1700000000.%06d", s.ts)
}

func (s *server) message(chat, ts string) *posted {
	for _, m := range s.messages {
		if m.chat == chat && m.ts == ts {
			return m
		}
	}
	return nil
}

// file gives and takes files. Without the token Slack leads to a page to sign in.
func (s *server) file(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var data []byte
		if f, _, err := r.FormFile("file"); err == nil { // slack-go sends a form, which Slack takes, too
			data, _ = io.ReadAll(f)
		} else {
			data, _ = io.ReadAll(r.Body)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.files[r.URL.Path] = data
		fmt.Fprintf(w, "OK - %d", len(data))
		return
	}
	s.mu.Lock()
	data, ok := s.files[r.URL.Path]
	s.mu.Unlock()
	if !ok || r.Header.Get("Authorization") != "Bearer "+botToken {
		http.Redirect(w, r, "/files/sign-in?redir="+url.QueryEscape(r.URL.Path), http.StatusFound)
		return
	}
	w.Write(data)
}

// callback is an event as the Events API delivers it.
func (s *server) callback(event object) object {
	return object{
		"token": "one-long-verification-token", "team_id": team, "api_app_id": "A1", "type": "event_callback",
		"event": event, "event_id": "Ev" + fmt.Sprint(event["event_ts"], event["type"]), "event_time": 1700000000,
		"authorizations":        []object{{"enterprise_id": nil, "team_id": team, "user_id": bot, "is_bot": true, "is_enterprise_install": false}},
		"is_ext_shared_channel": false,
	}
}

// push delivers something. The caller holds mu.
func (s *server) push(kind string, payload any) *delivery {
	d := &delivery{id: fmt.Sprintf("%08d-3be8-4280-b339-36e3f6652bac", len(s.queue)), kind: kind, payload: payload}
	s.queue = append(s.queue, d)
	s.touch()
	return d
}

// Push delivers something.
func (s *server) Push(kind string, payload any) *delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(kind, payload)
}

// acknowledged waits until something was acknowledged.
func (s *server) acknowledged(d *delivery) {
	s.t.Helper()
	s.await("an acknowledgement", func() bool { return d.acked })
}

func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("ticket") != "one-time-secret" {
		http.Error(w, "ticket", http.StatusForbidden)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	write := func(o object) { text, _ := json.Marshal(o); conn.Write(ctx, websocket.MessageText, text) }
	write(object{"type": "hello", "num_connections": 1, "connection_info": object{"app_id": "A1"}, "debug_info": object{"host": "applink-4", "build_number": 0, "approximate_connection_time": 18060}})
	s.mu.Lock()
	s.conns = append(s.conns, conn)
	s.connected++
	s.touch()
	s.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			var ack struct {
				ID string `json:"envelope_id"`
			}
			json.Unmarshal(data, &ack)
			s.mu.Lock()
			for _, d := range s.queue {
				if d.id == ack.ID {
					d.acked = true
				}
			}
			s.touch()
			s.mu.Unlock()
		}
	}()
	here := map[*delivery]bool{} // what was sent on this connection
	for {
		s.mu.Lock()
		var due []object
		waiting := false
		for _, d := range s.queue {
			if !d.acked && !here[d] {
				here[d] = true
				e := object{"envelope_id": d.id, "type": d.kind, "payload": d.payload, "accepts_response_payload": d.kind != "events_api"}
				if d.kind == "events_api" {
					e["retry_attempt"], e["retry_reason"] = d.sent, ""
				}
				d.sent++
				due = append(due, e)
			}
			waiting = waiting || !d.acked
		}
		if len(due) > 0 {
			s.touch()
		}
		changed := s.changed
		s.mu.Unlock()
		for _, o := range due {
			write(o)
		}
		again := make(<-chan time.Time)
		if waiting {
			again = time.After(20 * time.Millisecond)
		}
		select {
		case <-changed:
		case <-again:
			clear(here)
		case <-gone:
			return
		}
	}
}

// disconnect says that all connections end.
func (s *server) disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		text, _ := json.Marshal(object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "wss-111.slack.com"}})
		c.Write(context.Background(), websocket.MessageText, text)
	}
}

// sign signs a request as Slack does.
func sign(r *http.Request, secret string, at time.Time, body []byte) {
	sent := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", sent, body)
	r.Header.Set("X-Slack-Request-Timestamp", sent)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
}

// request is a signed request with JSON or a form.
func request(t *testing.T, to, contentType string, body []byte) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	sign(r, secret, time.Now(), body)
	return r
}

// encoded is a delivery as the body of a request.
func encoded(kind string, payload any) (contentType string, body []byte) {
	text, _ := json.Marshal(payload)
	switch kind {
	case "events_api":
		return "application/json", text
	case "interactive":
		return "application/x-www-form-urlencoded", []byte(url.Values{"payload": {string(text)}}.Encode())
	}
	form := url.Values{}
	for k, v := range payload.(object) {
		form.Set(k, fmt.Sprint(v))
	}
	return "application/x-www-form-urlencoded", []byte(form.Encode())
}

// requests delivers over HTTP, one after another. Slack tries three times more within some
// minutes; this server tries until the test ends.
func (s *server) requests() {
	for s.t.Context().Err() == nil {
		s.mu.Lock()
		var next *delivery
		for _, d := range s.queue {
			if !d.acked {
				next = d
				break
			}
		}
		changed := s.changed
		s.mu.Unlock()
		if next == nil {
			select {
			case <-changed:
			case <-s.t.Context().Done():
			}
			continue
		}
		contentType, body := encoded(next.kind, next.payload)
		r := request(s.t, s.deliver, contentType, body)
		if next.sent > 0 {
			r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(next.sent))
			r.Header.Set("X-Slack-Retry-Reason", "http_error")
		}
		next.sent++
		if res, err := s.client.Do(r); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				s.mu.Lock()
				next.acked = true
				s.touch()
				s.mu.Unlock()
				continue
			}
		}
		select {
		case <-time.After(5 * time.Millisecond): // not ready yet
		case <-s.t.Context().Done():
		}
	}
}

// config is a configuration for the server.
func (s *server) config() slack.Config {
	return slack.Config{Token: botToken, AppToken: appToken, URL: s.URL + "/api/", Client: s.client}
}

// Channel implements [channeltest.Platform].
func (s *server) Channel(t *testing.T) channel.Channel {
	config := s.config()
	if s.deliver != "" {
		config.AppToken, config.Secret = "", secret
	}
	c, err := slack.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if s.deliver != "" {
		hook := httptest.NewServer(c)
		t.Cleanup(hook.Close)
		s.deliver = hook.URL
		done := make(chan struct{})
		go func() { defer close(done); s.requests() }()
		t.Cleanup(func() { <-done })
	}
	return c
}

// Say implements [channeltest.Platform]. A mention arrives as a message and as a mention.
func (s *server) Say(_ *testing.T, m channel.Incoming) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ts := s.next()
	event := object{"type": "message", "channel": m.At.Chat, "user": m.From.ID, "text": escaped(m.Text), "ts": ts, "event_ts": ts, "team": team, "channel_type": "im", "client_msg_id": "d4f5-" + ts}
	if m.Group {
		event["channel_type"] = "channel"
	}
	if m.Mentioned {
		event["text"] = "<@" + bot + "> " + escaped(m.Text)
	}
	s.push("events_api", s.callback(event))
	if m.Mentioned {
		mention := object{"type": "app_mention", "channel": m.At.Chat, "user": m.From.ID, "text": event["text"], "ts": ts, "event_ts": ts, "team": team}
		s.push("events_api", s.callback(mention))
	}
	return m.At.Chat + ":" + ts
}

func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// Seen implements [channeltest.Platform].
func (s *server) Seen(t *testing.T, chat string) (seen []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.chat == chat {
			seen = append(seen, shown(t, m.text))
		}
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
func (s *server) Fail(_ *testing.T, how channeltest.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = append(s.fail, how)
}

// Redelivers implements [channeltest.Redelivering].
func (s *server) Redelivers() {}

// Cut implements [channeltest.Cut].
func (s *server) Cut(*testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.CloseNow()
	}
	s.conns = nil
}

// called returns the calls of a method.
func (s *server) called(method string) (forms []url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.method == method {
			forms = append(forms, c.form)
		}
	}
	return forms
}

// webhook is a platform that has no connections to cut.
type webhook struct{ channeltest.Platform }

// Redelivers implements [channeltest.Redelivering].
func (webhook) Redelivers() {}
