package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/usage"
)

// TestTuneRecommender: etui tune fits the recommender's weights to kept turns, the next
// start uses them, and weights in etui.yaml win.
func TestTuneRecommender(t *testing.T) {
	dir := t.TempDir()
	configure := func(recommend string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "etui.yaml"), []byte("state: state\nusage: {keep: true, vote: false}\nrecommend: "+recommend+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(dir, "state")
	t.Setenv(trust.Variable, dir)
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := sqlite.OpenUsage(t.Context(), filepath.Join(state, "usage.db"), sqlite.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	// Each conversation stays with the tool that it began with, whatever the words say.
	tools := []string{"calculate", "get_time", "list_dir", "make_dir", "remove_file", "web_fetch"}
	began := time.Now().Add(-48 * time.Hour)
	for i := range 51 {
		for j := range 4 {
			turn := usage.Turn{
				Time: began.Add(time.Duration(i*20+j) * time.Minute), Agent: "main", Channel: "cli", Session: fmt.Sprint("s", i),
				Text: fmt.Sprintf("read the file %c%c%c", 'a'+i%26, 'a'+i/26, 'a'+j), Tools: []string{tools[i%len(tools)]},
			}
			if err := log.Add(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	configure("{mode: off}")
	if out, _ := etui(t, 0, "-w", dir, "tune", "--dry-run"); !strings.Contains(out, "The weights of the recommender are not fitted: recommend.mode is off.") {
		t.Errorf("without a recommender: %s", out)
	}
	configure("{mode: rules, keyword: 60}")
	if out, _ := etui(t, 0, "-w", dir, "tune", "--dry-run"); !strings.Contains(out, "The weights of the recommender are not fitted: etui.yaml sets its weights.") {
		t.Errorf("with weights in etui.yaml: %s", out)
	}
	configure("{mode: rules}")
	out, _ := etui(t, 0, "-w", dir, "tune", "--dry-run")
	if !strings.Contains(out, "the recommender over it; fitted to 136 turns, judged by 68 others") {
		t.Errorf("a dry run: %s", out)
	}
	if _, err := os.Stat(tune.File(state)); !os.IsNotExist(err) {
		t.Errorf("a dry run wrote weights: %v", err)
	}
	out, _ = etui(t, 0, "-w", dir, "tune", "--json")
	var report struct {
		Recommender tune.Report[tune.Recommender] `json:"recommender"`
		Written     string                        `json:"written"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	r := report.Recommender
	if !r.Better {
		t.Fatalf("the weights %+v are not better: %.3f ± %.3f", r.Weights, r.Gain, r.Noise)
	}
	if r.Weights.History+r.Weights.Recency <= 30 {
		t.Errorf("what a conversation used has the weights %+v, want more than 30 together", r.Weights)
	}
	if report.Written != tune.File(state) {
		t.Errorf("written to %q", report.Written)
	}
	w, err := workdir.Open(dir, "", []string{trust.Variable + "=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	channel := func() float64 {
		t.Helper()
		out, _ := etui(t, 0, "-w", dir, "select", "--json", "read the file x")
		var answer struct {
			Tools []struct{ Recommendation *struct{ Channel float64 } }
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatal(err)
		}
		for _, tool := range answer.Tools {
			if tool.Recommendation != nil {
				return tool.Recommendation.Channel
			}
		}
		t.Fatalf("no tool is recommended: %s", out)
		return 0
	}
	if got := channel(); got != r.Weights.Channel/2 {
		t.Errorf("a tool for any channel gets %v points for it, want half of %v", got, r.Weights.Channel)
	}
	fitted, err := tune.Load(w.State)
	if err != nil {
		t.Fatal(err)
	}
	if fitted.Recommender == nil || *fitted.Recommender != r.Weights {
		t.Errorf("stored are %+v, want %+v", fitted.Recommender, r.Weights)
	}
	configure("{mode: rules, channel: 100, keyword: 100, history: 0, recency: 0}")
	if got := channel(); got != 25 {
		t.Errorf("with weights in etui.yaml a tool for any channel gets %v points for it, want 25", got)
	}
	configure("{mode: rules}")
	etui(t, 0, "-w", dir, "tune", "--reset")
	if got := channel(); got != 20 {
		t.Errorf("after a reset a tool for any channel gets %v points for it, want 20", got)
	}
}
