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
)

// Name is the name of the server in IDs.
const Name = "matrix.test"

// Object is JSON.
type Object = map[string]any

// Server is a homeserver. It is safe for concurrent use.
type Server struct {
	// URL is where it listens.
	URL string

	http *httptest.Server

	mu      sync.Mutex
	changed chan struct{} // closed when something changes
	closed  bool
	pos     int // of the newest event
	users   map[string]*user
	tokens  map[string]*user
	rooms   map[string]*room
	media   map[string]file
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

// Start starts a server without users. The caller closes it.
func Start() *Server {
	s := &Server{
		changed: make(chan struct{}), users: map[string]*user{}, tokens: map[string]*user{}, rooms: map[string]*room{}, media: map[string]file{},
	}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(*user, *http.Request) (any, *problem){
		"GET /v3/account/whoami":                       func(u *user, _ *http.Request) (any, *problem) { return Object{"user_id": u.id, "device_id": "D"}, nil },
		"GET /v3/profile/{user}":                       s.profile,
		"GET /v3/profile/{user}/displayname":           s.profile,
		"PUT /v3/profile/{user}/displayname":           s.rename,
		"GET /v3/user/{user}/account_data/{type}":      s.getData,
		"PUT /v3/user/{user}/account_data/{type}":      s.putData,
		"GET /v3/sync":                                 s.sync,
		"POST /v3/createRoom":                          s.create,
		"POST /v3/rooms/{room}/join":                   s.join,
		"POST /v3/rooms/{room}/leave":                  s.leave,
		"POST /v3/rooms/{room}/forget":                 func(*user, *http.Request) (any, *problem) { return Object{}, nil },
		"POST /v3/rooms/{room}/invite":                 s.invite,
		"POST /v3/rooms/{room}/kick":                   s.kick,
		"GET /v3/rooms/{room}/messages":                s.messages,
		"GET /v3/rooms/{room}/joined_members":          s.members,
		"GET /v3/rooms/{room}/event/{event}":           s.event,
		"GET /v3/rooms/{room}/state/{type}/{key}":      s.getState,
		"GET /v3/rooms/{room}/state/{type}/":           s.getState,
		"PUT /v3/rooms/{room}/state/{type}/{key}":      s.putState,
		"PUT /v3/rooms/{room}/state/{type}/":           s.putState,
		"PUT /v3/rooms/{room}/send/{type}/{txn}":       s.send,
		"PUT /v3/rooms/{room}/redact/{event}/{txn}":    s.redact,
		"PUT /v3/rooms/{room}/typing/{user}":           s.type_,
		"POST /v3/rooms/{room}/receipt/{kind}/{event}": s.receipt,
		"POST /v3/logout":                              s.logout,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" /_matrix/client"+path, s.authorized(handle))
	}
	mux.Handle("POST /_matrix/media/v3/upload", s.authorized(s.upload))
	mux.HandleFunc("GET /_matrix/client/v1/media/download/{server}/{media}", s.download)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, nil, &problem{http.StatusNotFound, "M_UNRECOGNIZED", "Unrecognized request"})
	})
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// Close ends the server.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.touch()
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Register adds a user, and returns an access token.
func (s *Server) Register(name string) (token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &user{id: "@" + name + ":" + Name, name: name, data: map[string]entry{}}
	token = "syt_" + name + "_" + strconv.Itoa(len(s.tokens))
	s.users[u.id], s.tokens[token] = u, u
	return token
}

// touch wakes those that wait for something new.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func answer(w http.ResponseWriter, body any, p *problem) {
	w.Header().Set("Content-Type", "application/json")
	if p != nil {
		w.WriteHeader(p.status)
		body = Object{"errcode": p.code, "error": p.message}
	}
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (s *Server) authorized(handle func(*user, *http.Request) (any, *problem)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		u := s.tokens[bearer(r)]
		s.mu.Unlock()
		if u == nil {
			answer(w, nil, &problem{http.StatusUnauthorized, "M_UNKNOWN_TOKEN", "Unknown token"})
			return
		}
		body, p := handle(u, r)
		answer(w, body, p)
	})
}

func read(r *http.Request) (Object, *problem) {
	var o Object
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&o); err != nil || o == nil {
		return nil, &problem{http.StatusBadRequest, "M_NOT_JSON", "The request body could not be decoded into valid JSON"}
	}
	return o, nil
}

func (s *Server) profile(_ *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[r.PathValue("user")]
	if u == nil {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "The user does not exist"}
	}
	return Object{"displayname": u.name}, nil
}

func (s *Server) rename(u *user, r *http.Request) (any, *problem) {
	o, p := read(r)
	if p != nil {
		return nil, p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u.name, _ = o["displayname"].(string)
	for _, m := range s.rooms {
		if m.membership(u.id) == "join" {
			s.add(m, &event{Type: "m.room.member", Sender: u.id, StateKey: &u.id, Content: Object{"membership": "join", "displayname": u.name}})
		}
	}
	return Object{}, nil
}

func (s *Server) getData(u *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := u.data[r.PathValue("type")]
	if !ok {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "data not found"}
	}
	return d.value, nil
}

func (s *Server) putData(u *user, r *http.Request) (any, *problem) {
	o, p := read(r)
	if p != nil {
		return nil, p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pos++
	value, _ := json.Marshal(o)
	u.data[r.PathValue("type")] = entry{s.pos, value}
	s.touch()
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

// add adds an event to a room; s.mu is held.
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
	s.touch()
	return e
}

var outside = &problem{http.StatusForbidden, "M_FORBIDDEN", "You are not joined to the room"}

// in returns a room in which a user is; s.mu is held.
func (s *Server) in(u *user, r *http.Request) (*room, *problem) {
	m := s.rooms[r.PathValue("room")]
	if m.membership(u.id) != "join" {
		return nil, outside
	}
	return m, nil
}

func (s *Server) create(u *user, r *http.Request) (any, *problem) {
	o, p := read(r)
	if p != nil {
		return nil, p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range list(o["invite"]) {
		if s.users[id] == nil {
			return nil, &problem{http.StatusBadRequest, "M_INVALID_PARAM", "there is no user " + id}
		}
	}
	m := &room{id: fmt.Sprintf("!room%d:%s", len(s.rooms)+1, Name), state: map[[2]string]*event{}, sent: map[string]string{}}
	none := ""
	users := Object{u.id: 100.0}
	begin := &event{Type: "m.room.create", Sender: u.id, StateKey: &none, Content: Object{"room_version": "10", "creator": u.id}}
	if o["room_version"] == "12" { // its ID is that of its first event, and its creator has no power level
		m.id, users, m.creator = fmt.Sprintf("!begin%d", s.pos+1), Object{}, u.id
		begin.Content = Object{"room_version": "12"}
	}
	s.rooms[m.id] = m
	if s.add(m, begin); m.creator != "" {
		begin.ID = "$" + m.id[1:]
	}
	s.add(m, &event{Type: "m.room.member", Sender: u.id, StateKey: &u.id, Content: Object{"membership": "join", "displayname": u.name}})
	if o["preset"] == "trusted_private_chat" {
		for _, id := range list(o["invite"]) {
			users[id] = 100.0
		}
	}
	s.add(m, &event{Type: "m.room.power_levels", Sender: u.id, StateKey: &none, Content: Object{"users": users, "users_default": 0.0}})
	initial, _ := o["initial_state"].([]any)
	for _, one := range initial {
		if e, ok := one.(Object); ok {
			content, _ := e["content"].(Object)
			s.add(m, &event{Type: fmt.Sprint(e["type"]), Sender: u.id, StateKey: &none, Content: content})
		}
	}
	for _, id := range list(o["invite"]) {
		content := Object{"membership": "invite", "displayname": s.users[id].name}
		if o["is_direct"] == true {
			content["is_direct"] = true
		}
		s.add(m, &event{Type: "m.room.member", Sender: u.id, StateKey: &id, Content: content})
	}
	return Object{"room_id": m.id}, nil
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

func (s *Server) join(u *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.rooms[r.PathValue("room")]
	if m == nil {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "Room does not exist"}
	}
	switch m.membership(u.id) {
	case "invite":
		s.add(m, &event{Type: "m.room.member", Sender: u.id, StateKey: &u.id, Content: Object{"membership": "join", "displayname": u.name}})
	case "join":
	default:
		return nil, &problem{http.StatusForbidden, "M_FORBIDDEN", "You are not invited to the room"}
	}
	return Object{"room_id": m.id}, nil
}

func (s *Server) leave(u *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.rooms[r.PathValue("room")]
	if is := m.membership(u.id); is != "join" && is != "invite" {
		return nil, outside
	}
	s.add(m, &event{Type: "m.room.member", Sender: u.id, StateKey: &u.id, Content: Object{"membership": "leave"}})
	return Object{}, nil
}

func (s *Server) invite(u *user, r *http.Request) (any, *problem) { return s.move(u, r, "invite", 0) }

func (s *Server) kick(u *user, r *http.Request) (any, *problem) { return s.move(u, r, "leave", 50) }

func (s *Server) move(u *user, r *http.Request, membership string, level float64) (any, *problem) {
	o, p := read(r)
	if p != nil {
		return nil, p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, p := s.in(u, r)
	if p != nil {
		return nil, p
	}
	whom, _ := o["user_id"].(string)
	if m.level(u.id) < level || s.users[whom] == nil || membership == "invite" && m.membership(whom) == "join" {
		return nil, &problem{http.StatusForbidden, "M_FORBIDDEN", "You may not do that"}
	}
	s.add(m, &event{Type: "m.room.member", Sender: u.id, StateKey: &whom, Content: Object{"membership": membership}})
	return Object{}, nil
}

func (s *Server) members(u *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, p := s.in(u, r)
	if p != nil {
		return nil, p
	}
	joined := Object{}
	for id, other := range s.users {
		if m.membership(id) == "join" {
			joined[id] = Object{"display_name": other.name}
		}
	}
	return Object{"joined": joined}, nil
}

func (s *Server) event(u *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, p := s.in(u, r)
	if p != nil {
		return nil, p
	}
	i := slices.IndexFunc(m.events, func(e *event) bool { return e.ID == r.PathValue("event") })
	if i < 0 {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "The event was not found or you do not have permission to read this event"}
	}
	return m.events[i], nil
}

func (s *Server) getState(u *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, p := s.in(u, r)
	if p != nil {
		return nil, p
	}
	e := m.state[[2]string{r.PathValue("type"), r.PathValue("key")}]
	if e == nil {
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "cannot find state"}
	}
	return e.Content, nil
}

func (s *Server) putState(u *user, r *http.Request) (any, *problem) {
	o, p := read(r)
	if p != nil {
		return nil, p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, p := s.in(u, r)
	if p != nil {
		return nil, p
	}
	if m.level(u.id) < 50 {
		return nil, &problem{http.StatusForbidden, "M_FORBIDDEN", "You are not allowed to send that state"}
	}
	key := r.PathValue("key")
	return Object{"event_id": s.add(m, &event{Type: r.PathValue("type"), Sender: u.id, StateKey: &key, Content: o}).ID}, nil
}

// send sends an event once for each transaction ID.
func (s *Server) send(u *user, r *http.Request) (any, *problem) {
	o, p := read(r)
	if p != nil {
		return nil, p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, p := s.in(u, r)
	if p != nil {
		return nil, p
	}
	key := bearer(r) + " " + r.PathValue("type") + " " + r.PathValue("txn")
	if _, again := m.sent[key]; !again {
		var size bytes.Buffer
		e := json.NewEncoder(&size)
		e.SetEscapeHTML(false)
		if e.Encode(o) != nil || size.Len() > 65_000 {
			return nil, &problem{http.StatusRequestEntityTooLarge, "M_TOO_LARGE", "event is too large"}
		}
		m.sent[key] = s.add(m, &event{Type: r.PathValue("type"), Sender: u.id, Content: o, Unsigned: Object{"transaction_id": r.PathValue("txn")}}).ID
	}
	return Object{"event_id": m.sent[key]}, nil
}

func (s *Server) redact(u *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, p := s.in(u, r)
	if p != nil {
		return nil, p
	}
	i := slices.IndexFunc(m.events, func(e *event) bool { return e.ID == r.PathValue("event") })
	switch {
	case i < 0:
		return nil, &problem{http.StatusNotFound, "M_NOT_FOUND", "unknown event"}
	case m.events[i].Sender != u.id && m.level(u.id) < 50:
		return nil, &problem{http.StatusForbidden, "M_FORBIDDEN", "You don't have permission to redact this event"}
	}
	m.events[i].Content = Object{}
	return Object{"event_id": s.add(m, &event{Type: "m.room.redaction", Sender: u.id, Content: Object{"redacts": r.PathValue("event")}}).ID}, nil
}

// type_ takes that somebody types, which nobody is shown.
func (s *Server) type_(u *user, r *http.Request) (any, *problem) {
	if _, p := read(r); p != nil {
		return nil, p
	}
	return s.receipt(u, r)
}

func (s *Server) receipt(u *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, p := s.in(u, r)
	return Object{}, p
}

func (s *Server) logout(_ *user, r *http.Request) (any, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, bearer(r))
	return Object{}, nil
}

func (s *Server) upload(_ *user, r *http.Request) (any, *problem) {
	const most = 10 << 20
	data, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil || len(data) > most {
		return nil, &problem{http.StatusRequestEntityTooLarge, "M_TOO_LARGE", "HTTP Content-Length is greater than the maximum allowed upload size"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "media" + strconv.Itoa(len(s.media)+1)
	s.media[id] = file{r.Header.Get("Content-Type"), data}
	return Object{"content_uri": "mxc://" + Name + "/" + id}, nil
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	u, f, ok := s.tokens[bearer(r)], file{}, false
	if r.PathValue("server") == Name {
		f, ok = s.media[r.PathValue("media")]
	}
	s.mu.Unlock()
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
	return !slices.Contains(w.NotTypes, "*") && !slices.Contains(w.NotTypes, kind) && (w.Types == nil || slices.Contains(w.Types, kind))
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

func (s *Server) sync(u *user, r *http.Request) (any, *problem) {
	q := r.URL.Query()
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
	timer := time.NewTimer(time.Duration(wait) * time.Millisecond)
	defer timer.Stop()
	for {
		s.mu.Lock()
		body, news := s.news(u, since, filter.Account, filter.Room.Timeline)
		changed, closed := s.changed, s.closed
		s.mu.Unlock()
		if news || since == 0 || closed {
			return body, nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return body, nil
		case <-r.Context().Done():
			return body, nil
		}
	}
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
				join[id] = Object{"timeline": Object{"events": shown, "limited": limited, "prev_batch": fmt.Sprintf("s%d", events[0].pos-1)}}
			}
		case "invite":
			if own.pos > since {
				state := []Object{}
				for key, e := range m.state {
					if key[0] == "m.room.create" || key[0] == "m.room.encryption" || e == own {
						state = append(state, Object{"type": e.Type, "sender": e.Sender, "state_key": *e.StateKey, "content": e.Content})
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
		"next_batch": fmt.Sprintf("s%d", s.pos), "account_data": Object{"events": data}, "rooms": Object{"join": join, "invite": invite, "leave": leave},
	}, len(join)+len(invite)+len(leave)+len(data) > 0
}

func (s *Server) messages(u *user, r *http.Request) (any, *problem) {
	q := r.URL.Query()
	var w wanted
	if text := q.Get("filter"); text != "" && json.Unmarshal([]byte(text), &w) != nil {
		return nil, &problem{http.StatusBadRequest, "M_INVALID_PARAM", "bad filter"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, p := s.in(u, r)
	if p != nil {
		return nil, p
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
	events, more := m.choose(after-1, from+1, w) // with the event at that position, as Dendrite does
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
	i := slices.IndexFunc(g.fails, func(f Failure) bool { return f.Method == r.Method && strings.Contains(path, f.Path) })
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
