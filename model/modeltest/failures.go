package modeltest

import (
	"errors"
	"strings"
	"testing"

	"github.com/etui-run/etui/model"
)

// failures are the cases in which the provider fails or returns an error.
var failures = []testCase{
	failing("401, the key echoed", model.ErrAuth, 401, "The key",
		Reply{Status: 401, Message: "The key " + Key + " is wrong: Bearer " + Key}),
	failing("404", model.ErrNoModel, 404, "There is no such model.",
		Reply{Status: 404, Message: "There is no such model."}),
	failing("400, too long", model.ErrTooLong, 400, "token", Reply{TooLong: true}),
	failing("400, not understood", model.ErrRequest, 400, "tools.0: unknown field",
		Reply{Status: 400, Message: "tools.0: unknown field"}),
	failing("429, come back tomorrow", model.ErrRateLimited, 429, "Too Many Requests",
		Reply{Status: 429, Header: map[string]string{"Retry-After": "86400"}}),
	failing("500, three times", model.ErrUnavailable, 500, "Internal Server Error", Reply{Status: 500},
		Reply{Status: 500}, Reply{Status: 500}),
	failing("an error that is not JSON", model.ErrAuth, 403, "Forbidden",
		Reply{Status: 403, Raw: "<html>Forbidden</html>", Type: "text/html"}),
	failing("an answer that is not JSON", model.ErrUnavailable, -1, "",
		Reply{Raw: "event: message_start\ndata: {\"type\":\n\n"}),
	failing("an answer of another protocol", model.ErrUnavailable, -1, "",
		Reply{Raw: "<html><body>Welcome!</body></html>\n", Type: "text/html"}),
	recovering("429, then an answer", Reply{Status: 429, Header: map[string]string{"Retry-After": "0"}}),
	recovering("529, then an answer", Reply{Status: 529}),
	{
		name:   "an error in the middle of an answer",
		script: []Reply{{Text: []string{"It is "}, Late: true, Status: 529, Message: "Overloaded: " + Key}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			wantBreak(t, m, "It is ", "Overloaded")
		},
	},
	{
		name:   "the connection is dropped in the middle of an answer",
		script: []Reply{{Text: []string{"It is ", "su"}, Drop: true}},
		wire:   true,
		test: func(t *testing.T, s *Server, m model.Model) {
			wantBreak(t, m, "It is su", "the connection ended before the answer did")
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests: an answer that began must not be retried", n)
			}
		},
	},
	{
		name: "the server is gone",
		wire: true,
		test: func(t *testing.T, s *Server, m model.Model) {
			s.Close()
			wantFailure(t, m, model.ErrUnavailable, 0, "connect")
		},
	},
}

// failing is a case that ends in an error, see [wantFailure].
func failing(name string, kind error, status int, detail string, script ...Reply) testCase {
	return testCase{name, script, true,
		func(t *testing.T, _ *Server, m model.Model) { wantFailure(t, m, kind, status, detail) }}
}

// recovering is a case in which a retry succeeds.
func recovering(name string, first Reply) testCase {
	return testCase{name, []Reply{first, {Text: []string{"Here I am."}}}, true,
		func(t *testing.T, _ *Server, m model.Model) {
			said, _, _ := answer(t, m, question())
			wantText(t, said, "Here I am.")
		}}
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
