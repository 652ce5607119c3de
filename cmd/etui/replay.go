package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/trial"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/lab/replay"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	names       []string // of modes, as given
	modes       []replay.Mode
	sessions    []string
	user        string
	channel     string
	roles       []string
	change      workdir.Change // to compare with
	baseline    string
	failUnder   map[string]string
	failOnWorse bool
	warm        bool
	table       bool
	turns       bool
}

func replayCommand(at *place) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use: "replay [FILE ...]", Short: "Replay conversations: what is sent, what it costs, and whether the right tools are there",
		Long: `Replay conversations against the workspace's tools and configuration, without a model and without
running a tool. Show what would have been sent, what it would have cost (counting the provider's
prompt cache and the rounds for searching), and whether the tools that each turn needs had reached
the model. FILE holds conversations, a JSON object a line; see docs/replay.md. Without FILE
the stored conversations of the workspace are replayed, or with --demo those of the demo.`,
		Example: `  etui replay --demo
  etui replay --demo --mode auto --turns
  etui replay --demo --against changed.yaml --fail-on-worse
  etui replay --limit 4 --rule '{deny: ["db_*"]}'
  etui replay conversations.jsonl --fail-under recall=0.9`,
		RunE: func(cmd *cobra.Command, args []string) error { return runReplay(cmd.Context(), at, args, f) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.names, "mode", nil,
		"ways to bring tools to the model: all, naive, direct, preselect, bridge, native, auto, configured (default: "+
			"all but the last; with a change only that, with --baseline its own)")
	flags.StringSliceVar(&f.sessions, "session", nil, "stored conversations to replay, by key (may be repeated)")
	flags.StringVar(&f.user, "user", "", "user of stored conversations")
	flags.StringVar(&f.channel, "channel", "cli", "channel of stored conversations")
	flags.StringSliceVar(&f.roles, "role", nil, "role of the user of stored conversations (may be repeated)")
	flags.StringVar(&f.change.File, "against", "", "another etui.yaml: replay on it too, and print the differences")
	flags.StringVar(&f.change.Texts, "enriched", "",
		"another file of texts about tools, see enrich.md: replay with it too")
	flags.StringArrayVar(&f.change.Rules, "rule", nil,
		"one more rule of visibility, in YAML: replay with it too (may be repeated)")
	flags.IntVar(&f.change.Limit, "limit", 0, "another limit of tools: replay with it too")
	flags.IntVar(&f.change.Budget, "budget", 0, "another limit of their tokens: replay with it too")
	flags.StringVar(&f.baseline, "baseline", "", "earlier output of --json: print the differences from it")
	flags.StringToStringVar(&f.failUnder, "fail-under", nil,
		"exit with code 1 when a share is lower: recall=0.9,reached=0.95")
	flags.BoolVar(&f.failOnWorse, "fail-on-worse", false,
		"exit with code 1 when recall fell, or cost or refusals rose, compared with --baseline or before a change")
	flags.BoolVar(&f.warm, "warm", false, "let each conversation use what the one before left in the provider's cache")
	flags.BoolVar(&f.table, "table", false, "print a table in Markdown")
	flags.BoolVar(&f.turns, "turns", false, "print every turn")
	return c
}

func runReplay(ctx context.Context, at *place, files []string, f replayFlags) error {
	least, err := f.check()
	if err != nil {
		return err
	}
	w, err := at.open(ctx)
	if err != nil {
		return err
	}
	conversations, err := conversationsOf(ctx, at, w, files, f)
	if err != nil {
		return err
	}
	before, after, err := compareReplays(ctx, at, w, conversations, &f)
	if err != nil {
		return err
	}
	compared := replay.NewComparison(before, after)
	switch {
	case at.JSON:
		e := json.NewEncoder(at.Out)
		e.SetIndent("", " ")
		err = e.Encode(compared)
	case f.table:
		_, err = io.WriteString(at.Out, compared.Markdown())
	default:
		var models []string
		for _, m := range w.Config.Models {
			if m.Provider != "offline" {
				models = append(models, m.Model)
			}
		}
		_, err = io.WriteString(at.Out, compared.Text(at.Language, f.turns)+replay.UnpricedNote(at.Language, models))
	}
	if err != nil {
		return err
	}
	why := after.Below(least)
	if f.failOnWorse {
		why = append(why, replay.Worse(before, after)...)
	}
	if len(why) > 0 { // a build fails
		return errors.New(strings.Join(why, "\n      "))
	}
	return nil
}

// check parses the flags that need parsing.
func (f *replayFlags) check() (least map[string]float64, err error) {
	if !f.change.Empty() && f.baseline != "" {
		return nil, config.Usagef("--baseline and a change (--against, --enriched, --rule, --limit, --budget) both say what to compare with: give one of them")
	}
	if f.failOnWorse && f.change.Empty() && f.baseline == "" {
		return nil, config.Usagef("--fail-on-worse needs --against or --baseline to compare with, or another change")
	}
	least = map[string]float64{}
	for name, text := range f.failUnder {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1) || name != "recall" && name != "reached" {
			return nil, config.Usagef("--fail-under %s=%s: give recall or reached, and a share from 0 to 1", name, text)
		}
		least[name] = v
	}
	if f.modes, err = replay.ParseModes(f.names); err != nil {
		return nil, config.Usagef("%w", err)
	}
	return least, nil
}

// conversationsOf returns the conversations to replay.
func conversationsOf(ctx context.Context, at *place, w *workdir.Workspace, files []string,
	f replayFlags) ([]replay.Conversation, error) {
	switch {
	case len(files) > 0 && len(f.sessions) > 0:
		return nil, config.Usagef("give files or --session, not both")
	case len(files) > 0:
		list, err := replay.ReadFiles(at.In, files)
		if err != nil {
			return nil, config.Usagef("%w", err)
		}
		return list, nil
	case at.demo && len(f.sessions) == 0:
		return replay.Read(demo.Conversations(), "the demo's conversations")
	}
	who := replay.Conversation{User: f.user, Channel: f.channel, Roles: f.roles}
	stored, err := trial.StoredConversations(ctx, w, f.sessions, who) // those that asked for a tool
	if errors.Is(err, trial.ErrNothingStored) {
		return nil, config.Usagef("%w: give a FILE, or --demo for those of the demo", err)
	}
	return stored, err
}

// chosen are the modes that are replayed.
func (f *replayFlags) chosen() []replay.Mode {
	switch {
	case len(f.modes) > 0:
		return f.modes
	case !f.change.Empty():
		return []replay.Mode{replay.Configured}
	}
	return replay.Modes()
}

// compareReplays replays, and returns the reports before and after a change. Without a change
// the report before is empty.
func compareReplays(ctx context.Context, at *place, w *workdir.Workspace, conversations []replay.Conversation,
	f *replayFlags) (before, after replay.Report, err error) {
	var changed *workdir.Workspace
	if !f.change.Empty() {
		if changed, err = w.With(f.change); err != nil {
			return before, after, err
		}
	}
	if f.baseline != "" {
		if before, err = f.readBaseline(); err != nil {
			return before, after, err
		}
	}
	if after, err = trial.Replay(ctx, w, at.settings(nil), f.chosen(), f.warm, conversations); err != nil {
		return before, after, err
	}
	if changed != nil {
		before = after
		after, err = trial.Replay(ctx, changed, at.settings(nil), f.chosen(), f.warm, conversations)
		return before, after, err
	}
	if f.baseline != "" && !replay.Comparable(before, after) {
		return before, after, config.Usagef("the baseline %s has none of these conversations in these modes: replay what it was made with, or make a new one with --json", f.baseline)
	}
	return before, after, nil
}

// readBaseline reads what --json printed. Its modes are replayed unless others
// are asked for.
func (f *replayFlags) readBaseline() (before replay.Report, err error) {
	before, err = replay.ReadReport(f.baseline)
	if err != nil {
		return before, config.Usagef("reading the baseline %s: %w; make one with --json", f.baseline, err)
	}
	if len(f.modes) == 0 {
		f.modes = before.Modes()
	}
	return before, nil
}
