// Package mattermost connects an engine with a Mattermost server, as a bot account there.
// Posts arrive through a WebSocket, and everything else goes over the REST API, version 4.
//
// The server delivers a post once, and not again. So the channel keeps the time up to which
// all posts were safe in the engine's records. With each new connection it asks for what was
// written since, also while the program was not running. A post that is not safe ends the
// connection.
//
// A post carries a pending_post_id that is made from Outgoing.Key, and the server takes the
// same one once within 30 seconds. That ends too soon for Traits.Once, which is therefore
// false; while the program runs it also remembers what it has posted.
//
// It is written from github.com/mattermost/mattermost as it was in 2026: from the API reference
// in api/v4/source and the server's source in server/channels.
package mattermost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/names"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/store"
)

// Platform is the platform's name in facts, identities and rules.
const Platform = "mattermost"

// Limits of a channel.
const (
	maxText  = 16_383   // characters of a post
	maxFile  = 50 << 20 // bytes of a file that is sent; the usual limit of a server is 100 MB
	maxFiles = 20 << 20 // bytes of the files of a post that arrives; others have no Data
	maxBody  = 4 << 20  // bytes of an answer or of an event; larger ones are refused
	maxKnown = 4096     // threads that are remembered; the oldest are forgotten
)

// Config says which account a channel is.
type Config struct {
	// URL is the address of the server: https://chat.example.org. With http it is on this
	// machine or in its network, as the token is sent there.
	URL string
	// Token is the access token of a bot account.
	Token string
	// Records keeps the position; nil keeps it in memory.
	Records store.Records
	// Client makes all requests; nil means one with Go's defaults.
	Client *http.Client
	// Log gets what is left out and why; nil discards it.
	Log *slog.Logger
}

// Channel is a bot account. It is safe for concurrent use.
type Channel struct {
	config  Config
	api     *platform.Client
	log     *slog.Logger
	dialect markup.Dialect

	seen    *platform.Seen
	sent    *platform.Sent
	authors *recent.Cache[string, string] // by post that begins a thread
	upTo    *platform.Read                // by the same
	kinds   *recent.Cache[string, bool]   // by chat: whether it is a direct one
	people  *platform.People
	names   *names.Directory
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Typer   = (*Channel)(nil)
	_ channel.Editor  = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
)

// New checks a configuration. It connects to nothing.
func New(config Config) (*Channel, error) {
	if config.URL == "" {
		return nil, errors.New("mattermost: url is missing: it is that of the server, as in https://chat.example.org")
	}
	if !isID(config.Token) {
		return nil, errors.New("mattermost: token is not that of a bot: docs/channels/mattermost.md says how to get one")
	}
	api, err := platform.New(platform.Config{
		Name: Platform, URL: config.URL, Usual: "https://chat.example.org", Plain: platform.Near, Client: config.Client,
		Header: http.Header{"User-Agent": {"etui"}, "Authorization": {"Bearer " + config.Token}},
		Secret: config.Token, Limit: maxBody, Refusal: refusal,
	})
	if err != nil {
		return nil, err
	}
	config.Records = cmp.Or[store.Records](config.Records, &store.Memory{})
	c := &Channel{
		config: config, api: api, log: platform.Log(config.Log), dialect: dialect(),
		seen: platform.NewSeen(), sent: platform.NewSent(Platform), authors: recent.New[string, string](maxKnown),
		upTo:   platform.NewRead(maxKnown),
		kinds:  recent.New[string, bool](maxKnown),
		people: platform.NewPeople(),
	}
	c.names = names.NewDirectory(c.find, c.log)
	return c, nil
}

// isID reports whether s is an ID or a token of Mattermost. IDs go into paths.
func isID(s string) bool {
	return len(s) == 26 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// noRoot says that the post that begins a thread is not there any more.
const noRoot = "api.post.create_post.root_id.app_error"

// noChannel begins the codes of a channel that was archived.
const noChannel = "api.post.create_post.can_not_post_to_deleted"

// refusal returns the error of an answer. Only one of Mattermost itself says something about
// the account; a proxy's page does not.
func refusal(a *platform.Answer) *platform.Failure {
	if a.Status >= 200 && a.Status < 300 {
		return nil
	}
	var says struct{ ID, Message string }
	_ = json.Unmarshal(a.Body, &says) // a proxy answers otherwise
	f := &platform.Failure{Code: says.ID, Message: says.Message}
	switch {
	case says.ID == "":
		f.Away = true
	case a.Status == http.StatusUnauthorized:
		f.Means = channel.ErrRefused
	case a.Status == http.StatusForbidden, a.Status == http.StatusNotFound, says.ID == noRoot,
		strings.HasPrefix(says.ID, noChannel):
		f.Means = channel.ErrGone // the bot was removed from the channel, or it was deleted
	}
	return f
}

// call calls the API: body is sent and the answer is read, unless they are nil.
func (c *Channel) call(ctx context.Context, method, path string, args []string, body, into any) error {
	r := platform.Request{Call: method + " " + path, Method: method, Body: body}
	r.Path = "api/v4/" + platform.Route(path, args...)
	return c.api.Call(ctx, r, into)
}

// Traits implements [channel.Channel]. Buttons would need a server that Mattermost can
// reach, so the host writes them as text.
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: Platform, Local: true, MaxText: maxText, Length: c.length, MaxFile: maxFile}
}

// account is who the token belongs to.
type account struct {
	ID, Username string

	mention *regexp.Regexp // of its name
}

// ask asks the server whose token it is.
func (c *Channel) ask(ctx context.Context) (*account, error) {
	var a account
	if err := c.call(ctx, "GET", "users/me", nil, nil, &a); err != nil {
		return nil, err
	}
	if !isID(a.ID) || a.Username == "" {
		return nil, errors.New("mattermost: users/me names no user")
	}
	// A name has letters, digits, dots, hyphens and underscores, and dots may follow it.
	name := regexp.QuoteMeta(a.Username)
	a.mention = regexp.MustCompile(`(?i)(^|[^a-z0-9._@-])@` + name + `(?:[:,]?\s+|(\.*(?:[^a-z0-9._-]|$)))`)
	return &a, nil
}

// Probe implements [channel.Prober].
func (c *Channel) Probe(ctx context.Context) (string, error) {
	a, err := c.ask(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("@%s (%s)", platform.Word(a.Username), a.ID), nil
}
