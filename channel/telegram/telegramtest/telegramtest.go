// Package telegramtest is a Bot API server for tests.
//
// It follows https://core.telegram.org/bots/api and the server that Telegram publishes,
// https://github.com/tdlib/telegram-bot-api (both as of Bot API 10.0, May 2026): parameters as JSON,
// URL-encoded or multipart; updates that are kept until a higher offset or an answer of 200
// confirms them; the texts of its errors; HTML that is refused unless it is right.
package telegramtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/etui-run/etui/channel/platformtest"
)

// Object is an object of the API.
type Object = platformtest.Object

// Message is what the bot has written.
type Message struct {
	ID int64
	// Text is what readers see, or the caption of a file; HTML is what was sent.
	Text, HTML string
	// Thread and ReplyTo are 0 for none.
	Thread, ReplyTo int64
	// Buttons are those of a keyboard, and File what was uploaded.
	Buttons []Button
	File    []byte
	// Method is the one that sent it.
	Method string
	Fields map[string]any
}

// Button is a button under a message.
type Button struct{ Label, Data string }

// Failure is an error answer.
type Failure struct {
	Code        int
	Description string
	RetryAfter  int
	MigrateTo   int64
	// Page is an answer that is none of the API; Description is its text.
	Page bool
}

// Server is a Bot API server with one bot. Its methods are safe for concurrent use.
type Server struct {
	*platformtest.Server

	// Token is the token of the bot, whose ID is 123456 and whose name is @etui_bot.
	Token string

	polls   int // how many getUpdates there were; only the newest one waits
	webhook Object
	posting bool
	sent    map[string][]*Message
	calls   map[string][]Call
	files   map[string][]byte
	members map[string]string
	sets    map[string][]Object
}

// Call is a call of a method, as the bot made it.
type Call struct {
	Method string
	Params map[string]any
}

// BotID is the ID of the bot.
const BotID = 123456

// Start starts a server. The caller closes it.
func Start() *Server {
	s := &Server{
		Server: platformtest.Start(), Token: "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11", calls: map[string][]Call{},
		sent: map[string][]*Message{}, files: map[string][]byte{}, members: map[string]string{},
		sets: map[string][]Object{},
	}
	s.Mux.HandleFunc("/", s.serve)
	return s
}

// Update makes an update of its field, such as message, and returns its ID.
func (s *Server) Update(kind string, value any) int64 {
	defer s.Hold()()
	id := 700_000_000 + int64(len(s.Deliveries())) + 1
	s.Queue(&platformtest.Delivery{ID: fmt.Sprint(id), Payload: Object{"update_id": id, kind: value}})
	return id
}

// Write makes a person's message of its fields; it fills in its ID and date.
func (s *Server) Write(fields Object) (id int64) {
	fields = maps.Clone(fields)
	id = s.next()
	fields["message_id"], fields["date"] = id, 1_760_000_000
	s.Update("message", fields)
	return id
}

// Press lets a person press a button under a message of the bot.
func (s *Server) Press(from Object, chat Object, message *Message, label string) {
	var rows [][]Object
	data := ""
	for _, b := range message.Buttons {
		rows = append(rows, []Object{{"text": b.Label, "callback_data": b.Data}})
		if b.Label == label {
			data = b.Data
		}
	}
	s.Update("callback_query", Object{
		"id": strconv.FormatInt(s.next(), 10), "from": from, "chat_instance": "1", "data": data,
		"message": Object{"message_id": message.ID, "date": 1_760_000_000, "chat": chat, "from": s.me(),
			"text": message.Text, "reply_markup": Object{"inline_keyboard": rows}},
	})
}

func (s *Server) next() int64 {
	defer s.Hold()()
	return s.newID()
}

// newID returns a new ID of a message, a file or a callback. The caller holds the server.
func (s *Server) newID() int64 { return 100 + int64(s.Next()) }

// Upload stores a file of a person, and returns its file_id.
func (s *Server) Upload(data []byte) string {
	id := fmt.Sprintf("file-%d", s.next())
	defer s.Hold()()
	s.files[id] = data
	return id
}

// Member sets the status of a person in a chat.
func (s *Server) Member(chat, user int64, status string) {
	defer s.Hold()()
	s.members[fmt.Sprint(chat, "/", user)] = status
}

// StickerSet adds a set of stickers.
func (s *Server) StickerSet(name string, emoji ...string) {
	defer s.Hold()()
	for i, e := range emoji {
		s.sets[name] = append(s.sets[name],
			Object{"file_id": fmt.Sprintf("%s-%d", name, i), "emoji": e, "set_name": name})
	}
}

// Fail makes the next call of a method fail.
func (s *Server) Fail(method string, f Failure) {
	s.FailNext(method, func(w http.ResponseWriter) { answer(w, nil, &f) })
}

// Sent returns what the bot has written in a chat, oldest first.
func (s *Server) Sent(chat string) []Message {
	defer s.Hold()()
	return platformtest.Copies(s.sent[chat], func(*Message) bool { return true })
}

// Calls returns the calls of a method, oldest first.
func (s *Server) Calls(method string) []Call {
	defer s.Hold()()
	return slices.Clone(s.calls[method])
}

// Pending returns how many updates are not confirmed.
func (s *Server) Pending() int {
	defer s.Hold()()
	return len(s.Open())
}

// request returns a request to the webhook.
func (s *Server) request(update any) *http.Request {
	release := s.Hold()
	hook := s.webhook
	release()
	body, _ := json.Marshal(update)
	to, _ := hook["url"].(string)
	req := platformtest.Request(context.Background(), http.MethodPost, to, "application/json", body)
	if secret, _ := hook["secret_token"].(string); secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	return req
}

func (s *Server) me() Object {
	return Object{"id": BotID, "is_bot": true, "first_name": "etui", "username": "etui_bot"}
}

// serve answers calls and downloads.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+s.Token+"/files/"); ok {
		release := s.Hold()
		data, ok := s.files[path]
		release()
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+s.Token+"/")
	if !ok {
		answer(w, nil, &Failure{Code: 404, Description: "Not Found"})
		return
	}
	p, file, err := read(r)
	if err != nil {
		answer(w, nil, &Failure{Code: 400, Description: "Bad Request: " + err.Error()})
		return
	}
	release := s.Hold()
	s.calls[method] = append(s.calls[method], Call{method, p})
	s.Touch()
	failed := s.Failed(w, method)
	release()
	if failed {
		return
	}
	result, no := s.do(r.Context(), method, p, file)
	answer(w, result, no)
}

// read reads parameters in the three ways in which they are sent.
func read(r *http.Request) (p map[string]any, file []byte, err error) {
	p = map[string]any{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		raw, err := io.ReadAll(r.Body)
		if err != nil || len(raw) == 0 || string(raw) == "null" {
			return p, nil, err
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		return p, nil, d.Decode(&p)
	}
	if err := r.ParseMultipartForm(64 << 20); err != nil && r.Form == nil {
		return nil, nil, err
	}
	for name := range r.Form {
		text := r.Form.Get(name)
		p[name] = text
		if d := json.NewDecoder(strings.NewReader(text)); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			var v any
			if d.UseNumber(); d.Decode(&v) == nil {
				p[name] = v
			}
		}
	}
	if r.MultipartForm != nil {
		for name, heads := range r.MultipartForm.File {
			f, err := heads[0].Open()
			if err != nil {
				return nil, nil, err
			}
			if file, err = io.ReadAll(f); err != nil {
				return nil, nil, err
			}
			p[name] = heads[0].Filename
		}
	}
	return p, file, nil
}

func answer(w http.ResponseWriter, result any, f *Failure) {
	switch {
	case f == nil:
		platformtest.Answer(w, http.StatusOK, Object{"ok": true, "result": result})
	case f.Page:
		http.Error(w, f.Description, f.Code)
	default:
		body := Object{"ok": false, "error_code": f.Code, "description": f.Description}
		if f.RetryAfter > 0 {
			body["parameters"] = Object{"retry_after": f.RetryAfter}
		}
		if f.MigrateTo != 0 {
			body["parameters"] = Object{"migrate_to_chat_id": f.MigrateTo}
		}
		platformtest.Answer(w, f.Code, body)
	}
}

func bad(format string, args ...any) *Failure {
	return &Failure{Code: 400, Description: "Bad Request: " + fmt.Sprintf(format, args...)}
}

// do runs a method.
func (s *Server) do(ctx context.Context, method string, p map[string]any, file []byte) (any, *Failure) {
	switch method {
	case "getMe":
		return s.me(), nil
	case "getUpdates":
		return s.getUpdates(ctx, p)
	case "setWebhook":
		defer s.Hold()()
		if secret := str(p, "secret_token"); strings.Trim(secret,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || len(secret) > 256 {
			return nil, bad("secret token contains unallowed characters")
		}
		if s.webhook = p; str(p, "url") == "" {
			s.webhook = nil
		}
		s.Touch()
		if s.webhook != nil && !s.posting {
			s.posting = true
			s.Post(func(d *platformtest.Delivery, _ int) *http.Request { return s.request(d.Payload) })
		}
		return true, nil
	case "deleteWebhook":
		defer s.Hold()()
		s.webhook = nil
		s.Touch()
		return true, nil
	case "sendMessage", "sendPhoto", "sendDocument", "sendPoll", "sendSticker":
		return s.send(method, p, file)
	case "editMessageText":
		return s.edit(p)
	case "sendChatAction", "setMessageReaction", "setMyCommands", "answerCallbackQuery":
		if method == "setMessageReaction" && num(p, "message_id") == 0 {
			return nil, bad("message to react not found")
		}
		return true, nil
	case "getFile":
		defer s.Hold()()
		id := str(p, "file_id")
		data, ok := s.files[id]
		switch {
		case !ok:
			return nil, bad("wrong file_id or the file is temporarily unavailable")
		case len(data) > 20<<20:
			return nil, bad("file is too big")
		}
		return Object{"file_id": id, "file_unique_id": id, "file_size": len(data), "file_path": "files/" + id}, nil
	case "getChatMember":
		defer s.Hold()()
		status := s.members[fmt.Sprint(num(p, "chat_id"), "/", num(p, "user_id"))]
		return Object{"status": cmp.Or(status, "member"), "is_member": status == "restricted",
			"user": Object{"id": num(p, "user_id"), "first_name": "somebody"}}, nil
	case "getStickerSet":
		defer s.Hold()()
		set, ok := s.sets[str(p, "name")]
		if !ok {
			return nil, bad("STICKERSET_INVALID")
		}
		return Object{"name": str(p, "name"), "title": str(p, "name"), "stickers": set}, nil
	}
	return nil, &Failure{Code: 404, Description: "Not Found: method not found"}
}

func (s *Server) getUpdates(ctx context.Context, p map[string]any) (any, *Failure) {
	release := s.Hold()
	if s.webhook != nil {
		release()
		return nil, &Failure{Code: 409,
			Description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"}
	}
	offset, limit := num(p, "offset"), min(cmp.Or(num(p, "limit"), 100), 100)
	for _, d := range s.Open() {
		if d.Payload.(Object)["update_id"].(int64) < offset {
			s.Acknowledge(d.ID, nil)
		}
	}
	s.polls++
	mine := s.polls
	s.Touch()
	release()
	ctx, stop := context.WithTimeout(ctx, time.Duration(num(p, "timeout"))*time.Second)
	defer stop()
	updates, conflict := []Object{}, false
	_ = s.Wait(ctx, func() bool {
		defer s.Hold()()
		conflict = s.polls != mine
		updates = []Object{}
		for _, d := range s.Open() {
			if len(updates) < int(limit) {
				updates = append(updates, d.Payload.(Object))
			}
		}
		return len(updates) > 0 || conflict
	})
	if conflict {
		return nil, &Failure{Code: 409,
			Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
	}
	return updates, nil
}

// content reads the text of a message: what readers see, and its source.
func content(p map[string]any, field string, most int) (seen string, failed *Failure) {
	source := str(p, field)
	seen = source
	switch mode := str(p, "parse_mode"); strings.ToLower(mode) {
	case "":
	case "html":
		var err error
		if seen, err = Parse(source); err != nil {
			return "", bad("can't parse entities: %v", err)
		}
	default:
		return "", bad("unsupported parse_mode")
	}
	if seen = strings.TrimSpace(seen); len(utf16.Encode([]rune(seen))) > most {
		return "", bad("message is too long")
	}
	return seen, nil
}

func (s *Server) send(method string, p map[string]any, file []byte) (any, *Failure) {
	m := &Message{Method: method, Fields: p, File: file, Thread: num(p, "message_thread_id")}
	var failed *Failure
	switch method {
	case "sendMessage":
		if m.Text, failed = content(p, "text", 4096); failed == nil && m.Text == "" {
			failed = bad("message text is empty")
		}
		m.HTML = str(p, "text")
	case "sendPhoto", "sendDocument":
		if m.Text, failed = content(p, "caption", 1024); failed == nil && file == nil {
			failed = bad("there is no %s in the request", strings.ToLower(method[4:]))
		}
	case "sendPoll":
		m.Text = str(p, "question")
	}
	if failed != nil {
		return nil, failed
	}
	if reply, ok := p["reply_parameters"].(map[string]any); ok {
		m.ReplyTo = num(reply, "message_id")
	}
	if markup, ok := p["reply_markup"].(map[string]any); ok {
		rows, _ := markup["inline_keyboard"].([]any)
		for _, row := range rows {
			for _, b := range row.([]any) {
				b := b.(map[string]any)
				if len(str(b, "callback_data")) > 64 {
					return nil, bad("BUTTON_DATA_INVALID")
				}
				m.Buttons = append(m.Buttons, Button{str(b, "text"), str(b, "callback_data")})
			}
		}
	}
	chat := fmt.Sprint(p["chat_id"])
	n, err := strconv.ParseInt(chat, 10, 64)
	if err != nil {
		return nil, bad("chat not found")
	}
	defer s.Hold()()
	m.ID = s.newID()
	s.sent[chat] = append(s.sent[chat], m)
	s.Touch()
	return Object{"message_id": m.ID, "date": 1_760_000_000, "chat": Object{"id": n, "type": "private"},
		"text": m.Text}, nil
}

func (s *Server) edit(p map[string]any) (any, *Failure) {
	seen, failed := content(p, "text", 4096)
	if failed != nil {
		return nil, failed
	}
	defer s.Hold()()
	for _, m := range s.sent[fmt.Sprint(p["chat_id"])] {
		if m.ID != num(p, "message_id") {
			continue
		}
		if m.Text == seen {
			return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
		}
		m.Text, m.HTML, m.Buttons = seen, str(p, "text"), nil
		s.Touch()
		return Object{"message_id": m.ID, "date": 1_760_000_000, "chat": Object{"id": 1, "type": "private"},
			"text": seen}, nil
	}
	return nil, bad("message to edit not found")
}

func str(p map[string]any, name string) string {
	text, _ := p[name].(string)
	return text
}

func num(p map[string]any, name string) int64 {
	n, _ := strconv.ParseInt(fmt.Sprint(p[name]), 10, 64)
	return n
}
