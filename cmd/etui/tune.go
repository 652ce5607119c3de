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
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/rank"
)

func (a *cli) tuneCommand() *cobra.Command {
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
			w, err := a.open()
			if err != nil {
				return err
			}
			if reset {
				return a.resetWeights(w, dry, args)
			}
			if limit <= 0 {
				return config.Usagef("--time must be above zero")
			}
			return a.tune(cmd.Context(), w, strings.Join(args, ""), limit, dry)
		},
	}
	c.Flags().DurationVar(&limit, "time", 30*time.Second, "how long to look for better weights")
	c.Flags().BoolVar(&dry, "dry-run", false, "show the gain, but write nothing")
	c.Flags().BoolVar(&reset, "reset", false, "go back to the default weights")
	return c
}

func (a *cli) resetWeights(w *workdir.Workspace, dry bool, args []string) error {
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
	return a.print(map[string]any{"weights": rank.DefaultWeights(), "recommender": tune.DefaultRecommender()}, func() string { return says + "\n" })
}

// tuned is what etui tune reports.
type tuned struct {
	tune.Report[rank.Weights]
	// Recommender is what was found out about its weights; nil if they were not fitted, for
	// the reason Unfitted.
	Recommender *tune.Report[tune.Recommender] `json:"recommender,omitempty"`
	Unfitted    string                         `json:"recommender_not_fitted,omitempty"`
	Written     string                         `json:"written,omitempty"`
}

// tune fits weights, reports, and writes them when they are better.
func (a *cli) tune(ctx context.Context, w *workdir.Workspace, dir string, limit time.Duration, dry bool) error {
	before, broken := tune.Load(w.State)
	if broken != nil {
		fmt.Fprintf(a.err, "etui: %s\n", broken)
	}
	var report tuned
	fitting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	if dir != "" {
		report, err = a.tuneToSet(fitting, before, dir)
	} else {
		report, err = a.tuneToPast(fitting, w, before)
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
	return a.print(report, func() string { return describeTuning(report, dry) })
}

func (a *cli) tuneProgress(what string) func(tune.Progress) {
	return func(p tune.Progress) { fmt.Fprintf(a.err, "%stried %d: nDCG@5 %.1f\n", what, p.Tried, 100*p.NDCG) }
}

// tuneToSet fits the ranking to the questions of a folder.
func (a *cli) tuneToSet(ctx context.Context, before tune.Fitted, dir string) (report tuned, err error) {
	set, err := eval.Load(dir)
	if err != nil {
		return report, err
	}
	for _, p := range set.Problems[:min(len(set.Problems), 10)] {
		fmt.Fprintf(a.err, "etui: left out: %s\n", p)
	}
	tools, questions, err := set.Catalog()
	if err != nil {
		return report, err
	}
	report.Report, err = tune.Run(ctx, tools, questions, tune.Config[rank.Weights]{Start: before.Weights, Progress: a.tuneProgress("")})
	report.Unfitted = "the questions of a folder have no conversation"
	return report, err
}

// tuneToPast fits the ranking, and the recommender over it, to past turns.
func (a *cli) tuneToPast(ctx context.Context, w *workdir.Workspace, before tune.Fitted) (report tuned, err error) {
	tools, turns, err := trial.PastTurns(ctx, w, a.settings(a.quiet(w.Config.Log)))
	if err != nil {
		return report, err
	}
	report.Report, err = tune.Run(ctx, tools, engine.Asked(turns, false), tune.Config[rank.Weights]{Start: before.Weights, Votes: w.Config.Usage.Vote, Progress: a.tuneProgress("")})
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
	words := before.Weights
	if report.Better {
		words = report.Weights
	}
	found, err := tune.Recommend(ctx, tools, turns, words, tune.Config[tune.Recommender]{Start: start, Votes: w.Config.Usage.Vote, Progress: a.tuneProgress("recommender: ")})
	if errors.As(err, &few) {
		report.Unfitted = fmt.Sprintf("%d past turns have a channel and a conversation, and it needs %d", few.Have, few.Need)
		return report, nil
	}
	report.Recommender = &found
	return report, err
}

func describeTuning(r tuned, dry bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tools; fitted to %d questions, judged by %d others; %d weights tried\n\n", r.Tools, r.Fitted, r.HeldOut, r.Tried)
	describeGain(&b, r.Report)
	better := r.Better
	switch {
	case r.Recommender != nil:
		fmt.Fprintf(&b, "\nthe recommender over it; fitted to %d turns, judged by %d others; %d weights tried\n\n", r.Recommender.Fitted, r.Recommender.HeldOut, r.Recommender.Tried)
		describeGain(&b, *r.Recommender)
		better = better || r.Recommender.Better
	case r.Unfitted != "":
		fmt.Fprintf(&b, "\nThe weights of the recommender are not fitted: %s.\n", r.Unfitted)
	}
	switch {
	case !better:
		b.WriteString("\nThat is not better than chance would have it: nothing is changed.\n")
	case dry:
		b.WriteString("\nNothing is written, as --dry-run says.\n")
	default:
		fmt.Fprintf(&b, "\nWhat is better is written to %s. It is used from the next start; etui tune --reset goes back.\n", home(r.Written))
	}
	return b.String()
}

func describeGain[W any](b *strings.Builder, r tune.Report[W]) {
	fmt.Fprintf(b, "          nDCG@5    R@5\nbefore   %7.1f %6.1f\nafter    %7.1f %6.1f\n", 100*r.Before.NDCG, 100*r.Before.Recall, 100*r.After.NDCG, 100*r.After.Recall)
	verdict := ""
	if !r.Better {
		verdict = "; not better than chance would have it"
	}
	fmt.Fprintf(b, "gain     %+7.1f ± %.1f (standard error%s)\n", 100*r.Gain, 100*r.Noise, verdict)
	for _, change := range r.Changes() {
		fmt.Fprintf(b, "  %s\n", change)
	}
}
