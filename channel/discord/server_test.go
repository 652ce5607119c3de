package discord_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/discord"
	"github.com/etui-run/etui/channel/platformtest"
)

const (
	token   = "MTE3.Gx1abc.secret-part"
	bot     = "900"
	app     = "901"
	guild   = "50"
	general = "100" // a text channel
	dm      = "200" // the direct chat with 4711
	forum   = "300"
	post    = "301" // a thread in the forum
	ownRole = "902"
)

// object is JSON.
type object = map[string]any

// server speaks Discord's protocol as discord/discord-api-docs described it on 2026-08-06
// (commit c98d64b): the pages "Gateway", "Gateway Events", "Rate Limits", "Opcodes and Status
// Codes", "Message Resource", "Receiving and Responding", "Application Commands" and "Poll
// Resource". TestThirdParty checks it with disgo.
type server struct {
	*platformtest.Server
	t *testing.T

	sessions  map[string]*gatewaySession
	newest    *gatewaySession
	identify  []object // what clients identified and resumed with
	resumes   []object
	frames    [][]byte // what clients have sent
	beats     int
	deaf      bool // heartbeats are not acknowledged
	remaining int  // sessions that may be begun
	interval  int  // of heartbeats, in milliseconds
	refuse    websocket.StatusCode
	messages  []*posted
	calls     []call
	fail      []channeltest.Failure
	answers   map[string]answer // instead of the usual ones, by method and path
	reactions map[string][]string
	answered  map[string]object // callbacks, by the interaction's token
	commands  []object
	name      string // of the channel general
	other     string // of one in another server
	files     map[string][]byte
	threads   map[string][]object // what was said in them, the newest first
	made      []*discord.Channel
	last      object // the message that was said last
}

// answer is an answer of the API.
type answer struct {
	status int
	header map[string]string
	body   any
}

// gatewaySession is a session: it outlives its connections.
type gatewaySession struct {
	id     string
	events []object // the first one has the number 1
}

// posted is a message of the bot.
type posted struct {
	id, chat, nonce string
	body            object
	files           map[string]string
}

// call is a call of the API.
type call struct {
	route  string
	header http.Header
	body   object
}

func newServer(t *testing.T) *server {
	s := &server{
		Server: platformtest.Start(), t: t, sessions: map[string]*gatewaySession{}, remaining: 999, interval: 41250, answers: map[string]answer{}, reactions: map[string][]string{},
		answered: map[string]object{}, files: map[string][]byte{}, threads: map[string][]object{},
	}
	s.Mux.HandleFunc("/api/v10/", s.api)
	s.Mux.HandleFunc("GET /gateway/", s.gateway) // also /gateway/resume
	s.Mux.HandleFunc("GET /attachments/{name}", func(w http.ResponseWriter, r *http.Request) {
		defer s.Hold()()
		data, ok := s.files[r.PathValue("name")]
		if r.Header.Get("Authorization") != "" {
			t.Error("the token goes to the server for files")
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(data)
	})
	t.Cleanup(s.Close)
	return s
}

// await waits until a condition holds.
func (s *server) await(what string, condition func() bool) {
	s.t.Helper()
	ctx, done := context.WithTimeout(context.Background(), 30*time.Second)
	defer done()
	err := s.Wait(ctx, func() bool {
		defer s.Hold()()
		return condition()
	})
	if err != nil {
		s.t.Fatalf("waiting for %s took too long", what)
	}
}

// set changes the server.
func (s *server) set(f func()) {
	defer s.Hold()()
	f()
	s.Touch()
}

// next is a new ID. The caller holds mu.
func (s *server) next() string {
	return strconv.Itoa(1000 + s.Next())
}

func self() object { return object{"id": bot, "username": "etui", "discriminator": "0", "bot": true} }

func (s *server) api(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v10/")
	parts := strings.Split(path, "/")
	c := call{r.Method + " " + path, r.Header, object{}}
	var raw []byte
	files := map[string]string{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		if err := r.ParseMultipartForm(64 << 20); err != nil {
			http.Error(w, "form", http.StatusBadRequest)
			return
		}
		raw = []byte(r.FormValue("payload_json"))
		for name, headers := range r.MultipartForm.File {
			f, err := headers[0].Open()
			if err != nil {
				http.Error(w, "file", http.StatusBadRequest)
				return
			}
			data, _ := io.ReadAll(f)
			files[name] = headers[0].Filename + "=" + string(data)
		}
	} else {
		raw, _ = io.ReadAll(r.Body)
	}
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &c.body); err != nil {
			http.Error(w, "json", http.StatusBadRequest)
			return
		}
	}
	defer s.Hold()()
	s.calls = append(s.calls, c)
	s.Touch()
	reply := func(status int, o any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if o != nil {
			json.NewEncoder(w).Encode(o)
		}
	}
	no := func(status, code int, message string) { reply(status, object{"message": message, "code": code}) }
	if !strings.HasPrefix(r.Header.Get("User-Agent"), "DiscordBot (") {
		no(http.StatusForbidden, 40333, "internal network error")
		return
	}
	public := parts[0] == "webhooks" || parts[0] == "interactions"
	if !public && r.Header.Get("Authorization") != "Bot "+token {
		no(http.StatusUnauthorized, 0, "401: Unauthorized")
		return
	}
	if a, ok := s.answers[c.route]; ok {
		for k, v := range a.header {
			w.Header().Set(k, v)
		}
		if a.status != 0 {
			reply(a.status, a.body)
			return
		}
	}
	switch r.Method + " " + parts[0] + "/" + strings.Join(parts[min(2, len(parts)):], "/") {
	case "GET gateway/":
		reply(200, object{"url": strings.Replace(s.URL, "http", "ws", 1) + "/gateway/", "shards": 1, "session_start_limit": object{"total": 1000, "remaining": s.remaining, "reset_after": 14400000, "max_concurrency": 1}})
	case "GET applications/":
		reply(200, object{"id": app, "name": "etui", "flags": 1 << 19, "bot": self()})
	case "PUT applications/commands":
		s.commands = nil
		if err := json.Unmarshal(raw, &s.commands); err != nil {
			no(400, 50035, "Invalid Form Body")
			return
		}
		reply(200, s.commands)
	case "GET guilds/":
		reply(200, object{"id": guild, "owner_id": "1", "roles": []object{
			{"id": guild, "name": "@everyone", "permissions": "2048"}, {"id": "61", "name": "Admins", "permissions": "8"}, {"id": "62", "name": "administrator", "permissions": "0"},
			{"id": "63", "name": "Team", "permissions": "32"}, {"id": ownRole, "name": "etui", "permissions": "0", "tags": object{"bot_id": bot}},
		}})
	case "GET users/guilds":
		reply(200, []object{{"id": guild, "name": "Acme"}, {"id": "78", "name": "Else"}})
	case "GET guilds/channels":
		if parts[1] == guild {
			reply(200, []object{{"id": general, "type": 0, "name": s.name}, {"id": "31", "type": 4, "name": "ops"}})
		} else {
			reply(200, []object{{"id": "32", "type": 0, "name": s.other}})
		}
	case "GET channels/":
		switch parts[1] {
		case post:
			reply(200, object{"id": post, "type": 11, "parent_id": forum, "guild_id": guild})
		case general:
			reply(200, object{"id": general, "type": 0, "guild_id": guild})
		default:
			no(404, 10003, "Unknown Channel")
		}
	case "GET channels/messages":
		if list, ok := s.threads[parts[1]]; ok {
			reply(200, list)
		} else {
			no(404, 10003, "Unknown Channel")
		}
	case "POST channels/messages":
		s.create(parts[1], c.body, files, w, reply, no)
	case "POST channels/typing":
		reply(204, nil)
	case "POST interactions/" + parts[len(parts)-2] + "/callback":
		if _, twice := s.answered[parts[2]]; twice {
			no(400, 40060, "Interaction has already been acknowledged.")
			return
		}
		s.answered[parts[2]] = c.body
		reply(204, nil)
	case "PATCH webhooks/" + parts[min(2, len(parts)-1)] + "/messages/@original":
		if s.answered[parts[2]] == nil || parts[1] != app {
			no(404, 10015, "Unknown Webhook")
			return
		}
		for _, m := range s.messages {
			if m.nonce == parts[2] {
				maps.Copy(m.body, c.body)
				reply(200, object{"id": m.id})
				return
			}
		}
		m := &posted{s.next(), "answer", parts[2], c.body, files}
		s.messages = append(s.messages, m)
		reply(200, object{"id": m.id, "channel_id": dm})
	default:
		s.message(r.Method, parts, c.body, reply, no)
	}
}

// create posts a message. The caller holds mu.
func (s *server) create(chat string, body object, files map[string]string, w http.ResponseWriter, reply func(int, any), no func(int, int, string)) {
	if len(s.fail) > 0 {
		how := s.fail[0]
		s.fail = s.fail[1:]
		switch how {
		case channeltest.Away:
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html>cloudflare</html>")
		case channeltest.Busy:
			w.Header().Set("Retry-After", "7")
			w.Header().Set("X-RateLimit-Scope", "user")
			reply(http.StatusTooManyRequests, object{"message": "You are being rate limited.", "retry_after": 6.9, "global": false})
		case channeltest.Gone:
			no(http.StatusForbidden, 50007, "Cannot send messages to this user")
		case channeltest.Rejected:
			no(http.StatusBadRequest, 200000, "Message was blocked by automatic moderation")
		case channeltest.Refused:
			no(http.StatusUnauthorized, 0, "401: Unauthorized")
		}
		return
	}
	text, _ := body["content"].(string)
	nonce, _ := body["nonce"].(string)
	switch {
	case utf8.RuneCountInString(text) > 2000, len(nonce) > 25:
		no(400, 50035, "Invalid Form Body")
		return
	case text == "" && len(files) == 0 && body["poll"] == nil && body["components"] == nil:
		no(400, 50006, "Cannot send an empty message")
		return
	}
	if nonce != "" && body["enforce_nonce"] == true {
		for _, m := range s.messages {
			if m.nonce == nonce {
				reply(200, object{"id": m.id, "channel_id": m.chat})
				return
			}
		}
	}
	m := &posted{s.next(), chat, nonce, body, files}
	s.messages = append(s.messages, m)
	created := object{"id": m.id, "channel_id": chat, "type": 0, "content": text, "author": self(), "timestamp": "2026-08-06T10:00:00.000000+00:00", "mentions": []any{}, "attachments": []any{}, "embeds": []any{}}
	reply(200, created)
	event := maps.Clone(created)
	if chat != dm {
		event["guild_id"] = guild
	}
	s.dispatch("MESSAGE_CREATE", event) // the Gateway tells bots of their own messages, too
}

// message changes a message. The caller holds mu.
func (s *server) message(method string, parts []string, body object, reply func(int, any), no func(int, int, string)) {
	if len(parts) < 4 || parts[0] != "channels" || parts[2] != "messages" {
		no(404, 0, "404: Not Found")
		return
	}
	if len(parts) == 7 && parts[4] == "reactions" {
		if method == "PUT" {
			s.reactions[parts[3]] = append(s.reactions[parts[3]], parts[5])
		} else {
			s.reactions[parts[3]] = slices.DeleteFunc(s.reactions[parts[3]], func(e string) bool { return e == parts[5] })
		}
		reply(204, nil)
		return
	}
	if list := s.threads["of "+parts[3]]; method == "GET" && list != nil {
		reply(200, list[0])
		return
	}
	for _, m := range s.messages {
		if m.id == parts[3] && method == "PATCH" {
			maps.Copy(m.body, body)
			reply(200, object{"id": m.id})
			return
		}
	}
	no(404, 10008, "Unknown Message")
}

// dispatch adds an event to the newest session. The caller holds mu.
func (s *server) dispatch(kind string, d any) {
	if s.newest == nil {
		return
	}
	s.newest.add(kind, d)
	s.Touch()
}

func (g *gatewaySession) add(kind string, d any) {
	g.events = append(g.events, object{"op": 0, "t": kind, "s": len(g.events) + 1, "d": d})
}

// Dispatch sends an event.
func (s *server) Dispatch(kind string, d any) {
	s.await("a session", func() bool { return s.newest != nil })
	s.set(func() { s.dispatch(kind, d) })
}

func (s *server) gateway(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Get("v") != "10" || q.Get("encoding") != "json" {
		http.Error(w, "version", http.StatusBadRequest)
		return
	}
	conn := s.Accept(w, r)
	if conn == nil {
		return
	}
	defer conn.CloseNow()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	write := func(o object) { platformtest.Write(ctx, conn, o) }
	release := s.Hold()
	write(object{"op": 10, "d": object{"heartbeat_interval": s.interval, "_trace": []string{"gateway"}}, "s": nil, "t": nil})
	release()
	var mine *gatewaySession
	begin := make(chan int, 1) // the number of the last event that the client has
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			var f struct {
				Op int
				D  json.RawMessage
			}
			if len(data) > 4096 || json.Unmarshal(data, &f) != nil {
				conn.Close(4002, "Error while decoding payload.")
				return
			}
			s.set(func() { s.frames = append(s.frames, data) })
			switch f.Op {
			case 1:
				release := s.Hold()
				s.beats++
				deaf := s.deaf
				s.Touch()
				release()
				if !deaf {
					write(object{"op": 11})
				}
			case 2, 6:
				var d object
				json.Unmarshal(f.D, &d)
				release := s.Hold()
				code := s.refuse
				if d["token"] != token {
					code = 4004
				}
				if code != 0 {
					release()
					conn.Close(code, "")
					return
				}
				seq := 0
				if f.Op == 2 {
					s.identify = append(s.identify, d)
					mine = &gatewaySession{id: "session-" + s.next()}
					mine.add("READY", object{
						"v": 10, "user": self(), "guilds": []object{{"id": guild, "unavailable": true}}, "session_id": mine.id,
						"resume_gateway_url": strings.Replace(s.URL, "http", "ws", 1) + "/gateway/resume", "application": object{"id": app, "flags": 1 << 19},
					})
					s.sessions[mine.id], s.newest = mine, mine
				} else {
					s.resumes = append(s.resumes, d)
					id, _ := d["session_id"].(string)
					mine = s.sessions[id]
					if mine == nil {
						s.Touch()
						release()
						write(object{"op": 9, "d": false})
						return
					}
					n, _ := d["seq"].(float64)
					seq = int(n)
					mine.events = slices.Clip(mine.events)
				}
				s.Touch()
				release()
				begin <- seq
			}
		}
	}()
	var at int
	select {
	case at = <-begin:
	case <-gone:
		return
	}
	if at > 0 {
		defer s.set(func() {})
	}
	resumed := at == 0
	for {
		release := s.Hold()
		due := slices.Clone(mine.events[min(at, len(mine.events)):])
		if !resumed {
			mine.add("RESUMED", object{})
			due, resumed = append(due, mine.events[len(mine.events)-1]), true
		}
		changed := s.Changed()
		release()
		for _, e := range due {
			write(e)
		}
		at += len(due)
		select {
		case <-changed:
		case <-gone:
			return
		}
	}
}

// send sends something that is no event on all connections.
func (s *server) send(o object) {
	for _, c := range s.Conns() {
		platformtest.Write(context.Background(), c, o)
	}
}

// config is a configuration for the server.
func (s *server) config() discord.Config {
	return discord.Config{Token: token, URL: s.URL + "/api/v10", Client: s.Client}
}

// Channel implements [channeltest.Platform].
func (s *server) Channel(t *testing.T) channel.Channel {
	s.set(func() { s.newest = nil }) // what is said goes to the session of this one
	return s.adapter(t, s.config())
}

func (s *server) adapter(t *testing.T, config discord.Config) *discord.Channel {
	c, err := discord.New(config)
	if err != nil {
		t.Fatal(err)
	}
	c.Hurry()
	s.set(func() { s.made = append(s.made, c) })
	return c
}

// Names implements [channeltest.Named]: IDs are numbers.
func (s *server) Names() (person, group string) { return "4711", general }

// written is an event MESSAGE_CREATE. The caller holds mu.
func (s *server) written(m channel.Incoming) object {
	author := object{"id": m.From.ID, "username": m.From.Handle, "global_name": m.From.Name, "discriminator": "0", "avatar": nil}
	e := object{
		"id": s.next(), "type": 0, "channel_id": dm, "channel_type": 1, "author": author, "content": m.Text, "timestamp": "2026-08-06T10:00:00.123000+00:00", "edited_timestamp": nil,
		"tts": false, "mention_everyone": false, "mentions": []object{}, "mention_roles": []string{}, "attachments": []object{}, "embeds": []object{}, "pinned": false,
	}
	if m.Group {
		e["channel_id"], e["channel_type"], e["guild_id"] = general, 0, guild
		e["member"] = object{"roles": []string{}, "nick": nil, "joined_at": "2026-01-01T00:00:00+00:00"}
	}
	if m.Mentioned {
		e["content"], e["mentions"] = "<@"+bot+"> "+m.Text, []object{self()}
	}
	return e
}

// Say implements [channeltest.Platform].
func (s *server) Say(_ *testing.T, m channel.Incoming) string {
	return s.say(m, nil)
}

// say lets somebody write what change makes of a message.
func (s *server) say(m channel.Incoming, change object) string {
	s.t.Helper()
	s.await("a session", func() bool { return s.newest != nil })
	defer s.Hold()()
	e := s.written(m)
	maps.Copy(e, change)
	s.last = e
	s.dispatch("MESSAGE_CREATE", e)
	return e["id"].(string)
}

// Again implements [channeltest.Again].
func (s *server) Again(*testing.T) {
	s.await("a session", func() bool { return s.newest != nil })
	s.Dispatch("MESSAGE_CREATE", s.last)
}

// Seen implements [channeltest.Platform].
func (s *server) Seen(t *testing.T, chat string) (seen []string) {
	if chat == "-100" {
		chat = general
	}
	if chat == "4711" {
		chat = dm
	}
	defer s.Hold()()
	for _, m := range s.messages {
		if m.chat == chat {
			text, _ := m.body["content"].(string)
			seen = append(seen, shown(t, text))
		}
	}
	return seen
}

var (
	escaped = regexp.MustCompile(`\\([^A-Za-z0-9\s])`)
	mention = regexp.MustCompile(`<(@|#|:|a:|t:|/|id:)`)
)

// shown is a text as readers see it.
func shown(t *testing.T, text string) string {
	if mention.MatchString(escaped.ReplaceAllString(text, "")) {
		t.Errorf("what is not escaped mentions somebody: %q", text)
	}
	return escaped.ReplaceAllString(strings.NewReplacer("**", "", "`", "").Replace(text), "$1")
}

// Fail implements [channeltest.Platform]. What limited messages before is over.
// Picky implements [channeltest.Picky].
func (s *server) Picky() {}

func (s *server) Fail(_ *testing.T, how channeltest.Failure) {
	s.set(func() {
		s.fail = append(s.fail, how)
		for _, c := range s.made {
			c.Later(dm)
		}
	})
}

// Redelivers implements [channeltest.Redelivering].
func (s *server) Redelivers() {}

// Press implements [channeltest.Pressing].
func (s *server) Press(t *testing.T, person, _, label string) {
	s.await("a session", func() bool { return s.newest != nil })
	defer s.Hold()()
	for i := len(s.messages) - 1; i >= 0; i-- {
		rows, _ := s.messages[i].body["components"].([]any)
		for _, row := range rows {
			for _, b := range row.(object)["components"].([]any) {
				if b := b.(object); s.messages[i].chat == general && b["label"] == label {
					id := s.next()
					s.dispatch("INTERACTION_CREATE", interaction("press-"+id, object{
						"id": id, "type": 3, "guild_id": guild, "channel_id": general, "channel": object{"id": general, "type": 0}, "context": 0, "message": object{"id": s.messages[i].id},
						"member": object{"user": object{"id": person, "username": "somebody"}, "roles": []string{}}, "user": nil, "data": object{"custom_id": b["custom_id"], "component_type": 2},
					}))
					return
				}
			}
		}
	}
	t.Fatalf("there is no button %q", label)
}

// Cut implements [channeltest.Cut].
func (s *server) Cut(*testing.T) { s.Server.Cut() }

// called returns the calls of a route.
func (s *server) called(route string) (list []call) {
	defer s.Hold()()
	for _, c := range s.calls {
		if c.route == route {
			list = append(list, c)
		}
	}
	return list
}

func (p *posted) String() string { return fmt.Sprint(p.chat, p.body, p.files) }

// closeAll ends all connections with a code.
func (s *server) closeAll(code websocket.StatusCode) {
	for _, c := range s.Conns() {
		c.Close(code, "")
	}
}

// Call implements [channeltest.Calling].
func (s *server) Call(_ *testing.T, name string, twice bool) string {
	defer s.Hold()()
	s.name, s.other = strings.TrimPrefix(name, "#"), "else"
	if twice {
		s.other = s.name
	}
	return name
}

// Silent implements [channeltest.Silent].
func (s *server) Silent() {}
