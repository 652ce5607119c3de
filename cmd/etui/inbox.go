package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/store"
)

func (a *cli) inboxCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "inbox", Short: "List messages that wait or were given up, and decide about these", Args: unknownCommand, RunE: group,
		Example: "  etui inbox list\n  etui inbox show 17\n  etui inbox retry 17",
		Long: `List the messages that were accepted and have no answer yet. One that waits has its turn by itself. One
that is parked was given up, because its turn ended etui again and again: try it once more, or drop it.`,
	}
	list := &cobra.Command{
		Use: "list", Short: "List the messages that are parked or wait", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inbox(a, cmd, false, http.MethodGet, "", describeInbox)
		},
	}
	one := func(use, short, method, path string, changes bool, text func(engine.InboxItem) string) *cobra.Command {
		return &cobra.Command{
			Use: use + " ID", Short: short, Args: cobra.ExactArgs(1), Example: "  etui inbox " + use + " 17",
			RunE: func(cmd *cobra.Command, args []string) error {
				if _, err := strconv.ParseInt(args[0], 10, 64); err != nil {
					return config.Usagef("%q is no ID; etui inbox list shows them", args[0])
				}
				return inbox(a, cmd, changes, method, "/"+args[0]+path, text)
			},
		}
	}
	c.AddCommand(list,
		one("show", "Show a message", http.MethodGet, "", false, describeItem),
		one("retry", "Take up a parked message again", http.MethodPost, "/retry", true, func(i engine.InboxItem) string {
			return fmt.Sprintf("Message %d is taken up again; etui sessions show %s shows its answer.\n", i.ID, shortKey(i.Session))
		}),
		one("drop", "Drop a parked message: it is not answered", http.MethodDelete, "", true, func(i engine.InboxItem) string {
			return fmt.Sprintf("Message %d is dropped.\n", i.ID)
		}))
	return c
}

// inbox asks the gateway of the workspace, or reads the workspace where it is, and prints
// the answer.
func inbox[T any](a *cli, cmd *cobra.Command, changes bool, method, path string, text func(T) string) error {
	return a.using(cmd.Context(), app.Config{Stored: changes, Records: true}, func(c *client.Client) error {
		var answer T
		var body any
		if method == http.MethodPost {
			body = struct{}{}
		}
		if err := c.Do(cmd.Context(), method, "/admin/inbox"+path, body, &answer); err != nil {
			return err
		}
		return a.print(answer, func() string { return text(answer) })
	})
}

func describeInbox(list []engine.InboxItem) string {
	if len(list) == 0 {
		return "No message waits.\n"
	}
	rows := [][]string{{"ID", "STATE", "ACCEPTED", "SESSION", "TEXT"}}
	for _, i := range list {
		rows = append(rows, []string{strconv.FormatInt(i.ID, 10), string(i.State), i.Accepted.Local().Format(time.DateTime), shortKey(i.Session), i.Text})
	}
	return layout(rows, 4, width())
}

func describeItem(i engine.InboxItem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "message %d, %s since %s\n  session  %s\n", i.ID, i.State, i.Accepted.Local().Format(time.DateTime), i.Session)
	if i.User != "" {
		fmt.Fprintf(&b, "  user     %s\n", printable.Line(i.User, 200))
	}
	if i.State == store.Parked {
		fmt.Fprintf(&b, "  parked   %s\n", i.Reason)
	}
	b.WriteString("\n" + indented("", i.Text, width()))
	return b.String()
}
