package desk_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/tool/consult"
	"github.com/etui-run/etui/turn/internal/desk"
)

// TestDesk: the model reads the words of the tool and nothing else, within bounds; each question is noted
// and counted.
func TestDesk(t *testing.T) {
	m := fake.New(fake.Step{Text: "blue", Usage: model.Tokens{Input: 9, Output: 1}})
	d := desk.New(m)
	var notes []string
	ask := d.For(func(text string) { notes = append(notes, text) })
	q := consult.Question{System: "One word.", MaxTokens: 1 << 20, Messages: []consult.Message{{Text: "Which colour?"}}}
	a, err := ask(t.Context(), q)
	if err != nil || a != (consult.Answer{Text: "blue", Model: m.Info().Name}) {
		t.Fatal(a, err)
	}
	r := m.Requests()[0]
	if len(r.Tools)+len(r.Deferred) != 0 || len(r.Messages) != 1 || r.Messages[0].Text != "Which colour?" ||
		!strings.HasSuffix(r.System, "One word.") || r.MaxTokens != 2000 {
		t.Errorf("the model read %+v", r)
	}
	if used := d.TakeUsage(); used != (model.Tokens{Input: 9, Output: 1}) || d.TakeUsage() != (model.Tokens{}) {
		t.Errorf("used %+v", used)
	}
	for name, c := range map[string]struct {
		q    consult.Question
		says string
	}{
		"too long":      {consult.Question{Messages: []consult.Message{{Text: strings.Repeat("x", 70_000)}}}, "70064 bytes"},
		"empty words":   {consult.Question{Messages: make([]consult.Message, 2000)}, "128000 bytes"},
		"no question":   {consult.Question{}, "does not end"},
		"its own words": {consult.Question{Messages: []consult.Message{{Text: "Well.", Assistant: true}}}, "does not end"},
	} {
		if _, err := ask(t.Context(), c.q); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(notes) != 5 || !strings.Contains(notes[0], "10 tokens, of which 1") || !strings.Contains(notes[1], "did not answer") {
		t.Errorf("noted %q", notes)
	}
	for range 8 {
		_, err = ask(t.Context(), q)
	}
	if err == nil || !strings.Contains(err.Error(), "8 questions") {
		t.Error(err)
	}
	if _, err := desk.New(offline.New(offline.Config{})).For(func(string) {})(t.Context(), q); err == nil || !strings.Contains(err.Error(), "no language model") {
		t.Error(err)
	}
}
