// Package conversation talks to an agent at a console: one message, a conversation with its own
// commands, or a workflow that runs to its end. It also describes what was said.
package conversation

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
	"strconv"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
)

// Conversation is a person's conversation with an agent.
type Conversation struct {
	*terminal.Console
	client *client.Client
	who    api.Message
	files  files // go with the next message

	history []string // what the person said before, oldest first
	last    string   // the last exchange
	waits   bool     // a call of it waits for people
	calls   []fold   // of the last answer
	waiting []session.Await
	seen    int // messages that were shown, once it does
}

// New returns the conversation that a message without a text describes.
func New(console *terminal.Console, c *client.Client, who api.Message) *Conversation {
	return &Conversation{Console: console, client: c, who: who}
}

// NewSession returns the name of a new conversation.
func NewSession() string { return "cli-" + rand.Text()[:10] }

// maxLooked is how many sessions are looked at for the newest one of a kind.
const maxLooked = 1000

// Continue takes up the latest conversation of the person and the channel, and says which
// one that is.
func (c *Conversation) Continue(ctx context.Context) error {
	user, channel, path := cmp.Or(c.who.User, c.who.As), c.who.Channel, "/api/sessions"
	if from, _, ok := strings.Cut(c.who.As, ":"); ok {
		channel = from
	}
	if user == "" { // such sessions belong to nobody
		path = "/admin/sessions"
	}
	for s, err := range c.client.Sessions(ctx, path, url.Values{"user": {user}}, maxLooked) {
		if err != nil {
			return err
		}
		agent, name, ok := route.AgentOf(s.Key)
		if !ok || user == "" && len(s.Users) > 0 || c.who.Agent != "" && agent != c.who.Agent ||
			!slices.Contains(s.Channels, channel) {
			continue
		}
		c.who.Agent, c.who.Session = agent, name
		if !c.JSON {
			q := url.Values{"limit": {strconv.Itoa(maxRemembered)}}
			if user != "" {
				q.Set("user", user)
			}
			c.remember(ctx, path+"/"+url.PathEscape(string(s.Key))+"?"+q.Encode())
			c.Note("· continues %s (%s): %s", client.SessionName(s.Key),
				phrase.Count(c.Language, s.Messages, "message"), printable.Line(s.Title, 60))
		}
		return nil
	}
	return config.Usagef("there is no conversation of the channel %s to continue; say something first, or see etui sessions list", channel)
}

// maxRemembered is how many messages of a conversation that goes on are read for its history.
const maxRemembered = 200

// remember reads the newest messages at a path: the person's for the history, and the last exchange to
// be shown. Without them the conversation goes on as well.
func (c *Conversation) remember(ctx context.Context, path string) {
	var page inspect.Conversation
	if err := c.client.Do(ctx, http.MethodGet, path, nil, &page); err != nil {
		c.Note("· its messages cannot be shown: %v", err)
		return
	}
	for _, m := range page.Said {
		text := printable.Line(m.Text, 200)
		switch {
		case text == "":
		case m.Role == chat.User:
			c.history, c.last = append(c.history, m.Text), "> "+text
		case m.Role == chat.Assistant && c.last != "":
			question, _, _ := strings.Cut(c.last, "\n")
			c.last = question + "\n" + text
		}
	}
}

// Attach sends files with the next message.
func (c *Conversation) Attach(paths ...string) error {
	for _, path := range paths {
		if err := c.files.add(path); err != nil {
			return err
		}
	}
	return nil
}

// Say sends a text with the attached files, and prints what happens.
func (c *Conversation) Say(ctx context.Context, text string) error {
	if name, _, _ := strings.Cut(text, " "); slices.Contains(commandNames(), name) && !c.JSON {
		return c.handle(ctx, text)
	}
	m, err := c.message(text)
	if err != nil {
		return err
	}
	c.NoteGateway(ctx)
	return c.send(ctx, m)
}

// NoteGateway prints which gateway answers, and for which workspace.
func (c *Conversation) NoteGateway(ctx context.Context) {
	if !c.JSON {
		c.Note("· %s", c.gateway(ctx))
	}
}

func (c *Conversation) gateway(ctx context.Context) string {
	if dir := c.client.Folder(ctx); dir != "" {
		return phrase.In(c.Language, "%s, workspace %s", phrase.Word(c.Language, c.client.Where),
			terminal.ShortPath(dir))
	}
	return phrase.Word(c.Language, c.client.Where)
}

// message returns the message with a text and the attached files, which it takes along.
func (c *Conversation) message(text string) (api.Message, error) {
	m, err := c.files.compose(c.who, text)
	if err == nil {
		c.files = files{}
	}
	return m, err
}

// send sends a message and prints what happens.
func (c *Conversation) send(ctx context.Context, m api.Message) error {
	m.Wait = true
	if c.JSON {
		for e, err := range c.client.Chat(ctx, m) {
			if err == nil {
				err = json.NewEncoder(c.Out).Encode(e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	r := &reply{Console: c.Console}
	defer r.end()
	for e, err := range c.client.Chat(ctx, m) {
		if err != nil {
			return err
		}
		r.show(e)
		c.waits = c.waits || e.Done != nil && len(e.Done.Awaits) > 0
	}
	c.calls, c.waiting = r.calls, r.waiting
	if c.waits {
		if found, err := c.look(ctx, "limit=1"); err == nil { // what was said now is shown already
			c.seen = found.Skip + len(found.Said)
		}
	}
	return nil
}

// Talk talks until the input ends: with an editable prompt if both sides are terminals,
// else line by line.
func (c *Conversation) Talk(ctx context.Context) error {
	if !c.JSON && terminal.CanTalk(c.In, c.Out) {
		in, _ := c.In.(*os.File)
		out, _ := c.Out.(*os.File)
		for line := range strings.Lines(phrase.In(c.Language, "Connected to %s.\n/help lists the commands.\n",
			c.gateway(ctx))) {
			fmt.Fprint(c.Out, terminal.Hang("", line, terminal.Width()))
		}
		if c.last != "" {
			fmt.Fprintf(c.Out, "\n%s\n", c.last)
		}
		return terminal.Talk(ctx, terminal.Config{
			In: in, Out: out, Say: c.Console.Say, Plain: terminal.Plain(), Complete: c.complete, History: c.history,
			Offers: c.offers, Keys: map[string]string{"ctrl+o": Unfold},
			Send: func(ctx context.Context, text string, out io.Writer) error {
				c.Console = c.OnScreen(out)
				return c.handle(ctx, text)
			},
			Idle: func(ctx context.Context, out io.Writer) {
				c.Console = c.OnScreen(out)
				c.late(ctx)
			},
		})
	}
	c.NoteGateway(ctx)
	lines := bufio.NewScanner(c.In)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for lines.Scan() && ctx.Err() == nil {
		c.late(ctx)
		err := c.handle(ctx, strings.TrimSpace(lines.Text()))
		if errors.Is(err, terminal.ErrLeave) {
			return nil
		}
		if err != nil {
			fmt.Fprintf(c.Err, "etui: %v\n", phrase.Say(c.Language, err))
		}
	}
	return lines.Err()
}

// handle runs a command of the conversation, or sends a message.
func (c *Conversation) handle(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	name, rest, _ := strings.Cut(text, " ")
	if name == "/exit" {
		name = "/quit"
	}
	list := commands()
	if i := slices.IndexFunc(list, func(own ownCommand) bool { return own.name == name }); i >= 0 {
		return list[i].run(ctx, c, strings.TrimSpace(rest))
	}
	if strings.HasPrefix(name, "/") && !strings.Contains(name[1:], "/") {
		return config.Usagef("there is no command %s%s; /help lists them", name,
			phrase.Near(name, slices.Values(commandNames())))
	}
	m, err := c.message(text)
	if err != nil {
		return err
	}
	return c.send(ctx, m)
}

func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// complete returns the commands, skills or tools that the last word may become.
func (c *Conversation) complete(ctx context.Context, before string) []string {
	words := strings.Fields(" " + before + "x") // the last one is being typed
	last := strings.TrimSuffix(words[len(words)-1], "x")
	var names []string
	switch {
	case len(words) == 1 && strings.HasPrefix(last, "/"):
		names = commandNames()
	case len(words) == 2 && words[0] == "/skill":
		names = c.client.ToolsetNames(ctx)
	case last != "":
		names = c.client.ToolNames(ctx)
	}
	return client.WithPrefix(last, names)
}
