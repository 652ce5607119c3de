package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/eval"
	"github.com/etui-run/etui/internal/tune"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// evaluation is the result of one set.
type evaluation struct {
	Set   string `json:"set"`
	Tools int    `json:"tools"`
	eval.Score
	// Usage is the score with votes of the log, when there is one.
	Usage    *eval.Score    `json:"usage,omitempty"`
	Problems []eval.Problem `json:"problems,omitempty"`
}

// evalFlags are those of the command.
type evalFlags struct {
	queries, run, score, usage string
	limit                      int
}

func (a *cli) evalCommand() *cobra.Command {
	var flags evalFlags
	c := &cobra.Command{
		Use:   "eval DIR...",
		Short: "Measure the ranking on questions whose tools are known",
		Long: `Measure the ranking on questions whose tools are known.

DIR holds tools.jsonl and queries.jsonl, plain or gzipped, or folders that do:

  {"id":"1","name":"get_weather","description":"...","parameters":{...},"group":"weather"}
  {"id":"q1","text":"will it rain?","relevant":["1"],"history":[{"role":"user","text":"..."}]}

A query with an empty "relevant" asks for nothing: "abstained" is the share of
those that were offered nothing. Lines that cannot be used are reported and
skipped. Tokens are those of the first --limit tools of each question.

--run writes the rankings to a file, and --score scores such a file:
{"id","ranked"}. --json prints an object, or a list of them for several sets.
--usage FILE also measures with the votes of past questions, {"text","tools"};
--run then writes the rankings with votes.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.eval(c.Context(), args, flags) },
	}
	c.Flags().StringVar(&flags.queries, "queries", "", "`FILE` with the questions, in place of queries.jsonl")
	c.Flags().StringVar(&flags.run, "run", "", "write the rankings to `FILE` (for several sets: to SET.jsonl in this folder)")
	c.Flags().StringVar(&flags.score, "score", "", "score the rankings in `FILE` (for several sets: SET.jsonl in this folder)")
	c.Flags().StringVar(&flags.usage, "usage", "", "past questions that vote, in `FILE`")
	c.Flags().IntVar(&flags.limit, "limit", 8, "how many tools would be sent for a question")
	c.MarkFlagsMutuallyExclusive("run", "score")
	c.MarkFlagsMutuallyExclusive("score", "usage")
	return c
}

func (a *cli) eval(ctx context.Context, args []string, flags evalFlags) error {
	if flags.limit < 1 {
		return app.Usagef("--limit must be above zero")
	}
	dirs, err := setsIn(args)
	if err != nil {
		return err
	}
	single := len(dirs) == 1 && dirs[0] == args[0]
	var results []evaluation
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := evaluate(dir, single, flags)
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

// setsIn returns the folders with sets: those that are named, or the folders in
// them.
func setsIn(args []string) ([]string, error) {
	var dirs []string
	for _, dir := range args {
		if isSet(dir) {
			dirs = append(dirs, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		found := len(dirs)
		for _, e := range entries {
			if inner := filepath.Join(dir, e.Name()); isSet(inner) {
				dirs = append(dirs, inner)
			}
		}
		if found == len(dirs) {
			return nil, fmt.Errorf("%s has no tools.jsonl and queries.jsonl, nor has a folder in it", dir)
		}
	}
	return dirs, nil
}

func isSet(dir string) bool {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		_, gz := os.Stat(filepath.Join(dir, name+".gz"))
		return err == nil || gz == nil
	}
	return exists("tools.jsonl") && exists("queries.jsonl")
}

// evaluate measures one set. Of several, the run files lie in a folder.
func evaluate(dir string, single bool, flags evalFlags) (evaluation, error) {
	questions := cmp.Or(flags.queries, filepath.Join(dir, "queries.jsonl"))
	set, err := eval.LoadFiles(filepath.Join(dir, "tools.jsonl"), questions)
	if err != nil {
		return evaluation{}, err
	}
	file := func(name string) string {
		if single {
			return name
		}
		return filepath.Join(name, set.Name+".jsonl")
	}
	r := evaluation{Set: set.Name, Tools: len(set.Tools), Problems: set.Problems}
	if flags.score != "" {
		run, problems, err := eval.LoadRun(file(flags.score))
		r.Problems = append(r.Problems, problems...)
		r.score(&r.Score, set, run, flags.limit)
		return r, err
	}
	ranked := rankSet(set)
	r.score(&r.Score, set, ranked, flags.limit)
	if flags.usage != "" {
		if ranked, err = r.vote(set, flags); err != nil {
			return r, err
		}
	}
	if flags.run != "" {
		return r, writeRun(file(flags.run), set, ranked)
	}
	return r, nil
}

// score measures rankings, and counts the tokens that they would cost.
func (r *evaluation) score(s *eval.Score, set *eval.Set, ranked map[string][]string, limit int) {
	*s = eval.Measure(set.Queries, ranked)
	costs := map[string]int{}
	for _, t := range set.Tools {
		raw, err := json.Marshal(t.Definition)
		if err != nil {
			continue // a schema that is not JSON is never sent
		}
		costs[t.ID] = chat.Tokens(raw)
		s.TokensAll += costs[t.ID]
	}
	for _, q := range set.Queries {
		for _, id := range ranked[q.ID][:min(limit, len(ranked[q.ID]))] {
			s.TokensSent += float64(costs[id]) / float64(len(set.Queries))
		}
	}
}

// vote measures again with the votes of past questions, and returns the rankings with
// these votes.
func (r *evaluation) vote(set *eval.Set, flags evalFlags) (map[string][]string, error) {
	past, problems, err := eval.LoadPast(flags.usage)
	if err != nil {
		return nil, err
	}
	r.Problems = append(r.Problems, problems...)
	c, _, err := tune.FromSet(set)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // by id
	ids := map[string]string{}   // by name
	for e := range c.All() {
		id := set.Tools[e.Position()].ID
		names[id], ids[e.Definition.Name] = e.Definition.Name, id
	}
	past = eval.Without(past, set.Queries)
	for _, p := range past {
		for i, id := range p.Tools {
			p.Tools[i] = cmp.Or(names[id], id)
		}
	}
	s := selection.New(c, selection.Config{})
	search := func(s *selection.Selector) map[string][]string {
		return rankAll(set, func(q eval.Query) []string {
			var list []string
			for _, m := range s.Select(selection.Request{Query: q.Text, History: q.History, Limit: evalDepth}).Ranked {
				list = append(list, ids[m.Definition.Name])
			}
			return list
		})
	}
	r.score(&r.Score, set, search(s), flags.limit)
	r.Usage = &eval.Score{}
	voted := search(s.WithVotes(rank.NewVotes(past)))
	r.score(r.Usage, set, voted, flags.limit)
	return voted, nil
}

// evalDepth is how many tools are ranked for a question.
const evalDepth = 100

// rankSet ranks the tools of a set for each of its queries.
func rankSet(set *eval.Set) map[string][]string {
	definitions := make([]*tool.Definition, len(set.Tools))
	for i := range set.Tools {
		definitions[i] = &set.Tools[i].Definition
	}
	x := rank.New(definitions, rank.Weights{})
	return rankAll(set, func(q eval.Query) []string {
		var list []string
		ranking := x.Rank(rank.Query{Text: q.Text, History: q.History})
		for _, hit := range ranking.Hits(evalDepth) {
			list = append(list, set.Tools[hit.Position].ID)
		}
		return list
	})
}

// rankAll ranks for all queries.
func rankAll(set *eval.Set, rank func(eval.Query) []string) map[string][]string {
	ranked := make(map[string][]string, len(set.Queries))
	for i, list := range eval.Each(len(set.Queries), func(i int) []string { return rank(set.Queries[i]) }) {
		ranked[set.Queries[i].ID] = list
	}
	return ranked
}

func writeRun(file string, set *eval.Set, ranked map[string][]string) error {
	var b bytes.Buffer
	for _, q := range set.Queries {
		line, err := json.Marshal(map[string]any{"id": q.ID, "ranked": ranked[q.ID]})
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}

// evalTable shows the figures in percent, with a line for their mean.
func evalTable(results []evaluation) string {
	var b strings.Builder
	width := 4
	for _, r := range results {
		width = max(width, lipgloss.Width(r.Set))
		if r.Usage != nil {
			width = max(width, lipgloss.Width(r.Set+" + usage"), len("mean + usage"))
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
	var scores, voted []eval.Score
	for _, r := range results {
		line(r.Set, fmt.Sprint(r.Tools), r.Score)
		scores = append(scores, r.Score)
		if r.Usage != nil {
			line(r.Set+" + usage", fmt.Sprint(r.Tools), *r.Usage)
			voted = append(voted, *r.Usage)
		}
	}
	if len(results) > 1 {
		line("mean", "", eval.Mean(scores))
	}
	if len(voted) > 1 {
		line("mean + usage", "", eval.Mean(voted))
	}
	if len(results) == 1 {
		fmt.Fprintf(&b, "\n%.0f tokens sent for a question, of %d that all tools have\n", scores[0].TokensSent, scores[0].TokensAll)
	}
	return strings.TrimRight(b.String(), "\n")
}
