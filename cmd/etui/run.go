package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/etui/internal/conversation"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/server/api"
)

func runCommand(g *gateway) *cobra.Command {
	var who api.Message
	var input string
	var resume bool
	c := &cobra.Command{
		Use: "run [WORKFLOW]", Short: "Run a workflow to its end", Args: cobra.MaximumNArgs(1),
		Long: `Run a workflow of the workspace to its end, and show its phases: see docs/workflows.md. Without a name it
runs the only one. With --skill it keeps to the tools of that
skill in all phases; with --skill and no workflow it runs one turn with these tools.

If a call waits for an approval, a terminal asks; otherwise run ends, and --resume goes on after
etui approvals approve. --resume also goes on after a crash: with the newest run, or that of --session.

Exit status: 0 the run is done, 1 it failed, 2 it was called wrongly, 3 it reached a limit, 4 it waits
for an approval.`,
		Example: `  etui run incident --input "checkout is slow"
  etui run unittest --target Foo.java
  etui run --skill analysis --target Foo.java --input "which branches are not covered?"
  etui run --resume`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if resume && (len(args) > 0 || input != "" || who.Target != "" || len(who.Params) > 0) {
				return config.Usagef("--resume goes on with a run as it began: leave the workflow, --input, --target and --param out")
			}
			return g.using(cmd.Context(), app.Config{Stored: true, Records: true}, func(c *client.Client) error {
				talk := conversation.New(g.Console, c, who)
				if resume {
					return talk.Resume(cmd.Context())
				}
				return talk.Run(cmd.Context(), strings.Join(args, ""), input)
			})
		},
	}
	placeFlags(c.Flags(), &who)
	f := c.Flags()
	f.StringVar(&input, "input", "", "what the workflow is to do")
	f.StringVar(&who.Target, "target", "", "what it works on, as a file name")
	f.StringToStringVar(&who.Params, "param", nil, "named text for its conditions as name=value (may be repeated)")
	f.StringVar(&who.Skill, "skill", "", "skill or toolset for all phases")
	f.BoolVar(&resume, "resume", false, "go on with the newest run, or that of --session")
	return c
}
