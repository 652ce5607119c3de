package model_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/etui-run/etui/model"
)

// TestWindowOf: only what says that the request is too long states a window, and of
// several models the largest one counts.
func TestWindowOf(t *testing.T) {
	limited, narrow, wide := &model.Error{Kind: model.ErrRateLimited, Window: 100}, &model.Error{Kind: model.ErrTooLong, Window: 8192}, &model.Error{Kind: model.ErrTooLong, Window: 32768}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {errors.New("too long"), 0}, {limited, 0}, {narrow, 8192}, {fmt.Errorf("asking: %w", narrow), 8192},
		{errors.Join(limited, narrow), 8192}, {errors.Join(narrow, wide, limited), 32768},
	} {
		if got := model.WindowOf(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
