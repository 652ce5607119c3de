package turn_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

// TestEmptyAnswer: a model that says nothing is asked once more; then the person reads what happened.
func TestEmptyAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		steps []fake.Step
		want  string
	}{
		"once":      {[]fake.Step{{Empty: true}, {Text: "It is 5."}}, "It is 5."},
		"blanks":    {[]fake.Step{{Text: " \n"}, {Text: "It is 5."}}, "It is 5."},
		"twice":     {[]fake.Step{{Empty: true}, {Empty: true}}, "gave no answer, twice"},
		"cut":       {[]fake.Step{{Empty: true, Stop: model.Length}, {Empty: true, Stop: model.Length}}, "limit of tokens"},
		"refused":   {[]fake.Step{{Empty: true, Stop: model.Refused}, {Empty: true, Stop: model.Refused}}, "declined"},
		"a failure": {[]fake.Step{{Empty: true}, {Text: "ok"}}, "ok"},
	} {
		b := newBench(t, turn.Config{}, selection.Config{}, nil, c.steps...)
		o := run(b, t.Context(), turn.Input{Text: "what is 2+3?"})
		if o.err != nil || o.done == nil || !strings.Contains(o.done.Reply, c.want) {
			t.Errorf("%s: the turn ended with %+v, %v, want %q", name, o.done, o.err, c.want)
		}
		if o.done != nil && o.done.Empty == 0 {
			t.Errorf("%s: no empty answer was counted", name)
		}
		if left := b.model.Left(); left != 0 {
			t.Errorf("%s: %d answers were not asked for", name, left)
		}
	}
}
