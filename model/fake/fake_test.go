package fake_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/model/modeltest"
)

func TestConformance(t *testing.T) {
	modeltest.Test(t, modeltest.Direct, func(_ *testing.T, s *modeltest.Server) model.Model {
		var steps []fake.Step
		for _, r := range s.Script() {
			for i := range r.Calls {
				if r.Calls[i].ID == "" {
					r.Calls[i].ID = string(rune('a' + i))
				}
			}
			steps = append(steps, fake.Step{Pieces: r.Text, Calls: r.Calls, Stop: r.Stop, Usage: r.Usage, Empty: len(r.Text)+len(r.Calls) == 0})
		}
		return fake.New(steps...)
	})
}

func TestScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		gate := make(chan struct{})
		m := fake.New(
			fake.Step{Text: "a", Pieces: []string{"b", "c"}, Calls: []chat.Call{fake.Call("1", "time", "{}")}, Delay: time.Second},
			fake.Step{Check: func(model.Request) error { return errors.New("no system prompt") }},
			fake.Step{Text: "half", Err: broken},
			fake.Step{Wait: gate, Text: "late"},
		)
		begun := time.Now()
		said, _, stop, err := model.Answer(m.Stream(t.Context(), model.Request{System: "S"}))
		if said.Text != "abc" {
			t.Errorf("said.Text = %q, want %q", said.Text, "abc")
		}
		if len(said.Calls) != 1 {
			t.Fatalf("len(said.Calls) = %v, want 1: %+v", len(said.Calls), said.Calls)
		}
		if stop != model.ToolCalls {
			t.Errorf("stop = %v, want %v", stop, model.ToolCalls)
		}
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("five events took %v", took)
		}
		_, _, _, err = model.Answer(m.Stream(t.Context(), model.Request{}))
		if want := "model fake: the provider refused the request: request 2: no system prompt"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if said, _, _, err = model.Answer(m.Stream(t.Context(), model.Request{})); said.Text != "half" || !errors.Is(err, broken) {
			t.Errorf("got %q, %v", said.Text, err)
		}
		time.AfterFunc(time.Minute, func() { close(gate) })
		if said, _, _, err = model.Answer(m.Stream(t.Context(), model.Request{})); said.Text != "late" || err != nil {
			t.Errorf("got %q, %v", said.Text, err)
		}
		_, _, _, err = model.Answer(m.Stream(t.Context(), model.Request{}))
		if want := "model fake: the provider refused the request: the script has no answer to request 5"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if all := m.Requests(); len(all) != 5 || all[0].System != "S" || m.Left() != 0 {
			t.Errorf("%d requests, %d steps left", len(all), m.Left())
		}
	})
}

func TestDelayEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, step := range []fake.Step{{Text: "a", Delay: time.Hour}, {Wait: make(chan struct{})}} {
			if _, _, _, err := model.Answer(fake.New(step).Stream(ctx, model.Request{})); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		}
	})
}
