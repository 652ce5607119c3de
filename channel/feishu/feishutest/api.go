package feishutest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/etui-run/etui/channel/platformtest"
)

const maxCard = 30 << 10 // bytes of a request with a card or a rich text

// problem is an error of the API.
type problem struct {
	status, code int
	message      string
}

func (p *problem) answer() (int, any) {
	return p.status, Object{"code": p.code, "msg": p.message, "error": Object{"log_id": "20261123"}}
}

func no(code int, message string) (int, any) { return (&problem{400, code, message}).answer() }

func yes(data any) (int, any) { return 200, Object{"code": 0, "msg": "success", "data": data} }

// writing is the call that writes a message; an answer to one counts as such, too.
const writing, replying = "POST im/v1/messages", "POST im/v1/messages/{id}/reply"

// routes sets up the API.
func (s *Server) routes() {
	s.Mux.HandleFunc("POST /open-apis/auth/v3/tenant_access_token/internal", s.issue)
	s.Mux.HandleFunc("POST /callback/ws/endpoint", s.endpoint)
	s.Mux.HandleFunc("GET /ws/v2", s.socket)
	s.Same[replying] = writing
	s.Routes("/open-apis/", map[string]platformtest.Handler{
		writing:                              s.create,
		replying:                             s.reply,
		"PATCH im/v1/messages/{id}":          s.patch,
		"GET im/v1/messages/{id}":            s.get,
		"PUT im/v1/messages/{id}":            s.update,
		"POST im/v1/messages/{id}/reactions": s.react,
		"DELETE im/v1/messages/{id}/reactions/{reaction}": s.unreact,
		"POST im/v1/images":                      s.upload,
		"POST im/v1/files":                       s.upload,
		"GET im/v1/chats/{id}":                   chat,
		"GET contact/v3/users/{id}":              s.user,
		"POST task/v2/tasks":                     task,
		"POST calendar/v4/calendars/primary":     calendar,
		"POST calendar/v4/calendars/{id}/events": event,
		"POST calendar/v4/calendars/{id}/events/{n}/attendees": func(*http.Request, Object) (int,
			any) {
			return yes(Object{"attendees": []Object{}})
		},
		"GET bot/v3/info": func(*http.Request, Object) (int, any) {
			return 200, Object{"code": 0, "msg": "ok",
				"bot": Object{"activate_status": 2, "app_name": "etui", "avatar_url": "", "ip_white_list": []string{},
					"open_id": Bot}}
		},
		"GET im/v1/messages/{id}/resources/{key}": func(r *http.Request, _ Object) (int, any) {
			content, ok := s.resources[r.PathValue("key")]
			if kind := r.URL.Query().Get("type"); !ok || kind != "image" && kind != "file" {
				return no(234003, "File not in msg.")
			}
			return 200, platformtest.File{Type: "application/octet-stream", Data: content}
		},
	}, func(r *http.Request, body Object) (int, any) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case token == "":
			return no(99991661, "Missing access token for authorization. Please make a request with token attached.")
		case token != s.token:
			return no(99991663, "Invalid access token for authorization. Please make a request with token attached.")
		case r.ContentLength > maxCard && body["content"] != nil && body["msg_type"] != "text":
			return no(230025, "The length of the message content reaches its limit.")
		}
		return 0, nil
	})
}

// issue gives the access token, the same one while it is valid.
func (s *Server) issue(w http.ResponseWriter, r *http.Request) {
	var app struct {
		ID     string `json:"app_id"`
		Secret string `json:"app_secret"`
	}
	_ = json.NewDecoder(r.Body).Decode(&app)
	defer s.Hold()()
	switch {
	case app.ID != AppID:
		platformtest.Answer(w, http.StatusOK, Object{"code": 10003, "msg": "invalid param"})
	case app.Secret != AppSecret || s.revoked:
		platformtest.Answer(w, http.StatusOK, Object{"code": 10014, "msg": "app secret invalid"})
	default:
		s.issued++
		if s.token == "" {
			s.token = s.next("t-")
		}
		platformtest.Answer(w, http.StatusOK,
			Object{"code": 0, "msg": "ok", "tenant_access_token": s.token, "expire": 7200})
	}
}

// compose checks the content of a message and keeps it.
func (s *Server) compose(body Object, m Message) (int, any) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	if key := text("uuid"); key != "" {
		if len(key) > 50 {
			return no(230001, "invalid request parameter, ext=uuid")
		}
		if old, ok := s.uuids[key]; ok {
			return yes(describe(old))
		}
	}
	m.Kind, m.Content = text("msg_type"), text("content")
	if wrong := s.check(m.Kind, m.Content); wrong != nil {
		return wrong.answer()
	}
	m.ID = s.next("om_out")
	s.messages = append(s.messages, &m)
	if key := text("uuid"); key != "" {
		s.uuids[key] = &m
	}
	return yes(describe(&m))
}

func describe(m *Message) Object {
	return Object{"message_id": m.ID, "msg_type": m.Kind, "chat_id": m.Chat, "create_time": "1795000000000",
		"deleted": false, "sender": Object{"id": AppID, "id_type": "app_id", "sender_type": "app"},
		"body": Object{"content": m.Content}}
}

func (s *Server) check(kind, content string) *problem {
	var c struct {
		Text   string
		Schema string
		Config struct {
			Multi bool `json:"update_multi"`
		}
		Body struct {
			Elements []struct{ Tag, Content string }
		}
		ImageKey string `json:"image_key"`
		FileKey  string `json:"file_key"`
	}
	if err := json.Unmarshal([]byte(content), &c); err != nil {
		return &problem{400, 230001, "invalid request parameter, ext=content is not a string in json format"}
	}
	ok := false
	switch kind {
	case "text":
		ok = c.Text != ""
	case "post":
		ok = strings.Contains(content, `"content":[[`)
	case "image":
		ok = s.uploads[c.ImageKey] != ""
	case "file":
		ok = s.uploads[c.FileKey] != ""
	case "interactive":
		if c.Schema != "2.0" || len(c.Body.Elements) == 0 {
			return &problem{400, 230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: element exceeds the limit;"}
		}
		for _, e := range c.Body.Elements {
			if strings.Contains(e.Content, "REFUSE-CARD") {
				return &problem{400, 230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: element exceeds the limit;"}
			}
		}
		ok = c.Config.Multi
	}
	if !ok {
		return &problem{400, 230001, "Your request contains an invalid request parameter."}
	}
	return nil
}

func (s *Server) create(r *http.Request, body Object) (int, any) {
	to, _ := body["receive_id"].(string)
	switch kind := r.URL.Query().Get("receive_id_type"); {
	case kind == "chat_id" && strings.HasPrefix(to, "oc_"):
	case kind == "open_id" && strings.HasPrefix(to, "ou_"):
		to = DirectChat(to)
	default:
		return no(230001, "Your request contains an invalid request parameter, ext=invalid receive_id.")
	}
	return s.compose(body, Message{Chat: to})
}

// reply answers a person's message, or one of the bot.
func (s *Server) reply(r *http.Request, body Object) (int, any) {
	id := r.PathValue("id")
	chat := ""
	if m := s.message(id); m != nil {
		chat = m.Chat
	}
	for _, d := range s.Deliveries() {
		event, _ := d.Payload.(Object)["event"].(Object)
		if m, ok := event["message"].(Object); ok && m["message_id"] == id {
			chat = m["chat_id"].(string)
		}
	}
	if chat == "" {
		return no(230011, "The message is recalled.")
	}
	thread, _ := body["reply_in_thread"].(bool)
	return s.compose(body, Message{Chat: chat, Parent: id, Thread: thread})
}

func (s *Server) patch(r *http.Request, body Object) (int, any) {
	m := s.message(r.PathValue("id"))
	content, _ := body["content"].(string)
	if m == nil || m.Kind != "interactive" {
		return no(230001, "Your request contains an invalid request parameter, ext=NOT a card.")
	}
	if wrong := s.check("interactive", content); wrong != nil {
		return wrong.answer()
	}
	m.Content = content
	return yes(Object{})
}

func (s *Server) update(r *http.Request, body Object) (int, any) {
	m := s.message(r.PathValue("id"))
	content, _ := body["content"].(string)
	if m == nil || m.Kind != "post" && m.Kind != "text" || m.Kind != body["msg_type"] {
		return no(230001, "Your request contains an invalid request parameter.")
	}
	if m.edits++; m.edits > 20 {
		return no(230072, "The message has reached the number of times it can be edited.")
	}
	if wrong := s.check(m.Kind, content); wrong != nil {
		return wrong.answer()
	}
	m.Content = content
	return yes(describe(m))
}

// get returns a message that somebody has written, with those that it passes on.
func (s *Server) get(r *http.Request, _ Object) (int, any) {
	list, ok := s.written[r.PathValue("id")]
	if !ok {
		return no(230002, "Bot/User can NOT be out of the chat.")
	}
	return yes(Object{"items": list})
}

// target is the message of a reaction; one for a person's message is made.
func (s *Server) target(id string) *Message {
	m := s.message(id)
	if m == nil {
		m = &Message{ID: id, Chat: "-"}
		s.messages = append(s.messages, m)
	}
	return m
}

func (s *Server) react(r *http.Request, body Object) (int, any) {
	kind, _ := body["reaction_type"].(map[string]any)
	name, _ := kind["emoji_type"].(string)
	if name == "" || name == "unknown" {
		return no(231001, "reaction type is invalid.")
	}
	m := s.target(r.PathValue("id"))
	m.Reactions = append(m.Reactions, name)
	return yes(Object{"reaction_id": "ZCaCIjUBVVWSrm5L-" + name,
		"operator": Object{"operator_id": AppID, "operator_type": "app"}, "reaction_type": Object{"emoji_type": name}})
}

func (s *Server) unreact(r *http.Request, _ Object) (int, any) {
	m := s.target(r.PathValue("id"))
	name := strings.TrimPrefix(r.PathValue("reaction"), "ZCaCIjUBVVWSrm5L-")
	if !slices.Contains(m.Reactions, name) {
		return no(231007, "The reaction does not exist.")
	}
	m.Reactions = slices.DeleteFunc(m.Reactions, func(n string) bool { return n == name })
	return yes(Object{})
}

func (s *Server) upload(r *http.Request, _ Object) (int, any) {
	field, limit, kind := "file", 30<<20, r.FormValue("file_type")
	if strings.HasSuffix(r.URL.Path, "/images") {
		field, limit, kind = "image", 10<<20, r.FormValue("image_type")
	}
	f, head, err := r.FormFile(field)
	if err != nil || kind == "" {
		return no(234001, "Invalid request param.")
	}
	content, _ := io.ReadAll(f)
	switch {
	case len(content) == 0:
		return no(234010, "File's size can't be 0.")
	case len(content) > limit:
		return no(234006, "The file size exceed the max value.")
	case field == "image":
		key := s.next("img_v3_")
		s.uploads[key] = head.Filename + "=" + string(content)
		return yes(Object{"image_key": key})
	}
	key := s.next("file_v3_")
	s.uploads[key] = r.FormValue("file_name") + "=" + string(content)
	return yes(Object{"file_key": key})
}

// chat describes a chat: ou_owner owns every group, and ou_manager is its administrator.
func chat(r *http.Request, _ Object) (int, any) {
	if strings.HasPrefix(r.PathValue("id"), "oc_p2p-") {
		return yes(Object{"chat_mode": "p2p", "tenant_key": Tenant})
	}
	return yes(Object{"chat_mode": "group", "chat_type": "private", "owner_id_type": "open_id", "owner_id": "ou_owner",
		"user_manager_id_list": []string{"ou_manager"}, "tenant_key": Tenant})
}

func (s *Server) user(r *http.Request, _ Object) (int, any) {
	id := r.PathValue("id")
	p, ok := s.people[id]
	if !ok {
		return no(41050, "no user authority error")
	}
	user := Object{"open_id": id}
	maps.Copy(user, p)
	return yes(Object{"user": user})
}

func task(_ *http.Request, body Object) (int, any) {
	if body["summary"] == nil || body["summary"] == "" {
		return no(1470400, "summary is required")
	}
	return yes(Object{"task": Object{"guid": "e297ddff-06ca-4166-b917-4ce57cd3a7a0", "summary": body["summary"],
		"url": "https://applink.feishu.cn/client/todo/detail?guid=e297ddff"}})
}

func calendar(*http.Request, Object) (int, any) {
	return yes(Object{"calendars": []Object{{"calendar": Object{"calendar_id": "feishu.cn_bot@group.calendar.feishu.cn",
		"type": "primary", "role": "owner"}, "user_id": Bot}}})
}

func event(_ *http.Request, body Object) (int, any) {
	if body["start_time"] == nil || body["end_time"] == nil {
		return no(190002, "invalid parameters in request")
	}
	return yes(Object{"event": Object{"event_id": "00592a0e_0", "summary": body["summary"],
		"app_link": "https://applink.feishu.cn/client/calendar/event/detail?calendarId=1"}})
}
