package main

import (
	"context"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/lab/eval"
)

func (a *cli) evalCommand() *cobra.Command {
	var o eval.Options
	c := &cobra.Command{
		Use:   "eval DIR...",
		Short: "Measure the ranking on questions whose tools are known",
		Long: `Measure the ranking on questions whose tools are known.

DIR holds tools.jsonl and queries.jsonl, plain or gzipped, or folders of such folders:

  {"id":"1","name":"get_weather","description":"...","parameters":{...}}
  {"id":"q1","text":"will it rain?","relevant":["1"]}

A query may have a "history": [{"role":"user","text":"..."}]. A query with an empty "relevant" asks for nothing: "abstained" is the share of
such queries that got nothing. Lines that cannot be used are reported and
skipped. Tokens are those of the first --limit tools of each question.

--run writes the rankings to a file, and --score scores such a file:
{"id","ranked"}. --json prints an object, or a list of them for several sets.
--usage FILE also measures with the votes of past questions, {"text","tools"};
--run then writes the rankings with votes. --enriched FILE also measures with
more texts about the tools, {"id" or "tool","aliases","examples"}, such as
those of etui tools enrich.`,
		Example: "  etui eval my-set\n  etui eval sets --json\n  etui eval my-set --run before.jsonl",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.eval(c.Context(), args, o) },
	}
	c.Flags().StringVar(&o.Queries, "queries", "", "`FILE` with the questions, in place of queries.jsonl")
	c.Flags().StringVar(&o.Run, "run", "", "write the rankings to `FILE` (for several sets: to SET.jsonl in this folder)")
	c.Flags().StringVar(&o.Score, "score", "", "score the rankings in `FILE` (for several sets: SET.jsonl in this folder)")
	c.Flags().StringVar(&o.Usage, "usage", "", "past questions that vote, in `FILE`")
	c.Flags().StringVar(&o.Enriched, "enriched", "", "more texts about the tools, in `FILE` (for several sets: SET.jsonl in this folder)")
	c.Flags().IntVar(&o.Limit, "limit", 8, "how many tools would be sent for a question")
	c.MarkFlagsMutuallyExclusive("run", "score")
	c.MarkFlagsMutuallyExclusive("score", "usage", "enriched")
	return c
}

func (a *cli) eval(ctx context.Context, args []string, o eval.Options) error {
	if o.Limit < 1 {
		return config.Usagef("--limit must be above zero")
	}
	dirs, err := eval.Sets(args)
	if err != nil {
		return err
	}
	single := len(dirs) == 1 && dirs[0] == args[0]
	var results []eval.Result
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := eval.Evaluate(dir, single, o)
		if err != nil {
			return err
		}
		for i, p := range r.Problems {
			if i == maxProblems {
				fmt.Fprintf(a.err, "%s: %d lines more could not be used\n", r.Set, len(r.Problems)-i)
				break
			}
			fmt.Fprintln(a.err, p)
		}
		if isTerminal(a.err) {
			fmt.Fprintf(a.err, "%s: %d questions\n", r.Set, r.Queries)
		}
		results = append(results, r)
	}
	switch {
	case a.json && single:
		return a.printJSON(results[0])
	case a.json:
		return a.printJSON(results)
	}
	_, err = fmt.Fprintln(a.out, evalTable(results))
	return err
}

// maxProblems bounds how many unusable lines of a set are reported.
const maxProblems = 10

// evalTable shows the figures in percent, with a line for their mean.
func evalTable(results []eval.Result) string {
	var b strings.Builder
	variants := []struct {
		name  string
		score func(eval.Result) *eval.Score
	}{
		{"", func(r eval.Result) *eval.Score { return &r.Score }},
		{" + enriched", func(r eval.Result) *eval.Score { return r.Enriched }},
		{" + usage", func(r eval.Result) *eval.Score { return r.Usage }},
	}
	width := 4
	for _, r := range results {
		for _, v := range variants {
			if v.score(r) != nil {
				width = max(width, lipgloss.Width(r.Set+v.name), len("mean"+v.name))
			}
		}
	}
	line := func(name, tools string, s eval.Score) {
		fmt.Fprintf(&b, "%-*s %6s %6d %5.1f %5.1f %5.1f %5.1f %5.1f %6.1f %5.1f %5.1f %5.1f %6.0f", width, name, tools, s.Queries,
			100*s.Recall1, 100*s.Recall3, 100*s.Recall5, 100*s.Recall10, 100*s.NDCG5, 100*s.NDCG10, 100*s.MRR, 100*s.Complete5, 100*s.Complete10, s.TokensSent)
		if s.Negatives > 0 {
			fmt.Fprintf(&b, "  %.0f%% of %d negatives abstained", 100*s.Abstained, s.Negatives)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%-*s  tools asked   R@1   R@3   R@5  R@10 nDCG5 nDCG10  MRR   C@5  C@10 tokens\n", width, "set")
	scores := make([][]eval.Score, len(variants))
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
			line("mean"+v.name, "", eval.Mean(scores[i]))
		}
	}
	if len(results) == 1 {
		fmt.Fprintf(&b, "\n%.0f tokens sent for a question, of %d that all tools have\n", results[0].TokensSent, results[0].TokensAll)
	}
	return strings.TrimRight(b.String(), "\n")
}
