package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/client"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server/api"
)

func (a *cli) chatCommand() *cobra.Command {
	var who api.Message
	var text string
	c := &cobra.Command{
		Use: "chat", Short: "Talk to an agent in the terminal", Args: cobra.NoArgs,
		Long: `Talk to an agent in the terminal: one message with -m, or a conversation. The message "-" is
read from standard input. If the gateway of the workspace runs, it answers; otherwise this process
does. Each start is a new conversation; --session names one that you can continue.`,
		Example: `  etui chat -m "show me the error logs of the checkout pod in namespace prod"
  etui chat -m "我还剩几天年假？" --user alice
  git diff | etui chat -m -
  etui chat --skill oncall`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if who.Session == "" {
				who.Session = newSession()
			}
			return a.with(cmd.Context(), true, func(c *client.Client) error {
				if text == "-" {
					all, err := io.ReadAll(io.LimitReader(a.in, 64<<20))
					if err != nil {
						return err
					}
					text = string(all)
				}
				if cmd.Flags().Changed("message") {
					m, err := says(who, text)
					if err != nil {
						return err
					}
					m.Wait = true
					return a.say(cmd.Context(), c, m)
				}
				return a.converse(cmd.Context(), c, who)
			})
		},
	}
	callerFlags(c, &who)
	c.Flags().StringVarP(&text, "message", "m", "", `the message; "-" reads it from standard input`)
	return c
}

// newSession returns the name of a new conversation.
func newSession() string { return "cli-" + rand.Text()[:10] }

// say sends one message and prints what happens.
func (a *cli) say(ctx context.Context, c *client.Client, m api.Message) error {
	faint := a.faint()
	fresh := true // at the beginning of a line
	progress := ""
	for e, err := range c.Chat(ctx, m) {
		if err != nil {
			if !fresh {
				fmt.Fprintln(a.out)
			}
			return err
		}
		if a.json {
			if err := json.NewEncoder(a.out).Encode(e); err != nil {
				return err
			}
			continue
		}
		note := func(format string, args ...any) {
			if !fresh {
				fmt.Fprintln(a.out)
			}
			fmt.Fprintln(a.err, faint.Render(fmt.Sprintf(format, args...)))
			fresh = true
		}
		switch {
		case e.Selected != nil:
			note("· %d of %d tools sent, %d tokens (%.0f %% saved)", e.Selected.Sent, e.Selected.Usable, e.Selected.TokensSent, e.Selected.SavedPercent)
		case e.Text != "":
			fmt.Fprint(a.out, e.Text)
			fresh = strings.HasSuffix(e.Text, "\n")
		case e.Call != nil:
			note("· %s %s", e.Call.Name, e.Call.Arguments)
		case e.Progress != nil && e.Progress.Total > 0:
			if now := fmt.Sprintf("· %s %.0f %%", e.Progress.Text, 100*e.Progress.Done/e.Progress.Total); now != progress {
				progress = now
				note("%s", now)
			}
		case e.Result != nil && e.Result.Failed:
			note("· ✗ %s", printable.Line(e.Result.Text, maxFailure))
		case e.Result != nil && e.Result.View != nil:
			if e.Result.View.Text != "" {
				note("%s", e.Result.View.Text)
			}
			for _, f := range e.Result.View.Files {
				note("· file %s (%d bytes)", f.Name, len(f.Data))
			}
		case e.Done != nil:
			if !fresh {
				fmt.Fprintln(a.out)
				fresh = true
			}
		}
	}
	return nil
}

// maxFailure is how many characters of a failed call's result are shown.
const maxFailure = 200

func (a *cli) faint() lipgloss.Style {
	if !isTerminal(a.err) || os.Getenv("NO_COLOR") != "" {
		return lipgloss.NewStyle()
	}
	return lipgloss.NewStyle().Faint(true)
}

// isTerminal reports whether a person reads what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

var chatCommands = []string{"/skills", "/skill", "/why", "/tools", "/new", "/help", "/quit", "/exit"}

const chatHelp = `/skills         list the skills, and which one is active
/skill NAME     make a skill active in this conversation
/why [MESSAGE]  show what the last message got, or what another one would get
/tools WORDS    find tools
/new            start a new conversation
/help           this list
/quit           leave (or Ctrl-D)
Ctrl-C stops a running answer.`

// converse talks until the input ends.
func (a *cli) converse(ctx context.Context, c *client.Client, who api.Message) error {
	prompting := isTerminal(a.out)
	if prompting {
		fmt.Fprintf(a.out, "Connected to %s. /help lists the commands.\n", c.Where)
	}
	lines := bufio.NewScanner(a.in)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for {
		if prompting {
			fmt.Fprint(a.out, "> ")
		}
		if !lines.Scan() || ctx.Err() != nil {
			break
		}
		text := strings.TrimSpace(lines.Text())
		command, rest, _ := strings.Cut(text, " ")
		rest = strings.TrimSpace(rest)
		var err error
		switch command {
		case "":
			continue
		case "/quit", "/exit":
			return nil
		case "/help":
			fmt.Fprintln(a.out, chatHelp)
		case "/new":
			who.Session = newSession()
			fmt.Fprintln(a.out, "A new conversation.")
		case "/skills":
			err = a.printSkills(ctx, c, who.Agent, who.Skill)
		case "/skill":
			err = a.switchSkill(ctx, c, &who, rest)
		case "/why":
			if rest == "" {
				err = a.why(ctx, c, who)
			} else {
				err = a.explain(ctx, c, who, rest, asked{}, false)
			}
		case "/tools":
			err = a.explain(ctx, c, who, rest, asked{}, false)
		default:
			if strings.HasPrefix(command, "/") && !strings.Contains(command[1:], "/") {
				fmt.Fprintf(a.err, "etui: there is no command %s%s; /help lists them\n", command, nearest.Hint(command, slices.Values(chatCommands)))
				continue
			}
			var m api.Message
			if m, err = says(who, text); err == nil {
				m.Wait = true
				err = a.interruptible(ctx, func(ctx context.Context) error { return a.say(ctx, c, m) })
			}
		}
		if err != nil {
			fmt.Fprintf(a.err, "etui: %v\n", err)
		}
	}
	return lines.Err()
}

// interruptible runs f; Ctrl-C ends f and not the program.
func (a *cli) interruptible(ctx context.Context, f func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt)
	defer stop()
	if err := f(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Fprintln(a.out, "\n(stopped)")
	return nil
}

// switchSkill makes a skill active for the messages that follow.
func (a *cli) switchSkill(ctx context.Context, c *client.Client, who *api.Message, name string) error {
	name = cmp.Or(name, catalog.Full)
	m := *who
	m.Skill, m.Text = name, "hi"
	if err := c.Do(ctx, http.MethodPost, "/api/select", m, new(api.Answer)); err != nil {
		return err
	}
	who.Skill = name
	fmt.Fprintf(a.out, "The skill %s is active.\n", name)
	return nil
}

func (a *cli) printSkills(ctx context.Context, c *client.Client, agent, chosen string) error {
	var s api.Toolsets
	if err := c.Do(ctx, http.MethodGet, "/api/skills?agent="+url.QueryEscape(agent), nil, &s); err != nil {
		return err
	}
	return a.print(s, func() string {
		s.Active = cmp.Or(chosen, s.Active)
		return describeToolsets(s)
	})
}
