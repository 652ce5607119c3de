package rulebook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/internal/nearest"
)

// usersOf makes the people of a configuration. The error joins a [config.Error] for
// every mistake.
func usersOf(list []config.User) (*identity.Users, error) {
	made := make([]identity.User, len(list))
	for i, u := range list {
		made[i] = identity.User{Name: u.Name, Identities: u.Identities, Roles: u.Roles, Groups: u.Groups,
			Attrs: u.Attrs, Language: u.Language}
	}
	users, err := identity.New(made)
	if err == nil {
		return users, nil
	}
	var errs []error
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() { // as New promises
		var e *identity.Error
		if !errors.As(err, &e) {
			errs = append(errs, err)
			continue
		}
		at := list[e.User].Place
		if e.Other >= 0 && e.Other != e.User {
			other := list[e.Other].Place
			e.Reason += "; the other one is at " +
				strings.TrimSuffix(config.Error{File: other.File, Line: other.Line}.Error(), ": ")
		}
		errs = append(errs, config.Error{File: at.File, Line: at.Line, Column: at.Column, Message: e.Reason})
	}
	return nil, errors.Join(errs...)
}

// supplied returns whether something can supply a fact that a rule reads. The facts of
// the host itself - agent, session, skill, time and the channel - are always there. Without
// users, clients say the rest; with users, only clients whose key says that they may
// speak for others count, and the users themselves.
//
// Channels fill in user.id, chat and attributes, and platform.roles where their platforms have
// roles.
func supplied(users *identity.Users, keys *identity.Keys, channels bool) func(fact string) bool {
	known := []string{"agent", "session", "skill", "time", "channel"}
	if channels {
		known = append(known, "user.id", "chat", "platform.roles", "attrs", "attrs.account", "attrs.chat_kind",
			"attrs.thread")
	}
	clients := len(users.All()) == 0 ||
		slices.ContainsFunc(keys.List(), func(k identity.Key) bool { return k.ForOthers })
	if clients {
		known = append(known, "user.id", "user.roles", "chat", "attrs")
	}
	for _, u := range users.All() {
		known = append(known, "user.id")
		if len(u.Roles) > 0 {
			known = append(known, "user.roles")
		}
		if len(u.Groups) > 0 {
			known = append(known, "user.groups")
		}
		for name := range u.Attrs {
			known = append(known, "attrs", "attrs."+name)
		}
	}
	return func(fact string) bool {
		return slices.Contains(known, fact) || clients && strings.HasPrefix(fact, "attrs.")
	}
}

// channelsOf lists what identities may begin with, besides key.
func channelsOf(c *config.Config) []string {
	names := []string{"oauth"} // of the tokens of api.issuer
	for _, ch := range c.Channels {
		names = append(names, ch.Name)
	}
	return names
}

// emptyClaims warns of identities key:NAME for which there is no key, and of those of a channel that
// does not exist.
func emptyClaims(list []config.User, keys *identity.Keys, channels []string) (warnings []error) {
	for _, u := range list {
		for _, id := range u.Identities {
			on, name, _ := strings.Cut(id, ":")
			says := ""
			switch {
			case on == identity.KeyChannel &&
				!slices.ContainsFunc(keys.List(), func(k identity.Key) bool { return k.Name == name }):
				says = fmt.Sprintf("there is no such key; etui keys add %s makes it", name)
			case on != identity.KeyChannel && !slices.Contains(channels, on):
				says = fmt.Sprintf("there is no channel %s%s", on, nearest.Hint(on, slices.Values(channels)))
			}
			if says != "" {
				warnings = append(warnings, config.Error{File: u.Place.File, Line: u.Place.Line, Column: u.Place.Column,
					Message: fmt.Sprintf("the user %s has the identity %s, and %s", u.Name, id, says)})
			}
		}
	}
	return warnings
}

// ofApprovers reports whether something can supply a fact that a rule for approvals
// reads: the engine itself says who asked.
func ofApprovers(supplied func(string) bool) func(string) bool {
	return func(fact string) bool {
		return strings.HasPrefix(fact+".", "attrs.asker.") || fact == "attrs" || supplied(fact)
	}
}
