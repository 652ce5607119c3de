// Package slack connects an engine with a Slack workspace, as a bot of an app there. Events
// arrive through Socket Mode, a WebSocket that the channel opens, or as signed requests of
// the Events API. Both hand over the same messages with the same IDs: the channel's ID and
// the timestamp, so that a message that arrives twice, as a message and as a mention or
// again after a failure, is one message.
//
// Slack's documentation names nothing that makes it post a message with the same key only
// once, so Traits.Once is false. The channel remembers in memory what was posted.
//
// The pages that it is written from are those of docs.slack.dev in 2026: "Using Socket
// Mode", "Events API", "Verifying requests from Slack", "Formatting message text", "Block
// Kit", and the reference of each method.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/names"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/store"
)

// Platform is the platform's name in facts, identities and rules.
const Platform = "slack"

// Limits of a channel.
const (
	maxText  = 4000      // characters of a message: Slack's advice, and the limit of an edit
	maxFile  = 100 << 20 // bytes of a file that is sent; Slack takes 1 GB, but it is in memory here
	maxFiles = 20 << 20  // bytes of the files of a message that arrives; others have no Data
	// maxThreads is how many threads are remembered.
	maxThreads = 4096
	maxBody    = 1 << 20 // bytes of a delivery or of an answer; larger ones are refused
)

// Config says which app a channel is. Token and one of AppToken and Secret are needed.
type Config struct {
	// Token is the bot's token: xoxb-.
	Token string
	// AppToken is an app-level token with the scope connections:write, xapp-. Events then
	// arrive through Socket Mode.
	AppToken string
	// Secret is the app's signing secret. Events then arrive as HTTP requests.
	Secret string
	// UserToken is the token of a person, xoxp-, with the scope reminders:write. Empty
	// means that there is no tool for reminders, which Slack does not let bots set.
	UserToken string
	// Workflows are the URLs that start workflows from a webhook, by the names that the
	// model calls them by. None means that there is no tool for workflows.
	Workflows map[string]string
	// Records keeps which channels have a new ID; nil keeps it in memory.
	Records store.Records
	// URL is where the API is; empty means https://slack.com/api/.
	URL string
	// Client makes all requests; nil means one with Go's defaults.
	Client *http.Client
	// Log gets what is left out and why; nil discards it.
	Log *slog.Logger
}

// Channel is a bot in a workspace. It is safe for concurrent use.
type Channel struct {
	config  Config
	api     *platform.Client
	log     *slog.Logger
	dialect markup.Dialect

	open   atomic.Pointer[session] // while Run runs
	self   atomic.Pointer[account] // once Slack was asked
	seen   *platform.Seen
	sent   *platform.Sent
	people *platform.People
	moves  *platform.Moves
	begun  *recent.Cache[string, bool] // by thread: it began with a mention
	upTo   *platform.Read
	quiet  atomic.Bool // Slack lets this app show no status
	names  *names.Directory
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Typer   = (*Channel)(nil)
	_ channel.Editor  = (*Channel)(nil)
	_ channel.Webhook = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
	_ channel.Mover   = (*Channel)(nil)
)

// New checks a configuration. It connects to nothing.
func New(config Config) (*Channel, error) {
	switch {
	case !strings.Contains(config.Token, "xoxb-"):
		return nil, errors.New("slack: token is not the token of a bot: copy the Bot User OAuth Token, xoxb-, from the app's page OAuth & Permissions")
	case config.AppToken == "" && config.Secret == "":
		return nil, errors.New("slack: set app_token for Socket Mode, or secret for the Events API over HTTP")
	case config.AppToken != "" && config.Secret != "":
		return nil, errors.New("slack: set app_token for Socket Mode or secret for the Events API over HTTP, not both: Slack uses one of them")
	case config.AppToken != "" && !strings.HasPrefix(config.AppToken, "xapp-"):
		return nil, errors.New("slack: app_token is not an app-level token: generate one, xapp-, with the scope connections:write on the app's page Basic Information")
	}
	api, err := platform.New(platform.Config{
		Name: Platform, URL: config.URL, Usual: "https://slack.com/api/", Client: config.Client,
		Limit: maxBody, Refusal: refusal, Refusals: refusals,
	})
	if err != nil {
		return nil, err
	}
	c := &Channel{
		config: config, api: api, log: platform.Log(config.Log), dialect: dialect(),
		seen: platform.NewSeen(), sent: platform.NewSent(Platform),
		people: platform.NewPeople(),
		moves: platform.NewMoves(Platform, platform.Log(config.Log),
			cmp.Or[store.Records](config.Records, &store.Memory{})),
		begun: recent.New[string, bool](maxThreads), upTo: platform.NewRead(maxThreads),
	}
	c.names = names.NewDirectory(c.find, c.log)
	c.config.Workflows = maps.Clone(config.Workflows)
	for _, name := range slices.Sorted(maps.Keys(config.Workflows)) {
		if u, err := url.Parse(config.Workflows[name]); err != nil || !c.trusted(u) {
			return nil, fmt.Errorf("slack: the URL of workflow %q is not one of Slack: copy the one that begins with https://hooks.slack.com/triggers/", name)
		}
	}
	return c, nil
}

// trusted reports whether a URL may get a token, a file or a message: it leads to Slack, or
// to the configured API.
func (c *Channel) trusted(u *url.URL) bool { return c.api.Trusts(u, "slack.com", "slack-gov.com") }

// Former implements [channel.Mover].
func (c *Channel) Former(chat string) string { return c.moves.Former(chat) }

// Traits implements [channel.Channel].
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: Platform, MaxText: maxText, Length: c.length, MaxFile: maxFile, Buttons: true,
		Direct: true, Pushed: c.config.AppToken == ""}
}

// account is who the token belongs to.
type account struct {
	User   string `json:"user_id"`
	Handle string `json:"user"`
	Bot    string `json:"bot_id"`
	Team   string `json:"team_id"`
	Name   string `json:"team"`
}

// ask asks Slack whose token it is.
func (c *Channel) ask(ctx context.Context) (*account, error) {
	var a account
	if err := c.call(ctx, c.config.Token, "auth.test", nil, &a); err != nil {
		return nil, err
	}
	if a.User == "" || a.Team == "" {
		return nil, errors.New("slack: auth.test names no user and team")
	}
	c.self.Store(&a)
	return &a, nil
}

// Probe implements [channel.Prober]. It checks the app-level token, too.
func (c *Channel) Probe(ctx context.Context) (string, error) {
	a, err := c.ask(ctx)
	if err != nil {
		return "", err
	}
	if c.config.AppToken != "" {
		if _, err := c.socketURL(ctx); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s (%s) in %s (%s)", a.Handle, a.User, a.Name, a.Team), nil
}
