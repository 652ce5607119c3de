package tuner_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/tuner"
	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/usage"
)

// subject is the word for a number.
func subject(i int) string { return fmt.Sprintf("subject%c%c", 'a'+i%26, 'a'+i/26) }

// TestTuner: turns whose tools the words find badly lead to weights that count at once, with a
// record of why. What is undone comes back at once, too, and not by the same turns.
func TestTuner(t *testing.T) {
	t.Parallel()
	registry := catalog.NewRegistry(nil)
	for i := range 100 { // the parameters of each name the subject of another
		must(t, registry.Register(tool.New(tool.Definition{
			Name: fmt.Sprint("tool_", i), Description: "About " + subject(i) + " and more",
			Parameters: []byte(fmt.Sprintf(`{"type":"object","properties":{%q:{}}}`, subject((i+1)%100))),
		}, nil)))
	}
	dir := t.TempDir()
	log, err := sqlite.OpenUsage(t.Context(), filepath.Join(dir, "usage.db"), sqlite.Limits{})
	must(t, err)
	t.Cleanup(func() { must(t, log.Close()) })
	began := time.Now().Add(-time.Hour)
	for i := range 200 {
		must(t, log.Add(t.Context(), usage.Turn{Time: began.Add(time.Duration(i) * time.Second), Agent: "main", User: "ann", Text: "what is it with " + subject(i%100), Tools: []string{fmt.Sprint("tool_", i%100)}}))
	}
	bad := rank.DefaultWeights()
	bad.Description, bad.Parameter = 0.2, 3
	start := tune.WeightsFile{Weights: bad}
	must(t, start.Write(dir))
	tuning := &selection.Tuning{}
	now := selection.Follow(registry, selection.Config{Weights: bad, Tuning: tuning})
	first := func() string {
		return now().Search(selection.Request{Query: "what is it with " + subject(7), Facts: chat.Facts{}}, 1)[0].Definition.Name
	}
	if got := first(); got == "tool_7" {
		t.Fatalf("the weights find %s already", got)
	}
	var decisions []audit.Decision
	made := tuner.New(tuner.Config{
		State: dir, On: true, Turns: log, Catalog: registry.Catalog,
		Recommender: func(tune.WeightsFile) (tune.Recommender, string) { return tune.Recommender{}, "recommend.mode is off" },
		Apply:       func(f tune.WeightsFile) { tuning.Set(f.Weights, selection.Recommend{}) },
		Audit:       func(d audit.Decision) { decisions = append(decisions, d) }, Log: slog.New(slog.DiscardHandler),
	}, start)

	fit := func(ctx context.Context, at time.Time) {
		t.Helper()
		must(t, made.Fit(ctx, at))
		made.Follow(ctx)
	}
	fit(t.Context(), time.Now())
	if got := first(); got != "tool_7" {
		t.Errorf("after fitting the first tool is %s", got)
	}
	if len(decisions) != 1 || decisions[0].User != "etui" || !strings.Contains(decisions[0].Reason, "on 66 turns that were held out; ") {
		t.Errorf("recorded: %+v", decisions)
	}
	shown := made.Ranking()
	changed := slices.IndexFunc(shown.Weights, func(w api.Weight) bool { return w.Now != w.Before })
	if p := shown.Weights[4]; changed < 0 || p.Name != "parameter" || p.Default != rank.DefaultWeights().Parameter || p.Before != 3 {
		t.Errorf("shown of the weights: %+v", shown.Weights)
	}
	if len(shown.Recommender) != 4 || shown.By != "etui" || shown.Judged.HeldOut != 66 || shown.Judged.After <= shown.Judged.Before || shown.Fixed == "" || shown.Trouble != "" {
		t.Errorf("shown: %+v", shown)
	}
	undone, err := tune.Undo(dir, time.Now())
	must(t, err)
	made.Follow(t.Context())
	if got := first(); !undone || got == "tool_7" {
		t.Errorf("after undoing (%v) the first tool is %s", undone, got)
	}
	fit(t.Context(), time.Now())
	if len(decisions) != 2 || decisions[1].User != "etui tune --undo" {
		t.Errorf("recorded after undoing: %+v", decisions[1:])
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
