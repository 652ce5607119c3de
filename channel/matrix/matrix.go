// Package matrix connects an account on a Matrix homeserver over the client-server API.
//
// The homeserver is asked for what is new since a position, and keeps everything. The position
// moves when all messages before it are safe, and is kept in the engine's records: what people
// write while the program is not running arrives with its next start. Messages that are older
// than a week then are left out, and so is what was written before the first start.
//
// A message carries a transaction ID that is made from Outgoing.Key, and a homeserver takes the
// same one once: Synapse remembers it for a day, Dendrite for half an hour.
//
// Rooms that are encrypted end to end are not supported: the channel says so there, once.
//
// The pages that it is written from are those of https://spec.matrix.org/v1.16/client-server-api/:
// "Syncing", "Sending events to a room", "Instant messaging", "Event replacements",
// "Threading", "Rich replies", "User and room mentions",
// "Content repository", "Direct messaging", "Typing notifications", "Receipts",
// "Permissions", "Standard error response" and "Rate limiting"; and for polls the proposal
// MSC3381, under the names that clients use.
package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuin/goldmark"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/names"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/store"
)

// Platform is the platform's name in facts, identities and rules.
const Platform = "matrix"

// Limits of a channel.
const (
	maxText    = 16_000   // bytes of a text; an event has 65,536 with its markup
	maxHTML    = 30_000   // bytes of the markup of a text; beyond, the text comes without
	maxFile    = 10 << 20 // bytes of a file that is sent: what Dendrite takes; Synapse takes 50 MB
	maxFiles   = 20 << 20 // bytes of the files of a message that arrives; others have no Data
	maxBody    = 32 << 20 // bytes of an answer; of a larger one, less is asked for
	maxMembers = 1 << 20  // bytes of the list of a room's people; a room with a longer one is a group
	maxKnown   = 4096     // messages, rooms, people and the like that are remembered; the oldest are forgotten
	maxID      = 255      // bytes of the IDs of Matrix

	pollTime = 30 * time.Second // for which the homeserver waits for something new
	// knownFor is for how long an answer about a room or its people is believed, if no event says
	// that it changed.
	knownFor = 5 * time.Minute
)

// Config says which account a channel is.
type Config struct {
	// URL is the homeserver: https://matrix.example.org. With http it is on this machine or in
	// its network, as the token is sent there.
	URL string
	// Token is an access token of the account.
	Token string
	// Groups are the IDs or addresses of the rooms in which the account answers, or "*" for all. A room
	// with one other person is a direct chat, unless it is one of these.
	Groups []string
	// Strangers means that strangers who invite the account to a direct chat read something
	// there, such as a code for pairing, so that it joins.
	Strangers bool
	// Records keeps the position; nil keeps it in memory.
	Records store.Records
	// Client makes all requests; nil means one with Go's defaults.
	Client *http.Client
	// Log gets what is left out and why; nil discards it.
	Log *slog.Logger
}

// Channel is an account. It is safe for concurrent use.
type Channel struct {
	config   Config
	api      *platform.Client
	log      *slog.Logger
	markdown goldmark.Markdown

	self    atomic.Pointer[account] // once the homeserver was asked
	salt    atomic.Pointer[string]  // of transaction IDs
	tries   map[string]int          // to join a room; Run's
	directs direct

	seen    *platform.Seen               // events that are safe
	mine    *platform.Seen               // events of the account
	events  *recent.Cache[string, cited] // that are answered, by ID
	sent    *platform.Sent
	names   *recent.Cache[string, string]        // of people, by room and ID
	places  *platform.Facts[string, bool]        // by room: whether it is a group
	levels  *platform.Facts[string, powerLevels] // by room
	upTo    *platform.Read                       // of threads
	told    *platform.Seen                       // encrypted rooms that were told so
	reading chan struct{}                        // a place for each receipt that is on its way
	moves   *platform.Moves                      // rooms that were replaced
	aliases *names.Directory
	resolve sync.Mutex // while a direct chat is found or begun
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Typer   = (*Channel)(nil)
	_ channel.Editor  = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
	_ channel.Mover   = (*Channel)(nil)
)

// New checks a configuration. It connects to nothing.
func New(config Config) (*Channel, error) {
	if config.URL == "" {
		return nil, errors.New("matrix: url is missing: it is the address of the homeserver, such as https://matrix.example.org")
	}
	if config.Token == "" || strings.ContainsFunc(config.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("matrix: token is not an access token: docs/channels/matrix.md says how to get one")
	}
	for _, g := range config.Groups {
		if g != channel.Everybody && !roomID(g) && !names.Is(g) {
			return nil, fmt.Errorf("matrix: groups has %q, which is neither the address of a room, as in #ops:example.org, nor its ID: that begins with !, and in Element it is in Room settings, Advanced, as Internal room ID", g)
		}
	}
	api, err := platform.New(platform.Config{
		Name: Platform, URL: config.URL, Usual: "https://matrix.example.org", Plain: platform.Near,
		Client: config.Client,
		Header: http.Header{"User-Agent": {"etui"}, "Authorization": {"Bearer " + config.Token}},
		Secret: config.Token, Limit: maxBody, Refusal: refusal, Refusals: refusals,
	})
	if err != nil {
		return nil, err
	}
	config.Records = cmp.Or[store.Records](config.Records, &store.Memory{})
	c := &Channel{
		config: config, api: api, log: platform.Log(config.Log), markdown: markup.HTML(""), tries: map[string]int{},
		seen: platform.NewSeen(), mine: platform.NewSeen(), events: recent.New[string, cited](maxKnown / 4),
		sent: platform.NewSent(Platform), names: recent.New[string, string](maxKnown),
		places: platform.NewFacts[string, bool](maxKnown, knownFor, 0),
		upTo:   platform.NewRead(maxKnown / 4),
		levels: platform.NewFacts[string, powerLevels](maxKnown/8, knownFor, 0), told: platform.NewSeen(),
		reading: make(chan struct{}, 4), moves: platform.NewMoves(Platform, platform.Log(config.Log), config.Records),
	}
	c.aliases = names.NewDirectory(c.find, c.log)
	return c, nil
}

// Former implements [channel.Mover].
func (c *Channel) Former(chat string) string { return c.moves.Former(chat) }

// Traits implements [channel.Channel].
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: Platform, MaxText: maxText, Length: func(text string) int { return len(text) },
		MaxFile: maxFile, Once: true}
}

// account is who the token belongs to.
type account struct {
	ID, Name string
}

// local is the part of a person's ID before the server's name, without the @.
func local(id string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(id, "@"), ":")
	return name
}

// ask asks the homeserver whose token it is.
func (c *Channel) ask(ctx context.Context) (*account, error) {
	var answer struct {
		User string `json:"user_id"`
	}
	if err := c.call(ctx, "GET", "v3/account/whoami", nil, nil, nil, &answer); err != nil {
		return nil, err
	}
	if !userID(answer.User) {
		return nil, errors.New("matrix: the homeserver names no user of the token")
	}
	var profile struct {
		Name string `json:"displayname"`
	}
	if err := c.call(ctx, "GET", "v3/profile/{}", []string{answer.User}, nil, nil, &profile); err != nil &&
		!platform.Fails(err, notFound) {
		return nil, err
	}
	a := &account{answer.User, cmp.Or(platform.Word(profile.Name), local(answer.User))}
	c.self.Store(a)
	return a, nil
}

// who returns whose token it is.
func (c *Channel) who(ctx context.Context) (*account, error) {
	if a := c.self.Load(); a != nil {
		return a, nil
	}
	return c.ask(ctx)
}

// Probe implements [channel.Prober].
func (c *Channel) Probe(ctx context.Context) (string, error) {
	a, err := c.ask(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (%s)", a.Name, a.ID), nil
}

func roomID(s string) bool  { return id(s, '!') }
func eventID(s string) bool { return id(s, '$') }
func userID(s string) bool  { return id(s, '@') && strings.Contains(s, ":") }

// id reports whether s is an ID of Matrix with a sigil.
func id(s string, sigil byte) bool {
	return len(s) > 1 && len(s) <= maxID && s[0] == sigil &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' })
}
