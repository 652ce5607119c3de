package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/eval"
	"github.com/etui-run/etui/internal/tune"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/usage"
)

func (a *cli) tuneCommand() *cobra.Command {
	var limit time.Duration
	var dry, reset bool
	c := &cobra.Command{
		Use: "tune [DIR]", Short: "Fit the weights of the ranking to past turns", Args: cobra.MaximumNArgs(1),
		Long: `Fit the weights of the ranking to past turns: to what was asked and which tools answered. etui keeps
them when etui.yaml says usage: {keep: true}. A third of the turns is held out to judge the result. Only
if the weights are better there, by more than chance, are they written to the state folder, and used
from the next start. With DIR the questions in DIR/queries.jsonl and the tools in DIR/tools.jsonl are
used instead.`,
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
				return app.Usagef("--time must be above zero")
			}
			return a.tune(cmd.Context(), w, strings.Join(args, ""), limit, dry)
		},
	}
	c.Flags().DurationVar(&limit, "time", 30*time.Second, "how long to look for better weights")
	c.Flags().BoolVar(&dry, "dry-run", false, "show the gain, but write nothing")
	c.Flags().BoolVar(&reset, "reset", false, "go back to the default weights")
	return c
}

func (a *cli) resetWeights(w *app.Workspace, dry bool, args []string) error {
	if dry || len(args) > 0 {
		return app.Usagef("--reset goes with nothing else")
	}
	err := os.Remove(app.WeightsFile(w.State))
	says := "The default weights are used from the next start."
	if errors.Is(err, fs.ErrNotExist) {
		says, err = "The default weights were in use already.", nil
	}
	if err != nil {
		return fmt.Errorf("removing the weights: %w", err)
	}
	return a.print(map[string]any{"weights": rank.DefaultWeights()}, func() string { return says + "\n" })
}

// tune fits weights, reports, and writes them when they are better.
func (a *cli) tune(ctx context.Context, w *app.Workspace, dir string, limit time.Duration, dry bool) error {
	start, broken := app.LoadWeights(w.State)
	if broken != nil {
		fmt.Fprintf(a.err, "etui: %s\n", broken)
	}
	tools, questions, err := a.lessons(ctx, w, dir)
	if err != nil {
		return err
	}
	fitting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	report, err := tune.Run(fitting, tools, questions, tune.Config{
		Start: start, Votes: dir == "" && w.Config.Usage.Vote,
		Progress: func(p tune.Progress) { fmt.Fprintf(a.err, "tried %d: nDCG@5 %.1f\n", p.Tried, 100*p.NDCG) },
	})
	var few *tune.TooFewError
	if errors.As(err, &few) && dir == "" && !w.Config.Usage.Keep {
		return fmt.Errorf("%w. Turns are not being kept: set usage: {keep: true} in etui.yaml, or give a folder with questions", err)
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	written := ""
	if report.Better && !dry {
		written = app.WeightsFile(w.State)
		if err := (app.Fitted{Weights: report.Weights, Made: time.Now(), From: dir, Report: report}).Write(w.State); err != nil {
			return err
		}
	}
	return a.print(struct {
		tune.Report
		Written string `json:"written,omitempty"`
	}{report, written}, func() string { return describeTuning(report, written, dry) })
}

// lessons are the tools and the questions to learn from: those of a folder, or
// the workspace's and its past turns.
func (a *cli) lessons(ctx context.Context, w *app.Workspace, dir string) (tools *catalog.Catalog, questions []rank.Asked, err error) {
	if dir != "" {
		set, err := eval.Load(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range set.Problems[:min(len(set.Problems), 10)] {
			fmt.Fprintf(a.err, "etui: left out: %s\n", p)
		}
		return tune.FromSet(set)
	}
	b, err := app.New(ctx, w, a.settings(a.quiet(w.Config.Log)))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var turns []usage.Turn
	if b.Config.Learning.Log != nil {
		if turns, err = b.Config.Learning.Log.List(ctx, usage.Filter{}); err != nil {
			return nil, nil, err
		}
	}
	tools, err = tune.Open(b.Engine.Catalog())
	return tools, engine.Asked(turns, false), err
}

func describeTuning(r tune.Report, written string, dry bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tools; fitted to %d questions, judged by %d others; %d weights tried\n\n", r.Tools, r.Fitted, r.HeldOut, r.Tried)
	fmt.Fprintf(&b, "          nDCG@5    R@5\nbefore   %7.1f %6.1f\nafter    %7.1f %6.1f\n", 100*r.Before.NDCG, 100*r.Before.Recall, 100*r.After.NDCG, 100*r.After.Recall)
	fmt.Fprintf(&b, "gain     %+7.1f ± %.1f (standard error)\n", 100*r.Gain, 100*r.Noise)
	for _, change := range changedWeights(r.Start, r.Weights) {
		fmt.Fprintf(&b, "  %s\n", change)
	}
	switch {
	case !r.Better:
		b.WriteString("\nThat is not better than chance would have it: nothing is changed.\n")
	case dry:
		b.WriteString("\nNothing is written, as --dry-run says.\n")
	default:
		fmt.Fprintf(&b, "\nWritten to %s. They are used from the next start; etui tune --reset goes back.\n", home(written))
	}
	return b.String()
}

// changes names the weights that differ, as the file does.
func changedWeights(before, after rank.Weights) []string {
	var list []string
	old, now := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range old.NumField() {
		if x, y := old.Field(i).Float(), now.Field(i).Float(); x != y {
			list = append(list, fmt.Sprintf("%-15s %g → %g", old.Type().Field(i).Tag.Get("json"), x, y))
		}
	}
	return list
}
