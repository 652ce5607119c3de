package demo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/tool"
)

// friday is the time of all tests.
var friday = time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)

// company is a demo with its own server.
type company struct {
	t       *testing.T
	handler http.Handler
	url     string
	tools   map[string]tool.Tool
}

func open(t *testing.T) *company {
	t.Helper()
	handler := demo.Handler(demo.Config{Now: func() time.Time { return friday }, Step: -1})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c := &company{t, handler, server.URL, map[string]tool.Tool{}}
	for _, tl := range demo.Tools(server.URL, server.Client()) {
		c.tools[tl.Definition().Name] = tl
	}
	return c
}

func (c *company) call(name, args string) chat.Result {
	c.t.Helper()
	tl := c.tools[name]
	if tl == nil {
		c.t.Fatalf("there is no tool %s", name)
	}
	got, err := tl.Call(c.t.Context(), json.RawMessage(args))
	if err != nil {
		c.t.Fatalf("%s %s: %v", name, args, err)
	}
	return got
}

// text calls a tool that must succeed.
func (c *company) text(name, args string) string {
	c.t.Helper()
	got := c.call(name, args)
	if got.Failed {
		c.t.Fatalf("%s %s failed: %s", name, args, got.Text)
	}
	return got.Text
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	defs := demo.Definitions()
	names, groups, chinese := map[string]bool{}, map[string]bool{}, regexp.MustCompile(`\p{Han}`)
	for _, d := range defs {
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		if _, err := tool.CompileSchema(d.Parameters); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
		if names[d.Name] {
			t.Errorf("%s is there twice", d.Name)
		}
		names[d.Name] = true
		for _, g := range d.Groups {
			groups[g] = true
		}
		if n := len(d.Description); n < 60 || n > 200 {
			t.Errorf("%s: the description has %d characters, want 60 to 200: %s", d.Name, n, d.Description)
		}
		if !chinese.MatchString(d.Translations["zh"]) {
			t.Errorf("%s: no Chinese description", d.Name)
		}
		if len(d.Groups) < 1 || len(d.Groups) > 2 || len(d.Aliases) > 16 || d.Risk == "" || d.Source != "demo" {
			t.Errorf("%s: groups %v, aliases %v, risk %q, source %q", d.Name, d.Groups, d.Aliases, d.Risk, d.Source)
		}
	}
	if len(defs) < 320 || len(groups) < 24 {
		t.Errorf("%d tools in %d groups, want 320 in 24", len(defs), len(groups))
	}
}

// minimal returns the smallest arguments that a tool accepts.
func minimal(t *testing.T, d tool.Definition) json.RawMessage {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Type, Format, Pattern, Description string
			Enum                               []string
		}
		Required []string
	}
	if err := json.Unmarshal(d.Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	for _, name := range schema.Required {
		p := schema.Properties[name]
		var v any = "example"
		_, like, ok := strings.Cut(p.Description, "such as ")
		if ok {
			v = like
		}
		switch {
		case p.Enum != nil:
			v = p.Enum[0]
		case p.Type == "integer", p.Type == "number":
			v = 3
			if n, err := strconv.Atoi(like); err == nil {
				v = n
			}
		case p.Type == "boolean":
			v = true
		case p.Type == "array":
			v = []string{"Mei Lin", "Tom Okafor"}
		case p.Format == "date":
			v = "2026-11-23"
		case p.Format == "date-time":
			v = "2026-11-23T10:00:00Z"
		case p.Format == "email":
			v = "mei.lin@example.com"
		case p.Format == "uri":
			v = "https://www.example.com/"
		case p.Pattern != "":
			v = "9:30"
		}
		args[name] = v
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEveryToolAnswers(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, risk := range tool.Risks() { // destructive tools come last
		for _, d := range demo.Definitions() {
			if d.Risk != risk {
				continue
			}
			args := minimal(t, d)
			schema, err := tool.CompileSchema(d.Parameters)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(args); err != nil {
				t.Errorf("%s: the test's own arguments %s: %v", d.Name, args, err)
			}
			first := c.text(d.Name, string(args))
			if strings.TrimSpace(first) == "" || len(first) > 2000 || strings.ContainsAny(first, "{}") && !strings.Contains(string(args), "{") {
				t.Errorf("%s %s answered %q", d.Name, args, first)
			}
			if second := c.text(d.Name, string(args)); second != first {
				t.Errorf("%s %s answered\n%s\nand then\n%s", d.Name, args, first, second)
			}
		}
	}
}

func TestServiceRefuses(t *testing.T) {
	t.Parallel()
	c := open(t)
	post := func(path, media, body string) *http.Response {
		t.Helper()
		resp, err := http.Post(c.url+path, media, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	for _, test := range []struct {
		path, media, body string
		status            int
	}{
		{"/tools/list_pods", "application/json", `{}`, 200},
		{"/tools/make_coffee", "application/json", `{}`, 404},
		{"/elsewhere", "application/json", `{}`, 404},
		{"/tools/list_pods", "application/json", `{"namespace`, 400},
		{"/tools/list_pods", "application/json", `[]`, 400},
		{"/tools/get_ticket", "application/json", `{}`, 400},
		{"/tools/list_pods", "application/json", `{"status":"sleeping"}`, 400},
		{"/tools/list_pods", "text/plain", `{}`, 415},
		{"/tools/list_pods", "application/json", `{"x":"` + strings.Repeat("y", 256<<10) + `"}`, 413},
	} {
		resp := post(test.path, test.media, test.body)
		var body struct{ Text, Error string }
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			t.Errorf("%s %.40s: %v", test.path, test.body, err)
		}
		if resp.StatusCode != test.status || (body.Error == "") != (test.status == 200) {
			t.Errorf("%s %.40s: status %d and error %q, want %d", test.path, test.body, resp.StatusCode, body.Error, test.status)
		}
	}
	resp, err := http.Get(c.url + "/tools/list_pods")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
		t.Errorf("GET: status %d, allowed %q", resp.StatusCode, resp.Header.Get("Allow"))
	}
}

func TestUnknownIsSaid(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, test := range []struct{ tool, args, want string }{
		{"list_pods", `{"namespace":"production"}`, `unknown namespace "production"; known: prod, staging, dev`},
		{"get_pod_logs", `{"pod":"checkout","namespace":"qa"}`, `known: prod, staging, dev`},
		{"get_ticket", `{"ticket_id":"OPS-1"}`, `unknown ticket "OPS-1"; known: OPS-10`},
		{"get_error_rate", `{"service":"billing"}`, `known: checkout, payments`},
		{"create_invoice", `{"customer":"Nobody","amount":3}`, `unknown customer "Nobody"; known: Acme Robotics`},
	} {
		got := c.call(test.tool, test.args)
		if !got.Failed {
			t.Error("got.Failed is false")
		}
		if !strings.Contains(got.Text, test.want) {
			t.Errorf("got.Text: %q does not contain %q", got.Text, test.want)
		}
		if got.View.Error != got.Text {
			t.Errorf("got.View.Error = %v, want %v", got.View.Error, got.Text)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	c := open(t)
	got := c.text("get_pod_logs", `{"pod":"checkout","namespace":"prod","level":"error"}`)
	lines := strings.Split(got, "\n")
	if n := len(lines) - 1; n < 8 || n > 12 || !strings.Contains(lines[0], "pod checkout-") {
		t.Errorf("got %d lines, want 8 to 12:\n%s", n, got)
	}
	for _, line := range lines[1:] {
		if !regexp.MustCompile(`^\d\d:\d\d:\d\d ERROR   \S`).MatchString(line) {
			t.Errorf("no error line: %s", line)
		}
	}
	if got := c.text("query_logs", `{"query":"payments timed out","level":"error"}`); !strings.Contains(got, "timed out") {
		t.Errorf("query_logs:\n%s", got)
	}
}

func TestAnswersFitTheQuestion(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, test := range []struct{ tool, args, want, not string }{
		{"list_pods", `{"namespace":"prod","status":"crashloop"}`, "1 pod (namespace prod, status crashloop)\npod: checkout-", "staging"},
		{"list_pods", `{"label":"app=search"}`, "3 pods", "checkout"},
		{"describe_pod", `{"pod":"checkout"}`, "reason: OOMKilled", ""},
		{"list_invoices", `{"status":"overdue"}`, "3 invoices (status overdue)", "paid"},
		{"list_invoices", `{"customer":"acme"}`, "invoice: INV-2031", "Lotus"},
		{"get_leave_balance", `{}`, "employee: Mei Lin\nannual: 14 days", "Tom"},
		{"get_leave_balance", `{"employee":"Tom"}`, "employee: Tom Okafor", "Mei Lin"},
		{"get_customer", `{"customer":"lotus"}`, "customer Lotus Retail\ncity: Shanghai", ""},
		{"search_mail", `{"sender":"Grace"}`, "Team event in December", "Invoice"},
		{"search_tickets", `{"assignee":"me","status":"open"}`, "OPS-1053", "VPN"},
		{"list_calendar_events", `{"date":"2026-11-23"}`, "3 events (date 2026-11-23)", "2026-11-24"},
		{"list_calendar_events", `{"date":"tomorrow"}`, "No event found: date tomorrow.", ""},
		{"list_absences", `{"date":"2026-11-20"}`, "4 absences", "Li Wei"},
		{"get_oncall_schedule", `{"team":"Platform"}`, "on call: Priya Nair", "Jonas"},
		{"find_meeting_room", `{"people":10}`, "2 meeting rooms", "Curie"},
		{"check_stock", `{"product":"SKU-3304"}`, "Gateway G1", "Sensor"},
		{"list_low_stock", `{}`, "3 products", "Mounting"},
		{"search_contracts", `{"expiring_before":"2027-01-31"}`, "2 contracts", "CTR-404"},
		{"list_expiring_certificates", `{"days":15}`, "2 certificates", "mail."},
		{"get_weather_forecast", `{"city":"上海","days":2}`, "Forecast for 上海, 2 days\nFri 2026-11-20", "2026-11-22"},
		{"convert_currency", `{"amount":1500,"from":"EUR","to":"CNY"}`, "1,500.00 EUR = 11,760.00 CNY", ""},
		{"get_time_difference", `{"from":"Berlin","to":"Shanghai"}`, "Shanghai is 7 hours ahead of Berlin", ""},
		{"translate_text", `{"text":"Thank you very much!","target":"zh"}`, "非常感谢", ""},
		{"detect_language", `{"text":"发票在哪里"}`, "Chinese", ""},
		{"summarize_text", `{"text":"One. Two. Three.","sentences":2}`, "One. Two.", "Three"},
		{"find_free_slot", `{"attendees":["Mei Lin","Li Wei"]}`, "Mon 2026-11-23", ""},
		{"get_error_rate", `{"service":"Checkout"}`, "Errors of checkout: ", ""},
		{"ask_handbook", `{"question":"How many vacation days do I get?"}`, "30 days a year", "Gifts"},
		{"calculate_mileage", `{"kilometers":120}`, "36.00 EUR", ""},
	} {
		got := c.text(test.tool, test.args)
		if !strings.Contains(got, test.want) || test.not != "" && strings.Contains(got, test.not) {
			t.Errorf("%s %s answers\n%s\nwant %q in it and %q not", test.tool, test.args, got, test.want, test.not)
		}
	}
}

func TestCallsAtTheSameTime(t *testing.T) {
	t.Parallel()
	c := open(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for _, call := range [][2]string{
				{"create_ticket", fmt.Sprintf(`{"title":"ticket %d"}`, i)},
				{"assign_ticket", `{"ticket_id":"OPS-1042","assignee":"Tom"}`},
				{"search_tickets", `{}`},
				{"delete_pod", `{"pod":"search-66f8c9d7d-k4p2s"}`},
				{"list_pods", `{}`},
			} {
				got, err := c.tools[call[0]].Call(t.Context(), json.RawMessage(call[1]))
				if err != nil {
					t.Fatal(err)
				}
				if got.Failed {
					t.Error("got.Failed")
				}
			}
		})
	}
	group.Wait()
	if got := c.text("search_tickets", `{"query":"ticket"}`); !strings.HasPrefix(got, "8 tickets") {
		t.Errorf("got %s", got)
	}
}

func TestWrittenIsFoundAgain(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, test := range []struct{ write, args, read, readArgs, want string }{
		{"create_ticket", `{"title":"Coffee machine leaks","priority":"high"}`, "search_tickets", `{"query":"coffee machine"}`, "Coffee machine leaks"},
		{"create_calendar_event", `{"title":"Launch talk","start":"2026-11-24T15:00:00Z"}`, "list_calendar_events", `{"date":"2026-11-24"}`, "Launch talk"},
		{"request_leave", `{"start":"2026-12-21","end":"2026-12-23"}`, "list_leave_requests", `{"status":"pending"}`, "2026-12-21"},
		{"submit_expense", `{"amount":23.8,"description":"taxi to the fair"}`, "list_expenses", `{"status":"pending"}`, "23.8"},
		{"assign_ticket", `{"ticket_id":"OPS-1042","assignee":"Yuki Tanaka"}`, "get_ticket", `{"ticket_id":"OPS-1042"}`, "assignee: Yuki Tanaka"},
		{"create_customer", `{"name":"Quill & Sons","city":"London"}`, "get_customer", `{"customer":"quill"}`, "Quill & Sons"},
	} {
		c.text(test.write, test.args)
		if got := c.text(test.read, test.readArgs); !strings.Contains(got, test.want) {
			t.Errorf("after %s, %s answers\n%s\nwhich lacks %q", test.write, test.read, got, test.want)
		}
	}
}

func TestDeletedIsGone(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.text("cancel_calendar_event", `{"event":"Sprint planning"}`)
	if got := c.text("list_calendar_events", `{}`); strings.Contains(got, "Sprint planning") {
		t.Errorf("still there:\n%s", got)
	}
}

func TestCreatedRecordsAreBounded(t *testing.T) {
	t.Parallel()
	c := open(t)
	for i := range 1010 { // straight to the handler: a thousand requests over HTTP take seconds
		r := httptest.NewRequest(http.MethodPost, "/tools/create_ticket", strings.NewReader(fmt.Sprintf(`{"title":"flood %d"}`, i)))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if c.handler.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	if got := c.text("search_tickets", `{"query":"flood","limit":3}`); !strings.HasPrefix(got, "1000 tickets") {
		t.Errorf("got %.60s", got)
	}
}

func TestLongWork(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, name := range []string{"run_load_test", "generate_quarterly_report"} {
		args := `{"service":"checkout"}`
		var mu sync.Mutex
		var seen []tool.Progress
		done := make(chan chat.Result, 1)
		host := tool.Host{Progress: func(p tool.Progress) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, p)
		}}
		call := func() chat.Result {
			ctx, cancel := context.WithCancel(tool.WithHost(t.Context(), host))
			defer cancel() // the turn ends with the call
			got, err := c.tools[name].Call(ctx, json.RawMessage(args))
			if err != nil {
				t.Fatal(err)
			}
			if got.Failed {
				t.Fatal("got.Failed")
			}
			return got
		}

		now := call()
		if now.Pending {
			t.Error("now.Pending")
		}
		if now.Text == "" {
			t.Errorf("now.Text = %q, want another than \"\"", now.Text)
		}
		if len(seen) < 3 {
			t.Fatalf("len(seen) = %v, want at least 3: %+v", len(seen), seen)
		}
		if seen[1].Done != 1 {
			t.Errorf("seen[1].Done = %v, want 1", seen[1].Done)
		}

		seen = nil
		host.Finish = func(r chat.Result) { done <- r }
		if got := call(); !got.Pending {
			t.Errorf("%s: %+v, want a pending result", name, got)
		}
		late := <-done
		mu.Lock()
		if late.Text != now.Text {
			t.Errorf("late.Text = %v, want %v", late.Text, now.Text)
		}
		if late.Failed {
			t.Error("late.Failed")
		}
		if len(seen) < 3 {
			t.Fatalf("len(seen) = %v, want at least 3: %+v", len(seen), seen)
		}
		mu.Unlock()
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(demo.Handler(demo.Config{Step: time.Hour}))
	defer server.Close()
	for _, tl := range demo.Tools(server.URL, server.Client()) {
		if tl.Definition().Name != "run_load_test" {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		ctx = tool.WithHost(ctx, tool.Host{Progress: func(tool.Progress) { cancel() }})
		if got, err := tl.Call(ctx, json.RawMessage(`{"service":"checkout"}`)); err == nil && !got.Failed {
			t.Errorf("a cancelled call answers %+v", got)
		}
		cancel()
	}
}

func BenchmarkDefinitions(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		demo.Definitions()
	}
}

func BenchmarkHandler(b *testing.B) {
	for b.Loop() {
		demo.Handler(demo.Config{})
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	c := open(t)
	post := func(args string) (status int, out struct {
		Pod, Error string
		Lines      []struct{ Message string }
	}) {
		t.Helper()
		resp, err := http.Post(c.url+"/execute", "application/json", strings.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, out
	}
	status, out := post(`{"namespace":"prod","pod":"checkout","keyword":"voucher"}`)
	if status != 200 {
		t.Errorf("status = %v, want 200", status)
	}
	if out.Pod != "checkout-7d9f8b6c5-x2kqp" {
		t.Errorf("out.Pod = %q, want %q", out.Pod, "checkout-7d9f8b6c5-x2kqp")
	}
	if len(out.Lines) == 0 {
		t.Fatalf("len(out.Lines) = %v, want another than 0: %+v", len(out.Lines), out.Lines)
	}
	if status, out := post(`{"namespace":"prod","pod":"checkout","keyword":"qqqq"}`); status != 200 || len(out.Lines) != 0 {
		t.Errorf("%d %+v", status, out)
	}
	if status, out := post(`{"pod":"checkout"}`); status != 400 || !strings.Contains(out.Error, `"namespace"`) {
		t.Errorf("%d %+v", status, out)
	}
	if status, out := post(`{"namespace":"mars","pod":"checkout"}`); status != 404 || out.Error == "" {
		t.Errorf("%d %+v", status, out)
	}
}
