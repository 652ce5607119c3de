package modeltest

import (
	"context"
	"errors"
	"testing"

	"github.com/etui-run/etui/model"
)

// endings are the cases in which the caller ends an answer.
var endings = []testCase{
	{
		name: "cancelled before",
		test: func(t *testing.T, s *Server, m model.Model) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, _, _, err := model.Answer(m.Stream(ctx, question())); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v, want the context's", err)
			}
			if n := len(s.Requests()); n > 0 {
				t.Errorf("the server was asked %d times", n)
			}
		},
	},
	{
		name:   "cancelled in the middle",
		script: []Reply{{Text: []string{"It is "}, Hold: true}},
		wire:   true,
		test: func(t *testing.T, s *Server, m model.Model) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var failed error
			for e, err := range m.Stream(ctx, question()) {
				if failed = err; e.Text != "" {
					cancel()
				}
			}
			if !errors.Is(failed, context.Canceled) {
				t.Errorf("the error is %v, want the context's", failed)
			}
			wantGone(t, s)
		},
	},
	{
		name:   "the loop is left",
		script: []Reply{{Text: []string{"It is "}, Hold: true}},
		wire:   true,
		test: func(t *testing.T, s *Server, m model.Model) {
			leave(t, m)
			wantGone(t, s)
		},
	},
	{
		name:   "the loop is left early, another begins",
		script: []Reply{{Text: []string{"a", "b", "c"}}, {Text: []string{"a", "b", "c"}}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			leave(t, m)
			said, _, _ := answer(t, m, question())
			wantText(t, said, "abc")
		},
	},
}

// leave asks m and leaves the loop at the first event.
func leave(t *testing.T, m model.Model) {
	t.Helper()
	for _, err := range m.Stream(t.Context(), question()) {
		if err != nil {
			t.Error(err)
		}
		return
	}
}

// wantGone waits until the server sees the client disconnect.
func wantGone(t *testing.T, s *Server) {
	t.Helper()
	select {
	case <-s.Gone():
	case <-t.Context().Done():
		t.Error("the connection stayed open")
	}
}
