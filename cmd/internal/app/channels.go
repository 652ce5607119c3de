package app

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/discord"
	"github.com/etui-run/etui/channel/email"
	"github.com/etui-run/etui/channel/feishu"
	"github.com/etui-run/etui/channel/irc"
	"github.com/etui-run/etui/channel/material"
	"github.com/etui-run/etui/channel/matrix"
	"github.com/etui-run/etui/channel/mattermost"
	"github.com/etui-run/etui/channel/slack"
	"github.com/etui-run/etui/channel/telegram"
	webchat "github.com/etui-run/etui/channel/web"
	"github.com/etui-run/etui/channel/webhook"
	"github.com/etui-run/etui/channel/wecom"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/cmd/internal/rulebook"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// platformTime bounds a request to a platform; a long poll lasts up to a minute.
const platformTime = 90 * time.Second

// newChannel makes the adapter of a channel. This is the one list of them: a new one costs
// its folder, an entry here, and its name in [config.Channel].
func (a *App) newChannel(c config.Channel) (channel.Channel, error) {
	takes := map[string][]string{
		"telegram":   {"token", "url", "webhook"},
		"irc":        {"url", "nick", "account", "token", "secret", "rooms"},
		"email":      {"url", "smtp", "address", "account", "token", "authserv_id", "unproven"},
		"slack":      {"token", "app_token", "user_token", "secret", "url", "workflows"},
		"web":        {"secret", "guests", "origins", "page", "calls", "agents"},
		"discord":    {"token", "url"},
		"matrix":     {"token", "url"},
		"mattermost": {"token", "url"},
		"webhook":    {"secret", "url"},
		"wecom":      {"corp", "app", "secret", "token", "key", "url"},
		"feishu":     {"app_id", "secret", "token", "key", "region", "url"},
	}
	if c.Bot != "" && c.Type == "wecom" {
		takes["wecom"] = []string{"bot", "secret", "url"}
	}
	if err := only(c, takes[c.Type]...); err != nil {
		return nil, err
	}
	web := &http.Client{Timeout: platformTime}
	log := a.settings.Log.With("channel", c.Name)
	switch c.Type {
	case "telegram":
		return telegram.New(telegram.Config{
			Token: string(c.Token), URL: c.URL, Webhook: c.Webhook, Records: a.state.Store, Client: web, Log: log,
		})
	case "irc":
		return irc.New(irc.Config{
			URL: c.URL, Nick: c.Nick, Account: c.Account, Password: string(c.Token), ServerPassword: string(c.Secret),
			Rooms: c.Rooms, Log: log,
		})
	case "email":
		return email.New(email.Config{
			IMAP: c.URL, SMTP: c.SMTP, Address: c.Address, User: c.Account, Password: string(c.Token),
			AuthServ: c.AuthServID, Unproven: c.Unproven, Version: a.settings.Version, Log: log,
		})
	case "slack":
		workflows := map[string]string{}
		for name, url := range c.Workflows {
			workflows[name] = string(url)
		}
		return slack.New(slack.Config{
			Token: string(c.Token), AppToken: string(c.AppToken), UserToken: string(c.UserToken),
			Secret:    string(c.Secret),
			Workflows: workflows, Records: a.state.Store, URL: c.URL, Client: web, Log: log,
		})
	case "web":
		return webchat.New(webchat.Config{
			Name: c.Name, Secrets: strings.Fields(string(c.Secret)), Guests: c.Guests, Origins: c.Origins, Page: c.Page,
			Calls: c.Calls, Agents: c.Agents, Records: a.state.Store, Log: log,
		})
	case "discord":
		return discord.New(discord.Config{Token: string(c.Token), URL: c.URL, Client: web, Log: log})
	case "matrix":
		return matrix.New(matrix.Config{
			URL: c.URL, Token: string(c.Token), Groups: c.Groups, Strangers: c.Pairing ||
				c.Refusal != "", Records: a.state.Store, Client: web, Log: log,
		})
	case "mattermost":
		return mattermost.New(mattermost.Config{URL: c.URL, Token: string(c.Token), Records: a.state.Store, Client: web,
			Log: log})
	case "webhook":
		return webhook.New(webhook.Config{Secrets: strings.Fields(string(c.Secret)), URL: c.URL, Client: web, Log: log})
	case "wecom":
		if c.Bot != "" {
			return wecom.NewBot(wecom.BotConfig{ID: c.Bot, Secret: string(c.Secret), URL: c.URL, Client: web, Log: log})
		}
		return wecom.New(wecom.Config{CorpID: c.Corp, Agent: c.App, Secret: string(c.Secret), Token: string(c.Token),
			AESKey: string(c.Key), URL: c.URL, Client: web, Log: log})
	case "feishu":
		return feishu.New(feishu.Config{
			AppID: c.AppID, AppSecret: string(c.Secret), VerificationToken: string(c.Token), EncryptKey: string(c.Key),
			Region: c.Region, URL: c.URL, Client: web, Log: log,
		})
	}
	return nil, fmt.Errorf("there is no channel of type %q", c.Type)
}

// only refuses the keys that mean nothing to the type of a channel.
func only(c config.Channel, keys ...string) error {
	set := map[string]bool{
		"token": c.Token != "", "app_token": c.AppToken != "", "user_token": c.UserToken != "",
		"account": c.Account != "", "secret": c.Secret != "", "key": c.Key != "", "url": c.URL != "",
		"webhook": c.Webhook != "",
		"corp":    c.Corp != "", "app": c.App != 0, "bot": c.Bot != "", "app_id": c.AppID != "",
		"region": c.Region != "", "nick": c.Nick != "", "rooms": len(c.Rooms) > 0,
		"workflows": len(c.Workflows) > 0, "guests": c.Guests, "origins": len(c.Origins) > 0, "page": c.Page,
		"calls": c.Calls != "", "agents": len(c.Agents) > 0,
		"smtp": c.SMTP != "", "address": c.Address != "", "authserv_id": c.AuthServID != "", "unproven": c.Unproven,
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] && !slices.Contains(keys, key) {
			return fmt.Errorf("the key %q means nothing to a channel of type %s, which takes %s", key, c.Type,
				strings.Join(keys, ", "))
		}
	}
	return nil
}

// wrongChannel says where in the configuration a channel is wrong.
func wrongChannel(c config.Channel, err error) error {
	return config.UsageError{Err: config.Error{File: c.Place.File, Line: c.Place.Line, Column: c.Place.Column,
		Message: "channel " + c.Name + ": " + err.Error()}}
}

// openChannels makes the adapters of the configuration, and registers the tools that come
// with them. They connect to nothing yet.
func (a *App) openChannels() (accounts []channel.Account, err error) {
	if len(a.Workspace.Config.Channels) > 0 {
		if err := a.Config.Registry.Register(a.messageTool()); err != nil {
			return nil, err
		}
	}
	for _, c := range a.Workspace.Config.Channels {
		made, err := a.newChannel(c)
		if err != nil {
			return nil, wrongChannel(c, err)
		}
		account := channel.Account{
			Name: c.Name, Channel: made, Allow: c.Allow, Groups: c.Groups, Pairing: c.Pairing, Refusal: c.Refusal,
			Chats: rulebook.Chats(a.Workspace.Config, c.Name), Overhear: c.Overhear, Always: c.Always, Whole: c.Whole,
			PerMinute: c.PerMinute, Language: c.Language, Merge: c.Merge,
		}
		for _, b := range c.Bindings {
			binding := channel.Binding{Chat: b.Chat, User: b.User, Agent: b.Agent, Skill: b.Skill}
			if b.Strategy != "" {
				s, err := prompt.ParseStrategy(b.Strategy)
				if err != nil {
					return nil, wrongChannel(c, err)
				}
				binding.Strategy = &s
			}
			account.Bindings = append(account.Bindings, binding)
		}
		accounts = append(accounts, account)
		tools, ok := made.(interface{ Tools() []tool.Tool })
		if !ok {
			continue
		}
		// These tools work in the chats of this account, so nobody else sees them.
		platform, name := made.Traits().Platform, c.Name
		here := func(f chat.Facts) bool {
			return f.Channel == platform && (f.Attrs["account"] == "" || f.Attrs["account"] == name)
		}
		for _, t := range tools.Tools() {
			// The tools of a second account of a platform would have the same names.
			if _, there := a.Config.Registry.Catalog().Get(t.Definition().Name); there {
				a.Warnings = append(a.Warnings,
					fmt.Errorf("channel %s: its tool %s is left out, because another account has one of that name, which works there only", c.Name, t.Definition().Name))
				continue
			}
			if err := a.Config.Registry.RegisterWithFilter(t, here); err != nil {
				return nil, err
			}
		}
	}
	return accounts, nil
}

// received reads what people send along with messages.
func received(a *App) *material.Reader {
	w := a.Workspace
	r := &material.Reader{PDF: a.pdfs.Text, Log: a.settings.Log}
	if t := w.Config.Transcription; t.Model != "" {
		server := material.Transcriber{BaseURL: t.BaseURL, Model: t.Model, APIKey: string(t.APIKey)}
		r.Transcribe = server.Transcribe
	}
	if len(a.tools.received) == 0 {
		return r // no tools could reach what is kept
	}
	r.Keep = func(_ context.Context, agent, name string, data []byte) (string, error) {
		dir := w.Dir
		for i, c := range w.Config.Agents {
			if c.Workspace != "" && (c.Name == agent || agent == "" && i == 0) {
				dir = config.Abs(w.File, c.Workspace)
			}
		}
		files, ok := a.tools.received[folder.Real(dir)]
		if !ok {
			return "", fmt.Errorf("the agent %s has no workspace", agent)
		}
		return files.Receive(name, data)
	}
	return r
}

// messageInput are the arguments of the tool message.
type messageInput struct {
	// What to say, as Markdown
	Text string `json:"text"`
	// Name of a channel, to write somewhere else; leave it out to write in this conversation
	Channel string `json:"channel,omitempty"`
	// With channel: the ID of the chat or person there, or the name of a chat, as in #ops
	Chat string `json:"chat,omitempty"`
}

// messageTool is the tool with which a model says something before its reply, or elsewhere.
func (a *App) messageTool() tool.Tool {
	return tool.Func(tool.Definition{
		Name: outbox.PostTool, Description: "Send a message at once, while you go on working: to the user in this conversation, or to a chat of another channel. Your final reply is sent anyway; do not repeat the message in it.",
		Translations: map[string]string{"zh": "立即发送一条消息：在当前会话中，或发到另一个渠道的聊天。"},
		Aliases:      []string{"notify", "send a message", "post to a channel", "通知", "发消息"},
		Groups:       []string{"channel"}, Risk: tool.Write, Replay: tool.Keyed, Source: "channel",
	}, func(ctx context.Context, in messageInput) (string, error) {
		f := tool.Caller(ctx)
		if f.Session == "" {
			return "", outbox.ErrNowhere
		}
		var err error
		if in.Channel == "" && in.Chat == "" {
			err = a.Engine.Outbox().Post(ctx, session.Key(f.Session), nil, in.Text, tool.IdempotencyKey(ctx))
		} else {
			key, to, unknown := a.tools.channels.Place(ctx, in.Channel, in.Chat)
			if err = unknown; err == nil {
				err = a.Engine.Outbox().PostTo(ctx, key, to, in.Text, tool.IdempotencyKey(ctx))
			}
			if err == nil {
				a.tools.channels.Told(ctx, in.Channel, in.Chat, in.Text)
			}
		}
		if err != nil {
			return "", err
		}
		return "It is on its way.", nil
	})
}
