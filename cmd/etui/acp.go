package main

import (
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/etui/internal/acp"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/server/api"
)

func acpCommand(g *gateway) *cobra.Command {
	var who api.Message
	c := &cobra.Command{
		Use: "acp", Short: "Be an agent of an editor, by the Agent Client Protocol", Args: cobra.NoArgs,
		Long: `Be an agent of an editor that speaks the Agent Client Protocol, such as Zed: the editor starts this
command and shows the answers, the calls of tools and their results, and asks you about calls that wait
for an approval. The gateway of the workspace answers, or this process if none runs. The agent has the
workspace and the tools of the gateway, not those of the editor.`,
		Example: "  etui acp --workspace ~/agent\n  etui acp --agent support",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.with(cmd.Context(), true, func(c *client.Client) error {
				return acp.Serve(cmd.Context(), g.Console, c, who, version())
			})
		},
	}
	f := c.Flags()
	f.StringVar(&who.Agent, "agent", "", "`agent` to talk to (default: the first one)")
	f.StringVar(&who.As, "as", "", "be this identity or user of etui.yaml: alice")
	f.StringVar(&who.Skill, "skill", "", "active skill")
	who.Channel = "cli"
	return c
}
