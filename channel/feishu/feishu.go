// Package feishu connects an engine with Feishu (飞书) or Lark, as the bot of a custom app
// (企业自建应用). Events arrive through a long connection (长连接), a WebSocket that the
// channel opens, or as signed and encrypted requests. Both hand over the same messages with
// the same IDs.
//
// It is written from the pages of open.feishu.cn and open.larksuite.com as they were in
// November 2026, which stand beside what they say, and from two public programs of the
// platform: github.com/larksuite/oapi-sdk-go v3.5.3, of which package ws is the only
// description of the long connection, and the table of error codes in
// github.com/larksuite/cli (internal/output/lark_errors.go, 2026-04-18). The SDK is 20 MB of
// source, so the few calls are made with net/http.
package feishu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
)

// Platform is the platform's name in facts, identities and rules, also for Lark.
const Platform = "feishu"

// Limits of a channel.
const (
	maxFiles  = 20 << 20 // bytes of the files of a message that arrives; others have no Data
	maxBody   = 1 << 20  // bytes of a delivery or of an answer; larger ones are refused
	maxSeen   = 4096     // messages of the bot, and direct chats; the oldest are forgotten
	maxPeople = 1000     // people and chats of which something is known
	maxCards  = 1 << 20  // bytes of the texts of cards with buttons
)

// Config says which app a channel is. AppID and AppSecret are needed.
type Config struct {
	// AppID and AppSecret are those of the app's page Credentials & Basic Info (凭证与基础信息).
	AppID, AppSecret string
	// EncryptKey and VerificationToken are those of the page Events & Callbacks (事件与回调),
	// Encryption Strategy (加密策略). With both, events arrive as HTTP requests; with
	// neither, through a long connection.
	EncryptKey, VerificationToken string
	// Region is feishu for open.feishu.cn, lark for open.larksuite.com; empty means feishu.
	Region string
	// URL is where the API is; empty means the region's own.
	URL string
	// Client makes all requests; nil means one with Go's defaults.
	Client *http.Client
	// Log gets what is left out and why; nil discards it.
	Log *slog.Logger
}

// Channel is the bot of an app. It is safe for concurrent use.
type Channel struct {
	config  Config
	api     *platform.Client
	key     [32]byte // of AES
	log     *slog.Logger
	dialect markup.Dialect

	tokens *platform.Tokens
	open   atomic.Pointer[session] // while Run runs
	self   atomic.Pointer[account] // once the platform was asked
	seen   *platform.Seen
	quoted *platform.Seen              // messages that threads have quoted
	begun  *recent.Cache[string, bool] // whether a thread began with a mention, by its first message
	sent   *platform.Sent
	mine   *recent.Cache[string, kind]   // by message: what the bot has sent
	cards  *recent.Cache[string, string] // by message: the text above buttons
	marks  *recent.Cache[string, string] // by message: the emoji on it
	people *platform.Facts[string, person]
	chats  *platform.Facts[string, group]
	peers  *recent.Cache[string, string] // by direct chat: who writes there
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Editor  = (*Channel)(nil)
	_ channel.Marker  = (*Channel)(nil)
	_ channel.Webhook = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
)

// New checks a configuration. It connects to nothing.
func New(config Config) (*Channel, error) {
	base, ok := map[string]string{"": "https://open.feishu.cn", "feishu": "https://open.feishu.cn",
		"lark": "https://open.larksuite.com"}[config.Region]
	switch {
	case !strings.HasPrefix(config.AppID, "cli_"):
		return nil, errors.New("feishu: app_id is not the ID of an app: copy the App ID, cli_, from the app's page Credentials & Basic Info (凭证与基础信息)")
	case config.AppSecret == "":
		return nil, errors.New("feishu: set secret: copy the App Secret from the app's page Credentials & Basic Info (凭证与基础信息)")
	case config.EncryptKey == "" && config.VerificationToken != "":
		return nil, errors.New("feishu: set key, too, the Encrypt Key of Events & Callbacks → Encryption Strategy (事件与回调 → 加密策略): without it nothing signs deliveries; leave token out for a long connection")
	case config.EncryptKey != "" && config.VerificationToken == "":
		return nil, errors.New("feishu: set token, too, the Verification Token of Events & Callbacks → Encryption Strategy (事件与回调 → 加密策略); leave key out for a long connection")
	case !ok:
		return nil, fmt.Errorf("feishu: the region is %q; it is feishu or lark", printable.Line(config.Region, 40))
	}
	api, err := platform.New(platform.Config{
		Name: Platform, URL: config.URL, Usual: base, Client: config.Client,
		Limit: maxBody, Refusal: refusal, Refusals: refusals,
	})
	if err != nil {
		return nil, err
	}
	c := &Channel{
		config: config, api: api, key: aesKey(config.EncryptKey), log: platform.Log(config.Log), dialect: dialect(),
		seen: platform.NewSeen(), quoted: platform.NewSeen(), begun: recent.New[string, bool](maxPeople),
		sent:   platform.NewSent(Platform),
		mine:   recent.New[string, kind](maxSeen),
		cards:  recent.NewSized[string](maxCards, func(s string) int { return len(s) }),
		marks:  recent.New[string, string](maxPeople),
		people: platform.NewFacts[string, person](maxPeople, 10*time.Minute, time.Minute),
		chats:  platform.NewFacts[string, group](maxPeople, 10*time.Minute, time.Minute),
		peers:  recent.New[string, string](maxSeen),
	}
	c.tokens = platform.NewTokens(time.Now, c.fetchToken, expired...)
	return c, nil
}

// pushed reports whether events arrive as HTTP requests.
func (c *Channel) pushed() bool { return c.config.EncryptKey != "" }

// Traits implements [channel.Channel]. The platform sends messages with the same key once
// within an hour; later, the channel itself remembers as long as it runs.
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: Platform, MaxText: maxText, Length: c.length, MaxFile: maxFile, Buttons: true,
		Direct: true, Pushed: c.pushed(), Once: true}
}

// account is the bot.
type account struct {
	Name string `json:"app_name"`
	ID   string `json:"open_id"`
}

// ask asks the platform which bot it is (获取机器人信息, bot-v3/bot/get).
func (c *Channel) ask(ctx context.Context) (*account, error) {
	var answer struct{ Bot account }
	if _, err := c.request(ctx, platform.Request{Path: "bot/v3/info"}, &answer); err != nil {
		return nil, err
	}
	if answer.Bot.ID == "" {
		return nil, errors.New("feishu: bot/v3/info names no bot")
	}
	c.self.Store(&answer.Bot)
	return &answer.Bot, nil
}

// Probe implements [channel.Prober]. It checks that a long connection could be opened, too.
func (c *Channel) Probe(ctx context.Context) (string, error) {
	a, err := c.ask(ctx)
	if err != nil {
		return "", err
	}
	if !c.pushed() {
		if _, err := c.endpoint(ctx); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s (%s)", printable.Line(a.Name, 100), printable.Line(a.ID, 100)), nil
}
