package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/channel/slack/slacktest"
	"github.com/etui-run/etui/channel/telegram/telegramtest"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/store/postgrestest"
)

// refundConfig is a shop: customers on Telegram, its people on Slack and on a web page. %s are the
// addresses of the model, the shop, Telegram and Slack, when a request expires, and Slack's tokens.
const refundConfig = `
listen: 127.0.0.1:0
models:
  - {name: m, provider: openai, model: m, base_url: "%[1]s/v1", api_key: x, retries: 0}
agents:
  - {name: main, model: m, mode: direct}
tools: {builtin: false}
skills:
  local: ["%[2]s"]
channels:
  - {type: telegram, token: "%[3]s", url: "%[4]s", allow: ["*"], whole: true}
  - {type: slack, token: %[7]s, app_token: %[8]s, url: "%[5]s/api/", allow: [users], whole: true}
  - {type: web, secret: 0123456789abcdef0123456789abcdef, allow: [users], whole: true}
users:
  - {name: lena, identities: ["slack:U2"], roles: [lead]}
  - {name: max, identities: ["web:max"], roles: [lead]}
  - {name: boss, identities: ["slack:U9"]}
policy:
  rules:
    - ask: [refund]
  approvals:
    expire: %[6]s
    rules:
      - {allow: [refund], roles: [lead]}
      - {allow: [refund], users: [boss], after: 1s}
`

// shop is the gateway, which is killed and started again, with what is around it.
type shop struct {
	*testing.T
	chinese  bool
	dir      string
	env      []string
	model    *httptest.Server
	service  *httptest.Server
	telegram *telegramtest.Server
	slack    *slacktest.Server

	process *exec.Cmd
	gateway string
	page    context.CancelFunc
	blind   bool // nobody opens the page: one of several gateways has it

	mu   sync.Mutex
	paid map[string]bool // by the key of the payment
	max  []string        // what max has read on the page, with buttons
	said int
}

func openShop(t *testing.T, chinese bool) *shop {
	s := &shop{T: t, chinese: chinese, page: func() {}, paid: map[string]bool{}, dir: t.TempDir(), telegram: telegramtest.Start(), slack: slacktest.Start()}
	t.Cleanup(s.telegram.Close)
	t.Cleanup(s.slack.Close)
	s.model = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.model.Close)
	s.service = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.paid[r.Header.Get("Idempotency-Key")] = true // it may come twice, where the process was killed
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `"paid"`)
	}))
	t.Cleanup(s.service.Close)
	s.env = append(os.Environ(), "HOME="+s.dir, "XDG_STATE_HOME="+t.TempDir(), "ETUI_TRUST="+s.dir, "ETUI_SANDBOX_MODE=off", "NO_COLOR=1")
	for _, id := range []string{"U2", "U9"} {
		s.slack.Person(id, slacktest.Object{"name": id, "team_id": slacktest.Team})
	}
	s.put("skills/refund.yaml", "name: refund\ndescription: Pay an order back.\nprovider: http\nendpoint: "+s.service.URL+
		"/refund\nrisk_level: write\nreplay: keyed\nparameters: {type: object, properties: {order: {type: integer, description: The order.}}, required: [order]}\n")
	s.configure("24h")
	t.Cleanup(s.kill)
	return s
}

func (s *shop) configure(expire string) {
	s.put("etui.yaml", fmt.Sprintf(refundConfig, s.model.URL, strings.TrimPrefix(s.service.URL, "http://"), s.telegram.Token, s.telegram.URL, s.slack.URL, expire, slacktest.BotToken, slacktest.AppToken))
}

func (s *shop) put(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// answer is the model: it calls refund for an order, and says what came of a call.
func (s *shop) answer(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return // the gateway was killed
	}
	last := asked.Messages[len(asked.Messages)-1]
	text := ""
	if json.Unmarshal(last.Content, &text) != nil {
		text = string(last.Content)
	}
	s.mu.Lock()
	s.said++
	id := fmt.Sprintf("call%d", s.said)
	s.mu.Unlock()
	delta, reason := map[string]any{"content": "said: " + word(text)}, "stop"
	order := regexp.MustCompile(`(?:refund|退款) (\d+)`).FindStringSubmatch(text)
	switch {
	case last.Role == "tool":
		delta["content"] = "result: " + word(text)
	case strings.Contains(text, "take your time"):
		<-r.Context().Done()
		return
	case order != nil:
		delta = map[string]any{"tool_calls": []any{map[string]any{
			"index": 0, "id": id, "type": "function", "function": map[string]any{"name": "refund", "arguments": `{"order":` + order[1] + `}`},
		}}}
		reason = "tool_calls"
	}
	chunk, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
}

// word keeps of what the model reads the part by which the test knows it.
func word(text string) string {
	for _, known := range []string{"paid", "expired", "declined", "withdrawn"} {
		if strings.Contains(text, known) {
			return known
		}
	}
	return "ok"
}

var servesAt = regexp.MustCompile(` at (http://\S+) \(ready`)

// start starts the gateway, and opens the page of max.
func (s *shop) start() {
	s.Helper()
	etui, err := exec.LookPath("etui")
	if err != nil {
		s.Fatal(err)
	}
	s.process = exec.Command(etui, "serve")
	s.process.Env, s.process.Dir = s.env, s.dir
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.Fatal(err)
	}
	defer log.Close()
	s.process.Stderr = log
	s.gateway = ""
	out, err := s.process.StdoutPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at := servesAt.FindStringSubmatch(lines.Text()); at != nil {
			s.gateway = at[1]
			break
		}
	}
	if s.gateway == "" {
		s.log("the gateway does not start")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if s.blind {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.page = cancel
	open := make(chan struct{})
	go s.read(ctx, open)
	select {
	case <-open:
	case <-time.After(20 * time.Second):
		s.log("the page cannot connect")
	}
}

// log ends the test, and shows the log of the gateway.
func (s *shop) log(format string, args ...any) {
	s.Helper()
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	s.Fatalf(format+"\n%s", append(args, log)...)
}

// kill ends the gateway with SIGKILL.
func (s *shop) kill() {
	if s.process == nil {
		return
	}
	s.page()
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	s.process = nil
}

func (s *shop) again() {
	s.Helper()
	s.kill()
	s.start()
}

// hello is the first message of max's page.
func (s *shop) hello() []byte {
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	token := part(map[string]any{"alg": "HS256", "typ": "JWT"}) + "." + part(map[string]any{"sub": "max", "exp": time.Now().Add(time.Hour).Unix()})
	mac := hmac.New(sha256.New, []byte("0123456789abcdef0123456789abcdef"))
	mac.Write([]byte(token))
	said, _ := json.Marshal(map[string]any{"type": "hello", "token": token + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))})
	return said
}

// read reads what the page shows, until ctx ends.
func (s *shop) read(ctx context.Context, open chan<- struct{}) {
	ready := sync.OnceFunc(func() { close(open) })
	defer ready()
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.gateway+"/channels/web", bytes.NewReader(s.hello()))
		if err != nil {
			return
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			var e struct {
				Type, ID, Text, Stream, Key string
				Buttons                     []struct{ Label, Text string }
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || json.Unmarshal([]byte(data), &e) != nil {
				continue
			}
			if e.Type == "welcome" {
				s.mu.Lock()
				s.max = nil // all is shown again
				s.mu.Unlock()
				ready()
			}
			if e.Type == "message" {
				text := e.Text
				for _, b := range e.Buttons {
					text += " [" + b.Label + "|" + b.Text + "]"
				}
				s.mu.Lock()
				s.max = append(s.max, text)
				s.mu.Unlock()
			}
		}
		answer.Body.Close()
	}
}

// reads returns what somebody has read, with the buttons.
func (s *shop) reads(who string) (list []string) {
	switch who {
	case "carl":
		for _, m := range s.telegram.Sent("1001") {
			text := m.Text
			for _, b := range m.Buttons {
				text += " [" + b.Label + "|" + b.Data + "]"
			}
			list = append(list, text)
		}
	case "max":
		s.mu.Lock()
		defer s.mu.Unlock()
		return append(list, s.max...)
	default:
		if strings.HasPrefix(who, "U") {
			who = "D" + who[1:]
		}
		for _, m := range s.slack.Sent(who) {
			text := m.Text
			if len(m.Blocks) > 0 {
				blocks, _ := json.Marshal(m.Blocks)
				text += " " + string(blocks)
			}
			list = append(list, text)
		}
	}
	return list
}

// until waits until somebody has read a text, and returns the message.
func (s *shop) until(who, want string) string {
	s.Helper()
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		for _, m := range s.reads(who) {
			if strings.Contains(m, want) {
				return m
			}
		}
	}
	s.log("%s does not read %q, but %q", who, want, s.reads(who))
	return ""
}

// says lets carl write.
func (s *shop) says(text string) {
	s.telegram.Write(telegramtest.Object{"from": telegramtest.Object{"id": 1001, "first_name": "Carl"}, "chat": telegramtest.Object{"id": 1001, "type": "private"}, "text": text})
}

// answers lets one of the shop's people write on Slack.
func (s *shop) answers(user, text string) {
	s.slack.Write(slacktest.Object{"channel": "D" + user[1:], "user": user, "text": text})
}

// asks lets carl ask for a refund, and returns the ID of the request once the leads were asked.
func (s *shop) asks(order int) string {
	s.Helper()
	text := fmt.Sprintf("please refund %d", order)
	if s.chinese {
		text = fmt.Sprintf("请退款 %d", order)
	}
	s.says(text)
	args := fmt.Sprintf(`{"order":%d}`, order)
	mine := s.until("carl", args)
	s.until("U2", args[1 : len(args)-1][9:])
	if _, id, _ := strings.Cut(mine, "/withdraw "); s.blind {
		return id[:6]
	}
	theirs := s.until("max", args)
	if !strings.HasPrefix(theirs, "Carl") || strings.Contains(mine, "/approve") || !strings.Contains(mine, "lena") || !strings.Contains(mine, "max") || !strings.Contains(theirs, "|/approve ") {
		s.Errorf("carl reads %q, and max %q", mine, theirs)
	}
	_, id, _ := strings.Cut(mine, "/withdraw ")
	list := ""
	for began := time.Now(); !strings.Contains(list, `"asked":["lena","max"],"theirs":true`); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			s.log("carl's program reads %s", list)
		}
		own, err := http.Get(s.gateway + "/api/approvals?user=telegram:1001")
		if err != nil {
			s.Fatal(err)
		}
		text, err := io.ReadAll(own.Body)
		own.Body.Close()
		if list = string(text); err != nil || !strings.Contains(list, `"id":"`+id[:6]) {
			s.log("carl's program reads %s, %v", list, err)
		}
	}
	return id[:6]
}

// TestRefund: a customer on Telegram asks for a refund. The team lead on Slack and a second one on the
// web page are asked; the first answer counts, and the other one sees it. The customer goes on talking
// meanwhile and gets the outcome, whatever the leads, the customer or the clock decide, and although the
// process is killed in between. The audit has every step, and a Chinese customer reads no English.
func TestRefund(t *testing.T) {
	for _, chinese := range []bool{false, true} {
		t.Run(fmt.Sprint("chinese ", chinese), func(t *testing.T) {
			t.Parallel()
			s := openShop(t, chinese)
			s.start()
			if chinese { // the people of the shop have written before
				s.answers("U2", "你好")
				s.answers("U9", "你好")
				s.until("U2", "said")
				s.until("U9", "said")
			}
			told := func(english, zh string) string {
				if chinese {
					return zh
				}
				return english
			}

			id := s.asks(1)
			s.again()
			s.says(told("what else is there?", "还有什么？"))
			s.until("carl", "said: ok")
			s.answers("U2", "/approve "+id)
			s.until("U2", told("Approved; ", "已批准；"))
			s.again()
			s.until("carl", "result: paid")
			s.until("max", told("refund ("+id+") was approved by lena", "由 lena 批准"))

			id = s.asks(2)
			s.answers("U2", "/deny "+id+" 7")
			s.until("carl", "result: declined")
			s.until("max", told("refund ("+id+") was declined by lena: 7", "由 lena 拒绝：7"))

			id = s.asks(3)
			s.says(told("hello", "你好"))
			s.again()
			s.says("/withdraw " + id)
			s.until("carl", "result: withdrawn")
			s.until("U2", id+told(") was withdrawn", "）"))

			id = s.asks(4)
			time.Sleep(1500 * time.Millisecond) // as long as the rule says, at least
			s.again()
			s.until("U9", "/approve "+id)
			s.answers("U9", "/approve "+id)
			s.until("max", told("refund ("+id+") was approved by boss", "由 boss 批准"))
			s.until("U2", "boss")

			id = s.asks(6)
			if out, err := s.etui("approvals", "deny", id); err != nil {
				s.log("deny: %v\n%s", err, out)
			}
			s.until("max", told("refund ("+id+") was declined by an operator", "由 管理员 拒绝"))

			s.configure("1s")
			s.again()
			id = s.asks(5)
			time.Sleep(2100 * time.Millisecond) // times are whole seconds
			s.again()
			s.until("carl", "result: expired")
			s.until("max", told("refund ("+id+") has expired", "已过期"))
			if s.mu.Lock(); len(s.paid) != 2 {
				t.Errorf("%d refunds were paid", len(s.paid))
			}
			s.mu.Unlock()

			out, err := s.etui("audit", "--json", "--limit", "1000")
			var list []audit.Decision
			if err == nil {
				err = json.Unmarshal(out, &list)
			}
			if err != nil {
				t.Fatalf("audit: %v\n%s", err, out)
			}
			stages := map[string]int{}
			for _, d := range list {
				stages[d.Kind]++
			}
			for stage, n := range map[string]int{"approved": 2, "declined": 1, "withdrawn": 1, "expired": 1} {
				if stages[stage] < n { // a step that was killed may be there twice
					t.Errorf("the audit has %v", stages)
				}
			}
			if stages["asked"] < 5+10+1 {
				t.Errorf("the audit has %v", stages)
			}
			if chinese {
				s.checkWords()
			}
		})
	}
}

// openTwo opens a shop with two gateways over one PostgreSQL.
func openTwo(t *testing.T) (one, two *shop) {
	t.Helper()
	database := postgrestest.For(t)
	one = openShop(t, false)
	one.blind = true
	text, err := os.ReadFile(filepath.Join(one.dir, "etui.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	one.put("etui.yaml", fmt.Sprintf("store: %q\n%s", database.URL("postgres"), text))
	two = &shop{
		T: t, dir: one.dir, env: append(slices.Clone(one.env), "XDG_STATE_HOME="+t.TempDir()), page: func() {}, paid: map[string]bool{}, blind: true,
		telegram: one.telegram, slack: one.slack, model: one.model, service: one.service,
	}
	t.Cleanup(two.kill)
	one.start()
	two.start()
	return one, two
}

// TestRefundInTwo: two gateways over one PostgreSQL ask and answer for each other, whichever of them is
// killed, and carl reads the outcome once.
func TestRefundInTwo(t *testing.T) {
	t.Parallel()
	one, two := openTwo(t)
	for i, kill := range []*shop{nil, one, two} {
		id := one.asks(60 + i)
		if kill != nil {
			kill.again()
		}
		one.answers("U2", "/approve "+id)
		one.until("U2", "Approved; ")
		if kill != nil {
			kill.again()
		}
		results := func() (n int) {
			for _, m := range one.reads("carl") {
				n += strings.Count(m, "result: paid")
			}
			return n
		}
		for began := time.Now(); results() <= i; time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > 30*time.Second {
				one.log("carl reads %q", one.reads("carl"))
			}
		}
		time.Sleep(time.Second) // a second one would come by then
		if results() != i+1 {
			t.Errorf("carl reads %q", one.reads("carl"))
		}
	}
	if one.mu.Lock(); len(one.paid) != 3 {
		t.Errorf("%d refunds were paid", len(one.paid))
	}
	one.mu.Unlock()
}

// TestAskedByName: a rule names a chat on Slack as people call it. Those who are in it are asked and
// decide; the state says when the chat has another name, and then nobody there decides.
func TestAskedByName(t *testing.T) {
	t.Parallel()
	s := openShop(t, false)
	file := filepath.Join(s.dir, "etui.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for old, now := range map[string]string{
		"{allow: [refund], roles: [lead]}":                      `{allow: [refund], chats: ["slack:#ops"]}`,
		"allow: [users], whole: true}\n  - {type: web":          "groups: [\"#ops\"], allow: [users], whole: true}\n  - {type: web",
		"      - {allow: [refund], users: [boss], after: 1s}\n": "",
	} {
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("%q is not in\n%s", old, text)
		}
		text = bytes.ReplaceAll(text, []byte(old), []byte(now))
	}
	s.put("etui.yaml", string(text))
	s.slack.Rename("C70", "general")
	s.slack.Rename("C7", "ops")
	s.start()
	says := func(text string) {
		s.slack.Write(slacktest.Object{"channel": "C7", "channel_type": "channel", "user": "U5", "text": "<@" + slacktest.Bot + "> " + text})
	}
	asked := func(order string) string {
		t.Helper()
		s.says("please refund " + order)
		s.until("C7", order+"}")
		_, id, _ := strings.Cut(s.until("carl", order+"}"), "/withdraw ")
		return id[:6]
	}
	says("/approve " + asked("41"))
	s.until("carl", "result: paid")

	id := asked("42")
	s.slack.Rename("C7", "old")
	s.slack.Rename("C9", "ops")
	says("/approve " + id)
	for range 20 { // the chat's name is learned from its messages
		s.slack.Write(slacktest.Object{"channel": "C9", "channel_type": "channel", "user": "U5", "text": "<@" + slacktest.Bot + "> /deny " + id + " 7"})
		time.Sleep(500 * time.Millisecond)
		if slices.ContainsFunc(s.reads("carl"), func(m string) bool { return strings.Contains(m, "result: declined") }) {
			break
		}
	}
	s.until("carl", "result: declined")
	if s.mu.Lock(); len(s.paid) != 1 {
		t.Errorf("%d refunds were paid", len(s.paid))
	}
	s.mu.Unlock()

	s.slack.Rename("C9", "gone")
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		_, _ = s.etui("channels", "test", "slack")
		out, err := s.etui("channels", "list")
		if strings.Contains(string(out), `"#ops"`) {
			break
		}
		if time.Since(began) > 30*time.Second {
			s.log("channels list: %v\n%s", err, out)
		}
	}
}

// TestOperatorDecides: the operator decides in another terminal, whoever else may, and an open chat
// shows what came of it.
func TestOperatorDecides(t *testing.T) {
	t.Parallel()
	s := openShop(t, false)
	s.start()
	etui, err := exec.LookPath("etui")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), etui, "chat", "--user", "guest")
	c.Env, c.Dir = s.env, s.dir
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.Stdout = out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, "refund 1\n")
	asked := s.until("max", "/approve ")
	_, id, _ := strings.Cut(asked, "/approve ")
	if said, err := s.etui("approvals", "approve", id[:6]); err != nil || !strings.Contains(string(said), "may run") {
		t.Errorf("approve: %s, %v", said, err)
	}
	s.until("max", "was approved by")
	shown := ""
	for began := time.Now(); !strings.Contains(shown, "result: paid") && time.Since(began) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		_, _ = io.WriteString(in, "/approvals\n") // before each line it looks what went on; the turn may not have ended yet
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		shown = string(text)
	}
	_, _ = io.WriteString(in, "refund 2\n/withdraw\n")
	in.Close()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(out.Name()); err != nil || !strings.Contains(string(text), "result: withdrawn") {
		s.log("the chat shows %s, %v", text, err)
	}
	if !strings.Contains(shown, "result: paid") || !strings.Contains(shown, "Asked: lena, max") {
		s.log("the chat shows %s", shown)
	}
}

// etui runs a command in the workspace.
func (s *shop) etui(args ...string) ([]byte, error) {
	etui, err := exec.LookPath("etui")
	if err != nil {
		return nil, err
	}
	c := exec.Command(etui, args...)
	c.Env, c.Dir = s.env, s.dir
	return c.Output()
}

// notWords are what is no word of etui's: commands, what a person types after them, names, arguments, and
// what the model says.
var notWords = regexp.MustCompile(`/[a-z]+( [a-z2-7]{6})?( session)?|\b(session|always|refund|lena|max|boss|Carl|telegram|order|UTC)\b|\([a-z2-7]{6}\)|（[a-z2-7]{6}）|(said|result): [a-z]+`)

// shownTexts are the texts of blocks.
var shownTexts = regexp.MustCompile(`"text":"((?:[^"\\]|\\.)*)"`)

// checkWords reports English words in what people read.
func (s *shop) checkWords() {
	s.Helper()
	for _, who := range []string{"carl", "max", "U2", "U9"} {
		for _, text := range s.reads(who) {
			parts := []string{text}
			if at := strings.Index(text, ` [{"`); at >= 0 { // what Slack shows of blocks: texts and labels
				parts = []string{text[:at]}
				for _, shown := range shownTexts.FindAllStringSubmatch(text[at:], -1) {
					parts = append(parts, strings.NewReplacer(`\n`, "\n", `\"`, `"`).Replace(shown[1]))
				}
			}
			for _, part := range parts {
				left := notWords.ReplaceAllString(part, "")
				if strings.ContainsFunc(left, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) }) {
					s.Errorf("%s reads English: %q (%q)", who, part, left)
				}
			}
		}
	}
	if labels := s.until("U2", "/approve"); !chat.Chinese(labels) || strings.Contains(labels, "Approve") {
		s.Errorf("the buttons are %s", labels)
	}
}
