package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/etui/internal/explanation"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/api"
)

// Question is what a person wants to know of a message that is not sent.
type Question struct {
	Text string
	// All shows every tool and skill, even those that do not match the text.
	All bool
	// Alternatives shows what other skills would get, and the roles and channels to try.
	Alternatives bool
	Try          selection.Try
}

// Explain prints what a message would get.
func (c *Conversation) Explain(ctx context.Context, ask Question) error {
	m, err := withText(c.who, ask.Text)
	if err != nil {
		return err
	}
	if m.Session == "" {
		m.History = []chat.Message{} // a new conversation
	}
	q := api.Question{Message: m, Try: ask.Try}
	q.Alternatives = ask.Alternatives || len(ask.Try.Roles)+len(ask.Try.Channels) > 0
	var x api.Answer
	if err := c.client.Do(ctx, http.MethodPost, "/api/select", q, &x); err != nil {
		return err
	}
	var refused *client.Error
	now, err := c.client.Status(ctx)
	if err = errors.Join(err, client.InForce(now)); err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusForbidden) { // a person's key says nothing about it
		phrase.Fprintf(c.Err, c.Language, "warning: %v\n", err)
	}
	if c.JSON {
		return c.PrintJSON(x)
	}
	_, err = fmt.Fprint(c.Out, explanation.Text(c.Language, x.Explanation, ask.All, c.LineWidth())+
		explanation.Refusals(c.Language, x.Refused, c.LineWidth()))
	return err
}

// Why prints what was stored about the last message of a conversation.
func (c *Conversation) Why(ctx context.Context) error {
	var turns []inspect.Turn
	if err := c.client.Do(ctx, http.MethodPost, "/api/why", api.Look{Message: c.who}, &turns); err != nil {
		return err
	}
	switch {
	case len(turns) == 0:
		return config.Usagef("nothing is stored of this conversation: each chat is a new one, so name it with --session, --as, or --channel and --user; etui sessions list has their names, and etui sessions show has what was said")
	case c.JSON:
		return c.PrintJSON(turns[0])
	}
	_, err := fmt.Fprint(c.Out, explanation.Turn(c.Language, turns[0], c.LineWidth()))
	return err
}

// skills prints the skills, and which one is active.
func (c *Conversation) skills(ctx context.Context) error {
	var s api.Toolsets
	if err := c.client.Do(ctx, http.MethodGet, "/api/skills?agent="+url.QueryEscape(c.who.Agent), nil, &s); err != nil {
		return err
	}
	return c.Print(s, func() string {
		s.Active = cmp.Or(c.who.Skill, s.Active)
		return explanation.Toolsets(c.Language, s)
	})
}

// activate makes a skill active for the messages that follow.
func (c *Conversation) activate(ctx context.Context, skill string) error {
	m := c.who
	m.Skill, m.Text = cmp.Or(skill, catalog.Full), "hi"
	var x api.Answer
	if err := c.client.Do(ctx, http.MethodPost, "/api/select", m, &x); err != nil {
		return err
	}
	c.who.Skill = m.Skill
	phrase.Fprintf(c.Out, c.Language, "The skill %s is active: %d of %d tools, %d of %d tokens.\n", m.Skill,
		x.Counts.Usable, x.Counts.All, x.Tokens.Usable, x.Tokens.All)
	return nil
}
