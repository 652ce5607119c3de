package main

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
)

func (a *cli) cronCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "cron", Short: "Have the clock send messages, once or regularly", Args: unknownCommand, RunE: group,
		Example: "  etui cron add \"0 9 * * 1-5\" \"what is on today?\" --user alice --zone Europe/Berlin\n  etui cron list\n  etui cron pause k3f9ab",
		Long: `Have the clock send messages to an agent, once or regularly. A task runs while the gateway serves, in the
name of its user and with the rights of that user at that moment; its answer is in its conversation.`,
	}
	var t engine.Task
	var catchUp string
	add := &cobra.Command{
		Use: "add WHEN TEXT", Short: "Add a task: a cron expression, or a time for one that runs once", Args: cobra.ExactArgs(2),
		Long: `Add a task. WHEN is a cron expression - minute, hour, day of the month, month, day of the week, or @daily,
@every 2h - or a time such as 2026-12-24T18:00 for a task that runs once.`,
		Example: "  etui cron add @daily \"sum up the alerts\"\n  etui cron add 2026-12-24T18:00 \"wish everybody a merry Christmas\" --catch-up skip",
		RunE: func(cmd *cobra.Command, args []string) error {
			t.When, t.Text, t.CatchUp = args[0], args[1], engine.CatchUp(catchUp)
			return task(a, cmd, true, http.MethodPost, "", t, func(t engine.Task) string {
				return fmt.Sprintf("Task %s runs next at %s; its answers are in etui sessions show %s\n", t.ID, t.Next.Format("2006-01-02 15:04 MST"), shortKey(t.Key))
			})
		},
	}
	f := add.Flags()
	f.StringVar(&t.Agent, "agent", "", "agent that answers (default: the first one)")
	f.StringVar(&t.User, "user", "", "user in whose name it runs")
	f.StringVar(&t.Channel, "channel", "cli", "channel that it counts as")
	f.StringVar(&t.Session, "session", "", "name of the conversation (default: that of the user, or one of its own)")
	f.StringVar(&t.Zone, "zone", "", "time zone, such as Asia/Shanghai (default: the machine's)")
	f.StringVar(&catchUp, "catch-up", "once", "what becomes of times when etui did not run: once, skip or all")
	list := &cobra.Command{
		Use: "list", Short: "List the tasks, and when they run", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return task(a, cmd, false, http.MethodGet, "", nil, describeTasks)
		},
	}
	one := func(use, short, method, path, says string) *cobra.Command {
		return &cobra.Command{
			Use: use + " ID", Short: short, Args: cobra.ExactArgs(1), Example: "  etui cron " + use + " k3f9ab",
			RunE: func(cmd *cobra.Command, args []string) error {
				var body any
				if method == http.MethodPost {
					body = struct{}{}
				}
				return task(a, cmd, true, method, "/"+url.PathEscape(args[0])+path, body, func(t engine.Task) string { return fmt.Sprintf("Task %s %s.\n", t.ID, says) })
			},
		}
	}
	c.AddCommand(add, list,
		one("pause", "Leave a task out until it is resumed", http.MethodPost, "/pause", "is paused"),
		one("resume", "Let a paused task run again", http.MethodPost, "/resume", "runs again"),
		one("run", "Run a task now, whatever its times", http.MethodPost, "/run", "has sent its message"),
		one("remove", "Remove a task", http.MethodDelete, "", "is removed"))
	return c
}

// task asks the gateway of the workspace, or this process, and prints the answer.
func task[T any](a *cli, cmd *cobra.Command, changes bool, method, path string, body any, text func(T) string) error {
	return a.using(cmd.Context(), app.Config{Stored: changes, Records: true}, func(c *client.Client) error {
		var answer T
		if err := c.Do(cmd.Context(), method, "/admin/tasks"+path, body, &answer); err != nil {
			return err
		}
		return a.print(answer, func() string { return text(answer) })
	})
}

func describeTasks(list []engine.Task) string {
	if len(list) == 0 {
		return "There are no tasks.\n"
	}
	rows := [][]string{{"ID", "NEXT", "WHEN", "ZONE", "USER", "TEXT"}}
	for _, t := range list {
		next := "never"
		switch {
		case t.Paused:
			next = "paused"
		case !t.Next.IsZero():
			next = t.Next.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{t.ID, next, printable.Line(t.When, 40), t.Zone, t.User, t.Text})
	}
	return layout(rows, 5, width())
}
