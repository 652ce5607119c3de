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
	"github.com/etui-run/etui/rank"
)

func tuneCommand(at *place) *cobra.Command {
	var limit time.Duration
	var dry, reset bool
	c := &cobra.Command{
		Use: "tune [DIR]", Short: "Fit the weights of the ranking to past turns", Args: cobra.MaximumNArgs(1),
		Long: `Fit the weights of the ranking to past turns: to what was asked and which tools answered. etui keeps
them when etui.yaml says usage: {keep: true}. A third of the turns is held out to judge the result. Only
if the weights are better there, by more than chance, are they written to the state folder, and used
from the next start. The weights of the recommender are fitted in the same way, if it is on and etui.yaml
does not set them. With DIR the questions in DIR/queries.jsonl and the tools in DIR/tools.jsonl are used
instead, for the ranking alone.`,
		Example: "  etui tune --dry-run\n  etui tune --time 2m\n  etui tune --reset",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			if reset {
				return resetWeights(at.Console, w, dry, args)
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
	return c
}

func resetWeights(console *terminal.Console, w *workdir.Workspace, dry bool, args []string) error {
	if dry || len(args) > 0 {
		return config.Usagef("--reset goes with nothing else")
	}
	removed, err := tune.Reset(w.State)
	if err != nil {
		return err
	}
	says := "The default weights were in use already."
	if removed {
		says = "The default weights are used from the next start."
	}
	return console.Print(map[string]any{"weights": rank.DefaultWeights(), "recommender": tune.DefaultRecommender()}, func() string { return says + "\n" })
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
	now := tune.Fitted{Weights: before.Weights, Recommender: before.Recommender, Made: time.Now(), From: dir, Report: report.Report, RecommenderReport: report.Recommender}
	recommends := report.Recommender != nil && report.Recommender.Better
	if report.Better {
		now.Weights = report.Weights
	}
	if recommends {
		now.Recommender = &report.Recommender.Weights
	}
	if (report.Better || recommends) && !dry {
		report.Written = tune.File(w.State)
		if err := now.Write(w.State); err != nil {
			return err
		}
	}
	return at.Print(report, func() string { return report.Text(terminal.ShortPath(report.Written), dry) })
}

func tuneProgress(console *terminal.Console, what string) func(tune.Progress) {
	return func(p tune.Progress) {
		fmt.Fprintf(console.Err, "%stried %d: nDCG@5 %.1f\n", what, p.Tried, 100*p.NDCG)
	}
}

// tuneToSet fits the ranking to the questions of a folder.
func tuneToSet(ctx context.Context, console *terminal.Console, before tune.Fitted, dir string) (report tune.Fitting, err error) {
	set, err := eval.Load(dir)
	if err != nil {
		return report, err
	}
	for _, p := range set.Problems[:min(len(set.Problems), 10)] {
		fmt.Fprintf(console.Err, "etui: left out: %s\n", p)
	}
	tools, questions, err := set.Catalog()
	if err != nil {
		return report, err
	}
	report.Report, err = tune.Run(ctx, tools, questions, tune.Config[rank.Weights]{Start: before.Weights, Progress: tuneProgress(console, "")})
	report.Unfitted = "the questions of a folder have no conversation"
	return report, err
}

// tuneToPast fits the ranking, and the recommender over it, to past turns.
func tuneToPast(ctx context.Context, at *place, w *workdir.Workspace, before tune.Fitted) (report tune.Fitting, err error) {
	tools, turns, err := trial.PastTurns(ctx, w, at.settings(at.quiet(w.Config.Log)))
	if err != nil {
		return report, err
	}
	report.Report, err = tune.Run(ctx, tools, learning.Votes(turns, false), tune.Config[rank.Weights]{Start: before.Weights, Votes: w.Config.Usage.Vote, Progress: tuneProgress(at.Console, "")})
	few := (*tune.TooFewError)(nil)
	if errors.As(err, &few) && !w.Config.Usage.Keep {
		err = fmt.Errorf("%w. Turns are not being kept: set usage: {keep: true} in etui.yaml, or give a folder with questions", err)
	}
	if err != nil {
		return report, err
	}
	start, fit, why := app.Recommends(w.Config.Recommend, before)
	if !fit {
		report.Unfitted = why
		return report, nil
	}
	err = report.FitRecommender(ctx, tools, turns, tune.Config[tune.Recommender]{Start: start, Votes: w.Config.Usage.Vote, Progress: tuneProgress(at.Console, "recommender: ")})
	return report, err
}
