package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/etui/internal/conversation"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/client"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
)

func sessionsCommand(g *gateway) *cobra.Command {
	c := &cobra.Command{
		Use: "sessions", Short: "List, show, export and delete conversations", Args: unknownCommand, RunE: group,
		Example: "  etui sessions list\n  etui sessions show cli-FXQ3\n  etui sessions export cli-FXQ3 > conversation.jsonl",
		Long: `List, show, export and delete the conversations of the workspace, whether its gateway runs or not. A
SESSION is the name that the list shows, or a part of it that no other session has.`,
	}
	c.AddCommand(sessionsListCommand(g), sessionsShowCommand(g), sessionsExportCommand(g), sessionsDeleteCommand(g))
	return c
}

func sessionsListCommand(g *gateway) *cobra.Command {
	var user string
	var limit int
	c := &cobra.Command{
		Use: "list [PART]", Short: "List the conversations, most recent first", Args: cobra.MaximumNArgs(1),
		Long:    `List the conversations, most recent first: all, or those with PART in their name.`,
		Example: "  etui sessions list\n  etui sessions list telegram --user alice --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return app.Usagef("--limit must not be negative")
			}
			return g.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) error {
				q := url.Values{"user": {user}, "part": {strings.Join(args, "")}}
				list := []session.Summary{}
				for s, err := range c.Sessions(cmd.Context(), "/admin/sessions", q, limit) {
					if err != nil {
						return err
					}
					list = append(list, s)
				}
				return g.Print(list, func() string {
					if len(list) == 0 && (user != "" || len(args) > 0) {
						return "No conversation fits; etui sessions list shows all.\n"
					}
					return describeSessions(list)
				})
			})
		},
	}
	c.Flags().StringVar(&user, "user", "", "only conversations in which this user wrote")
	c.Flags().IntVar(&limit, "limit", 20, "how many to list; 0: all")
	return c
}

func describeSessions(list []session.Summary) string {
	if len(list) == 0 {
		return "There are no conversations.\n"
	}
	list, depths := tree(list)
	rows := [][]string{{"LAST MESSAGE", "MESSAGES", "SESSION"}}
	for i, s := range list {
		name := client.SessionName(s.Key)
		if depths[i] > 0 {
			name = strings.Repeat("  ", depths[i]-1) + "└ " + name
		}
		rows = append(rows, []string{s.Updated.Local().Format("2006-01-02 15:04"), strconv.Itoa(s.Messages), name})
	}
	lines := strings.SplitAfter(terminal.Table(rows, terminal.Width()), "\n")
	var b strings.Builder
	b.WriteString(lines[0])
	for i, s := range list {
		b.WriteString(lines[i+1])
		title := printable.Line(s.Title, session.MaxTitle)
		if who := conversation.Authors(s); who != "" {
			title = who + ": " + title
		}
		if title != "" {
			b.WriteString("    " + ansi.Truncate(title, terminal.Width()-4, "…") + "\n")
		}
	}
	return b.String()
}

// tree puts sub-agents below the conversations that started them, and says how deep each
// is. One whose parent is not in the list stays where it is.
func tree(list []session.Summary) (ordered []session.Summary, depths []int) {
	var add func(s session.Summary, depth int)
	add = func(s session.Summary, depth int) {
		ordered, depths = append(ordered, s), append(depths, depth)
		for _, sub := range list {
			if sub.Parent == s.Key {
				add(sub, depth+1)
			}
		}
	}
	for _, s := range list {
		if s.Parent == "" || !slices.ContainsFunc(list, func(p session.Summary) bool { return p.Key == s.Parent }) {
			add(s, min(1, len(s.Parent)))
		}
	}
	return ordered, depths
}

// findSession finds the session that a user names.
func findSession(ctx context.Context, c *client.Client, name string) (session.Summary, error) {
	found, err := c.FindSessions(ctx, name)
	switch {
	case err != nil:
		return session.Summary{}, err
	case len(found) == 0:
		return session.Summary{}, app.Usagef("there is no session %q; see etui sessions list", name)
	case len(found) == 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, s := range found {
		names[i] = client.SessionName(s.Key)
	}
	return session.Summary{}, app.Usagef("several sessions have %q in their names: %s", name, printable.List(names))
}

func sessionsShowCommand(g *gateway) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "show SESSION", Short: "Show a conversation with its calls and their results", Args: cobra.ExactArgs(1),
		Long: `Show a conversation: what was said, the calls (·), their results (✓), failures (✗), calls whose outcome
is unknown (?), and outcomes that came after their turn.`,
		Example: "  etui sessions show cli-FXQ3\n  etui sessions show main:telegram:dm:42 --limit 500",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return app.Usagef("--limit must be at least 1")
			}
			return g.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) error {
				s, err := findSession(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				var shown engine.Conversation
				if err := c.Do(cmd.Context(), http.MethodGet, client.SessionPath(s.Key)+"?limit="+strconv.Itoa(limit), nil, &shown); err != nil {
					return err
				}
				return g.Print(shown, func() string { return conversation.Transcript(shown, terminal.Width()) })
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 50, "how many messages to show, the newest ones; at most 1,000")
	return c
}

// exported is a message of an export.
type exported struct {
	Session session.Key `json:"session"`
	chat.Message
}

func sessionsExportCommand(g *gateway) *cobra.Command {
	var user string
	c := &cobra.Command{
		Use: "export [SESSION]", Short: "Export conversations, one JSON object a message", Args: cobra.MaximumNArgs(1),
		Long: `Export a conversation, or all of them, to standard output: one JSON object a message, oldest first.
A picture or PDF has its bytes in files[].data, in base64.
With --user, conversations in which the user wrote.`,
		Example: "  etui sessions export cli-FXQ3 > conversation.jsonl\n  etui sessions export --user alice > alice.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && user != "" {
				return app.Usagef("name a session or --user, not both")
			}
			return g.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) (err error) {
				out := bufio.NewWriter(g.Out)
				defer func() { err = cmp.Or(err, out.Flush()) }()
				if len(args) == 1 {
					s, err := findSession(cmd.Context(), c, args[0])
					if err != nil {
						return err
					}
					return export(cmd.Context(), c, s.Key, out)
				}
				for s, err := range c.Sessions(cmd.Context(), "/admin/sessions", url.Values{"user": {user}}, 0) {
					if err == nil {
						err = export(cmd.Context(), c, s.Key, out)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&user, "user", "", "conversations in which this user wrote")
	return c
}

// export writes the messages of a session.
func export(ctx context.Context, c *client.Client, key session.Key, out io.Writer) error {
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for m, err := range c.Messages(ctx, key) {
		if err == nil {
			err = lines.Encode(exported{key, m})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sessionsDeleteCommand(g *gateway) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete SESSION", Short: "Delete a conversation for good", Args: cobra.ExactArgs(1),
		Long: `Delete a conversation for good, after its running turn. The command asks first, unless --yes is set;
then SESSION must be the whole name.`,
		Example: "  etui sessions delete cli-FXQ3\n  etui sessions delete main:session:cli-FXQ3ABC2DE --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.using(cmd.Context(), app.Config{Records: true, Stored: true}, func(c *client.Client) error {
				s, err := findSession(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				if whole := args[0] == string(s.Key) || args[0] == client.SessionName(s.Key); yes && !whole {
					return app.Usagef("with --yes, write the whole name: %s", client.SessionName(s.Key))
				}
				if !yes {
					if err := g.Confirm("Delete %s with %s?", s.Key, printable.Count(s.Messages, "message")); err != nil {
						return err
					}
				}
				var done api.DeletedSession
				if err := c.Do(cmd.Context(), http.MethodDelete, client.SessionPath(s.Key), nil, &done); err != nil {
					return err
				}
				return g.Print(done, func() string { return fmt.Sprintf("%s is deleted.\n", done.Deleted) })
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}
