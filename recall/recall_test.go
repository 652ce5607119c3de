package recall_test

import (
	"errors"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/recall"
)

// TestRecall: a caller finds what was remembered and said in the caller's own conversations, and
// nothing of other people.
func TestRecall(t *testing.T) {
	t.Parallel()
	g, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{
		Name: "main", Model: fake.New(fake.Step{Text: "Noted."}), Memory: memory.New(memory.Config{Own: t.TempDir()}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s := recall.New(g)
	ann := engine.Message{Channel: "web", User: "ann", Text: "my parasol is yellow"}
	for _, err := range g.Send(t.Context(), ann) {
		if err != nil {
			t.Fatal(err)
		}
	}
	ann.Session = "another"
	for user, want := range map[string]int{"ann": 2, "bob": 0} {
		ann.User = user
		caller, err := g.Agents().Caller(ann)
		if err != nil {
			t.Fatal(err)
		}
		if user == "ann" {
			if _, err := s.Remember(t.Context(), caller, memory.Change{New: "Ann likes her parasol."}); err != nil {
				t.Fatal(err)
			}
		}
		found, err := s.Recall(t.Context(), caller, "parasol", 10)
		if err != nil || len(found) != want {
			t.Errorf("%s finds %+v, %v; want %d", user, found, err, want)
		}
		if _, err := s.Recall(t.Context(), caller, " ", 10); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s without words: %v", user, err)
		}
	}
}
