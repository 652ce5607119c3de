// Package mattermosttest is a Mattermost for tests: one server with one bot account.
//
// It does what the API reference says of the calls that the channel makes, as it is in the
// folder api/v4/source of github.com/mattermost/mattermost in 2026: users, channels, posts,
// and files; and what server/channels does there: the WebSocket that begins with an
// authentication_challenge and sends each event once, posts with the same pending_post_id that
// are one, and the IDs of errors.
package mattermosttest

import (
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
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel/platformtest"
)

// Token is that of the bot, whose name is @etui.
const Token = "9xuqwrwgstrb3mzrxb83nb357a"

// Object is JSON.
type Object = platformtest.Object

// ID returns the ID that something has here: 26 letters and digits.
func ID(name string) string { return strings.ToLower(name) + strings.Repeat("x", 26-len(name)) }

// Bot is the ID of the bot.
var Bot = ID("bot")

// Post is a message.
type Post struct {
	ID       string         `json:"id"`
	Created  int64          `json:"create_at"`
	User     string         `json:"user_id"`
	Chat     string         `json:"channel_id"`
	Root     string         `json:"root_id"`
	Message  string         `json:"message"`
	Type     string         `json:"type"`
	Props    Object         `json:"props"`
	Files    []string       `json:"file_ids,omitempty"`
	Pending  string         `json:"pending_post_id"`
	Metadata map[string]any `json:"metadata"`
}

// Failure is an error answer.
type Failure struct {
	Status     int
	ID         string // of the error; empty is the page of a proxy
	RetryAfter int
}

// file is what somebody has uploaded.
type file struct {
	name, mediaType string
	data            []byte
}

// Server is a Mattermost. Its methods are safe for concurrent use.
type Server struct {
	*platformtest.Server

	now    int64 // the server's clock, in milliseconds
	posts  []*Post
	chats  map[string]Object
	people map[string]Object
	files  map[string]file
	events map[*websocket.Conn]int
	last   *Post
}

// Start starts a server with the bot, a member ann, whose ID is ID("4711"), the direct chat of
// both, ID("d4711"), and a channel, ID("100"). The caller closes it.
func Start() *Server {
	s := &Server{
		Server: platformtest.Start(), now: time.Now().UnixMilli(),
		files: map[string]file{}, events: map[*websocket.Conn]int{},
		chats: map[string]Object{ID("d4711"): {"type": "D"}, ID("100"): {"type": "O"}},
		people: map[string]Object{
			ID("4711"): {"username": "ann", "first_name": "Ann", "roles": "system_user"},
			Bot:        {"username": "etui", "is_bot": true, "roles": "system_user"},
		},
	}
	s.Routes("/api/v4/", map[string]platformtest.Handler{
		"GET users/me":                          s.user,
		"GET users/{user}":                      s.user,
		"GET users/me/channels":                 s.channels,
		"POST users/me/typing":                  done,
		"GET users/me/teams":                    s.teams,
		"GET teams/{team}/channels/name/{name}": s.named,
		"GET channels/{chat}/posts":             s.history,
		"POST posts":                            s.create,
		"GET posts/{post}":                      s.get,
		"GET posts/{post}/thread":               s.thread,
		"PUT posts/{post}/patch":                s.patch,
		"POST files":                            s.upload,
		"GET files/{file}":                      s.download,
	}, func(r *http.Request, body Object) (int, any) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+Token:
			return refuse(http.StatusUnauthorized, "api.context.session_expired.app_error")
		case r.Header.Get("Content-Type") == "application/json" && body == nil:
			return refuse(http.StatusBadRequest, "api.context.invalid_body_param.app_error")
		}
		return 0, nil
	})
	s.Mux.HandleFunc("GET /api/v4/websocket", s.socket)
	return s
}

func refuse(status int, id string) (int, any) {
	return status, Object{"id": id, "message": "no", "request_id": "r1", "status_code": status}
}

func done(*http.Request, Object) (int, any) { return http.StatusOK, Object{"status": "OK"} }

// Fail lets the next call of a pattern, such as "POST posts", fail.
func (s *Server) Fail(pattern string, f Failure) {
	s.FailNext(pattern, func(w http.ResponseWriter) {
		var body any
		if f.ID != "" {
			_, body = refuse(f.Status, f.ID)
		}
		platformtest.Refuse(w, f.Status, f.RetryAfter, body)
	})
}

// Person sets what the server says about a person, and Chat about a channel.
func (s *Server) Person(id string, profile Object) {
	defer s.Hold()()
	s.people[id] = profile
}

// Chat adds a channel.
func (s *Server) Chat(id, kind string) {
	defer s.Hold()()
	s.chats[id] = Object{"type": kind}
}

// Upload stores a file of a person, and returns its ID.
func (s *Server) Upload(name, mediaType string, data []byte) string {
	defer s.Hold()()
	id := ID(fmt.Sprintf("file%d", s.Next()))
	s.files[id] = file{name, mediaType, data}
	return id
}

// Write lets somebody write a post, of which User, Chat and Message are needed, and returns
// its ID.
func (s *Server) Write(p Post) string {
	defer s.Hold()()
	return s.write(p).ID
}

// write stores a post and tells the connections of it. The caller holds the server.
func (s *Server) write(p Post) *Post {
	s.now++
	p.ID, p.Created = ID(fmt.Sprintf("p%d", s.Next())), s.now
	if p.Metadata == nil {
		p.Metadata = map[string]any{}
	}
	var list []Object
	for _, id := range p.Files {
		f := s.files[id]
		list = append(list, Object{"id": id, "name": f.name, "mime_type": f.mediaType, "size": len(f.data)})
	}
	p.Metadata["files"] = list
	s.posts = append(s.posts, &p)
	s.chats[p.Chat]["last_post_at"] = s.now
	s.last = &p
	s.tell(&p)
	s.Touch()
	return &p
}

func (s *Server) tell(p *Post) {
	text, _ := json.Marshal(p)
	sender := "@" + fmt.Sprint(s.people[p.User]["username"])
	data := Object{"post": string(text), "channel_type": s.chats[p.Chat]["type"], "sender_name": sender,
		"team_id": ID("team")}
	s.event("posted", data, p.Chat)
}

// event sends an event to all connections. The caller holds the server.
func (s *Server) event(name string, data Object, chat string) {
	for conn, seq := range s.events {
		s.events[conn]++
		e := Object{"event": name, "data": data, "broadcast": Object{"channel_id": chat}, "seq": seq}
		platformtest.Write(context.Background(), conn, e)
	}
}

// Event sends an event to all connections.
func (s *Server) Event(name string, data Object) {
	defer s.Hold()()
	s.event(name, data, "")
}

// Again tells the connections once more of the newest post.
func (s *Server) Again() {
	defer s.Hold()()
	s.tell(s.last)
}

// Sent returns the posts of the bot in a channel, oldest first.
func (s *Server) Sent(chat string) []Post {
	defer s.Hold()()
	return platformtest.Copies(s.posts, func(p *Post) bool { return p.User == Bot && p.Chat == chat })
}

// Get returns a post.
func (s *Server) Get(id string) Post {
	defer s.Hold()()
	return *s.post(id)
}

// Content returns what a post has for files, as NAME=CONTENT.
func (s *Server) Content(p Post) (list []string) {
	defer s.Hold()()
	for _, id := range p.Files {
		list = append(list, s.files[id].name+"="+string(s.files[id].data))
	}
	return list
}

func (s *Server) post(id string) *Post {
	return platformtest.Find(s.posts, func(p *Post) bool { return p.ID == id })
}

func (s *Server) user(r *http.Request, _ Object) (int, any) {
	id := r.PathValue("user")
	if id == "" {
		id = Bot
	}
	profile, ok := s.people[id]
	if !ok {
		return refuse(http.StatusNotFound, "app.user.missing_account.const")
	}
	user := Object{"id": id, "delete_at": 0}
	maps.Copy(user, profile)
	return http.StatusOK, user
}

func (s *Server) channels(_ *http.Request, _ Object) (int, any) {
	list := []Object{}
	for id, chat := range s.chats {
		if chat["outside"] == true { // the bot is not in it
			continue
		}
		c := Object{"id": id, "last_post_at": 0}
		maps.Copy(c, chat)
		list = append(list, c)
	}
	return http.StatusOK, list
}

// Rename sets what the server says about a channel, and tells the bot so.
func (s *Server) Rename(id string, fields Object) {
	func() {
		defer s.Hold()()
		s.chats[id] = fields
	}()
	text, _ := json.Marshal(fields)
	s.Event("channel_updated", Object{"channel": string(text)})
}

func (s *Server) teams(*http.Request, Object) (int, any) {
	return http.StatusOK, []Object{
		{"id": ID("team"), "name": "acme", "display_name": "Acme"},
		{"id": ID("other"), "name": "else", "display_name": "Else"},
	}
}

func (s *Server) named(r *http.Request, _ Object) (int, any) {
	for id, chat := range s.chats {
		if chat["name"] == r.PathValue("name") && chat["team_id"] == r.PathValue("team") {
			c := Object{"id": id}
			maps.Copy(c, chat)
			return http.StatusOK, c
		}
	}
	return refuse(http.StatusNotFound, "app.channel.get_by_name.missing.app_error")
}

func (s *Server) history(r *http.Request, _ Object) (int, any) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	per, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	if per < 1 || per > 200 {
		per = 60
	}
	order, posts := []string{}, Object{}
	for _, p := range slices.Backward(s.posts) {
		if p.Chat == r.PathValue("chat") {
			order, posts[p.ID] = append(order, p.ID), p
		}
	}
	order = order[min(page*per, len(order)):min((page+1)*per, len(order))]
	return http.StatusOK, Object{"order": order, "posts": posts, "prev_post_id": ""}
}

func (s *Server) create(_ *http.Request, body Object) (int, any) {
	text, _ := json.Marshal(body)
	var p Post
	_ = json.Unmarshal(text, &p)
	if i := slices.IndexFunc(s.posts, func(o *Post) bool { return p.Pending != "" && o.Pending == p.Pending }); i >= 0 {
		return http.StatusCreated, s.posts[i]
	}
	root := s.post(p.Root)
	switch {
	case s.chats[p.Chat] == nil:
		return refuse(http.StatusForbidden, "api.context.permissions.app_error")
	case p.Root != "" && (root == nil || root.Root != "" || root.Chat != p.Chat):
		return refuse(http.StatusBadRequest, "api.post.create_post.root_id.app_error")
	case utf8.RuneCountInString(p.Message) > 16383, p.Message == "" && len(p.Files) == 0, len(p.Files) > 5:
		return refuse(http.StatusBadRequest, "model.post.is_valid.message_length.app_error")
	case slices.ContainsFunc(p.Files, func(id string) bool { return s.files[id].data == nil }):
		return refuse(http.StatusBadRequest, "model.post.is_valid.file_ids.app_error")
	default:
		p.User = Bot
		return http.StatusCreated, s.write(p)
	}
}

func (s *Server) get(r *http.Request, _ Object) (int, any) {
	p := s.post(r.PathValue("post"))
	if p == nil {
		return refuse(http.StatusNotFound, "app.post.get.app_error")
	}
	return http.StatusOK, p
}

func (s *Server) thread(r *http.Request, _ Object) (int, any) {
	root := s.post(r.PathValue("post"))
	if root == nil {
		return refuse(http.StatusNotFound, "app.post.get.app_error")
	}
	posts, order := map[string]*Post{}, []string{}
	for _, p := range s.posts {
		if p.ID == root.ID || p.Root == root.ID {
			posts[p.ID], order = p, append(order, p.ID)
		}
	}
	return http.StatusOK, Object{"order": order, "posts": posts}
}

func (s *Server) patch(r *http.Request, body Object) (int, any) {
	p := s.post(r.PathValue("post"))
	if p == nil || p.User != Bot {
		return refuse(http.StatusForbidden, "api.context.permissions.app_error")
	}
	p.Message, _ = body["message"].(string)
	s.event("post_edited", Object{"post": "{}"}, p.Chat)
	return http.StatusOK, p
}

func (s *Server) upload(r *http.Request, _ Object) (int, any) {
	name := r.URL.Query().Get("filename")
	data, err := io.ReadAll(r.Body)
	if err != nil || len(data) == 0 || name == "" || s.chats[r.URL.Query().Get("channel_id")] == nil {
		return refuse(http.StatusBadRequest, "api.file.upload_file.read_request.app_error")
	}
	id := ID(fmt.Sprintf("file%d", s.Next()))
	s.files[id] = file{name, r.Header.Get("Content-Type"), data}
	infos := []Object{{"id": id, "name": name, "size": len(data)}}
	return http.StatusCreated, Object{"file_infos": infos, "client_ids": []string{}}
}

func (s *Server) download(r *http.Request, _ Object) (int, any) {
	f, ok := s.files[r.PathValue("file")]
	if !ok {
		return refuse(http.StatusNotFound, "app.file_info.get.app_error")
	}
	return http.StatusOK, platformtest.File{Type: f.mediaType, Data: f.data}
}

// socket sends the events to a program that has given its token.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	conn := s.Accept(w, r)
	if conn == nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	_, text, err := conn.Read(r.Context())
	var challenge struct {
		Seq    int
		Action string
		Data   struct{ Token string }
	}
	if err != nil || json.Unmarshal(text, &challenge) != nil {
		return
	}
	if challenge.Action != "authentication_challenge" || challenge.Data.Token != Token {
		return
	}
	release := s.Hold()
	s.events[conn] = 1
	platformtest.Write(r.Context(), conn, Object{"status": "OK", "seq_reply": challenge.Seq})
	hello := Object{"server_version": "11.2.0", "connection_id": ID("conn")}
	platformtest.Write(r.Context(), conn, Object{"event": "hello", "data": hello, "broadcast": Object{}, "seq": 0})
	s.Touch()
	release()
	for err == nil {
		_, _, err = conn.Read(r.Context())
	}
	release = s.Hold()
	delete(s.events, conn)
	release()
}
