// Package identity knows people: which person of a configuration wrote a message, and
// whose an API key is.
//
// A channel calls a sender by an identity such as telegram:42. [Users] map identities to
// persons, who have a name, roles, groups and attributes. A sender whom no user claims is
// a peer, and one without an identity a guest: neither has any right that a person has,
// whatever the name looks like.
//
// Identities are compared byte by byte. A sender who differs from a user's identity in
// case or in Unicode form is another sender. Users are immutable and safe for
// concurrent use; [Keys] are safe for concurrent use.
package identity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/etui-run/etui/phrase"
)

// The bounds of a user, and of what a message may say about its sender. [New] refuses
// users beyond them, and an engine messages.
const (
	// MaxText is the longest name, identity, role or group, in bytes.
	MaxText = 200
	// MaxList is how many identities, roles, groups or attributes there may be.
	MaxList = 64
	// MaxValue is the longest value of an attribute, in bytes.
	MaxValue = 1024
)

// KeyChannel is what the identity of an API key begins with: key:laptop.
const KeyChannel = "key"

// System is the channel of messages that etui itself writes, such as the results of
// sub-agents. No client can use it.
const System = "system"

// User is a person of the configuration.
type User struct {
	// Name is unique, also without regard to case. It has no colon.
	Name string
	// Identities are how channels call the person, as CHANNEL:ID. The identity key:NAME
	// is an API key.
	Identities []string
	// Roles, Groups and Attrs are what rules read.
	Roles, Groups []string
	Attrs         map[string]string
	// Language is that of etui's own words to the person; empty means the one of the platform.
	Language string
}

// Users are the persons of a configuration. A nil *Users has none.
type Users struct {
	list  []User
	named map[string]*User
	known map[string]*User // by identity
}

// Error is a mistake in a user.
type Error struct {
	// User is the position of the user. Other is that of a second user with the same
	// claim, or -1.
	User, Other int
	// Reason says what is wrong and what would be right.
	Reason string
}

func (e *Error) Error() string { return e.Reason }

// New checks users. The error joins an [*Error] for every mistake.
func New(list []User) (*Users, error) {
	u := &Users{list: slices.Clone(list), named: map[string]*User{}, known: map[string]*User{}}
	c := checker{names: map[string]claim{}, identities: map[string]claim{}}
	for i := range u.list {
		user := &u.list[i]
		user.Identities, user.Roles, user.Groups = slices.Clone(user.Identities), slices.Clone(user.Roles),
			slices.Clone(user.Groups)
		user.Attrs = maps.Clone(user.Attrs)
		c.user(i, user)
		u.named[user.Name] = user
		for _, id := range user.Identities {
			u.known[id] = user
		}
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	return u, nil
}

// checker collects what is wrong with users.
type checker struct {
	names, identities map[string]claim // by their folded form
	errs              []error
}

type claim struct {
	user int
	text string
}

func (c *checker) fail(user, other int, format string, args ...any) {
	c.errs = append(c.errs, &Error{user, other, fmt.Sprintf(format, args...)})
}

func (c *checker) user(i int, u *User) {
	if problem := badText(u.Name); problem != "" {
		c.fail(i, -1, "the name %q of a user %s", u.Name, problem)
	} else if strings.Contains(u.Name, ":") {
		c.fail(i, -1, "the name %q of a user contains a colon; an identity such as telegram:42 belongs under identities", u.Name)
	}
	c.claim(i, c.names, u.Name, func(other claim) string {
		if other.text == u.Name {
			return fmt.Sprintf("the user %q is defined twice", u.Name)
		}
		return fmt.Sprintf("the users %q and %q differ only in case; one would be taken for the other", other.text,
			u.Name)
	})
	for _, id := range u.Identities {
		c.identity(i, u.Name, id)
	}
	for what, list := range map[string][]string{"identities": u.Identities, "roles": u.Roles, "groups": u.Groups} {
		if len(list) > MaxList {
			c.fail(i, -1, "the user %s has %d %s, at most %d are allowed", u.Name, len(list), what, MaxList)
		}
	}
	for _, text := range slices.Concat(u.Roles, u.Groups) {
		if problem := badText(text); problem != "" {
			c.fail(i, -1, "the role or group %q of the user %s %s", text, u.Name, problem)
		}
	}
	if len(u.Attrs) > MaxList {
		c.fail(i, -1, "the user %s has %d attributes, at most %d are allowed", u.Name, len(u.Attrs), MaxList)
	}
	for name, value := range u.Attrs {
		if problem := badText(name); problem != "" {
			c.fail(i, -1, "the attribute %q of the user %s %s", name, u.Name, problem)
		} else if len(value) > MaxValue {
			c.fail(i, -1, "the attribute %s of the user %s has %d bytes, at most %d are allowed", name, u.Name,
				len(value), MaxValue)
		}
	}
}

func (c *checker) identity(i int, name, id string) {
	channel, peer, ok := strings.Cut(id, ":")
	switch problem := badText(id); {
	case problem != "":
		c.fail(i, -1, "the identity %q of the user %s %s", id, name, problem)
	case !ok || channel == "" || peer == "":
		c.fail(i, -1, "the identity %q of the user %s must be a channel and an ID, as in telegram:42", id, name)
	case channel != strings.ToLower(channel):
		c.fail(i, -1, "the identity %q of the user %s: names of channels are lower-case: %s:%s", id, name,
			strings.ToLower(channel), peer)
	}
	c.claim(i, c.identities, id, func(other claim) string {
		switch {
		case other.text != id:
			return fmt.Sprintf("the identities %q and %q differ only in case; one sender would be taken for the other",
				other.text, id)
		case other.user == i:
			return fmt.Sprintf("the user %s has the identity %s twice", name, id)
		}
		return fmt.Sprintf("the identity %s of the user %s belongs to another user already", id, name)
	})
}

func (c *checker) claim(i int, all map[string]claim, text string, problem func(claim) string) {
	folded := cases.Fold().String(text)
	if other, ok := all[folded]; ok {
		c.fail(i, other.user, "%s", problem(other))
		return
	}
	all[folded] = claim{i, text}
}

// badText says why a text cannot be a name; it is empty when it can.
func badText(text string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	switch {
	case text == "":
		return "is empty"
	case len(text) > MaxText:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(text), MaxText)
	case strings.ContainsFunc(text, hidden):
		return "contains a character that cannot be seen"
	case text != strings.TrimSpace(text):
		return "begins or ends with a space"
	case !norm.NFC.IsNormalString(text):
		return fmt.Sprintf("is not in the Unicode form NFC; write %q with composed characters", norm.NFC.String(text))
	}
	return ""
}

// All returns the users, in order. The caller must not change them.
func (u *Users) All() []User {
	if u == nil {
		return nil
	}
	return u.list
}

// ByName returns the user with a name, or nil.
func (u *Users) ByName(name string) *User {
	if u == nil {
		return nil
	}
	return u.named[name]
}

// ByIdentity returns the user with an identity such as telegram:42, or nil.
func (u *Users) ByIdentity(identity string) *User {
	if u == nil {
		return nil
	}
	return u.known[identity]
}

// Hint suggests the user that a name probably means, as the end of a sentence.
func (u *Users) Hint(name string) phrase.Hint {
	return phrase.Near(name, func(yield func(string) bool) {
		for _, user := range u.All() {
			if !yield(user.Name) {
				return
			}
		}
	})
}
