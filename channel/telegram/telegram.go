// Package telegram connects a bot of Telegram over the Bot API,
// https://core.telegram.org/bots/api: by long polling, or with a webhook.
//
// It answers nothing itself and keeps no state that must outlive the process: Telegram
// keeps updates for a day until they are acknowledged.
package telegram

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/store"
)

// Platform is how facts, identities and rules name Telegram.
const Platform = "telegram"

// Config is what a bot needs.
type Config struct {
	// Token is the bot's token, as @BotFather gives it.
	Token string
	// URL is the Bot API server; empty means https://api.telegram.org.
	URL string
	// Webhook is the public URL that leads to ServeHTTP. Empty means that Run polls, which
	// needs no public URL.
	Webhook string
	// Records keeps which groups became supergroups, and the parts of an album that arrive by requests,
	// until all are there; nil keeps them in memory.
	Records store.Records
	// Client makes all requests; nil means one with Go's defaults.
	Client *http.Client
	// Log receives what goes wrong with single messages; nil means slog's default.
	Log *slog.Logger
}

// Channel is a bot.
type Channel struct {
	api     *api
	id      int64
	webhook string
	secret  string // what Telegram sends with its deliveries
	log     *slog.Logger
	dialect markup.Dialect

	run     atomic.Pointer[run]               // what Run has begun; nil before and after
	offset  int64                             // of the next update; Run's
	done    *recent.Cache[int64, struct{}]    // updates that were handed over
	roles   *platform.Facts[member, []string] // of people in groups
	moves   *platform.Moves                   // of groups that became supergroups
	firsts  *recent.Cache[string, string]     // the first parts of albums, by chat and album
	records store.Records
	sent    *platform.Sent

	mu     sync.Mutex
	albums map[string]*album // that arrive by requests

	recent *recent.Cache[string, []update] // the newest albums, which somebody may edit
}

// The interfaces that a bot has.
var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Typer   = (*Channel)(nil)
	_ channel.Editor  = (*Channel)(nil)
	_ channel.Menu    = (*Channel)(nil)
	_ channel.Webhook = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
	_ channel.Mover   = (*Channel)(nil)
)

// run is what a running channel has.
type run struct {
	*platform.Intake
	me   user
	life context.Context //nolint:containedctx // while it runs
}

// server is Telegram's own Bot API server.
const server = "https://api.telegram.org"

var tokens = regexp.MustCompile(`^([0-9]{1,18}):[A-Za-z0-9_-]+$`)

// New checks a configuration. It connects to nothing.
func New(cfg Config) (*Channel, error) {
	parts := tokens.FindStringSubmatch(cfg.Token)
	if parts == nil {
		return nil, errors.New("telegram: the token is not one of Telegram: @BotFather gives one like 123456:ABC-DEF")
	}
	id, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("telegram: the token's number: %w", err)
	}
	client, err := platform.New(platform.Config{
		Name: Platform, URL: cfg.URL, Usual: server, Plain: platform.Anywhere, Client: cfg.Client,
		Secret: cfg.Token, Limit: maxAnswer, Refusal: refusal, Refusals: refusals,
	})
	if err != nil {
		return nil, err
	}
	if cfg.Webhook != "" {
		// Telegram itself takes https only; a server of one's own also http.
		if u, err := url.Parse(cfg.Webhook); err != nil || u.Host == "" ||
			u.Scheme != "https" && (u.Scheme != "http" || client.Base().String() == server) {
			return nil, errors.New("telegram: the webhook needs a public https URL")
		}
	}
	secret := hmac.New(sha256.New, []byte(cfg.Token))
	secret.Write([]byte("etui: webhook"))
	records := cmp.Or[store.Records](cfg.Records, &store.Memory{})
	log := cmp.Or(cfg.Log, slog.Default())
	return &Channel{
		api: &api{client, cfg.Token}, id: id, webhook: cfg.Webhook, secret: hex.EncodeToString(secret.Sum(nil)),
		log: log, dialect: dialect(),
		done:    recent.New[int64, struct{}](4096),
		roles:   platform.NewFacts[member, []string](10_000, 5*time.Minute, 0),
		firsts:  recent.New[string, string](maxAlbums),
		moves:   platform.NewMoves(Platform, log, records),
		records: records,
		sent:    platform.NewSent(Platform),
		albums:  map[string]*album{},
		recent:  recent.New[string, []update](maxAlbums),
	}, nil
}

// Former implements [channel.Mover].
func (c *Channel) Former(chat string) string { return c.moves.Former(chat) }

// Traits implements [channel.Channel].
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: Platform, MaxText: maxText, Length: c.length, MaxFile: maxUpload, Buttons: true,
		Direct: true, Pushed: c.webhook != ""}
}

// Probe implements [channel.Prober].
func (c *Channel) Probe(ctx context.Context) (string, error) {
	me, err := c.me(ctx)
	return "@" + me.Username, err
}

func (c *Channel) me(ctx context.Context) (me user, err error) {
	return me, c.api.call(ctx, "getMe", nil, &me)
}

// allowed are the kinds of updates that are wanted.
var allowed = []string{"message", "channel_post", "callback_query", "edited_message", "my_chat_member"}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	me, err := c.me(ctx)
	if err != nil {
		return err
	}
	if err := c.moves.Open(ctx, id(c.id)); err != nil {
		return err
	}
	r := &run{platform.NewIntake("Telegram", c.log, in, platform.NewSeen()), me, ctx}
	c.run.Store(r)
	defer r.Wait()
	defer c.run.Store(nil)
	if c.webhook == "" {
		return c.poll(ctx, r)
	}
	err = c.api.call(ctx, "setWebhook", params{"url": c.webhook, "secret_token": c.secret, "allowed_updates": allowed},
		nil)
	if err != nil {
		return err
	}
	if err := c.resumeAlbums(ctx, r); err != nil {
		return fmt.Errorf("reading albums that were not handed over: %w", err)
	}
	_ = r.Serve(ctx) // it ends with ctx
	return nil
}

// poll asks for updates until ctx ends or something fails. What was handed over before is
// acknowledged with the next request, also by the next Run.
func (c *Channel) poll(ctx context.Context, r *run) error {
	for ctx.Err() == nil {
		asked := time.Now()
		batch, err := c.ask(ctx, r.Gathers())
		switch {
		case ctx.Err() != nil:
			continue
		case platform.Fails(err, "409") && platform.Says(err, "webhook"):
			c.log.WarnContext(ctx, "the bot had a webhook, which is removed: it gets its messages by polling now",
				"bot", r.me.Username)
			if err := c.api.call(ctx, "deleteWebhook", nil, nil); err != nil {
				return err
			}
			continue
		case platform.Fails(err, "409"):
			return fmt.Errorf("another program takes the messages of @%s: stop it, or give it a bot of its own: %w",
				r.me.Username, err)
		case err != nil:
			return err
		}
		if err := c.batch(ctx, r, batch); err != nil {
			return err
		}
		if len(batch) == 0 && time.Since(asked) < time.Second {
			// A server that does not wait must not be asked without end.
			_ = platform.Sleep(ctx, time.Second)
		}
	}
	return nil
}

// batch hands over updates, those of a chat in their order. The offset moves behind the
// last update before which all are safe.
func (c *Channel) batch(ctx context.Context, r *run, batch []json.RawMessage) error {
	var messages [][]update   // an album is one message of several updates
	newest := map[int64]int{} // by chat
	var ids []int64
	for _, raw := range batch {
		u, ok := c.decode(ctx, raw)
		if u.ID == 0 {
			return errors.New("telegram: getUpdates gave an update without an ID")
		}
		if ids = append(ids, u.ID); !ok {
			c.done.Put(u.ID, struct{}{})
			continue
		}
		i, ok := newest[u.chat()]
		if ok && u.album() != "" && messages[i][0].album() == u.album() {
			messages[i] = append(messages[i], u)
			continue
		}
		newest[u.chat()], messages = len(messages), append(messages, []update{u})
	}
	errs := make([]error, len(messages))
	var failed sync.Map // the chats whose later messages come again, too
	for i, m := range messages {
		chat := id(m[0].chat())
		err := r.Start(ctx, platform.Job{
			Chat: chat,
			Take: func(ctx context.Context) error {
				if _, is := failed.Load(chat); is {
					return errors.New("an earlier message of the chat was not taken")
				}
				return c.handle(ctx, r, m)
			},
			Done: func(err error) {
				if errs[i] = err; err != nil {
					failed.Store(chat, nil)
				}
			},
		})
		if err != nil {
			break
		}
	}
	r.Wait()
	for _, id := range ids {
		if _, ok := c.done.Get(id); !ok {
			break
		}
		c.offset = id + 1
	}
	return errors.Join(errs...)
}

// decode reads an update. One that is not as expected is logged and left out: it would
// come again for ever.
func (c *Channel) decode(ctx context.Context, raw []byte) (u update, ok bool) {
	err := json.Unmarshal(raw, &u)
	if err == nil {
		return u, true
	}
	var head struct {
		ID int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &head) == nil && head.ID != 0 {
		c.log.ErrorContext(ctx, "an update of Telegram is not as expected, and is left out", "update", head.ID, "error",
			err)
	}
	return update{ID: head.ID}, false
}

// handle hands over the updates of one message, unless that was done before, and remembers
// them.
func (c *Channel) handle(ctx context.Context, r *run, updates []update) error {
	updates = c.open(updates)
	if len(updates) == 0 {
		return nil
	}
	var m channel.Incoming
	ok := false
	err := r.Hand(ctx, id(updates[0].ID), &m, files(updates), func(ctx context.Context) error {
		if got, is := c.incoming(ctx, r, updates); is {
			m, ok = got, true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("telegram: handing over a message: %w", err)
	}
	for _, u := range updates {
		c.done.Put(u.ID, struct{}{})
	}
	if cb := updates[0].Callback; cb != nil {
		c.pressed(ctx, cb, ok)
	}
	return nil
}

// open returns the updates that were not handed over before.
func (c *Channel) open(updates []update) (list []update) {
	for _, u := range updates {
		if _, ok := c.done.Get(u.ID); !ok {
			list = append(list, u)
		}
	}
	return list
}

// maxUpdate bounds the body of a delivery.
const maxUpdate = 1 << 20

// ServeHTTP implements [channel.Webhook]. Telegram delivers an update again until the
// answer is 200; one that was handed over before is answered so without effect.
func (c *Channel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !platform.Equal(req.Header.Get("X-Telegram-Bot-Api-Secret-Token"), c.secret) {
		platform.Refuse(w, http.StatusUnauthorized)
		return
	}
	body, ok := platform.Posted(w, req, maxUpdate)
	if !ok {
		return
	}
	r := c.run.Load()
	if r == nil || c.webhook == "" {
		platform.Refuse(w, http.StatusServiceUnavailable)
		return
	}
	u, ok := c.decode(req.Context(), body)
	switch {
	case u.ID == 0:
		platform.Refuse(w, http.StatusBadRequest)
	case ok && u.album() != "":
		if err := c.part(req.Context(), r, u, body); err != nil {
			c.log.WarnContext(req.Context(), "a part of an album was not stored; it is sent again", "error", err)
			platform.Refuse(w, http.StatusServiceUnavailable)
		}
	case ok: // another one would come again for ever
		r.Deliver(w, req, id(u.chat()), func(ctx context.Context) error { return c.handle(ctx, r, []update{u}) })
	}
}
