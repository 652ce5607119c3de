package telegram_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/telegram"
	"github.com/etui-run/etui/channel/telegram/telegramtest"
	"github.com/etui-run/etui/store"
)

func field(t *testing.T, page, name string) string {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(page), &o); err != nil {
		t.Fatal(err)
	}
	text, _ := o[name].(string)
	return text
}

// hooked starts a channel with a webhook, and returns a way to deliver to it.
func hooked(t *testing.T, fail func(channel.Incoming) error) (s *telegramtest.Server, in *inbox, secret string, deliver func(secret, method, body string) int) {
	s = server(t)
	c := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL, Webhook: "http://127.0.0.1:1/telegram"})
	deliver = func(secret, method, body string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "/telegram", strings.NewReader(body))
		if secret != "" {
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w.Code
	}
	if code := deliver("guess", http.MethodPost, "{}"); code != http.StatusUnauthorized {
		t.Errorf("before Run, forged: %d", code)
	}
	in = start(t, c, fail)
	if err := s.Wait(t.Context(), func() bool { return len(s.Calls("setWebhook")) > 0 }); err != nil {
		t.Fatal(err)
	}
	p := s.Calls("setWebhook")[0].Params
	secret = p["secret_token"].(string)
	if len(secret) < 32 || p["url"] != "http://127.0.0.1:1/telegram" || strings.Contains(secret, "ABC") {
		t.Errorf("setWebhook: %v", p)
	}
	return s, in, secret, deliver
}

const hello = `{"update_id":5,"message":{"message_id":1,"date":1,"from":{"id":4711,"first_name":"Ann"},"chat":{"id":4711,"type":"private"},"text":"hello"}}`

func TestWebhook(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	_, in, secret, deliver := hooked(t, func(channel.Incoming) error {
		if away.Load() {
			return errors.New("the store is away")
		}
		return nil
	})
	for name, d := range map[string]struct {
		secret, method, body string
		want                 int
	}{
		"no secret":       {"", "POST", hello, 401},
		"a wrong one":     {secret[:63] + "!", "POST", hello, 401},
		"a longer one":    {secret + "x", "POST", hello, 401},
		"no post":         {secret, "GET", "", 405},
		"no JSON":         {secret, "POST", "hello", 400},
		"no update":       {secret, "POST", `{"hello":1}`, 400},
		"a list":          {secret, "POST", `[` + hello + `]`, 400},
		"too large":       {secret, "POST", `{"update_id":6,"x":"` + strings.Repeat("x", 1<<20) + `"}`, 413},
		"not as expected": {secret, "POST", `{"update_id":7,"message":{"text":5}}`, 200},
		"unknown":         {secret, "POST", `{"update_id":8,"something_new":{}}`, 200},
	} {
		if got := deliver(d.secret, d.method, d.body); got != d.want {
			t.Errorf("%s: %d, want %d", name, got, d.want)
		}
	}
	if len(in.got) > 0 {
		t.Errorf("handed over: %+v", <-in.got)
	}
	away.Store(true)
	if got := deliver(secret, "POST", hello); got != 503 {
		t.Errorf("not stored: %d", got)
	}
	away.Store(false)
	for range 3 { // once more, and two replays
		if got := deliver(secret, "POST", hello); got != 200 {
			t.Errorf("stored: %d", got)
		}
	}
	if got := in.next(t); got.Text != "hello" || len(in.got) > 0 {
		t.Errorf("%+v, and %d more", got, len(in.got))
	}
}

// TestNotRunning: what comes before and after Run is not lost.
func TestNotRunning(t *testing.T) {
	t.Parallel()
	s, _, secret, _ := hooked(t, nil)
	c := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL, Webhook: "http://127.0.0.1:1/telegram"})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/telegram", strings.NewReader(hello))
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	w := httptest.NewRecorder()
	if c.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("before Run: %d", w.Code)
	}
}

func FuzzWebhook(f *testing.F) {
	for _, seed := range []string{
		hello, "{}", "[]", `{"update_id":-1}`, `{"update_id":9,"message":{"chat":{"type":"group","id":-9},"text":"a","entities":[{"type":"mention","offset":-1,"length":9}]}}`,
		`{"update_id":9,"callback_query":{"id":"1","from":{"id":1},"data":"#x","message":{"chat":{"id":1},"reply_markup":{"inline_keyboard":[[{}]]}}}}`,
		`{"update_id":9,"channel_post":{"chat":{"id":1,"type":"channel"},"caption":"@etui_bot x","caption_entities":[{"type":"mention","offset":0,"length":9}]}}`,
		`{"update_id":9,"message":{"chat":{"id":1,"type":"private"},"reply_to_message":{"photo":[{}]},"quote":{"text":"x"},"text":"/x@y","forward_origin":{}}}`,
	} {
		f.Add(seed)
	}
	var deliver func(secret, method, body string) int
	var in *inbox
	var secret string
	f.Fuzz(func(t *testing.T, body string) {
		_, in, secret, deliver = hooked(t, nil)
		switch code := deliver(secret, http.MethodPost, body); code {
		case 200, 400, 413:
		default:
			t.Errorf("%d", code)
		}
		for len(in.got) > 0 {
			if m := <-in.got; m.ID == "" || m.At.Chat == "" || m.Text == "" && len(m.Files) == 0 {
				t.Errorf("handed over: %+v", m)
			}
		}
	})
}

// TestAlbumByWebhook: Telegram sends the next part of an album when this one was acknowledged. A part
// that was acknowledged outlives the run.
func TestAlbumByWebhook(t *testing.T) {
	t.Parallel()
	records := &store.Memory{}
	s := server(t)
	part := func(n int) string {
		return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1,"from":{"id":4711,"first_name":"Ann"},"chat":{"id":4711,"type":"private"},"media_group_id":"a","caption":"%s","photo":[{"file_id":%q}]}}`,
			n, n, map[int]string{1: "compare these three"}[n], s.Upload([]byte{byte('0' + n)}))
	}
	begin := func(ctx context.Context) (*inbox, func(body string) int) {
		c := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL, Webhook: "http://127.0.0.1:1/telegram", Records: records})
		in := &inbox{make(chan channel.Incoming, 100), nil}
		before := len(s.Calls("setWebhook"))
		go func() { _ = c.Run(ctx, in) }()
		if err := s.Wait(t.Context(), func() bool { return len(s.Calls("setWebhook")) > before }); err != nil {
			t.Fatal(err)
		}
		secret := s.Calls("setWebhook")[0].Params["secret_token"].(string)
		return in, func(body string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/telegram", strings.NewReader(body))
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
			w := httptest.NewRecorder()
			c.ServeHTTP(w, r)
			return w.Code
		}
	}
	life, stop := context.WithCancel(t.Context())
	_, deliver := begin(life)
	if code := deliver(part(1)); code != http.StatusOK {
		t.Fatalf("the first part: %d", code)
	}
	stop()
	in, deliver := begin(t.Context())
	for n := 2; n <= 3; n++ {
		if code := deliver(part(n)); code != http.StatusOK {
			t.Errorf("part %d: %d", n, code)
		}
	}
	got := in.next(t)
	if got.ID != "1" || got.Text != "compare these three" || len(got.Files) != 3 || string(got.Files[2].Data) != "3" {
		t.Errorf("an album: %+v", got)
	}
	if code := deliver(part(2)); code != http.StatusOK || len(in.got) > 0 {
		t.Errorf("a part once more: %d, and %d messages", code, len(in.got))
	}
}
