package endpoint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// TestDetail: an error's detail is one short line without secrets.
func TestDetail(t *testing.T) {
	for _, tt := range []struct {
		in, key, header string
		want            string
	}{
		{"plain", "", "", "plain"},
		{" two\n lines\t ", "", "", "two lines"},
		{"there is no model ollama/qwen", "ollama", "none", "there is no model ollama/qwen"},
		{"key sk-7f1 and key sk-7f12", "sk-7f1", "sk-7f12", "key (secret) and key (secret)"},
		{"key sk-7f1 and key sk-7f12", "sk-7f12", "sk-7f1", "key (secret) and key (secret)"},
		{strings.Repeat("é", 200), "", "", strings.Repeat("é", 150) + "…"},
		{"bad \xff byte", "", "", "bad byte"},
	} {
		refusal := model.Error{Kind: model.ErrRequest, Detail: tt.in}
		headers := map[string]string{"X-Password": tt.header}
		err := endpoint.Failure(t.Context(), errors.New("refused"), refusal, tt.key, headers)
		var e *model.Error
		if !errors.As(err, &e) || e.Detail != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.in, e.Detail, tt.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for status, want := range map[int]error{
		0: model.ErrUnavailable, 200: model.ErrUnavailable, 301: model.ErrRequest, 400: model.ErrRequest,
		401: model.ErrAuth, 402: model.ErrBilling, 403: model.ErrAuth, 404: model.ErrNoModel, 405: model.ErrNoModel,
		408: model.ErrUnavailable, 413: model.ErrTooLong, 429: model.ErrRateLimited,
		500: model.ErrUnavailable, 529: model.ErrUnavailable,
	} {
		if got := endpoint.KindOf(status); !errors.Is(got, want) {
			t.Errorf("KindOf(%d) = %v, want %v", status, got, want)
		}
	}
}
