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

func selectCommand(g *gateway) *cobra.Command {
	var who api.Message
	var ask conversation.Question
	var last bool
	c := &cobra.Command{
		Use: "select MESSAGE", Short: "Show which tools a message gets, and why", Args: cobra.ArbitraryArgs,
		Long: `Show which tools would reach the model for a message, and why: the funnel from the whole catalog
to what is sent, the tokens sent and saved, and a reason for each tool that came close. Nothing is
run or stored. --alternatives also shows what other skills would get, and the roles and channels
to try. --last shows what the last message of a conversation got.`,
		Example: `  etui select "who is on call this week?"
  etui select "退款" --skill sales --json
  etui select "delete the old pods" --user bob --role operator --channel slack
  etui select "what does Ann earn" --try-role hr,admin --try-channel slack
  etui select --last --channel telegram --user 42`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ask.Text = strings.Join(args, " ")
			if last && ask.Text != "" {
				return config.Usagef("--last takes no message: it shows what was stored with the last one")
			}
			// The content of the conversation counts, with or without a gateway.
			return g.using(cmd.Context(), app.Config{Stored: last, Records: !last}, func(c *client.Client) error {
				talk := conversation.New(g.Console, c, who)
				talk.NoteGateway(cmd.Context())
				if last {
					return talk.Why(cmd.Context())
				}
				return talk.Explain(cmd.Context(), ask)
			})
		},
	}
	callerFlags(c.Flags(), &who)
	f := c.Flags()
	f.BoolVar(&ask.All, "all", false, "show every tool and skill, even those that do not match the message")
	f.BoolVar(&last, "last", false, "show what the last message of the conversation got")
	f.BoolVar(&ask.Alternatives, "alternatives", false,
		"show what other skills would get, and the roles and channels to try")
	f.StringSliceVar(&ask.Try.Roles, "try-role", nil, "role to try (may be repeated)")
	f.StringSliceVar(&ask.Try.Channels, "try-channel", nil, "channel to try (may be repeated)")
	return c
}
