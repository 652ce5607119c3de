package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
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

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	secrets := &secret.Known{}
	if err := secrets.Set("the environment", config.EnvironmentSecrets(os.Environ())...); err != nil {
		fmt.Fprintf(std.err, "etui: %v\n", err)
		return exitUsage
	}
	log.SetOutput(secrets.Writer(std.err)) // what libraries log by themselves
	root := newRoot(std, secrets)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code, _ := codes(err)
	if err == nil {
		return code
	}
	says := secrets.Redactor().Error(err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		says = errors.New("interrupted")
	}
	if slices.Contains(args, "--json") || slices.Contains(args, "--json=true") { // even if the mistake comes before it
		describeFailure(std.err, says)
		return code
	}
	fmt.Fprintf(std.err, "etui: %s\n", printable.Text(says.Error()))
	return code
}

// codes returns the exit code of an error, and the word for it in JSON.
func codes(err error) (exit int, code string) {
	var usage config.UsageError
	var misconfigured config.Error
	var refused *client.Error
	var run ended
	var unconfirmed *trust.Unconfirmed
	switch {
	case err == nil:
		return exitOK, ""
	case errors.As(err, &run):
		return run.code, "workflow"
	case errors.As(err, &misconfigured):
		return exitUsage, "configuration"
	case errors.As(err, &unconfirmed):
		return exitUsage, "unconfirmed"
	case errors.As(err, &usage), isUsage(err):
		return exitUsage, "usage"
	case errors.As(err, &refused):
		exit = exitFailed
		if refused.Status == http.StatusNotFound || refused.Status == http.StatusBadRequest {
			exit = exitUsage
		}
		return exit, cmp.Or(refused.Code, "failed")
	}
	return exitFailed, "failed"
}

// describeFailure writes an error in the form of the API's.
func describeFailure(w io.Writer, err error) {
	var p struct {
		Error struct {
			Message string `json:"message"`
			Code    string `json:"code"`
		} `json:"error"`
	}
	p.Error.Message = err.Error()
	_, p.Error.Code = codes(err)
	_ = json.NewEncoder(w).Encode(p) // there is nobody else to tell
}

// isUsage recognises usage errors of cobra itself.
func isUsage(err error) bool {
	return slices.ContainsFunc([]string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument", "flag needs an argument", "required flag"}, func(s string) bool {
		return strings.HasPrefix(err.Error(), s)
	})
}

// cli is what the sub-commands share: the global flags and the streams.
type cli struct {
	streams
	ctx       context.Context //nolint:containedctx // of the one command that runs
	workspace string
	config    string
	demo      bool
	url       string
	json      bool
	listen    string // of serve and demo
	silent    bool   // ask nothing: the output is for a shell
	screen    bool   // the output is part of a terminal's screen
	secrets   *secret.Known
}

func newRoot(std streams, secrets *secret.Known) *cobra.Command {
	a := &cli{streams: std, secrets: secrets}
	root := &cobra.Command{
		Use:   "etui",
		Short: "An AI-agent gateway that shows each question just the tools it needs",
		Long: `etui is a gateway for AI agents. Messages come in from chat and API; an agent answers
with tools. In each turn the model sees only the tools that this user may use and that
this question needs, and etui can always say why.

Start with "etui demo", then, in a second terminal, "etui chat".`,
		Example: `  etui demo
  etui chat -m "show me the error logs of the checkout pod in namespace prod"
  etui select "who is on call this week?"`,
		SilenceUsage: true, SilenceErrors: true, Version: version(),
		Args:             unknownCommand,
		PersistentPreRun: func(c *cobra.Command, _ []string) { a.ctx = c.Context() },
		RunE:             func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetHelpFunc(a.help)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	f := root.PersistentFlags()
	f.StringVarP(&a.workspace, "workspace", "w", os.Getenv("ETUI_WORKSPACE"), "folder with etui.yaml (default: the current one)")
	f.StringVar(&a.config, "config", os.Getenv("ETUI_CONFIG"), "configuration file (default: etui.yaml in the workspace)")
	f.BoolVar(&a.demo, "demo", false, "use the demo workspace")
	f.StringVar(&a.url, "url", os.Getenv("ETUI_URL"), "gateway to talk to (default: that of the workspace, if it runs)")
	f.BoolVar(&a.json, "json", false, "print JSON")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return config.Usagef("%w%s; see %q", plainFlag(err), nearestFlag(c, err), c.CommandPath()+" --help")
	})
	root.AddCommand(a.initCommand(), without(a.serveCommand(), "url", "json"), without(a.demoCommand(), "url", "json"), a.chatCommand(), a.runCommand(), a.selectCommand(), a.whoamiCommand(), a.keysCommand(), a.inboxCommand(), a.channelsCommand(), a.approvalsCommand(), a.cronCommand(), a.evalCommand(), a.replayCommand(),
		a.toolsCommand(), a.skillsCommand(), a.mcpCommand(), a.agentsCommand(), a.statusCommand(), a.sessionsCommand(), a.memoryCommand(), a.usageCommand(), a.auditCommand(), a.forgetCommand(), without(a.backupCommand(), "url"), without(a.restoreCommand(), "url"), a.tuneCommand(), a.configCommand(), a.doctorCommand(), a.versionCommand(), a.manCommand())
	a.addCompletion(root)
	plainArgs(root)
	return root
}

// plainArgs makes all commands say which arguments they take when the number is wrong.
func plainArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		plainArgs(sub)
	}
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil || !strings.HasPrefix(err.Error(), "accepts ") && !strings.HasPrefix(err.Error(), "requires at least") {
			return err
		}
		wrong := "an argument is missing"
		if len(args) > 0 && !strings.HasPrefix(err.Error(), "requires at least") {
			wrong = fmt.Sprintf("the command does not take %s", printable.Count(len(args), "argument"))
		}
		return config.Usagef("%s: %s; see %q", wrong, strings.TrimSuffix(c.UseLine(), " [flags]"), c.CommandPath()+" --help")
	}
}

// unknownCommand rejects words that are not a sub-command.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return config.Usagef("unknown command %q%s; see %q", args[0], nearest.Hint(args[0], func(yield func(string) bool) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && !yield(sub.Name()) {
				return
			}
		}
	}), c.CommandPath()+" --help")
}

// group is the RunE of commands that only have sub-commands.
func group(c *cobra.Command, _ []string) error { return c.Help() }

// plainFlag says what the value of a flag must be, without the words of a Go package.
func plainFlag(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	want, ok := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false", "duration": "a time such as 90s or 5m"}[flag.Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s is %q; it must be %s", flag.Name, invalid.GetValue(), want)
}

// without takes global flags that mean nothing to a command away from it.
func without(c *cobra.Command, names ...string) *cobra.Command {
	for _, name := range names {
		if c.Flags().String(name, "", ""); name == "json" {
			c.Flags().Lookup(name).NoOptDefVal = "true"
		}
		_ = c.Flags().MarkHidden(name) // it was just added
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		for _, name := range names {
			if c.Flags().Changed(name) {
				return config.Usagef("%s has no flag --%s; see %q", c.Name(), name, c.CommandPath()+" --help")
			}
		}
		return nil
	}
	return c
}

// nearestFlag suggests the flag that was meant.
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
