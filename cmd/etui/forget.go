package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
)

func (a *cli) forgetCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "forget USER", Short: "Remove what is kept of a person", Args: cobra.ExactArgs(1),
		Long: `Remove for good what etui keeps of a person: their conversations, what they wrote in conversations with
others, their past turns with the votes for tools, the history of their calls, what agents remember of
them, their tasks, their lasting approvals, their web chats, and that a code let them in. The audit keeps
when which tool was called and what was decided, without the person and the arguments. USER is the
name of a person of etui.yaml, who is then forgotten on all channels, or somebody whom only a channel
knows: telegram:42. See docs/sessions.md for what is not removed.`,
		Example: "  etui forget alice\n  etui forget telegram:42 --yes --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := a.confirm("Remove all that is kept of %q for good?", args[0]); err != nil {
					return err
				}
			}
			return a.using(cmd.Context(), app.Config{Records: true, Stored: true}, func(c *client.Client) error {
				var f engine.Forgotten
				if err := c.Do(cmd.Context(), http.MethodDelete, "/admin/users/"+url.PathEscape(args[0]), nil, &f); err != nil {
					return err
				}
				return a.print(f, func() string { return describeForgotten(f) })
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func describeForgotten(f engine.Forgotten) string {
	var did []string
	for _, part := range []struct {
		n    int
		what string
	}{{f.Sessions, "conversation"}, {f.Messages, "message"}, {f.Turns, "past turn"}, {f.Calls, "call"}, {f.Memories, "memory folder"}, {f.Tasks, "task"}, {f.Approvals, "lasting approval"}, {f.Chats, "record of a channel"}} {
		if part.n > 0 {
			did = append(did, printable.Count(part.n, part.what))
		}
	}
	text := fmt.Sprintf("Nothing was kept of %s.\n", f.User)
	if !strings.Contains(f.User, ":") {
		text = fmt.Sprintf("Nothing was kept of %s. Somebody whom only a channel knows has its name, too, as in telegram:%s.\n", f.User, f.User)
	}
	if len(did) > 0 {
		text = fmt.Sprintf("Removed of %s: %s.\n", f.User, strings.Join(did, ", "))
	}
	if f.Decisions > 0 {
		text += printable.Count(f.Decisions, "decision") + " in the audit made anonymous.\n"
	}
	return text
}
