package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/etui/internal/conversation"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/server/api"
)

func chatCommand(g *gateway) *cobra.Command {
	var who api.Message
	var text string
	var paths []string
	var again bool
	c := &cobra.Command{
		Use: "chat", Short: "Talk to an agent in the terminal", Args: cobra.NoArgs,
		Long: `Talk to an agent in the terminal: one message with -m, or a conversation. The message "-" is
read from standard input. If the gateway of the workspace runs, it answers; otherwise this process
does. Each start is a new conversation, unless --continue takes up the latest one of your user and
channel. --session names one.

In a conversation, Tab completes commands, skills and tools; the arrow keys find earlier messages, and
Ctrl-R those with the text of the prompt. Ctrl-O unfolds the calls of the last answer, and where a call waits for an approval, Tab offers the answers.
Ctrl-C stops a running answer; on an empty prompt it leaves. If the input is no terminal, each
line is a message.`,
		Example: `  etui chat -m "show me the error logs of the checkout pod in namespace prod"
  etui chat -m "我还剩几天年假？" --user alice
  git diff | etui chat -m -
  etui chat --file invoice.pdf -m "what is the total?"
  etui chat --skill oncall
  etui chat --continue`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if again && who.Session != "" {
				return config.Usagef("--continue finds the conversation itself: leave --session out")
			}
			if who.Session == "" {
				who.Session = conversation.NewSession()
			}
			return g.with(cmd.Context(), true, func(c *client.Client) error {
				talk := conversation.New(g.Console, c, who)
				if again {
					if err := talk.Continue(cmd.Context()); err != nil {
						return err
					}
				}
				if text == "-" {
					all, err := io.ReadAll(io.LimitReader(g.In, 64<<20))
					if err != nil {
						return err
					}
					text = string(all)
				}
				if err := talk.Attach(paths...); err != nil {
					return err
				}
				if cmd.Flags().Changed("message") {
					return talk.Say(cmd.Context(), text)
				}
				return talk.Talk(cmd.Context())
			})
		},
	}
	callerFlags(c.Flags(), &who)
	c.Flags().BoolVarP(&again, "continue", "c", false, "continue the latest conversation of this user and channel")
	c.Flags().StringArrayVar(&paths, "file", nil,
		"picture, PDF or text to send with the message, or with the first one of a conversation")
	c.Flags().StringVarP(&text, "message", "m", "", `the message; "-" reads it from standard input`)
	return c
}
