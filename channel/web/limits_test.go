package web_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/web"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]web.Config{
		"nobody could connect":    {},
		"list the sites":          {Guests: true},
		"fewer than 32 bytes":     {Secrets: []string{secret, "short"}},
		"without a path":          {Secrets: []string{secret}, Origins: []string{"https://shop.example.com/"}},
		"patterns are not":        {Secrets: []string{secret}, Origins: []string{"https://*.example.com"}},
		"usual port":              {Secrets: []string{secret}, Origins: []string{"https://shop.example.com:443"}},
		`origin "null" is none`:   {Secrets: []string{secret}, Origins: []string{"null"}},
		`origin "*" is none`:      {Secrets: []string{secret}, Origins: []string{"*"}},
		`"https://Shop.Example"`:  {Secrets: []string{secret}, Origins: []string{"https://Shop.Example"}},
		`"https://u@example.com"`: {Secrets: []string{secret}, Origins: []string{"https://u@example.com"}},
	} {
		if _, err := web.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		} else if strings.Contains(err.Error(), "short") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

// TestTokens checks tokens that are forged, expired, too long or for somebody else.
func TestTokens(t *testing.T) {
	t.Parallel()
	c, err := web.New(web.Config{Secrets: []string{secret, older}})
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]any{"sub": "4711", "exp": in(time.Hour)}
	with := func(key string, value any) map[string]any {
		return map[string]any{"sub": "4711", "exp": in(time.Hour), key: value}
	}
	valid := token(secret, hs256, good)
	parts := strings.Split(valid, ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	for name, one := range map[string]struct {
		token string
		want  string
	}{
		"valid":            {valid, ""},
		"older secret":     {token(older, hs256, good), ""},
		"for us":           {token(secret, hs256, with("aud", []string{"x", "etui"})), ""},
		"other claims":     {token(secret, hs256, with("iss", "shop")), ""},
		"wrong secret":     {token(strings.ToUpper(secret), hs256, good), "signed"},
		"not signed":       {unsigned, "signed"},
		"alg none, signed": {token(secret, `{"alg":"none"}`, good), "signed"},
		"other alg":        {token(secret, `{"alg":"HS512"}`, good), "signed"},
		"critical":         {token(secret, `{"alg":"HS256","crit":["x"]}`, good), "signed"},
		"duplicate claim":  {token(secret, `{"alg":"HS256","alg":"HS256"}`, good), "signed"},
		"other payload":    {parts[0] + "." + strings.Split(token(secret, hs256, with("sub", "1")), ".")[1] + "." + parts[2], "signed"},
		"padded":           {valid + "=", "signed"},
		"expired":          {token(secret, hs256, with("exp", in(-time.Second))), "expired"},
		"no expiry":        {token(secret, hs256, map[string]any{"sub": "4711"}), "signed"},
		"too long":         {token(secret, hs256, with("exp", in(48*time.Hour))), "24 hours"},
		"for ever":         {token(secret, hs256, with("exp", 1e300)), "24 hours"},
		"not yet":          {token(secret, hs256, with("nbf", in(time.Hour))), "signed"},
		"for others":       {token(secret, hs256, with("aud", "payments")), "signed"},
		"for a number":     {token(secret, hs256, with("aud", 7)), "signed"},
		"a guest":          {token(secret, hs256, with("sub", guestOf("ann"))), "signed"},
		"nobody":           {token(secret, hs256, with("sub", "")), "signed"},
		"unseen letters":   {token(secret, hs256, with("sub", "ann\u200b")), "signed"},
		"long name":        {token(secret, hs256, with("sub", strings.Repeat("x", 200))), "signed"},
		"many roles":       {token(secret, hs256, with("roles", make([]string, 100))), "signed"},
		"huge":             {token(secret, hs256, with("x", strings.Repeat("x", 10_000))), "signed"},
		"empty":            {"", "signed"},
	} {
		user, err := c.Verify(one.token)
		if one.want == "" && (err != nil || user != "4711") || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%s: %q, %v", name, user, err)
		}
	}
}

// inbox keeps what arrives.
type inbox chan channel.Incoming

func (i inbox) Receive(ctx context.Context, m channel.Incoming) error {
	select {
	case i <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve runs a channel until the test ends.
func serve(t *testing.T, sse bool, change func(*web.Config)) (*platform, *web.Channel, inbox) {
	p := start(t, sse, change)
	c, got := p.Channel(t).(*web.Channel), make(inbox, 64)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Run(ctx, got)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		p.serving.Wait()
		if chats, connections := c.Busy(); chats+connections != 0 {
			t.Errorf("%d chats and %d connections are left", chats, connections)
		}
	})
	p.guest("starting").leave() // it runs
	return p, c, got
}

func both(t *testing.T, f func(t *testing.T, sse bool)) {
	t.Parallel()
	t.Run("WebSocket", func(t *testing.T) { t.Parallel(); f(t, false) })
	t.Run("events", func(t *testing.T) { t.Parallel(); f(t, true) })
}

func TestPeople(t *testing.T) {
	both(t, func(t *testing.T, sse bool) {
		p, _, got := serve(t, sse, nil)
		signed := token(secret, hs256, map[string]any{"sub": "4711", "name": "Ann", "roles": []string{"member"}, "exp": in(time.Hour)})
		c, e := p.tab(`{"type": "hello", "token": "`+signed+`"}`, browser(""))
		if c == nil || e.str("user") != "4711" {
			t.Fatalf("the hello is answered %v", e)
		}
		defer c.leave()
		for range 2 { // a window that did not see the answer
			if a := c.say("one", "hello"); a.str("type") != "ack" || a.str("id") != "one" {
				t.Fatalf("the message is answered %v", a)
			}
		}
		if a := c.say("two", "again"); a.str("type") != "ack" {
			t.Fatalf("the message is answered %v", a)
		}
		first, second := <-got, <-got
		if first.ID != "one" || second.ID != "two" || first.From.ID != "4711" || first.From.Name != "Ann" || len(first.From.Roles) != 1 || first.At.Chat != "4711" {
			t.Errorf("got %+v and %+v", first, second)
		}
		for hello, code := range map[string]string{
			`{"type": "hello", "token": "` + signed[:len(signed)-4] + `aaaa"}`:                                                 "token",
			`{"type": "hello", "token": "` + token(secret, hs256, map[string]any{"sub": "4711", "exp": in(-time.Hour)}) + `"}`: "expired",
			`{"type": "hello", "token": "", "user": "4711"}`:                                                                   "bad",
			`{"type": "say", "id": "x", "text": "first"}`:                                                                      "bad",
		} {
			if c, e := p.tab(hello, browser("")); c != nil || e.str("code") != code {
				t.Errorf("%.60s is answered %v", hello, e)
			}
		}
	})
}

// TestOrigins checks that only pages of the listed sites get in, and what they may read.
func TestOrigins(t *testing.T) {
	t.Parallel()
	p, _, _ := serve(t, true, nil)
	for _, one := range []struct {
		header http.Header
		status int
	}{
		{http.Header{"Origin": {site}}, 200},
		{http.Header{}, 200}, // a program
		{http.Header{"Origin": {"https://evil.example.com"}}, 403},
		{http.Header{"Origin": {site + ".evil.example.com"}}, 403},
		{http.Header{"Origin": {"http://shop.example.com"}}, 403},
		{http.Header{"Origin": {p.URL}}, 403}, // itself
		{http.Header{"Origin": {"null"}}, 403},
		{http.Header{"Origin": {site, "https://evil.example.com"}}, 403},
		{http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
	} {
		e, res := p.post("", `{"type": "hello"}`, one.header)
		if res.StatusCode != one.status || (res.StatusCode != http.StatusOK) != (e.str("code") == "origin") {
			t.Errorf("%v: %d %v", one.header, res.StatusCode, e)
		}
		if allowed := res.Header.Get("Access-Control-Allow-Origin"); one.status == 403 && allowed != "" || one.header.Get("Origin") == site && one.status == 200 && allowed != site {
			t.Errorf("%v may be read by %q", one.header, allowed)
		}
		if cookie := res.Header.Get("Set-Cookie"); one.status == 403 && cookie != "" {
			t.Errorf("%v gets a cookie", one.header)
		}
		ws, _, err := p.dial("?guest", one.header)
		if (err == nil) != (one.status == 200) {
			t.Errorf("%v by WebSocket: %v", one.header, err)
		}
		if err == nil {
			_ = ws.CloseNow()
		}
	}
}

// TestGuests checks the cookie.
func TestGuests(t *testing.T) {
	t.Parallel()
	p, c, got := serve(t, true, nil)
	for from, same := range map[string]http.SameSite{"same-site": http.SameSiteStrictMode, "cross-site": http.SameSiteNoneMode} {
		e, res := p.post("", `{"type": "hello"}`, http.Header{"Origin": {site}, "Sec-Fetch-Site": {from}})
		cookies := res.Cookies()
		if len(cookies) != 1 || !cookies[0].HttpOnly || !cookies[0].Secure || cookies[0].SameSite != same || cookies[0].Partitioned != (same == http.SameSiteNoneMode) || cookies[0].Domain != "" || cookies[0].Path != "/" {
			t.Fatalf("cookies: %v", cookies)
		}
		if !strings.HasPrefix(e.str("user"), "guest-") || strings.Contains(e.str("user"), cookies[0].Value) {
			t.Errorf("the guest is %v", e)
		}
		again, _ := p.post("", `{"type": "hello"}`, browser(cookies[0].Value))
		forged, _ := p.post("", `{"type": "hello"}`, browser("short"))
		if again.str("user") != e.str("user") || forged.str("user") == e.str("user") {
			t.Errorf("%v comes again as %v; a forged cookie is %v", e, again, forged)
		}
	}
	ann, _ := p.tab(`{"type": "hello"}`, browser(cookieOf("ann")))
	for _, key := range []string{``, `"key": "wrong", `, `"key": "` + ann.(*sse).stream + `", `} { // the name alone, as access logs have it
		if e, res := p.post("?stream="+ann.(*sse).stream, `{"type": "say", "id": "a", `+key+`"text": "x"}`, browser("")); res.StatusCode != http.StatusNotFound || e.str("code") != "stream" {
			t.Errorf("somebody who knows the name of a stream only is answered %v", e)
		}
	}
	file := `"files": [{"name": "a.png", "url": "data:image/png;base64,AAAA"}]`
	if e, res := p.post("?stream="+ann.(*sse).stream, `{"type": "say", "id": "a", "text": "x", "key": "`+ann.(*sse).key+`", `+file+`}`, browser("")); res.StatusCode != http.StatusBadRequest || e.str("code") != "bad" {
		t.Errorf("a guest's file is answered %v", e)
	}
	signed := token(secret, hs256, map[string]any{"sub": "4711", "exp": in(time.Hour)})
	person, e := p.tab(`{"type": "hello", "token": "`+signed+`"}`, browser(""))
	if e, _ := p.post("?stream="+e.str("stream"), `{"type": "say", "id": "a", "text": "x", "key": "`+e.str("key")+`", `+file+`}`, browser("")); e.str("type") != "ack" {
		t.Errorf("a file is answered %v", e)
	}
	if m := <-got; len(m.Files) != 1 || m.Files[0].MediaType != "image/png" || len(m.Files[0].Data) != 3 {
		t.Errorf("got %+v", m)
	}
	person.leave()
	ann.leave()
	p.serving.Wait()
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: guestOf("nobody")}, Text: "hello"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("a guest who never wrote: %v", err)
	}
}

// TestAway checks that a message for somebody who is away arrives later: once, in its last
// form, also through a restart.
func TestAway(t *testing.T) {
	both(t, func(t *testing.T, sse bool) {
		p, c, _ := serve(t, sse, nil)
		ann := p.guest("ann")
		ann.say("q", "a question")
		seq := func(e event) string { return fmt.Sprintf("%.0f", e["seq"]) }
		mine := ann.next()
		ann.leave()
		p.serving.Wait()
		to := channel.Address{Chat: guestOf("ann")}
		id, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "half", Key: "k", Buttons: []channel.Button{{Label: "Yes", Text: "/yes"}}})
		if err == nil {
			err = c.Edit(t.Context(), to, id, "whole")
		}
		again, err2 := c.Send(t.Context(), channel.Outgoing{To: to, Text: "half", Key: "k"})
		if err != nil || err2 != nil || again != id {
			t.Fatalf("%q, %q: %v, %v", id, again, err, err2)
		}
		if err := c.Edit(t.Context(), to, "7", "x"); err == nil {
			t.Error("a message that is not there can be edited")
		}
		back, e := p.tab(`{"type": "hello", "since": `+seq(mine)+`}`, browser(cookieOf("ann")))
		if e["missed"] != 1.0 {
			t.Fatalf("the welcome is %v", e)
		}
		if e := back.next(); e.str("id") != id || e.str("text") != "whole" || e.str("from") != "agent" || e["buttons"] == nil {
			t.Errorf("what was missed is %v", e)
		}
		back.leave()
		p.serving.Wait()
		next, err := web.New(p.config) // a restart, with the same store
		if err != nil {
			t.Fatal(err)
		}
		if again, err := next.Send(t.Context(), channel.Outgoing{To: to, Text: "half", Key: "k"}); err != nil || again != id {
			t.Errorf("after a restart: %q, %v", again, err)
		}
	})
}

// TestBounds checks that nobody gets more than a share.
func TestBounds(t *testing.T) {
	both(t, func(t *testing.T, sse bool) {
		p, _, _ := serve(t, sse, nil)
		var open []client
		for range web.PerPerson {
			open = append(open, p.guest("ann"))
		}
		if c, e := p.tab(`{"type": "hello"}`, browser(cookieOf("ann"))); c != nil || e.str("code") != "busy" {
			t.Errorf("one more is answered %v", e)
		}
		p.guest("bob").leave()
		for _, c := range open {
			c.leave()
		}
	})
}

func TestManyGuests(t *testing.T) {
	t.Parallel()
	p, _, _ := serve(t, true, func(c *web.Config) { c.Connections = 4 })
	p.serving.Wait()
	refused := 0
	for i := range 6 {
		c, e := p.tab(`{"type": "hello"}`, browser(cookieOf(fmt.Sprint("guest", i))))
		if c != nil {
			defer c.leave()
		} else if e.str("code") == "busy" {
			refused++
		}
	}
	signed := token(secret, hs256, map[string]any{"sub": "4711", "exp": in(time.Hour)})
	if e, _ := p.post("", `{"type": "hello", "token": "`+signed+`"}`, browser("")); refused != 3 || e.str("type") != "welcome" {
		t.Errorf("%d guests are refused, and a person is answered %v", refused, e)
	}
}

// TestFlood checks that a flood is slowed down or refused, and too large messages too.
func TestFlood(t *testing.T) {
	t.Parallel()
	p, _, got := serve(t, true, nil)
	ann := p.guest("ann")
	defer ann.leave()
	go func() {
		for range got { // everything is taken
		}
	}()
	fast := 0
	for i := range 2 * web.Burst {
		if e := ann.say(fmt.Sprint("m", i), "hello"); e.str("code") == "fast" {
			fast++
		}
	}
	if fast == 0 {
		t.Error("nothing is refused")
	}
	large := `{"type": "hello", "token": "` + strings.Repeat("x", 70_000) + `"}`
	bob := p.guest("bob")
	defer bob.leave()
	for _, query := range []string{"", "?stream=" + bob.(*sse).stream} {
		if e, res := p.post(query, large, browser("")); res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("70 kB are answered %v", e)
		}
	}
	ws, _, err := p.dial("?guest", browser(cookieOf("bob")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	_ = ws.Write(t.Context(), websocket.MessageText, []byte(`{"type": "hello", "token": "`+strings.Repeat("x", 70_000)+`"}`)) // it may be refused before its end
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("70 kB before the welcome: %v", err)
	}
}

// TestSlowReader checks that one who reads nothing is cut off, and reads everything later.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	p, c, _ := serve(t, false, nil)
	ann := p.guest("ann")
	if e := ann.say("q", "a question"); e.str("type") != "ack" {
		t.Fatal(e)
	}
	slow, _, err := p.dial("?guest", browser(cookieOf("ann")))
	if err != nil {
		t.Fatal(err)
	}
	if err := slow.Write(t.Context(), websocket.MessageText, []byte(`{"type": "hello"}`)); err != nil {
		t.Fatal(err)
	}
	slow.SetReadLimit(1 << 20)
	if _, _, err := slow.Read(t.Context()); err != nil { // the welcome
		t.Fatal(err)
	}
	to := channel.Address{Chat: guestOf("ann")}
	id, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "half"})
	long := strings.Repeat("x", 100_000) // the network holds some
	for i := 0; err == nil && i < 2000; i++ {
		err = c.Edit(t.Context(), to, id, fmt.Sprint(i, long))
		if chats, connections := c.Busy(); chats == 1 && connections < 3 {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	ann.leave()
	for err == nil {
		_, _, err = slow.Read(t.Context())
	}
	_ = slow.CloseNow()
	p.serving.Wait()
	if seen := p.Seen(t, "ann"); len(seen) != 1 || !strings.HasSuffix(seen[0], "x") {
		t.Errorf("%d messages are seen later", len(seen))
	}
}

// TestStreams checks what only streams have.
func TestStreams(t *testing.T) {
	t.Parallel()
	p, c, _ := serve(t, true, nil)
	ann := p.guest("ann")
	if e := ann.say("q", "a question"); e.str("type") != "ack" {
		t.Fatal(e)
	}
	mine := ann.next()
	for _, cookie := range []string{"", cookieOf("eve"), cookieOf("ann")} { // nobody reads by the name, which access logs have
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"?stream="+ann.(*sse).stream, nil)
		r.Header = browser(cookie)
		res, err := p.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUpgradeRequired || strings.Contains(string(body), "a question") {
			t.Errorf("a plain request with the name of a stream is answered %d %s", res.StatusCode, body)
		}
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: guestOf("ann")}, Text: "an answer"}); err != nil {
		t.Fatal(err)
	}
	if e := ann.next(); e.str("text") != "an answer" {
		t.Errorf("got %v", e)
	}
	ann.leave()
	p.serving.Wait()
	if e := ann.say("r", "later"); e.str("code") != "stream" {
		t.Errorf("a stream that has ended takes %v", e)
	}
	again, welcome := p.tab(fmt.Sprintf(`{"type": "hello", "since": %.0f}`, mine["seq"]), browser(cookieOf("ann")))
	if welcome["missed"] != 1.0 {
		t.Errorf("the next stream begins with %v", welcome)
	}
	again.leave()
}

// TestStreamEnds: the client learns why its stream ends.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	p := start(t, true, nil)
	c, got := p.Channel(t), make(inbox, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = c.Run(ctx, got) }()
	ann := p.guest("ann")
	defer ann.leave()
	stop()
	if e := ann.next(); e != nil {
		t.Fatalf("got %v", e)
	}
	if e := <-ann.(*sse).answers; e.str("code") != "again" {
		t.Errorf("the last event is %v", e)
	}
}

func FuzzToken(f *testing.F) {
	c, err := web.New(web.Config{Secrets: []string{secret}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("a.b.c")
	f.Add(token(older, hs256, map[string]any{"sub": "4711", "exp": 1e10}))
	f.Fuzz(func(t *testing.T, s string) {
		if user, err := c.Verify(s); err == nil {
			t.Errorf("%q is %s", s, user)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type": "say", "id": "1", "files": [{"name": "a", "url": "data:;base64,AAAA"}]}`))
	f.Add([]byte(`{"type": "hello", "since": -1}`))
	f.Fuzz(func(_ *testing.T, b []byte) { _ = web.Decode(b) })
}

// TestManyFiles: a frame of 8 MiB with millions of empty files does not take many times as much.
func TestManyFiles(t *testing.T) {
	frame := []byte(`{"type":"say","id":"1","files":[` + strings.Repeat("{},", 8<<20/3) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := web.Decode(frame)
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 20 || err == nil {
		t.Errorf("it took %d MiB: %v", n, err)
	}
	for _, good := range []string{`{"type":"say","id":"1","text":"a","files":null}`, `{"type":"say","id":"1","files":[{"name":"a","url":"data:text/plain;base64,YQ=="}]}`} {
		if err := web.Decode([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	if err := web.Decode([]byte(`{"type":"say","id":"1","files":[{},{},{},{},{}]}`)); err == nil || !strings.Contains(err.Error(), "at most 4") {
		t.Error(err)
	}
}
