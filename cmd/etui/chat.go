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
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/command"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/server/api"
)

func (a *cli) chatCommand() *cobra.Command {
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

In a conversation, Tab completes commands, skills and tools, and the arrow keys find earlier messages.
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
				who.Session = newSession()
			}
			return a.with(cmd.Context(), true, func(c *client.Client) error {
				if again {
					if err := a.continues(cmd.Context(), c, &who); err != nil {
						return err
					}
				}
				if text == "-" {
					all, err := io.ReadAll(io.LimitReader(a.in, 64<<20))
					if err != nil {
						return err
					}
					text = string(all)
				}
				var files attached
				for _, path := range paths {
					if err := files.add(path); err != nil {
						return err
					}
				}
				if cmd.Flags().Changed("message") {
					m, err := files.says(who, text)
					if err != nil {
						return err
					}
					m.Wait = true
					a.sayWhere(cmd.Context(), c)
					return a.say(cmd.Context(), c, m)
				}
				return a.converse(cmd.Context(), c, who, files)
			})
		},
	}
	callerFlags(c, &who)
	c.Flags().BoolVarP(&again, "continue", "c", false, "continue the latest conversation of this user and channel")
	c.Flags().StringArrayVar(&paths, "file", nil, "picture, PDF or text to send with the message, or with the first one of a conversation")
	c.Flags().StringVarP(&text, "message", "m", "", `the message; "-" reads it from standard input`)
	return c
}

// newSession returns the name of a new conversation.
func newSession() string { return "cli-" + rand.Text()[:10] }

// say sends one message and prints what happens.
func (a *cli) say(ctx context.Context, c *client.Client, m api.Message) error {
	if a.json {
		for e, err := range c.Chat(ctx, m) {
			if err == nil {
				err = json.NewEncoder(a.out).Encode(e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	r := &reply{cli: a}
	defer r.end()
	for e, err := range c.Chat(ctx, m) {
		if err != nil {
			return err
		}
		r.show(e)
	}
	return nil
}

// reply prints the events of a turn.
type reply struct {
	*cli
	text     io.WriteCloser // the part of the answer that is being printed; nil between parts
	fresh    bool           // the text ended a line
	progress string
	switches int  // of the phase of a run that is told afterwards, which were printed
	live     bool // the run's own events were printed
}

// show prints one event.
func (r *reply) show(e api.Event) {
	switch {
	case e.Selected != nil:
		r.note("· %d of %d tools sent, %d tokens (%.0f %% saved)", e.Selected.Sent, e.Selected.All, e.Selected.TokensSent+e.Selected.TokensMeta, e.Selected.SavedPercent)
	case e.Phase != nil:
		r.phase(*e.Phase)
	case e.Text != "":
		if r.text == nil {
			r.text = r.answer()
		}
		_, _ = io.WriteString(r.text, e.Text) // a terminal that cannot be written to cannot be told
		r.fresh = strings.HasSuffix(e.Text, "\n")
	case e.Call != nil:
		r.note("· %s %s", e.Call.Name, e.Call.Arguments)
	case e.Progress != nil && e.Progress.Total > 0:
		if now := fmt.Sprintf("· %s %.0f %%", e.Progress.Text, 100*e.Progress.Done/e.Progress.Total); now != r.progress {
			r.progress = now
			r.note("%s", now)
		}
	case e.Result != nil && e.Result.Failed:
		r.note("· ✗ %s", printable.Line(e.Result.Text, maxFailure))
	case e.Result != nil && e.Result.View != nil:
		if e.Result.View.Text != "" {
			r.note("%s", e.Result.View.Text)
		}
		for _, f := range e.Result.View.Files {
			r.note("· file %s (%d bytes)", f.Name, len(f.Data))
		}
	}
}

// answer returns a writer of one part of an answer: readable on a terminal, else as it is.
func (a *cli) answer() io.WriteCloser {
	if a.onTerminal() {
		return terminal.NewMarkdown(a.out, width(), plain())
	}
	return asItIs{a.out}
}

type asItIs struct{ io.Writer }

func (asItIs) Close() error { return nil }

// note prints what is not part of the answer.
func (r *reply) note(format string, args ...any) {
	r.end()
	fmt.Fprintln(r.err, r.faint().Render(printable.Text(fmt.Sprintf(format, args...))))
}

// end ends the part of the answer that is being printed, and its line.
func (r *reply) end() {
	if r.text == nil {
		return
	}
	_ = r.text.Close()
	if _, raw := r.text.(asItIs); raw && !r.fresh {
		fmt.Fprintln(r.out)
	}
	r.text = nil
}

// maxFailure is how many characters of a failed call's result are shown.
const maxFailure = 200

// faint is the style of notes.
func (a *cli) faint() lipgloss.Style {
	return lipgloss.NewStyle().Faint(!plain() && (a.screen || isTerminal(a.err)))
}

// conversation is a chat with an agent.
type conversation struct {
	*cli
	client *client.Client
	who    api.Message
	files  attached // go with the next message
}

// chatCommand is a command inside a conversation.
type chatCommand struct {
	name, args, help string
	run              func(ctx context.Context, t *conversation, rest string) error
}

// chatCommands lists the commands of a conversation.
func chatCommands() []chatCommand {
	list := []chatCommand{
		{"/skills", "", "list the skills, and which one is active", func(ctx context.Context, t *conversation, _ string) error {
			return t.printSkills(ctx, t.client, t.who.Agent, t.who.Skill)
		}},
		{engine.Switch, "NAME", "make a skill active in this conversation; auto takes it back", func(ctx context.Context, t *conversation, name string) error {
			if name == engine.Auto {
				t.who.Skill = ""
				return answer(engine.Switch)(ctx, t, name)
			}
			return t.switchSkill(ctx, t.client, &t.who, name)
		}},
		{"/why", "[MESSAGE]", "show what the last message got, or what another one would get", func(ctx context.Context, t *conversation, text string) error {
			if text == "" {
				return t.why(ctx, t.client, t.who)
			}
			return t.explain(ctx, t.client, t.who, text, asked{}, false)
		}},
		{"/tools", "WORDS", "find tools", func(ctx context.Context, t *conversation, words string) error {
			if words == "" {
				return config.Usagef("say what to find: /tools WORDS")
			}
			return t.explain(ctx, t.client, t.who, words, asked{}, false)
		}},
		{"/file", "PATH", "send a picture, PDF or text with the next message", func(_ context.Context, t *conversation, path string) error {
			if err := t.files.add(path); err != nil {
				return err
			}
			_, err := fmt.Fprintf(t.out, "%s goes with the next message.\n", printable.OneLine(path))
			return err
		}},
		{engine.Run, "[NAME] [TEXT]", "run a workflow; without a name, go on with it", answer(engine.Run)},
		{engine.Compact, "", "summarize the conversation so far, to save tokens", answer(engine.Compact)},
		{engine.Stop, "", "end the turn of this conversation that runs elsewhere, or waits", answer(engine.Stop)},
		{engine.Approve, "[ID]", "let a call run that waits; add session or always to approve more", answer(engine.Approve)},
		{engine.Deny, "[ID]", "decline a call that waits; add why", answer(engine.Deny)},
		{"/new", "", "start a new conversation", func(_ context.Context, t *conversation, _ string) error {
			t.who.Session = newSession()
			_, err := fmt.Fprintln(t.out, "A new conversation.")
			return err
		}},
		{"/help", "", "this list", func(_ context.Context, t *conversation, _ string) error { return t.help() }},
		{"/quit", "", "leave (or Ctrl-D)", func(context.Context, *conversation, string) error { return terminal.ErrLeave }},
	}
	for _, c := range command.List() { // the rest of what all channels have
		name := "/" + c.Name
		if !slices.ContainsFunc(list, func(own chatCommand) bool { return own.name == name }) {
			list = append(list, chatCommand{name, c.Args, c.Help, tell(name)})
		}
	}
	return list
}

// tell asks for the answer to a command that needs no turn.
func tell(command string) func(context.Context, *conversation, string) error {
	return func(ctx context.Context, t *conversation, rest string) error {
		m := t.who
		m.Text = strings.TrimSpace(command + " " + rest)
		var reply api.Reply
		if err := t.client.Do(ctx, http.MethodPost, "/api/command", m, &reply); err != nil {
			return err
		}
		return t.print(reply, func() string { return strings.TrimRight(reply.Reply, "\n") + "\n" })
	}
}

// answer sends a command as a message.
func answer(command string) func(context.Context, *conversation, string) error {
	return func(ctx context.Context, t *conversation, rest string) error {
		m := t.who
		m.Text, m.Wait = strings.TrimSpace(command+" "+rest), true
		return t.say(ctx, t.client, m)
	}
}

func (t *conversation) help() error {
	for _, c := range chatCommands() {
		if _, err := fmt.Fprintf(t.out, "%-19s %s\n", strings.TrimSpace(c.name+" "+c.args), c.help); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(t.out, `Ctrl-C stops a running answer, and leaves on an empty prompt.
Tab completes commands, skills and tools; the arrow keys find earlier messages;
Alt-Enter starts a new line.`)
	return err
}

// converse talks until the input ends: with an editable prompt if both sides are
// terminals, else line by line.
func (a *cli) converse(ctx context.Context, c *client.Client, who api.Message, files attached) error {
	t := &conversation{cli: a, client: c, who: who, files: files}
	if !a.json && terminal.CanTalk(a.in, a.out) {
		in, _ := a.in.(*os.File)
		out, _ := a.out.(*os.File)
		fmt.Fprintf(a.out, "Connected to %s.\n/help lists the commands.\n", a.where(ctx, c))
		return terminal.Talk(ctx, terminal.Config{
			In: in, Out: out, Plain: plain(), Complete: t.complete,
			Send: func(ctx context.Context, text string, out io.Writer) error {
				above := *a
				above.out, above.err, above.screen = out, out, true
				t.cli = &above
				return t.handle(ctx, text)
			},
		})
	}
	a.sayWhere(ctx, c)
	lines := bufio.NewScanner(a.in)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for lines.Scan() && ctx.Err() == nil {
		err := t.handle(ctx, strings.TrimSpace(lines.Text()))
		if errors.Is(err, terminal.ErrLeave) {
			return nil
		}
		if err != nil {
			fmt.Fprintf(a.err, "etui: %v\n", err)
		}
	}
	return lines.Err()
}

// handle runs a command of the conversation, or sends a message.
func (t *conversation) handle(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	command, rest, _ := strings.Cut(text, " ")
	if command == "/exit" {
		command = "/quit"
	}
	list := chatCommands()
	if i := slices.IndexFunc(list, func(c chatCommand) bool { return c.name == command }); i >= 0 {
		return list[i].run(ctx, t, strings.TrimSpace(rest))
	}
	if strings.HasPrefix(command, "/") && !strings.Contains(command[1:], "/") {
		return config.Usagef("there is no command %s%s; /help lists them", command, nearest.Hint(command, slices.Values(commandNames())))
	}
	m, err := t.files.says(t.who, text)
	if err != nil {
		return err
	}
	t.files = attached{}
	m.Wait = true
	return t.say(ctx, t.client, m)
}

func commandNames() (names []string) {
	for _, c := range chatCommands() {
		names = append(names, c.name)
	}
	return names
}

// complete returns the commands, skills or tools that the last word may become.
func (t *conversation) complete(ctx context.Context, before string) []string {
	words := strings.Fields(" " + before + "x") // the last one is being typed
	last := strings.TrimSuffix(words[len(words)-1], "x")
	var names []string
	switch {
	case len(words) == 1 && strings.HasPrefix(last, "/"):
		names = commandNames()
	case len(words) == 2 && words[0] == "/skill":
		names = toolsetNames(ctx, t.client)
	case last != "":
		names = toolNames(ctx, t.client)
	}
	return beginning(last, names)
}

// switchSkill makes a skill active for the messages that follow.
func (a *cli) switchSkill(ctx context.Context, c *client.Client, who *api.Message, name string) error {
	name = cmp.Or(name, catalog.Full)
	m := *who
	m.Skill, m.Text = name, "hi"
	var x api.Answer
	if err := c.Do(ctx, http.MethodPost, "/api/select", m, &x); err != nil {
		return err
	}
	who.Skill = name
	fmt.Fprintf(a.out, "The skill %s is active: %d of %d tools, %d of %d tokens.\n", name, x.Counts.Usable, x.Counts.All, x.Tokens.Usable, x.Tokens.All)
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
