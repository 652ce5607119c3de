package platform_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
)

const usual = "https://api.example.org"

func newClient(t *testing.T, config platform.Config, h http.HandlerFunc) *platform.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	config.Name, config.URL, config.Usual = "example", server.URL, usual
	if config.Limit == 0 {
		config.Limit = 100
	}
	c, err := platform.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url   string
		plain func(string) bool
		want  string
	}{
		{"", nil, ""}, {"https://other.example.org/v1/", nil, ""}, {"http://127.0.0.1:1", nil, ""}, {"http://localhost", nil, ""},
		{"http://10.0.0.1", nil, "write https"}, {"http://10.0.0.1", platform.Near, ""}, {"http://synapse:8008", platform.Near, ""},
		{"http://example.org", platform.Near, "write https"}, {"http://example.org", platform.Anywhere, ""},
		{"https://a:b@example.org", nil, "not the address"}, {"https://example.org?token=b", nil, "not the address"},
		{"ftp://example.org", nil, "not the address"}, {"example.org", nil, "not the address"}, {"https://", nil, "not the address"},
	} {
		_, err := platform.New(platform.Config{Name: "example", URL: c.url, Usual: usual, Plain: c.plain})
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "b@")) {
			t.Errorf("%q: %v", c.url, err)
		}
	}
}

func TestTrusts(t *testing.T) {
	t.Parallel()
	c, err := platform.New(platform.Config{Name: "example", URL: "http://127.0.0.1:9", Usual: usual})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"http://127.0.0.1:9/file": true, "ws://127.0.0.1:9": true, "https://example.org": true, "wss://files.Example.org:443/x": true,
		"http://127.0.0.1:8": false, "http://example.org": false, "ws://example.org": false, "https://example.org:8443": false,
		"https://notexample.org": false, "https://example.org.evil.net": false, "https://u@example.org": false, "ftp://example.org": false, "": false,
	} {
		u, err := url.Parse(address)
		if err != nil || c.Trusts(u, "example.org") != want {
			t.Errorf("%q: %v, %v", address, !want, err)
		}
	}
}

// TestCall checks what a call sends and reads.
func TestCall(t *testing.T) {
	t.Parallel()
	c := newClient(t, platform.Config{Header: http.Header{"User-Agent": {"etui"}}}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		w.Header().Set("X-Got", strings.Join([]string{r.Method, r.RequestURI, mediaType, r.Header.Get("User-Agent"), r.Header.Get("Authorization")}, " "))
		if mediaType != "multipart/form-data" {
			_, _ = w.Write(body)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		f, head, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		data, _ := io.ReadAll(f)
		_, _ = io.WriteString(w, r.FormValue("name")+" "+head.Filename+" "+head.Header.Get("Content-Type")+" "+string(data))
	})
	var form platform.Form
	form.Field("name", "value")
	form.File("file", "a\n\"b\".txt", "", []byte("data"))
	for want, r := range map[string]platform.Request{
		"GET /x?q=1  etui|":                                                                {Path: "x", Query: url.Values{"q": {"1"}}},
		"POST /x application/json etui|{\"a\":\"<\"}":                                      {Path: "/x", Body: map[string]string{"a": "<"}},
		"PUT /a%2Fb/c application/x-www-form-urlencoded etui|k=v":                          {Method: "PUT", Path: platform.Route("{}/{}", "a/b", "c"), Body: url.Values{"k": {"v"}}},
		"POST /x application/octet-stream etui Bearer secret|bytes":                        {Path: "x", Body: []byte("bytes"), Header: platform.Bearer("secret")},
		"POST /x multipart/form-data etui|value a \"b\".txt application/octet-stream data": {Path: "x", Body: &form},
	} {
		a, err := c.Do(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Header.Get("X-Got") + "|" + string(a.Body); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	first, err := c.Do(t.Context(), platform.Request{Path: "x", Body: &form})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Do(t.Context(), platform.Request{Path: "x", Body: &form}); err != nil || string(again.Body) != string(first.Body) {
		t.Errorf("a form that is sent again: %q, %v", again.Body, err)
	}
	var into struct{ A string }
	if err := c.Call(t.Context(), platform.Request{Path: "x", Body: map[string]string{"a": "b"}}, &into); err != nil || into.A != "b" {
		t.Errorf("%+v, %v", into, err)
	}
	if err := c.Call(t.Context(), platform.Request{Path: "x", Body: []byte("{")}, &into); err == nil {
		t.Error("what is not JSON was read")
	}
}

// TestFailures checks what the errors of calls say, and that they hold no URL and no secret.
func TestFailures(t *testing.T) {
	t.Parallel()
	status, header, body := 200, http.Header{}, ""
	c := newClient(t, platform.Config{Secret: "hunter2", Refusal: func(a *platform.Answer) *platform.Failure {
		if a.Status == http.StatusOK {
			return nil
		}
		return &platform.Failure{Code: "no", Message: string(a.Body), Means: channel.ErrGone, Busy: a.Status == 503}
	}}, func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	do := func(r platform.Request) error {
		r.Call, r.Path = "call", "hunter2"
		_, err := c.Do(t.Context(), r)
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret: %v", err)
		}
		return err
	}
	status, body = 403, "not with\nhunter2"
	if err := do(platform.Request{}); !errors.Is(err, channel.ErrGone) || !platform.Fails(err, "yes", "no") || err.Error() != "example: call: status 403: no: not with …" {
		t.Errorf("refused: %v", err)
	}
	if err := do(platform.Request{Raw: true}); errors.Is(err, channel.ErrGone) || err == nil || err.Error() != "example: call: status 403" {
		t.Errorf("a file that is refused: %v", err)
	}
	for _, l := range []struct {
		status int
		after  string
		want   time.Duration
	}{{429, "3", 3 * time.Second}, {503, "0.5", time.Second / 2}, {429, "", 5 * time.Second}, {429, "soon", 5 * time.Second}, {429, "-1", 5 * time.Second}, {429, "9999999", time.Hour}} {
		status, header = l.status, http.Header{"Retry-After": {l.after}}
		var limited *channel.Limited
		if err := do(platform.Request{}); !errors.As(err, &limited) || limited.After != l.want || !platform.Fails(err, "no") {
			t.Errorf("%d %q: %v", l.status, l.after, err)
		}
	}
	status, header = 302, http.Header{"Location": {"https://evil.example/hunter2"}}
	if err := do(platform.Request{}); err == nil || !strings.Contains(err.Error(), "status 302") {
		t.Errorf("a redirect: %v", err)
	}
	status, header, body = 200, nil, strings.Repeat("x", 101)
	if err := do(platform.Request{}); !errors.Is(err, platform.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if err := do(platform.Request{Limit: 101}); err != nil {
		t.Errorf("large enough: %v", err)
	}
	gone, err := platform.New(platform.Config{Name: "example", URL: "http://127.0.0.1:1/hunter2", Usual: usual})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Do(t.Context(), platform.Request{Call: "call"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("no server: %v", err)
	}
}

// TestTokens checks that one caller fetches a token for all, and that one that is refused or
// old is fetched again.
func TestTokens(t *testing.T) {
	t.Parallel()
	now, fetched := time.Unix(0, 0), 0
	var mu sync.Mutex
	tokens := platform.NewTokens(func() time.Time { return now }, func(context.Context) (string, time.Duration, error) {
		mu.Lock()
		defer mu.Unlock()
		fetched++
		return strings.Repeat("t", fetched), time.Hour, nil
	}, "expired")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := tokens.With(t.Context(), func(string) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if fetched != 1 {
		t.Errorf("%d tokens were fetched", fetched)
	}
	var used []string
	refuse := func(token string) error {
		used = append(used, token)
		return &platform.Failure{Code: "expired"}
	}
	if err := tokens.With(t.Context(), refuse); !platform.Fails(err, "expired") || !slices.Equal(used, []string{"t", "tt"}) {
		t.Errorf("%v, %v", used, err)
	}
	now = now.Add(56 * time.Minute)
	used = nil
	if err := tokens.With(t.Context(), func(token string) error { used = append(used, token); return nil }); err != nil || used[0] != "ttt" {
		t.Errorf("%v, %v", used, err)
	}
}

// TestIntake checks the order of messages: those of a chat one after the other, so that none
// overtakes one that fails, and those of another chat meanwhile.
func TestIntake(t *testing.T) {
	t.Parallel()
	in := platform.NewIntake("Example", slog.New(slog.DiscardHandler), nil, platform.NewSeen())
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var order []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, s)
	}
	hold, early, other := make(chan struct{}), make(chan struct{}), make(chan struct{})
	start := func(j platform.Job) {
		if err := in.Start(ctx, j); err != nil {
			t.Error(err)
		}
	}
	start(platform.Job{Chat: "a", Take: func(context.Context) error { <-hold; note("a1"); panic("!") }, Done: func(err error) {
		if err == nil {
			t.Error("a panic is no error")
		}
		note("a1 done")
	}})
	start(platform.Job{
		Chat: "a", Early: func(context.Context) { close(early) },
		Take: func(context.Context) error { note("a2"); return nil }, Done: func(err error) {
			if err == nil {
				t.Error("it was taken before an earlier one")
			}
			note("a2 done")
		},
	})
	start(platform.Job{Chat: "b", Take: func(context.Context) error { close(other); return nil }, Done: func(error) {}})
	<-early
	<-other
	close(hold)
	in.Wait()
	start(platform.Job{Chat: "a", Take: func(context.Context) error { note("a3"); return nil }, Done: func(err error) {
		if err != nil {
			t.Error(err)
		}
	}})
	in.Wait()
	if want := []string{"a1", "a1 done", "a2 done", "a3"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}

	// A message of a request, and one after Run has ended.
	served := make(chan error)
	go func() { served <- in.Serve(ctx) }()
	deliver := func(take func(context.Context) error) (bool, int) {
		w := httptest.NewRecorder()
		return in.Deliver(w, httptest.NewRequest(http.MethodPost, "/", nil), "a", take), w.Code
	}
	if safe, _ := deliver(func(context.Context) error { return nil }); !safe {
		t.Error("it was not taken")
	}
	if safe, status := deliver(func(context.Context) error { return errors.New("the store is away") }); safe || status != 503 {
		t.Errorf("not stored: %v, %d", safe, status)
	}
	stop()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if safe, status := deliver(func(context.Context) error { t.Error("taken"); return nil }); safe || status != 503 {
		t.Errorf("after the end: %v, %d", safe, status)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	var limits []int64
	fetch := func(data string) func(context.Context, int64) ([]byte, error) {
		return func(_ context.Context, limit int64) ([]byte, error) {
			if limits = append(limits, limit); data == "" {
				return nil, errors.New("broken")
			}
			return []byte(data), nil
		}
	}
	files := platform.Load(t.Context(), slog.New(slog.DiscardHandler), []platform.Attachment{
		{Name: "a.pdf", Size: 2, Fetch: fetch("xyz")}, {Name: "large", Size: 19, MediaType: "text/plain; charset=x", Fetch: fetch("x")},
		{Name: "broken", Fetch: fetch("")}, {Name: "b", Fetch: fetch("GIF89a")},
	}, 15)
	if !slices.Equal(limits, []int64{15, 12, 12}) || string(files[0].Data) != "xyz" || files[0].Size != 3 || files[1].Data != nil || files[1].Size != 19 || files[2].Data != nil || files[3].Data == nil {
		t.Errorf("%v, %+v", limits, files)
	}
	for i, want := range []string{"application/pdf", "text/plain", "application/octet-stream", "image/gif"} {
		if files[i].MediaType != want {
			t.Errorf("%s is %s", files[i].Name, files[i].MediaType)
		}
	}
}

// TestSent checks that what was posted is not posted again, part by part.
func TestSent(t *testing.T) {
	t.Parallel()
	sent := platform.NewSent("example")
	var posted []string
	broken := true
	post := func(part channel.Outgoing) (string, error) {
		posted = append(posted, fmt.Sprint(part.Text, len(part.Files), part.To.Message, part.Key))
		if len(part.Files) > 0 && broken {
			return "", errors.New("away")
		}
		return fmt.Sprint("id", len(posted)), nil
	}
	m := channel.Outgoing{To: channel.Address{Chat: "c", Message: "m"}, Text: "text", Files: []chat.File{{Name: "a"}}, Key: "k"}
	if _, err := sent.Parts(m, post); err == nil {
		t.Error("a part that failed is no error")
	}
	broken = false
	for range 2 {
		if id, err := sent.Parts(m, post); err != nil || id != "id1" {
			t.Errorf("%q, %v", id, err)
		}
	}
	m.To.Chat = "d"
	if id, err := sent.Parts(m, post); err != nil || id != "id4" {
		t.Errorf("another chat: %q, %v", id, err)
	}
	if want := []string{"text0mk", "1k/1", "1k/1", "text0mk", "1k/1"}; !slices.Equal(posted, want) {
		t.Errorf("%q, want %q", posted, want)
	}
	if _, err := sent.Parts(channel.Outgoing{Key: "x"}, post); err == nil {
		t.Error("an empty message")
	}
}

func TestHook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, body string
		status       int
	}{{"POST", "12345", 200}, {"GET", "", 405}, {"POST", "123456", 413}} {
		w := httptest.NewRecorder()
		body, ok := platform.Posted(w, httptest.NewRequest(c.method, "/", strings.NewReader(c.body)), 5)
		if w.Code != c.status || ok != (c.status == 200) || ok && string(body) != c.body {
			t.Errorf("%s %q: %d, %q", c.method, c.body, w.Code, body)
		}
	}
	now := time.Unix(1_000_000, 0)
	for sent, want := range map[string]bool{"1000000": true, "999700": true, "1000300": true, "999699": false, "1000301": false, "": false, "x": false} {
		if platform.Fresh(sent, now) != want {
			t.Errorf("%q: %v", sent, !want)
		}
	}
}

// TestRenewing checks that a connection is renewed when the platform asks, but not for ever.
func TestRenewing(t *testing.T) {
	t.Parallel()
	n := 0
	err := platform.Renewing(t.Context(), func(context.Context) (int, error) { n++; return 1, platform.ErrRenew })
	if !errors.Is(err, platform.ErrRenew) || n != 4 {
		t.Errorf("%d connections, %v", n, err)
	}
	lost := errors.New("lost")
	if err := platform.Renewing(t.Context(), func(context.Context) (int, error) { return 1, lost }); !errors.Is(err, lost) {
		t.Error(err)
	}
}

// TestForgotten: an answer that was asked for before a change is not kept after it.
func TestForgotten(t *testing.T) {
	t.Parallel()
	facts := platform.NewFacts[string, string](10, time.Hour, time.Hour)
	for _, want := range []string{"old", "new", "new"} {
		got := facts.Get(t.Context(), "room", func() (string, bool) {
			if want == "old" {
				facts.Forget("room") // it changes while the platform answers
			}
			return want, true
		})
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
