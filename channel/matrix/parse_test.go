package matrix

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
)

func TestRender(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"plain", ""},
		{"two\nlines", "<p>two<br>\nlines</p>"},
		{"**An** answer: `a_b*c` <tag> & 1 < 2, 好", "<p><strong>An</strong> answer: <code>a_b*c</code> &lt;tag&gt; &amp; 1 &lt; 2, 好</p>"},
		{"# Title\n\n~~old~~", "<h1>Title</h1>\n<p><del>old</del></p>"},
		{"- [x] done\n- [ ] open", "<ul>\n<li>☑ done</li>\n<li>☐ open</li>\n</ul>"},
		{"3. a\n4. b", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>"},
		{"```go\nif a < b {\n```", "<pre><code class=\"language-go\">if a &lt; b {\n</code></pre>"},
		{"|a|b|\n|:-|-:|\n|1|2|", "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>"},
		{"[site](https://x.org/?a=1&b=2)", `<p><a href="https://x.org/?a=1&amp;b=2">site</a></p>`},
		{"![alt](https://x.org/a.png)", `<p><a href="https://x.org/a.png">alt</a></p>`},
		{"[run](javascript:alert(1)) [see](docs/a.md)", "<p>run (javascript:alert(1)) see (docs/a.md)</p>"},
		{"<https://x.org> <me@x.org> <mxc://x/y>", `<p><a href="https://x.org">https://x.org</a> <a href="mailto:me@x.org">me@x.org</a> mxc://x/y</p>`},
		{"<script>alert(1)</script>", ""}, // the text says it all
		{"<script>\n*a*\n</script>", "<p>&lt;script&gt;<br>\n*a*<br>\n&lt;/script&gt;</p>"},
		{"a <img src=x onerror=y> b<br>c", "<p>a &lt;img src=x onerror=y&gt; b<br>c</p>"},
		{"<div>\n\n**b**\n\n</div>", "<p>&lt;div&gt;</p>\n<p><strong>b</strong></p>\n<p>&lt;/div&gt;</p>"},
		{"> q", "<blockquote>\n<p>q</p>\n</blockquote>"},
	} {
		if got := render(markup.HTML(""), c[0]); got != c[1] {
			t.Errorf("%q:\n got %q\nwant %q", c[0], got, c[1])
		}
	}
}

// elements are those that the specification lists and that are written, with the attributes
// that they may have.
var elements = map[string][]string{
	"h1": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "p": nil, "br": nil, "hr": nil, "blockquote": nil, "ul": nil, "ol": {"start"}, "li": nil,
	"strong": nil, "em": nil, "del": nil, "code": {"class"}, "pre": nil, "a": {"href"}, "table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": nil, "td": nil,
}

// FuzzRender: no text becomes markup other than that which the specification allows.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		"**a** `b`\n> c\n- d", "[x](<javascript:a>) ![](a)\n|a|\n|-|", "<!--\n<b>\n-->", "<a href=\"x\">\n", "[a]: javascript:b\n\n[a]", "```\"><script>\nx\n```", "- [ ] <i>", "<https://a\"onclick=b>",
		"[a](https://x \"title\")", "&lt;b&gt; &#60;i>", "\x00\xff<",
	} {
		f.Add(seed)
	}
	m := markup.HTML("")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			t.Skip()
		}
		for z := html.NewTokenizer(strings.NewReader(render(m, text))); ; {
			kind := z.Next()
			if kind == html.ErrorToken {
				return
			}
			token := z.Token()
			switch kind {
			case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
				may, ok := elements[token.Data]
				if !ok {
					t.Fatalf("%q has <%s>", text, token.Data)
				}
				for _, a := range token.Attr {
					if !slices.Contains(may, a.Key) || a.Key == "href" && !strings.HasPrefix(a.Val, "http://") && !strings.HasPrefix(a.Val, "https://") && !strings.HasPrefix(a.Val, "mailto:") && !strings.HasPrefix(strings.ToLower(a.Val), "http") && !strings.HasPrefix(strings.ToLower(a.Val), "mailto:") {
						t.Fatalf("%q has <%s %s=%q>", text, token.Data, a.Key, a.Val)
					}
				}
			case html.CommentToken, html.DoctypeToken:
				t.Fatalf("%q has a %s", text, kind)
			}
		}
	})
}

// TestForged: names that look like somebody's are somebody else's, and what is no message of a
// person, or changes one, is not handed over. A homeserver of the federation chooses the names of
// its people, and what they send.
func TestForged(t *testing.T) {
	t.Parallel()
	c, err := New(Config{URL: "https://x", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	me := &account{"@me:x", "Me"}
	const said = `"type":"m.room.message","event_id":"$1","content":{"msgtype":"m.text","body":"/approve"}`
	for name, one := range map[string]struct{ event, from string }{
		"a person":                  {`{"sender":"@ann:x",` + said + `}`, "@ann:x"},
		"of another server":         {`{"sender":"@ann:x.evil.example",` + said + `}`, "@ann:x.evil.example"},
		"with another port":         {`{"sender":"@ann:x:8448",` + said + `}`, "@ann:x:8448"},
		"with another letter":       {`{"sender":"@\u0430nn:x",` + said + `}`, "@\u0430nn:x"},
		"in upper case":             {`{"sender":"@Ann:x",` + said + `}`, "@Ann:x"},
		"with a server in the name": {`{"sender":"@ann:x:evil.example",` + said + `}`, "@ann:x:evil.example"},
		"with a line break":         {`{"sender":"@ann\n:x",` + said + `}`, ""},
		"with a blank":              {`{"sender":"@ann :x",` + said + `}`, ""},
		"without a server":          {`{"sender":"@ann",` + said + `}`, ""},
		"as a room":                 {`{"sender":"!ann:x",` + said + `}`, ""},
		"the account itself":        {`{"sender":"@me:x",` + said + `}`, ""},
		"without a sender":          {`{` + said + `}`, ""},
		"with a list of senders":    {`{"sender":["@ann:x"],` + said + `}`, ""},
		"as state":                  {`{"sender":"@ann:x","state_key":"",` + said + `}`, ""},
		"without an ID":             {`{"sender":"@ann:x","type":"m.room.message","content":{"msgtype":"m.text","body":"hi"}}`, ""},
		"redacted":                  {`{"sender":"@ann:x","type":"m.room.message","event_id":"$1","content":{},"unsigned":{"redacted_because":{"sender":"@eve:x"}}}`, ""},
		"of another type":           {`{"sender":"@ann:x","type":"m.room.redaction","event_id":"$1","redacts":"$0","content":{"msgtype":"m.text","body":"hi"}}`, ""},
		"edited": {`{"sender":"@ann:x","type":"m.room.message","event_id":"$1","content":{"msgtype":"m.text","body":"* hi","m.new_content":{"msgtype":"m.text","body":"/approve"},
			"m.relates_to":{"rel_type":"m.replace","event_id":"$0"}}}`, ""},
		"a verification": {`{"sender":"@ann:x","type":"m.room.message","event_id":"$1","content":{"msgtype":"m.key.verification.request","body":"hi","to":"@me:x"}}`, ""},
	} {
		from := ""
		for _, e := range c.decode(t.Context(), []json.RawMessage{json.RawMessage(one.event)}) {
			if a, ok := c.arrival(me, "!r:x", e); ok && !a.Edited {
				from = a.From.ID
			}
		}
		if from != one.from {
			t.Errorf("%s: from %q, want %q", name, from, one.from)
		}
	}
}

// FuzzSync: whatever /sync says of a room is left out or becomes a message of somebody in it.
func FuzzSync(f *testing.F) {
	for _, seed := range []string{
		`{"timeline":{"events":[{"type":"m.room.message","event_id":"$1","sender":"@a:x","origin_server_ts":1700000000000,"content":{"msgtype":"m.text","body":"@me:x: hi","m.mentions":{"user_ids":["@me:x"]}}}],"limited":true,"prev_batch":"s1"}}`,
		`{"timeline":{"events":[{"type":"m.room.member","event_id":"$1","sender":"@a:x","state_key":"@me:x","content":{"membership":"invite","is_direct":true},"unsigned":{"prev_content":{"membership":"leave"},"replaces_state":"$0"}},{"type":"m.room.encrypted","event_id":"$2","sender":"@a:x","content":{}}]}}`,
		`{"timeline":{"events":[{"type":"m.room.message","event_id":"$1","sender":"@a:x","content":{"msgtype":"m.image","body":"a.png","url":"mxc://x/y","info":{"size":-1e300,"mimetype":"image/png"},"m.relates_to":{"rel_type":"m.thread","event_id":"$r","is_falling_back":false,"m.in_reply_to":{"event_id":"$q"}}}}]}}`,
		`{"timeline":{"events":[{"type":"m.sticker","event_id":"$1","sender":"@a:x","content":{"body":5}},{"type":"m.room.message","event_id":"$2","sender":"@a:x","content":{"body":"> <@b:x> q\n\nr","msgtype":"m.text","m.relates_to":{"m.in_reply_to":{"event_id":"$q"}}}}]}}`,
		`{"timeline":{"events":[{"type":"m.room.power_levels","event_id":"$1","sender":"@a:x","state_key":"","content":{"users":{"@a:x":"100","@b:x":1e99,"@c:x":null},"users_default":{}}},null,[],5]}}`,
	} {
		f.Add([]byte(seed))
	}
	c, err := New(Config{URL: "https://x", Token: "t"})
	if err != nil {
		f.Fatal(err)
	}
	me := &account{"@me:x", "Me"}
	f.Fuzz(func(t *testing.T, data []byte) {
		var news joined
		if json.Unmarshal(data, &news) != nil {
			return
		}
		events := c.decode(t.Context(), news.Timeline.Events)
		if from, _ := entry(me.ID, events); from < 0 || from > len(events) {
			t.Fatalf("entered at %d of %d", from, len(events))
		}
		for _, e := range events {
			var p powerLevels
			_ = json.Unmarshal(e.Content, &p)
			for _, l := range p.Users {
				if l < -1<<31 || l > 1<<31 {
					t.Errorf("level %d", l)
				}
			}
			if at := e.time(); at.After(time.UnixMilli(1 << 52)) {
				t.Errorf("time %v", at)
			}
			_ = citation(e)
			a, ok := c.arrival(me, "!r:x", e)
			if !ok {
				continue
			}
			if !eventID(a.ID) || !userID(a.From.ID) || a.From.ID == me.ID || a.At.Thread != "" && !eventID(a.At.Thread) || a.replyTo != "" && !eventID(a.replyTo) ||
				!a.encrypted && a.Text == "" && len(a.files) == 0 || strings.Contains(a.From.Handle, "\n") {
				t.Errorf("%+v", a)
			}
			for _, f := range a.files {
				if f.size < 0 || strings.ContainsAny(f.name+f.mediaType, "\r\n") {
					t.Errorf("%+v", f)
				}
			}
		}
	})
}

func TestMXC(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"mxc://x.org/abc": true, "mxc://x.org:8448/a-b_c": true, "mxc://[::1]:8448/a": true, "mxc://x.org/": false, "mxc:///a": false, "mxc://x.org/a/b": false, "mxc://x.org/..": false,
		"mxc://../a": false, "mxc://a?b/c": false, "mxc://a%2fb/c": false, "https://x.org/a": false, "": false,
	} {
		if _, _, ok := mxc(address); ok != want {
			t.Errorf("%q: %v", address, ok)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]Config{
		"":                    {URL: "https://matrix.example.org/", Token: "syt_x", Groups: []string{"*", "!r:x.org", "#room:x.org"}},
		"url is missing":      {Token: "syt_x"},
		"not the address":     {URL: "matrix.example.org", Token: "syt_x"},
		"write https":         {URL: "http://matrix.example.org", Token: "syt_x"},
		"not an access token": {URL: "http://127.0.0.1:8008", Token: "a b"},
		"neither the address": {URL: "http://synapse:8008", Token: "syt_x", Groups: []string{"room:x.org"}},
	} {
		if _, err := New(config); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a b")) {
			t.Errorf("%+v: %v", config, err)
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]level{`100`: 100, `"50"`: 50, `" +7 "`: 7, `-1`: -1, `1.9`: 1, `1e99`: 1 << 31, `"NaN"`: 0, `null`: 0, `{}`: 0, `"x"`: 0} {
		var l level
		if err := l.UnmarshalJSON([]byte(data)); err != nil || l != want {
			t.Errorf("%s: %d, %v", data, l, err)
		}
	}
}

// TestAfter checks how long the homeserver is left alone: its header counts, and else the older
// number of milliseconds.
func TestAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header       string
		milliseconds string
		want         time.Duration
	}{
		{"3", "9000", 3 * time.Second}, {"", "1500", 1500 * time.Millisecond}, {"", "0", 5 * time.Second}, {"-1", "-1", 5 * time.Second},
		{"999999999999", "1e300", time.Hour}, {"99999999", "0", time.Hour}, {"", "1e300", time.Hour},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.header)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":` + c.milliseconds + `}`))
		}))
		m, err := New(Config{URL: server.URL, Token: "token"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.api.Do(t.Context(), route("GET", "v3/sync"))
		var limited *channel.Limited
		if !errors.As(err, &limited) || limited.After != c.want {
			t.Errorf("%q, %v: %v", c.header, c.milliseconds, err)
		}
		server.Close()
	}
}
