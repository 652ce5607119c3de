package identity

import (
	"slices"
	"strings"
)

// Kind says how well a sender is known.
type Kind string

// The kinds.
const (
	Person Kind = "person" // a user of the configuration
	Peer   Kind = "peer"   // known to its channel only
	Guest  Kind = "guest"  // nothing is known
)

// Sender is the one who wrote a message. The zero value is a guest.
type Sender struct {
	// User is the person; nil for peers and guests.
	User *User
	// Channel and ID are the peer's: telegram and 42. Channel is empty where the client
	// itself names its users, see [Direct].
	Channel, ID string

	raw string // what user.id is
}

// Direct reports whether the users of a channel are named by the client itself and not
// by a platform: the API, the terminal, and a program that names no channel. There a
// name is that of a user, and telegram:42 an identity.
func Direct(channel string) bool { return channel == "" || channel == "api" || channel == "cli" }

// Sender returns who a message is from, given its channel and what that calls the sender.
// With the channel empty, it finds whom a text means: alice or telegram:42.
func (u *Users) Sender(channel, id string) Sender {
	if id == "" {
		return Sender{}
	}
	channel = strings.ReplaceAll(channel, ":", "%3A") // or it could imitate another one
	if user := u.ByIdentity(channel + ":" + id); user != nil {
		return Sender{User: user, raw: user.Name}
	}
	s := Sender{Channel: channel, ID: id, raw: id}
	if Direct(channel) {
		s.Channel = ""
		user := u.ByName(id)
		if before, after, ok := strings.Cut(id, ":"); user == nil && ok && before != "" && after != "" {
			user = u.ByIdentity(id)
			s.Channel, s.ID = before, after
		}
		if user != nil {
			return Sender{User: user, raw: user.Name}
		}
	} else if u.ByName(id) != nil {
		s.raw = s.Record() // not the person of that name
	}
	return s
}

// Names returns the names under which messages and records of a person are kept: the
// name and the identities of a person of the configuration, or the name of a peer, such as
// telegram:42.
func (u *Users) Names(user string) []string {
	s := u.Sender("", user)
	if s.User != nil {
		return append([]string{s.User.Name}, s.User.Identities...)
	}
	return []string{s.Record()}
}

// Kind says how well the sender is known.
func (s Sender) Kind() Kind {
	switch {
	case s.User != nil:
		return Person
	case s.ID != "":
		return Peer
	}
	return Guest
}

// Fact is the sender as rules read it, in user.id: the name of a person, or what the
// channel calls a peer. A peer whose ID is the name of a person is written with the
// channel: irc:alice.
func (s Sender) Fact() string { return s.raw }

// Record is the sender in records that last: the name of a person, or the identity of a
// peer. No two senders have the same; it is empty for guests.
func (s Sender) Record() string {
	switch {
	case s.User != nil:
		return s.User.Name
	case s.Channel != "":
		return s.Channel + ":" + s.ID
	}
	return s.ID
}

// Owns reports whether what is kept under a [Sender.Record] belongs to a person: under
// the name, or under one of the identities, from before the configuration knew it.
func (u *User) Owns(record string) bool {
	return record != "" && (record == u.Name || slices.Contains(u.Identities, record))
}
