// Package wecom is the channel of WeCom (企业微信): a self-built application (自建应用) of a
// company, which its members write to.
//
// Messages arrive at a callback URL, signed and encrypted; replies go through the API at
// qyapi.weixin.qq.com. The platform tells an application nothing of what is said in groups:
// all that arrives is direct. An application can write to groups that it has created itself;
// their address is "group:" and the group's chatid.
package wecom

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
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

// Channel is an application. It is safe for concurrent use.
type Channel struct {
	config Config
	key    []byte // the AES key
	api    *platform.Client
	log    *slog.Logger
	now    func() time.Time

	open   atomic.Pointer[session] // while Run runs
	tokens *platform.Tokens
	seen   *platform.Seen // by ID, and events by signature
	people *platform.People
	sent   *platform.Sent
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
		{"corporation's ID (企业ID)", c.CorpID}, {"application's Secret", c.Secret}, {"callback's Token", c.Token},
		{"callback's EncodingAESKey", c.AESKey},
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
		Limit: maxAnswer, Refusal: refusal, Refusals: refusals,
	})
	if err != nil {
		return nil, err
	}
	ch := &Channel{
		config: c, key: key, api: api, log: platform.Log(c.Log), now: time.Now,
		seen: platform.NewSeen(), people: platform.NewPeople(), sent: platform.NewSent(Platform),
	}
	ch.tokens = platform.NewTokens(func() time.Time { return ch.now() }, ch.fetchToken, expired...)
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
		Length:   func(text string) int { out, _ := render(text); return len(out) },
		MaxFile:  maxFile,
		Buttons:  true,
		Direct:   true,
	}
}

// session is what one call of Run works with.
type session struct {
	*Channel
	*platform.Intake
}

// Run implements [channel.Channel]: until ctx ends, deliveries to ServeHTTP are accepted.
// Those that have begun end before it returns.
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	s := &session{c, platform.NewIntake("WeCom", c.log, in, c.seen)}
	c.open.Store(s)
	defer c.open.CompareAndSwap(s, nil)
	defer s.Wait()
	_ = s.Serve(ctx) // it ends with ctx
	return nil
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
