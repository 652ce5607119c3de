package rulebook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/inquiry"
	"github.com/etui-run/etui/rules"
)

// approver is a rule that says who may answer what waits for an approval.
type approver struct {
	config.ApprovalRule
	rules *rules.Rules // this one alone: ask without a rule means that it does not decide
	chats []chatName
}

// chatName is a chat of a channel of the configuration.
type chatName struct{ account, platform, chat string }

// approversOf compiles the rules for approvals of a configuration. The error joins a [config.Error]
// for every mistake.
func approversOf(c *config.Config) (list []approver, err error) {
	for _, r := range c.Policy.Approvals.Rules {
		made := approver{ApprovalRule: r}
		var wrong error
		made.rules, wrong = compileRules(rules.Policy, []config.CallRule{{
			Name: r.Name, Allow: r.Allow, Ask: r.Ask, Deny: r.Deny, When: r.When, Reason: r.Reason,
			ConditionPlace: r.ConditionPlace,
		}}, config.CallDefaults{Read: "ask", Write: "ask", Destructive: "ask"})
		fail := func(format string, args ...any) {
			wrong = errors.Join(wrong, config.Error{
				File: r.Place.File, Line: r.Place.Line, Column: r.Place.Column, Message: fmt.Sprintf(format, args...),
			})
		}
		if made.named() && len(r.Allow) == 0 {
			fail("users, roles and chats say who may decide, so they need allow")
		}
		for _, name := range r.Users {
			if !slices.ContainsFunc(c.Users, func(u config.User) bool { return u.Name == name }) {
				fail("there is no user %q under users", name)
			}
		}
		for _, role := range r.Roles {
			if !slices.ContainsFunc(c.Users, func(u config.User) bool { return slices.Contains(u.Roles, role) }) {
				fail("nobody under users has the role %q", role)
			}
		}
		for _, name := range r.Chats {
			chat, ok := chatOf(c, name)
			if !ok {
				fail("no channel has the chat %q: write the name of a channel and that of the chat, or its ID, as in slack:#ops", name)
			}
			if strings.HasPrefix(chat.chat, "#") && !config.HasNames(chat.platform) { // it would never match
				fail("%q is a name, and %s knows chats by their IDs: write %s:ID", name, chat.platform, chat.account)
			}
			made.chats = append(made.chats, chat)
		}
		err = errors.Join(err, wrong)
		list = append(list, made)
	}
	return list, err
}

// chatOf finds a chat: by the name of its channel, or as a group that only one channel has.
func chatOf(c *config.Config, name string) (found chatName, ok bool) {
	account, chat, _ := strings.Cut(name, ":")
	for _, channel := range c.Channels {
		switch {
		case channel.Name == account && chat != "":
			return chatName{account, channel.Type, chat}, true
		case slices.Contains(channel.Groups, name) && ok:
			return found, false
		case slices.Contains(channel.Groups, name):
			found, ok = chatName{channel.Name, channel.Type, name}, true
		}
	}
	return found, ok
}

// Chats returns the names of chats of a channel that rules for approvals have.
func Chats(c *config.Config, channel string) (list []string) {
	for _, r := range c.Policy.Approvals.Rules {
		for _, name := range r.Chats {
			if chat, ok := chatOf(c, name); ok && chat.account == channel {
				list = append(list, chat.chat)
			}
		}
	}
	return list
}

// named reports whether the rule names who may decide.
func (a approver) named() bool { return len(a.Users)+len(a.Roles)+len(a.Chats) > 0 }

// decide says what the rule makes of an answer: ask means nothing, but if it asks.
func (a approver) decide(ctx context.Context, of rules.Attempt, chat ChatFunc) rules.Decision {
	d := a.rules.Decide(ctx, of)
	if d.Effect == rules.Allow && a.named() && !a.names(ctx, of, chat) {
		return rules.Decision{Effect: rules.Deny}
	}
	return d
}

// names reports whether the rule names somebody who answers.
func (a approver) names(ctx context.Context, of rules.Attempt, chat ChatFunc) bool {
	f := of.Facts
	person := Of(of.Now).users.ByName(f.Sender) != nil
	return person && slices.Contains(a.Users, f.Sender) ||
		person && slices.ContainsFunc(a.Roles, func(role string) bool { return slices.Contains(f.Roles, role) }) ||
		slices.ContainsFunc(a.chats, func(c chatName) bool {
			switch {
			case f.Channel != c.platform || f.Attrs["account"] != c.account || f.Chat == "":
				return false
			case f.Chat == c.chat || f.Chat == c.account+"/"+c.chat:
				return true
			case chat == nil || !strings.HasPrefix(c.chat, "#"):
				return false
			}
			at, err := chat(ctx, c.account+":"+c.chat)
			return err == nil && f.Chat == at.From.Chat
		})
}

// ChatFunc finds a chat by the name of its channel and its own, as [inquiry.Places] does; nil finds none.
type ChatFunc func(ctx context.Context, name string) (inquiry.Place, error)

// Approve says who may answer what waits for an approval, by the rules in effect. Deny wins over ask,
// and ask over allow; nobody else may answer for a tool that allow rules name.
func (chat ChatFunc) Approve(ctx context.Context, of rules.Attempt) rules.Decision {
	allowed, named, asks := false, false, false
	for _, a := range Of(of.Now).approvers {
		switch d := a.decide(ctx, of, chat); {
		case d.Effect == rules.Allow:
			allowed = true
		case d.Effect == rules.Deny && len(a.Deny) > 0 && d.Rule != "":
			return d
		case d.Effect == rules.Deny:
			named = true
		case d.Rule != "":
			asks = true
		}
	}
	switch {
	case allowed && !asks:
		return rules.Decision{Effect: rules.Allow}
	case named && !asks:
		return rules.Decision{Effect: rules.Deny}
	}
	return rules.Decision{Effect: rules.Ask}
}

// Circles returns those whom the rules in effect let decide about a tool.
func (chat ChatFunc) Circles(of rules.Attempt) (list []inquiry.Circle) {
	if of.Entry == nil {
		return nil
	}
	for _, a := range Of(of.Now).approvers {
		if d := a.rules.Decide(context.Background(), of); len(a.Allow) == 0 || d.Effect == rules.Ask {
			continue
		}
		c := inquiry.Circle{After: a.After, Remind: a.Remind,
			Decides: func(ctx context.Context, of rules.Attempt) bool {
				return a.decide(ctx, of, chat).Effect == rules.Allow
			}}
		for _, chat := range a.chats {
			c.Chats = append(c.Chats, chat.account+":"+chat.chat)
		}
		list = append(list, c)
	}
	return list
}
