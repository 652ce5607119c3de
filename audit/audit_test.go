package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/secret"
)

func TestRedact(t *testing.T) {
	var known secret.Set
	if err := known.Set("test", "tr0ub4dor", "tr0ub4dor&3", "short"); err != nil {
		t.Fatal(err)
	}
	keep := func(args string, err error) audit.Record {
		log := &shelf{}
		r := audit.NewRecorder(log, &known, nil)
		r.Record(audit.Record{}, json.RawMessage(args), 0, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r.Run(ctx)
		return log.calls[0]
	}
	long := strings.Repeat("长", 100)
	for in, want := range map[string]string{
		``:                                       ``,
		`{"namespace":"prod","n":3}`:             `{"n":3,"namespace":"prod"}`,
		`{"password":"x","max_tokens":5}`:        `{"max_tokens":5,"password":"(hidden)"}`,
		`{"accessToken":["a"],"apiKey":{"b":1}}`: `{"accessToken":"(hidden)","apiKey":"(hidden)"}`,
		`{"X-API-KEY":"a","key":"b","pinned":"c"}`:                                 `{"X-API-KEY":"(hidden)","key":"b","pinned":"c"}`,
		`{"a":"is tr0ub4dor&3!"}`:                                                  `{"a":"is (hidden)!"}`,
		`{"cmd":"curl -H 'Authorization: Bearer abcdef123456' http://u:pw@host/"}`: `{"cmd":"curl -H 'Authorization: Bearer (hidden)' http://u:(hidden)@host/"}`,
		`{"t":"my password is hunter2, and 密码是 小猫 呢"}`:                             `{"t":"my password is (hidden), and 密码是 (hidden) 呢"}`,
		`{"t":"ghp_abcdefghijklmnopqrstuvwxyz0123"}`:                               `{"t":"(hidden)"}`,
		`{"t":"` + long + `"}`:                                                     `{"t":"` + strings.Repeat("长", 66) + `… (300 bytes)"}`,
		`{"a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}}`:                              `{"a":{"b":{"c":{"d":{"e":{"f":{"g":"…"}}}}}}}`,
		`nonsense`: `(not JSON)`,
	} {
		if got := keep(in, nil).Arguments; got != want {
			t.Errorf("%s\ngives %s\nwant  %s", in, got, want)
		}
	}
	many := "[" + strings.Repeat("1,", 30) + "1]"
	if got := keep(many, nil).Arguments; !strings.Contains(got, "… 11 more") {
		t.Error(got)
	}
	if got := keep(`"`+strings.Repeat("x", 1<<20)+`"`, nil).Arguments; got != `"(1048578 bytes)"` {
		t.Error(got)
	}
	if got := keep("", errors.New("token=abc\nfailed")).Error; got != "token=(hidden) failed" {
		t.Error(got)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"a":["b",{"password":1}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		var known secret.Set
		if err := known.Set("test", "s3cret-value"); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(map[string]string{"in": in + "s3cret-value" + in})
		if err != nil {
			t.Skip()
		}
		log := &shelf{}
		r := audit.NewRecorder(log, &known, nil)
		r.Record(audit.Record{}, raw, 0, nil)
		r.Decide(audit.Decision{Reason: in}, json.RawMessage(in))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r.Run(ctx)
		for _, got := range []string{log.calls[0].Arguments, log.decisions[0].Arguments} {
			if len(got) > 2100 || strings.Contains(got, "s3cret-value") {
				t.Errorf("%q gives %q", in, got)
			}
		}
	})
}

// shelf is a log in memory.
type shelf struct {
	mu    sync.Mutex
	calls []audit.Record
	wait  chan struct{}
	err   error

	decisions []audit.Decision
}

func (s *shelf) AddDecisions(_ context.Context, d ...audit.Decision) error {
	if s.wait != nil {
		<-s.wait
	}
	s.decisions = append(s.decisions, d...)
	return s.err
}

func (s *shelf) Erase(_ context.Context, user string) (records, decisions int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.User == user {
			records++
		}
	}
	s.calls = slices.DeleteFunc(s.calls, func(c audit.Record) bool { return c.User == user })
	return records, 0, nil
}

func (s *shelf) Decisions(context.Context, audit.DecisionFilter) ([]audit.Decision, error) {
	return s.decisions, nil
}

func (s *shelf) Add(_ context.Context, calls ...audit.Record) error {
	if s.wait != nil {
		<-s.wait
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, calls...)
	return s.err
}

func (s *shelf) Verify(context.Context, *audit.Head) (audit.Verdict, error) {
	return audit.Verdict{}, nil
}

func (s *shelf) List(context.Context, audit.Filter) ([]audit.Record, error) { return s.calls, nil }

// is compares one fact.
func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestRecorder: calls are counted at once and stored in order; a slow log blocks nobody,
// and lost records are counted.
func TestRecorder(t *testing.T) {
	log := &shelf{wait: make(chan struct{})}
	r := audit.NewRecorder(log, nil, nil)
	const n = 1500
	for i := range n {
		outcome, err := audit.OK, error(nil)
		if i%10 == 0 {
			outcome, err = "timeout", errors.New("took too long")
		}
		r.Record(audit.Record{Skill: "s", Outcome: outcome, User: fmt.Sprint(i % 10), Tool: fmt.Sprint(i)}, json.RawMessage(`{"token":"x"}`), time.Duration(1+i%100)*time.Millisecond, err)
	}
	c := r.Counters("s")
	is(t, "calls", c.Calls, n)
	is(t, "timeouts", c.Failures["timeout"], n/10)
	if c.Median < 45 || c.Median > 62 {
		t.Errorf("median %v ms, want about 50", c.Median)
	}
	if c.P95 < 94 || c.P95 > 115 {
		t.Errorf("95 of 100 within %v ms, want about 95", c.P95)
	}
	is(t, "dropped", r.Dropped(), n-1024)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	close(log.wait)
	r.Run(ctx)
	if len(log.calls) != 1024 {
		t.Fatalf("%d calls are stored, want 1024", len(log.calls))
	}
	is(t, "the eleventh tool", log.calls[10].Tool, "10")
	is(t, "arguments", log.calls[0].Arguments, `{"token":"(hidden)"}`)
	is(t, "error", log.calls[0].Error, "took too long")
	is(t, "milliseconds of the second", log.calls[1].Took, 2)
	log.err = errors.New("full")
	r.Record(audit.Record{Skill: "s"}, nil, 0, nil)
	r.Run(ctx)
	is(t, "dropped with a full log", r.Dropped(), n-1024+1)
	is(t, "calls of another skill", r.Counters("other").Calls, 0)
}

// TestFlood: records of one caller, however many and long, neither push out what others do
// nor what the policy decides, and what is dropped is reported.
func TestFlood(t *testing.T) {
	log, out := &shelf{}, &bytes.Buffer{}
	r := audit.NewRecorder(log, nil, slog.New(slog.NewTextHandler(out, nil)))
	for i := range 5000 {
		r.Decide(audit.Decision{User: "mallory", Tool: fmt.Sprint("guess", i), Stage: "unknown"}, nil)
	}
	r.Decide(audit.Decision{User: "ann", Tool: "look", Allowed: true}, nil)
	r.Decide(audit.Decision{User: "mallory", Tool: "wipe", Stage: "policy"}, nil)
	r.Decide(audit.Decision{User: "mallory", Tool: "wipe", Allowed: true, Risk: "destructive"}, nil)
	r.Decide(audit.Decision{User: "mallory", Tool: "exec", Allowed: true, Rule: "rule admins"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Run(ctx)
	var kept []string
	for _, d := range log.decisions {
		if !strings.HasPrefix(d.Tool, "guess") {
			kept = append(kept, d.User+" "+d.Tool)
		}
	}
	if want := []string{"ann look", "mallory wipe", "mallory wipe", "mallory exec"}; !slices.Equal(kept, want) {
		t.Errorf("the log has %q, want %q", kept, want)
	}
	is(t, "stored guesses", len(log.decisions)-len(kept), 512)
	if !strings.Contains(out.String(), "call records were dropped") || !strings.Contains(out.String(), fmt.Sprintf("dropped=%d", 5000-512)) {
		t.Errorf("the drops are not reported: %s", out)
	}
}

// TestWeightyDecisionsAreNotLost: while the queue is full they wait, and what the log cannot
// store goes to the program's log, without secrets.
func TestWeightyDecisionsAreNotLost(t *testing.T) {
	var known secret.Set
	if err := known.Set("test", "tr0ub4dor&3"); err != nil {
		t.Fatal(err)
	}
	log, out := &shelf{wait: make(chan struct{})}, &bytes.Buffer{}
	r := audit.NewRecorder(log, &known, slog.New(slog.NewTextHandler(out, nil)))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	const n = 3000
	r.Decide(audit.Decision{User: "mallory", Tool: "wipe", Stage: "policy"}, nil)
	log.wait <- struct{}{} // Run writes now
	all := make(chan struct{})
	go func() {
		defer close(all)
		for range n - 1 {
			r.Decide(audit.Decision{User: "mallory", Tool: "wipe", Stage: "policy"}, nil)
		}
	}()
	close(log.wait)
	<-all
	stop()
	<-done
	is(t, "stored", len(log.decisions), n)
	is(t, "dropped", r.Dropped(), 0)
	log.err = errors.New("disk full")
	r.Decide(audit.Decision{User: "ann", Tool: "wipe", Stage: "policy"}, json.RawMessage(`{"path":"tr0ub4dor&3"}`))
	r.Run(ctx)
	if text := out.String(); !strings.Contains(text, "a decision could not be stored") || !strings.Contains(text, "user=ann") || strings.Contains(text, "tr0ub4dor") {
		t.Errorf("the program's log: %s", text)
	}
}

// TestEveryTextIsShort: no field of a record can fill the disk.
func TestEveryTextIsShort(t *testing.T) {
	for _, size := range []int{10_000, 9 << 20} {
		log := &shelf{}
		r := audit.NewRecorder(log, nil, nil)
		var d audit.Decision
		var c audit.Record
		for _, v := range []reflect.Value{reflect.ValueOf(&d).Elem(), reflect.ValueOf(&c).Elem()} {
			for i := range v.NumField() {
				if v.Field(i).Kind() == reflect.String {
					v.Field(i).SetString(strings.Repeat("x", size))
				}
			}
		}
		args, _ := json.Marshal(map[string]string{"a": strings.Repeat("x", size)})
		r.Decide(d, args)
		r.Record(c, args, 0, errors.New(strings.Repeat("x", size)))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r.Run(ctx)
		for _, kept := range []any{log.decisions[0], log.calls[0]} {
			if raw, err := json.Marshal(kept); err != nil || len(raw) > 8<<10 {
				t.Errorf("with texts of %d bytes, %T has %d bytes, %v", size, kept, len(raw), err)
			}
		}
	}
}

// TestEraseReachesTheQueue: what is not written yet is erased, too, and later records stay.
func TestEraseReachesTheQueue(t *testing.T) {
	log := &shelf{}
	r := audit.NewRecorder(log, nil, nil)
	ctx, stop := context.WithCancel(t.Context())
	r.Record(audit.Record{Skill: "s", User: "ann"}, nil, 0, nil)
	r.Record(audit.Record{Skill: "s", User: "bob"}, nil, 0, nil)
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	erased, err := r.Erase(t.Context(), []string{"ann"})
	if err != nil {
		t.Fatal(err)
	}
	if erased["calls"] != 1 {
		t.Errorf("%v were erased, want 1 call", erased)
	}
	r.Record(audit.Record{Skill: "s", User: "cid"}, nil, 0, nil)
	stop()
	<-done
	var users []string
	for _, c := range log.calls {
		users = append(users, c.User)
	}
	if want := []string{"bob", "cid"}; !slices.Equal(users, want) {
		t.Errorf("the log has calls of %q, want %q", users, want)
	}
}

// TestAnonymous: an audit keeps when what was decided by which rule, not about whom.
func TestAnonymous(t *testing.T) {
	d := audit.Decision{Agent: "main", Channel: "web", Chat: "c", User: "ann", Session: "agent:main:dm:ann", Tool: "write_file", Source: "src", Hash: "h", Arguments: "{}", Stage: "policy", Rule: "r", Reason: "ann may not"}
	want := audit.Decision{Agent: "main", Channel: "web", Tool: "write_file", Source: "src", Hash: "h", Stage: "policy", Rule: "r"}
	if got := d.Anonymous(); got != want {
		t.Errorf("got %+v", got)
	}
}

// Somebody who decides about a call sees all of it, and how much is missing if it is very
// long; nothing in it turns the line around.
func TestArgumentsForApproval(t *testing.T) {
	t.Parallel()
	command := strings.Repeat("echo hello; ", 300) + "rm -rf ~"
	for args, want := range map[string]string{
		`{"command":"` + command + `"}`:                                   command,
		`{"command":"` + strings.Repeat("a", 20<<10) + `"}`:               "… (20480 bytes)",
		`{"account":"ann","note":"` + strings.Repeat("a", 100<<10) + `"}`: `{"account":"ann","note":"aaa`,
		"{\"command\":\"safe \u202e\u200b x\"}":                           `safe \u202e\u200b x`,
		`{"password":"hunter2hunter2","when":"今天 👩‍👩‍👧"}`:                 `{"password":"(hidden)","when":"今天 👩`,
	} {
		if got := audit.Arguments(nil, json.RawMessage(args)); !strings.Contains(got, want) {
			t.Errorf("%.60s: %.300s", args, got)
		}
	}
}
