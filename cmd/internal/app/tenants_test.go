package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/channel/slack/slacktest"
	"github.com/etui-run/etui/channel/telegram/telegramtest"
	"github.com/etui-run/etui/channel/wecom/wecomtest"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/secret"
)

// tenantsConfig is one gateway for several kinds of people on three platforms. %s are the
// mode, and the addresses of the model, the skills' service, Telegram, Slack and WeCom.
const tenantsConfig = `
listen: 127.0.0.1:0
models:
  - {name: m, provider: openai, model: m, base_url: "%[2]s/v1", api_key: x, retries: 0}
agents:
  - {name: main, model: m, mode: %[1]s}
tools: {builtin: false}
skills:
  local: ["%[3]s"]
channels:
  - {type: telegram, token: "%[4]s", url: "%[5]s", allow: [users, "3003"], groups: ["-1001", "-1002"], whole: true, per_minute: 1000, refusal: I do not know you.}
  - {type: slack, token: xoxb-1-secret, secret: 8f742231b10e8888abcd99yyyzzz85a5, url: "%[6]s/api/", allow: [users, U3003], groups: [C1001, C1002], whole: true, per_minute: 1000, refusal: I do not know you.}
  - {type: wecom, corp: wx5823bf96d3bd56c7, app: 1000002, secret: the-secret-of-the-application, token: QDG6eK, key: jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C, url: "%[7]s",
     allow: [users, carol, dave], whole: true, per_minute: 1000, refusal: I do not know you.}
users:
  - {name: alice, identities: ["telegram:1001", "slack:U1001", "wecom:alice"], roles: [admin, staff]}
  - {name: bob, identities: ["telegram:2002", "slack:U2002", "wecom:bob"], roles: [staff]}
visibility:
  default: {destructive: deny}
  rules:
    - {name: admins, allow: [delete_account], when: '"admin" in user.roles'}
    - {name: moderators, allow: [ban_member], when: '"administrator" in platform.roles || "leader" in platform.roles'}
    - {name: vip, allow: [book_concierge], when: 'chat in ["-1002", "C1002", "carol"]'}
    - {name: staff, allow: [view_orders, telegram_poll, slack_huddle_link, wecom_approval], when: '"staff" in user.roles'}
    - {name: no-wecom, deny: [export_chat], when: channel == "wecom"}
    - {name: unused, deny: [telegram_sticker, wecom_meeting]}
`

// tenantSkills are the tools of a service, with their risks.
var tenantSkills = map[string]string{
	"opening_hours": "read", "view_orders": "read", "export_chat": "read", "book_concierge": "write", "ban_member": "destructive", "delete_account": "destructive",
}

// tenantTools are the names of all tools, with arguments that they take.
var tenantTools = map[string]string{
	"opening_hours": "{}", "view_orders": "{}", "export_chat": "{}", "book_concierge": "{}", "ban_member": "{}", "delete_account": "{}",
	"telegram_poll": `{"question":"When?","options":["now","later"]}`, "telegram_sticker": `{"emoji":"👍","set":"s"}`, "slack_huddle_link": `{"channel":"C0123456789"}`,
	"wecom_approval": `{"template":"x","fields":{"Reason":"a trip","金额":"1"}}`, "wecom_meeting": `{"title":"Plan","start":"2099-01-02 15:00","minutes":30}`,
}

// tenant is somebody at some place.
type tenant struct {
	name     string
	platform string
	// user is the sender's ID at the platform, and person the name in audits. Chat and thread
	// are where the message is written; a group has a chat of its own.
	user, person, chat, thread string
	group                      bool
	// conversation is what the words of this place may appear in.
	conversation string
	sees         []string
}

func tenants() []tenant {
	staff := func(more ...string) []string { return append([]string{"opening_hours", "view_orders"}, more...) }
	return []tenant{
		{"admin-telegram", "telegram", "1001", "alice", "-1001", "", true, "the team's group", staff("delete_account", "ban_member", "telegram_poll", "export_chat")},
		{"admin-slack", "slack", "U1001", "alice", "C1001", "1600000000.000001", true, "a thread of the team", staff("delete_account", "ban_member", "slack_huddle_link", "export_chat")},
		{"admin-wecom", "wecom", "alice", "alice", "alice", "", false, "alice", staff("delete_account", "ban_member", "wecom_approval")},
		// Written directly, no chat makes alice its administrator.
		{"admin-direct", "telegram", "1001", "alice", "1001", "", false, "alice", staff("delete_account", "telegram_poll", "export_chat")},

		// One person has one conversation on all channels.
		{"user-telegram", "telegram", "2002", "bob", "2002", "", false, "bob", staff("telegram_poll", "export_chat")},
		{"user-slack", "slack", "U2002", "bob", "DBOB", "", false, "bob", staff("slack_huddle_link", "export_chat")},
		{"user-wecom", "wecom", "bob", "bob", "bob", "", false, "bob", staff("wecom_approval")},

		// A customer in the VIP chat; WeCom tells of direct messages only.
		{"vip-telegram", "telegram", "4004", "telegram:4004", "-1002", "7", true, "topic 7", []string{"opening_hours", "book_concierge", "export_chat"}},
		{"vip-slack", "slack", "U4004", "slack:U4004", "C1002", "1600000000.000002", true, "a thread of the VIPs", []string{"opening_hours", "book_concierge", "export_chat"}},
		{"vip-wecom", "wecom", "carol", "wecom:carol", "carol", "", false, "carol", []string{"opening_hours", "book_concierge"}},
		// The same chat, and another topic or thread; the same conversation, and another person.
		{"vip-topic", "telegram", "4004", "telegram:4004", "-1002", "8", true, "topic 8", []string{"opening_hours", "book_concierge", "export_chat"}},
		{"vip-thread", "slack", "U4004", "slack:U4004", "C1002", "1600000000.000003", true, "another thread of the VIPs", []string{"opening_hours", "book_concierge", "export_chat"}},
		{"user-among-vips", "slack", "U2002", "bob", "C1002", "1600000000.000002", true, "a thread of the VIPs", staff("book_concierge", "slack_huddle_link", "export_chat")},

		{"guest-telegram", "telegram", "3003", "telegram:3003", "3003", "", false, "telegram guest", []string{"opening_hours", "export_chat"}},
		{"guest-slack", "slack", "U3003", "slack:U3003", "D3003", "", false, "slack guest", []string{"opening_hours", "export_chat"}},
		{"guest-wecom", "wecom", "dave", "wecom:dave", "dave", "", false, "wecom guest", []string{"opening_hours"}},
	}
}

// TestTenants: people with different rights talk to one gateway on three platforms at once.
// The model sees the tools of whoever writes, and no others; a call of another one by its
// name runs nothing; and each answer arrives where its question was asked.
func TestTenants(t *testing.T) {
	for _, mode := range []string{"direct", "bridge"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mode)
			var all sync.WaitGroup
			for _, who := range tenants() {
				all.Go(func() { w.visit(who) })
			}
			for _, stranger := range []tenant{
				{name: "stranger-telegram", platform: "telegram", user: "6006", chat: "6006"}, {name: "stranger-slack", platform: "slack", user: "U6006", chat: "D6006"},
				{name: "stranger-wecom", platform: "wecom", user: "mallory", chat: "mallory"},
			} {
				all.Go(func() {
					for range 4 {
						w.write(stranger, stranger.name+"-0: call delete_account")
					}
				})
			}
			all.Go(func() { // a group that nobody has opened
				w.write(tenant{platform: "telegram", user: "1001", chat: "-1003", group: true}, "stranger-group-0: call delete_account")
				w.write(tenant{platform: "slack", user: "U1001", chat: "C1003", thread: "1600000000.000009", group: true}, "stranger-group-0: call delete_account")
			})
			all.Wait()
			w.end()
			w.checkPlaces()
			w.readAudit()
			w.checkAudit()
		})
	}
}

// world is a gateway, its platforms, its model and the service of its skills.
type world struct {
	*testing.T
	mode     string
	space    *workdir.Workspace
	gateway  string
	telegram *telegramtest.Server
	slack    *slacktest.Server
	wecom    *wecomtest.Server
	end      func() // stops the gateway

	mu    sync.Mutex
	turns map[string]*tenantTurn // by the mark in the question
	ran   map[string]int         // how often the service was called, by tool
	audit []audit.Decision
}

// tenantTurn is what the model has seen of a turn.
type tenantTurn struct {
	declared []string
	marks    map[string]bool // of all turns whose words it has read
	results  []string        // of calls
	system   string
}

func newWorld(t *testing.T, mode string) *world {
	w := &world{T: t, mode: mode, telegram: telegramtest.Start(), slack: slacktest.Start(), wecom: wecomtest.Start(), turns: map[string]*tenantTurn{}, ran: map[string]int{}}
	t.Cleanup(w.telegram.Close)
	t.Cleanup(w.slack.Close)
	t.Cleanup(w.wecom.Close)
	model := httptest.NewServer(http.HandlerFunc(w.model))
	t.Cleanup(model.Close)
	service := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ran[strings.TrimPrefix(r.URL.Path, "/")]++
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `"it ran"`)
	}))
	t.Cleanup(service.Close)

	w.telegram.Member(-1001, 1001, "administrator")
	for id, admin := range map[string]bool{"U1001": true, "U2002": false, "U3003": false, "U4004": false, "U6006": false} {
		w.slack.Person(id, slacktest.Object{"name": strings.ToLower(id), "team_id": slacktest.Team, "is_admin": admin})
	}
	for _, id := range []string{"alice", "bob", "carol", "dave", "mallory"} {
		w.wecom.Member(id, id, id == "alice")
	}

	dir := t.TempDir()
	files := map[string]string{"etui.yaml": fmt.Sprintf(tenantsConfig, mode, model.URL, strings.TrimPrefix(service.URL, "http://"), w.telegram.Token, w.telegram.URL, w.slack.URL, w.wecom.URL)}
	for name, risk := range tenantSkills {
		files["skills/"+name+".yaml"] = fmt.Sprintf("name: %s\ndescription: %s of the shop.\nprovider: http\nendpoint: %s/%[1]s\nrisk_level: %[4]s\nparameters: {type: object}\n", name, strings.ReplaceAll(name, "_", " "), service.URL, risk)
	}
	if err := os.Mkdir(filepath.Join(dir, "skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	space, err := workdir.Open(dir, "", []string{"ETUI_STATE=" + t.TempDir(), "ETUI_SANDBOX_MODE=off", "HOME=" + dir, trust.Variable + "=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	w.space = space
	server, err := app.Listen(t.Context(), space, app.Config{Secrets: &secret.Set{}})
	if err != nil {
		t.Fatal(err)
	}
	w.gateway = server.URL
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, func() {}) }()
	w.end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.end)
	w.slack.Deliver(w.gateway + "/channels/slack")
	w.wecom.Deliver(w.gateway + "/channels/wecom")
	return w
}

// visit lets the model search as somebody, and call every tool by its name, whether it may
// be seen or not.
func (w *world) visit(who tenant) {
	want := slices.Sorted(slices.Values(who.sees))
	all := append(slices.Sorted(maps.Keys(tenantTools)), unknown)
	for _, verb := range []string{"call", "reach", "find"} {
		if verb == "find" && w.mode == "direct" {
			continue
		}
		turn := w.say(who, verb, all)
		declared := among(strings.Join(turn.declared, " "))
		if w.mode == "direct" && !slices.Equal(declared, want) || w.mode == "bridge" && len(declared) > 0 {
			w.Errorf("%s: the model is sent %v; %v may be seen", who.name, declared, want)
		}
		// Where several people share a conversation, its list of tools stays that of the first.
		if named := among(turn.system); !subset(named, want) || w.mode == "bridge" && len(named) == 0 {
			w.Errorf("%s: the system prompt names %v; %v may be seen", who.name, named, want)
		}
		if len(turn.results) != len(all) {
			w.Errorf("%s: %s: %d results of %d calls", who.name, verb, len(turn.results), len(all))
			continue
		}
		if verb == "find" {
			if found := among(strings.Join(turn.results, " ")); !slices.Equal(found, want) {
				w.Errorf("%s: find_tools finds %v; %v may be seen", who.name, found, want)
			}
			continue
		}
		refusal := turn.results[len(all)-1]
		for i, name := range all {
			// A hidden tool reads like one that does not exist.
			like := strings.ReplaceAll(turn.results[i], name, unknown) == refusal
			if like == slices.Contains(want, name) {
				w.Errorf("%s: %s %s: %s", who.name, verb, name, turn.results[i])
			}
		}
	}
}

// unknown is the name of no tool.
const unknown = "no_such_thing"

// among returns the names of tools in a text, in order.
func among(text string) (names []string) {
	for name := range tenantTools {
		if strings.Contains(text, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func subset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// say writes a message, waits for its answer, and returns what the model saw.
func (w *world) say(who tenant, verb string, tools []string) tenantTurn {
	w.mu.Lock()
	mark := fmt.Sprintf("%s-%d", who.name, len(w.turns))
	w.turns[mark] = &tenantTurn{marks: map[string]bool{}}
	w.mu.Unlock()
	w.write(who, strings.TrimSpace(mark+": "+verb+" "+strings.Join(tools, " ")))
	ctx, done := context.WithTimeout(context.Background(), 30*time.Second)
	defer done()
	wait := map[string]func(context.Context, func() bool) error{"telegram": w.telegram.Wait, "slack": w.slack.Wait, "wecom": w.wecom.Wait}[who.platform]
	if err := wait(ctx, func() bool {
		return slices.ContainsFunc(w.read(who.platform, who.chat), func(p posted) bool { return strings.Contains(p.text, mark+" ") && p.thread == who.thread })
	}); err != nil {
		w.Errorf("%s: no answer to %s %v; there is %+v", who.name, verb, tools, w.read(who.platform, who.chat))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.turns[mark]
}

// write writes a message as somebody at some place.
func (w *world) write(who tenant, text string) {
	switch who.platform {
	case "telegram":
		user, _ := strconv.ParseInt(who.user, 10, 64)
		chat, _ := strconv.ParseInt(who.chat, 10, 64)
		fields := telegramtest.Object{"from": telegramtest.Object{"id": user, "first_name": who.name}, "chat": telegramtest.Object{"id": chat, "type": "private"}, "text": text}
		if who.group {
			fields["chat"] = telegramtest.Object{"id": chat, "type": "supergroup", "title": "a group", "is_forum": who.thread != ""}
			fields["text"], fields["entities"] = "@etui_bot "+text, []telegramtest.Object{{"type": "mention", "offset": 0, "length": 9}}
		}
		if who.thread != "" {
			fields["message_thread_id"], _ = strconv.ParseInt(who.thread, 10, 64)
			fields["is_topic_message"] = true
		}
		w.telegram.Write(fields)
	case "slack":
		fields := slacktest.Object{"channel": who.chat, "user": who.user, "text": text}
		if who.group {
			fields["channel_type"], fields["text"] = "channel", "<@"+slacktest.Bot+"> "+text
		}
		if who.thread != "" {
			fields["thread_ts"] = who.thread
		}
		w.slack.Write(fields)
	case "wecom":
		if _, err := w.wecom.Write(who.user, text); err != nil {
			w.Error(err)
		}
	}
}

// posted is what the bot has written somewhere.
type posted struct{ thread, text string }

func (w *world) read(platform, chat string) (list []posted) {
	switch platform {
	case "telegram":
		for _, m := range w.telegram.Sent(chat) {
			thread := ""
			if m.Thread != 0 {
				thread = strconv.FormatInt(m.Thread, 10)
			}
			list = append(list, posted{thread, m.Text})
		}
	case "slack":
		for _, m := range w.slack.Sent(chat) {
			list = append(list, posted{m.Thread, m.Text})
		}
	case "wecom":
		for _, text := range w.wecom.Seen(chat) {
			list = append(list, posted{"", text})
		}
	}
	return list
}

var mark = regexp.MustCompile(`(?:admin|user|vip|guest|stranger)-[a-z-]+-[0-9]+`)

// model is a language model that does what the last message says: look, find, call or
// reach (call through call_tool) some tools; then it answers with the mark of the message.
func (w *world) model(rw http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
			ID      string `json:"tool_call_id"`
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		w.Error(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := 0
	for i, m := range req.Messages {
		if m.Role == "user" {
			asked = i
		}
	}
	question := string(req.Messages[asked].Content)
	at := mark.FindStringIndex(question)
	if at == nil || w.turns[question[at[0]:at[1]]] == nil {
		w.Errorf("the model is asked %s", question)
		http.Error(rw, "no", http.StatusBadRequest)
		return
	}
	name := question[at[0]:at[1]]
	turn := w.turns[name]
	verb, rest, _ := strings.Cut(strings.Trim(question[at[1]:], `: "}]`), " ")
	turn.declared, turn.results, turn.system = nil, nil, ""
	for _, tool := range req.Tools {
		turn.declared = append(turn.declared, tool.Function.Name)
	}
	for i, m := range req.Messages {
		for _, other := range mark.FindAllString(string(m.Content), -1) {
			turn.marks[other] = true
		}
		var text string
		_ = json.Unmarshal(m.Content, &text)
		switch {
		case m.Role == "system":
			turn.system += text
		case m.Role == "tool" && i > asked:
			turn.results = append(turn.results, text)
		}
	}
	delta := map[string]any{"content": name + " is done."}
	reason := "stop"
	if tools := strings.Fields(rest); len(tools) > 0 && turn.results == nil {
		var calls []map[string]any
		for i, tool := range tools {
			function := map[string]any{"name": tool, "arguments": tenantTools[tool]}
			switch {
			case verb == "find":
				function = map[string]any{"name": "find_tools", "arguments": `{"queries":["` + tool + `"]}`}
			case verb == "reach":
				arguments := tenantTools[tool]
				if arguments == "" {
					arguments = "{}"
				}
				function = map[string]any{"name": "call_tool", "arguments": `{"name":"` + tool + `","arguments":` + arguments + `}`}
			case tenantTools[tool] == "":
				function["arguments"] = "{}"
			}
			calls = append(calls, map[string]any{"index": i, "id": fmt.Sprintf("%s-c%d", strings.ReplaceAll(name, "-", ""), i), "type": "function", "function": function})
		}
		delta, reason = map[string]any{"tool_calls": calls}, "tool_calls"
	}
	chunk, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
	rw.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(rw, "data: %s\n\ndata: [DONE]\n\n", chunk)
}

// checkPlaces: every answer is where it was asked, and once; conversations stay apart;
// strangers read one answer at most.
func (w *world) checkPlaces() {
	byName := map[string]tenant{}
	places := map[[2]string]bool{{"telegram", "-1003"}: true, {"slack", "C1003"}: true}
	for _, who := range tenants() {
		byName[who.name] = who
		places[[2]string{who.platform, who.chat}] = true
	}
	of := func(mark string) tenant { return byName[mark[:strings.LastIndex(mark, "-")]] }
	answers, first := map[string]int{}, map[string]int{}
	for place := range places {
		for _, p := range w.read(place[0], place[1]) {
			for _, m := range mark.FindAllString(p.text, -1) {
				answers[m]++
				if who := of(m); who.platform != place[0] || who.chat != place[1] || who.thread != p.thread {
					w.Errorf("the answer to %s is in %s, thread %q: %s", m, place, p.thread, p.text)
				}
			}
		}
	}
	for m, turn := range w.turns {
		if answers[m] != 1 {
			w.Errorf("%s was answered %d times", m, answers[m])
		}
		for other := range turn.marks {
			if of(other).conversation != of(m).conversation {
				w.Errorf("the conversation of %s reads %s", m, other)
			}
		}
		if len(turn.marks) == 1 {
			first[of(m).conversation]++
		}
	}
	for conversation, n := range first {
		if n != 1 {
			w.Errorf("%d turns of the conversation of %s know nothing of the others", n, conversation)
		}
	}
	for _, place := range [][2]string{{"telegram", "6006"}, {"slack", "D6006"}, {"wecom", "mallory"}} {
		if got := w.read(place[0], place[1]); len(got) != 1 || got[0].text != "I do not know you." {
			w.Errorf("the stranger of %s reads %+v", place[0], got)
		}
	}
	for _, place := range [][2]string{{"telegram", "-1003"}, {"slack", "C1003"}} {
		if got := w.read(place[0], place[1]); len(got) != 0 {
			w.Errorf("a group that is not open reads %+v", got)
		}
	}
}

// readAudit reads what the gateway has decided about calls, as etui audit does.
func (w *world) readAudit() {
	a, err := app.New(w.Context(), w.space, app.Config{Secrets: &secret.Set{}, Records: true})
	if err != nil {
		w.Fatal(err)
	}
	defer a.Close()
	web := httptest.NewServer(a.HTTP)
	defer web.Close()
	res, err := http.Get(web.URL + "/admin/audit?limit=10000")
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&w.audit); err != nil || len(w.audit) == 0 {
		w.Fatalf("the audit: %s, %d entries, %v", res.Status, len(w.audit), err)
	}
}

// checkAudit: the calls that were refused are recorded with who made them and where, and
// what ran is what was allowed.
func (w *world) checkAudit() {
	type call struct{ platform, chat, person, tool string }
	allowed, refused := map[call]int{}, map[call]int{}
	for _, d := range w.audit {
		c := call{d.Channel, d.Chat, d.User, d.Tool}
		switch {
		case d.Allowed:
			allowed[c]++
		case d.Kind == "hidden" || d.Kind == "not_found":
			refused[c]++
		case tenantTools[d.Tool] != "":
			w.Errorf("%+v was refused otherwise", d)
		}
	}
	runs, mayRun, times := map[string]int{}, map[call]int{}, map[call]int{}
	for _, who := range tenants() {
		for name := range tenantTools {
			c := call{who.platform, who.chat, who.person, name}
			if slices.Contains(who.sees, name) {
				mayRun[c] += 2
				runs[name] += 2
			} else {
				times[c] += 2
			}
		}
	}
	for c, n := range times {
		if refused[c] != n {
			w.Errorf("%+v is recorded as refused %d times, want %d", c, refused[c], n)
		}
	}
	for c, n := range allowed {
		if tenantTools[c.tool] != "" && n != mayRun[c] {
			w.Errorf("%+v was allowed %d times, want %d", c, n, mayRun[c])
		}
	}
	ran := maps.Clone(w.ran)
	for name, n := range map[string]int{
		"telegram_poll": len(w.telegram.Calls("sendPoll")), "telegram_sticker": len(w.telegram.Calls("getStickerSet")),
		"wecom_approval": w.wecom.Calls("oa/applyevent"), "wecom_meeting": w.wecom.Calls("meeting/create"), "slack_huddle_link": runs["slack_huddle_link"],
	} {
		ran[name] = n
	}
	for name := range tenantTools {
		if ran[name] != runs[name] {
			w.Errorf("%s ran %d times, want %d", name, ran[name], runs[name])
		}
	}
}
