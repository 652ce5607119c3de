package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
)

func ExampleFail() {
	w := httptest.NewRecorder()
	wire.Fail(w, fmt.Errorf("agent %q: %w", "mian", engine.ErrUnknown))
	fmt.Print(w.Code, " ", w.Body)
	// Output: 404 {"error":{"message":"agent \"mian\": not found","type":"invalid_request_error"}}
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
