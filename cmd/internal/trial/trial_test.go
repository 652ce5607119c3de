package trial_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/builtin"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/lab/replay"
	"github.com/etui-run/etui/model/fake"
)

// TestDemo proves that the demo's conversations name tools that exist, that they
// are as many and as long as promised, and that etui is cheaper on them than
// sending every tool, and than choosing again each time, which it beats in recall.
func TestDemo(t *testing.T) {
	files, err := builtin.Open(builtin.FilesConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	r := catalog.NewRegistry(nil)
	if err := r.Register(slices.Concat(builtin.Tools(&builtin.Clock{}, files), demo.Tools("http://127.0.0.1:1", http.DefaultClient))...); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetSkills(catalog.Skill{Name: "oncall", Tools: []string{"group:kubernetes", "group:logs", "group:metrics", "group:oncall", "group:deploy"}},
		catalog.Skill{Name: "office", Tools: []string{"group:calendar", "group:mail", "group:messaging", "group:facilities", "group:travel"}}); err != nil {
		t.Fatal(err)
	}
	list, err := replay.Read(demo.Conversations(), "conversations.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	chinese, long := 0, 0
	for _, c := range list {
		if c.Lang == "zh" {
			chinese++
		}
		if len(c.Turns) >= 10 {
			long++
		}
	}
	for what, c := range map[string]struct{ got, want int }{"all": {len(list), 36}, "Chinese": {chinese, max(12, len(list)/3)}, "long": {long, 8}} {
		if c.got < c.want {
			t.Errorf("%d conversations (%s), want at least %d", c.got, what, c.want)
		}
	}
	cfg := engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New()}}}
	for _, p := range replay.Providers() {
		runs := map[replay.Mode]replay.Run{}
		for _, m := range []replay.Mode{replay.All, replay.Naive, "auto"} {
			runs[m], err = replay.Play(t.Context(), replay.Config{Engine: cfg, Mode: m, Provider: p}, list)
			if err != nil {
				t.Fatal(err)
			}
			if run := runs[m]; run.Absent != 0 || run.Failed != 0 {
				t.Errorf("%s: %d tools do not exist, the arguments of %d calls do not fit", m, run.Absent, run.Failed)
			}
		}
		all, naive, etui := runs[replay.All], runs[replay.Naive], runs["auto"]
		if most := min(all.Dollars/4, 0.85*naive.Dollars); etui.Dollars > most {
			t.Errorf("%s: auto costs $%.4f, want at most $%.4f", p.Name, etui.Dollars, most)
		}
		if etui.Recall() < naive.Recall() {
			t.Errorf("%s: the recall of auto is %.3f, that of naive %.3f", p.Name, etui.Recall(), naive.Recall())
		}
		if etui.ReachShare() < 0.98 {
			t.Errorf("%s: auto reaches %.3f of the tools with searches", p.Name, etui.ReachShare())
		}
		if all.Recall() != 1 {
			t.Errorf("%s: the recall of all is %.3f", p.Name, all.Recall())
		}
	}
}
