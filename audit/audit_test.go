package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/secret"
)

func TestRedact(t *testing.T) {
	var known secret.Known
	known.Set("test", "tr0ub4dor", "tr0ub4dor&3", "short")
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
		var known secret.Known
		known.Set("test", "s3cret-value")
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
	s.decisions = append(s.decisions, d...)
	return s.err
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
		r.Record(audit.Record{Skill: "s", Outcome: outcome, Tool: fmt.Sprint(i)}, json.RawMessage(`{"token":"x"}`), time.Duration(1+i%100)*time.Millisecond, err)
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
