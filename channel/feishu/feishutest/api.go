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

// routes sets up the API.
func (s *Server) routes() {
	s.Mux.HandleFunc("POST /open-apis/auth/v3/tenant_access_token/internal", s.issue)
	s.Mux.HandleFunc("POST /callback/ws/endpoint", s.endpoint)
	s.Mux.HandleFunc("GET /ws/v2", s.socket)
	type handler = func(r *http.Request, body Object) (any, *problem)
	for pattern, h := range map[string]handler{
		"POST im/v1/messages":                                  s.create,
		"POST im/v1/messages/{id}/reply":                       s.reply,
		"PATCH im/v1/messages/{id}":                            s.patch,
		"PUT im/v1/messages/{id}":                              s.update,
		"POST im/v1/messages/{id}/reactions":                   s.react,
		"DELETE im/v1/messages/{id}/reactions/{reaction}":      s.unreact,
		"POST im/v1/images":                                    s.upload,
		"POST im/v1/files":                                     s.upload,
		"GET im/v1/chats/{id}":                                 chat,
		"GET contact/v3/users/{id}":                            s.user,
		"POST task/v2/tasks":                                   task,
		"POST calendar/v4/calendars/primary":                   calendar,
		"POST calendar/v4/calendars/{id}/events":               event,
		"POST calendar/v4/calendars/{id}/events/{n}/attendees": attendees,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		s.Mux.HandleFunc(method+" /open-apis/"+path, func(w http.ResponseWriter, r *http.Request) {
			s.serve(w, r, func(body Object) {
				data, no := h(r, body)
				if no != nil {
					refuse(w, no)
					return
				}
				platformtest.Answer(w, http.StatusOK, Object{"code": 0, "msg": "success", "data": data})
			})
		})
	}
	s.Mux.HandleFunc("GET /open-apis/bot/v3/info", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, func(Object) {
			platformtest.Answer(w, http.StatusOK, Object{"code": 0, "msg": "ok", "bot": Object{"activate_status": 2, "app_name": "etui", "avatar_url": "", "ip_white_list": []string{}, "open_id": Bot}})
		})
	})
	s.Mux.HandleFunc("GET /open-apis/im/v1/messages/{id}/resources/{key}", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, func(Object) {
			content, ok := s.resources[r.PathValue("key")]
			if kind := r.URL.Query().Get("type"); !ok || kind != "image" && kind != "file" {
				platformtest.Answer(w, http.StatusBadRequest, Object{"code": 234003, "msg": "File not in msg."})
				return
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(content)
		})
	})
}

func refuse(w http.ResponseWriter, p *problem) {
	platformtest.Answer(w, p.status, Object{"code": p.code, "msg": p.message, "error": Object{"log_id": "20261123"}})
}

// writing is the name of all calls that write a message.
const writing = "writing"

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
		platformtest.Answer(w, http.StatusOK, Object{"code": 0, "msg": "ok", "tenant_access_token": s.token, "expire": 7200})
	}
}

// serve checks a call of the API, and lets h answer it, which holds the server.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, h func(body Object)) {
	var body Object
	var raw []byte
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		raw, _ = io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &body)
	}
	defer s.Hold()()
	path := strings.TrimPrefix(r.URL.Path, "/open-apis/")
	call := r.Method + " " + path
	s.calls[call] = append(s.calls[call], Call{r.Method, path, r.URL.RawQuery, body})
	defer s.Touch()
	no := func(status, code int, message string) { refuse(w, &problem{status, code, message}) }
	switch token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); {
	case token == "":
		no(http.StatusBadRequest, 99991661, "Missing access token for authorization. Please make a request with token attached.")
		return
	case token != s.token:
		no(http.StatusBadRequest, 99991663, "Invalid access token for authorization. Please make a request with token attached.")
		return
	}
	writes := r.Method == http.MethodPost && (path == "im/v1/messages" || strings.HasSuffix(path, "/reply"))
	if s.Failed(w, call) || writes && s.Failed(w, writing) {
		return
	}
	if len(raw) > maxCard && writes && body["msg_type"] != "text" {
		no(http.StatusBadRequest, 230025, "The length of the message content reaches its limit.")
		return
	}
	h(body)
}

// compose checks the content of a message and keeps it.
func (s *Server) compose(body Object, m Message) (any, *problem) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	if key := text("uuid"); key != "" {
		if len(key) > 50 {
			return nil, &problem{400, 230001, "invalid request parameter, ext=uuid"}
		}
		if old, ok := s.uuids[key]; ok {
			return describe(old), nil
		}
	}
	m.Kind, m.Content = text("msg_type"), text("content")
	if no := s.check(m.Kind, m.Content); no != nil {
		return nil, no
	}
	m.ID = s.next("om_out")
	s.messages = append(s.messages, &m)
	if key := text("uuid"); key != "" {
		s.uuids[key] = &m
	}
	return describe(&m), nil
}

func describe(m *Message) Object {
	return Object{"message_id": m.ID, "msg_type": m.Kind, "chat_id": m.Chat, "create_time": "1795000000000", "deleted": false, "sender": Object{"id": AppID, "id_type": "app_id", "sender_type": "app"}, "body": Object{"content": m.Content}}
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

func (s *Server) create(r *http.Request, body Object) (any, *problem) {
	to, _ := body["receive_id"].(string)
	switch kind := r.URL.Query().Get("receive_id_type"); {
	case kind == "chat_id" && strings.HasPrefix(to, "oc_"):
	case kind == "open_id" && strings.HasPrefix(to, "ou_"):
		to = DirectChat(to)
	default:
		return nil, &problem{400, 230001, "Your request contains an invalid request parameter, ext=invalid receive_id."}
	}
	return s.compose(body, Message{Chat: to})
}

// reply answers a person's message, or one of the bot.
func (s *Server) reply(r *http.Request, body Object) (any, *problem) {
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
		return nil, &problem{400, 230011, "The message is recalled."}
	}
	thread, _ := body["reply_in_thread"].(bool)
	return s.compose(body, Message{Chat: chat, Parent: id, Thread: thread})
}

func (s *Server) patch(r *http.Request, body Object) (any, *problem) {
	m := s.message(r.PathValue("id"))
	content, _ := body["content"].(string)
	if m == nil || m.Kind != "interactive" {
		return nil, &problem{400, 230001, "Your request contains an invalid request parameter, ext=NOT a card."}
	}
	if no := s.check("interactive", content); no != nil {
		return nil, no
	}
	m.Content = content
	return Object{}, nil
}

func (s *Server) update(r *http.Request, body Object) (any, *problem) {
	m := s.message(r.PathValue("id"))
	content, _ := body["content"].(string)
	if m == nil || m.Kind != "post" && m.Kind != "text" || m.Kind != body["msg_type"] {
		return nil, &problem{400, 230001, "Your request contains an invalid request parameter."}
	}
	if m.edits++; m.edits > 20 {
		return nil, &problem{400, 230072, "The message has reached the number of times it can be edited."}
	}
	if no := s.check(m.Kind, content); no != nil {
		return nil, no
	}
	m.Content = content
	return describe(m), nil
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

func (s *Server) react(r *http.Request, body Object) (any, *problem) {
	kind, _ := body["reaction_type"].(map[string]any)
	name, _ := kind["emoji_type"].(string)
	if name == "" || name == "unknown" {
		return nil, &problem{400, 231001, "reaction type is invalid."}
	}
	m := s.target(r.PathValue("id"))
	m.Reactions = append(m.Reactions, name)
	return Object{"reaction_id": "ZCaCIjUBVVWSrm5L-" + name, "operator": Object{"operator_id": AppID, "operator_type": "app"}, "reaction_type": Object{"emoji_type": name}}, nil
}

func (s *Server) unreact(r *http.Request, _ Object) (any, *problem) {
	m := s.target(r.PathValue("id"))
	name := strings.TrimPrefix(r.PathValue("reaction"), "ZCaCIjUBVVWSrm5L-")
	if !slices.Contains(m.Reactions, name) {
		return nil, &problem{400, 231007, "The reaction does not exist."}
	}
	m.Reactions = slices.DeleteFunc(m.Reactions, func(n string) bool { return n == name })
	return Object{}, nil
}

func (s *Server) upload(r *http.Request, _ Object) (any, *problem) {
	field, limit, kind := "file", 30<<20, r.FormValue("file_type")
	if strings.HasSuffix(r.URL.Path, "/images") {
		field, limit, kind = "image", 10<<20, r.FormValue("image_type")
	}
	f, head, err := r.FormFile(field)
	if err != nil || kind == "" {
		return nil, &problem{400, 234001, "Invalid request param."}
	}
	content, _ := io.ReadAll(f)
	switch {
	case len(content) == 0:
		return nil, &problem{400, 234010, "File's size can't be 0."}
	case len(content) > limit:
		return nil, &problem{400, 234006, "The file size exceed the max value."}
	case field == "image":
		key := s.next("img_v3_")
		s.uploads[key] = head.Filename + "=" + string(content)
		return Object{"image_key": key}, nil
	}
	key := s.next("file_v3_")
	s.uploads[key] = r.FormValue("file_name") + "=" + string(content)
	return Object{"file_key": key}, nil
}

// chat describes a chat: ou_owner owns every group, and ou_manager is its administrator.
func chat(r *http.Request, _ Object) (any, *problem) {
	if strings.HasPrefix(r.PathValue("id"), "oc_p2p-") {
		return Object{"chat_mode": "p2p", "tenant_key": Tenant}, nil
	}
	return Object{"chat_mode": "group", "chat_type": "private", "owner_id_type": "open_id", "owner_id": "ou_owner", "user_manager_id_list": []string{"ou_manager"}, "tenant_key": Tenant}, nil
}

func (s *Server) user(r *http.Request, _ Object) (any, *problem) {
	id := r.PathValue("id")
	p, ok := s.people[id]
	if !ok {
		return nil, &problem{400, 41050, "no user authority error"}
	}
	user := Object{"open_id": id}
	maps.Copy(user, p)
	return Object{"user": user}, nil
}

func task(_ *http.Request, body Object) (any, *problem) {
	if body["summary"] == nil || body["summary"] == "" {
		return nil, &problem{400, 1470400, "summary is required"}
	}
	return Object{"task": Object{"guid": "e297ddff-06ca-4166-b917-4ce57cd3a7a0", "summary": body["summary"], "url": "https://applink.feishu.cn/client/todo/detail?guid=e297ddff"}}, nil
}

func calendar(*http.Request, Object) (any, *problem) {
	return Object{"calendars": []Object{{"calendar": Object{"calendar_id": "feishu.cn_bot@group.calendar.feishu.cn", "type": "primary", "role": "owner"}, "user_id": Bot}}}, nil
}

func event(_ *http.Request, body Object) (any, *problem) {
	if body["start_time"] == nil || body["end_time"] == nil {
		return nil, &problem{400, 190002, "invalid parameters in request"}
	}
	return Object{"event": Object{"event_id": "00592a0e_0", "summary": body["summary"], "app_link": "https://applink.feishu.cn/client/calendar/event/detail?calendarId=1"}}, nil
}

func attendees(*http.Request, Object) (any, *problem) {
	return Object{"attendees": []Object{}}, nil
}
