package sqlite_test

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/sqlite"
)

// filling is a model during whose first answer the disk becomes full.
type filling struct {
	full  func()
	asked *atomic.Int32
	reply string
}

func (filling) Info() model.Info { return model.Info{Name: "filling"} }

func (f filling) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if f.asked.Add(1) == 1 {
			f.full()
		}
		if yield(model.Event{Text: f.reply}, nil) {
			yield(model.Event{Stop: model.Done}, nil)
		}
	}
}

// While the disk is full, an accepted message waits and a new one gets a clear answer. When
// there is room again, the first one is answered, without a restart and without asking the
// model again.
func TestFullDisk(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "etui.db"))
	asked := new(atomic.Int32)
	ticks := new(atomic.Int64)
	now := func() time.Time { return time.Unix(1_800_000_000+ticks.Add(1), 0) }                                          // each look is a second later
	var log strings.Builder                                                                                              // of one goroutine at a time, but for lines that a lock orders
	m := filling{reply: strings.Repeat("long ", 1<<16), asked: asked, full: func() { must(t, sqlite.LimitPages(s, 1)) }} // it keeps the pages that it has
	e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: m}}, Store: s, Log: slog.New(slog.NewTextHandler(&log, nil)), Now: now})
	must(t, err)
	web := httptest.NewServer(server.New(e, server.Config{}))
	t.Cleanup(web.Close)
	say := func(key, text string) (status int, retry, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/api/chat", strings.NewReader(`{"session": "`+key+`", "text": "`+text+`"}`))
		must(t, err)
		req.Header.Set("Idempotency-Key", key)
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		defer resp.Body.Close()
		all, err := io.ReadAll(resp.Body)
		must(t, err)
		return resp.StatusCode, resp.Header.Get("Retry-After"), string(all)
	}
	if _, _, body := say("first", "hi"); !strings.Contains(body, `"database_unavailable"`) || !strings.Contains(body, "disk is full") {
		t.Errorf("the accepted message: %.300s", body[max(0, len(body)-300):])
	}
	ask := func(method, path, body string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		must(t, err)
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		must(t, resp.Body.Close())
		return resp.StatusCode
	}
	long := strings.Repeat("more ", 1<<15)
	if status := ask(http.MethodPost, "/admin/tasks", `{"when": "@daily", "text": "`+long+`"}`); status != http.StatusServiceUnavailable {
		t.Errorf("a new task: %d", status)
	}
	if status, retry, body := say("second", long); status != http.StatusServiceUnavailable || retry == "" || !strings.Contains(body, "not accepted") {
		t.Errorf("a new message: %d, Retry-After %q, %s", status, retry, body)
	}
	seen := func(path string) string {
		t.Helper()
		resp, err := http.Get(web.URL + path)
		must(t, err)
		defer resp.Body.Close()
		all, err := io.ReadAll(resp.Body)
		must(t, err)
		return strconv.Itoa(resp.StatusCode) + " " + string(all)
	}
	for path, want := range map[string]string{
		"/readyz": "503", "/metrics": `etui_refusing{cause="store"} 1`, "/api/status": "disk is full",
	} {
		if got := seen(path); !strings.Contains(got, want) {
			t.Errorf("%s while the disk is full: %s", path, got)
		}
	}
	must(t, sqlite.LimitPages(s, 1<<30))
	if got := seen("/readyz"); !strings.HasPrefix(got, "200") {
		t.Errorf("/readyz when there is room again: %s", got)
	}
	for key, text := range map[string]string{"first": "hi", "second": long} {
		if _, _, body := say(key, text); !strings.Contains(body, "long long") || !strings.Contains(body, `"done"`) {
			t.Errorf("%s, when there is room again: %.300s", key, body)
		}
	}
	e.Stop(t.Context())
	if n := asked.Load(); n != 2 {
		t.Errorf("the model was asked %d times, want once for each message", n)
	}
	if said := log.String(); strings.Count(said, "messages are refused") != 1 || strings.Count(said, "messages are accepted again") != 1 {
		t.Errorf("the log: %s", said)
	}
	list, err := s.List(t.Context(), session.Filter{})
	must(t, err)
	for _, l := range list {
		if c, err := s.Load(t.Context(), l.Key, 0); err != nil || len(c.Messages) != 2 || c.Open() {
			t.Errorf("%s has %d messages, %v", l.Key, len(c.Messages), err)
		}
	}
}
