package conversation

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/command"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/api"
)

// ownCommand is a command inside a conversation.
type ownCommand struct {
	name, args, help string
	run              func(ctx context.Context, c *Conversation, rest string) error
}

// commands lists the commands of a conversation.
func commands() []ownCommand {
	list := []ownCommand{
		{"/skills", "", "list the skills, and which one is active",
			func(ctx context.Context, c *Conversation, _ string) error {
				return c.skills(ctx)
			}},
		{message.Switch, "NAME", "make a skill active in this conversation; auto takes it back",
			func(ctx context.Context, c *Conversation, name string) error {
				if name == message.Auto {
					c.who.Skill = ""
					return answer(message.Switch)(ctx, c, name)
				}
				return c.activate(ctx, name)
			}},
		{"/why", "[MESSAGE]", "show what the last message got, or what another one would get",
			func(ctx context.Context, c *Conversation, text string) error {
				if text == "" {
					return c.Why(ctx)
				}
				return c.Explain(ctx, Question{Text: text})
			}},
		{"/tools", "WORDS", "find tools", func(ctx context.Context, c *Conversation, words string) error {
			if words == "" {
				return config.Usagef("say what to find: /tools WORDS")
			}
			return c.Explain(ctx, Question{Text: words})
		}},
		{Unfold, "[NUMBER]", "show arguments and results of the last answer's calls (or Ctrl-O)",
			func(_ context.Context, c *Conversation, which string) error { return c.unfold(which) }},
		{"/file", "PATH", "send a picture, PDF or text with the next message",
			func(_ context.Context, c *Conversation, path string) error {
				if err := c.files.add(path); err != nil {
					return err
				}
				_, err := phrase.Fprintf(c.Out, c.Language, "%s goes with the next message.\n", printable.OneLine(path))
				return err
			}},
		{message.Run, "[NAME] [TEXT]", "run a workflow; without a name, go on with it", answer(message.Run)},
		{message.Compact, "", "summarize the conversation so far, to save tokens", answer(message.Compact)},
		{message.Stop, "", "end the turn of this conversation that runs elsewhere, or waits", answer(message.Stop)},
		{approval.Approve, "[ID]", "let a call run that waits; add session or always to approve more",
			answer(approval.Approve)},
		{approval.Deny, "[ID]", "decline a call that waits; add why", answer(approval.Deny)},
		{approval.Withdraw, "[ID]", "take back a call of yours that waits", answer(approval.Withdraw)},
		{"/new", "", "start a new conversation", func(_ context.Context, c *Conversation, _ string) error {
			c.who.Session = NewSession()
			_, err := fmt.Fprintln(c.Out, phrase.In(c.Language, "A new conversation."))
			return err
		}},
		{"/help", "", "this list", func(_ context.Context, c *Conversation, _ string) error { return c.help() }},
		{"/quit", "", "leave (or Ctrl-D)",
			func(context.Context, *Conversation, string) error { return terminal.ErrLeave }},
	}
	for _, shared := range command.List() { // the rest of what all channels have
		name := "/" + shared.Name
		if !slices.ContainsFunc(list, func(own ownCommand) bool { return own.name == name }) {
			list = append(list, ownCommand{name, shared.Args, shared.Help, tell(name)})
		}
	}
	return list
}

// tell asks for the answer to a command that needs no turn.
func tell(command string) func(context.Context, *Conversation, string) error {
	return func(ctx context.Context, c *Conversation, rest string) error {
		m := c.who
		m.Text = strings.TrimSpace(command + " " + rest)
		var reply api.Reply
		if err := c.client.Do(ctx, http.MethodPost, "/api/command", m, &reply); err != nil {
			return err
		}
		return c.Print(reply, func() string { return strings.TrimRight(reply.Reply, "\n") + "\n" })
	}
}

// answer sends a command as a message.
func answer(command string) func(context.Context, *Conversation, string) error {
	return func(ctx context.Context, c *Conversation, rest string) error {
		m := c.who
		m.Text = strings.TrimSpace(command + " " + rest)
		return c.send(ctx, m)
	}
}

// word is a text in the language of the person; an empty one stays so.
func word(c *Conversation, text string) string {
	if text == "" {
		return ""
	}
	return phrase.Word(c.Language, text)
}

func (c *Conversation) help() error {
	for _, own := range commands() {
		if _, err := fmt.Fprintf(c.Out, "%-19s %s\n", strings.TrimSpace(own.name+" "+word(c, own.args)),
			word(c, own.help)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(c.Out, phrase.In(c.Language,
		"Ctrl-C stops a running answer, and leaves on an empty prompt.\n"+
			"Tab completes commands, skills and tools; the arrow keys find earlier messages;\nAlt-Enter starts a new line."))
	return err
}
