package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
)

// agent is how the API wants bots to name themselves; it refuses others.
const agent = "DiscordBot (https://github.com/etui-run/etui, 1)"

// Codes of the API.
const (
	unknownMessage     = "10008"
	unknownWebhook     = "10015"
	unknownInteraction = "10062"
	alreadyAnswered    = "40060"
	notVerified        = "40002" // the account
	badToken           = "50027" // of an interaction that is over
	noHistory          = "160002"
)

// refusals are the codes of the API (topics/opcodes-and-status-codes, JSON error codes). About the
// chat: unknown channel, server or person; no access; the person takes no messages; no text there; no
// permission; the kind of channel; no server in common; an archived or locked thread; two-factor login
// is required there. About the account: it has to be verified, is flagged, or its token is not valid.
var refusals = platform.Refusals{
	Gone: []string{
		"10003", "10004", "10013", "50001", "50007", "50008", "50009", "50013", "50024", "50083", "50278",
		"60003", "160005", "160007",
	},
	Refused: []string{notVerified, "20001", "20026", "40001", "50014"},
	Busy:    []string{"20016", "20022", "20028", "20029", "31001", "40003", "40004", "130000"}, Limits: channel.OneChat,
	Away: []string{"40006", "40333", "500000"},
}

// refusal returns the error of an answer.
func refusal(a *platform.Answer) *platform.Failure {
	if a.Status >= 200 && a.Status < 300 {
		return nil
	}
	var says struct {
		Code       int
		Message    string
		RetryAfter float64 `json:"retry_after"`
	}
	f := &platform.Failure{Away: true}
	if err := json.Unmarshal(a.Body, &says); err == nil { // a proxy answers otherwise
		f.Away = false
		f.Message, f.After = says.Message, platform.Seconds(says.RetryAfter)
		if says.Code != 0 {
			f.Code = strconv.Itoa(says.Code)
		}
	}
	if a.Status == http.StatusUnauthorized && f.Code != badToken {
		f.Means = channel.ErrRefused
	}
	return f
}

// maxHold is for how long a call waits by itself until a limit is over.
const maxHold = 5 * time.Second

// limits is what Discord has said about how much it takes. A bucket is shared by routes and
// counts for each of their main resources: a channel, a server, an interaction.
type limits struct {
	mu sync.Mutex // of until: two answers may tell of the same limit at once

	buckets *recent.Cache[string, string]    // by route: the bucket's name
	until   *recent.Cache[string, time.Time] // by bucket and resource: nothing is left before; empty means all calls
}

func newLimits() *limits {
	return &limits{buckets: recent.New[string, string](maxKnown), until: recent.New[string, time.Time](maxKnown)}
}

// bucket returns the key of the bucket of a route.
func (l *limits) bucket(route, resource string) string {
	name, _ := l.buckets.Get(route)
	return cmp.Or(name, route) + "\x00" + resource
}

// hold waits until a call may be made, or returns a [*channel.Limited] if that takes too
// long.
func (l *limits) hold(ctx context.Context, route, resource string) error {
	for {
		at, _ := l.until.Get(l.bucket(route, resource))
		all, _ := l.until.Get("")
		switch wait := max(time.Until(at), time.Until(all)); {
		case wait <= 0:
			return nil
		case wait > maxHold:
			scope := channel.OneChat
			if time.Until(all) > maxHold {
				scope = channel.WholeAccount
			}
			return &channel.Limited{After: wait, Scope: scope,
				Err: fmt.Errorf("discord: %s: nothing is left of the limit", route)}
		default:
			if err := platform.Sleep(ctx, wait); err != nil {
				return err
			}
		}
	}
}

// note remembers what an answer says about the limit of its route. Limited is set if the
// call was one too many.
func (l *limits) note(route, resource string, a *platform.Answer, limited *channel.Limited) {
	if name := a.Header.Get("X-RateLimit-Bucket"); name != "" && len(name) <= 200 {
		l.buckets.Put(route, name)
	}
	key := l.bucket(route, resource)
	if limited == nil {
		if after, ok := platform.RetryAfter(a.Header.Get("X-RateLimit-Reset-After")); ok &&
			a.Header.Get("X-RateLimit-Remaining") == "0" {
			l.rest(key, after)
		}
		return
	}
	var says struct{ Global bool }
	_ = json.Unmarshal(a.Body, &says) // a proxy answers otherwise
	if says.Global || a.Header.Get("X-RateLimit-Global") == "true" || a.Header.Get("X-RateLimit-Scope") == "global" {
		key, limited.Scope = "", channel.WholeAccount
	}
	l.rest(key, limited.After)
}

// rest notes that nothing is left for a time. It shortens no rest: answers overtake each other.
func (l *limits) rest(key string, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := time.Now().Add(after)
	if is, _ := l.until.Get(key); until.After(is) {
		l.until.Put(key, until)
	}
}

// call calls a route, in which args take the place of {}, and reads its answer. Body is sent
// as JSON, unless it is a form.
func (c *Channel) call(ctx context.Context, method, route string, args []string, body, into any) error {
	route, given, _ := strings.Cut(route, "?")
	query, _ := url.ParseQuery(given) // it is written here
	name, resource := method+" "+route, ""
	for i, arg := range args {
		if i == 0 || i == 1 && strings.HasPrefix(route, "webhooks/") {
			resource += "/" + arg
		}
	}
	r := platform.Request{Call: name, Method: method, Path: platform.Route(route, args...), Query: query, Body: body}
	if !strings.HasPrefix(route, "webhooks/") && !strings.HasPrefix(route, "interactions/") { // these have a token in their path
		r.Header = http.Header{"Authorization": {"Bot " + c.token}}
	}
	ctx, cancel := context.WithTimeout(ctx, platform.FileTime)
	defer cancel()
	if err := c.limits.hold(ctx, name, resource); err != nil {
		return err
	}
	if err := c.pace.Wait(ctx); err != nil {
		return fmt.Errorf("discord: %s: %w", name, err)
	}
	answer, err := c.api.Do(ctx, r)
	if answer != nil {
		var limited *channel.Limited
		_ = errors.As(err, &limited)
		c.limits.note(name, resource, answer, limited)
	}
	if err != nil {
		return err
	}
	return c.api.Read(r, answer, into)
}
