package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/secret"
)

// streams are the program's input and outputs.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in how the program was called or set up.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	secrets := &secret.Known{}
	secrets.Set("environment", secretVariables(os.Environ())...)
	log.SetOutput(secrets.Writer(std.err)) // what libraries log by themselves
	root := newRoot(std, secrets)
	root.SetArgs(args)
	err := fang.Execute(ctx, root,
		fang.WithVersion(version()),
		fang.WithErrorHandler(func(w io.Writer, _ fang.Styles, err error) {
			fmt.Fprintf(w, "etui: %s\n", secrets.Redactor().Error(err))
		}),
	)
	var usage usageError
	var misconfigured config.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage), errors.As(err, &misconfigured), isUsage(err):
		return exitUsage
	}
	return exitFailed
}

// isUsage recognises the errors that cobra makes itself.
func isUsage(err error) bool {
	return slices.ContainsFunc([]string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument", "flag needs an argument", "accepts ", "requires at least", "required flag"}, func(s string) bool {
		return strings.HasPrefix(err.Error(), s)
	})
}

// app is what the sub-commands share: the global flags and the streams.
type app struct {
	streams
	workspace string
	config    string
	demo      bool
	url       string
	json      bool
	secrets   *secret.Known
}

func newRoot(std streams, secrets *secret.Known) *cobra.Command {
	a := &app{streams: std, secrets: secrets}
	root := &cobra.Command{
		Use:   "etui",
		Short: "An AI-agent gateway that shows each question just the tools it needs",
		Long: `etui is a gateway for AI agents. Messages come in from chat and API; an agent answers
with tools; and each turn the model is shown only the tools that this user may use
and that this question needs. etui can always say why.

Begin with "etui demo", then, in a second terminal, "etui chat".`,
		Example: `  etui demo
  etui chat -m "show me the error logs of the checkout pod in namespace prod"
  etui select "who is on call this week?"`,
		SilenceUsage: true,
		Args:         unknownCommand,
		RunE:         func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	f := root.PersistentFlags()
	f.StringVarP(&a.workspace, "workspace", "w", os.Getenv("ETUI_WORKSPACE"), "folder with etui.yaml (default: the current one)")
	f.StringVar(&a.config, "config", os.Getenv("ETUI_CONFIG"), "configuration file (default: etui.yaml in the workspace)")
	f.BoolVar(&a.demo, "demo", false, "use the demo workspace")
	f.StringVar(&a.url, "url", os.Getenv("ETUI_URL"), "gateway to talk to (default: the one of the workspace, if it runs)")
	f.BoolVar(&a.json, "json", false, "print JSON")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w%s; see %q", err, nearestFlag(c, err), c.CommandPath()+" --help")
	})
	root.AddCommand(a.serveCommand(), a.demoCommand(), a.chatCommand(), a.selectCommand(), a.evalCommand(), a.replayCommand(),
		a.toolsCommand(), a.skillsCommand(), a.agentsCommand(), a.usageCommand(), a.auditCommand(), a.tuneCommand(), a.configCommand(), a.doctorCommand(), a.versionCommand(), a.secbenchCommand())
	return root
}

// unknownCommand refuses words that are no sub-command.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("unknown command %q%s; see %q", args[0], nearest.Hint(args[0], func(yield func(string) bool) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && !yield(sub.Name()) {
				return
			}
		}
	}), c.CommandPath()+" --help")
}

// group is the RunE of commands that only hold others.
func group(c *cobra.Command, _ []string) error { return c.Help() }

// nearestFlag proposes the flag that was meant.
func nearestFlag(c *cobra.Command, err error) string {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	var names []string
	for flag := range strings.FieldsSeq(c.Flags().FlagUsages() + " " + c.InheritedFlags().FlagUsages()) {
		if long, ok := strings.CutPrefix(flag, "--"); ok {
			names = append(names, long)
		}
	}
	if near, ok := nearest.Name(name, slices.Values(names)); ok {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}
