package matrix_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the registration is signed with it
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/matrix"
	"github.com/etui-run/etui/channel/matrix/matrixtest"
	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/store"
)

type object = matrixtest.Object

// patience bounds each wait; it is far longer than any of them takes.
const patience = 30 * time.Second

// homeserver is a server that a test runs on: the one of matrixtest, or Dendrite.
type homeserver struct {
	proxy    http.Handler
	register func(t *testing.T, name string) (token string)
}

// local starts the server of matrixtest.
func local(t *testing.T) *homeserver {
	s := matrixtest.Start()
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &homeserver{quiet(httputil.NewSingleHostReverseProxy(u)), func(_ *testing.T, name string) string { return s.Register(name) }}
}

// quiet answers for a server that has gone, or a client that has, as a proxy does.
func quiet(p *httputil.ReverseProxy) *httputil.ReverseProxy {
	p.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	return p
}

// patient keeps from a homeserver that a client has gone. Dendrite that was built without a C
// compiler can end when it is told so in the middle of a transaction.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		asked := r.Clone(context.WithoutCancel(r.Context()))
		asked.Body = io.NopCloser(bytes.NewReader(body))
		got, done := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(done)
			defer func() { // the proxy panics when the server ends in the middle of an answer
				failed := recover()
				if err, ok := failed.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					got = httptest.NewRecorder()
					got.Code = http.StatusBadGateway
				} else if failed != nil {
					panic(failed)
				}
			}()
			next.ServeHTTP(got, asked)
		}()
		select {
		case <-done:
			maps.Copy(w.Header(), got.Header())
			w.WriteHeader(got.Code)
			_, _ = w.Write(got.Body.Bytes()) // the client may be gone
		case <-r.Context().Done():
		}
	})
}

const dendriteConfig = `version: 2
global:
  server_name: matrix.test
  private_key: key.pem
  disable_federation: true
  jetstream: {in_memory: true, storage_path: .}
  cache: {max_size_estimated: 64mb}
client_api: {registration_shared_secret: secret, registration_disabled: true, rate_limiting: {enabled: false}}
federation_api: {key_perspectives: [], database: {connection_string: "file:federation.db"}}
key_server: {database: {connection_string: "file:keys.db"}}
media_api: {base_path: ./media, database: {connection_string: "file:media.db"}}
mscs: {database: {connection_string: "file:mscs.db"}}
relay_api: {database: {connection_string: "file:relay.db"}}
room_server: {database: {connection_string: "file:rooms.db"}}
sync_api: {database: {connection_string: "file:sync.db"}, search: {enabled: false}}
user_api: {bcrypt_cost: 4, account_database: {connection_string: "file:accounts.db"}}
logging: [{type: std, level: panic}]
`

// dendrite starts Dendrite v0.15.2 on a socket of ours.
func dendrite(t *testing.T) *homeserver {
	t.Helper()
	program, err := filepath.Abs("../../bin/dendrite/dendrite")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		leftout.Without(t, "the Matrix server Dendrite")
	}
	dir, err := os.MkdirTemp("", "dendrite") //nolint:usetesting // the path of a socket has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := "-----BEGIN MATRIX PRIVATE KEY-----\nKey-ID: ed25519:test\n\n" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef")) + "\n-----END MATRIX PRIVATE KEY-----\n"
	for name, text := range map[string]string{"key.pem": key, "d.yaml": dendriteConfig} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "socket")
	cmd := exec.Command(program, "-config", "d.yaml", "-unix-socket", socket)
	var said bytes.Buffer
	cmd.Env = append(os.Environ(), "GOGC=400", "GOMAXPROCS=1")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the server ends with the thread that started it
		err := cmd.Start()
		began <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-began; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // nothing of it is kept
		<-ended
		if t.Failed() {
			t.Log(said.String())
		}
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 100, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	for late := time.Now().Add(patience); ; {
		res, err := client.Get("http://matrix.test/_matrix/client/versions")
		if err == nil {
			res.Body.Close()
			break
		}
		select {
		case <-ended:
			t.Fatal("Dendrite does not start")
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(late) {
			t.Fatalf("Dendrite does not answer: %v", err)
		}
	}
	u := &url.URL{Scheme: "http", Host: "matrix.test"}
	proxy := quiet(httputil.NewSingleHostReverseProxy(u))
	proxy.Transport = transport
	return &homeserver{patient(proxy), func(t *testing.T, name string) string {
		const path = "http://matrix.test/_synapse/admin/v1/register"
		var nonce struct{ Nonce string }
		exchange(t, client, "GET", path, "", nil, &nonce)
		mac := hmac.New(sha1.New, []byte("secret"))
		fmt.Fprintf(mac, "%s\x00%s\x00password1\x00notadmin", nonce.Nonce, name)
		var made struct {
			Token string `json:"access_token"`
		}
		exchange(t, client, "POST", path, "", object{"nonce": nonce.Nonce, "username": name, "password": "password1", "mac": hex.EncodeToString(mac.Sum(nil))}, &made)
		return made.Token
	}}
}

// exchange makes a request that must succeed.
func exchange(t *testing.T, client *http.Client, method, address, token string, body, into any) {
	t.Helper()
	status, data := try(t, client, method, address, token, body)
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, address, status, data)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("%s %s: %v", method, address, err)
		}
	}
}

func try(t *testing.T, client *http.Client, method, address, token string, body any) (int, []byte) {
	t.Helper()
	data, raw := body.([]byte)
	if !raw && body != nil {
		data, _ = json.Marshal(body)
	}
	req, err := http.NewRequest(method, address, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, data
}

// world is a homeserver with an account, etui, and a person, ann, in a direct chat and in a
// group, to which she has invited it.
type world struct {
	*homeserver
	t             *testing.T
	gate          *matrixtest.Gate
	web, side     *httptest.Server // for the account, and for people
	token, me     string
	suffix        string
	ann           *person
	direct, group string
	records       store.Records
}

// person is somebody at the server.
type person struct {
	*world
	id, token string
}

// count gives each world names of its own.
var count = struct {
	sync.Mutex
	n int
}{}

func newWorld(t *testing.T, on *homeserver) *world {
	t.Helper()
	count.Lock()
	count.n++
	w := &world{homeserver: on, t: t, suffix: strconv.Itoa(count.n), gate: matrixtest.NewGate(on.proxy), records: &store.Memory{}}
	count.Unlock()
	w.web = httptest.NewServer(w.gate)
	t.Cleanup(func() { w.web.CloseClientConnections(); w.web.Close() })
	w.side = httptest.NewServer(on.proxy)
	t.Cleanup(w.side.Close)
	w.token, w.me = on.register(t, "etui"+w.suffix), "@etui"+w.suffix+":matrix.test"
	w.ann = w.person("ann")
	w.ann.do("PUT", "profile/"+w.ann.id+"/displayname", object{"displayname": "Ann"}, nil)
	w.direct = w.ann.room(object{"is_direct": true, "preset": "trusted_private_chat", "invite": []string{w.me}})
	w.group = w.ann.room(object{"preset": "private_chat", "invite": []string{w.me}})
	return w
}

func (w *world) person(name string) *person {
	return &person{w, "@" + name + w.suffix + ":matrix.test", w.register(w.t, name+w.suffix)}
}

// account is the person that etui is.
func (w *world) account() *person { return &person{w, w.me, w.token} }

func (p *person) do(method, path string, body, into any) {
	p.t.Helper()
	exchange(p.t, p.side.Client(), method, p.side.URL+"/_matrix/client/v3/"+path, p.token, body, into)
}

func (p *person) room(how object) string {
	p.t.Helper()
	var made struct {
		Room string `json:"room_id"`
	}
	p.do("POST", "createRoom", how, &made)
	return made.Room
}

func (p *person) send(room, kind string, content object) string {
	p.t.Helper()
	var sent struct {
		Event string `json:"event_id"`
	}
	count.Lock()
	count.n++
	n := count.n
	count.Unlock()
	p.do("PUT", fmt.Sprintf("rooms/%s/send/%s/%d", room, kind, n), content, &sent)
	return sent.Event
}

func (p *person) say(room, text string, more object) string {
	p.t.Helper()
	content := object{"msgtype": "m.text", "body": text}
	for k, v := range more {
		content[k] = v
	}
	return p.send(room, "m.room.message", content)
}

// event is an event as people read it.
type event struct {
	Type    string
	ID      string `json:"event_id"`
	Sender  string
	Content struct {
		MsgType string `json:"msgtype"`
		Body    string
		HTML    string `json:"formatted_body"`
		URL     string
		New     *struct {
			Body string
			HTML string `json:"formatted_body"`
		} `json:"m.new_content"`
		Relates  map[string]any `json:"m.relates_to"`
		Mentions map[string]any `json:"m.mentions"`
		Info     map[string]any
		Poll     map[string]any `json:"org.matrix.msc3381.poll.start"`
	}
}

// sent returns what the account has sent into a room, as ann reads it, oldest first.
func (w *world) sent(room string) (list []event) {
	w.t.Helper()
	for _, e := range w.ann.history(room) {
		if e.Sender == w.me && e.Type != "m.room.member" {
			list = append(list, e)
		}
	}
	return list
}

// history returns the events of a room, oldest first. A homeserver shows some of them a moment
// after it has taken them, in their order: so a mark is awaited.
func (p *person) history(room string) []event {
	p.t.Helper()
	mark := p.send(room, "org.example.mark", object{})
	for late := time.Now().Add(patience); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
		var page struct{ Chunk []event }
		p.do("GET", "rooms/"+room+"/messages?dir=b&limit=500", nil, &page)
		if slices.ContainsFunc(page.Chunk, func(e event) bool { return e.ID == mark }) {
			slices.Reverse(page.Chunk)
			return page.Chunk
		}
	}
	p.t.Fatal("the homeserver does not show what it has taken")
	panic("unreachable")
}

var tags = regexp.MustCompile(`<[^>]*>`)

// config is a configuration for the server.
func (w *world) config() matrix.Config {
	return matrix.Config{URL: w.web.URL, Token: w.token, Groups: []string{w.group}, Records: w.records}
}

func (w *world) new(config matrix.Config) *matrix.Channel {
	w.t.Helper()
	c, err := matrix.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// Channel implements [channeltest.Platform].
func (w *world) Channel(*testing.T) channel.Channel { return w.new(w.config()) }

// Names implements [channeltest.Named].
func (w *world) Names() (string, string) { return w.ann.id, w.group }

func (w *world) place(chat string) string {
	switch chat {
	case "4711":
		return w.direct
	case "-100":
		return w.group
	}
	return chat
}

// Say implements [channeltest.Platform].
func (w *world) Say(_ *testing.T, m channel.Incoming) string {
	text, mentions := m.Text, object{}
	if m.Mentioned {
		text, mentions = "etui"+w.suffix+": "+text, object{"user_ids": []string{w.me}}
	}
	return w.ann.say(w.place(m.At.Chat), text, object{"m.mentions": mentions})
}

// Seen implements [channeltest.Platform].
func (w *world) Seen(_ *testing.T, chat string) (seen []string) {
	at := map[string]int{}
	for _, e := range w.sent(w.place(chat)) {
		if e.Type != "m.room.message" {
			continue
		}
		body, markup := e.Content.Body, e.Content.HTML
		i, id := len(seen), e.ID
		if n := e.Content.New; n != nil {
			id, _ = e.Content.Relates["event_id"].(string)
			body, markup, i = n.Body, n.HTML, at[id]
		} else {
			seen = append(seen, "")
		}
		if markup != "" {
			body = strings.TrimSpace(html.UnescapeString(tags.ReplaceAllString(markup, "")))
		}
		seen[i], at[id] = body, i
	}
	return seen
}

// Fail implements [channeltest.Platform].
// Picky implements [channeltest.Picky].
func (w *world) Picky() {}

func (w *world) Fail(_ *testing.T, how channeltest.Failure) {
	f := map[channeltest.Failure]matrixtest.Failure{
		channeltest.Away: {Status: http.StatusBadGateway},
		channeltest.Busy: {Status: http.StatusTooManyRequests, Body: object{"errcode": "M_LIMIT_EXCEEDED",
			"error": "Too Many Requests", "retry_after_ms": 7000}},
		channeltest.Gone: {Status: http.StatusForbidden, Body: object{"errcode": "M_FORBIDDEN",
			"error": "not in the room"}},
		channeltest.Rejected: {Status: http.StatusRequestEntityTooLarge, Body: object{"errcode": "M_TOO_LARGE",
			"error": "too large"}},
		channeltest.Refused: {Status: http.StatusUnauthorized, Body: object{"errcode": "M_UNKNOWN_TOKEN",
			"error": "Unknown token"}},
	}[how]
	f.Method, f.Path = "PUT", "/send/"
	w.gate.Fail(f)
}

// Cut implements [channeltest.Cut].
func (w *world) Cut(*testing.T) { w.web.CloseClientConnections() }

// Redelivers implements [channeltest.Redelivering].
func (w *world) Redelivers() {}

// Patient implements [channeltest.Patient].
func (w *world) Patient() {}

// Call implements [channeltest.Calling]. An address belongs to one room.
func (w *world) Call(_ *testing.T, name string, twice bool) string {
	if twice || name != "" && name != "#ops" { // a server has ASCII letters alone
		return ""
	}
	address, is := "#ops"+w.suffix+":matrix.test", object{}
	path := "directory/room/" + url.PathEscape(address)
	if name == "" {
		w.ann.do("DELETE", path, nil, nil)
	} else {
		w.ann.do("PUT", path, object{"room_id": w.group}, nil)
		is["alias"] = address
	}
	w.ann.do("PUT", "rooms/"+w.group+"/state/m.room.canonical_alias/", is, nil)
	return address
}
