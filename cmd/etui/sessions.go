package main

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/etui/internal/conversation"
	"github.com/etui-run/etui/cmd/etui/internal/report"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/spf13/pflag"
)

func sessions() action {
	var user string
	var listed, shown int
	var yes bool
	return action{
		use: "sessions", short: "List, show, export and delete conversations",
		example: "  etui sessions list\n" +
			"  etui sessions show cli-FXQ3\n" +
			"  etui sessions export cli-FXQ3 > conversation.jsonl",
		long: `List, show, export and delete the conversations of the workspace, whether its gateway runs or not. A
SESSION is the name that the list shows, or a part of it that no other session has.`,
		actions: []action{
			{
				use: "list [PART]", short: "List the conversations, most recent first", needs: records,
				long:    `List the conversations, most recent first: all, or those with PART in their name.`,
				example: "  etui sessions list\n  etui sessions list telegram --user alice --json",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&user, "user", "", "only conversations in which this user wrote")
					f.IntVar(&listed, "limit", 20, "how many to list; 0: all")
				},
				check: func(*call) error {
					if listed < 0 {
						return config.Usagef("--limit must not be negative")
					}
					return nil
				},
				run: func(ctx context.Context, c *call) error {
					list, part := []session.Summary{}, strings.Join(c.args, "")
					for s, err := range c.client.Sessions(ctx, "/admin/sessions",
						url.Values{"user": {user}, "part": {part}}, listed) {
						if err != nil {
							return err
						}
						list = append(list, s)
					}
					return c.Print(list, func() string {
						if len(list) == 0 && (user != "" || len(c.args) > 0) {
							return phrase.In(c.Language, "No conversation fits; etui sessions list shows all.\n")
						}
						return describeSessions(c.Language, list)
					})
				},
			},
			{
				use: "show SESSION", short: "Show a conversation with its calls and their results", needs: records,
				long: `Show a conversation: what was said, the calls (·), their results (✓), failures (✗), calls whose outcome
is unknown (?), and outcomes that came after their turn.`,
				example: "  etui sessions show cli-FXQ3\n  etui sessions show main:telegram:dm:42 --limit 500",
				flags: func(f *pflag.FlagSet) {
					f.IntVar(&shown, "limit", 50, "how many messages to show, the newest ones; at most 1,000")
				},
				check: func(*call) error {
					if shown < 1 {
						return config.Usagef("--limit must be at least 1")
					}
					return nil
				},
				run: func(ctx context.Context, c *call) error {
					s, err := findSession(ctx, c)
					if err != nil {
						return err
					}
					return get(client.SessionPath(s.Key)+"?limit="+strconv.Itoa(shown),
						func(lang string, x inspect.Conversation) string {
							return conversation.Transcript(lang, x, terminal.Width())
						})(ctx, c)
				},
			},
			{
				use: "export [SESSION]", short: "Export conversations, one JSON object a message", needs: records,
				long: `Export a conversation, or all of them, to standard output: one JSON object a message, oldest first.
A picture or PDF has its bytes in files[].data, in base64.
With --user, conversations in which the user wrote.`,
				example: "  etui sessions export cli-FXQ3 > conversation.jsonl\n" +
					"  etui sessions export --user alice > alice.jsonl",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&user, "user", "", "conversations in which this user wrote")
				},
				check: func(c *call) error {
					if len(c.args) == 1 && user != "" {
						return config.Usagef("name a session or --user, not both")
					}
					return nil
				},
				run: func(ctx context.Context, c *call) error {
					return c.lines(func(line func(any) error) error { return exportSessions(ctx, c, user, line) })
				},
			},
			{
				use: "delete SESSION", short: "Delete a conversation for good", needs: records | changes,
				long: `Delete a conversation for good, after its running turn. The command asks first, unless --yes is set;
then SESSION must be the whole name.`,
				example: "  etui sessions delete cli-FXQ3\n  etui sessions delete main:session:cli-FXQ3ABC2DE --yes",
				flags:   func(f *pflag.FlagSet) { f.BoolVarP(&yes, "yes", "y", false, "do not ask") },
				run: func(ctx context.Context, c *call) error {
					s, err := findSession(ctx, c)
					if err != nil {
						return err
					}
					name := client.SessionName(s.Key)
					if whole := c.args[0] == string(s.Key) || c.args[0] == name; yes && !whole {
						return config.Usagef("with --yes, write the whole name: %s", name)
					}
					if !yes {
						if err := c.Confirm("Delete %s with %s?", s.Key,
							phrase.Count(c.Language, s.Messages, "message")); err != nil {
							return err
						}
					}
					return send(http.MethodDelete, client.SessionPath(s.Key), nil,
						func(lang string, done api.DeletedSession) string {
							return phrase.In(lang, "%s is deleted.\n", done.Deleted)
						})(ctx, c)
				},
			},
		},
	}
}

func describeSessions(lang string, list []session.Summary) string {
	return report.Table[branch]{
		None: "There are no conversations.\n", Head: []string{"LAST MESSAGE", "MESSAGES", "SESSION"},
		Row: func(s branch) []string {
			name := client.SessionName(s.Key)
			if s.depth > 0 {
				name = strings.Repeat("  ", s.depth-1) + "└ " + name
			}
			return []string{s.Updated.Local().Format("2006-01-02 15:04"), strconv.Itoa(s.Messages), name}
		},
		Below: func(s branch) string {
			title := printable.Line(s.Title, session.MaxTitle)
			if who := conversation.Authors(s.Summary); who != "" {
				title = who + ": " + title
			}
			if title == "" {
				return ""
			}
			return "    " + ansi.Truncate(title, terminal.Width()-4, "…") + "\n"
		},
	}.Text(lang, tree(list))
}

// branch is a session in a tree.
type branch struct {
	session.Summary
	depth int
}

// tree puts sub-agents below the conversations that started them. One whose parent is not in
// the list stays where it is.
func tree(list []session.Summary) (ordered []branch) {
	var add func(s session.Summary, depth int)
	add = func(s session.Summary, depth int) {
		ordered = append(ordered, branch{s, depth})
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
	return ordered
}

// findSession finds the session that the first argument names.
func findSession(ctx context.Context, c *call) (session.Summary, error) {
	found, err := c.client.FindSessions(ctx, c.args[0])
	switch {
	case err != nil:
		return session.Summary{}, err
	case len(found) == 0:
		return session.Summary{}, config.Usagef("there is no session %q; see etui sessions list", c.args[0])
	case len(found) == 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, s := range found {
		names[i] = client.SessionName(s.Key)
	}
	return session.Summary{}, config.Usagef("several sessions have %q in their names: %s", c.args[0],
		printable.List(names))
}

// exportSessions writes the messages of the session that the first argument names, or of
// those of a user, a line each.
func exportSessions(ctx context.Context, c *call, user string, line func(any) error) error {
	write := func(key session.Key) error {
		for m, err := range c.client.Messages(ctx, key) {
			if err == nil {
				err = line(exportLine{key, m})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if len(c.args) == 1 {
		s, err := findSession(ctx, c)
		if err != nil {
			return err
		}
		return write(s.Key)
	}
	for s, err := range c.client.Sessions(ctx, "/admin/sessions", url.Values{"user": {user}}, 0) {
		if err == nil {
			err = write(s.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exportLine is a message of an export.
type exportLine struct {
	Session session.Key `json:"session"`
	chat.Message
}
