package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// TestBoundsOfMessages: what a message names is refused at the door if there is too much of
// it, and the answer does not repeat it whole.
func TestBoundsOfMessages(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	long := strings.Repeat("x", 1<<20)
	many := strings.TrimSuffix(strings.Repeat(`"a",`, 5000), ",")
	for name, c := range map[string]struct {
		path, body string
		status     int
		says       string
	}{
		"session":      {"/api/select", `{"text":"hi","session":"` + long + `"}`, 400, "the session has 1048576 bytes"},
		"attribute":    {"/api/select", `{"text":"hi","attrs":{"a":"` + long + `"}}`, 400, "an attribute has 1048576 bytes"},
		"agent":        {"/api/select", `{"text":"hi","agent":"` + long + `"}`, 400, "the agent has 1048576 bytes"},
		"skill":        {"/api/select", `{"text":"hi","skill":"` + long + `"}`, 400, "the skill has 1048576 bytes"},
		"mode":         {"/api/select", `{"text":"hi","mode":"` + long + `"}`, 400, "unknown mode"},
		"a tool":       {"/api/select", `{"text":"hi","include":["` + long + `"]}`, 400, "has 1048576 bytes"},
		"tools":        {"/api/select", `{"text":"hi","exclude":[` + many + `]}`, 400, "it names 5000 tools or skills"},
		"skills":       {"/api/select", `{"text":"hi","exclude_skills":[` + many + `]}`, 400, "it names 5000 tools or skills"},
		"limit":        {"/api/select", `{"text":"hi","limit":1000000000000}`, 200, `"query":"hi"`},
		"budget":       {"/api/select", `{"text":"hi","budget":-1}`, 400, "must not be negative"},
		"OpenAI model": {"/v1/chat/completions", `{"model":"` + long + `","messages":[{"role":"user","content":"hi"}]}`, 404, "not found"},
	} {
		status, body := ask(t.Context(), s, http.MethodPost, "http://localhost"+c.path, c.body)
		if status != c.status || !strings.Contains(body, c.says) && len(body) < 8000 {
			t.Errorf("%s: %d %.300s; want %d and %q", name, status, body, c.status, c.says)
		}
		if len(body) > 10_000 {
			t.Errorf("%s: the answer has %d bytes", name, len(body))
		}
	}
}

// TestPage: a browser reads what this is, programs that there is no such route.
func TestPage(t *testing.T) {
	s := newServer(t, server.Config{Key: "right"}, nil)
	status, body := ask(t.Context(), s, http.MethodGet, "http://localhost:3884/", "", "Accept", "text/html,*/*;q=0.8")
	if status != http.StatusOK || !strings.Contains(body, "curl http://localhost:3884/v1/chat/completions") {
		t.Errorf("a browser: %d %s", status, body)
	}
	if strings.Contains(body, "<script") {
		t.Errorf("a browser: %s", body)
	}
	if status, body := ask(t.Context(), s, http.MethodGet, "http://localhost:3884/", ""); status != http.StatusNotFound || !strings.Contains(body, "no_route") {
		t.Errorf("a program: %d %s", status, body)
	}
}

// TestHeadersTwice: of two headers nobody knows which one counts.
func TestHeadersTwice(t *testing.T) {
	s := newServer(t, server.Config{Key: "right"}, nil)
	for name, status := range map[string]int{"X-Etui-User": 400, "Authorization": 401, "X-Other": 200} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/api/whoami", strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer right")
		r.Header.Add(name, "Bearer right")
		r.Header.Add(name, "Bearer wrong")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, status)
		}
	}
}

// pipes is a listener whose connections stay in the process.
type pipes struct{ connections chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.connections
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// TestSlowBodies: a body that arrives too slowly ends its connection, also if the request is
// refused; a turn may take longer than its body.
func TestSlowBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, server.Config{Key: "right"}, func(c *engine.Config) {
			c.Registry = catalog.NewRegistry(nil)
			c.Agents[0].Model = fake.New(fake.Step{Pieces: []string{"done"}, Delay: 2 * time.Minute})
		})
		p := pipes{make(chan net.Conn)}
		web := &http.Server{Handler: s} //nolint:gosec // the deadlines of the handler are what is tested
		go func() { _ = web.Serve(p) }()
		// send writes a request and then its body, piece by piece, and returns what is
		// answered until the connection ends, and how long that took.
		send := func(head string, body []string, pause time.Duration) (string, time.Duration) {
			here, there := net.Pipe()
			p.connections <- there
			began := time.Now()
			go func() {
				_, _ = io.WriteString(here, "POST "+head+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n")
				for _, piece := range body {
					if _, err := io.WriteString(here, piece); err != nil {
						return
					}
					time.Sleep(pause)
				}
			}()
			answer, _ := io.ReadAll(here)
			return string(answer), time.Since(began)
		}
		const right = "Authorization: Bearer right\r\n"
		trickle := []string{right + "Content-Length: 1000\r\n\r\n{"}
		for range 999 {
			trickle = append(trickle, " ")
		}
		answer, took := send("/api/chat", trickle, time.Second)
		if !strings.HasPrefix(answer, "HTTP/1.1 408") || took > 40*time.Second {
			t.Errorf("a body that trickles: %q after %v", answer, took)
		}
		answer, took = send("/api/chat", []string{"Content-Length: 1000\r\n\r\n{"}, time.Second)
		if took > time.Minute {
			t.Errorf("a refused body that does not come: %q after %v", answer, took)
		}
		said := `{"text":"hi"}`
		answer, took = send("/api/chat", []string{fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", right, len(said), said)}, 0)
		if !strings.Contains(answer, "done") || took < 2*time.Minute {
			t.Errorf("a long turn: %q after %v", answer, took)
		}
		close(p.connections)
		_ = web.Close()
		synctest.Wait()
	})
}

// TestErrorsOfTheDatabase: an operator reads what the database said, anybody else that it is
// away. What no database can hold is the client's mistake.
func TestErrorsOfTheDatabase(t *testing.T) {
	keys, secrets := keyring(t)
	s := newServer(t, server.Config{Keys: keys, Users: twoUsers(t)}, func(c *engine.Config) {
		c.Users, c.Store = by(twoUsers(t)), awayStore{&store.Memory{}}
	})
	for key, says := range map[string]string{"person": "the database is unavailable; try again in a moment", "operator": "db.internal"} {
		status, body := ask(t.Context(), s, "POST", "http://localhost/api/chat", `{"text":"hi"}`, "Authorization", secrets[key])
		if status != http.StatusServiceUnavailable || !strings.Contains(body, says) || (key == "person" && strings.Contains(body, "db.internal")) {
			t.Errorf("%s: %d %s, want %s", key, status, body, says)
		}
	}
	for _, path := range []string{"/api/sessions/a%00b", "/api/sessions?part=%00"} {
		if status, body := ask(t.Context(), s, "GET", "http://localhost"+path, "", "Authorization", secrets["operator"]); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := ask(t.Context(), s, "POST", "http://localhost/api/chat", `{"text":"hi","answers":[{"call":"1","approved":true}]}`, "Authorization", secrets["operator"]); status != http.StatusBadRequest {
		t.Errorf("a text and answers: %d %s", status, body)
	}
}

// awayStore is a database that is away.
type awayStore struct{ store.Store }

func (awayStore) Load(context.Context, session.Key, int) (session.Session, error) {
	return session.Session{}, store.AsAway(errors.New("database db.internal: SQLSTATE 57P01"))
}

func (awayStore) Accept(context.Context, store.Item) (store.Item, bool, error) {
	return store.Item{}, false, store.AsAway(errors.New("database db.internal: SQLSTATE 57P01"))
}
