package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/eval"
	"github.com/etui-run/etui/internal/tune"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/usage"
)

// fitted is the file with the weights that etui tune wrote.
type fitted struct {
	Weights rank.Weights `json:"weights"`
	Made    time.Time    `json:"made"`
	// From is the folder they were fitted to; empty means past turns.
	From   string      `json:"from,omitempty"`
	Report tune.Report `json:"report"`
}

func weightsFile(state string) string { return filepath.Join(state, "weights.json") }

// loadWeights reads the weights of a workspace. Without a file, or with one that
// cannot be used, they are the default ones.
func loadWeights(state string) (rank.Weights, error) {
	f := fitted{Weights: rank.DefaultWeights()} // for weights that a file does not know
	raw, err := os.ReadFile(weightsFile(state))
	if errors.Is(err, fs.ErrNotExist) {
		return f.Weights, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err == nil {
		err = f.Weights.Check()
	}
	if err != nil {
		return rank.DefaultWeights(), fmt.Errorf("%s: %w; the default weights are used. etui tune makes it anew, etui tune --reset removes it", weightsFile(state), err)
	}
	return f.Weights, nil
}

// weights are those of a workspace; what is wrong with them is logged.
func weights(ctx context.Context, state string, log *slog.Logger) rank.Weights {
	w, err := loadWeights(state)
	if err != nil {
		log.ErrorContext(ctx, "the fitted weights cannot be used", "error", err)
	}
	return w
}

func (a *app) tuneCommand() *cobra.Command {
	var limit time.Duration
	var dry, reset bool
	c := &cobra.Command{
		Use: "tune [DIR]", Short: "Fit the weights of the ranking to past turns", Args: cobra.MaximumNArgs(1),
		Long: `Fit the weights of the ranking to past turns: to what was asked and which tools answered, which is
kept when etui.yaml says usage: {keep: true}. A third of the turns is held out to judge the result: only
weights that are better there, by more than chance, are written to the state folder, for etui to use
from its next start. With DIR the questions of DIR/queries.jsonl and the tools of DIR/tools.jsonl are
taken instead.`,
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
				return usagef("--time must be above zero")
			}
			return a.tune(cmd.Context(), w, strings.Join(args, ""), limit, dry)
		},
	}
	c.Flags().DurationVar(&limit, "time", 30*time.Second, "for how long at most better weights are looked for")
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be gained, and write nothing")
	c.Flags().BoolVar(&reset, "reset", false, "go back to the default weights")
	return c
}

func (a *app) resetWeights(w *workspace, dry bool, args []string) error {
	if dry || len(args) > 0 {
		return usagef("--reset goes with nothing else")
	}
	err := os.Remove(weightsFile(w.state))
	says := "The default weights are used from the next start."
	if errors.Is(err, fs.ErrNotExist) {
		says, err = "The default weights were in use already.", nil
	}
	if err != nil {
		return fmt.Errorf("removing the weights: %w", err)
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(map[string]any{"weights": rank.DefaultWeights()})
	}
	_, err = fmt.Fprintln(a.out, says)
	return err
}

// tune fits weights, reports, and writes them when they are better.
func (a *app) tune(ctx context.Context, w *workspace, dir string, limit time.Duration, dry bool) error {
	start, broken := loadWeights(w.state)
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
		Start: start, Votes: dir == "" && w.config.Usage.Vote,
		Progress: func(p tune.Progress) { fmt.Fprintf(a.err, "tried %d: nDCG@5 %.1f\n", p.Tried, 100*p.NDCG) },
	})
	var few *tune.TooFewError
	if errors.As(err, &few) && dir == "" && !w.config.Usage.Keep {
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
		written = weightsFile(w.state)
		if err := writeWeights(w.state, fitted{report.Weights, time.Now(), dir, report}); err != nil {
			return err
		}
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(struct {
			tune.Report
			Written string `json:"written,omitempty"`
		}{report, written})
	}
	_, err = fmt.Fprint(a.out, describeTuning(report, written, dry))
	return err
}

// lessons are the tools and the questions to learn from: those of a folder, or
// the workspace's and its past turns.
func (a *app) lessons(ctx context.Context, w *workspace, dir string) (tools *catalog.Catalog, questions []rank.Asked, err error) {
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
	w.config.Log.Level = quieter(w.config.Log.Level)
	b, err := a.build(ctx, w, false, a.logger(w.config.Log))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var turns []usage.Turn
	if b.usage.Log != nil {
		if turns, err = b.usage.Log.List(ctx, usage.Filter{}); err != nil {
			return nil, nil, err
		}
	}
	tools, err = tune.Open(b.registry.Catalog())
	return tools, engine.Asked(turns, false), err
}

// writeWeights replaces the file in one go, so that half a file is never read.
func writeWeights(state string, f fitted) error {
	raw, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.MkdirAll(state, 0o700)
	}
	if err != nil {
		return err
	}
	if err := atomicfile.Write(weightsFile(state), append(raw, '\n')); err != nil {
		return fmt.Errorf("writing the weights: %w; the state folder must be writable", err)
	}
	return nil
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
