// Package matrixtest is a Matrix homeserver for tests, without federation and encryption.
//
// It follows https://spec.matrix.org/v1.16/client-server-api/ in what a bot and the people who
// write to it need: "Syncing" with filters, gaps and invitations, "Sending events to a room" with
// transaction IDs, "Getting events for a room", "Room membership", "Permissions", "Client
// config", "Content repository" and "Standard error response". Where that leaves something open
// it does as Dendrite v0.15.2 does; the same tests run on both.
package matrixtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/channel/platformtest"
)

// Name is the name of the server in IDs.
const Name = "matrix.test"

// Object is JSON.
type Object = platformtest.Object

// Server is a homeserver. It is safe for concurrent use.
type Server struct {
	*platformtest.Server

	pos    int // of the newest event
	users  map[string]*user
	tokens map[string]*user
	rooms  map[string]*room
	names  map[string]string // of rooms, and their IDs
	media  map[string]file
}

type user struct {
	id, name string
	data     map[string]entry // account data by type
}

// entry is a value with its position.
type entry struct {
	pos   int
	value json.RawMessage
}

type file struct {
	mediaType string
	data      []byte
}

type room struct {
	id     string
	events []*event
	state  map[[2]string]*event
	sent   map[string]string // events by token and transaction ID

	creator string // who may do everything, since version 12 of rooms
}

type event struct {
	pos      int
	Type     string  `json:"type"`
	ID       string  `json:"event_id"`
	Room     string  `json:"room_id,omitempty"`
	Sender   string  `json:"sender"`
	StateKey *string `json:"state_key,omitempty"`
	TS       int64   `json:"origin_server_ts"`
	Content  Object  `json:"content"`
	Unsigned Object  `json:"unsigned,omitempty"`
}

// problem is a standard error response.
type problem struct {
	status  int
	code    string
	message string
}

// call is a request of a user.
type call struct {
	*http.Request
	user *user
	body Object // nil if there is none
	room *room  // of a route in a room, in which the user is
}

// handler answers a call. It holds the server, unless it waits.
type handler = func(c *call) (any, *problem)

// Start starts a server without users. The caller closes it.
func Start() *Server {
	s := &Server{
		Server: platformtest.Start(), users: map[string]*user{}, tokens: map[string]*user{}, rooms: map[string]*room{},
		names: map[string]string{}, media: map[string]file{},
	}
	for pattern, handle := range map[string]handler{
		"GET /v3/account/whoami": func(c *call) (any,
			*problem) {
			return Object{"user_id": c.user.id, "device_id": "D"}, nil
		},
		"GET /v3/profile/{user}":                  s.profile,
		"GET /v3/profile/{user}/displayname":      s.profile,
		"PUT /v3/profile/{user}/displayname":      s.rename,
		"GET /v3/user/{user}/account_data/{type}": s.getData,
		"PUT /v3/user/{user}/account_data/{type}": s.putData,
		"POST /v3/createRoom":                     s.create,
		"GET /v3/directory/room/{alias}":          s.aliased,
		"PUT /v3/directory/room/{alias}":          s.alias,
		"DELETE /v3/directory/room/{alias}":       s.unalias,
		"POST /v3/rooms/{room}/join":              s.join,
		"POST /v3/rooms/{room}/leave":             s.leave,
		"POST /v3/rooms/{room}/forget":            nothing,
		"POST /v3/logout":                         s.logout,
	} {
		s.handle(pattern, s.holding(handle))
	}
	for pattern, handle := range map[string]handler{
		"POST /invite":                 s.invite,
		"POST /kick":                   s.kick,
		"GET /messages":                s.messages,
		"GET /joined_members":          s.members,
		"GET /event/{event}":           s.event,
		"GET /state/{type}/{key}":      s.getState,
		"GET /state/{type}/":           s.getState,
		"PUT /state/{type}/{key}":      s.putState,
		"PUT /state/{type}/":           s.putState,
		"PUT /send/{type}/{txn}":       s.send,
		"PUT /redact/{event}/{txn}":    s.redact,
		"PUT /typing/{user}":           nothing, // nobody is shown that
		"POST /receipt/{kind}/{event}": nothing,
	} {
		s.handle(strings.Replace(pattern, " ", " /v3/rooms/{room}", 1), s.holding(func(c *call) (any, *problem) {
			if c.room = s.rooms[c.PathValue("room")]; c.room.membership(c.user.id) != "join" {
				return nil, outside
			}
			return handle(c)
		}))
	}
	s.handle("GET /v1/rooms/{room}/relations/{event}/m.thread", s.holding(func(c *call) (any, *problem) {
		if c.room = s.rooms[c.PathValue("room")]; c.room.membership(c.user.id) != "join" {
			return nil, outside
		}
		return s.thread(c)
	}))
	s.handle("GET /v3/sync", s.sync)
	s.Mux.HandleFunc("POST /_matrix/media/v3/upload", s.upload)
	s.Mux.HandleFunc("GET /_matrix/client/v1/media/download/{server}/{media}", s.download)
	s.Mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, nil, &problem{http.StatusNotFound, "M_UNRECOGNIZED", "Unrecognized request"})
	})
	return s
}

// handle lets a handler answer the calls of a route of the client-server API.
func (s *Server) handle(pattern string, handle handler) {
	s.Mux.HandleFunc(strings.Replace(pattern, " ", " /_matrix/client", 1),
		func(w http.ResponseWriter, r *http.Request) {
			c := &call{Request: r, user: s.userOf(r)}
			if c.user == nil {
				answer(w, nil, &problem{http.StatusUnauthorized, "M_UNKNOWN_TOKEN", "Unknown token"})
				return
			}
			text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			if err == nil && len(text) > 0 {
				err = json.Unmarshal(text, &c.body)
			}
			if err != nil || c.body == nil && r.Method == http.MethodPut {
				answer(w, nil, notJSON)
				return
			}
			body, p := handle(c)
			answer(w, body, p)
		})
}

// holding lets a handler hold the server.
func (s *Server) holding(handle handler) handler {
	return func(c *call) (any, *problem) {
		defer s.Hold()()
		return handle(c)
	}
}

func nothing(*call) (any, *problem) { return Object{}, nil }

var notJSON = &problem{http.StatusBadRequest, "M_NOT_JSON", "The request body could not be decoded into valid JSON"}

// Register adds a user, and returns an access token.
func (s *Server) Register(name string) (token string) {
	defer s.Hold()()
	u := &user{id: "@" + name + ":" + Name, name: name, data: map[string]entry{}}
	token = "syt_" + name + "_" + strconv.Itoa(len(s.tokens))
	s.users[u.id], s.tokens[token] = u, u
	return token
}

func answer(w http.ResponseWriter, body any, p *problem) {
	status := http.StatusOK
	if p != nil {
		status, body = p.status, Object{"errcode": p.code, "error": p.message}
	}
	platformtest.Answer(w, status, body)
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (s *Server) userOf(r *http.Request) *user {
	defer s.Hold()()
	return s.tokens[bearer(r)]
}

func (s *Server) profile(c *call) (any, *problem) {
	u := s.users[c.PathValue("user")]
	if u == nil {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "The user does not exist"}
	}
	return Object{"displayname": c.user.name}, nil
}

func (s *Server) rename(c *call) (any, *problem) {
	c.user.name, _ = c.body["displayname"].(string)
	for _, m := range s.rooms {
		if m.membership(c.user.id) == "join" {
			s.add(m, &event{Type: "m.room.member", Sender: c.user.id, StateKey: &c.user.id,
				Content: Object{"membership": "join", "displayname": c.user.name}})
		}
	}
	return Object{}, nil
}

func (s *Server) getData(c *call) (any, *problem) {
	d, ok := c.user.data[c.PathValue("type")]
	if !ok {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "data not found"}
	}
	return d.value, nil
}

func (s *Server) putData(c *call) (any, *problem) {
	s.pos++
	value, _ := json.Marshal(c.body)
	c.user.data[c.PathValue("type")] = entry{s.pos, value}
	s.Touch()
	return Object{}, nil
}

func (m *room) membership(person string) string {
	if m == nil {
		return ""
	}
	e := m.state[[2]string{"m.room.member", person}]
	if e == nil {
		return ""
	}
	text, _ := e.Content["membership"].(string)
	return text
}

func (m *room) level(person string) float64 {
	e := m.state[[2]string{"m.room.power_levels", ""}]
	if e == nil || person == m.creator {
		return 100
	}
	users, _ := e.Content["users"].(Object)
	n, _ := users[person].(float64)
	return n
}

// add adds an event to a room; the caller holds the server.
func (s *Server) add(m *room, e *event) *event {
	s.pos++
	e.pos, e.ID, e.Room, e.TS = s.pos, "$event"+strconv.Itoa(s.pos), m.id, time.Now().UnixMilli()
	if e.StateKey != nil {
		key := [2]string{e.Type, *e.StateKey}
		if before := m.state[key]; before != nil {
			e.Unsigned = Object{"prev_content": before.Content, "replaces_state": before.ID}
		}
		m.state[key] = e
	}
	m.events = append(m.events, e)
	s.Touch()
	return e
}

var outside = &problem{http.StatusForbidden, "M_FORBIDDEN", "You are not joined to the room"}

func (s *Server) create(c *call) (any, *problem) {
	if c.body == nil {
		return nil, notJSON
	}
	for _, id := range list(c.body["invite"]) {
		if s.users[id] == nil {
			return nil, &problem{http.StatusBadRequest, "M_INVALID_PARAM", "there is no user " + id}
		}
	}
	m := &room{id: fmt.Sprintf("!room%d:%s", len(s.rooms)+1, Name), state: map[[2]string]*event{},
		sent: map[string]string{}}
	none := ""
	users := Object{c.user.id: 100.0}
	begin := &event{Type: "m.room.create", Sender: c.user.id, StateKey: &none,
		Content: Object{"room_version": "10", "creator": c.user.id}}
	if c.body["room_version"] == "12" { // its ID is that of its first event, and its creator has no power level
		m.id, users, m.creator = fmt.Sprintf("!begin%d", s.pos+1), Object{}, c.user.id
		begin.Content = Object{"room_version": "12"}
	}
	if more, ok := c.body["creation_content"].(Object); ok {
		maps.Copy(begin.Content, more)
	}
	s.rooms[m.id] = m
	if s.add(m, begin); m.creator != "" {
		begin.ID = "$" + m.id[1:]
	}
	s.add(m, &event{Type: "m.room.member", Sender: c.user.id, StateKey: &c.user.id,
		Content: Object{"membership": "join", "displayname": c.user.name}})
	if c.body["preset"] == "trusted_private_chat" {
		for _, id := range list(c.body["invite"]) {
			users[id] = 100.0
		}
	}
	s.add(m, &event{Type: "m.room.power_levels", Sender: c.user.id, StateKey: &none,
		Content: Object{"users": users, "users_default": 0.0}})
	initial, _ := c.body["initial_state"].([]any)
	for _, one := range initial {
		if e, ok := one.(Object); ok {
			content, _ := e["content"].(Object)
			s.add(m, &event{Type: fmt.Sprint(e["type"]), Sender: c.user.id, StateKey: &none, Content: content})
		}
	}
	for _, id := range list(c.body["invite"]) {
		content := Object{"membership": "invite", "displayname": s.users[id].name}
		if c.body["is_direct"] == true {
			content["is_direct"] = true
		}
		s.add(m, &event{Type: "m.room.member", Sender: c.user.id, StateKey: &id, Content: content})
	}
	return Object{"room_id": m.id}, nil
}

func (s *Server) aliased(c *call) (any, *problem) {
	id := s.names[c.PathValue("alias")]
	if id == "" {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "Room alias not found."}
	}
	return Object{"room_id": id, "servers": []string{Name}}, nil
}

func (s *Server) alias(c *call) (any, *problem) {
	name := c.PathValue("alias")
	if s.names[name] != "" {
		return nil, &problem{http.StatusConflict, "M_UNKNOWN", "Room alias already exists."}
	}
	s.names[name] = fmt.Sprint(c.body["room_id"])
	return Object{}, nil
}

func (s *Server) unalias(c *call) (any, *problem) {
	delete(s.names, c.PathValue("alias"))
	return Object{}, nil
}

func list(value any) (texts []string) {
	values, _ := value.([]any)
	for _, v := range values {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

func (s *Server) join(c *call) (any, *problem) {
	m := s.rooms[c.PathValue("room")]
	if m == nil {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "Room does not exist"}
	}
	switch m.membership(c.user.id) {
	case "invite":
		s.add(m, &event{Type: "m.room.member", Sender: c.user.id, StateKey: &c.user.id,
			Content: Object{"membership": "join", "displayname": c.user.name}})
	case "join":
	default:
		return nil, &problem{http.StatusForbidden, "M_FORBIDDEN", "You are not invited to the room"}
	}
	return Object{"room_id": m.id}, nil
}

func (s *Server) leave(c *call) (any, *problem) {
	m := s.rooms[c.PathValue("room")]
	if is := m.membership(c.user.id); is != "join" && is != "invite" {
		return nil, outside
	}
	s.add(m, &event{Type: "m.room.member", Sender: c.user.id, StateKey: &c.user.id,
		Content: Object{"membership": "leave"}})
	return Object{}, nil
}

func (s *Server) invite(c *call) (any, *problem) { return s.move(c, "invite", 0) }

func (s *Server) kick(c *call) (any, *problem) { return s.move(c, "leave", 50) }

func (s *Server) move(c *call, membership string, level float64) (any, *problem) {
	if c.body == nil {
		return nil, notJSON
	}
	whom, _ := c.body["user_id"].(string)
	if c.room.level(c.user.id) < level || s.users[whom] == nil ||
		membership == "invite" && c.room.membership(whom) == "join" {
		return nil, &problem{http.StatusForbidden, "M_FORBIDDEN", "You may not do that"}
	}
	s.add(c.room, &event{Type: "m.room.member", Sender: c.user.id, StateKey: &whom,
		Content: Object{"membership": membership}})
	return Object{}, nil
}

func (s *Server) members(c *call) (any, *problem) {
	joined := Object{}
	for id, other := range s.users {
		if c.room.membership(id) == "join" {
			joined[id] = Object{"display_name": other.name}
		}
	}
	return Object{"joined": joined}, nil
}

func (s *Server) event(c *call) (any, *problem) {
	i := slices.IndexFunc(c.room.events, func(e *event) bool { return e.ID == c.PathValue("event") })
	if i < 0 {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND",
			"The event was not found or you do not have permission to read this event"}
	}
	return c.room.events[i], nil
}

func (s *Server) thread(c *call) (any, *problem) {
	chunk := []*event{}
	for _, e := range slices.Backward(c.room.events) {
		var said struct {
			Relates struct {
				Type  string `json:"rel_type"`
				Event string `json:"event_id"`
			} `json:"m.relates_to"`
		}
		data, _ := json.Marshal(e.Content)
		if json.Unmarshal(data, &said) == nil && said.Relates.Type == "m.thread" &&
			said.Relates.Event == c.PathValue("event") {
			chunk = append(chunk, e)
		}
	}
	return Object{"chunk": chunk}, nil
}

func (s *Server) getState(c *call) (any, *problem) {
	e := c.room.state[[2]string{c.PathValue("type"), c.PathValue("key")}]
	if e == nil {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "cannot find state"}
	}
	return e.Content, nil
}

func (s *Server) putState(c *call) (any, *problem) {
	if c.room.level(c.user.id) < 50 {
		return nil, &problem{http.StatusForbidden, "M_FORBIDDEN", "You are not allowed to send that state"}
	}
	key := c.PathValue("key")
	return Object{"event_id": s.add(c.room,
		&event{Type: c.PathValue("type"), Sender: c.user.id, StateKey: &key, Content: c.body}).ID}, nil
}

// send sends an event once for each transaction ID.
func (s *Server) send(c *call) (any, *problem) {
	key := bearer(c.Request) + " " + c.PathValue("type") + " " + c.PathValue("txn")
	if _, again := c.room.sent[key]; !again {
		var size bytes.Buffer
		e := json.NewEncoder(&size)
		e.SetEscapeHTML(false)
		if e.Encode(c.body) != nil || size.Len() > 65_000 {
			return nil, &problem{http.StatusRequestEntityTooLarge, "M_TOO_LARGE", "event is too large"}
		}
		c.room.sent[key] = s.add(c.room,
			&event{Type: c.PathValue("type"), Sender: c.user.id, Content: c.body,
				Unsigned: Object{"transaction_id": c.PathValue("txn")}}).ID
	}
	return Object{"event_id": c.room.sent[key]}, nil
}

func (s *Server) redact(c *call) (any, *problem) {
	i := slices.IndexFunc(c.room.events, func(e *event) bool { return e.ID == c.PathValue("event") })
	switch {
	case i < 0:
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "unknown event"}
	case c.room.events[i].Sender != c.user.id && c.room.level(c.user.id) < 50:
		return nil, &problem{http.StatusForbidden, "M_FORBIDDEN", "You don't have permission to redact this event"}
	}
	c.room.events[i].Content = Object{}
	return Object{"event_id": s.add(c.room,
		&event{Type: "m.room.redaction", Sender: c.user.id, Content: Object{"redacts": c.PathValue("event")}}).ID}, nil
}

func (s *Server) logout(c *call) (any, *problem) {
	delete(s.tokens, bearer(c.Request))
	return Object{}, nil
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	const most = 10 << 20
	data, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	switch {
	case s.userOf(r) == nil:
		answer(w, nil, &problem{http.StatusUnauthorized, "M_UNKNOWN_TOKEN", "Unknown token"})
		return
	case err != nil || len(data) > most:
		answer(w, nil, &problem{http.StatusRequestEntityTooLarge, "M_TOO_LARGE",
			"HTTP Content-Length is greater than the maximum allowed upload size"})
		return
	}
	defer s.Hold()()
	id := "media" + strconv.Itoa(len(s.media)+1)
	s.media[id] = file{r.Header.Get("Content-Type"), data}
	answer(w, Object{"content_uri": "mxc://" + Name + "/" + id}, nil)
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	u := s.userOf(r)
	defer s.Hold()()
	f, ok := s.media[r.PathValue("media")]
	ok = ok && r.PathValue("server") == Name
	switch {
	case u == nil:
		answer(w, nil, &problem{http.StatusUnauthorized, "M_MISSING_TOKEN", "Missing access token"})
	case !ok:
		answer(w, nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "File not found"})
	default:
		w.Header().Set("Content-Type", f.mediaType)
		_, _ = w.Write(f.data) // the client may be gone
	}
}

// wanted is the part of a filter that the server knows.
type wanted struct {
	Types    []string
	NotTypes []string `json:"not_types"`
	Limit    int
}

func (w wanted) has(kind string) bool {
	return !slices.Contains(w.NotTypes, "*") && !slices.Contains(w.NotTypes, kind) &&
		(w.Types == nil || slices.Contains(w.Types, kind))
}

// choose returns the events of a room after a position that a filter wants, the newest ones if
// there are more than its limit, and whether there were more.
func (m *room) choose(after, before int, w wanted) (list []*event, limited bool) {
	for _, e := range m.events {
		if e.pos > after && e.pos < before && w.has(e.Type) {
			list = append(list, e)
		}
	}
	if most := cmp.Or(w.Limit, 20); len(list) > most {
		return list[len(list)-most:], true
	}
	return list, false
}

func (s *Server) sync(c *call) (any, *problem) {
	q := c.URL.Query()
	var filter struct {
		Account wanted `json:"account_data"`
		Room    struct{ Timeline wanted }
	}
	if text := q.Get("filter"); text != "" && json.Unmarshal([]byte(text), &filter) != nil {
		return nil, &problem{http.StatusBadRequest, "M_INVALID_PARAM", "bad filter"}
	}
	since, err := 0, error(nil)
	if text := q.Get("since"); text != "" {
		if since, err = token(text); err != nil {
			return nil, &problem{http.StatusBadRequest, "M_INVALID_PARAM", "bad since"}
		}
	}
	wait, _ := strconv.Atoi(q.Get("timeout"))
	ctx, stop := context.WithTimeout(c.Context(), time.Duration(wait)*time.Millisecond)
	defer stop()
	var body Object
	_ = s.Wait(ctx, func() bool {
		defer s.Hold()()
		var news bool
		body, news = s.news(c.user, since, filter.Account, filter.Room.Timeline)
		return news || since == 0
	})
	return body, nil
}

func token(text string) (int, error) { return strconv.Atoi(strings.TrimPrefix(text, "s")) }

// news is what has happened since a position.
func (s *Server) news(u *user, since int, account, timeline wanted) (Object, bool) {
	join, invite, leave, data := Object{}, Object{}, Object{}, []Object{}
	for kind, d := range u.data {
		if d.pos > since && account.has(kind) {
			data = append(data, Object{"type": kind, "content": d.value})
		}
	}
	for id, m := range s.rooms {
		own := m.state[[2]string{"m.room.member", u.id}]
		if own == nil {
			continue
		}
		switch m.membership(u.id) {
		case "join":
			after := since
			if own.pos > since {
				if before, _ := own.Unsigned["prev_content"].(Object); before["membership"] != "join" {
					after = 0 // newly joined
				}
			}
			if events, limited := m.choose(after, s.pos+1, timeline); len(events) > 0 {
				shown := make([]event, len(events))
				for i, e := range events {
					shown[i] = *e
					shown[i].Room = ""
					if e.Sender != u.id && e.Unsigned["transaction_id"] != nil {
						shown[i].Unsigned = maps.Clone(e.Unsigned)
						delete(shown[i].Unsigned, "transaction_id")
					}
				}
				join[id] = Object{"timeline": Object{"events": shown, "limited": limited,
					"prev_batch": fmt.Sprintf("s%d", events[0].pos-1)}}
			}
		case "invite":
			if own.pos > since {
				state := []Object{}
				for key, e := range m.state {
					if key[0] == "m.room.create" || key[0] == "m.room.encryption" || e == own {
						state = append(state, Object{"type": e.Type, "sender": e.Sender, "state_key": *e.StateKey,
							"content": e.Content})
					}
				}
				invite[id] = Object{"invite_state": Object{"events": state}}
			}
		default:
			if own.pos > since && since > 0 {
				leave[id] = Object{"timeline": Object{"events": []any{}, "limited": false, "prev_batch": ""}}
			}
		}
	}
	return Object{
		"next_batch": fmt.Sprintf("s%d", s.pos), "account_data": Object{"events": data},
		"rooms": Object{"join": join, "invite": invite, "leave": leave},
	}, len(join)+len(invite)+len(leave)+len(data) > 0
}

func (s *Server) messages(c *call) (any, *problem) {
	q := c.URL.Query()
	var w wanted
	if text := q.Get("filter"); text != "" && json.Unmarshal([]byte(text), &w) != nil {
		return nil, &problem{http.StatusBadRequest, "M_INVALID_PARAM", "bad filter"}
	}
	from, after := s.pos, 0 // a position is behind the event of its number
	for text, to := range map[string]*int{q.Get("from"): &from, q.Get("to"): &after} {
		if text == "" {
			continue
		}
		n, err := token(text)
		if err != nil || q.Get("dir") != "b" {
			return nil, &problem{http.StatusBadRequest, "M_INVALID_PARAM", "bad token"}
		}
		*to = n
	}
	w.Limit, _ = strconv.Atoi(cmp.Or(q.Get("limit"), "10"))
	events, more := c.room.choose(after-1, from+1, w) // with the event at that position, as Dendrite does
	body := Object{"start": fmt.Sprintf("s%d", from)}
	if more {
		body["end"] = fmt.Sprintf("s%d", events[0].pos-1)
	}
	events = slices.Clone(events)
	slices.Reverse(events)
	body["chunk"] = events
	return body, nil
}

// Gate stands before a homeserver and lets requests fail. It is safe for concurrent use.
type Gate struct {
	next http.Handler

	mu    sync.Mutex
	fails []Failure
	calls map[string]int
}

// Failure is an error answer instead of that of the homeserver.
type Failure struct {
	// Method and Path say which request fails: the next one whose path has Path in it.
	Method, Path string
	// Status and Body are the answer, and RetryAfter its header, if there is one.
	Status     int
	Body       Object
	RetryAfter string
	// After means that the homeserver has done its work before.
	After bool
}

// NewGate returns a gate before a homeserver.
func NewGate(next http.Handler) *Gate { return &Gate{next: next, calls: map[string]int{}} }

// Fail lets requests fail, each one time.
func (g *Gate) Fail(f ...Failure) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails = append(g.fails, f...)
}

// Calls returns how many requests had a text in their method and path.
func (g *Gate) Calls(text string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for call := range maps.Keys(g.calls) {
		if strings.Contains(call, text) {
			n += g.calls[call]
		}
	}
	return n
}

// ServeHTTP implements [http.Handler].
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, _ := url.PathUnescape(r.URL.EscapedPath())
	g.mu.Lock()
	g.calls[r.Method+" "+path]++
	i := slices.IndexFunc(g.fails,
		func(f Failure) bool { return f.Method == r.Method && strings.Contains(path, f.Path) })
	f := Failure{}
	if i >= 0 {
		f = g.fails[i]
		g.fails = slices.Delete(g.fails, i, i+1)
	}
	g.mu.Unlock()
	if i < 0 {
		g.next.ServeHTTP(w, r)
		return
	}
	if f.After {
		g.next.ServeHTTP(httptest.NewRecorder(), r)
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	if f.Body != nil {
		_ = json.NewEncoder(w).Encode(f.Body) // the client may be gone
	}
}
