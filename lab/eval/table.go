package eval

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table shows the figures in percent, with a line for their mean.
func Table(results []Result) string {
	var b strings.Builder
	variants := []struct {
		name  string
		score func(Result) *Score
	}{
		{"", func(r Result) *Score { return &r.Score }},
		{" + meaning", func(r Result) *Score { return r.Meaning }},
		{" + enriched", func(r Result) *Score { return r.Enriched }},
		{" + usage", func(r Result) *Score { return r.Usage }},
	}
	width := 4
	for _, r := range results {
		for _, v := range variants {
			if v.score(r) != nil {
				width = max(width, ansi.StringWidth(r.Set+v.name), len("mean"+v.name))
			}
		}
	}
	line := func(name, tools string, s Score) {
		fmt.Fprintf(&b, "%-*s %6s %6d %5.1f %5.1f %5.1f %5.1f %5.1f %6.1f %5.1f %5.1f %5.1f %6.0f", width, name, tools,
			s.Queries,
			100*s.Recall1, 100*s.Recall3, 100*s.Recall5, 100*s.Recall10, 100*s.NDCG5, 100*s.NDCG10, 100*s.MRR,
			100*s.Complete5, 100*s.Complete10, s.TokensSent)
		if s.Negatives > 0 {
			fmt.Fprintf(&b, "  %.0f%% of %d negatives abstained", 100*s.Abstained, s.Negatives)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%-*s  tools asked   R@1   R@3   R@5  R@10 nDCG5 nDCG10  MRR   C@5  C@10 tokens\n", width, "set")
	scores := make([][]Score, len(variants))
	for _, r := range results {
		for i, v := range variants {
			if score := v.score(r); score != nil {
				line(r.Set+v.name, fmt.Sprint(r.Tools), *score)
				scores[i] = append(scores[i], *score)
			}
		}
	}
	for i, v := range variants {
		if len(scores[i]) > 1 {
			line("mean"+v.name, "", Mean(scores[i]))
		}
	}
	if len(results) == 1 {
		fmt.Fprintf(&b, "\n%.0f tokens sent for a question, of %d that all tools have\n", results[0].TokensSent,
			results[0].TokensAll)
	}
	return strings.TrimRight(b.String(), "\n")
}
