package channel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/command"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
)

// Commands are what people can write in every channel.
func Commands() []Command {
	var list []Command
	for _, c := range command.List() {
		list = append(list, Command{c.Name, c.Help})
	}
	return list
}

// began returns what the button Start of a link says, whose parameter is for the agent.
func began(text string) string {
	if parameter, ok := strings.CutPrefix(text, "/start "); ok && strings.TrimSpace(parameter) != "" {
		return "[The person has pressed Start on a link with the parameter: " + printable.Line(parameter, 200) + "]"
	}
	return text
}

// command answers a command that needs no turn. It reports whether the message is done.
func (a *account) command(ctx context.Context, m Incoming, em engine.Message) (done bool, err error) {
	name, isCommand := strings.CutPrefix(em.Text, "/")
	name, _, _ = strings.Cut(name, " ")
	if _, bot, ok := strings.Cut(name, "@"); isCommand && m.Group && ok && bot != "" &&
		!strings.ContainsAny(name, "/.\n") {
		return true, nil // it is for another program; adapters take the account's own name away
	}
	if isCommand && name == "start" { // Telegram's button for the first message says that
		name, em.Text = "help", "/help"
	}
	text, done, err := command.Answer(ctx, a.engine, em)
	if errors.Is(err, engine.ErrBusy) { // it can be asked again, and others go on meanwhile
		a.tell(m, "busy", time.Minute,
			"So many messages are answered at the moment that this one was left out. Please try again in a moment.")
		return true, nil
	}
	if err != nil || !done { // the platform sends it again after an error
		return done, err
	}
	if known := slices.ContainsFunc(command.List(), func(c command.Command) bool { return c.Name == name }); !known &&
		m.Group && !m.Mentioned {
		return true, nil // another program's, probably
	}
	if a.handled.Add(m.key(), m.From.ID) {
		a.answerCommand(m, em, text)
	}
	return true, nil
}
