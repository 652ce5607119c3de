package wecom

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/recent"
)

// BotConfig says which AI bot (智能机器人) a channel is. ID and Secret are required.
type BotConfig struct {
	// ID and Secret are those of the page where the bot has its long connection (长连接).
	ID, Secret string
	// URL is where the bot connects; empty means wss://openws.work.weixin.qq.com.
	URL    string
	Client *http.Client
	// Log receives what goes wrong beside messages; nil discards it.
	Log *slog.Logger
}

// Bot is an AI bot, which connects over a WebSocket and needs no public address: 智能机器人长连接,
// document/path/101463, and the SDK aibot-node-sdk. It is direct chats and the groups in which somebody
// mentions it. The platform delivers each message once. The bot is safe for concurrent use.
type Bot struct {
	config  BotConfig
	api     *platform.Client
	log     *slog.Logger
	dialect markup.Dialect
	open    atomic.Pointer[link] // while it is connected
	seen    *platform.Seen
	sent    *platform.Sent
	final   *recent.Cache[string, bool]   // the frames whose answer is final
	cards   *recent.Cache[string, string] // the texts of cards, by task
}

var (
	_ channel.Channel = (*Bot)(nil)
	_ channel.Marker  = (*Bot)(nil)
	_ channel.Prober  = (*Bot)(nil)
)

// NewBot returns the channel of a bot. It connects to nothing.
func NewBot(c BotConfig) (*Bot, error) {
	if c.ID == "" || c.Secret == "" {
		return nil, errors.New("wecom: a bot needs its ID and its Secret, which the page API 模式, 长连接 shows")
	}
	if rest, ok := strings.CutPrefix(c.URL, "ws"); ok {
		c.URL = "http" + rest
	}
	api, err := platform.New(platform.Config{
		Name: Platform, URL: c.URL, Usual: "https://openws.work.weixin.qq.com", Client: c.Client,
		Secret: c.Secret, Limit: maxFrame,
	})
	if err != nil {
		return nil, err
	}
	return &Bot{config: c, api: api, log: platform.Log(c.Log), dialect: botDialect(), seen: platform.NewSeen(),
		sent: platform.NewSent(Platform), final: recent.New[string, bool](maxCards),
		cards: recent.New[string, string](maxCards)}, nil
}

// Traits implements [channel.Channel].
func (b *Bot) Traits() channel.Traits {
	return channel.Traits{
		Platform: Platform, Local: true, MaxText: maxStream, MaxFile: maxFile, Buttons: true,
		Length: func(text string) int { return len(b.dialect.Sent(text, maxStream)) },
	}
}

const (
	maxFrame  = 4 << 20 // bytes of a frame
	maxStream = 20_480  // bytes of a text
	beat      = 30 * time.Second
	ackTime   = 20 * time.Second // in which each frame is answered
	maxCards  = 1000             // cards with buttons, and final answers, that are remembered
	maxTries  = 6                // to hand a message over, which the platform sends once
)

// frame is what both sides send.
type frame struct {
	Command string `json:"cmd,omitempty"`
	Headers struct {
		ID string `json:"req_id"`
	} `json:"headers"`
	Body    json.RawMessage `json:"body,omitempty"`
	Code    int             `json:"errcode,omitempty"`
	Message string          `json:"errmsg,omitempty"`
}

// link is a connection.
type link struct {
	*Bot
	*platform.Intake
	socket *platform.Socket
	ended  chan struct{}

	mu      sync.Mutex
	waiting map[string]*exchange // by the ID of the frame
}

// exchange is a frame that waits for its answer. Those with the same ID come one after the other.
type exchange struct {
	done   chan struct{}
	answer *frame // nil if there is none
}

// Run implements [channel.Channel].
func (b *Bot) Run(ctx context.Context, in channel.Receiver) error {
	intake := platform.NewIntake("WeCom", b.log, in, b.seen)
	return intake.Run(ctx, func(ctx context.Context) error {
		c := &link{Bot: b, Intake: intake, ended: make(chan struct{}), waiting: map[string]*exchange{}}
		var err error
		if c.socket, _, err = b.api.Dial(ctx, b.api.Base().String()); err != nil {
			return err
		}
		var beats sync.WaitGroup
		defer func() {
			close(c.ended)
			beats.Wait()
		}()
		defer c.socket.Watch(ctx, b.log)()
		if err := c.subscribe(ctx); err != nil {
			return err
		}
		b.open.Store(c)
		defer b.open.CompareAndSwap(c, nil)
		beats.Go(func() {
			defer panics.Log(b.log, "keeping the connection to WeCom")
			c.beat(ctx)
		})
		return c.receive(ctx)
	})
}

// subscribe logs in. Before that the platform sends nothing else.
func (c *link) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	f := frame{Command: "aibot_subscribe", Body: asJSON(map[string]string{"bot_id": c.config.ID,
		"secret": c.config.Secret})}
	f.Headers.ID = "aibot_subscribe_" + rand.Text()
	if err := c.socket.Write(ctx, f); err != nil {
		return err
	}
	for {
		got, err := c.read(ctx)
		if err != nil {
			return err
		}
		if got.Headers.ID != f.Headers.ID {
			continue
		}
		err = got.failure("aibot_subscribe")
		if errors.Is(err, channel.ErrRejected) || errors.Is(err, channel.ErrGone) {
			err = fmt.Errorf("%w: %w", channel.ErrRefused, err)
		}
		return err
	}
}

func (c *link) read(ctx context.Context) (f frame, err error) {
	data, _, err := c.socket.Read(ctx)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(data, &f); err != nil {
		c.log.WarnContext(ctx, "a frame of WeCom is not as expected, and is left out", "error", err)
	}
	return f, nil
}

// failure returns the error of an answer.
func (f *frame) failure(call string) error {
	if f.Code == 0 {
		return nil
	}
	return platform.Fail(platform.Failure{
		Platform: Platform, Call: call, Status: http.StatusOK, Code: strconv.Itoa(f.Code), Message: f.Message,
		After: waits[strconv.Itoa(f.Code)], Busy: waits[strconv.Itoa(f.Code)] > 0, Scope: channel.OneChat,
	}, refusals)
}

// receive hands over what arrives, until the connection ends.
func (c *link) receive(ctx context.Context) error {
	for {
		f, err := c.read(ctx)
		if err != nil {
			return err
		}
		switch f.Command {
		case "":
			c.answered(f.Headers.ID, &f)
			continue
		case "aibot_msg_callback", "aibot_event_callback":
		default:
			continue
		}
		var m botMessage
		if err := json.Unmarshal(f.Body, &m); err != nil {
			c.log.WarnContext(ctx, "a message of WeCom is not as expected, and is left out", "error", err)
			continue
		}
		if m.Event.Kind == "disconnected_event" {
			return fmt.Errorf("%w: another program has connected as this bot, which may have one connection: end it",
				channel.ErrRefused)
		}
		in, files, ok := m.read(f.Headers.ID)
		if !ok {
			continue
		}
		pressed := m.Event.Press
		err = c.Start(ctx, platform.Job{
			Chat: in.At.Chat, Done: func(error) {},
			Early: func(ctx context.Context) { c.chosen(ctx, f.Headers.ID, pressed) }, // within five seconds
			Take:  func(ctx context.Context) error { return c.take(ctx, in, files) },
		})
		if err != nil {
			return err
		}
	}
}

// take hands a message over. The platform does not send it again, so a failure is tried again here.
func (c *link) take(ctx context.Context, in channel.Incoming, files []botFile) (err error) {
	for try := range maxTries {
		if err = platform.Sleep(ctx, time.Duration(try)*time.Second); err != nil {
			return err
		}
		m := in
		m.Added = m.Group && !c.Wants(ctx, m) // no event tells of a group that has the bot
		err = c.Hand(ctx, in.ID, &m, len(files) > 0, func(ctx context.Context) error {
			if c.Wants(ctx, m) {
				m.Files = c.load(ctx, files)
			}
			return nil
		})
		if err == nil {
			break
		}
	}
	return err
}

// load fetches the files of a message, which are encrypted with keys of their own.
func (c *link) load(ctx context.Context, files []botFile) []chat.File {
	var list []platform.Attachment
	for _, f := range files {
		name := ""
		list = append(list, platform.Attachment{
			Name: f.name, MediaType: f.mediaType, Named: func() string { return name },
			Fetch: func(ctx context.Context, limit int64) (data []byte, err error) {
				data, name, err = c.fetch(ctx, f, min(limit, maxFile))
				return data, err
			},
		})
	}
	return platform.Load(ctx, c.log, list, maxFile)
}

// answered ends an exchange.
func (c *link) answered(id string, f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.waiting[id]; e != nil {
		delete(c.waiting, id)
		e.answer = f
		close(e.done)
	}
}

// ask sends a frame and reads the body of its answer, unless into is nil. Frames with the same ID, those
// that answer one message, wait for each other.
func (c *link) ask(ctx context.Context, command, id string, body, into any) error {
	return c.askIf(ctx, command, id, nil, body, into)
}

// askIf does the same if wanted, asked when it is the turn of the frame, says so.
func (c *link) askIf(ctx context.Context, command, id string, wanted func() bool, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	mine := &exchange{done: make(chan struct{})}
	for {
		c.mu.Lock()
		before := c.waiting[id]
		if before == nil {
			c.waiting[id] = mine
		}
		c.mu.Unlock()
		if before == nil {
			break
		}
		select {
		case <-before.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer c.answered(id, nil) // if it is still open
	if wanted != nil && !wanted() {
		return nil
	}
	f := frame{Command: command, Body: asJSON(body)}
	f.Headers.ID = id
	if err := c.socket.Write(ctx, f); err != nil {
		return err
	}
	select {
	case <-mine.done:
	case <-ctx.Done():
		return fmt.Errorf("wecom: %s: no answer: %w", command, ctx.Err())
	case <-c.ended:
		return errNotConnected
	}
	if err := mine.answer.failure(command); err != nil || into == nil {
		return err
	}
	return json.Unmarshal(mine.answer.Body, into)
}

// beat keeps the connection, and ends one that is dead.
func (c *link) beat(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := c.ask(ctx, "ping", "ping_"+rand.Text(), nil, nil); err != nil {
				c.socket.Close() // the reader reports it
				return
			}
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Probe implements [channel.Prober]. A second connection would end that of Run.
func (b *Bot) Probe(ctx context.Context) (string, error) {
	if c := b.open.Load(); c != nil {
		return "bot " + b.config.ID, c.ask(ctx, "ping", "ping_"+rand.Text(), nil, nil)
	}
	c := &link{Bot: b}
	var err error
	if c.socket, _, err = b.api.Dial(ctx, b.api.Base().String()); err != nil {
		return "", err
	}
	defer c.socket.Close()
	return "bot " + b.config.ID, c.subscribe(ctx)
}

// botMessage is a message or an event.
type botMessage struct {
	botContent
	ID   string `json:"msgid"`
	Chat string `json:"chatid"`
	Kind string `json:"chattype"`
	From struct {
		ID string `json:"userid"`
	} `json:"from"`
	Created int64       `json:"create_time"`
	Quote   *botContent `json:"quote"`
	Event   struct {
		Kind  string   `json:"eventtype"`
		Press pressKey `json:"template_card_event"`
		pressKey
	} `json:"event"`
}

// pressKey is the key of a button that was pressed.
type pressKey struct {
	Key  string `json:"event_key"`
	Task string `json:"task_id"`
}

// botContent is what a message says.
type botContent struct {
	Type  string                   `json:"msgtype"`
	Text  struct{ Content string } `json:"text"`
	Voice struct{ Content string } `json:"voice"` // what was said, as text
	Image botFile                  `json:"image"`
	File  botFile                  `json:"file"`
	Video botFile                  `json:"video"`
	Mixed struct {
		Items []botContent `json:"msg_item"`
	} `json:"mixed"`
}

// botFile is a file, whose address is valid for five minutes.
type botFile struct {
	URL string `json:"url"`
	Key string `json:"aeskey"`

	name, mediaType string
}

// says returns the text and the files of a message.
func (m botContent) says() (text string, files []botFile) {
	file := func(f botFile, name, mediaType string) (string, []botFile) {
		f.name, f.mediaType = name, mediaType
		return "", []botFile{f}
	}
	switch m.Type {
	case "text":
		return m.Text.Content, nil
	case "voice":
		return cmp.Or(m.Voice.Content, "(a voice message without its words)"), nil
	case "image":
		return file(m.Image, "image", "")
	case "file":
		return file(m.File, "file", "")
	case "video":
		return file(m.Video, "video.mp4", "video/mp4")
	case "mixed":
		for _, item := range m.Mixed.Items {
			part, more := item.says()
			text = strings.TrimSpace(text + "\n" + part)
			files = append(files, more...)
		}
		return text, files
	}
	return "(a message of the type " + platform.Word(m.Type) + ", which cannot be read)", nil
}

// read makes a message of what arrived in a frame; false if there is nothing to hand over.
func (m *botMessage) read(frame string) (in channel.Incoming, files []botFile, ok bool) {
	if m.ID == "" || m.From.ID == "" {
		return in, nil, false
	}
	in = channel.Incoming{
		ID: m.ID, From: channel.Sender{ID: m.From.ID, Handle: m.From.ID, Roles: []string{"member"}},
		At: channel.Address{Chat: m.From.ID, Message: m.ID, Answer: frame},
	}
	if m.Kind == "group" {
		in.At.Chat, in.Group, in.Mentioned = "group:"+m.Chat, true, true // it hears nothing else
	}
	if m.Created > 0 {
		in.Time = time.Unix(m.Created, 0)
	}
	if m.Type == "event" {
		_, in.Text, ok = strings.Cut(cmp.Or(m.Event.Key, m.Event.Press.Key), "|")
		in.At.Answer = "" // it takes another card only
		return in, nil, ok && m.Event.Kind == "template_card_event"
	}
	in.Text, files = m.says()
	if in.Group {
		in.Text = unmentioned(in.Text)
	}
	if m.Quote != nil && !strings.HasPrefix(in.Text, "/") {
		quoted, more := m.Quote.says()
		in.Text = strings.TrimSpace(platform.Quote(quoted, platform.MaxCited) + "\n\n" + in.Text)
		files = append(files, more...)
	}
	return in, files, in.Text != "" || len(files) > 0
}

// unmentioned returns a text of a group without the mention of the bot at its beginning.
func unmentioned(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "@") {
		return text
	}
	if i := strings.IndexAny(text, " \u2005\n"); i > 0 {
		return strings.TrimLeft(text[i:], " \u2005\n")
	}
	return text
}

// hosts are where the files of messages are.
var hosts = []string{"weixin.qq.com", "myqcloud.com", "qpic.cn"}

// fetch returns the bytes of a file, and its name, which only the download tells.
func (c *link) fetch(ctx context.Context, f botFile, limit int64) (data []byte, name string, err error) {
	u, err := c.api.Base().Parse(f.URL)
	if err != nil || !c.api.Trusts(u, hosts...) {
		return nil, "", errors.New("wecom: the address of a file is not one of Tencent")
	}
	r := platform.Request{Call: "download", URL: u, Limit: limit, Raw: true, Time: platform.FileTime}
	a, err := c.api.Do(ctx, r)
	if err != nil {
		return nil, "", err
	}
	if _, disposition, err := mime.ParseMediaType(a.Header.Get("Content-Disposition")); err == nil {
		if name, err = url.PathUnescape(disposition["filename"]); err != nil {
			name = disposition["filename"]
		}
	}
	if f.Key == "" {
		return a.Body, name, nil
	}
	key, err := base64.StdEncoding.DecodeString(f.Key + strings.Repeat("=", (4-len(f.Key)%4)%4))
	if err != nil || len(key) != keySize {
		return nil, "", errors.New("wecom: the key of a file is not one of AES-256")
	}
	data, err = platform.Unseal(key, key[:keySize/2], base64.StdEncoding.EncodeToString(a.Body), padBlock)
	return data, name, err
}

func asJSON(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, _ := json.Marshal(v) // texts and numbers
	return raw
}
