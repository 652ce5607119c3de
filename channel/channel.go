// Package channel connects an engine with the places where people talk: Telegram, Slack,
// IRC and others.
//
// A [Channel] is a small adapter for one account on one platform: it hands over what
// arrives and sends what it is given. The [Host] does what all of them need: it decides who
// may write, puts messages into the engine's inbox, shows that an answer is being
// written, delivers replies in order and tries again while a platform is away. Packages
// platform and markup have what adapters share, and package channeltest has their
// conformance suite.
package channel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/etui-run/etui/channel/edited"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/names"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/phrase"
)

// Channel is an account on a platform. Run and Send may be called at the same time, and
// Send from several goroutines.
type Channel interface {
	// Traits says what the platform can do. It is constant.
	Traits() Traits
	// Run connects to the platform and hands over what arrives, until ctx ends. It loses no
	// message that the platform would send again: it acknowledges one when Receive has
	// returned nil. Messages of one chat are handed over in their order. Run returns an
	// error when the connection is lost or refused; the caller calls it again after a
	// pause. A channel that also has [Webhook] may have nothing to do here but to wait.
	Run(ctx context.Context, in Receiver) error
	// Send sends a message and returns the platform's ID of it. Its errors may wrap
	// [ErrRejected], [ErrGone] and [ErrRefused], or be a [*Limited]; all others mean that it
	// may work later.
	Send(ctx context.Context, m Outgoing) (id string, err error)
}

// Receiver takes what arrives.
type Receiver interface {
	// Receive returns nil when the message is safe: stored, or left out on purpose. After
	// an error the platform should send it again. It does not wait for the answer.
	Receive(ctx context.Context, m Incoming) error
}

// Wanted reports whether a receiver would take a message, without taking it. What costs
// something - files, roles - need not be fetched for a message that nobody wants; it is
// handed over all the same, without that.
func Wanted(ctx context.Context, in Receiver, m Incoming) bool {
	w, ok := in.(interface {
		Wants(ctx context.Context, m Incoming) bool
	})
	return !ok || w.Wants(ctx, m)
}

// Gathers is how long a receiver awaits what a person writes next, to answer it together.
func Gathers(in Receiver) time.Duration {
	if g, ok := in.(interface{ Gathers() time.Duration }); ok {
		return g.Gathers()
	}
	return 0
}

// Traits is what a platform can do.
type Traits struct {
	// Platform names it in facts, identities and rules: telegram.
	Platform string
	// Local means that the IDs of people and chats are the account's own: a network, a
	// company or a program gives them, and another one gives the same to others.
	Local bool
	// MaxText is how long the text of one message may be; 0 means that nothing bounds it.
	// Length measures a text in the platform's units; nil counts characters.
	MaxText int
	Length  func(text string) int
	// MaxCode is how many lines of a block of code are sent, where each is a message; 0 means all.
	MaxCode int
	// MaxFile is how many bytes a file may have that is sent; 0 means that the channel
	// sends no files.
	MaxFile int64
	// Buttons means that Outgoing.Buttons are shown.
	Buttons bool
	// Direct means that a person's ID is also that of the chat in which only they read.
	Direct bool
	// Pushed means that deliveries come over HTTP only, so that several processes may run the
	// account at once.
	Pushed bool
	// Once means that a platform delivers messages with the same Outgoing.Key once.
	Once bool
}

func (t Traits) room(language string) markup.Room {
	more := func(lines int) string { return phrase.In(language, "[… %d more lines]", lines) }
	return markup.Room{Max: t.MaxText, Length: t.Length, Code: t.MaxCode, More: more}
}

// Address is a place in an account: where a message came from, and where the reply goes.
type Address struct {
	// Chat is the platform's ID of the chat, also of a direct one.
	Chat string `json:"chat"`
	// Thread is a thread or topic in the chat; empty means none.
	Thread string `json:"thread,omitempty"`
	// Message is the ID of the message that is answered; empty means none.
	Message string `json:"message,omitempty"`
	// Answer is what the platform gave to answer that message by, for a short time, where the
	// account may not write otherwise; empty means nothing. It is a secret.
	Answer string `json:"answer,omitempty"`
}

// ThreadHead begins what a channel adds to a message: the thread that it is about.
const ThreadHead = "[The thread before this message]"

// Incoming is a message that a person has written.
type Incoming struct {
	// ID is the platform's ID of the message. Deliveries of the same message have the same
	// ID, different messages of a chat have different ones.
	ID   string
	From Sender
	At   Address
	// Group means that several people read the chat.
	Group bool
	// Mentioned means that a message in a group names the account, answers one of its
	// messages or is a command for it. The text is without the mention.
	Mentioned bool
	// Text is the text as Markdown, or plain. A pressed button counts as a message with
	// the button's text.
	Text string
	// Files are the files of the message, with their bytes. Those that are too large or of
	// which the platform gives no bytes have no Data; the host says so to the model.
	Files []chat.File
	// Time is when it was written; zero if the platform does not say.
	Time time.Time
	// Edited means that the message was there before and has another text now.
	Edited bool
	// Added means that nobody wrote: the account was added to the group.
	Added bool
	// Former is the ID that the chat had before the platform gave it another one.
	Former string
	// Agent is the one that the person has chosen, where the channel offers some; empty leaves it to the
	// bindings.
	Agent string

	parts  []edited.Part // the messages that are one, if several are
	before int           // bytes of Text that nobody has written
}

// Sender is who wrote a message, as the platform knows it.
type Sender struct {
	// ID is the platform's lasting ID of the person: identities of the configuration are
	// written with it, telegram:42.
	ID string
	// Handle is the name that a person can be addressed by, without an @, and Name the one
	// that is shown. Both may be empty, and neither proves who somebody is.
	Handle, Name string
	Language     string // a tag, if the platform names one
	// Bot means that a program wrote it.
	Bot bool
	// Roles are what the platform knows about the person in this chat: administrator,
	// owner, moderator, member, guest.
	Roles []string
}

// Outgoing is a message of the agent.
type Outgoing struct {
	To Address
	// Text is Markdown, and no longer than Traits allow. The channel turns it into the
	// markup of its platform.
	Text string
	// Files are no larger than Traits allow. They come after the text, each in a message of
	// its own where the platform has no better place for them.
	Files []chat.File
	// Buttons are shown below the text.
	Buttons []Button
	// Plain asks for Text without markup: the platform did not take it otherwise.
	Plain bool
	// Key is the same whenever the same message is sent again.
	Key string
}

// Button is a button under a message. Who presses it says Text.
type Button struct{ Label, Text string }

// What only some channels can do. The host asks for these powers in one place.
type (
	// Typer shows for some seconds that an answer is being written.
	Typer interface {
		Typing(ctx context.Context, to Address) error
	}
	// Editor replaces the text of a message that was sent.
	Editor interface {
		Edit(ctx context.Context, to Address, id, text string) error
	}
	// Unfolder shows the calls that are made for the message at Address.Message, where people can
	// unfold them. Those that end come again.
	Unfolder interface {
		Unfold(ctx context.Context, to Address, calls []Call) error
	}
	// Marker marks the message at Address.Message while its answer is being written, where
	// people see nothing else of that.
	Marker interface {
		Mark(ctx context.Context, to Address, busy bool) error
	}
	// Menu shows the commands where people type.
	Menu interface {
		SetMenu(ctx context.Context, commands []Command) error
	}
	// Webhook takes deliveries over HTTP. It checks their signature and their age before
	// anything else, and answers when the message is safe. The host has bounded the body.
	// Requests before Run has begun are answered with 503.
	Webhook interface {
		http.Handler
	}
	// Origins is a Webhook that pages of other sites may post to: those of the sites that it
	// allows. It refuses all others itself, too.
	Origins interface {
		AllowsOrigin(origin string) bool
	}
	// Forgetter removes what the channel itself keeps of a person, by Sender.ID, and reports
	// whether there was something.
	Forgetter interface {
		Forget(ctx context.Context, user string) (bool, error)
	}
	// Mover knows the chats to which the platform has given another ID: it returns the one that a chat
	// has had first, or nothing.
	Mover interface {
		Former(chat string) string
	}
	// Finder knows chats by the names that people see.
	Finder interface {
		Names() *names.Directory
	}
	// Prober says which account the channel has, after it has asked the platform.
	Prober interface {
		Probe(ctx context.Context) (account string, err error)
	}
)

// Command is a command that people can write in every channel.
type Command struct{ Name, Help string }

var (
	// ErrRejected says that the platform does not take this message, in this form: it is too
	// long, has a link that is not allowed, or answers one that was deleted. The host tries
	// other forms, and then gives the message up.
	ErrRejected = errors.New("the platform does not take this message")
	// ErrGone says that nobody can be reached at an address any more, or that the account may
	// not write there: the chat was deleted, or the person has blocked it. The reply is given up.
	ErrGone = errors.New("nobody can be reached there any more")
	// ErrRefused says that the platform does not accept the account: its token was revoked,
	// or a right is missing. Replies wait until it is set right.
	ErrRefused = errors.New("the platform refuses the account")
)

// Scope is what a [Limited] is about.
type Scope int

// The scopes.
const (
	WholeAccount Scope = iota // all that is sent
	OneKind                   // requests of this kind, such as edits
	OneChat                   // requests of this kind in this chat
)

// Limited says that the platform wants less: nothing of the scope should be sent for a while.
type Limited struct {
	After time.Duration
	Scope Scope
	Err   error
}

func (l *Limited) Error() string {
	return fmt.Sprintf("the platform asks to wait for %s: %v", l.After.Round(time.Second), l.Err)
}

func (l *Limited) Unwrap() error { return l.Err }
