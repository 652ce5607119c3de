package turn_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// The sentences of refusals.
const denied, toApprove, unknown = "the operator's policy does not allow this call", "the call needs an approval", "there is no "

// admissions are calls with what the model reads of them and what is recorded: the tool or
// skill, whether it may run, the stage, the rule and the reason.
var admissions = []struct {
	call         chat.Call
	says, record string
}{
	{fake.Call("1", "look", `{"city":"a"}`), "done", "look true   tools of risk read are allowed by default"},
	{fake.Call("1", "call_tool", `{"name":"look","arguments":{"city":"a"}}`), "done", "look true   tools of risk read are allowed by default"},
	{fake.Call("1", "exec", `{"city":"a"}`), denied, "exec false policy rule no-shell rule no-shell denies: strangers are there"},
	{fake.Call("1", "call_tool", `{"name":"exec","arguments":{"city":"a"}}`), denied, "exec false policy rule no-shell rule no-shell denies: strangers are there"},
	{fake.Call("1", "wipe", `{"city":"a"}`), toApprove, "wipe false policy  no rule allows it, and tools of risk destructive are to be approved by default"},
	{fake.Call("1", "wipe", `{}`), "Parameters of wipe", "wipe false arguments  at /: missing property 'city'"},
	{fake.Call("1", "wipe", `{"city":"a`), "the arguments are", "wipe false arguments  not JSON: they end in the middle of a text"},
	{fake.Call("1", "secret_tool", `{"city":"a"}`), unknown, "secret_tool false visibility  allowed only by rule hr, which does not hold"},
	{fake.Call("1", "call_tool", `{"name":"off"}`), unknown, "off false enabled  "},
	{fake.Call("1", "nothing", `{}`), unknown, "nothing false unknown  "},
	{fake.Call("1", "EXEC", `{"city":"a"}`), unknown, "EXEC false unknown  "},
	{fake.Call("1", " exec", `{"city":"a"}`), unknown, " exec false unknown  "},
	{fake.Call("1", "functions.exec", `{"city":"a"}`), unknown, "functions.exec false unknown  "},
	{fake.Call("1", "call_tool", `{"name":"call_tool","arguments":{"name":"exec","arguments":{"city":"a"}}}`), unknown, "call_tool false unknown  "},
	{fake.Call("1", "call_tool", `{"name":"exec","city":"a"}`), denied, "exec false policy rule no-shell rule no-shell denies: strangers are there"},
	{fake.Call("1", "call_tool", `{"name":"look","name":"exec","arguments":{"city":"a"}}`), "duplicate key", "call_tool false arguments  the arguments are ambiguous: duplicate key \"name\"; call_tool needs {\"name\": \"…\", \"arguments\": {…}}"},
	{fake.Call("1", "call_tool", `{"name":"use_skill","arguments":{"name":"ops"}}`), "the skill ops was not called: " + denied, "ops false policy rule no-ops rule no-ops denies"},
	{fake.Call("1", "call_tool", `{"name":"ops"}`), "the skill ops was not called: " + denied, "ops false policy rule no-ops rule no-ops denies"},
	{fake.Call("1", "use_skill", `{"name":"ops"}`), "the skill ops was not called: " + denied, "ops false policy rule no-ops rule no-ops denies"},
	{fake.Call("1", "ops", `{}`), "the skill ops was not called: " + denied, "ops false policy rule no-ops rule no-ops denies"},
	{fake.Call("1", "use_skill", `{"name":"pdf"}`), "Fill it.", "pdf true   skills are allowed by default"},
	{fake.Call("1", "use_skill", `{"name":"none"}`), unknown, "none false unknown  "},
}

// admission is a runner with a policy, and what it does and records.
type admission struct {
	registry *catalog.Registry
	config   turn.Config
	ran      bool
	mu       sync.Mutex
	records  []audit.Decision
}

func newAdmission(t *testing.T) *admission {
	t.Helper()
	a := &admission{registry: catalog.NewRegistry(nil)}
	tools := map[string]tool.Risk{"look": tool.Read, "exec": tool.Write, "wipe": tool.Destructive, "secret_tool": tool.Read, "off": tool.Read}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		def := tool.Definition{Name: name, Description: name, Risk: tools[name], Source: "test", Version: "2"}
		err := a.registry.Register(tool.Func(def, func(context.Context, city) (string, error) {
			a.ran = true
			return "done", nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	seen, err := rules.Compile(rules.Visibility, []rules.Rule{{Name: "hr", Allow: []string{"secret_tool"}, When: `"hr" in user.roles`}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.registry.SetRules(seen)
	guided(t, a.registry, catalog.Skill{Name: "ops", Description: "Operate", Guide: files{"": "How to."}}, catalog.Skill{Name: "pdf", Description: "Fill", Guide: files{"": "Fill it."}})
	calls, err := rules.Compile(rules.Policy, []rules.Rule{
		{Name: "no-shell", Deny: []string{"exec"}, When: `channel == "telegram"`, Reason: "strangers are there"},
		{Name: "no-ops", Deny: []string{"skill:ops"}},
	}, map[tool.Risk]rules.Effect{tool.Destructive: rules.Ask})
	if err != nil {
		t.Fatal(err)
	}
	a.config = turn.Config{Decide: calls.Decide, Audit: func(d audit.Decision, args json.RawMessage) {
		a.mu.Lock()
		defer a.mu.Unlock()
		d.Arguments = string(args)
		a.records = append(a.records, d)
	}}
	return a
}

// bench returns a runner whose model makes a call.
func (a *admission) bench(steps ...fake.Step) *bench {
	m := fake.New(steps...)
	return &bench{turn.New(m, selection.Follow(a.registry, selection.Config{Disabled: []string{"off"}}), prompt.New(prompt.Config{}), a.config), m}
}

// TestAdmission: calls are judged alike however they are made, and each decision is
// recorded with its stage and reason. Rule names are withheld from the model.
func TestAdmission(t *testing.T) {
	for _, c := range admissions {
		t.Run(c.call.Name+" "+string(c.call.Arguments), func(t *testing.T) {
			a := newAdmission(t)
			b := a.bench(fake.Step{Calls: []chat.Call{c.call}}, fake.Step{Text: "ok"})
			in := turn.Input{Text: "?", Facts: chat.Facts{User: "bob", Channel: "telegram", Agent: "main"}}
			result := run(b, t.Context(), in).results()[0]
			if !strings.Contains(result.Text, c.says) || strings.Contains(result.Text, "rule") {
				t.Errorf("the model reads %q, want %q", result.Text, c.says)
			}
			if result.Failed != (!a.ran && c.says != "Fill it.") {
				t.Errorf("it failed: %v; the tool ran: %v", result.Failed, a.ran)
			}
			if len(a.records) != 1 {
				t.Fatalf("the records are %+v", a.records)
			}
			d := a.records[0]
			a.checkRecord(t, d, c.record)
			a.records = nil
			// Trying it says the same, and leaves no record.
			j := b.JudgeCall(t.Context(), in, c.call.Name, c.call.Arguments)
			if (j.Effect == rules.Allow) != d.Allowed || j.Stage != d.Stage || j.Rule != d.Rule || j.Reason != d.Reason || len(a.records) != 0 {
				t.Errorf("judged: %+v, recorded: %+v and %+v", j, d, a.records)
			}
			// Without a model it is the same.
			direct, err := b.Call(t.Context(), in, c.call.Name, c.call.Arguments)
			var refused *rules.Refusal
			if strings.Contains(c.says, "policy") && c.call.Name != "use_skill" && d.Skill == "" && (!errors.As(err, &refused) || !strings.Contains(direct.Text, c.says)) {
				t.Errorf("called: %+v, %v", direct, err)
			}
			if d.Skill == "" && len(a.records) != 1 {
				t.Errorf("called: %+v", a.records)
			}
		})
	}
}

// checkRecord checks a record: the decision, whose call it was, and which tool it reached.
func (a *admission) checkRecord(t *testing.T, d audit.Decision, want string) {
	t.Helper()
	if got := fmt.Sprintf("%s%s %v %s %s %s", d.Tool, d.Skill, d.Allowed, d.Stage, d.Rule, d.Reason); got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
	if got := d.User + " " + d.Channel + " " + d.Agent; got != "bob telegram main" || d.Time.IsZero() {
		t.Errorf("the caller is %s at %s", got, d.Time)
	}
	about := "  0" // its source, its version and how long its hash is
	if d.Tool != "" && d.Stage != "unknown" && d.Tool != "call_tool" {
		about = "test 2 16"
	}
	if got := fmt.Sprint(d.Source, " ", d.Version, " ", len(d.Hash)); got != about {
		t.Errorf("the tool is %q, want %q", got, about)
	}
}

// TestJudge: tools are judged without their arguments, which leaves no record. A search may
// always run.
func TestJudge(t *testing.T) {
	a := newAdmission(t)
	b := a.bench()
	got := fmt.Sprint(b.Judge(t.Context(), turn.Input{Facts: chat.Facts{Channel: "telegram"}}, "exec", "look", "secret_tool", "none", "look"))
	want := "[{exec deny policy rule no-shell rule no-shell denies: strangers are there false <nil>} {look allow   tools of risk read are allowed by default false <nil>} {none deny unknown   false <nil>} {secret_tool deny visibility  allowed only by rule hr, which does not hold false <nil>}]"
	if got != want || len(a.records) != 0 {
		t.Errorf("%s\n%v", got, a.records)
	}
	if j := b.JudgeCall(t.Context(), turn.Input{}, selection.FindTools, json.RawMessage(`{"queries":["a"]}`)); j.Effect != rules.Allow || j.Stage != "" {
		t.Errorf("a search is judged %+v", j)
	}
}

// TestDescribingIsRecorded: asking for the description of a hidden tool leaves a record, and
// reads like asking for one that does not exist.
func TestDescribingIsRecorded(t *testing.T) {
	r := catalog.NewRegistry(nil)
	hidden := tool.Func(tool.Definition{Name: "payroll", Description: "Pay"}, func(context.Context, city) (string, error) { return "", nil })
	if err := r.RegisterWithFilter(hidden, func(chat.Facts) bool { return false }); err != nil {
		t.Fatal(err)
	}
	var records []audit.Decision
	m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "describe_tool", `{"name":"payroll"}`)}}, fake.Step{Text: "ok"})
	b := &bench{turn.New(m, selection.Follow(r, selection.Config{}), prompt.New(prompt.Config{}), turn.Config{Audit: func(d audit.Decision, _ json.RawMessage) { records = append(records, d) }}), m}
	result := run(b, t.Context(), turn.Input{Text: "?", Facts: chat.Facts{User: "bob"}}).results()[0]
	if !result.Failed || result.Text != `there is no tool "payroll"` {
		t.Errorf("the model reads %q", result.Text)
	}
	if len(records) != 1 || records[0].Tool != "payroll" || records[0].Stage != "visibility" || records[0].User != "bob" {
		t.Errorf("recorded is %+v", records)
	}
}

// TestCommandRules: rules about commands apply however the call is made, and when it is
// only judged. The record quotes the command.
func TestCommandRules(t *testing.T) {
	type command struct {
		Command string `json:"command"`
	}
	ran := ""
	r := catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "exec", Description: "Run"}, func(_ context.Context, c command) (string, error) {
		ran += c.Command
		return "ran", nil
	}), tool.Func(tool.Definition{Name: "open", Description: "Takes more", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"list":{"type":"array","items":{"type":"object","properties":{"a":{}}}}}}`)}, func(_ context.Context, c command) (string, error) {
		ran += c.Command
		return "ran", nil
	})); err != nil {
		t.Fatal(err)
	}
	list, err := rules.Compile(rules.Policy, []rules.Rule{
		{Name: "risky", Ask: []string{"exec"}, When: `command.risks.exists(r, r in ["deletes", "disk", "power"])`},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var records []audit.Decision
	b := &bench{turn.New(fake.New(), selection.Follow(r, selection.Config{}), prompt.New(prompt.Config{}), turn.Config{
		Decide: list.Decide, Audit: func(d audit.Decision, _ json.RawMessage) { records = append(records, d) },
	}), nil}
	for _, c := range []struct{ name, args, stage, why string }{
		{"exec", `{"command":"ls"}`, "", "tools of risk write are allowed by default"},
		{"exec", `{"command":"ls && rm -rf build"}`, "policy", "rule risky asks for an approval (deletes: rm -rf build)"},
		{"call_tool", `{"name":"exec","arguments":{"command":"rm x"}}`, "policy", "rule risky asks for an approval (deletes: rm x)"},
		{"exec", `{"command":"ls","command":"rm x"}`, "arguments", `duplicate key "command"`},
		{"exec", `{"Command":"rm x","command":"ls"}`, "arguments", "additional properties 'Command' not allowed"},
		{"exec", `{}`, "arguments", "missing property 'command'"},
		{"open", `{"command":"ls","Command":"rm x"}`, "arguments", `"Command" must be written "command"`},
		{"open", `{"command":"ls","list":[{"A":1}]}`, "arguments", `"A" must be written "a"`},
		{"open", `{"command":"ls","list":[{"a":{"b":1,"c":[{"b":1},{"b":1}],"b":1}}]}`, "arguments", `duplicate key "b"`},
		{"open", `{"command":"ls","list":[{"a":{"b":1,"c":["b","b"]}}],"more":1}`, "", ""},
	} {
		ran, records = "", nil
		result, _ := b.Call(t.Context(), turn.Input{}, c.name, json.RawMessage(c.args))
		if (ran != "") != (c.stage == "") || result.Failed != (ran == "") {
			t.Errorf("%s: ran %q, failed %v", c.args, ran, result.Failed)
		}
		if strings.Contains(result.Text, "risky") {
			t.Errorf("%s: the model reads the rule: %s", c.args, result.Text)
		}
		j := b.JudgeCall(t.Context(), turn.Input{}, c.name, json.RawMessage(c.args))
		if len(records) != 1 {
			t.Fatalf("%s: %d records", c.args, len(records))
		}
		for _, got := range []struct{ from, stage, reason string }{{"record", records[0].Stage, records[0].Reason}, {"judgement", j.Stage, j.Reason}} {
			if got.stage != c.stage || !strings.Contains(got.reason, c.why) {
				t.Errorf("%s: the %s has stage %q and reason %q, want %q, %q", c.args, got.from, got.stage, got.reason, c.stage, c.why)
			}
		}
	}
	if j := b.Judge(t.Context(), turn.Input{}, "exec")[0]; j.Effect != rules.Ask || !j.Depends {
		t.Errorf("%+v", j)
	}
}

// TestSecrets: no result of a tool contains a secret, in any form, late or as an error.
func TestSecrets(t *testing.T) {
	const key = "tr0ub4dor&3"
	var known secret.Set
	if err := known.Set("test", key); err != nil {
		t.Fatal(err)
	}
	leak := tool.Func(tool.Definition{Name: "leak", Description: "Leak " + key, Risk: tool.Read}, func(ctx context.Context, c city) (chat.Result, error) {
		tool.Report(ctx, tool.Progress{Text: "with " + key})
		if c.City == "error" {
			return chat.Result{}, errors.New("401 for " + key)
		}
		if finish, ok := tool.Defer(ctx); ok {
			finish(tool.Text("late " + key))
		}
		data, _ := json.Marshal(map[string]string{"key": key})
		return chat.Result{Text: "key " + base64.StdEncoding.EncodeToString([]byte("user:"+key)), View: &chat.View{
			Text: key, Data: data, Error: key, Files: []chat.File{{Name: key, Data: []byte(key)}, {Name: "image", Data: []byte{0xff, 0}}},
		}}, nil
	})
	b := newBench(t, turn.Config{Secrets: &known}, selection.Config{}, []tool.Tool{leak},
		fake.Step{Calls: []chat.Call{fake.Call("1", "leak", `{"city":"a"}`), fake.Call("2", "leak", `{"city":"error"}`)}}, fake.Step{Err: errors.New("the key " + key + " is not valid")})
	var mu sync.Mutex
	var all strings.Builder
	write := func(v any) {
		mu.Lock()
		defer mu.Unlock()
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	in := turn.Input{Text: "?", Late: func(_ chat.Call, r chat.Result) { write(r) }}
	for e, err := range b.Run(t.Context(), in) {
		write(e.Result)
		write(e.Progress)
		write(e.Step)
		write(fmt.Sprint(err))
	}
	result, err := b.Call(t.Context(), turn.Input{}, "leak", json.RawMessage(`{"city":"error"}`))
	write(result)
	write(err.Error())
	for _, request := range b.model.Requests() {
		write(request.Messages)
	}
	got := all.String()
	if !strings.Contains(got, "late (hidden)") {
		t.Errorf("the text is %q, want %q in it", got, "late (hidden)")
	}
	if !strings.Contains(got, "401 for (hidden)") {
		t.Errorf("the text is %q, want %q in it", got, "401 for (hidden)")
	}
	if !strings.Contains(got, "the key (hidden) is not valid") {
		t.Errorf("the text is %q, want %q in it", got, "the key (hidden) is not valid")
	}
	for _, form := range []string{key, `tr0ub4dor\u0026`, base64.StdEncoding.EncodeToString([]byte(key))[:10], base64.StdEncoding.EncodeToString([]byte("user:" + key))[8:16]} {
		if strings.Contains(got, form) {
			t.Errorf("%s is in\n%s", form, got)
		}
	}
}

// TestStoredSecrets: the system prompt that a session stores contains no secret, and is
// not rebuilt because of that.
func TestStoredSecrets(t *testing.T) {
	const key = "tr0ub4dor&3"
	var known secret.Set
	if err := known.Set("test", key); err != nil {
		t.Fatal(err)
	}
	r := catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "look", Description: "Looks with " + key}, func(context.Context, city) (string, error) { return "", nil })); err != nil {
		t.Fatal(err)
	}
	guided(t, r, catalog.Skill{Name: "ops", Description: "Operates with " + key, Guide: files{"": "How to."}})
	runner := turn.New(fake.New(), selection.Follow(r, selection.Config{Mode: selection.Preselect, Limit: 1, Directory: 500}), prompt.New(prompt.Config{}), turn.Config{Secrets: &known})
	in := turn.Input{Text: "?", Facts: chat.Facts{Agent: "main"}}
	_, in.Session.State = runner.Replay(t.Context(), in)
	s := in.Session.State
	if strings.Contains(s.Directory+s.SkillList, key) {
		t.Errorf("s.Directory+s.SkillList = %q, do not want %q in it", s.Directory+s.SkillList, key)
	}
	if !strings.Contains(s.Directory, "(hidden)") {
		t.Errorf("the directory is %q, want %q in it", s.Directory, "(hidden)")
	}
	if !strings.Contains(s.SkillList, "(hidden)") {
		t.Errorf("the list of skills is %q, want %q in it", s.SkillList, "(hidden)")
	}
	_, again := runner.Replay(t.Context(), in)
	if again.Directory != in.Session.Directory {
		t.Errorf("the directory of the next turn is %v, want %v", again.Directory, in.Session.Directory)
	}
	if again.SkillList != in.Session.SkillList {
		t.Errorf("the list of skills of the next turn is %v, want %v", again.SkillList, in.Session.SkillList)
	}
}

// nowhere is a log that stores nothing.
type nowhere struct{}

func (nowhere) Erase(context.Context, string) (int, int, error)            { return 0, 0, nil }
func (nowhere) Add(context.Context, ...audit.Record) error                 { return nil }
func (nowhere) List(context.Context, audit.Filter) ([]audit.Record, error) { return nil, nil }
func (nowhere) AddDecisions(context.Context, ...audit.Decision) error      { return nil }
func (nowhere) Verify(context.Context, *audit.Head) (v audit.Verdict, err error) {
	return v, nil
}
func (nowhere) Decisions(context.Context, audit.DecisionFilter) ([]audit.Decision, error) {
	return nil, nil
}

// BenchmarkCall measures the cost of a policy of 20 rules, the record and 50 secrets in
// a call with a result of 1 KiB.
func BenchmarkCall(b *testing.B) {
	var list []rules.Rule
	for i := range 20 {
		list = append(list, rules.Rule{Name: fmt.Sprint("r", i), Deny: []string{"get_weather"}, When: fmt.Sprintf(`channel == "c%d"`, i)})
	}
	calls, err := rules.Compile(rules.Policy, list, nil)
	if err != nil {
		b.Fatal(err)
	}
	var known secret.Set
	for i := range 50 {
		if err := known.Set(fmt.Sprint(i), secret.Value(fmt.Sprintf("sk-proj-%d-0123456789abcdef", i))); err != nil {
			b.Fatal(err)
		}
	}
	recorder := audit.NewRecorder(nowhere{}, &known, nil)
	go recorder.Run(b.Context())
	text := strings.Repeat("2026-07-28T10:31:04Z ERROR checkout-7f9c payment gateway answered 503\n", 15)
	forecast := weather(tool.Read, func(context.Context, city) (chat.Result, error) { return tool.Text(text), nil })
	for name, cfg := range map[string]turn.Config{"bare": {}, "guarded": {Decide: calls.Decide, Audit: recorder.Decide, Secrets: &known}} {
		b.Run(name, func(b *testing.B) {
			bench := newBench(b, cfg, selection.Config{}, []tool.Tool{forecast})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bench.Call(b.Context(), turn.Input{Facts: chat.Facts{Channel: "web", User: "ann"}}, "get_weather", json.RawMessage(`{"city":"Rome"}`)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPanicBesideTheTool: a panic in what surrounds a call costs that call, not the process.
func TestPanicBesideTheTool(t *testing.T) {
	b := newBench(t, turn.Config{Audit: func(audit.Decision, json.RawMessage) { panic("no recorder") }}, selection.Config{},
		[]tool.Tool{weather(tool.Read, func(context.Context, city) (chat.Result, error) { return tool.Text("sunny"), nil })},
		fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"a"}`)}}, fake.Step{Text: "ok"})
	o := run(b, t.Context(), turn.Input{Text: "?"})
	if o.err != nil {
		t.Fatal(o.err)
	}
	if r := o.results()[0]; !r.Failed || r.CallID != "1" || !strings.Contains(r.Text, "failed unexpectedly") {
		t.Errorf("the result is %+v", r)
	}
}
