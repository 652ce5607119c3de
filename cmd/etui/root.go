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

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/etui/internal/conversation"
	"github.com/etui-run/etui/cmd/etui/internal/help"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/secret"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	// Those of a run.
	exitLimit   = 3
	exitWaiting = 4
)

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, console *terminal.Console) int {
	console.Words = func(english string, args ...any) string { return phrase.In(console.Language, english, args...) }
	secrets := &secret.Set{}
	if err := secrets.Set("the environment", config.EnvironmentSecrets(os.Environ())...); err != nil {
		fmt.Fprintf(console.Err, "etui: %v\n", err)
		return exitUsage
	}
	log.SetOutput(secrets.Writer(console.Err)) // what libraries log by themselves
	root := newRoot(console, secrets)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code, _ := codes(err)
	if err == nil {
		return code
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = phrase.Errorf("interrupted")
	}
	if slices.Contains(args, "--json") || slices.Contains(args, "--json=true") { // even if the mistake comes before it
		describeFailure(console.Err, secrets.Redactor().Error(err))
		return code
	}
	fmt.Fprintf(console.Err, "etui: %s\n",
		printable.Text(secret.URLs(secrets.Redactor().Text(phrase.Say(console.Language, err)))))
	return code
}

// codes returns the exit code of an error, and the word for it in JSON.
func codes(err error) (exit int, code string) {
	var usage config.UsageError
	var misconfigured config.Error
	var refused *client.Error
	var run conversation.EndedError
	var unconfirmed *trust.UnconfirmedError
	switch {
	case err == nil:
		return exitOK, ""
	case errors.As(err, &run):
		return map[conversation.End]int{conversation.Failed: exitFailed, conversation.Limit: exitLimit,
			conversation.Waits: exitWaiting}[run.End], "workflow"
	case errors.As(err, &misconfigured):
		return exitUsage, "configuration"
	case errors.As(err, &unconfirmed):
		return exitUsage, "unconfirmed"
	case errors.As(err, &usage), help.IsMistake(err):
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
	p.Error.Message = secret.URLs(err.Error())
	_, p.Error.Code = codes(err)
	_ = json.NewEncoder(w).Encode(p) // there is nobody else to tell
}

func newRoot(console *terminal.Console, secrets *secret.Set) *cobra.Command {
	at := &place{Console: console, secrets: secrets}
	g := &gateway{place: at}
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
		Args: help.NoCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { help.Print(console, c) })
	root.SetIn(console.In)
	root.SetOut(console.Out)
	root.SetErr(console.Err)
	f := root.PersistentFlags()
	f.StringVarP(&at.dir, "workspace", "w", os.Getenv("ETUI_WORKSPACE"),
		"folder with etui.yaml (default: the current one)")
	f.StringVar(&at.config, "config", os.Getenv("ETUI_CONFIG"),
		"configuration file (default: etui.yaml in the workspace)")
	f.BoolVar(&at.demo, "demo", false, "use the demo workspace")
	f.StringVar(&g.url, "url", os.Getenv("ETUI_URL"), "gateway to talk to (default: that of the workspace, if it runs)")
	f.BoolVar(&console.JSON, "json", false, "print JSON")
	root.SetFlagErrorFunc(help.FlagMistake)
	root.AddCommand(initCommand(at), without(serveCommand(at), "url", "json"), without(demoCommand(at), "url", "json"),
		without(backupCommand(at), "url"), without(restoreCommand(at), "url"), configCommand(at), doctorCommand(at),
		replayCommand(at), tuneCommand(at),
		chatCommand(g), consoleCommand(g), without(acpCommand(g), "json"), runCommand(g), selectCommand(g),
		evalCommand(at), versionCommand(console), manCommand(console))
	for _, resource := range resources() {
		root.AddCommand(resource.command(g))
	}
	addCompletion(g, root)
	help.CheckArguments(root)
	help.Localize(console.Language, root)
	return root
}

// group is the RunE of commands that only have sub-commands.
func group(c *cobra.Command, _ []string) error { return c.Help() }

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
