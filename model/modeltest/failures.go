package modeltest

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/etui-run/etui/model"
)

// failures are the cases in which the provider fails or returns an error.
var failures = []testCase{
	{
		name:   "401, the key echoed",
		script: []Reply{{Status: http.StatusUnauthorized, Message: "The key " + Key + " is wrong: Bearer " + Key}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrAuth, http.StatusUnauthorized, "The key")
		},
	},
	{
		name:   "404",
		script: []Reply{{Status: http.StatusNotFound, Message: "There is no such model."}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrRequest, http.StatusNotFound, "There is no such model.")
		},
	},
	{
		name:   "400, too long",
		script: []Reply{{TooLong: true}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrTooLong, http.StatusBadRequest, "token")
		},
	},
	{
		name:   "400, not understood",
		script: []Reply{{Status: http.StatusBadRequest, Message: "tools.0: unknown field"}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrRequest, http.StatusBadRequest, "tools.0: unknown field")
		},
	},
	{
		name: "429, then an answer",
		script: []Reply{
			{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "0"}},
			{Text: []string{"Here I am."}},
		},
		wire: true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, _ := answer(t, m, question())
			wantText(t, said, "Here I am.")
		},
	},
	{
		name:   "429, come back tomorrow",
		script: []Reply{{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "86400"}}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrRateLimited, http.StatusTooManyRequests, "Too Many Requests")
		},
	},
	{
		name:   "500, three times",
		script: []Reply{{Status: 500}, {Status: 500}, {Status: 500}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrUnavailable, http.StatusInternalServerError, "Internal Server Error")
		},
	},
	{
		name:   "529, then an answer",
		script: []Reply{{Status: 529}, {Text: []string{"Here I am."}}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, _ := answer(t, m, question())
			wantText(t, said, "Here I am.")
		},
	},
	{
		name:   "an error that is no JSON",
		script: []Reply{{Status: http.StatusForbidden, Raw: "<html>Forbidden</html>", Type: "text/html"}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrAuth, http.StatusForbidden, "Forbidden")
		},
	},
	{
		name:   "an error in the midst of an answer",
		script: []Reply{{Text: []string{"It is "}, Late: true, Status: 529, Message: "Overloaded: " + Key}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantBreak(t, m, "It is ", "Overloaded")
		},
	},
	{
		name:   "the connection is dropped in the midst of an answer",
		script: []Reply{{Text: []string{"It is ", "su"}, Drop: true}},
		wire:   true,
		test: func(t *testing.T, s *Server, m model.Model) {
			wantBreak(t, m, "It is su", "the connection ended before the answer did")
			if n := len(s.Requests()); n != 1 {
				t.Errorf("the server was asked %d times: an answer that began is not asked for again", n)
			}
		},
	},
	{
		name:   "an answer that is no JSON",
		script: []Reply{{Raw: "event: message_start\ndata: {\"type\":\n\n"}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrUnavailable, -1, "")
		},
	},
	{
		name:   "an answer of another protocol",
		script: []Reply{{Raw: "<html><body>Welcome!</body></html>\n", Type: "text/html"}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantFailure(t, m, model.ErrUnavailable, -1, "")
		},
	},
	{
		name:   "the server is not there",
		script: nil,
		wire:   true,
		test: func(t *testing.T, s *Server, m model.Model) {
			s.Close()
			wantFailure(t, m, model.ErrUnavailable, 0, "connect")
		},
	},
}

// wantFailure asks m and expects only an error of a kind and a status (-1 means any)
// whose detail contains a text.
func wantFailure(t *testing.T, m model.Model, kind error, status int, detail string) {
	t.Helper()
	said, _, _, err := model.Answer(m.Stream(t.Context(), question()))
	if said.Text != "" || len(said.Calls) > 0 {
		t.Errorf("it said %q", said.Text)
	}
	var e *model.Error
	if !errors.As(err, &e) || !errors.Is(err, kind) {
		t.Fatalf("the error is %v, want %v", err, kind)
	}
	if status >= 0 && e.Status != status {
		t.Errorf("the status is %d, want %d", e.Status, status)
	}
	if !strings.Contains(e.Detail, detail) {
		t.Errorf("the detail is %q, want %q", e.Detail, detail)
	}
	if e.Model != m.Info().Name {
		t.Errorf("the error is of model %q, want %q", e.Model, m.Info().Name)
	}
	noKey(t, err)
}

// wantBreak asks m and expects an answer that ends with an error.
func wantBreak(t *testing.T, m model.Model, text, detail string) {
	t.Helper()
	said, _, stop, err := model.Answer(m.Stream(t.Context(), question()))
	wantText(t, said, text)
	var e *model.Error
	if !errors.As(err, &e) || !errors.Is(err, model.ErrUnavailable) || stop != "" {
		t.Fatalf("it ended with %q and the error %v", stop, err)
	}
	if !strings.Contains(e.Detail, detail) {
		t.Errorf("the detail is %q, want %q", e.Detail, detail)
	}
	noKey(t, err)
}

func noKey(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), Key) {
		t.Errorf("the error tells the key: %v", err)
	}
}
