package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/etui-run/etui/channel/body"
	"github.com/etui-run/etui/channel/edited"
	"github.com/etui-run/etui/channel/heard"
	"github.com/etui-run/etui/channel/material"
	"github.com/etui-run/etui/channel/names"
	"github.com/etui-run/etui/channel/rest"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/contact"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Everybody, in Account.Allow and Account.Groups, allows all; KnownUsers, in Account.Allow,
// allows the people of the configuration.
const (
	Everybody  = "*"
	KnownUsers = "users"
)

// Account is a channel with who may use it. It is closed by default.
type Account struct {
	// Name is the account's, in facts, commands and records. Each has a name of its own.
	Name string
	// Channel is the adapter.
	Channel Channel
	// Allow are the IDs of the people who may write directly, and Groups those of the chats in which
	// everybody may, or their names: see [Finder].
	Allow, Groups []string
	// Chats are names of further chats that the configuration has.
	Chats []string
	// Pairing lets a stranger who writes directly have a code, with which an operator lets
	// them in: see [Host.Pair]. Without it, a stranger reads Refusal, once an hour at most;
	// empty means nothing.
	Pairing bool
	Refusal string
	// Overhear are the IDs of groups whose messages before a mention are material beside it, from memory
	// and bounded; see package heard.
	Overhear []string
	// Always answers every message of a group. Otherwise one has to mention the account.
	Always bool
	// Whole sends answers only when they are complete, although the channel can edit.
	Whole bool
	// Language is that of etui's own words to people of whom nothing says which one they read.
	Language string
	// Merge is how long the next message of a person is awaited, so that several in a row get one
	// answer; 0 means not at all.
	Merge time.Duration
	// PerMinute is how many messages of one person are taken in a minute; 0 means 20.
	PerMinute int
	// Bindings say which agent answers whom. The first one that matches counts.
	Bindings []Binding

	chats *names.Directory // nil where people write IDs only
}

// Binding chooses how the messages of some place are answered.
type Binding struct {
	// Chat and User are IDs; empty ones match all.
	Chat, User string
	// Agent, Skill and Strategy are as in [engine.Message].
	Agent, Skill string
	Strategy     *prompt.Strategy
}

// Config says what a host is made of.
type Config struct {
	Engine   *engine.Engine
	Accounts []Account
	// Records keeps who was let in by a code, and where people write directly; nil keeps it in memory.
	Records store.Records
	// Files reads what people send along; nil keeps no files for tools, and transcribes nothing.
	Files *material.Reader
	// Log receives what operators should know; nil discards.
	Log *slog.Logger
}

// Host runs the channels of an engine. It is safe for concurrent use.
type Host struct {
	engine   *engine.Engine
	contacts *contact.Book
	files    *material.Reader
	log      *slog.Logger
	accounts []*account
	busy     map[queue]bool      // what is being delivered; only deliver uses it
	later    map[queue]time.Time // when they are tried again after a failure; likewise
	sending  chan struct{}       // one place for each delivery at once
	bodies   *body.Gate          // of deliveries
	turns    sync.WaitGroup
}

// account is an Account at work.
type account struct {
	Account
	*Host
	traits Traits
	ids    names.Names
	life   context.Context //nolint:containedctx // while the host runs
	up     atomic.Bool     // Run has begun, and life is set

	rates   *recent.Cache[string, *rate.Limiter]
	telling sync.Mutex                       // of told: several messages of a chat may be taken at once
	told    *recent.Cache[string, time.Time] // when a stranger was told something last
	crowd   *rate.Limiter                    // of strangers who are told that all places are taken
	handled *recent.Cache[string,
		string] // the senders of messages that were accepted, and of commands that were answered, here
	edits   *edited.Memory
	doubted *recent.Cache[int64, time.Time]  // when letters had failed often
	ill     *recent.Cache[string, time.Time] // since when nothing arrives in chats
	drafts  *recent.Cache[string, *draft]
	writer  *writer
	merger  *merger

	rests    *rest.Rests
	heard    *heard.Memory
	underWay chan struct{} // one for each letter that is being sent
	settled  chan struct{} // has an element when one was

	mu        sync.Mutex
	state     State
	failures  int       // of sending, in a row
	failing   string    // the chat of the last one
	forgeries int       // deliveries that nothing proved, since that was logged
	warned    time.Time // when it was
	arrived   time.Time // the last reply
}

// State is how a channel is.
type State struct {
	Name     string `json:"name"`
	Platform string `json:"platform"`
	// Connected means that it receives; Error is why not, or why its last delivery failed.
	Connected bool      `json:"connected"`
	Error     string    `json:"error,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	// Received, Refused and Sent count messages since the start: those that were handed to the
	// engine, those of people who may not write, and replies.
	Received int64 `json:"received"`
	Refused  int64 `json:"refused"`
	Sent     int64 `json:"sent"`
	// Waiting is how many replies wait to be delivered, and Until when the account is used again
	// that the platform wants to rest.
	Waiting int `json:"waiting"`
	// GivenUp counts replies that were given up since the start, and Lost is why the last one
	// was. They are parked in the inbox.
	GivenUp int64     `json:"given_up"`
	Lost    string    `json:"lost,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	// Unknown says which names of chats in the configuration mean no chat, and why.
	Unknown []string `json:"unknown,omitempty"`
}

const (
	// remembered bounds each memory of people and messages; beyond it, the ones of long ago
	// are forgotten.
	remembered = 10_000
	// maxSending is how many replies are on their way at once.
	maxSending = 32
	// firstPause and lastPause are how long a channel rests after a failure.
	firstPause, lastPause = time.Second, 5 * time.Minute
)

// New returns a host. It connects to nothing yet.
func New(c Config) (*Host, error) {
	h := &Host{
		engine: c.Engine, contacts: contact.NewBook(cmp.Or[store.Records](c.Records, &store.Memory{})),
		files: cmp.Or(c.Files, &material.Reader{}),
		log:   cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
		busy:  map[queue]bool{}, later: map[queue]time.Time{},
		sending: make(chan struct{}, maxSending), bodies: body.NewGate(),
	}
	var all []string
	for _, a := range c.Accounts {
		all = append(all, a.Name)
	}
	for _, a := range c.Accounts {
		if a.Name == "" || a.Channel == nil || strings.ContainsAny(a.Name, ":/ ") {
			return nil, fmt.Errorf("a channel needs a name without colons, slashes and spaces, not %q", a.Name)
		}
		if slices.ContainsFunc(h.accounts, func(b *account) bool { return b.Name == a.Name }) {
			return nil, fmt.Errorf("there are two channels named %q", a.Name)
		}
		traits := a.Channel.Traits()
		if f, ok := a.Channel.(Finder); ok {
			a.chats = f.Names()
		}
		a.chats.Keep(slices.Concat(a.Groups, a.Overhear, a.Chats)...)
		h.accounts = append(h.accounts, &account{
			Account: a, Host: h, traits: traits,
			ids:   names.Names{Account: a.Name, Platform: traits.Platform, Local: traits.Local, Accounts: all},
			state: State{Name: a.Name, Platform: traits.Platform},
			rates: recent.New[string, *rate.Limiter](remembered), told: recent.New[string, time.Time](remembered),
			crowd:   rate.NewLimiter(1, 20),
			handled: recent.New[string, string](remembered), drafts: recent.New[string, *draft](remembered),
			edits: edited.New(), doubted: recent.New[int64, time.Time](remembered),
			ill: recent.New[string, time.Time](remembered),
			writer: &writer{
				a.Channel, traits, h.file, recent.New[string, bool](remembered), recent.New[string, int](remembered),
			},
			rests: rest.New(), heard: heard.New(a.Overhear),
			merger:   &merger{wait: a.Merge, rows: map[string]*row{}},
			underWay: make(chan struct{}, maxSending), settled: make(chan struct{}, 1),
		})
	}
	return h, nil
}

// Run runs the channels and delivers replies, until ctx ends. A channel that fails is run
// again after a pause, and does not disturb the others. Where several processes share the
// store, each channel runs in one of them.
func (h *Host) Run(ctx context.Context) {
	var all sync.WaitGroup
	owned := make(chan *account)
	for _, a := range h.accounts {
		all.Go(func() {
			defer panics.Log(h.log, "running a channel")
			a.own(ctx, owned)
		})
	}
	all.Go(func() {
		defer panics.Log(h.log, "delivering replies")
		h.deliver(ctx, owned)
	})
	all.Wait()
	h.turns.Wait()
}

// own runs a channel in the one process that may, and lets that one deliver its replies.
func (a *account) own(ctx context.Context, owned chan<- *account) {
	shared, ok := a.engine.Store().(store.Shared)
	if !ok || a.traits.Pushed {
		a.mine(ctx, shared, ok, owned)
		return
	}
	if claim(ctx, shared, a.key()) == nil {
		defer shared.Release(a.key())
		a.hand(ctx, owned)
		a.run(ctx)
	}
}

// mine runs a channel that every process runs; the replies are still for one of them.
func (a *account) mine(ctx context.Context, shared store.Shared, claims bool, owned chan<- *account) {
	var delivering sync.WaitGroup
	delivering.Go(func() {
		defer panics.Log(a.log, "claiming a channel")
		if !claims {
			a.hand(ctx, owned)
			return
		}
		if claim(ctx, shared, a.key()) == nil {
			defer shared.Release(a.key())
			a.hand(ctx, owned)
			<-ctx.Done()
		}
	})
	a.run(ctx)
	delivering.Wait()
}

func (a *account) hand(ctx context.Context, owned chan<- *account) {
	select {
	case owned <- a:
	case <-ctx.Done():
	}
}

// key is what a process claims that runs the channel.
func (a *Account) key() session.Key { return session.Key("channel:" + a.Name) }

// claim claims a key, and tries again while the store is away.
func claim(ctx context.Context, shared store.Shared, key session.Key) error {
	for {
		err := shared.Claim(ctx, store.Claim{Session: key})
		if err == nil || ctx.Err() != nil {
			return err
		}
		if !sleep.For(ctx, firstPause) {
			return ctx.Err()
		}
	}
}

// run runs a channel until ctx ends.
func (a *account) run(ctx context.Context) {
	a.life = ctx
	a.up.Store(true)
	going, end := a.lingering(ctx)
	defer end()
	if menu, ok := a.Channel.(Menu); ok {
		if err := menu.SetMenu(ctx, Commands()); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "the menu of commands could not be set", "channel", a.Name, "error", err)
		}
	}
	a.turns.Go(func() {
		defer panics.Log(a.log, "finding chats")
		_ = a.chats.Check(ctx) // the log and the state tell of it
	})
	for pause := firstPause; ctx.Err() == nil; {
		begun := time.Now()
		a.connected(true, nil)
		err := a.guarded(going)
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			err = errors.New("the connection has ended")
		}
		a.connected(false, err)
		if time.Since(begun) > lastPause {
			pause = firstPause
		}
		var limited *Limited
		wait := pause
		if errors.As(err, &limited) {
			wait = min(max(limited.After, pause), time.Hour)
		} else if errors.Is(err, ErrRefused) {
			wait = lastPause
		}
		a.log.WarnContext(ctx, "a channel has lost its connection", "channel", a.Name, "error", err, "again_in", wait)
		if !sleep.For(ctx, wait) {
			break
		}
		pause = min(2*pause, lastPause)
	}
	a.connected(false, nil)
}

// guarded is Run of the channel; a panic is an error.
func (a *account) guarded(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panics.Report(a.log.With("channel", a.Name), "running a channel", p)
		}
	}()
	return a.Channel.Run(ctx, receiver{a})
}

func (a *account) connected(now bool, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.Connected != now || a.state.Since.IsZero() {
		a.state.Connected, a.state.Since = now, time.Now()
	}
	if a.state.Error = ""; why != nil {
		a.state.Error = why.Error()
	}
}

// count changes the state of the channel.
func (a *account) count(f func(*State)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&a.state)
}

// States returns how the channels are, in their order.
func (h *Host) States() []State {
	list := make([]State, len(h.accounts))
	for i, a := range h.accounts {
		a.mu.Lock()
		list[i] = a.state
		if until := a.rests.Until("", ""); until.After(time.Now()) {
			list[i].Until = until
		}
		a.mu.Unlock()
		list[i].Unknown = a.chats.Unknown()
	}
	return list
}

// Metrics writes what the channels do in the text format of Prometheus.
func (h *Host) Metrics(w io.Writer) error {
	states := h.States()
	if len(states) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("# HELP etui_channel_messages_total Messages of channels: received and handed over, refused because of who wrote them or too fast, and replies that were sent or given up.\n# TYPE etui_channel_messages_total counter\n")
	for _, s := range states {
		for _, c := range []struct {
			what string
			n    int64
		}{{"received", s.Received}, {"refused", s.Refused}, {"sent", s.Sent}, {"given_up", s.GivenUp}} {
			fmt.Fprintf(&b, "etui_channel_messages_total{channel=%q,kind=%q} %d\n", s.Name, c.what, c.n)
		}
	}
	b.WriteString("# HELP etui_channel_connected Whether a channel receives in this process.\n# TYPE etui_channel_connected gauge\n")
	for _, s := range states {
		fmt.Fprintf(&b, "etui_channel_connected{channel=%q} %d\n", s.Name, map[bool]int{true: 1}[s.Connected])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ErrUnknown says that there is no channel with a name.
var ErrUnknown = errors.New("no such channel")

func (h *Host) account(name string) (*account, error) {
	for _, a := range h.accounts {
		if a.Name == name {
			return a, nil
		}
	}
	var names []string
	for _, a := range h.accounts {
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%q: %w; etui.yaml has no channels", name, ErrUnknown)
	}
	return nil, fmt.Errorf("%q: %w%s", name, ErrUnknown,
		cmp.Or(nearest.Hint(name, slices.Values(names)), "; there are "+strings.Join(names, ", ")))
}

// Probe asks the platform of a channel which account it has, and for the chats that the configuration
// names.
func (h *Host) Probe(ctx context.Context, name string) (string, error) {
	a, err := h.account(name)
	if err != nil {
		return "", err
	}
	who := a.Name
	if p, ok := a.Channel.(Prober); ok {
		who, err = p.Probe(ctx)
	}
	if err == nil {
		err = a.chats.Check(ctx)
	}
	return who, err
}

// file returns a file of a letter. There is an engine once there are letters.
func (h *Host) file(ctx context.Context, sha256 string) (chat.File, error) {
	return h.engine.Inbox().File(ctx, sha256)
}

// Say sends a text of the operator's to a chat.
func (h *Host) Say(ctx context.Context, name string, to Address, text string) error {
	a, err := h.account(name)
	if err == nil {
		to.Chat, err = a.chats.ID(ctx, to.Chat)
	}
	if err != nil {
		return err
	}
	return a.writer.writeText(ctx, to, a.Account.Language, text, nil, "")
}

// Place returns where something for a chat of a channel goes, and the conversation there, for
// [outbox.Outbox.PostTo]. An agent may write only to chats and people that the channel names: not to
// those that it allows with all others, or that were let in by a code.
func (h *Host) Place(ctx context.Context, name, chat string) (session.Key, json.RawMessage, error) {
	a, err := h.account(name)
	if err != nil {
		return "", nil, err
	}
	id, err := a.chats.ID(ctx, chat)
	if err != nil && slices.Contains(a.Groups, chat) { // of other names the agent learns nothing
		return "", nil, err
	}
	group := len(a.chats.Match(ctx, a.Groups, id)) > 0
	if chat == Everybody || chat == KnownUsers || !group && !slices.Contains(a.Allow, id) {
		return "", nil, fmt.Errorf("the channel %s names no chat %q under allow or groups, so nothing can be sent there", name, chat)
	}
	to := Address{Chat: id}
	who, err := a.engine.Agents().Whoami(a.message(ctx, Incoming{
		From: Sender{ID: id}, At: to, Group: group, Former: former(a.Channel, id),
	}))
	return who.Session, place{name, to}.raw(), err
}

// Told notes what an agent writes to a chat that Place has found. Its conversation has it; where each
// question begins a thread, the conversations of those get it from here.
func (h *Host) Told(ctx context.Context, name, chat, text string) {
	if a, err := h.account(name); err == nil {
		if id, err := a.chats.ID(ctx, chat); err == nil {
			a.heard.Tell(cmp.Or(former(a.Channel, id), id), text, time.Now())
		}
	}
}

// Up reports whether a channel runs in this process; where several share a store, only one runs it.
func (h *Host) Up(name string) bool {
	a, err := h.account(name)
	return err == nil && a.up.Load()
}

// ServeHTTP hands a request to the webhook of the channel that the path value "channel"
// names.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := h.account(r.PathValue("channel"))
	hook, ok := Webhook(nil), false
	if err == nil {
		hook, ok = a.Channel.(Webhook)
	}
	switch {
	case !ok:
		http.Error(w, "There is no such webhook.", http.StatusNotFound)
	case !a.up.Load():
		w.Header().Set("Retry-After", "2")
		http.Error(w, "The channel is starting, or another etui runs it.", http.StatusServiceUnavailable)
	default:
		r, taken := h.bodies.Bound(w, r)
		defer taken()
		if _, pages := a.Channel.(Origins); pages || r.Method != http.MethodPost {
			hook.ServeHTTP(w, r)
			return
		}
		seen := &body.Answered{ResponseWriter: w}
		hook.ServeHTTP(seen, r)
		if seen.Status == http.StatusUnauthorized || seen.Status == http.StatusForbidden {
			a.forged(r.Context())
		}
	}
}

// Trusts reports whether pages of an origin may post to the webhook of a channel.
func (h *Host) Trusts(name, origin string) bool {
	a, err := h.account(name)
	if err != nil {
		return false
	}
	o, ok := a.Channel.(Origins)
	return ok && o.AllowsOrigin(origin)
}

// place is where the reply to a message goes, as the engine keeps it.
type place struct {
	Account string `json:"account"`
	Address
}

func (p place) raw() json.RawMessage {
	raw, _ := json.Marshal(p) // texts
	return raw
}
