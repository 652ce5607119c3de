package main

import (
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/lab/eval"
)

// TestPublicSets holds what the ranking reaches on public questions, see
// testdata/sets/SOURCE.md, and how much small talk gets no tools. On the sets of
// MetaTool a research ranking without a model reached 62.8 and 67.4, plain BM25 47.4 and
// 38.1.
func TestPublicSets(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]struct{ plain, enriched, quiet, quietEnriched float64 }{
		"apibank":        {0.87, 0.905, 0.8, 0.6},
		"bfcl-live":      {0.895, 0.935, 0.6, 0.55},
		"metatool":       {0.645, 0.79, 0.7, 0.5},
		"metatool-multi": {0.715, 0.775, 0.7, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sets := filepath.Join("testdata", "sets")
			set, err := eval.Load(filepath.Join(sets, name))
			if err != nil || len(set.Problems) > 0 {
				t.Fatal(err, set.Problems)
			}
			talk, err := eval.LoadFiles(filepath.Join(sets, name, "tools.jsonl"), filepath.Join(sets, "smalltalk-public.jsonl"))
			if err != nil || len(talk.Problems) > 0 {
				t.Fatal(err, talk.Problems)
			}
			texts, problems, err := set.LoadEnrichment(filepath.Join(sets, "enriched", name+".jsonl"))
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			check := func(what string, got, least float64) {
				t.Logf("%s: %.1f %%", what, 100*got)
				if got < least {
					t.Errorf("%s: %.3f, want at least %.3f", what, got, least)
				}
			}
			check("recall@5", eval.Measure(set.Queries, set.Rank(nil)).Recall5, least.plain)
			check("recall@5, enriched", eval.Measure(set.Queries, set.Rank(texts)).Recall5, least.enriched)
			check("small talk without tools", eval.Measure(talk.Queries, talk.Rank(nil)).Abstained, least.quiet)
			check("small talk without tools, enriched", eval.Measure(talk.Queries, talk.Rank(texts)).Abstained, least.quietEnriched)
		})
	}
}
