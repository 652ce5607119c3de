// Package discord connects an engine with Discord, as the bot of an application there.
// Messages and pressed buttons arrive through the Gateway, a WebSocket that the channel
// opens; everything else goes over HTTP.
//
// The Gateway keeps what it has sent for some minutes, so that a session whose connection
// is lost goes on where it stopped. A message counts as received when it is safe: what was
// not accepted arrives again when the session resumes. What people write while there is no
// session to resume, for example while the program is not running, Discord does not deliver.
//
// Messages carry a nonce that is made from Outgoing.Key, and Discord posts a second one with
// the same nonce "in the past few minutes" not again. That promise ends too soon for
// Traits.Once, which is therefore false; while the program runs it also remembers what it
// has posted.
//
// The pages that it is written from are those of github.com/discord/discord-api-docs on
// 2026-08-06 (commit c98d64b): "Gateway", "Gateway Events", "Rate Limits", "Opcodes and
// Status Codes", "Message Resource", "Receiving and Responding", "Application Commands",
// "Component Reference", "Threads" and "Poll Resource".
package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/names"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
)

// Platform is the platform's name in facts, identities and rules.
const Platform = "discord"

// Limits of a channel.
const (
	maxText   = 2000     // characters of a message
	maxFile   = 10 << 20 // bytes of a file that is sent: Discord's limit where nobody pays for more
	maxFiles  = 20 << 20 // bytes of the files of a message that arrives; others have no Data
	maxBody   = 4 << 20  // bytes of an answer or of an event; larger ones are refused
	maxKnown  = 4096     // messages, limits and the like that are remembered; the oldest are forgotten
	maxGuilds = 500      // servers whose roles are known
)

// Config says which bot a channel is.
type Config struct {
	// Token is the bot's token.
	Token string
	// URL is where the API is; empty means https://discord.com/api/v10/.
	URL string
	// Client makes all requests; nil means one with Go's defaults.
	Client *http.Client
	// Log gets what is left out and why; nil discards it.
	Log *slog.Logger
}

// Channel is a bot. It is safe for concurrent use.
type Channel struct {
	token   string
	api     *platform.Client
	log     *slog.Logger
	dialect markup.Dialect
	pace    *rate.Limiter // of all calls
	limits  *limits

	self       atomic.Pointer[account] // once Discord was asked
	last       resumable               // Run's
	identified time.Time               // when a session was last begun; Run's
	between    time.Duration           // from one beginning of a session to the next

	seen    *platform.Seen // by chat and ID
	sent    *platform.Sent
	waiting *recent.Cache[string, *promise] // commands that have no answer yet
	places  *recent.Cache[string, place]    // by the channel's ID
	guilds  *platform.Facts[string, guild]
	begun   *recent.Cache[string, bool] // by thread: its message mentions the bot
	upTo    *platform.Read
	names   *names.Directory
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Typer   = (*Channel)(nil)
	_ channel.Editor  = (*Channel)(nil)
	_ channel.Menu    = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
)

// New checks a configuration. It connects to nothing.
func New(config Config) (*Channel, error) {
	token := strings.TrimSpace(strings.TrimPrefix(config.Token, "Bot "))
	if parts := strings.Split(token, "."); len(parts) != 3 || slices.Contains(parts, "") ||
		strings.ContainsAny(token, " \t\r\n") {
		return nil, errors.New("discord: token is not the token of a bot: copy it in the Developer Portal from the application's page Bot, behind Reset Token")
	}
	api, err := platform.New(platform.Config{
		Name: Platform, URL: config.URL, Usual: "https://discord.com/api/v10/", Client: config.Client,
		Header: http.Header{"User-Agent": {agent}}, Limit: maxBody, Refusal: refusal, Refusals: refusals,
	})
	if err != nil {
		return nil, err
	}
	c := &Channel{
		token: token, api: api, log: platform.Log(config.Log), dialect: dialect(), limits: newLimits(),
		pace:    rate.NewLimiter(40, 40), // Discord allows 50 a second
		between: 5 * time.Second,         // Discord's time for max_concurrency, which is 1 for almost all bots
		seen:    platform.NewSeen(), sent: platform.NewSent(Platform),
		waiting: recent.New[string, *promise](maxKnown), places: recent.New[string, place](maxKnown),
		guilds: platform.NewFacts[string, guild](maxGuilds, 5*time.Minute, time.Minute),
		begun:  recent.New[string, bool](maxThreads), upTo: platform.NewRead(maxThreads),
	}
	c.names = names.NewDirectory(c.find, c.log)
	return c, nil
}

// Traits implements [channel.Channel].
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: Platform, MaxText: maxText, Length: c.length, MaxFile: maxFile, Buttons: true}
}

// account is who the token belongs to.
type account struct {
	App, User, Name string
}

// ask asks Discord whose token it is.
func (c *Channel) ask(ctx context.Context) (a *account, mayRead bool, err error) {
	var answer struct {
		ID    string
		Flags int64
		Bot   user
	}
	if err := c.call(ctx, "GET", "applications/@me", nil, nil, &answer); err != nil {
		return nil, false, err
	}
	if !snowflake(answer.ID) || !snowflake(answer.Bot.ID) {
		return nil, false, errors.New("discord: applications/@me names no application and bot")
	}
	const content, contentLimited = 1 << 18, 1 << 19
	a = &account{answer.ID, answer.Bot.ID, platform.Word(answer.Bot.Username)}
	c.self.Store(a)
	return a, answer.Flags&(content|contentLimited) != 0, nil
}

// who returns whose token it is.
func (c *Channel) who(ctx context.Context) (*account, error) {
	if a := c.self.Load(); a != nil {
		return a, nil
	}
	a, _, err := c.ask(ctx)
	return a, err
}

// Probe implements [channel.Prober]. It also checks that the bot may read messages.
func (c *Channel) Probe(ctx context.Context) (string, error) {
	a, mayRead, err := c.ask(ctx)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s (%s)", a.Name, a.User)
	if !mayRead {
		return name, errIntent
	}
	return name, nil
}

// errIntent says which right the bot lacks.
var errIntent = fmt.Errorf("discord: the bot may not read messages: in the Developer Portal (https://discord.com/developers/applications) open the application, then Bot, and switch on MESSAGE CONTENT INTENT under Privileged Gateway Intents: %w", channel.ErrRefused)

// snowflake reports whether s is an ID of Discord.
func snowflake(s string) bool {
	return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}
