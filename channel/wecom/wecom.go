// Package wecom is the channel of WeCom (企业微信): a self-built application (自建应用) of a
// company, which its members write to.
//
// Messages arrive at a callback URL, signed and encrypted; replies go through the API at
// qyapi.weixin.qq.com. The platform tells an application nothing of what is said in groups:
// all that arrives is direct. An application can write to groups that it has created itself;
// their address is "group:" and the group's chatid.
package wecom

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
)

// Platform is the name of the platform in facts, identities and rules.
const Platform = "wecom"

// Config says which application the channel is. CorpID, Agent, Secret, Token and AESKey are
// required.
type Config struct {
	// CorpID is the company's ID (企业ID), and Agent the application's AgentId.
	CorpID string
	Agent  int
	// Secret is the application's Secret, with which access tokens are fetched.
	Secret string
	// Token and AESKey are the Token and the EncodingAESKey of the page where the
	// application receives messages (接收消息服务器配置).
	Token, AESKey string
	// URL is the address of the API; empty means https://qyapi.weixin.qq.com.
	URL string
	// Client makes all requests; nil means one with Go's defaults.
	Client *http.Client
	// Log receives what goes wrong beside messages; nil discards it.
	Log *slog.Logger
}

// The bounds of what is kept in memory.
const (
	seenKept    = 10000            // deliveries that were handled
	peopleKept  = 1000             // members whose names are known
	peopleFresh = 10 * time.Minute // how long a name is believed
	partsKept   = 1000             // messages of which a part was sent
	fetchesKept = 8                // files that are fetched, or wait to be handed over
	fetching    = 4                // files that are fetched at a time
	lanes       = 32               // members share these, so that each one's messages stay in order
)

// Channel is an application. It is safe for concurrent use.
type Channel struct {
	config Config
	key    []byte // the AES key
	api    *platform.Client
	log    *slog.Logger
	now    func() time.Time

	mu   sync.Mutex
	run  *run           // nil while Run does not run
	work sync.WaitGroup // what Run waits for when it ends

	seed  maphash.Seed
	lanes [lanes]chan struct{}

	tokens  *platform.Tokens
	seen    *recent.Cache[string, struct{}] // by signature: deliveries that were handled
	people  *recent.Cache[string, member]
	parts   *recent.Cache[string, progress] // by the key of a message
	fetches *recent.Cache[string, *fetch]   // by media ID
	slots   chan struct{}                   // one for each file that is being fetched
	fetchMu sync.Mutex
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Webhook = (*Channel)(nil)
	_ channel.Menu    = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
)

// New returns the channel of an application. It asks the platform nothing.
func New(c Config) (*Channel, error) {
	for _, field := range []struct{ name, value string }{
		{"corporation's ID (企业ID)", c.CorpID}, {"application's Secret", c.Secret}, {"callback's Token", c.Token}, {"callback's EncodingAESKey", c.AESKey},
	} {
		if field.value == "" {
			return nil, fmt.Errorf("wecom: the %s is missing", field.name)
		}
	}
	if c.Agent <= 0 {
		return nil, errors.New("wecom: the application's AgentId is missing; it is a number such as 1000002")
	}
	key, err := base64.StdEncoding.DecodeString(c.AESKey + "=")
	if err != nil || len(key) != keySize {
		return nil, errors.New("wecom: the EncodingAESKey has not the 43 letters and digits that the page 接收消息服务器配置 shows")
	}
	api, err := platform.New(platform.Config{
		Name: Platform, URL: c.URL, Usual: "https://qyapi.weixin.qq.com", Plain: platform.Anywhere, Client: c.Client,
		Limit: maxAnswer, Time: callIn, Wait: time.Second, Refusal: refusal,
	})
	if err != nil {
		return nil, err
	}
	ch := &Channel{
		config: c, key: key, api: api, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), now: time.Now, seed: maphash.MakeSeed(),
		seen:    recent.New[string, struct{}](seenKept),
		people:  recent.New[string, member](peopleKept),
		parts:   recent.New[string, progress](partsKept),
		fetches: recent.New[string, *fetch](fetchesKept),
		slots:   make(chan struct{}, fetching),
	}
	ch.tokens = platform.NewTokens(func() time.Time { return ch.now() }, ch.fetchToken, expired...)
	for i := range ch.lanes {
		ch.lanes[i] = make(chan struct{}, 1)
	}
	return ch, nil
}

// Traits implements [channel.Channel]. The platform can leave out messages with the same
// content, but not those with the same key: Once is false, or a second "yes" within the
// interval would be lost.
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{
		Pushed:   true,
		Platform: Platform,
		Local:    true,
		MaxText:  maxText,
		Length:   func(text string) int { return len(text) },
		MaxFile:  maxFile,
		Buttons:  true,
	}
}

// run is what lasts as long as Run: who gets the messages, and a function that lets a
// context end with it.
type run struct {
	in   channel.Receiver
	bind func(context.Context) (context.Context, context.CancelFunc)
}

// Run implements [channel.Channel]: until ctx ends, deliveries to ServeHTTP are accepted.
// Those that have begun end before it returns.
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	now := &run{in, func(parent context.Context) (context.Context, context.CancelFunc) {
		child, cancel := context.WithCancel(parent)
		stop := context.AfterFunc(ctx, cancel)
		return child, func() { stop(); cancel() }
	}}
	c.mu.Lock()
	c.run = now
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	if c.run == now {
		c.run = nil
	}
	c.mu.Unlock()
	c.work.Wait()
	return nil
}

// begin returns the run that a delivery belongs to; nil means that there is none. Run waits
// until the delivery calls c.work.Done.
func (c *Channel) begin() *run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != nil {
		c.work.Add(1)
	}
	return c.run
}

// Probe implements [channel.Prober].
func (c *Channel) Probe(ctx context.Context) (string, error) {
	var app struct {
		Name  string `json:"name"`
		Close int    `json:"close"`
	}
	if err := c.get(ctx, "agent/get", url.Values{"agentid": {fmt.Sprint(c.config.Agent)}}, &app); err != nil {
		return "", err
	}
	if app.Close != 0 {
		return "", fmt.Errorf("%w: the application %q is disabled (已停用)", channel.ErrRefused, app.Name)
	}
	return fmt.Sprintf("%s (%d)", app.Name, c.config.Agent), nil
}

// menuButton is an entry of an application's menu.
type menuButton struct {
	Type string       `json:"type,omitempty"`
	Name string       `json:"name"`
	Key  string       `json:"key,omitempty"`
	Subs []menuButton `json:"sub_button,omitempty"`
}

// SetMenu implements [channel.Menu]. A menu has three entries with five commands each;
// those beyond are left out.
func (c *Channel) SetMenu(ctx context.Context, commands []channel.Command) error {
	var menu []menuButton
	for i, command := range commands {
		if i == 15 {
			break
		}
		if i%5 == 0 {
			menu = append(menu, menuButton{Name: "命令" + strings.Repeat("·", i/5)})
		}
		top := &menu[len(menu)-1]
		name := "/" + strings.TrimPrefix(command.Name, "/")
		top.Subs = append(top.Subs, menuButton{Type: "click", Name: name, Key: name})
	}
	query := url.Values{"agentid": {fmt.Sprint(c.config.Agent)}}
	if len(menu) == 0 {
		return c.get(ctx, "menu/delete", query, nil)
	}
	return c.post(ctx, "menu/create", query, map[string]any{"button": menu}, nil)
}
