package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

func (a *cli) sessionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "sessions", Short: "List, show, export and delete conversations", Args: unknownCommand, RunE: group,
		Example: "  etui sessions list\n  etui sessions show cli-FXQ3\n  etui sessions export cli-FXQ3 > conversation.jsonl",
		Long: `List, show, export and delete the conversations of the workspace, whether its gateway runs or not. A
SESSION is the name that the list shows, or a part of it that no other session has.`,
	}
	c.AddCommand(a.sessionsListCommand(), a.sessionsShowCommand(), a.sessionsExportCommand(), a.sessionsDeleteCommand())
	return c
}

// sessionPages yields the sessions that a query chooses, newest first, at most limit of
// them; 0 means all.
func sessionPages(ctx context.Context, c *client.Client, path string, q url.Values, limit int) func(func(session.Summary, error) bool) {
	return func(yield func(session.Summary, error) bool) {
		for n := 0; ; {
			q.Set("limit", strconv.Itoa(cmp.Or(limit, 200)))
			var page api.SessionPage
			if err := c.Do(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &page); err != nil {
				yield(session.Summary{}, err)
				return
			}
			for _, s := range page.Sessions {
				if !yield(s, nil) {
					return
				}
				if n++; n == limit {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Set("after", page.Next)
		}
	}
}

func (a *cli) sessionsListCommand() *cobra.Command {
	var user string
	var limit int
	c := &cobra.Command{
		Use: "list [PART]", Short: "List the conversations, most recent first", Args: cobra.MaximumNArgs(1),
		Long:    `List the conversations, most recent first: all, or those with PART in their name.`,
		Example: "  etui sessions list\n  etui sessions list telegram --user alice --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return config.Usagef("--limit must not be negative")
			}
			return a.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) error {
				q := url.Values{"user": {user}, "part": {strings.Join(args, "")}}
				list := []session.Summary{}
				for s, err := range sessionPages(cmd.Context(), c, "/admin/sessions", q, limit) {
					if err != nil {
						return err
					}
					list = append(list, s)
				}
				return a.print(list, func() string {
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

// shortKey is a key without what most of them begin with.
func shortKey(key session.Key) string { return strings.TrimPrefix(string(key), "agent:") }

func describeSessions(list []session.Summary) string {
	if len(list) == 0 {
		return "There are no conversations.\n"
	}
	list, depths := tree(list)
	rows := [][]string{{"LAST MESSAGE", "MESSAGES", "SESSION"}}
	for i, s := range list {
		name := shortKey(s.Key)
		if depths[i] > 0 {
			name = strings.Repeat("  ", depths[i]-1) + "└ " + name
		}
		rows = append(rows, []string{s.Updated.Local().Format("2006-01-02 15:04"), strconv.Itoa(s.Messages), name})
	}
	lines := strings.SplitAfter(layout(rows, 2, width()), "\n")
	var b strings.Builder
	b.WriteString(lines[0])
	for i, s := range list {
		b.WriteString(lines[i+1])
		title := printable.Line(s.Title, session.MaxTitle)
		if who := authors(s); who != "" {
			title = who + ": " + title
		}
		if title != "" {
			b.WriteString("    " + ansi.Truncate(title, width()-4, "…") + "\n")
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

// authors names who wrote in a session, and where.
func authors(s session.Summary) string {
	who := printable.List(s.Users)
	if len(s.Channels) > 0 {
		who = strings.TrimSpace(who + " (" + printable.List(s.Channels) + ")")
	}
	return printable.Line(who, session.MaxTitle)
}

// findSession finds the session that a user names: by its key, by the key as lists show
// it, or by a part of the key that no other one has.
func findSession(ctx context.Context, c *client.Client, name string) (session.Summary, error) {
	var found []session.Summary
	for _, q := range []url.Values{{"key": {name}}, {"key": {"agent:" + name}}, {"part": {name}}} {
		for s, err := range sessionPages(ctx, c, "/admin/sessions", q, 5) {
			if err != nil {
				return session.Summary{}, err
			}
			found = append(found, s)
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	if len(found) == 0 {
		return session.Summary{}, config.Usagef("there is no session %q; see etui sessions list", name)
	}
	names := make([]string, len(found))
	for i, s := range found {
		names[i] = shortKey(s.Key)
	}
	return session.Summary{}, config.Usagef("several sessions have %q in their names: %s", name, printable.List(names))
}

func sessionPath(key session.Key) string { return "/admin/sessions/" + url.PathEscape(string(key)) }

func (a *cli) sessionsShowCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "show SESSION", Short: "Show a conversation with its calls and their results", Args: cobra.ExactArgs(1),
		Long: `Show a conversation: what was said, the calls (·), their results (✓), failures (✗), calls whose outcome
is unknown (?), and outcomes that came after their turn.`,
		Example: "  etui sessions show cli-FXQ3\n  etui sessions show main:telegram:dm:42 --limit 500",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return config.Usagef("--limit must be at least 1")
			}
			return a.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) error {
				s, err := findSession(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				var shown engine.Conversation
				if err := c.Do(cmd.Context(), http.MethodGet, sessionPath(s.Key)+"?limit="+strconv.Itoa(limit), nil, &shown); err != nil {
					return err
				}
				return a.print(shown, func() string { return describeConversation(shown, width()) })
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 50, "how many messages to show, the newest ones; at most 1,000")
	return c
}

func describeConversation(c engine.Conversation, width int) string {
	var b strings.Builder
	facts := []string{printable.Count(c.Messages, "message"), "since " + c.Created.Local().Format("2006-01-02 15:04")}
	for label, text := range map[string]string{"": authors(c.Summary), "skill ": c.Skill} {
		if text != "" {
			facts = append(facts, label+text)
		}
	}
	slices.Sort(facts[2:])
	if c.Parent != "" {
		facts = append(facts, "a sub-agent of "+shortKey(c.Parent))
	}
	if c.Phase != turn.Finished {
		facts = append(facts, "a turn is open ("+string(c.Phase)+")")
	}
	fmt.Fprintf(&b, "%s\n%s", c.Key, hanging("  ", strings.Join(facts, ", "), width))
	if c.Skip > 0 {
		fmt.Fprintf(&b, "  (%d earlier messages are not shown; --limit shows more)\n", c.Skip)
	}
	at := max(c.Skip, c.Messages-c.Sent) // before which message the summary comes
	summary := func(i int) {
		if c.Summarised != "" && i == at {
			b.WriteString("\nthe model reads a summary of what was said before\n" + indented("", c.Summarised, width))
		}
	}
	for i, m := range c.Said {
		summary(c.Skip + i)
		b.WriteString(describeMessage(m, c.Said[i+1:], width))
	}
	summary(c.Skip + len(c.Said))
	for _, m := range c.Waiting {
		fmt.Fprintf(&b, "\n%s %s (waits for its answer)\n%s", m.Accepted.Local().Format(time.DateTime), printable.Line(cmp.Or(m.User, "user"), session.MaxTitle), indented("", m.Text, width))
	}
	return b.String()
}

// maxResult is how many characters of a call and of its result are shown.
const maxResult = 300

// describeMessage describes a message; those after it have the results of its calls.
func describeMessage(m chat.Message, after []chat.Message, width int) string {
	var b strings.Builder
	text := func(mark, text string) { b.WriteString(indented(mark, text, width)) }
	head := func(who string) {
		when := ""
		if !m.Time.IsZero() {
			when = m.Time.Local().Format(time.DateTime) + " "
		}
		fmt.Fprintf(&b, "\n%s%s\n", when, printable.Line(who, session.MaxTitle))
	}
	switch {
	case m.Role == chat.User && m.Text == "" && len(m.Files) == 0:
		if m.Channel == identity.System {
			head(identity.System)
		} else {
			head("a call ended after its turn")
		}
		text("", m.Note)
	case m.Role == chat.User:
		head(cmp.Or(m.User, "user"))
		if m.Text != "" {
			text("", m.Text)
		}
		for _, f := range m.Files {
			kind := "picture"
			if f.MediaType == chat.PDF {
				kind = "file"
			}
			text("▣ ", fmt.Sprintf("%s %s, %d bytes", kind, cmp.Or(f.Name, f.MediaType), f.Size))
		}
	case m.Role == chat.Assistant:
		head("assistant")
		if m.Text != "" {
			text("", m.Text)
		}
		if m.Refused {
			text("✗ ", "the provider refused this turn; later requests leave it out")
		}
	case m.Result != nil:
		text(result(*m.Result))
	}
	for _, c := range m.Calls {
		text("· ", c.Name+" "+printable.Line(string(c.Arguments), maxResult))
		if !slices.ContainsFunc(after, func(m chat.Message) bool { return m.Result != nil && m.Result.CallID == c.ID }) {
			text("? ", c.Name+" has no result yet: whether it did its work is unknown.")
		}
	}
	return b.String()
}

// indented wraps a text after a mark.
func indented(mark, text string, width int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(ansi.Wrap(printable.Text(text), width-2-ansi.StringWidth(mark), ""), "\n") {
		b.WriteString(strings.TrimRight("  "+mark+line, " ") + "\n")
		mark = strings.Repeat(" ", ansi.StringWidth(mark))
	}
	return b.String()
}

// result describes a result after a mark.
func result(r chat.Result) (mark, text string) {
	text = r.Name + ": " + printable.Line(r.Text, maxResult)
	switch {
	case r.Unknown && r.View != nil:
		return "? ", "outcome unknown: " + r.View.Error
	case r.Unknown:
		return "? ", "outcome unknown: " + text
	case r.Failed:
		return "✗ ", text
	case r.Pending:
		return "… ", text
	}
	return "✓ ", text
}

// exported is a message of an export.
type exported struct {
	Session session.Key `json:"session"`
	chat.Message
}

func (a *cli) sessionsExportCommand() *cobra.Command {
	var user string
	c := &cobra.Command{
		Use: "export [SESSION]", Short: "Export conversations, one JSON object a message", Args: cobra.MaximumNArgs(1),
		Long: `Export a conversation, or all of them, to standard output: one JSON object a message, oldest first.
A picture or PDF has its bytes in files[].data, in base64.
With --user, conversations in which the user wrote.`,
		Example: "  etui sessions export cli-FXQ3 > conversation.jsonl\n  etui sessions export --user alice > alice.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && user != "" {
				return config.Usagef("name a session or --user, not both")
			}
			return a.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) error {
				out := bufio.NewWriter(a.out)
				var err error
				if len(args) == 1 {
					var s session.Summary
					if s, err = findSession(cmd.Context(), c, args[0]); err == nil {
						err = export(cmd.Context(), c, s.Key, out)
					}
				} else {
					err = exportAll(cmd.Context(), c, user, out)
				}
				return cmp.Or(err, out.Flush())
			})
		},
	}
	c.Flags().StringVar(&user, "user", "", "conversations in which this user wrote")
	return c
}

func exportAll(ctx context.Context, c *client.Client, user string, out *bufio.Writer) error {
	for s, err := range sessionPages(ctx, c, "/admin/sessions", url.Values{"user": {user}}, 0) {
		if err == nil {
			err = export(ctx, c, s.Key, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// export writes the messages of a session, page by page.
func export(ctx context.Context, c *client.Client, key session.Key, out *bufio.Writer) error {
	const most = 500
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for skip := 0; ; {
		var page engine.Conversation
		if err := c.Do(ctx, http.MethodGet, fmt.Sprintf("%s?skip=%d&limit=%d", sessionPath(key), skip, most), nil, &page); err != nil {
			return err
		}
		for _, m := range page.Said {
			for i, f := range m.Files {
				if err := c.Do(ctx, http.MethodGet, "/admin/files/"+url.PathEscape(f.SHA256), nil, &f); err != nil {
					return err
				}
				m.Files[i].Data = f.Data
			}
			if err := lines.Encode(exported{key, m}); err != nil {
				return err
			}
		}
		if len(page.Said) == 0 {
			return nil
		}
		skip += len(page.Said)
	}
}

func (a *cli) sessionsDeleteCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete SESSION", Short: "Delete a conversation for good", Args: cobra.ExactArgs(1),
		Long: `Delete a conversation for good, after its running turn. The command asks first, unless --yes is set;
then SESSION must be the whole name.`,
		Example: "  etui sessions delete cli-FXQ3\n  etui sessions delete main:session:cli-FXQ3ABC2DE --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.using(cmd.Context(), app.Config{Records: true, Stored: true}, func(c *client.Client) error {
				s, err := findSession(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				if whole := args[0] == string(s.Key) || args[0] == shortKey(s.Key); yes && !whole {
					return config.Usagef("with --yes, write the whole name: %s", shortKey(s.Key))
				}
				if !yes {
					if err := a.confirm("Delete %s with %s?", s.Key, printable.Count(s.Messages, "message")); err != nil {
						return err
					}
				}
				var done api.DeletedSession
				if err := c.Do(cmd.Context(), http.MethodDelete, sessionPath(s.Key), nil, &done); err != nil {
					return err
				}
				return a.print(done, func() string { return fmt.Sprintf("%s is deleted.\n", done.Deleted) })
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// confirm asks a question. Any answer but yes, and the end of the input, is an error.
func (a *cli) confirm(question string, args ...any) error {
	fmt.Fprintf(a.err, question+" [y/N] ", args...)
	answer, err := bufio.NewReader(a.in).ReadString('\n') // the end of the input is a no
	if err != nil {
		fmt.Fprintln(a.err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return fmt.Errorf("nothing was changed: answer y, or add --yes")
}

// continues makes who continue their latest conversation, and says which one that is.
func (a *cli) continues(ctx context.Context, c *client.Client, who *api.Message) error {
	s, err := latest(ctx, c, who)
	if err == nil && !a.json {
		fmt.Fprintln(a.err, a.faint().Render(fmt.Sprintf("· continues %s (%s): %s", shortKey(s.Key), printable.Count(s.Messages, "message"), printable.Line(s.Title, 60))))
	}
	return err
}

// maxLooked is how many sessions latest looks at.
const maxLooked = 1000

// latest makes who continue the newest session of their channel and user.
func latest(ctx context.Context, c *client.Client, who *api.Message) (session.Summary, error) {
	user, channel, path := cmp.Or(who.User, who.As), who.Channel, "/api/sessions"
	if from, _, ok := strings.Cut(who.As, ":"); ok {
		channel = from
	}
	if user == "" { // such sessions belong to nobody
		path = "/admin/sessions"
	}
	for s, err := range sessionPages(ctx, c, path, url.Values{"user": {user}}, maxLooked) {
		if err != nil {
			return s, err
		}
		agent, name, ok := route.Named(s.Key)
		if !ok || user == "" && len(s.Users) > 0 || who.Agent != "" && agent != who.Agent || !slices.Contains(s.Channels, channel) {
			continue
		}
		who.Agent, who.Session = agent, name
		return s, nil
	}
	return session.Summary{}, config.Usagef("there is no conversation of the channel %s to continue; say something first, or see etui sessions list", channel)
}
