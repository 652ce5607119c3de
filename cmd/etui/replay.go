package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/demo"
	"github.com/etui-run/etui/internal/replay"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/sqlite"
)

// replayFlags are what a replay is asked for.
type replayFlags struct {
	modes       []string
	sessions    []string
	user        string
	channel     string
	roles       []string
	against     string
	baseline    string
	failUnder   map[string]string
	failOnWorse bool
	warm        bool
	table       bool
	turns       bool
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use: "replay [FILE ...]", Short: "Replay conversations: what is sent, at what cost, and are the right tools at hand",
		Long: `Replay conversations against the workspace's tools and configuration, without a model and without
running a tool, and tell what would have been sent, what it would have cost with the provider's
prompt cache and the rounds for searching counted, and whether the tools that each turn needs had
reached the model. FILE holds conversations, a JSON object a line; see docs/replay.md. Without FILE
those that the workspace has stored are replayed, and with --demo those that come with the demo.`,
		Example: `  etui replay --demo
  etui replay --demo --mode auto --turns
  etui replay --demo --against changed.yaml --fail-on-worse
  etui replay conversations.jsonl --fail-under recall=0.9`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.replay(cmd.Context(), args, f) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.modes, "mode", nil, "ways to bring tools to the model: "+join(append(replay.Modes(), replay.Configured))+" (default: all but the last; with --against only that, with --baseline its own)")
	flags.StringSliceVar(&f.sessions, "session", nil, "stored conversations to replay, by key (may be repeated)")
	flags.StringVar(&f.user, "user", "", "user of stored conversations")
	flags.StringVar(&f.channel, "channel", "cli", "channel of stored conversations")
	flags.StringSliceVar(&f.roles, "role", nil, "role of the user of stored conversations (may be repeated)")
	flags.StringVar(&f.against, "against", "", "another etui.yaml: replay on it too, and print the differences")
	flags.StringVar(&f.baseline, "baseline", "", "earlier output of --json: print the differences from it")
	flags.StringToStringVar(&f.failUnder, "fail-under", nil, "end with exit code 1 when a share is lower: recall=0.9,reached=0.95")
	flags.BoolVar(&f.failOnWorse, "fail-on-worse", false, "end with exit code 1 when recall fell, or cost or refusals rose, against --baseline or --against")
	flags.BoolVar(&f.warm, "warm", false, "let each conversation find what the one before left in the provider's cache")
	flags.BoolVar(&f.table, "table", false, "print a table in Markdown")
	flags.BoolVar(&f.turns, "turns", false, "print every turn")
	return c
}

func join(modes []replay.Mode) string {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}

func (a *app) replay(ctx context.Context, files []string, f replayFlags) error {
	least, err := f.check()
	if err != nil {
		return err
	}
	w, err := a.open()
	if err != nil {
		return err
	}
	conversations, err := a.conversations(ctx, w, files, f)
	if err != nil {
		return err
	}
	before, after, err := a.compared(ctx, w, conversations, &f)
	if err != nil {
		return err
	}
	if err := a.printReplay(before, after, f); err != nil {
		return err
	}
	return failed(before, after, least, f)
}

// check reads the flags that are more than texts.
func (f *replayFlags) check() (least map[string]float64, err error) {
	if f.against != "" && f.baseline != "" {
		return nil, usagef("--against and --baseline both say what to compare with: give one of them")
	}
	if f.failOnWorse && f.against == "" && f.baseline == "" {
		return nil, usagef("--fail-on-worse needs --against or --baseline to compare with")
	}
	least = map[string]float64{}
	for name, text := range f.failUnder {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1) || name != "recall" && name != "reached" {
			return nil, usagef("--fail-under %s=%s: give recall or reached, and a share from 0 to 1", name, text)
		}
		least[name] = v
	}
	var once []string
	for _, name := range f.modes {
		if _, err := replay.ParseMode(name); err != nil {
			return nil, usageError{err}
		}
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	f.modes = once
	return least, nil
}

// conversations finds what is to be replayed.
func (a *app) conversations(ctx context.Context, w *workspace, files []string, f replayFlags) ([]replay.Conversation, error) {
	switch {
	case len(files) > 0 && len(f.sessions) > 0:
		return nil, usagef("give files or --session, not both")
	case len(files) > 0:
		return readConversations(a.in, files)
	case a.demo && len(f.sessions) == 0:
		return replay.Read(demo.Conversations(), "the demo's conversations")
	}
	return storedConversations(ctx, w, f)
}

func readConversations(in io.Reader, files []string) ([]replay.Conversation, error) {
	var all []replay.Conversation
	for _, name := range files {
		r := in
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				return nil, usagef("reading conversations: %w", err)
			}
			defer file.Close()
			r = file
		}
		list, err := replay.Read(r, name)
		if err != nil {
			return nil, usageError{err}
		}
		for _, c := range list {
			if slices.ContainsFunc(all, func(x replay.Conversation) bool { return x.ID == c.ID }) {
				return nil, usagef("%s: the id %q stands in an earlier file, too", name, c.ID)
			}
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return nil, usagef("there is no conversation in %s", strings.Join(files, ", "))
	}
	return all, nil
}

// maxSessions is how many stored conversations are replayed: the newest.
const maxSessions = 500

// storedConversations are those of the workspace that asked for a tool.
func storedConversations(ctx context.Context, w *workspace, f replayFlags) (all []replay.Conversation, err error) {
	path := filepath.Join(w.state, "etui.db")
	if _, err := os.Stat(path); err != nil {
		return nil, usagef("the workspace has stored no conversation yet: give a FILE, or --demo for those of the demo")
	}
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	keys := f.sessions
	if len(keys) == 0 {
		list, err := store.List(ctx, maxSessions)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			keys = append(keys, string(s.Key))
		}
	}
	for _, key := range keys {
		s, err := store.Load(ctx, session.Key(key), 0)
		if err != nil {
			return nil, err
		}
		c := replay.FromSession(s)
		c.User, c.Channel, c.Roles = f.user, f.channel, f.roles
		if len(c.Turns) > 0 {
			all = append(all, c)
		} else if len(f.sessions) > 0 {
			return nil, usagef("there is no stored conversation %q", key)
		}
	}
	if len(all) == 0 {
		return nil, usagef("the workspace has stored no conversation yet: give a FILE, or --demo for those of the demo")
	}
	return all, nil
}

// replayOn replays on a workspace, in each mode and at each provider.
func (a *app) replayOn(ctx context.Context, w *workspace, conversations []replay.Conversation, f *replayFlags) (report replay.Report, err error) {
	b, err := a.build(ctx, w, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for _, mode := range f.chosen() {
		for _, p := range replay.Providers() {
			run, err := replay.Play(ctx, replay.Config{Engine: b.config, Mode: mode, Provider: p, Warm: f.warm}, conversations)
			if errors.Is(err, engine.ErrUnknown) {
				err = usagef("on %s: %w", w.file, err)
			}
			if err != nil {
				return report, err
			}
			report.Runs = append(report.Runs, run)
		}
	}
	return report, nil
}

// chosen are the modes that are replayed.
func (f *replayFlags) chosen() []replay.Mode {
	switch {
	case len(f.modes) > 0:
	case f.against != "":
		return []replay.Mode{replay.Configured}
	default:
		return replay.Modes()
	}
	modes := make([]replay.Mode, len(f.modes))
	for i, name := range f.modes {
		modes[i] = replay.Mode(name)
	}
	return modes
}

// compared replays, and tells what stands before a change and after it. Without a
// change there is nothing before.
func (a *app) compared(ctx context.Context, w *workspace, conversations []replay.Conversation, f *replayFlags) (before, after replay.Report, err error) {
	if f.baseline != "" {
		if before, err = f.readBaseline(); err != nil {
			return before, after, err
		}
	}
	if after, err = a.replayOn(ctx, w, conversations, f); err != nil {
		return before, after, err
	}
	if f.against != "" {
		changed, err := w.as(f.against)
		if err != nil {
			return before, after, err
		}
		before = after
		after, err = a.replayOn(ctx, changed, conversations, f)
		return before, after, err
	}
	if f.baseline != "" && !replay.Comparable(before, after) {
		return before, after, usagef("the baseline %s has none of these conversations in these modes: replay what it was made with, or make a new one with --json", f.baseline)
	}
	return before, after, nil
}

// readBaseline reads what --json printed. Its modes are replayed unless others
// are asked for.
func (f *replayFlags) readBaseline() (before replay.Report, err error) {
	raw, err := os.ReadFile(f.baseline)
	if err == nil {
		err = json.Unmarshal(raw, &before)
	}
	if err != nil {
		return before, usagef("reading the baseline %s: %w; make one with --json", f.baseline, err)
	}
	if len(f.modes) == 0 {
		for _, r := range before.Runs {
			if _, err := replay.ParseMode(string(r.Mode)); err == nil && !slices.Contains(f.modes, string(r.Mode)) {
				f.modes = append(f.modes, string(r.Mode))
			}
		}
	}
	return before, nil
}

// failed is the error that makes a build fail.
func failed(before, after replay.Report, least map[string]float64, f replayFlags) error {
	var why []string
	for _, r := range after.Runs {
		for _, name := range slices.Sorted(maps.Keys(least)) {
			got := r.Recall()
			if name == "reached" {
				got = r.Reached()
			}
			if got < least[name] {
				why = append(why, fmt.Sprintf("%s at %s: %s is %.3f, less than %g", r.Mode, r.Provider, name, got, least[name]))
			}
		}
	}
	if f.failOnWorse {
		why = append(why, replay.Worse(before, after)...)
	}
	if len(why) > 0 {
		return errors.New(strings.Join(why, "\n      "))
	}
	return nil
}
