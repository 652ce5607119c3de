// Package slacktest is a Slack for tests: one workspace with one app.
//
// It follows docs.slack.dev as of 2026: the Web API, "Using Socket Mode", "Events API" and
// "Verifying requests from Slack", with their error codes and signatures. It delivers again
// what is not acknowledged, much sooner than Slack does.
package slacktest

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel/platformtest"
)

// What the workspace and its app have.
const (
	BotToken  = "xoxb-1-secret"
	AppToken  = "xapp-1-secret"
	UserToken = "xoxp-1-secret"
	Secret    = "8f742231b10e8888abcd99yyyzzz85a5" // the one of Slack's own example
	Bot       = "U0ETUI"
	Team      = "T061EG9R6"
)

// Object is JSON.
type Object = platformtest.Object

// Delivery is what Slack sends to the app: an envelope of Socket Mode, or a request.
type Delivery = platformtest.Delivery

// Server is a Slack, whose Web API is at /api/. Its methods are safe for concurrent use.
type Server struct {
	*platformtest.Server

	messages  []*Message
	written   []Object // what people have written
	calls     map[string][]url.Values
	answers   map[string]Object // instead of the usual ones, by method
	files     map[string][]byte // by path
	people    map[string]Object
	reactions map[string][]string // by channel and timestamp
	absent    map[string]bool     // channels of which the bot is no member
	names     map[string]string   // of channels
	responses []string            // to commands, by their response_url
}

// Message is what the bot has written.
type Message struct {
	Chat, TS, Text, Thread string
	Blocks                 []Object
	// Files are name=content.
	Files []string
}

// Failure is an error answer of chat.postMessage: a status other than 200, or an error code.
type Failure struct {
	Status     int
	Error      string
	RetryAfter int
}

// Start starts a server with one member, 4711. The caller closes it.
func Start() *Server {
	s := &Server{
		Server: platformtest.Start(), calls: map[string][]url.Values{}, answers: map[string]Object{},
		files: map[string][]byte{}, reactions: map[string][]string{}, absent: map[string]bool{},
		names: map[string]string{},
		people: map[string]Object{
			"4711": {"name": "ann", "team_id": Team, "profile": Object{"display_name": "Ann"}},
			Bot:    {"name": "etui", "team_id": Team, "is_bot": true, "profile": Object{"display_name": "etui"}},
		},
	}
	s.Mux.HandleFunc("POST /api/{method}", s.api)
	s.Mux.HandleFunc("GET /socket", s.socket)
	s.Mux.HandleFunc("GET /files/{name}", s.file)
	s.Mux.HandleFunc("POST /upload/{name}", s.file)
	s.Mux.HandleFunc("POST /commands/{team}/{id}/{secret}", s.respond)
	return s
}

// Handle lets a handler answer requests of a pattern, such as the webhook of a workflow.
func (s *Server) Handle(pattern string, h http.HandlerFunc) { s.Mux.Handle(pattern, h) }

// Write makes a person's message of its fields, such as channel, channel_type, user and
// text, and returns its ts. A mention arrives as a message and as a mention.
func (s *Server) Write(fields Object) (ts string) {
	defer s.Hold()()
	ts = s.next()
	event := Object{"type": "message", "ts": ts, "event_ts": ts, "team": Team, "channel_type": "im",
		"client_msg_id": "d4f5-" + ts}
	maps.Copy(event, fields)
	s.written = append(s.written, event)
	s.push("events_api", Callback(event))
	if text, _ := event["text"].(string); strings.Contains(text, "<@"+Bot+">") {
		mention := maps.Clone(event)
		mention["type"] = "app_mention"
		delete(mention, "channel_type")
		delete(mention, "client_msg_id")
		s.push("events_api", Callback(mention))
	}
	return ts
}

// Person sets what the workspace says about a person.
func (s *Server) Person(id string, profile Object) {
	defer s.Hold()()
	s.people[id] = profile
}

// Upload stores a file of a person, and returns its address.
func (s *Server) Upload(name string, data []byte) string {
	defer s.Hold()()
	s.files["/files/"+name] = data
	return s.URL + "/files/" + name
}

// Answer lets a method answer something else from now on; nil is its usual answer.
func (s *Server) Answer(method string, o Object) {
	defer s.Hold()()
	if s.answers[method] = o; o == nil {
		delete(s.answers, method)
	}
}

// Rename gives a channel a name, or takes it away, and tells the app so.
func (s *Server) Rename(chat, name string) {
	defer s.Hold()()
	if s.names[chat] = name; name == "" {
		delete(s.names, chat)
	}
	s.push("events_api", Callback(Object{"type": "channel_rename",
		"channel": Object{"id": chat, "name": name, "created": 1360782804}}))
}

// Leave takes the bot out of a channel. Commands can be written there all the same.
func (s *Server) Leave(chat string) {
	defer s.Hold()()
	s.absent[chat] = true
}

// Command writes a slash command.
func (s *Server) Command(fields Object) {
	o := Object{
		"command": "/etui", "user_id": "4711", "user_name": "ann", "trigger_id": "13.1",
		"response_url": s.URL + "/commands/T1/1/x",
	}
	maps.Copy(o, fields)
	s.Push("slash_commands", o)
}

// Responses returns what was posted to the response_url of commands.
func (s *Server) Responses() []string {
	defer s.Hold()()
	return slices.Clone(s.responses)
}

// respond takes an answer to a command. The address is all that it asks for.
func (s *Server) respond(w http.ResponseWriter, r *http.Request) {
	defer s.Hold()()
	var body struct {
		Text string
		Type string `json:"response_type"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Text == "" || r.Header.Get("Authorization") != "" {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	s.responses = append(s.responses, body.Type+": "+body.Text)
	_, _ = io.WriteString(w, "ok") // the client may be gone
}

// Fail makes the next chat.postMessage fail.
func (s *Server) Fail(f Failure) {
	s.FailNext("chat.postMessage", func(w http.ResponseWriter) {
		var body any
		if f.Error != "" {
			body = Object{"ok": false, "error": f.Error}
		}
		platformtest.Refuse(w, cmp.Or(f.Status, http.StatusOK), f.RetryAfter, body)
	})
}

// Sent returns what the bot has written in a chat, oldest first; an empty chat means all.
func (s *Server) Sent(chat string) []Message {
	defer s.Hold()()
	return platformtest.Copies(s.messages, func(m *Message) bool { return chat == "" || m.Chat == chat })
}

// Called returns the calls of a method, oldest first.
func (s *Server) Called(method string) []url.Values {
	defer s.Hold()()
	return slices.Clone(s.calls[method])
}

// Reactions returns the reactions of the bot to a message, which CHANNEL:TS names.
func (s *Server) Reactions(message string) []string {
	defer s.Hold()()
	return slices.Clone(s.reactions[message])
}

// Ping pings the app through its oldest connection, as Slack does.
func (s *Server) Ping(ctx context.Context) error { return s.Conns()[0].Ping(ctx) }

func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	method := r.PathValue("method")
	if err := r.ParseMultipartForm(1 << 20); err != nil && r.ParseForm() != nil {
		http.Error(w, "form", http.StatusBadRequest)
		return
	}
	form := r.Form
	defer s.Hold()()
	s.calls[method] = append(s.calls[method], form)
	s.Touch()
	want := BotToken
	switch method {
	case "apps.connections.open":
		want = AppToken
	case "reminders.add":
		want = UserToken
	}
	if got := cmp.Or(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), form.Get("token")); got != want {
		platformtest.Answer(w, http.StatusOK, no("invalid_auth"))
		return
	}
	if o, ok := s.answers[method]; ok {
		platformtest.Answer(w, http.StatusOK, o)
		return
	}
	if s.Failed(w, method) {
		return
	}
	platformtest.Answer(w, http.StatusOK, s.answer(method, form))
}

// list answers conversations.list: two channels at a time, as Slack may give fewer than it was asked for.
func (s *Server) list(form url.Values) Object {
	if n, err := strconv.Atoi(form.Get("limit")); err != nil || n < 1 || n > 999 {
		return no("invalid_limit")
	}
	ids := slices.Sorted(maps.Keys(s.names))
	from := 0
	if cursor := form.Get("cursor"); cursor != "" {
		if from = slices.Index(ids, cursor); from < 0 {
			return no("invalid_cursor")
		}
	}
	list, next := []Object{}, ""
	for i, id := range ids[from:] {
		if i == 2 {
			next = id
			break
		}
		list = append(list, Object{"id": id, "name": s.names[id], "is_channel": true, "is_archived": false,
			"is_member": !s.absent[id]})
	}
	return Object{"ok": true, "channels": list, "response_metadata": Object{"next_cursor": next}}
}

func no(code string) Object { return Object{"ok": false, "error": code} }

// answer answers a method.
func (s *Server) answer(method string, form url.Values) Object {
	switch method {
	case "auth.test":
		return Object{"ok": true, "url": "https://acme.slack.com/", "team": "Acme", "user": "etui", "team_id": Team,
			"user_id": Bot, "bot_id": "B0ETUI", "is_enterprise_install": false}
	case "apps.connections.open":
		return Object{"ok": true, "url": strings.Replace(s.URL, "http", "ws", 1) +
			"/socket?ticket=one-time-secret&app_id=A1"}
	case "chat.postMessage":
		chat := form.Get("channel")
		if strings.HasPrefix(chat, "U") {
			chat = "D" + chat[1:]
		}
		m := &Message{Chat: chat, TS: s.next(), Text: form.Get("text"), Thread: form.Get("thread_ts")}
		if form.Get("blocks") != "" {
			if err := json.Unmarshal([]byte(form.Get("blocks")), &m.Blocks); err != nil {
				return no("invalid_blocks_format")
			}
		}
		switch {
		case s.absent[chat]:
			return no("not_in_channel")
		case m.Text == "" && len(m.Blocks) == 0:
			return no("no_text")
		}
		s.messages = append(s.messages, m)
		message := Object{"type": "message", "user": Bot, "bot_id": "B0ETUI", "app_id": "A1", "team": Team,
			"text": m.Text, "ts": m.TS}
		if m.Thread != "" {
			message["thread_ts"] = m.Thread
		}
		// Slack tells the app of its own messages, too.
		event := Object{"channel": chat, "channel_type": "channel", "event_ts": m.TS}
		maps.Copy(event, message)
		s.push("events_api", Callback(event))
		return Object{"ok": true, "channel": chat, "ts": m.TS, "message": message}
	case "conversations.list":
		return s.list(form)
	case "chat.update":
		m := s.message(form.Get("channel"), form.Get("ts"))
		switch {
		case m == nil:
			return no("message_not_found")
		case len(form.Get("text")) > 4000:
			return no("msg_too_long")
		default:
			m.Text = form.Get("text")
			if form.Get("blocks") == "[]" {
				m.Blocks = nil
			}
			return Object{"ok": true, "channel": m.Chat, "ts": m.TS, "text": m.Text}
		}
	case "reactions.add", "reactions.remove":
		key := form.Get("channel") + ":" + form.Get("timestamp")
		has := slices.Contains(s.reactions[key], form.Get("name"))
		switch {
		case method == "reactions.add" && has:
			return no("already_reacted")
		case method == "reactions.add":
			s.reactions[key] = append(s.reactions[key], form.Get("name"))
			return Object{"ok": true}
		case !has:
			return no("no_reaction")
		default:
			s.reactions[key] = slices.DeleteFunc(s.reactions[key], func(n string) bool { return n == form.Get("name") })
			return Object{"ok": true}
		}
	case "users.info":
		u, ok := s.people[form.Get("user")]
		if !ok {
			return no("user_not_found")
		}
		o := Object{"id": form.Get("user")}
		maps.Copy(o, u)
		return Object{"ok": true, "user": o}
	case "conversations.replies":
		return s.replies(form)
	case "files.getUploadURLExternal":
		n, err := strconv.Atoi(form.Get("length"))
		if err != nil || n < 1 || form.Get("filename") == "" {
			return no("invalid_arguments")
		}
		id := "F" + strings.ReplaceAll(s.next(), ".", "")
		return Object{"ok": true, "upload_url": s.URL + "/upload/" + id, "file_id": id}
	case "files.completeUploadExternal":
		var files []struct{ ID, Title string }
		if err := json.Unmarshal([]byte(form.Get("files")), &files); err != nil {
			return no("invalid_arguments")
		}
		chat := cmp.Or(form.Get("channel_id"), form.Get("channels"))
		m := &Message{Chat: chat, TS: s.next(), Thread: form.Get("thread_ts")}
		var list []Object
		for _, f := range files {
			if _, ok := s.files["/upload/"+f.ID]; !ok {
				return no("file_not_found")
			}
			m.Files = append(m.Files, f.Title+"="+string(s.files["/upload/"+f.ID]))
			list = append(list, Object{"id": f.ID, "title": f.Title})
		}
		s.messages = append(s.messages, m)
		return Object{"ok": true, "files": list}
	case "assistant.threads.setStatus", "reminders.add":
		return Object{"ok": true}
	default:
		return no("unknown_method")
	}
}

// replies returns the messages of a thread, the first one before all others.
func (s *Server) replies(form url.Values) Object {
	channel, thread, oldest := form.Get("channel"), form.Get("ts"), form.Get("oldest")
	var list []Object
	for _, e := range s.written {
		if e["channel"] == channel && (e["ts"] == thread || e["thread_ts"] == thread && e["ts"].(string) > oldest) {
			list = append(list, e)
		}
	}
	for _, m := range s.messages {
		if m.Chat == channel && (m.TS == thread || m.Thread == thread && m.TS > oldest) {
			list = append(list, Object{"type": "message", "user": Bot, "bot_id": "B0ETUI", "text": m.Text, "ts": m.TS,
				"thread_ts": thread})
		}
	}
	slices.SortStableFunc(list, func(a, b Object) int { return strings.Compare(a["ts"].(string), b["ts"].(string)) })
	if len(list) == 0 {
		return no("thread_not_found")
	}
	if n, err := strconv.Atoi(form.Get("limit")); err == nil && n < len(list) {
		list = list[:n]
	}
	return Object{"ok": true, "messages": list, "has_more": false}
}

func (s *Server) next() string {
	return fmt.Sprintf("1700000000.%06d", s.Next()+1)
}

func (s *Server) message(chat, ts string) *Message {
	return platformtest.Find(s.messages, func(m *Message) bool { return m.Chat == chat && m.TS == ts })
}

// file gives and takes files. Without the token Slack leads to a page to sign in.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var data []byte
		if f, _, err := r.FormFile("file"); err == nil { // slack-go sends a form, which Slack takes, too
			data, _ = io.ReadAll(f)
		} else {
			data, _ = io.ReadAll(r.Body)
		}
		defer s.Hold()()
		s.files[r.URL.Path] = data
		fmt.Fprintf(w, "OK - %d", len(data))
		return
	}
	release := s.Hold()
	data, ok := s.files[r.URL.Path]
	release()
	if !ok || r.Header.Get("Authorization") != "Bearer "+BotToken {
		http.Redirect(w, r, "/files/sign-in?redir="+url.QueryEscape(r.URL.Path), http.StatusFound)
		return
	}
	_, _ = w.Write(data)
}

// Callback returns an event as the Events API delivers it.
func Callback(event Object) Object {
	return Object{
		"token": "one-long-verification-token", "team_id": Team, "api_app_id": "A1", "type": "event_callback",
		"event": event, "event_id": "Ev" + fmt.Sprint(event["event_ts"], event["type"]), "event_time": 1700000000,
		"authorizations": []Object{{"enterprise_id": nil, "team_id": Team, "user_id": Bot, "is_bot": true,
			"is_enterprise_install": false}},
		"is_ext_shared_channel": false,
	}
}

// push delivers something. The caller holds the server.
func (s *Server) push(kind string, payload any) *Delivery {
	id := fmt.Sprintf("%08d-3be8-4280-b339-36e3f6652bac", len(s.Deliveries()))
	return s.Queue(&Delivery{ID: id, Kind: kind, Payload: payload})
}

// Push delivers something.
func (s *Server) Push(kind string, payload any) *Delivery {
	defer s.Hold()()
	return s.push(kind, payload)
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("ticket") != "one-time-secret" {
		http.Error(w, "ticket", http.StatusForbidden)
		return
	}
	conn := s.Accept(w, r)
	if conn == nil {
		return
	}
	platformtest.Write(r.Context(), conn,
		Object{"type": "hello", "num_connections": 1, "connection_info": Object{"app_id": "A1"},
			"debug_info": Object{"host": "applink-4", "build_number": 0, "approximate_connection_time": 18060}})
	s.Stream(r, conn, func(ctx context.Context, d *Delivery, n int) {
		e := Object{"envelope_id": d.ID, "type": d.Kind, "payload": d.Payload,
			"accepts_response_payload": d.Kind != "events_api"}
		if d.Kind == "events_api" {
			e["retry_attempt"], e["retry_reason"] = n, ""
		}
		platformtest.Write(ctx, conn, e)
	}, func(_ context.Context, data []byte) {
		var ack struct {
			ID string `json:"envelope_id"`
		}
		_ = json.Unmarshal(data, &ack)
		defer s.Hold()()
		s.Acknowledge(ack.ID, nil)
	})
}

// Disconnect says that all connections end.
func (s *Server) Disconnect(reason string) {
	for _, c := range s.Conns() {
		platformtest.Write(context.Background(), c,
			Object{"type": "disconnect", "reason": reason, "debug_info": Object{"host": "wss-111.slack.com"}})
	}
}

// Sign signs a request as Slack does.
func Sign(r *http.Request, secret string, at time.Time, body []byte) {
	sent := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", sent, body)
	r.Header.Set("X-Slack-Request-Timestamp", sent)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
}

// Request returns a signed request with JSON or a form.
func Request(ctx context.Context, to, contentType string, body []byte) *http.Request {
	r := platformtest.Request(ctx, http.MethodPost, to, contentType, body)
	Sign(r, Secret, time.Now(), body)
	return r
}

// Encode returns a delivery as the body of a request.
func Encode(kind string, payload any) (contentType string, body []byte) {
	text, _ := json.Marshal(payload)
	switch kind {
	case "events_api":
		return "application/json", text
	case "interactive":
		return "application/x-www-form-urlencoded", []byte(url.Values{"payload": {string(text)}}.Encode())
	}
	form := url.Values{}
	for k, v := range payload.(Object) {
		form.Set(k, fmt.Sprint(v))
	}
	return "application/x-www-form-urlencoded", []byte(form.Encode())
}

// Deliver sends what is to be delivered to an address, as the Events API does, one after
// another, until the server is closed. Slack tries three times more within some minutes;
// this server tries until it succeeds.
func (s *Server) Deliver(to string) {
	s.Post(func(d *Delivery, n int) *http.Request {
		contentType, body := Encode(d.Kind, d.Payload)
		r := Request(context.Background(), to, contentType, body)
		if n > 0 {
			r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(n))
			r.Header.Set("X-Slack-Retry-Reason", "http_error")
		}
		return r
	})
}
