package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/tool"
)

// now is a Friday.
func now() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC) }

// schemas are parameters in short: name, * when required, type or enum or format.
var schemas = map[string]string{
	"get_pod_logs":    `namespace* pod* level:debug|info|warning|error since tail:integer`,
	"list_invoices":   `status:draft|open|paid|overdue customer month:date`,
	"calculate":       `expression*`,
	"read_file":       `path* start:integer`,
	"edit_file":       `path* old* new*`,
	"write_file":      `path* content*`,
	"find_files":      `pattern* path`,
	"book_room":       `people:integer start:date-time* room`,
	"create_ticket":   `title* priority:low|medium|high|urgent assignee`,
	"get_ticket":      `ticket_id*`,
	"request_leave":   `start:date* end:date* type:annual|sick reason`,
	"convert":         `amount:number* from:USD|EUR|CNY* to:USD|EUR|CNY*`,
	"send_mail":       `to:email* subject body*`,
	"get_weather":     `city* days:integer`,
	"search_flights":  `origin* destination* date:date`,
	"scale":           `deployment* replicas:integer* namespace`,
	"fetch":           `url:uri*`,
	"merge_pull":      `number:integer*`,
	"search_logs":     `query* since service`,
	"get_customer":    `customer*`,
	"search_wiki":     `query*`,
	"set_flag":        `flag* enabled:boolean*`,
	"block_ip":        `ip* duration`,
	"find_slot":       `attendees:array* date:date`,
	"no_parameters":   ``,
	"track_shipment":  `tracking_number*`,
	"list_candidates": `position`,
	"free_disk":       `host`,
	"list_dir":        `path`,
	"set_log_level":   `level:debug|info|warning|error* service*`,
}

func define(name string) tool.Definition {
	properties, required := map[string]any{}, []string{}
	for field := range strings.FieldsSeq(schemas[name]) {
		field, star := strings.CutSuffix(field, "*")
		param, kind, _ := strings.Cut(field, ":")
		if p, ok := strings.CutSuffix(param, "*"); ok {
			param, star = p, true
		}
		schema := map[string]any{"type": "string"}
		switch {
		case strings.Contains(kind, "|"):
			schema["enum"] = strings.Split(kind, "|")
		case kind == "integer" || kind == "number" || kind == "boolean":
			schema["type"] = kind
		case kind == "array":
			schema["type"], schema["items"] = "array", map[string]any{"type": "string"}
		case kind != "":
			schema["format"] = kind
		}
		properties[param] = schema
		if star {
			required = append(required, param)
		}
	}
	raw, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	risk := tool.Read
	if strings.HasPrefix(name, "set_") {
		risk = tool.Write
	}
	return tool.Definition{Name: name, Parameters: raw, Risk: risk}
}

func ask(t testing.TB, messages []chat.Message, ranked ...string) (chat.Message, model.Stop) {
	t.Helper()
	m := offline.New(offline.Config{Now: now, Lookup: func(name string) (tool.Definition, bool) {
		_, ok := schemas[name]
		return define(name), ok
	}})
	answer, _, stop, err := model.Answer(m.Stream(context.Background(), model.Request{Messages: messages, Ranked: ranked}))
	if err != nil {
		t.Fatal(err)
	}
	return answer, stop
}

func user(text string) chat.Message { return chat.Message{Role: chat.User, Text: text} }

func TestArguments(t *testing.T) {
	for _, c := range []struct{ tool, text, want string }{
		{"get_pod_logs", "show me the error logs of the checkout pod in namespace prod", `{"namespace":"prod","pod":"checkout","level":"error"}`},
		{"get_pod_logs", "帮我查一下 prod 命名空间里 checkout pod 的错误日志", `{"namespace":"prod","pod":"checkout","level":"error"}`},
		{"get_pod_logs", "查看 prod 命名空间里 checkout 这个 pod 的错误日志", `{"namespace":"prod","pod":"checkout","level":"error"}`},
		{"get_pod_logs", "logs of pod cart-7d9f in staging namespace for the last 2 hours", `{"namespace":"staging","pod":"cart-7d9f","since":"2h"}`},
		{"get_pod_logs", "查一下 namespace prod 里 checkout 的错误日志", `{"namespace":"prod","pod":"checkout","level":"error"}`},
		{"list_dir", "list the files here", `{}`},
		{"list_dir", "list the folder there", `{}`},
		{"get_pod_logs", `namespace=dev pod="my pod" tail=20`, `{"namespace":"dev","pod":"my pod","tail":20}`},
		{"list_invoices", "which invoices are overdue?", `{"status":"overdue"}`},
		{"list_invoices", "列出逾期的发票", `{"status":"overdue"}`},
		{"calculate", "what is 12.5% of 80 + 3", `{"expression":"12.5/100*80 + 3"}`},
		{"calculate", "计算 (2+3)*4", `{"expression":"(2+3)*4"}`},
		{"read_file", "read the file notes/today.md", `{"path":"notes/today.md"}`},
		{"read_file", "读取文件 notes/today.md", `{"path":"notes/today.md"}`},
		{"edit_file", "改 a.txt 把 X 换成 Y", `{"path":"a.txt","old":"X","new":"Y"}`},
		{"edit_file", "在 a.txt 里把 中国 改成 世界。", `{"path":"a.txt","old":"中国","new":"世界"}`},
		{"edit_file", "把 notes/a.md 里的 foo bar 替换为 baz", `{"path":"notes/a.md","old":"foo bar","new":"baz"}`},
		{"edit_file", "replace X with Y in a.txt", `{"path":"a.txt","old":"X","new":"Y"}`},
		{"edit_file", `in a.txt change "good day" to 'hello there'`, `{"path":"a.txt","old":"good day","new":"hello there"}`},
		{"write_file", "写 a.txt：你好", `{"path":"a.txt","content":"你好"}`},
		{"write_file", "把 b.txt 写成 你好", `{"path":"b.txt","content":"你好"}`},
		{"write_file", "把 你好 写入 b.txt", `{"path":"b.txt","content":"你好"}`},
		{"write_file", "写文件 d.txt 内容是 你好", `{"path":"d.txt","content":"你好"}`},
		{"write_file", "write hello world to c.txt", `{"path":"c.txt","content":"hello world"}`},
		{"write_file", "write to c.txt: at 10:30 we meet", `{"path":"c.txt","content":"at 10:30 we meet"}`},
		{"find_files", "找文件 README", `{"pattern":"README"}`},
		{"find_files", "找 a.txt", `{"pattern":"a.txt"}`},
		{"find_files", "查找名为 README 的文件", `{"pattern":"README"}`},
		{"find_files", "文件 README 在哪", `{"pattern":"README"}`},
		{"find_files", "find the file README", `{"pattern":"README"}`},
		{"find_files", "where is the file go.mod?", `{"pattern":"go.mod"}`},
		{"book_room", "book a meeting room for 6 people tomorrow at 3pm", `{"people":6,"start":"2026-11-21T15:00:00Z"}`},
		{"book_room", "订一个6人会议室，明天下午三点", `{"people":6,"start":"2026-11-21T15:00:00Z"}`},
		{"create_ticket", "create a ticket titled 'Printer broken' with high priority and assign it to Alice", `{"title":"Printer broken","priority":"high","assignee":"Alice"}`},
		{"get_ticket", "what is the state of OPS-1042?", `{"ticket_id":"OPS-1042"}`},
		{"get_ticket", "OPS-1044 现在什么状态", `{"ticket_id":"OPS-1044"}`},
		{"request_leave", "请帮我请假，从3月5日到3月7日，原因是家里有事", `{"start":"2027-03-05","end":"2027-03-07","reason":"家里有事"}`},
		{"request_leave", "I'd like annual leave from 2026-12-01 until 2026-12-05", `{"start":"2026-12-01","end":"2026-12-05","type":"annual"}`},
		{"convert", "convert 100 USD to EUR", `{"amount":100,"from":"USD","to":"EUR"}`},
		{"convert", "把100美元换成人民币", `{"amount":100,"from":"USD","to":"CNY"}`},
		{"convert", "把20人民币换成美元", `{"amount":20,"from":"CNY","to":"USD"}`},
		{"send_mail", "send a mail to bob@example.com saying the samples arrive next week", `{"to":"bob@example.com","body":"the samples arrive next week"}`},
		{"send_mail", "给 maria@example.com 写封信，说样品下周到", `{"to":"maria@example.com","body":"样品下周到"}`},
		{"get_weather", "weather in Berlin tomorrow?", `{"city":"Berlin"}`},
		{"get_weather", "北京今天天气怎么样", `{"city":"北京"}`},
		{"search_flights", "find flights from Berlin to Paris on March 3", `{"origin":"Berlin","destination":"Paris","date":"2027-03-03"}`},
		{"scale", "scale the cart deployment to 6 replicas", `{"deployment":"cart","replicas":6}`},
		{"fetch", "open https://example.com/a?b=1.", `{"url":"https://example.com/a?b=1."}`},
		{"merge_pull", "merge #415 please", `{"number":415}`},
		{"search_logs", `search the logs for "connection refused" in the last 30 min`, `{"query":"connection refused","since":"30m"}`},
		{"get_customer", "tell me about the customer Northwind", `{"customer":"Northwind"}`},
		{"search_wiki", "search the wiki for vpn set-up", `{"query":"vpn set-up"}`},
		{"block_ip", "block 203.0.113.9 for 2 hours", `{"ip":"203.0.113.9","duration":"2h"}`},
		{"no_parameters", "do it", `{}`},
		{"convert", "what is 250 dollars in yuan", `{"amount":250,"from":"USD","to":"CNY"}`},
		{"track_shipment", "where is TRK-556003?", `{"tracking_number":"TRK-556003"}`},
		{"list_candidates", "who applied?", `{}`},
		{"free_disk", "how full is the disk of host web-1", `{"host":"web-1"}`},
	} {
		answer, stop := ask(t, []chat.Message{user(c.text)}, c.tool)
		if len(answer.Calls) != 1 || stop != model.ToolCalls {
			t.Errorf("%q: %q, no call", c.text, answer.Text)
			continue
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(answer.Calls[0].Arguments, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\ngot  %s\nwant %s", c.text, answer.Calls[0].Arguments, c.want)
		}
	}
}

func TestAsksForWhatIsMissing(t *testing.T) {
	question := []chat.Message{user("show me the logs")}
	answer, stop := ask(t, question, "get_pod_logs")
	if stop != model.Done || !strings.Contains(answer.Text, "namespace") || !strings.Contains(answer.Text, "pod") {
		t.Fatalf("answer %q", answer.Text)
	}
	answer, _ = ask(t, append(question, answer, user("namespace prod, pod cart")), "get_pod_logs")
	if len(answer.Calls) != 1 {
		t.Fatalf("len(answer.Calls) = %v, want 1: %+v", len(answer.Calls), answer.Calls)
	}
	if !strings.Contains(string(answer.Calls[0].Arguments), `"cart"`) {
		t.Errorf("string(answer.Calls[0].Arguments): %q does not contain %q", string(answer.Calls[0].Arguments), `"cart"`)
	}
	if answer, _ = ask(t, []chat.Message{user("看日志")}, "get_pod_logs"); !strings.Contains(answer.Text, "还需要") {
		t.Errorf("in Chinese: %q", answer.Text)
	}
}

func TestReports(t *testing.T) {
	call := chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "1", Name: "get_weather", Arguments: []byte(`{"city":"Berlin"}`)}}}
	for text, c := range map[string]struct {
		question string
		result   chat.Result
	}{
		"I called get_weather (city: Berlin) and got:\nsunny":             {"weather?", chat.Result{CallID: "1", Name: "get_weather", Text: "sunny"}},
		"I called get_weather (city: Berlin), but it failed:\naway":       {"weather?", chat.Result{CallID: "1", Name: "get_weather", Text: "away", Failed: true}},
		"我调用了 get_weather (city: Berlin)，结果是：\nsunny":                     {"天气？", chat.Result{CallID: "1", Name: "get_weather", Text: "sunny"}},
		"I called get_weather (city: Berlin); it is still running:\nwait": {"weather?", chat.Result{CallID: "1", Name: "get_weather", Text: "wait", Pending: true}},
	} {
		answer, stop := ask(t, []chat.Message{user(c.question), call, {Role: chat.Tool, Result: &c.result}}, "get_weather")
		if answer.Text != text || stop != model.Done || len(answer.Calls) != 0 {
			t.Errorf("got %q, want %q", answer.Text, text)
		}
	}
}

// TestLanguageOfTheConversation: what has no language, such as a number, is answered in that of the
// conversation.
func TestLanguageOfTheConversation(t *testing.T) {
	for text, want := range map[string]string{"327*18": "没有工具", "a.txt": "没有工具", "y": "没有工具", "sing me a song": "No tool"} {
		answer, _ := ask(t, []chat.Message{user("唱首歌"), {Role: chat.Assistant, Text: "?"}, user(text)})
		if !strings.Contains(answer.Text, want) {
			t.Errorf("%s: %q", text, answer.Text)
		}
	}
}

// TestTakesTheOneItCanFill uses the second best tool if the message lacks arguments of
// the best.
func TestTakesTheOneItCanFill(t *testing.T) {
	answer, _ := ask(t, []chat.Message{user("show me invoices that are overdue")}, "get_ticket", "list_invoices")
	if len(answer.Calls) != 1 {
		t.Fatalf("len(answer.Calls) = %v, want 1: %+v", len(answer.Calls), answer.Calls)
	}
	if answer.Calls[0].Name != "list_invoices" {
		t.Errorf("answer.Calls[0].Name = %q, want %q", answer.Calls[0].Name, "list_invoices")
	}
}

// TestAskingToSeeChangesNothing: a message that asks to see something calls a tool that
// reads, even if one that changes things fits better.
func TestAskingToSeeChangesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"查一下 checkout 的错误日志":                         "search_logs",
		"show me the error logs of service cart":     "search_logs",
		"把 checkout 的日志级别设为 error":                   "set_log_level",
		"set the log level of service cart to error": "set_log_level",
	} {
		answer, _ := ask(t, []chat.Message{user(text)}, "set_log_level", "search_logs")
		if len(answer.Calls) != 1 || answer.Calls[0].Name != want {
			t.Errorf("%q: %+v, want a call of %s", text, answer.Calls, want)
		}
	}
}

// TestAskingToRemoveChangesNothingElse: a message that asks to remove something calls no tool that
// changes it instead.
func TestAskingToRemoveChangesNothingElse(t *testing.T) {
	for text, ranked := range map[string]string{
		"delete the log level of service cart to error": "set_log_level", "please remove the log level of service cart to error": "set_log_level", "把 checkout 的日志级别 error 删除": "set_log_level",
	} {
		if answer, _ := ask(t, []chat.Message{user(text)}, ranked); len(answer.Calls) != 0 {
			t.Errorf("%q: %+v", text, answer.Calls)
		}
	}
}

func TestOutcomeOfACallThatWentOn(t *testing.T) {
	answer, _ := ask(t, []chat.Message{{Role: chat.User, Note: "[Fri]\n[report has finished]\n42"}})
	if answer.Text != "[report has finished]\n42" {
		t.Errorf("%+v", answer)
	}
}

func TestNothingFits(t *testing.T) {
	for text, says := range map[string]string{"hi": "offline model", "你好！": "你好", "帮助": "你好", "你能做什么？": "你好", "你好，能帮我做什么？": "你好", "help": "Hello", "sing a song": "OPENAI_API_KEY", "唱首歌": "OPENAI_API_KEY", "": "offline"} {
		if answer, _ := ask(t, []chat.Message{user(text)}); !strings.Contains(answer.Text, says) {
			t.Errorf("%q: %q", text, answer.Text)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := model.Answer(offline.New(offline.Config{}).Stream(ctx, model.Request{})); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestLongMessage searches only the beginning of a message that is too long, without a
// broken character at the cut.
func TestLongMessage(t *testing.T) {
	for _, filler := range []string{"a ", "好 "} {
		answer, _ := ask(t, []chat.Message{user("namespace=prod pod=cart " + strings.Repeat(filler, 9000) + " tail=20")}, "get_pod_logs")
		if len(answer.Calls) != 1 {
			t.Fatalf("len(answer.Calls) = %v, want 1: %+v", len(answer.Calls), answer.Calls)
		}
		if string(answer.Calls[0].Arguments) != `{"namespace":"prod","pod":"cart"}` {
			t.Errorf("string(answer.Calls[0].Arguments) = %q, want %q", string(answer.Calls[0].Arguments), `{"namespace":"prod","pod":"cart"}`)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{"", "show logs of pod x in namespace y", "从3月5日到13月77日 下周八 三点半", "\x00\xff「", "namespace=", `"`, "###1 #99999999999999999999", strings.Repeat("a ", 90), "at 99:99 pm", "$1,2,3.4.5 €"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name := range schemas {
			answer, _ := ask(t, []chat.Message{user(text)}, name)
			for _, c := range answer.Calls {
				d := define(c.Name)
				s, err := tool.CompileSchema(d.Schema())
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Validate(c.Arguments); err != nil {
					t.Errorf("%q: %s: %s does not fit: %v", text, name, c.Arguments, err)
				}
			}
		}
	})
}

func BenchmarkAnswer(b *testing.B) {
	d := define("get_pod_logs")
	m := offline.New(offline.Config{Now: now})
	req := model.Request{Messages: []chat.Message{user("show me the error logs of the checkout pod in namespace prod")}, Tools: []tool.Definition{d}, Ranked: []string{d.Name}}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := model.Answer(m.Stream(context.Background(), req)); err != nil {
			b.Fatal(err)
		}
	}
}
