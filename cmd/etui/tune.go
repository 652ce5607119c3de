package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/trial"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/rank"
)

func tuneCommand(at *place) *cobra.Command {
	var limit time.Duration
	var dry, reset, undo bool
	c := &cobra.Command{
		Use: "tune [DIR]", Short: "Fit the weights of the ranking to past turns", Args: cobra.MaximumNArgs(1),
		Long: `Fit the weights of the ranking to past turns: to what was asked and which tools answered. etui keeps
them when etui.yaml says usage: {keep: true}. A third of the turns is held out to judge the result. Only
if the weights are better there, by more than chance, are they written to the state folder, and used at
once by a running gateway, which also does this by itself (usage.tune). The weights of the recommender
are fitted in the same way, if it is on and etui.yaml does not set them. With DIR the questions in
DIR/queries.jsonl and the tools in DIR/tools.jsonl are used instead, for the ranking alone.`,
		Example: "  etui tune --dry-run\n  etui tune --time 2m\n  etui tune --undo",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			if reset || undo {
				if dry || reset && undo || len(args) > 0 {
					return config.Usagef("--reset and --undo go with nothing else")
				}
				return changeWeights(at.Console, w, undo)
			}
			if limit <= 0 {
				return config.Usagef("--time must be above zero")
			}
			return fitWeights(cmd.Context(), at, w, strings.Join(args, ""), limit, dry)
		},
	}
	c.Flags().DurationVar(&limit, "time", 30*time.Second, "how long to look for better weights")
	c.Flags().BoolVar(&dry, "dry-run", false, "show the gain, but write nothing")
	c.Flags().BoolVar(&reset, "reset", false, "go back to the default weights")
	c.Flags().BoolVar(&undo, "undo", false, "go back to the weights before the last change")
	return c
}

// changeWeights goes back to the weights before the last change, or to the default ones.
func changeWeights(console *terminal.Console, w *workdir.Workspace, undo bool) error {
	says := phrase.In(console.Language, "The default weights were in use already.")
	var changed bool
	var err error
	if undo {
		changed, err = tune.Undo(w.State, time.Now())
	} else {
		changed, err = tune.Reset(w.State)
	}
	now, broken := tune.Load(w.State)
	if err = cmp.Or(err, broken); err != nil {
		return err
	}
	if changed && undo {
		says = phrase.In(console.Language, "The weights before the last change are used again.")
	} else if changed {
		says = phrase.In(console.Language, "The default weights are used again.")
	}
	recommender := tune.DefaultRecommender()
	if now.Recommender != nil {
		recommender = *now.Recommender
	}
	return console.Print(map[string]any{"weights": now.Weights, "recommender": recommender},
		func() string { return says + "\n" })
}

// fitWeights fits weights, reports, and writes them when they are better.
func fitWeights(ctx context.Context, at *place, w *workdir.Workspace, dir string, limit time.Duration, dry bool) error {
	before, broken := tune.Load(w.State)
	if broken != nil {
		fmt.Fprintf(at.Err, "etui: %s\n", broken)
	}
	var report tune.Fitting
	fitting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	if dir != "" {
		report, err = tuneToSet(fitting, at.Console, before, dir)
	} else {
		report, err = tuneToPast(fitting, at, w, before)
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	now, better := before.Apply(report)
	if now.From, now.By = dir, "etui tune"; better && !dry {
		report.Written = tune.File(w.State)
		if err := now.Write(w.State); err != nil {
			return err
		}
	}
	return at.Print(report, func() string { return report.Text(at.Language, terminal.ShortPath(report.Written), dry) })
}

func tuneProgress(console *terminal.Console, what string) func(tune.Progress) {
	return func(p tune.Progress) {
		phrase.Fprintf(console.Err, console.Language, "%stried %d: nDCG@5 %.1f\n", what, p.Tried, 100*p.NDCG)
	}
}

// tuneToSet fits the ranking to the questions of a folder.
func tuneToSet(ctx context.Context, console *terminal.Console, before tune.WeightsFile,
	dir string) (report tune.Fitting, err error) {
	set, err := eval.Load(dir)
	if err != nil {
		return report, err
	}
	for _, p := range set.Problems[:min(len(set.Problems), 10)] {
		phrase.Fprintf(console.Err, console.Language, "etui: left out: %s\n", p)
	}
	tools, questions, err := set.Catalog()
	if err != nil {
		return report, err
	}
	report.Report, err = tune.Run(ctx, tools, questions,
		tune.Config[rank.Weights]{Start: before.Weights, Progress: tuneProgress(console, "")})
	report.Unfitted = "the questions of a folder have no conversation"
	return report, err
}

// tuneToPast fits the ranking, and the recommender over it, to past turns.
func tuneToPast(ctx context.Context, at *place, w *workdir.Workspace, before tune.WeightsFile) (report tune.Fitting,
	err error) {
	tools, turns, err := trial.PastTurns(ctx, w, at.settings(at.quiet(w.Config.Log)))
	if err != nil {
		return report, err
	}
	past := tune.Past{Before: before, Questions: learning.Votes(turns, false), Votes: w.Config.Usage.Vote,
		Progress: func(recommender bool, p tune.Progress) {
			what := ""
			if recommender {
				what = "recommender: "
			}
			tuneProgress(at.Console, what)(p)
		}}
	past.Start, past.Fixed = app.Recommends(w.Config.Recommend, before)
	report, err = tune.FitPast(ctx, tools, turns, past)
	few := (*tune.TooFewError)(nil)
	if errors.As(err, &few) && !w.Config.Usage.Keep {
		err = phrase.Errorf("%w. Turns are not being kept: set usage: {keep: true} in etui.yaml, or give a folder with questions", err)
	}
	return report, err
}
