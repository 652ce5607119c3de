package wecom_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	workwx "github.com/xen0n/go-workwx"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/wecom"
	"github.com/etui-run/etui/channel/wecom/wecomtest"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

func TestChannel(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return newPlatform(t) })
}

// inbox is a receiver that keeps what it gets.
type inbox chan channel.Incoming

func (i inbox) Receive(_ context.Context, m channel.Incoming) error {
	i <- m
	return nil
}

// begin returns a platform and a channel that runs until the test ends.
func begin(t *testing.T) (*platform, *wecom.Channel, inbox) {
	p := newPlatform(t)
	c, in := p.connect(t), make(inbox, 64)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, in) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	p.save(t)
	return p, c, in
}

// TestPublishedExample checks the deliveries that the platform publishes as examples.
func TestPublishedExample(t *testing.T) {
	t.Parallel()
	p, c, in := begin(t)
	c.SetNow(func() time.Time { return time.Unix(1409659813, 0) })

	echo := url.Values{"msg_signature": {"5c45ff5e21c57e6ad56bac8758b79b1d9ac89fd3"}, "timestamp": {"1409659589"}, "nonce": {"263014780"},
		"echostr": {"P9nAzCzyDtyTWESHep1vC5X9xho/qYX3Zpb4yKa9SKld1DsH3Iyt3tP3zNdtp+4RPcs8TgAE7OaBO+FZXvnaqQ=="}}
	res, err := http.Get(p.callback.URL + "?" + echo.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); string(text) != "1616140317555161061" {
		t.Errorf("the URL is verified with %d %q", res.StatusCode, text)
	}

	const encrypted = "RypEvHKD8QQKFhvQ6QleEB4J58tiPdvo+rtK1I9qca6aM/wvqnLSV5zEPeusUiX5L5X/0lWfrf0QADHHhGd3QczcdCUpj911L3vg3W/sYYvuJTs3TUUkSUXxaccAS0qhxchrRYt66wiSpGLYL42aM6A8dTT+6k4aSknmPj48kzJs8qLjvd4Xgpue06DOdnLxAUHzM6+kDZ+HMZfJYuR+LtwGc2hgf5gsijff0ekUNXZiqATP7PF5mZxZ3Izoun1s4zG4LUMnvw2r+KqCKIw+3IQH03v+BCA9nMELNqbSf6tiWSrXJB3LAVGUcallcrw8V2t9EL4EhzJWrQUax5wLVMNS0+rUPA3k22Ncx4XXZS9o0MBH27Bo6BpNelZpS+/uh9KsNlY6bHCmJU9p8g7m3fVKn28H3KDYA5Pl/T8Z1ptDAVe0lXdQ2YoyyH2uyPIGHBZZIs2pDBS8R07+qN+E7Q=="
	text, err := wecom.Open(key(t), corp, encrypted)
	if err != nil || !strings.Contains(string(text), "<Content><![CDATA[hello]]></Content>") {
		t.Fatalf("the message is %q, %v", text, err)
	}
	// Its AgentID is 218: it is acknowledged and left out.
	status, answer := p.post(t, url.Values{"msg_signature": {"477715d11cdb4164915debcba66cb864d751f3e6"}, "timestamp": {"1409659813"}, "nonce": {"1372623149"}},
		"<xml><ToUserName><![CDATA[wx5823bf96d3bd56c7]]></ToUserName><Encrypt><![CDATA["+encrypted+"]]></Encrypt><AgentID><![CDATA[218]]></AgentID></xml>")
	if status != http.StatusOK || answer != "success" || len(in) != 0 {
		t.Errorf("it is answered with %d %q, %d arrived", status, answer, len(in))
	}
}

func key(t testing.TB) []byte {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(aesKey + "=")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// workwxInbox receives for the client of another project.
type workwxInbox struct{ got []string }

func (i *workwxInbox) OnIncomingMessage(m *workwx.RxMessage) error {
	text, _ := m.Text()
	i.got = append(i.got, fmt.Sprint(m.FromUserID, m.AgentID, text.GetContent()))
	return nil
}

// TestAnotherClient checks the server of these tests with the client of another project: it
// reads the same deliveries, and makes the same calls.
func TestAnotherClient(t *testing.T) {
	t.Parallel()
	p, _, in := begin(t)
	p.Say(t, channel.Incoming{From: channel.Sender{ID: "4711"}, Text: "hello, 你好"})
	<-in
	other := &workwxInbox{}
	h, err := workwx.NewHTTPHandler(token, aesKey, other)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	query, body := p.Last()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/?"+query, bytes.NewReader(body)))
	if w.Code != http.StatusOK || !slices.Equal(other.got, []string{"47111000002hello, 你好"}) {
		t.Errorf("the other client reads %q, %d", other.got, w.Code)
	}

	app := workwx.New(corp, workwx.WithQYAPIHost(p.URL)).WithApp(secret, agent)
	to := &workwx.Recipient{UserIDs: []string{"4711"}}
	if err := app.SendTextMessage(to, "text", false); err != nil {
		t.Error(err)
	}
	if err := app.SendMarkdownMessage(to, "**bold**", false); err != nil {
		t.Error(err)
	}
	media, err := workwx.NewMediaFromBuffer("a.png", []byte("not a picture"))
	if err != nil {
		t.Fatal(err)
	}
	if up, err := app.UploadTempImageMedia(media); err != nil {
		t.Error(err)
	} else if err := app.SendImageMessage(to, up.MediaID, false); err != nil {
		t.Error(err)
	}
	if err := app.SendTextMessage(&workwx.Recipient{ChatID: "board"}, "to all", false); err != nil {
		t.Error(err)
	}
	if user, err := app.GetUser("4711"); err != nil || user.Name != "安妮" {
		t.Errorf("%+v, %v", user, err)
	}
	if form, err := app.GetOATemplateDetail("x"); err != nil || len(form.TemplateContent.Controls) != 6 {
		t.Errorf("%+v, %v", form, err)
	}
	var code *workwx.WorkwxClientError
	if err := app.SendTextMessage(&workwx.Recipient{UserIDs: []string{"nobody"}}, "text", false); !errors.As(err, &code) || code.Code != 81013 {
		t.Errorf("nobody: %v", err)
	}
	if seen := p.Seen(t, "4711"); !slices.Equal(seen, []string{"text", "bold", "image a.png"}) {
		t.Errorf("seen: %q", seen)
	}
}

func TestDeliveriesOfOthers(t *testing.T) {
	t.Parallel()
	p, _, in := begin(t)
	text := wecomtest.Compose("4711", "<MsgType>text</MsgType><Content>hi</Content><MsgId>1</MsgId>")
	sealed, now := wecomtest.Encrypt(text, corp), time.Now()
	good := wecomtest.Signed(sealed, now)
	with := func(name, value string) url.Values {
		q := url.Values{}
		for k, v := range good {
			q[k] = v
		}
		q.Set(name, value)
		return q
	}
	foreign, broken := wecomtest.Encrypt(text, "another"), sealed[:len(sealed)-8]
	for name, d := range map[string]struct {
		query  url.Values
		body   string
		status int
	}{
		"forged":          {with("msg_signature", strings.Repeat("0", 40)), wecomtest.Envelope(sealed), 403},
		"no signature":    {with("msg_signature", ""), wecomtest.Envelope(sealed), 403},
		"no query":        {nil, wecomtest.Envelope(sealed), 403},
		"other nonce":     {with("nonce", "1"), wecomtest.Envelope(sealed), 403},
		"other text":      {good, wecomtest.Envelope(wecomtest.Encrypt(text+" ", corp)), 403},
		"old":             {wecomtest.Signed(sealed, now.Add(-time.Hour)), wecomtest.Envelope(sealed), 403},
		"of the future":   {wecomtest.Signed(sealed, now.Add(time.Hour)), wecomtest.Envelope(sealed), 403},
		"another company": {wecomtest.Signed(foreign, now), wecomtest.Envelope(foreign), 403},
		"cut":             {wecomtest.Signed(broken, now), wecomtest.Envelope(broken), 403},
		"not encrypted":   {wecomtest.Signed("hello", now), wecomtest.Envelope("hello"), 403},
		"empty":           {wecomtest.Signed("", now), wecomtest.Envelope(""), 403},
		"no XML":          {good, "hello", 403},
		"too large":       {good, wecomtest.Envelope(sealed + strings.Repeat(" ", 300<<10)), 413},
	} {
		if status, answer := p.post(t, d.query, d.body); status != d.status {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	req, _ := http.NewRequest(http.MethodPut, p.callback.URL, nil)
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %v, %v", res, err)
	}
	if res, err := http.Get(p.callback.URL + "?echostr=x"); err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("GET: %v, %v", res, err)
	}
	// Nobody gets a message decrypted that they have seen on its way.
	if res, err := http.Get(p.callback.URL + "?" + with("echostr", sealed).Encode()); err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("GET with a message: %v, %v", res, err)
	}
	if len(in) != 0 {
		t.Fatalf("%+v arrived", <-in)
	}
	// The same delivery again is acknowledged, and has no effect.
	for range 3 {
		if status, answer := p.post(t, good, wecomtest.Envelope(sealed)); status != http.StatusOK || answer != "success" {
			t.Errorf("%d %s", status, answer)
		}
	}
	if len(in) != 1 {
		t.Errorf("it arrived %d times", len(in))
	}
}

func TestBeforeItRuns(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.connect(t)
	if status, _ := p.deliver(t, wecomtest.Compose("4711", "<MsgType>text</MsgType><Content>hi</Content><MsgId>1</MsgId>")); status != http.StatusServiceUnavailable {
		t.Errorf("%d", status)
	}
}

func TestKindsOfMessages(t *testing.T) {
	t.Parallel()
	p, _, in := begin(t)
	p.Member("4711", "安妮", true)
	p.Upload("m1", wecomtest.Media{Name: "cat.png", Type: "image/png", Data: []byte("picture")})
	p.Upload("m2", wecomtest.Media{Name: "", Type: "application/octet-stream", Data: []byte("#!AMR\n")})
	p.Upload("m3", wecomtest.Media{Name: "large.zip", Type: "application/zip", Data: make([]byte, 20<<20+1)})
	file := func(name, mediaType, data string) []chat.File {
		return []chat.File{{Name: name, MediaType: mediaType, Data: []byte(data)}}
	}
	for _, d := range []struct {
		rest string
		want channel.Incoming
	}{
		{"<MsgType>text</MsgType><Content><![CDATA[a < b\nc]]></Content>", channel.Incoming{Text: "a < b\nc"}},
		{"<MsgType>image</MsgType><PicUrl>https://x</PicUrl><MediaId>m1</MediaId>", channel.Incoming{Files: file("cat.png", "image/png", "picture")}},
		{"<MsgType>voice</MsgType><MediaId>m2</MediaId><Format>amr</Format>", channel.Incoming{Files: file("voice.amr", "audio/amr", "#!AMR\n")}},
		{"<MsgType>file</MsgType><MediaId>m3</MediaId>", channel.Incoming{Files: file("large.zip", "application/zip", "")}},
		{"<MsgType>video</MsgType><MediaId>gone</MediaId><ThumbMediaId>t</ThumbMediaId>", channel.Incoming{Files: file("video.mp4", "video/mp4", "")}},
		{"<MsgType>location</MsgType><Location_X>23.134</Location_X><Location_Y>113.358</Location_Y><Scale>20</Scale><Label>广州</Label>", channel.Incoming{Text: "广州 (geo:23.134,113.358)"}},
		{"<MsgType>link</MsgType><Title>News</Title><Description>of today</Description><Url>https://a.b</Url>", channel.Incoming{Text: "[News](https://a.b)\nof today"}},
		{"<MsgType>event</MsgType><Event>click</Event><EventKey>/help</EventKey>", channel.Incoming{Text: "/help"}},
	} {
		id := p.say(t, "4711", d.rest)
		m := <-in
		if m.ID != id || m.Text != d.want.Text || m.At.Chat != "4711" || m.Group || m.Time.IsZero() ||
			m.From.Name != "安妮" || !slices.Equal(m.From.Roles, []string{"member", "leader"}) {
			t.Errorf("%s: %+v", d.rest, m)
		}
		if len(m.Files) != len(d.want.Files) {
			t.Errorf("%s: %d files", d.rest, len(m.Files))
			continue
		}
		for i, f := range m.Files {
			if want := d.want.Files[i]; f.Name != want.Name || f.MediaType != want.MediaType || string(f.Data) != string(want.Data) {
				t.Errorf("%s: %s %s, %d bytes", d.rest, f.Name, f.MediaType, len(f.Data))
			}
		}
	}
	for _, rest := range []string{
		"<MsgType>event</MsgType><Event>subscribe</Event>", "<MsgType>event</MsgType><Event>enter_agent</Event><EventKey></EventKey>",
		"<MsgType>event</MsgType><Event>LOCATION</Event><Latitude>1</Latitude>", "<MsgType>event</MsgType><Event>view</Event><EventKey>https://a</EventKey>",
		"",
	} {
		if status, answer := p.deliver(t, wecomtest.Compose("4711", rest)); status != http.StatusOK || answer != "success" {
			t.Errorf("%s: %d %s", rest, status, answer)
		}
	}
	if len(in) != 0 {
		t.Errorf("%+v arrived", <-in)
	}
	p.say(t, "4711", "<MsgType>new</MsgType>")
	if m := <-in; m.Text != "(a message of the type new, which cannot be shown here)" {
		t.Errorf("of another type: %q", m.Text)
	}
	for range 2 {
		p.say(t, "stranger", "<MsgType>text</MsgType><Content>hi</Content>")
		if m := <-in; m.From.ID != "stranger" || m.From.Name != "" || m.From.Roles != nil {
			t.Errorf("%+v", m.From)
		}
	}
	if n := p.Calls("user/get"); n != 2 {
		t.Errorf("the names were asked for %d times", n)
	}
	if n := p.Calls("gettoken"); n != 1 {
		t.Errorf("%d tokens were fetched", n)
	}
}

func TestButtons(t *testing.T) {
	t.Parallel()
	p, c, in := begin(t)
	buttons := []channel.Button{{Label: "Allow", Text: "/approve 1"}, {Label: "Deny", Text: "/deny 1\u2028|2"}}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "May I?", Buttons: buttons, Key: "a"}); err != nil {
		t.Fatal(err)
	}
	long := "**May I?** " + strings.Repeat("长", 200)
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: long, Buttons: buttons, Key: "b"}); err != nil {
		t.Fatal(err)
	}
	if seen := p.Seen(t, "4711"); !slices.Equal(seen, []string{"May I? [Allow] [Deny]", strings.ReplaceAll(long, "**", ""), " [Allow] [Deny]"}) {
		t.Errorf("seen: %q", seen)
	}
	pressed := p.Sent("4711")[0].Content["button_list"].([]any)[1].(map[string]any)["key"].(string)
	text := wecomtest.Press("4711", pressed)
	status, answer := p.deliver(t, text)
	m := <-in
	if m.Text != "/deny 1\n|2" || m.From.ID != "4711" || m.ID == "" {
		t.Errorf("got %+v", m)
	}
	// The answer replaces the buttons.
	var sealed struct {
		Encrypt, MsgSignature, TimeStamp, Nonce string
	}
	if err := xml.Unmarshal([]byte(answer), &sealed); err != nil || status != http.StatusOK {
		t.Fatalf("%d %q: %v", status, answer, err)
	}
	if sealed.MsgSignature != wecomtest.Signature(token, sealed.TimeStamp, sealed.Nonce, sealed.Encrypt) {
		t.Error("the answer's signature is wrong")
	}
	open, err := wecom.Open(key(t), corp, sealed.Encrypt)
	if err != nil || !strings.Contains(string(open), "<MsgType><![CDATA[update_button]]></MsgType><Button><ReplaceName><![CDATA[✓ Deny]]></ReplaceName></Button>") {
		t.Errorf("the answer is %q, %v", open, err)
	}
	// The platform delivers a press again with the same ID.
	p.deliver(t, text)
	if again := <-in; again.ID != m.ID {
		t.Errorf("the IDs are %q and %q", m.ID, again.ID)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	p, c, _ := begin(t)
	to := channel.Address{Chat: "4711"}
	id, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "see\u2028below <", Key: "k", Files: []chat.File{
		{Name: "图.png", MediaType: "image/png", Data: []byte("picture")}, {Name: "a.txt", MediaType: "text/plain", Data: []byte("letters")}, {Name: "b.txt", Data: []byte("few")},
	}})
	if err != nil || id == "" {
		t.Fatalf("%q, %v", id, err)
	}
	if seen := p.Seen(t, "4711"); !slices.Equal(seen, []string{"see\nbelow <", "image 图.png", "file a.txt", "b.txt: few"}) {
		t.Errorf("seen: %q", seen)
	}
	// What was sent before an error is not sent again.
	p.FailWith("media/upload", -1)
	late := channel.Outgoing{To: to, Text: "again", Key: "k2", Files: []chat.File{{Name: "c.pdf", Data: []byte("letters")}}}
	if _, err := c.Send(t.Context(), late); err == nil {
		t.Error("an upload failed without an error")
	}
	if _, err := c.Send(t.Context(), late); err != nil {
		t.Error(err)
	}
	if seen := p.Seen(t, "4711"); !slices.Equal(seen[4:], []string{"again", "file c.pdf"}) {
		t.Errorf("seen: %q", seen[4:])
	}
	// Groups of the application.
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "group:board"}, Text: "news", Buttons: []channel.Button{{Label: "Yes", Text: "/yes"}}}); err != nil {
		t.Error(err)
	}
	if seen := p.Seen(t, "board"); !slices.Equal(seen, []string{"news\n\n- Yes: /yes"}) {
		t.Errorf("seen: %q", seen)
	}
	// Never to several members.
	for _, chat := range []string{"@all", "4711|4712", "", "group:", "group:a|b", "a b", strings.Repeat("a", 200), "group:other", "stranger"} {
		if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: chat}, Text: "hi"}); !errors.Is(err, channel.ErrGone) {
			t.Errorf("%q: %v", chat, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	p, c, _ := begin(t)
	send := func(codes ...int) error {
		p.FailWith("message/send", codes...)
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "hi"})
		return err
	}
	var limited *channel.Limited
	for _, d := range []struct {
		codes []int
		ok    func(error) bool
	}{
		{[]int{0}, func(err error) bool { return err == nil }},
		{[]int{42001}, func(err error) bool { return err == nil }}, // a new token helps
		{[]int{40014}, func(err error) bool { return err == nil }},
		{[]int{42001, 42001}, func(err error) bool { return errors.Is(err, channel.ErrRefused) }},
		{[]int{60020}, func(err error) bool {
			return errors.Is(err, channel.ErrRefused) && strings.Contains(err.Error(), "from ip: 10.0.0.1")
		}},
		{[]int{40056}, func(err error) bool { return errors.Is(err, channel.ErrRefused) }},
		{[]int{60011}, func(err error) bool { return errors.Is(err, channel.ErrGone) }},
		{[]int{45009}, func(err error) bool { return errors.As(err, &limited) && limited.After == time.Minute }},
		{[]int{45033}, func(err error) bool { return errors.As(err, &limited) && limited.After == 5*time.Second }},
		{[]int{-1}, func(err error) bool {
			return err != nil && !errors.As(err, &limited) && !errors.Is(err, channel.ErrGone) && !errors.Is(err, channel.ErrRefused)
		}},
	} {
		if err := send(d.codes...); !d.ok(err) {
			t.Errorf("%v: %v", d.codes, err)
		}
	}
	if name, err := c.Probe(t.Context()); err != nil || name != "HR助手 (1000002)" {
		t.Errorf("%q, %v", name, err)
	}
	// No error holds the secret or a token, which are in the URLs.
	p.Close()
	for _, err := range []error{send(0), func() error { _, err := c.Probe(t.Context()); return err }()} {
		if err == nil || strings.Contains(err.Error(), "accesstoken") || strings.Contains(err.Error(), secret) {
			t.Errorf("error: %v", err)
		}
	}
}

func TestSecretsStayHere(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	api := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer api.Close()
	var log strings.Builder
	c, err := wecom.New(wecom.Config{CorpID: corp, Agent: agent, Secret: secret, Token: token, AESKey: aesKey, URL: api.URL, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Probe(t.Context())
	api.Close()
	_, err2 := c.Probe(t.Context())
	for _, text := range []string{fmt.Sprint(err), fmt.Sprint(err2), log.String()} {
		if strings.Contains(text, secret) || text == "<nil>" {
			t.Errorf("%s", text)
		}
	}
}

// TestOneFetchAtATime lets many messages go at once: they share one token.
func TestOneFetchAtATime(t *testing.T) {
	t.Parallel()
	p, c, _ := begin(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "hi"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if p.Issued() != 1 {
		t.Errorf("%d tokens were fetched", p.Issued())
	}
	// Before its end a new one is fetched.
	c.SetNow(func() time.Time { return time.Now().Add(7000 * time.Second) })
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "hi"}); err != nil || p.Issued() != 2 {
		t.Errorf("%d tokens were fetched, %v", p.Issued(), err)
	}
}

// roundTrip makes a function a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSlowFile lets a file take longer than the platform waits: the platform delivers the
// message again, and the file is fetched once.
func TestSlowFile(t *testing.T) {
	t.Parallel()
	for _, d := range []struct {
		takes      time.Duration
		deliveries int
		bytes      int
	}{{2 * time.Second, 1, 5}, {6 * time.Second, 2, 5}, {time.Minute, 3, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var fetches atomic.Int32
			answer := func(head http.Header, body string) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Header: head, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}, nil
			}
			client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/gettoken"):
					return answer(nil, `{"access_token":"t","expires_in":7200}`)
				case strings.HasSuffix(r.URL.Path, "/media/get"):
					fetches.Add(1)
					select {
					case <-time.After(d.takes):
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
					return answer(http.Header{"Content-Disposition": {`attachment; filename="a.bin"`}}, "bytes")
				}
				return answer(nil, `{"errcode":60111,"errmsg":"nobody"}`)
			})}
			c, err := wecom.New(wecom.Config{CorpID: corp, Agent: agent, Secret: secret, Token: token, AESKey: aesKey, Client: client})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			in := make(inbox, 1)
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx, in) }()
			synctest.Wait()
			text, deliveries := wecomtest.Compose("4711", "<MsgType>file</MsgType><MediaId>m</MediaId><MsgId>1</MsgId>"), 0
			for len(in) == 0 && deliveries < 4 {
				deliveries++
				sealed := wecomtest.Encrypt(text, corp)
				began, w := time.Now(), httptest.NewRecorder()
				c.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/?"+wecomtest.Signed(sealed, began).Encode(), strings.NewReader(wecomtest.Envelope(sealed))))
				if took := time.Since(began); took > 4500*time.Millisecond || (w.Code == http.StatusOK) != (len(in) == 1) {
					t.Errorf("answered with %d after %s", w.Code, took)
				}
			}
			m := <-in
			if deliveries != d.deliveries || fetches.Load() != 1 || len(m.Files) != 1 || len(m.Files[0].Data) != d.bytes {
				t.Errorf("%s: %d deliveries, %d fetches, %+v", d.takes, deliveries, fetches.Load(), m)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	p, c, _ := begin(t)
	tools := map[string]tool.Tool{}
	for _, one := range c.Tools() {
		tools[one.Definition().Name] = one
	}
	call := func(f chat.Facts, name, args string) chat.Result {
		t.Helper()
		r, err := tools[name].Call(tool.WithHost(t.Context(), tool.Host{Facts: f}), json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ann := chat.Facts{Channel: "wecom", Chat: "sales/4711", User: "ann", Attrs: map[string]string{"account": "sales"}}
	for args, want := range map[string]string{
		`{"template":"x","fields":{"事由":"出差"}}`:                                       `the field "金额" must be filled in`,
		`{"template":"x","fields":{"事由":"出差","金额":"many"}}`:                           `"many" is no number`,
		`{"template":"x","fields":{"Grund":"出差"}}`:                                    "- 类型: Selector, multi of 交通 | 餐饮",
		`{"template":"x","fields":{"事由":"出差","金额":"1","类型":"住宿"}}`:                    `"住宿" is none of 交通 | 餐饮`,
		`{"template":"x","fields":{"事由":"出差","金额":"1","日期":"soon"}}`:                  `"soon" is no date`,
		`{"template":"x","fields":{"事由":"出差","金额":"1","附件":"a"}}`:                     "only in WeCom itself",
		`{"template":"x","fields":{"Reason":"出差","金额":"12.5","类型":"交通\n餐饮","日期":""}}`: "The approval 201909270001 (报销) is handed in",
	} {
		if r := call(ann, "wecom_approval", args); !strings.Contains(r.Text, want) {
			t.Errorf("%s: %q", args, r.Text)
		}
	}
	want := `{"apply_data":{"contents":[{"control":"Textarea","id":"Textarea-1","value":{"text":"出差"}},{"control":"Money","id":"Money-1","value":{"new_money":"12.5"}},` +
		`{"control":"Selector","id":"Selector-1","value":{"selector":{"options":[{"key":"option-1"},{"key":"option-2"}],"type":"multi"}}}]},"creator_userid":"4711",` +
		`"summary_list":[{"summary_info":[{"lang":"zh_CN","text":"事由: 出差"}]},{"summary_info":[{"lang":"zh_CN","text":"金额: 12.5"}]},{"summary_info":[{"lang":"zh_CN","text":"类型: 交通 餐饮"}]}],` +
		`"template_id":"x","use_template_approver":1}`
	if got, _ := json.Marshal(p.Body("oa/applyevent")); string(got) != want {
		t.Errorf("applied for\n%s, want\n%s", got, want)
	}
	c.SetNow(func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) })
	for args, want := range map[string]string{
		`{"title":"Plan","start":"2026-01-02 15:00","minutes":30,"invitees":["bob"]}`:  "500123456",
		`{"title":"Plan","start":"2025-01-02 15:00","minutes":30}`:                     "which is past",
		`{"title":"Plan","start":"tomorrow","minutes":30}`:                             "it looks like",
		`{"title":"Plan","start":"2026-01-02 15:00","minutes":3}`:                      "5 to 1439 minutes",
		`{"title":"Plan","start":"2026-01-02 15:00","minutes":30,"invitees":["@all"]}`: "is no user ID",
	} {
		if r := call(ann, "wecom_meeting", args); !strings.Contains(r.Text, want) {
			t.Errorf("%s: %q", args, r.Text)
		}
	}
	if got := p.Body("meeting/create"); got["admin_userid"] != "4711" || got["meeting_start"] != 1767337200.0 || got["meeting_duration"] != 1800.0 {
		t.Errorf("scheduled %v", got)
	}
	// Nobody acts for somebody else.
	for _, f := range []chat.Facts{{}, {Channel: "telegram", Chat: "4711"}, {Channel: "wecom", Chat: "group:board"}} {
		if r := call(f, "wecom_meeting", `{"title":"Plan","start":"2026-01-02 15:00","minutes":30}`); !r.Failed {
			t.Errorf("%+v: %q", f, r.Text)
		}
	}
}

func TestSetMenu(t *testing.T) {
	t.Parallel()
	p, c, _ := begin(t)
	commands := make([]channel.Command, 17)
	for i := range commands {
		commands[i].Name = fmt.Sprint("c", i)
	}
	if err := c.SetMenu(t.Context(), commands); err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(p.Body("menu/create"))
	if n := strings.Count(string(got), `"type":"click"`); n != 15 || !strings.Contains(string(got), `{"key":"/c14","name":"/c14","type":"click"}`) {
		t.Errorf("%s", got)
	}
	if err := c.SetMenu(t.Context(), nil); err != nil || p.Calls("menu/delete") != 1 {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	good := wecom.Config{CorpID: corp, Agent: agent, Secret: secret, Token: token, AESKey: aesKey}
	for name, change := range map[string]func(*wecom.Config){
		"企业ID": func(c *wecom.Config) { c.CorpID = "" }, "AgentId": func(c *wecom.Config) { c.Agent = 0 }, "Secret": func(c *wecom.Config) { c.Secret = "" },
		"Token": func(c *wecom.Config) { c.Token = "" }, "EncodingAESKey": func(c *wecom.Config) { c.AESKey = "short" }, "address": func(c *wecom.Config) { c.URL = "qyapi" },
	} {
		bad := good
		change(&bad)
		if _, err := wecom.New(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := wecom.New(good); err != nil {
		t.Error(err)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for _, d := range []struct {
		in, out string
		marked  bool
	}{
		{"hello\nworld", "hello\nworld", false},
		{"**bold** and *italic* and `code`", "**bold** and italic and `code`", true},
		{"# Title\n\ntext\n\n- a\n- b\n  1. c", "# Title\n\ntext\n\n- a\n- b\n  1. c", true},
		{"> quoted\n> twice\n\n[site](https://a.b/?x=1&y=2)", "> quoted\n> twice\n\n[site](https://a.b/?x=1&y=2)", true},
		{"<https://a.b> ![pic](https://c.d)", "https://a.b [pic](https://c.d)", true},
		{"# Title\n\n```go\nfunc main() {\n\t// **no**\n}\n```", "Title\n\nfunc main() {\n\t// **no**\n}", false},
		{`**a** \*\*b\*\* &lt;font&gt;`, "a **b** <font>", false},
		{"**x** <b>raw</b> [l](https://a.b)", "x <b>raw</b> l (https://a.b)", false},
		{"**x** `<@zhangsan>`", "x <@zhangsan>", false},
		{"3) three\n4) four", "3. three\n4. four", false},
		{"a & b &amp; 1 < 2 &copy; &nosuch;", "a & b & 1 < 2 © &nosuch;", false},
		{"one\n\n---\n\ntwo", "one\n\n———\n\ntwo", false},
		{"| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |", false},
		{"", "", false},
	} {
		if out, marked := wecom.Render(d.in); out != d.out || marked != d.marked {
			t.Errorf("%q: %q, %v", d.in, out, marked)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add("RypEvHKD8QQKFhvQ6QleEB4J58tiPdvo+rtK1I9qca4=", "<xml/>")
	f.Add(wecomtest.Encrypt("<xml/>", corp), "")
	f.Add(wecomtest.Encrypt("", ""), strings.Repeat("长", 100))
	f.Fuzz(func(t *testing.T, sealed, text string) {
		_, _ = wecom.Open(key(t), corp, sealed)
		own, err := wecom.Seal(key(t), corp, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wecom.Open(key(t), corp, own); err != nil || string(got) != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
		if got, err := wecom.Open(key(t), corp, wecomtest.Encrypt(text, corp)); err != nil || string(got) != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	})
}

// FuzzDelivery delivers what only the platform could sign.
func FuzzDelivery(f *testing.F) {
	for _, rest := range []string{"<MsgType>text</MsgType><Content>hi</Content>", "<MsgType>image</MsgType><MediaId>m</MediaId>", "<MsgType>event</MsgType><Event>click</Event>", "<MsgType>"} {
		f.Add(wecomtest.Compose("4711", rest))
	}
	f.Add(wecomtest.Press("4711", "label|text"))
	f.Add(wecomtest.Press("4711", "]]>|"))
	f.Add("<xml><xml><xml>")
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("away") })}
	c, err := wecom.New(wecom.Config{CorpID: corp, Agent: agent, Secret: secret, Token: token, AESKey: aesKey, Client: client})
	if err != nil {
		f.Fatal(err)
	}
	in := make(inbox, 1)
	ctx, stop := context.WithCancel(f.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, in) }()
	f.Cleanup(func() {
		stop()
		<-ended
	})
	for {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != http.StatusServiceUnavailable {
			break
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		sealed := wecomtest.Encrypt(text, corp)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/?"+wecomtest.Signed(sealed, time.Now()).Encode(), strings.NewReader(wecomtest.Envelope(sealed))))
		select {
		case m := <-in:
			if m.ID == "" || m.From.ID == "" || m.At.Chat == "" {
				t.Errorf("%+v", m)
			}
		default:
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"**a** `b`", "> - 1. # x", "[a](b)", "<b>\n\n</b>", "```\n\x00", "&#0; \\*", "* * *\n    code"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, _ := wecom.Render(s)
		if out != strings.ToValidUTF8(out, "") {
			t.Errorf("%q", out)
		}
	})
}
