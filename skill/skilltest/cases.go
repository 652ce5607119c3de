package skilltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

var cases = []testCase{
	{"contract", testContract},
	{"bad configs", testBad},
	{"round trip", testRoundTrip},
	{"failure", func(t *testing.T, h Harness) { wantFailure(t, h.start(t, h.Fails), skill.ErrExecutionFailed) }},
	{"unavailable", func(t *testing.T, h Harness) {
		wantFailure(t, h.start(t, h.Unavailable), skill.ErrProviderUnavailable)
	}},
	{"no JSON", func(t *testing.T, h Harness) { wantFailure(t, h.start(t, h.Rubbish), skill.ErrExecutionFailed) }},
	{"too large a result", func(t *testing.T,
		h Harness) {
		wantFailure(t, h.start(t, h.Large), skill.ErrExecutionFailed)
	}},
	{"panic", testPanic},
	{"bad arguments", testArguments},
	{"timeout", testTimeout},
	{"canceled", testCanceled},
	{"caller's deadline", testDeadline},
	{"concurrent calls", testConcurrent},
	{"secrets", testSecrets},
}

// testContract checks what a skill says about itself, and that loading it again gives
// the same.
func testContract(t *testing.T, h Harness) {
	if h.Provider.Type() == "" {
		t.Error("the provider has no type")
	}
	says := func(s skill.Skill) string {
		return fmt.Sprintf("%q %q %s %+v", s.Name(), s.Description(), s.Parameters(), skill.DetailsOf(s))
	}
	config := h.Echo
	config.Description, config.Version, config.RiskLevel, config.Replay = "Tells 时间 <now>.", "1.2", tool.Read,
		tool.Keyed
	config.Groups, config.Tools = []string{"a", "b"}, []string{"group:x"}
	one, two := h.load(t, config), h.load(t, config)
	if one.Name() != config.Name || one.Description() != config.Description {
		t.Errorf("the skill is %q, %q", one.Name(), one.Description())
	}
	d := skill.DetailsOf(one)
	if d.Provider != h.Provider.Type() {
		t.Errorf("the provider is %q, want %q", d.Provider, h.Provider.Type())
	}
	if d.Version != config.Version || d.Risk != config.RiskLevel {
		t.Errorf("the version is %q and the risk %q", d.Version, d.Risk)
	}
	if !reflect.DeepEqual(d.Groups, config.Groups) {
		t.Errorf("the groups are %q, want %q", d.Groups, config.Groups)
	}
	if got := skill.Definition(one).Replay; got != tool.Keyed {
		t.Errorf("calls are repeated as %q, want %q", got, tool.Keyed)
	}
	if a, b := says(one), says(two); a != b || a != says(one) {
		t.Errorf("the skill is not always the same:\n%s\n%s", a, b)
	}
	if strings.Contains(says(one), Secret) {
		t.Error("the skill tells its secret")
	}
	table := skill.NewTable(nil)
	if err := errors.Join(table.Register(one), table.Enable(one.Name())); err != nil || len(table.ToTools()) != 1 {
		t.Errorf("the skill is not a tool: %v", err)
	}
}

func testBad(t *testing.T, h Harness) {
	for key, config := range h.Bad {
		if config.Description == "" {
			config.Description = "Is refused."
		}
		_, err := h.Provider.Load(config)
		switch {
		case err == nil:
			t.Errorf("a config whose %s is bad was loaded", key)
		case !strings.Contains(err.Error(), key):
			t.Errorf("the error does not name %s: %v", key, err)
		}
		wantNoSecret(t, fmt.Sprint(err))
	}
}

// testRoundTrip sends every kind of JSON value.
func testRoundTrip(t *testing.T, h Harness) {
	s := h.start(t, h.Echo)
	for _, args := range []string{
		`{}`,
		`{"text":"Zürich: 晴れ ☀️ \u0000 \u2028 </script> \"quoted\" \\ \n"}`,
		`{"number":12345678901234567890,"small":-1.5e-7,"zero":0,"nothing":null,"yes":true,"no":false}`,
		`{"list":[],"empty":"","object":{},"nested":{"a":[{"b":[[1,2],[3]]}]}}`,
		`{"名":"value","a b":1,"":2}`,
		`{"long":"` + strings.Repeat("长 ", 20_000) + `"}`,
	} {
		result, err := execute(t, s, t.Context(), args)
		if err != nil {
			t.Errorf("%.80s: %v", args, err)
			continue
		}
		if got, want := canonical(t, []byte(result)), canonical(t, []byte(args)); !bytes.Equal(got, want) {
			t.Errorf("%.200s came back as %.200s", want, got)
		}
	}
	if result, err := execute(t, s, t.Context(), ""); err != nil || string(canonical(t, []byte(result))) != "{}" {
		t.Errorf("no arguments came back as %s, %v", result, err)
	}
}

func testPanic(t *testing.T, h Harness) {
	s := h.start(t, h.Panics)
	for range 2 {
		wantFailure(t, s, skill.ErrExecutionFailed)
	}
	if _, err := execute(t, h.start(t, h.Echo), t.Context(), `{}`); err != nil {
		t.Errorf("another skill stopped working: %v", err)
	}
}

// testArguments calls with arguments that do not fit the parameters.
func testArguments(t *testing.T, h Harness) {
	if h.Start != nil {
		t.Skip("the parameters are not the config's")
	}
	config := h.Echo
	config.Parameters = skill.ParameterSchema(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	s := h.start(t, config)
	for _, args := range []string{`{}`, `{"n":"x"}`, `[]`, `{"n":1`, `null`} {
		if _, err := execute(t, s, t.Context(), args); !errors.Is(err, skill.ErrInvalidParams) ||
			skill.Status(err) != http.StatusBadRequest {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, err := execute(t, s, t.Context(), `{"n":1}`); err != nil {
		t.Error(err)
	}
}

// short is less time than any skill takes. patience is more than a skill needs to
// end when it is canceled: it only keeps a broken one from blocking the tests.
const (
	short    = 50 * time.Millisecond
	patience = 20 * time.Second
)

func testTimeout(t *testing.T, h Harness) {
	config := h.Slow
	config.Timeout = short
	s := h.start(t, config)
	err := executeSoon(t, s, t.Context())
	wantKind(t, err, skill.ErrProviderTimeout)
	if skill.Status(err) != http.StatusGatewayTimeout {
		t.Errorf("the status is %d", skill.Status(err))
	}
}

func testCanceled(t *testing.T, h Harness) {
	s := h.start(t, h.Slow)
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(short, cancel)
	defer timer.Stop()
	if err := executeSoon(t, s, ctx); err == nil {
		t.Error("the call did not fail")
	} else if errors.Is(err, skill.ErrProviderTimeout) || errors.Is(err, skill.ErrProviderUnavailable) {
		t.Errorf("a call that the caller canceled blames the provider: %v", err)
	}
	if err := executeSoon(t, s, ctx); err == nil { // the context has ended before the call
		t.Error("the call did not fail")
	}
}

func testDeadline(t *testing.T, h Harness) {
	s := h.start(t, h.Slow)
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	err := executeSoon(t, s, ctx)
	if err == nil || skill.Status(err) != http.StatusGatewayTimeout {
		t.Errorf("the call ended with %v", err)
	}
}

func testConcurrent(t *testing.T, h Harness) {
	s := h.start(t, h.Echo)
	var all sync.WaitGroup
	for n := range 32 {
		all.Go(func() {
			args := fmt.Sprintf(`{"n":%d}`, n)
			result, err := execute(t, s, t.Context(), args)
			if err != nil || string(canonical(t, []byte(result))) != args {
				t.Errorf("%s came back as %s, %v", args, result, err)
			}
		})
	}
	all.Wait()
}

func testSecrets(t *testing.T, h Harness) {
	if len(h.Leaks) == 0 {
		t.Skip("the provider's skills cannot do that")
	}
	for _, config := range h.Leaks {
		result, err := execute(t, h.start(t, config), t.Context(), `{}`)
		wantNoSecret(t, result+fmt.Sprint(err))
	}
}

// wantFailure executes a skill that fails.
func wantFailure(t *testing.T, s skill.Skill, kind error) {
	t.Helper()
	_, err := execute(t, s, t.Context(), `{}`)
	wantKind(t, err, kind)
}

// wantKind checks that an error is of one kind and safe to show.
func wantKind(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
		return
	}
	if skill.Status(err) != skill.Status(kind) {
		t.Errorf("%v has status %d", err, skill.Status(err))
	}
	if len(err.Error()) > 4<<10 {
		t.Errorf("the error is %d bytes long", len(err.Error()))
	}
	if strings.ContainsAny(err.Error(), "\x00\x1b\r") || strings.ToValidUTF8(err.Error(), "") != err.Error() {
		t.Errorf("the error is not clean text: %q", err)
	}
}

func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	quoted, _ := json.Marshal(Secret)
	for _, form := range []string{Secret, string(quoted[1 : len(quoted)-1]),
		strings.ReplaceAll(Secret, `"`, `\u0022`)} {
		if strings.Contains(text, form) {
			t.Errorf("the secret is shown: %.500s", text)
		}
	}
}

// execute runs a skill as etui does, and returns its result as JSON.
func execute(t *testing.T, s skill.Skill, ctx context.Context, args string) (string, error) {
	t.Helper()
	result, err := skill.Execute(ctx, s, json.RawMessage(args))
	if err != nil {
		wantNoSecret(t, err.Error())
		return "", err
	}
	raw, err := json.Marshal(result)
	if err != nil {
		t.Errorf("the result is not JSON: %v", err)
	}
	if len(raw) > skill.MaxResult+1024 {
		t.Errorf("the result is %d bytes long", len(raw))
	}
	return string(raw), nil
}

// executeSoon fails the test if a canceled skill does not end.
func executeSoon(t *testing.T, s skill.Skill, ctx context.Context) (err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err = execute(t, s, ctx, `{}`)
	}()
	select {
	case <-done:
		return err
	case <-time.After(patience):
		t.Fatal("the call does not end")
		return nil
	}
}

// canonical returns JSON with its keys in order and its numbers as written.
func canonical(t *testing.T, raw []byte) []byte {
	v, err := plainjson.Decode(raw)
	if err != nil {
		t.Errorf("%.200s is not JSON: %v", raw, err)
	}
	out, _ := json.Marshal(v) // decoded JSON always encodes
	return out
}
