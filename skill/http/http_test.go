package http_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/skill"
	skillhttp "github.com/etui-run/etui/skill/http"
	"github.com/etui-run/etui/skill/skilltest"
	"github.com/etui-run/etui/tool"
)

func TestConformance(t *testing.T) {
	skilltest.Test(t, func(t *testing.T) skilltest.Harness {
		url := serve(t, service)
		config := func(path string) skill.Config {
			return skill.Config{
				Name: "remote", Endpoint: url + path,
				Headers: map[string]skill.Secret{"Authorization": "Bearer " + skilltest.Secret}, Expanded: []skill.Secret{skilltest.Secret},
			}
		}
		leaky := config("/fail-with-header")
		leaky.Expanded = nil
		return skilltest.Harness{
			Provider: provider(t, guard(t, "127.0.0.1:*")),
			Echo:     config("/echo"), Fails: config("/fail"), Slow: config("/slow"), Rubbish: config("/rubbish"), Large: config("/large"),
			Unavailable: skill.Config{Name: "remote", Endpoint: "http://127.0.0.1:1/"},
			Leaks:       []skill.Config{config("/header"), config("/fail-with-header"), leaky},
			Bad: map[string]skill.Config{
				"endpoint":      {Name: "remote"},
				"endpoint: the": {Name: "remote", Endpoint: "gopher://127.0.0.1/"},
				"endpoint: it":  {Name: "remote", Endpoint: "http://user:" + skilltest.Secret + "@example.test/"},
				"user name":     {Name: "remote", Endpoint: "http://user:secret@example.test/"},
				"health":        {Name: "remote", Endpoint: "http://example.test", Health: "status"},
				"timeout":       {Name: "remote", Endpoint: "http://example.test", Timeout: 121 * time.Second},
			},
		}
	})
}

// service behaves as its path says.
func service(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	switch r.URL.Path {
	case "/echo":
		body, _ := io.ReadAll(r.Body) // all of it, before the server answers
		_, _ = w.Write(body)
	case "/fail":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "out of paper \x1b[31m\r\n\xff%s", strings.Repeat("x", 100_000))
	case "/slow":
		_, _ = io.Copy(io.Discard, r.Body) // or the server would not notice that the client has gone
		<-r.Context().Done()
	case "/rubbish":
		_, _ = io.WriteString(w, "<html>")
	case "/large":
		_, _ = fmt.Fprintf(w, "%q", strings.Repeat("x", skill.MaxResult))
	case "/fail-with-header":
		w.WriteHeader(http.StatusForbidden)
		fallthrough
	case "/header":
		_ = json.NewEncoder(w).Encode(map[string]any{"your": r.Header})
	}
}

func serve(t *testing.T, h http.HandlerFunc) (url string) {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func guard(t *testing.T, allow ...string) *egress.Guard {
	g, err := egress.New(egress.Config{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.CloseIdleConnections)
	return g
}

func provider(t *testing.T, transport http.RoundTripper) *skillhttp.Provider {
	p, err := skillhttp.New(skillhttp.Config{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func load(t *testing.T, p *skillhttp.Provider, config skill.Config) skill.Skill {
	t.Helper()
	config.Name, config.Description = "remote", "Is far away."
	s, err := p.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRequest looks at what is sent.
func TestRequest(t *testing.T) {
	var got []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("X-A"), r.Header.Get("Traceparent"), body))
		w.Header().Set("Content-Type", "application/problem+json")
		_, _ = io.WriteString(w, `"done"`)
	})
	p, err := skillhttp.New(skillhttp.Config{
		Transport: guard(t, "127.0.0.1:*"), Inject: func(_ context.Context, h http.Header) { h.Set("Traceparent", "00-1") },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "/", "/a/b?c=d#e"} {
		s := load(t, p, skill.Config{Endpoint: url + path, Headers: map[string]skill.Secret{"x-a": "${TOK}"}})
		if result, err := s.Execute(t.Context(), json.RawMessage(`{"a": [1.50]}`)); err != nil || result != "done" {
			t.Error(result, err)
		}
	}
	const rest = ` application/json application/json ${TOK} 00-1 {"a": [1.50]}`
	if want := []string{"POST /execute" + rest, "POST /" + rest, "POST /a/b?c=d" + rest}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestClosed: an address that is not open is told when the skill is loaded.
func TestClosed(t *testing.T) {
	s := load(t, provider(t, nil), skill.Config{Endpoint: "http://127.0.0.1:8081"})
	const line = `skills.local: ["127.0.0.1:8081"]`
	if w := skill.DetailsOf(s).Warnings; len(w) != 1 || !strings.Contains(w[0], line) {
		t.Errorf("the warnings are %q", w)
	}
	if _, err := s.Execute(t.Context(), nil); !errors.Is(err, skill.ErrProviderUnavailable) || !strings.Contains(err.Error(), line) {
		t.Error(err)
	}
}

// TestAnswers takes apart what services answer.
func TestAnswers(t *testing.T) {
	type answer struct {
		status            int
		kind, body, other string
	}
	const plain = "application/json"
	var current atomic.Pointer[answer]
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		next := current.Load()
		if next.kind != "" {
			w.Header().Set("Content-Type", next.kind)
		}
		name, value, _ := strings.Cut(next.other, ": ")
		if name != "" {
			w.Header().Set(name, value)
		}
		if next.status != 0 {
			w.WriteHeader(next.status)
		}
		switch {
		case next.body == "short":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case next.body == "bomb":
			z := gzip.NewWriter(w)
			for range 4 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			_ = z.Close()
		case value == "gzip":
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, next.body)
			_ = z.Close()
		default:
			_, _ = io.WriteString(w, next.body)
		}
	})
	p := provider(t, guard(t, "127.0.0.1:*"))
	for _, c := range []struct {
		answer
		kind error // nil means that it is taken
		says string
	}{
		{answer{200, plain, ` {"a":1} ` + "\n", ""}, nil, ""},
		{answer{201, "application/vnd.x+json", `[]`, ""}, nil, ""},
		{answer{200, plain + "; charset=utf-8", `null`, ""}, nil, ""},
		{answer{200, plain, `{"zip":true}`, "Content-Encoding: gzip"}, nil, ""},
		{answer{200, plain, strings.Repeat("[", 128) + strings.Repeat("]", 128), ""}, nil, ""},
		{answer{200, "", `{}`, ""}, skill.ErrExecutionFailed, "must be application/json"},
		{answer{200, "text/html", `{}`, ""}, skill.ErrExecutionFailed, `"text/html"`},
		{answer{200, "text/json", `{}`, ""}, skill.ErrExecutionFailed, "must be"},
		{answer{200, "application/jsonp", `{}`, ""}, skill.ErrExecutionFailed, "must be"},
		{answer{200, "image/svg+json", `{}`, ""}, skill.ErrExecutionFailed, "must be"},
		{answer{200, plain + "; charset=gbk", `{}`, ""}, skill.ErrExecutionFailed, "gbk"},
		{answer{200, plain, `{}`, "Content-Encoding: br"}, skill.ErrExecutionFailed, `"br"`},
		{answer{200, plain, ``, ""}, skill.ErrExecutionFailed, "JSON"},
		{answer{204, plain, ``, ""}, skill.ErrExecutionFailed, "JSON"},
		{answer{200, plain, `{"a":1`, ""}, skill.ErrExecutionFailed, "JSON"},
		{answer{200, plain, `{} {}`, ""}, skill.ErrExecutionFailed, "not one JSON value"},
		{answer{200, plain, "\ufeff{}", ""}, skill.ErrExecutionFailed, "JSON"},
		{answer{200, plain, "\"\xff\"", ""}, skill.ErrExecutionFailed, "UTF-8"},
		{answer{200, plain, strings.Repeat("[", 100_000), ""}, skill.ErrExecutionFailed, "levels deep"},
		{answer{200, plain, "bomb", "Content-Encoding: gzip"}, skill.ErrExecutionFailed, "longer than 1048576 bytes"},
		{answer{200, plain, "short", ""}, skill.ErrProviderUnavailable, "unexpected EOF; whether the call was done is unknown"},
		{answer{302, plain, `{}`, "Location: file:///etc/passwd"}, skill.ErrExecutionFailed, "redirects are not followed"},
		{answer{307, plain, `{}`, "Location: /elsewhere"}, skill.ErrExecutionFailed, "redirects are not followed"},
		{answer{400, plain, `{"error":"no such pod"}`, ""}, skill.ErrInvalidParams, "answers 400 Bad Request: no such pod"},
		{answer{422, plain, `{"detail":[{"loc":"x"}]}`, ""}, skill.ErrInvalidParams, `{"detail":[{"loc":"x"}]}`},
		{answer{401, "", "<b>no</b>\n\n\tentry", ""}, skill.ErrExecutionFailed, "401 Unauthorized: <b>no</b> entry"},
		{answer{404, "", "", ""}, skill.ErrExecutionFailed, "404 Not Found: is the skill's endpoint right?"},
		{answer{500, plain, `{"message":"s3cr3t s3cr3t"}`, ""}, skill.ErrExecutionFailed, "500 Internal Server Error: (hidden) (hidden)"},
		{answer{429, "", "slower", "Retry-After: 3600"}, skill.ErrProviderUnavailable, "429 Too Many Requests: slower"},
		{answer{502, "", "", ""}, skill.ErrProviderUnavailable, "502 Bad Gateway; whether the call was done is unknown"},
	} {
		current.Store(&c.answer)
		s := load(t, p, skill.Config{Endpoint: url + "/?" + fmt.Sprint(c.status), Headers: map[string]skill.Secret{"X-Key": "s3cr3t"}})
		result, err := s.Execute(t.Context(), json.RawMessage(`{}`))
		if !errors.Is(err, c.kind) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+.120v: got %.200v, %v", c.answer, result, err)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%+.120v: the error has %d bytes", c.answer, len(err.Error()))
		}
	}
}

// fake is a network in memory, for tests whose time is not real.
type fake func(n int, r *http.Request) (status int, header string, err error)

func (f fake) provider(t *testing.T, requests *[]*http.Request) *skillhttp.Provider {
	return provider(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			body, _ := io.ReadAll(r.Body)
			if string(body) != `{"a":1}` {
				t.Errorf("the body is %q", body)
			}
		}
		status, header, err := f(len(*requests), r)
		*requests = append(*requests, r)
		if err != nil {
			return nil, err
		}
		resp := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{}`))}
		if name, value, ok := strings.Cut(header, ": "); ok {
			resp.Header.Set(name, value)
		}
		return resp, nil
	}))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var args = json.RawMessage(`{"a":1}`)

// TestRetries: a call is sent again where that is safe, and nowhere else.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name   string
		config skill.Config
		status int
		header string
		err    error
		want   int           // requests
		after  time.Duration // at least, in all
		kind   error
	}{
		{"lost, never", skill.Config{}, 0, "", io.ErrUnexpectedEOF, 1, 0, skill.ErrProviderUnavailable},
		{"lost, read", skill.Config{RiskLevel: "read"}, 0, "", io.ErrUnexpectedEOF, 3, 300 * time.Millisecond, skill.ErrProviderUnavailable},
		{"lost, read but never", skill.Config{RiskLevel: "read", Replay: "never"}, 0, "", io.EOF, 1, 0, skill.ErrProviderUnavailable},
		{"lost, keyed", skill.Config{Replay: "keyed"}, 0, "", io.EOF, 3, 0, skill.ErrProviderUnavailable},
		{"refused by the guard", skill.Config{Replay: "safe"}, 0, "", &egress.RefusedError{}, 1, 0, skill.ErrProviderUnavailable},
		{"gateway, never", skill.Config{}, 502, "", nil, 1, 0, skill.ErrProviderUnavailable},
		{"gateway, safe", skill.Config{Replay: "safe"}, 504, "", nil, 3, 0, skill.ErrProviderUnavailable},
		{"failed, safe", skill.Config{Replay: "safe"}, 500, "", nil, 1, 0, skill.ErrExecutionFailed},
		{"bad arguments, safe", skill.Config{Replay: "safe"}, 400, "", nil, 1, 0, skill.ErrInvalidParams},
		{"busy", skill.Config{}, 429, "", nil, 1, 0, skill.ErrProviderUnavailable},
		{"busy for 2 s", skill.Config{}, 429, "Retry-After: 2", nil, 3, 4 * time.Second, skill.ErrProviderUnavailable},
		{"down for 2 s", skill.Config{}, 503, "Retry-After: 2", nil, 3, 4 * time.Second, skill.ErrProviderUnavailable},
		{"down for 2 s, in a second", skill.Config{Replay: "safe", Timeout: time.Second}, 503, "Retry-After: 2", nil, 1, 0, skill.ErrProviderUnavailable},
		{"down for an hour", skill.Config{Replay: "safe"}, 503, "Retry-After: 3600", nil, 1, 0, skill.ErrProviderUnavailable},
		{"down until", skill.Config{}, 503, "Retry-After: Sat, 01 Jan 2000 00:00:03 GMT", nil, 3, 3 * time.Second, skill.ErrProviderUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var requests []*http.Request
				p := fake(func(int, *http.Request) (int, string, error) { return c.status, c.header, c.err }).provider(t, &requests)
				c.config.Endpoint = "http://example.test"
				start := time.Now() // of the year 2000
				_, err := load(t, p, c.config).Execute(t.Context(), args)
				if !errors.Is(err, c.kind) || len(requests) != c.want {
					t.Errorf("%d requests, %v", len(requests), err)
				}
				if took := time.Since(start); took < c.after || took > 2*c.after+time.Second {
					t.Errorf("took %s", took)
				}
				for _, r := range requests {
					key := r.Header.Get("Idempotency-Key")
					if (key != "") != (c.config.Replay == "keyed") || key != requests[0].Header.Get("Idempotency-Key") {
						t.Errorf("the key is %q", key)
					}
				}
			})
		})
	}
}

// TestKeyOfTheHost: the key that the host gives a call is sent with every attempt,
// and instead of one of the skill's own.
func TestKeyOfTheHost(t *testing.T) {
	var keys []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `"done"`)
	})
	p := provider(t, guard(t, "127.0.0.1:*"))
	for _, config := range []skill.Config{{Replay: "keyed"}, {}} {
		keys = nil
		config.Endpoint = url
		ctx := tool.WithHost(t.Context(), tool.Host{Key: "s1/t2/0"})
		if _, err := load(t, p, config).Execute(ctx, args); err != nil {
			t.Fatal(err)
		}
		if want := []string{"s1/t2/0", "s1/t2/0"}; !slices.Equal(keys, want) {
			t.Errorf("replay %q: the keys were %q, want %q", config.Replay, keys, want)
		}
	}
}

// TestUnreachable: no connection was made, so trying again is always safe.
func TestUnreachable(t *testing.T) {
	s := load(t, provider(t, guard(t, "127.0.0.1:1")), skill.Config{Endpoint: "http://127.0.0.1:1"})
	_, err := s.Execute(t.Context(), args)
	if !errors.Is(err, skill.ErrProviderUnavailable) || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "is unknown") {
		t.Error(err)
	}
}

// TestBreaker: a service that is down is not asked for a while, whichever skill
// asks.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests []*http.Request
		status := 502
		p := fake(func(int, *http.Request) (int, string, error) { return status, "", nil }).provider(t, &requests)
		call := func(endpoint string) error {
			_, err := load(t, p, skill.Config{Endpoint: endpoint}).Execute(t.Context(), args)
			return err
		}
		for range 5 {
			_ = call("http://example.test/a")
		}
		err := call("http://example.test/a")
		if !errors.Is(err, skill.ErrProviderUnavailable) || !strings.Contains(err.Error(), "is not asked for 10s, after 5 failures in a row; the last time it answers 502 Bad Gateway") || len(requests) != 5 {
			t.Errorf("%d requests, %v", len(requests), err)
		}
		if status = 200; call("http://example.test/b") != nil {
			t.Error("another service is not asked either")
		}
		time.Sleep(10 * time.Second)
		if err := call("http://example.test/a"); err != nil {
			t.Error(err)
		}
	})
}

// TestCanceledCallsDoNotOpen: a caller who leaves says nothing about the service.
func TestCanceledCallsDoNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests []*http.Request
		p := fake(func(_ int, r *http.Request) (int, string, error) {
			<-r.Context().Done()
			return 0, "", r.Context().Err()
		}).provider(t, &requests)
		s := load(t, p, skill.Config{Endpoint: "http://example.test", RiskLevel: "read"})
		for range 7 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := s.Execute(ctx, args); !errors.Is(err, skill.ErrProviderTimeout) {
				t.Error(err)
			}
			cancel()
		}
		for range 5 {
			if _, err := s.Execute(t.Context(), args); !errors.Is(err, skill.ErrProviderTimeout) || !strings.Contains(err.Error(), "30s") {
				t.Error(err)
			}
		}
		if _, err := s.Execute(t.Context(), args); !errors.Is(err, skill.ErrProviderUnavailable) || len(requests) != 12 {
			t.Errorf("%d requests, %v", len(requests), err)
		}
	})
}

// TestHealth: a service that says that it is not well gets no calls, and is asked
// now and then only.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests []*http.Request
		well := false
		p := fake(func(_ int, r *http.Request) (int, string, error) {
			if r.Method == http.MethodGet && !well {
				return 503, "", nil
			}
			return 200, "", nil
		}).provider(t, &requests)
		s := load(t, p, skill.Config{Endpoint: "http://example.test/run", Health: "/up", Headers: map[string]skill.Secret{"X-Key": "k"}})
		if len(requests) > 0 {
			t.Error("loading asked")
		}
		for range 3 {
			_, err := s.Execute(t.Context(), args)
			if !errors.Is(err, skill.ErrProviderUnavailable) || !strings.Contains(err.Error(), "/up answers 503 Service Unavailable; the call was not sent") {
				t.Error(err)
			}
		}
		time.Sleep(5 * time.Second)
		well = true
		for range 3 {
			if _, err := s.Execute(t.Context(), args); err != nil {
				t.Error(err)
			}
		}
		got := ""
		for _, r := range requests {
			got += r.Method + " " + r.URL.Path + " " + r.Header.Get("X-Key") + ", "
		}
		if want := "GET /up k, GET /up k, POST /run k, POST /run k, POST /run k, "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// BenchmarkCall compares a call with what the standard library takes for the
// same exchange.
func BenchmarkCall(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(service))
	defer s.Close()
	body := `{"namespace":"shop","pod":"cart-1","keyword":"` + strings.Repeat("timeout ", 100) + `"}`
	b.Run("bare", func(b *testing.B) {
		client := &http.Client{Timeout: 30 * time.Second}
		for b.Loop() {
			resp, err := client.Post(s.URL+"/echo", "application/json", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			var result any
			if err := json.NewDecoder(resp.Body).Decode(&result); err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		client.CloseIdleConnections()
	})
	b.Run("skill", func(b *testing.B) {
		g, err := egress.New(egress.Config{Allow: []string{"127.0.0.1:*"}})
		if err != nil {
			b.Fatal(err)
		}
		defer g.CloseIdleConnections()
		p, err := skillhttp.New(skillhttp.Config{Transport: g})
		if err != nil {
			b.Fatal(err)
		}
		remote, err := p.Load(skill.Config{
			Name: "remote", Description: "Is near.", Endpoint: s.URL + "/echo", Health: "/echo",
			Headers: map[string]skill.Secret{"Authorization": "Bearer 0123456789"}, Parameters: skill.ParameterSchema(`{"type":"object"}`),
		})
		if err != nil {
			b.Fatal(err)
		}
		asTool := skill.AsTool(remote) // as a turn calls it, which has checked the arguments
		for b.Loop() {
			if _, err := asTool.Call(b.Context(), json.RawMessage(body)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
