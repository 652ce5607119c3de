package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/phrase"
)

func evalCommand(at *place) *cobra.Command {
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
those of etui tools enrich. Where etui.yaml has embeddings, they are measured,
too; vectors are kept in the state folder.`,
		Example: "  etui eval my-set\n  etui eval sets --json\n  etui eval my-set --run before.jsonl",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return measureSets(c.Context(), at, args, o) },
	}
	c.Flags().StringVar(&o.Queries, "queries", "", "`FILE` with the questions, in place of queries.jsonl")
	c.Flags().StringVar(&o.Run, "run", "",
		"write the rankings to `FILE` (for several sets: to SET.jsonl in this folder)")
	c.Flags().StringVar(&o.Score, "score", "",
		"score the rankings in `FILE` (for several sets: SET.jsonl in this folder)")
	c.Flags().StringVar(&o.Usage, "usage", "", "past questions that vote, in `FILE`")
	c.Flags().StringVar(&o.Enriched, "enriched", "",
		"more texts about the tools, in `FILE` (for several sets: SET.jsonl in this folder)")
	c.Flags().IntVar(&o.Limit, "limit", 8, "how many tools would be sent for a question")
	return c
}

func measureSets(ctx context.Context, at *place, args []string, o eval.Options) error {
	console := at.Console
	if o.Score != "" && cmp.Or(o.Run, o.Usage, o.Enriched) != "" || o.Usage != "" && o.Enriched != "" {
		return config.Usagef("--score goes without --run, --usage and --enriched, and --usage without --enriched")
	}
	if o.Limit < 1 {
		return config.Usagef("--limit must be above zero")
	}
	dirs, err := eval.Sets(args)
	if err != nil {
		return err
	}
	if o.Score == "" {
		w, err := at.open(ctx)
		if err != nil {
			return err
		}
		o.Vectors = app.Measured(ctx, w, at.quiet(w.Config.Log), func(done, all int) {
			if terminal.Is(console.Err) {
				phrase.Fprintf(console.Err, console.Language, "vectors: %d of %d\n", done, all)
			}
		})
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
				phrase.Fprintf(console.Err, console.Language, "%s: %d lines more could not be used\n", r.Set,
					len(r.Problems)-i)
				break
			}
			fmt.Fprintln(console.Err, p)
		}
		if terminal.Is(console.Err) {
			phrase.Fprintf(console.Err, console.Language, "%s: %d questions\n", r.Set, r.Queries)
		}
		results = append(results, r)
	}
	switch {
	case console.JSON && single:
		return console.PrintJSON(results[0])
	case console.JSON:
		return console.PrintJSON(results)
	}
	_, err = fmt.Fprintln(console.Out, eval.Table(results))
	return err
}

// maxProblems bounds how many unusable lines of a set are reported.
const maxProblems = 10
