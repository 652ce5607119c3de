package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
)

func ExampleFail() {
	w := httptest.NewRecorder()
	wire.Fail(w, fmt.Errorf("agent %q: %w", "mian", engine.ErrUnknown))
	fmt.Print(w.Code, " ", w.Body)
	// Output: 404 {"error":{"message":"agent \"mian\": not found","type":"invalid_request_error","param":null,"code":"not_found"}}
}

func TestStatuses(t *testing.T) {
	for status, err := range map[int]error{
		400: engine.ErrEmpty,
		413: engine.ErrTooLong,
		429: &model.Error{Kind: model.ErrRateLimited},
		502: &model.Error{Kind: model.ErrAuth},
		504: fmt.Errorf("asking: %w", context.DeadlineExceeded),
		500: errors.New("anything else"),
	} {
		w := httptest.NewRecorder()
		wire.Fail(w, err)
		if w.Code != status {
			t.Errorf("%v: %d, want %d", err, w.Code, status)
		}
	}
}

// TestReadRefuses: what a client asks for is done whole or not at all.
func TestReadRefuses(t *testing.T) {
	type inner struct {
		Word string `json:"word"`
	}
	type request struct {
		inner
		Names []string        `json:"names"`
		Count int             `json:"count"`
		All   bool            `json:"all"`
		More  []inner         `json:"more"`
		Raw   json.RawMessage `json:"raw"`
	}
	for _, c := range []struct{ query, body, want string }{
		{"", `{"word":"a","names":["b"],"count":3,"all":true,"more":[{"word":"c"}],"raw":{"x":1}}`, ""},
		{"", `{"name":["b"]}`, `unknown field "name"; did you mean "names"?; the fields are word, names, count, all, more, raw`},
		{"", `{"Names":["b"]}`, `unknown field "Names"; did you mean "names"?`},
		{"", `{"more":[{"wrd":"c"}]}`, `unknown field "more.0.wrd"; did you mean "word"?; the fields are word`},
		{"", `{"names":["a"],"names":["b"]}`, `the field "names" appears twice`},
		{"", `{"raw":{"x":1,"x":2}}`, `the field "raw.x" appears twice`},
		{"", `{"names":"b"}`, `"names" must be a list`},
		{"", `{"names":["b",1]}`, `"names.1" must be a string`},
		{"", `{"count":1.5}`, `"count" must be a whole number`},
		{"", `{"count":1e99}`, `"count" must be a whole number`},
		{"", `{"all":"true"}`, `"all" must be true or false`},
		{"", `{"count":NaN}`, "not the expected JSON"},
		{"", `{"word":"` + "\xff" + `"}`, "not the expected JSON"},
		{"", `[]`, "the request must be an object"},
		{"", `{} {"all":true}`, "not the expected JSON"},
		{"", strings.Repeat("[", 20_000), "must be an object"},
		{"", `{"raw":` + strings.Repeat("[", 20_000), "not the expected JSON"},
		{"", ``, "not the expected JSON"},
		{"all=true", `{}`, `unknown query parameter "all"; this request has none`},
	} {
		w := httptest.NewRecorder()
		ok := wire.Read(w, httptest.NewRequest(http.MethodPost, "/?"+c.query, strings.NewReader(c.body)), new(request))
		if ok != (c.want == "") {
			t.Errorf("%.80s: read is %v: %s", c.body, ok, w.Body)
		}
		if got := message(w); !strings.HasPrefix(got, c.want) && !strings.Contains(got, c.want) {
			t.Errorf("%.80s\ngot  %s\nwant %s", c.body, got, c.want)
		}
		if strings.Contains(w.Body.String(), "wire_test") || strings.Contains(w.Body.String(), "Go ") {
			t.Errorf("%.80s: the answer names a Go type: %s", c.body, w.Body)
		}
	}
}

func TestQueryRefuses(t *testing.T) {
	for query, want := range map[string]string{
		"user=ann&limit=3": "", "": "",
		"usr=ann":             `unknown query parameter "usr"; did you mean "user"?; the parameters are user, limit`,
		"user=ann&user=bob":   `the query parameter "user" appears twice`,
		"user=ann;limit=3":    "the query cannot be read",
		"user=%zz":            "the query cannot be read",
		"User=ann":            `did you mean "user"?`,
		"user=ann&user%5B%5D": "unknown query parameter",
	} {
		w := httptest.NewRecorder()
		_, ok := wire.Query(w, httptest.NewRequest(http.MethodGet, "/?"+query, nil), "user", "limit")
		if ok != (want == "") {
			t.Errorf("%s: %v", query, ok)
		}
		if got := message(w); !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
}

// message returns the message of a refusal; empty without one.
func message(w *httptest.ResponseRecorder) string {
	var p wire.Problem
	_ = json.Unmarshal(w.Body.Bytes(), &p)
	return p.Error.Message
}

// TestAdvice: only an operator reads where a refused key comes from.
func TestAdvice(t *testing.T) {
	err := &model.Error{Model: "m", Kind: model.ErrAuth, Detail: "no" + model.Advice + "line 3 of etui.yaml"}
	if _, p := wire.ProblemOf(err); strings.Contains(p.Error.Message, "etui.yaml") || !strings.HasSuffix(p.Error.Message, ": no") {
		t.Errorf("anybody reads %q", p.Error.Message)
	}
	if _, p := wire.ProblemFor(httptest.NewRecorder(), err); !strings.Contains(p.Error.Message, "etui.yaml") {
		t.Errorf("an operator reads %q", p.Error.Message)
	}
}
