package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/web"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/tool"
)

// shown are texts of models, and how the page draws them: as models mean them, and never as HTML.
var shown = [][2]string{
	{"**注意：**请看 2*3*4 and __init__.py", "<p><strong>注意：</strong>请看 2*3*4 and __init__.py</p>"},
	{"***both*** and _it_ __b__", "<p><em><strong>both</strong></em> and <em>it</em> <strong>b</strong></p>"},
	{"`a``b` and `` a`b ``", "<p><code>a``b</code> and <code>a`b</code></p>"},
	{`\*no\* &lt;b&gt; a<br>b <b>x</b> \(x\)`, "<p>*no* &lt;b&gt; a<br>b &lt;b&gt;x&lt;/b&gt; \\(x\\)</p>"},
	{"a[^1]\n\n[^1]: note", "<p>a[^1]</p><p>[^1]: note</p>"},
	{"one  \ntwo\nthree", "<p>one<br>two<br>three</p>"},
	{"[维基](https://e.com/Go_(语言)) <https://e.com/a_b> [x](javascript:alert(1))", `<p><a https://e.com/Go_(%E8%AF%AD%E8%A8%80)>维基</a> <a https://e.com/a_b>https://e.com/a_b</a> <a>x</a></p>`},
	{"(https://e.com/A_(b)), https://e.cn/路径，好", "<p>(<a https://e.com/A_(b)>https://e.com/A_(b)</a>), <a https://e.cn/%E8%B7%AF%E5%BE%84>https://e.cn/路径</a>，好</p>"},
	{"- 一\n  - 二\n    - [x] 三", "<ul><li>一<ul><li>二<ul><li>☑ 三</li></ul></li></ul></li></ul>"},
	{"1. a\n\n   ```go\n   x\n     y\n   ```", "<ol><li><p>a</p><div><pre><code>x\n  y\n</code></pre></div></li></ol>"},
	{"A\n===\nb", "<h1>A</h1><p>b</p>"},
	{"| a | b |\n|---|:-:|\n| 1 | 4 \\| 5 |\n\nafter", "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>4 | 5</td></tr></tbody></table></div><p>after</p>"},
	{"| a | b |\n|---|---|\n| `x|y` | **z** |", "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><code>x|y</code></td><td><strong>z</strong></td></tr></tbody></table></div>"},
	{"<img src=x onerror=alert(1)> ![y](http://x.test/y.png) \u202etxt.exe", "<p>&lt;img src=x onerror=alert(1)&gt; <a http://x.test/y.png>y</a> txt.exe</p>"},
	{strings.Repeat(">", 20_000) + " deep", ""},
}

// pixel is a picture.
var pixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

// TestChatInBrowser uses the page for those who ask in Chromium: at /chat, with a key and without one, at
// the address of a web channel, and in the page of another site.
func TestChatInBrowser(t *testing.T) {
	if _, err := os.Stat("testdata/console/node_modules/playwright-core"); err != nil {
		leftout.Without(t, "a browser from npm")
	}
	const secret = "0123456789abcdef0123456789abcdef"
	r := catalog.NewRegistry(nil)
	type input struct {
		Title string `json:"title"`
	}
	add := func(name, description string, run func(ctx context.Context) (chat.Result, error)) {
		definition := tool.Definition{Name: name, Description: description, Groups: []string{"office"}, Risk: tool.Write, Source: "test"}
		if err := r.Register(tool.Func(definition, func(ctx context.Context, _ input) (chat.Result, error) { return run(ctx) })); err != nil {
			t.Fatal(err)
		}
	}
	add("report", "Send a report, such as the weekly one", func(context.Context) (chat.Result, error) {
		return chat.Result{Text: "sent <script>alert(1)</script> \u202egpj.exe"}, nil
	})
	add("pay", "Pay a bill", func(context.Context) (chat.Result, error) { return chat.Result{Text: "paid"}, nil })
	add("draw", "Draw a picture", func(context.Context) (chat.Result, error) {
		return chat.Result{Text: "drawn", View: &chat.View{Files: []chat.File{
			{Name: "pixel.png", MediaType: "image/png", Data: pixel}, {Name: "page.html", MediaType: "text/html", Data: []byte("<script>alert(1)</script>")}, {Name: "photo\u202egpj.exe", MediaType: "application/octet-stream", Data: pixel},
		}}}, nil
	})
	add("wait", "Wait for a long time", func(ctx context.Context) (chat.Result, error) {
		<-ctx.Done()
		return chat.Result{}, ctx.Err()
	})
	for name, choices := range map[string][]string{"name_it": nil, "choose_it": {"red", "blue"}} {
		if err := r.Register(tool.Func(tool.Definition{Name: name, Description: "Ask the person something", Groups: []string{"office"}, Risk: tool.Read, Source: "test"}, func(ctx context.Context, _ input) (string, error) {
			if reply, _ := tool.Asks(ctx); reply != nil {
				return "The person said " + reply.Text, nil
			}
			return "", &tool.Question{Text: "Which one do you mean?", Choices: choices}
		})); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Register(tool.Func(tool.Definition{Name: "read", Description: "Read the calendar", Groups: []string{"calendar"}, Source: "test"}, func(context.Context, input) (string, error) { return "free", nil })); err != nil {
		t.Fatal(err)
	}
	call := func(name string) fake.Step {
		return fake.Step{Calls: []chat.Call{{ID: name, Name: name, Arguments: []byte(`{"title":"weekly \u202egpj.exe"}`)}}}
	}
	steps := []fake.Step{call("report"), {Pieces: []string{"It is ", "**sent**."}}, call("draw"), {Text: "Here.", Check: func(q model.Request) error {
		for _, m := range q.Messages {
			if len(m.Files) > 0 {
				return nil
			}
		}
		return errors.New("the model got no picture")
	}}, call("name_it"), {Text: "Named."}, call("choose_it"), {Text: "Chosen."}, {Text: "Seen both."}, call("wait")}
	for _, c := range shown {
		steps = append(steps, fake.Step{Text: c[0]})
	}
	steps = append(steps, fake.Step{Text: "Hello **guest**"}, call("report"), fake.Step{Text: "Sent for the guest."}, call("read"), fake.Step{Text: "Free for the guest."}, fake.Step{Text: "In a frame."})
	people, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"key:ann"}}, {Name: "max", Identities: []string{"key:max"}}})
	if err != nil {
		t.Fatal(err)
	}
	keys := &identity.Keys{}
	key, err := keys.Add(identity.Key{Name: "ann"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	approver, err := keys.Add(identity.Key{Name: "max"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	second := []fake.Step{call("draw"), {Text: "Drawn by the second."}, call("report"), {Text: "Sent by the second."}}
	begin := func(cfg server.Config, origins []string, steps ...fake.Step) *httptest.Server {
		c := engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New(steps...)}, {Name: "second", Model: fake.New(second...)}}}
		c.Users = by(func() *identity.Users { return people })
		c.Turn.Approvals = true
		c.Turn.Decide = func(_ context.Context, a rules.Attempt) rules.Decision {
			if a.Entry != nil && (a.Entry.Definition.Name == "report" || a.Entry.Definition.Name == "pay") {
				return rules.Decision{Effect: rules.Ask}
			}
			return rules.Decision{Effect: rules.Allow}
		}
		c.Approvers = func(_ context.Context, a rules.Attempt) rules.Decision {
			switch {
			case a.Entry == nil || a.Entry.Definition.Name != "pay":
				return rules.Decision{Effect: rules.Ask}
			case a.Facts.User == "max":
				return rules.Decision{Effect: rules.Allow}
			}
			return rules.Decision{Effect: rules.Deny}
		}
		e, err := engine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		var accounts []channel.Account
		for name, calls := range map[string]string{"talk": "", "open": web.CallsAll, "choice": ""} {
			var agents []string
			if name == "choice" {
				agents = []string{"main", "second"}
			}
			talk, err := web.New(web.Config{Name: name, Agents: agents, Secrets: []string{secret}, Guests: true, Page: true, Origins: origins, Calls: calls})
			if err != nil {
				t.Fatal(err)
			}
			accounts = append(accounts, channel.Account{Name: name, Channel: talk, Allow: []string{"*"}})
		}
		if cfg.Channels, err = channel.New(channel.Config{Engine: e, Accounts: accounts}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); cfg.Channels.Run(ctx) }()
		t.Cleanup(func() { stop(); <-done })
		cfg.Users = func() *identity.Users { return people }
		s := httptest.NewServer(server.New(e, cfg))
		t.Cleanup(s.Close)
		return s
	}
	// The page of another site, which has the one line.
	var gateway string
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<h1>Shop</h1><iframe src="%s/channels/talk" width="400" height="600" title="Chat"></iframe>`, gateway)
	}))
	defer shop.Close()
	site := strings.Replace(shop.URL, "127.0.0.1", "localhost", 1)
	open := begin(server.Config{}, []string{site}, steps...)
	gateway = open.URL
	closed := begin(server.Config{Key: "master", Keys: keys}, nil, fake.Step{Text: "Hello Ann"}, call("report"), fake.Step{Text: "Sent by another."},
		call("pay"), fake.Step{Text: "Meanwhile."}, fake.Step{Text: "It is paid."}, call("pay"), fake.Step{Text: "Taken back."}, fake.Step{Text: "Read for the visitor."}, fake.Step{Calls: []chat.Call{{ID: "r", Name: "read", Arguments: []byte(`{"title":"` + strings.Repeat("long ", 3000) + `"}`)}, {ID: "s", Name: "report", Arguments: []byte(`{"title":"weekly"}`)}}}, fake.Step{Text: "Sent for the visitor."})
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(secret)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(map[string]any{"sub": "visitor", "exp": time.Now().Add(time.Hour).Unix()}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	table, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "chat.mjs", open.URL, closed.URL, key, approver, token, site, shop.URL, os.Getenv("TEST_SHOTS"))
	cmd.Dir = "testdata/console"
	cmd.Stdin = strings.NewReader(string(table))
	cmd.Env = append(os.Environ(), "AWS_LAMBDA_JS_RUNTIME=nodejs20.x") // the browser from npm brings its libraries for this one
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("node chat.mjs: %v\n%s", err, out)
	}
}

// TestChatPage: the page runs its own scripts only, and nobody frames it but at a channel's address the
// sites that it lists.
func TestChatPage(t *testing.T) {
	status, _ := ask(t.Context(), newServer(t, server.Config{}, nil), "GET", "http://localhost/chat", "")
	w := httptest.NewRecorder()
	newServer(t, server.Config{}, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/chat", nil))
	policy := w.Header().Get("Content-Security-Policy")
	if status != http.StatusOK || !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") || w.Header().Get("X-Frame-Options") != "DENY" {
		t.Errorf("%d, %v", status, w.Header())
	}
}
