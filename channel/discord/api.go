package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
)

// agent is how the API wants bots to name themselves; it refuses others.
const agent = "DiscordBot (https://github.com/etui-run/etui, 1)"

// failure is an answer of the API that says no.
type failure struct {
	route   string
	status  int
	code    int
	message string
}

func (f *failure) Error() string {
	text := fmt.Sprintf("discord: %s: status %d", f.route, f.status)
	if f.message != "" {
		text += ": " + f.message
	}
	if f.code != 0 {
		text += fmt.Sprintf(" (%d)", f.code)
	}
	return text
}

// Unwrap says what the answer means for replies.
func (f *failure) Unwrap() error {
	switch {
	case slices.Contains(gone, f.code):
		return channel.ErrGone
	case f.code == badToken:
		return nil // that of an interaction
	case f.status == http.StatusUnauthorized, f.code == 40002: // the account must be verified
		return channel.ErrRefused
	}
	return nil
}

// Codes of the API.
const (
	unknownMessage     = 10008
	unknownWebhook     = 10015
	unknownInteraction = 10062
	unknownEmoji       = 10014
	alreadyAnswered    = 40060
	badToken           = 50027 // of an interaction that is over
	noHistory          = 160002
)

// gone are the codes that say that nothing can be sent there: unknown channel, server or
// person; no access; the person takes no messages; no text there; no permission; the kind of
// channel; no server in common; a locked thread.
var gone = []int{10003, 10004, 10013, 50001, 50007, 50008, 50013, 50024, 50278, 160005}

// fails reports whether err is an answer with one of these codes.
func fails(err error, codes ...int) bool {
	var f *failure
	return errors.As(err, &f) && slices.Contains(codes, f.code)
}

// The time to wait if Discord names none, the longest that is believed, and for how long a
// call waits by itself until a limit is over.
const (
	defaultWait = 30 * time.Second
	maxWait     = time.Hour
	maxHold     = 5 * time.Second
)

// limits is what Discord has said about how much it takes. A bucket is shared by routes and
// counts for each of their main resources: a channel, a server, an interaction.
type limits struct {
	buckets *recent.Cache[string, string]    // by route: the bucket's name
	until   *recent.Cache[string, time.Time] // by bucket and resource: nothing is left before

	mu     sync.Mutex
	global time.Time // no call may be made before
}

func newLimits() *limits {
	return &limits{buckets: recent.New[string, string](maxKnown), until: recent.New[string, time.Time](maxKnown)}
}

// bucket returns the key of the bucket of a route.
func (l *limits) bucket(route, resource string) string {
	if name, ok := l.buckets.Get(route); ok {
		return name + "\x00" + resource
	}
	return route + "\x00" + resource
}

// hold waits until a call may be made, or returns a [*channel.Limited] if that takes too
// long.
func (l *limits) hold(ctx context.Context, route, resource string) error {
	for {
		at, _ := l.until.Get(l.bucket(route, resource))
		l.mu.Lock()
		if l.global.After(at) {
			at = l.global
		}
		l.mu.Unlock()
		wait := time.Until(at)
		if wait <= 0 {
			return nil
		}
		if wait > maxHold {
			return &channel.Limited{After: wait, Err: fmt.Errorf("discord: %s: nothing is left of the limit", route)}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// note remembers what an answer says about the limit of its route.
func (l *limits) note(route, resource string, h http.Header) {
	if name := h.Get("X-RateLimit-Bucket"); name != "" && len(name) <= 200 {
		l.buckets.Put(route, name)
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		if after, ok := seconds(h.Get("X-RateLimit-Reset-After")); ok {
			l.until.Put(l.bucket(route, resource), time.Now().Add(after))
		}
	}
}

// exceeded remembers that a call was one too many, and returns when the next one may be.
func (l *limits) exceeded(route, resource string, h http.Header, body []byte) *channel.Limited {
	var answer struct {
		RetryAfter float64 `json:"retry_after"`
		Global     bool
	}
	after, ok := seconds(h.Get("Retry-After"))
	if err := json.Unmarshal(body, &answer); err == nil && answer.RetryAfter > 0 {
		if exact, fits := bounded(answer.RetryAfter); fits {
			after, ok = exact, true
		}
	}
	if !ok {
		after = defaultWait
	}
	at := time.Now().Add(after)
	if answer.Global || h.Get("X-RateLimit-Global") == "true" || h.Get("X-RateLimit-Scope") == "global" {
		l.mu.Lock()
		l.global = at
		l.mu.Unlock()
	} else {
		l.until.Put(l.bucket(route, resource), at)
	}
	return &channel.Limited{After: after, Err: fmt.Errorf("discord: %s: too many requests", route)}
}

// seconds reads a number of seconds with decimals.
func seconds(s string) (time.Duration, bool) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	return bounded(n)
}

func bounded(n float64) (time.Duration, bool) {
	if math.IsNaN(n) || n < 0 {
		return 0, false
	}
	return time.Duration(min(n, maxWait.Seconds()) * float64(time.Second)), true
}

// upload is a body with files.
type upload struct {
	contentType string
	data        []byte
}

// call calls a route, in which args take the place of {}, and reads its answer. Body is sent
// as JSON, unless it is an upload. No error holds a token or a URL.
func (c *Channel) call(ctx context.Context, method, route string, args []string, body, into any) error {
	name, resource := method+" "+route, ""
	path := route
	for i, arg := range args {
		path = strings.Replace(path, "{}", url.PathEscape(arg), 1)
		if i == 0 || i == 1 && strings.HasPrefix(route, "webhooks/") {
			resource += "/" + arg
		}
	}
	patience := callTime
	var content io.Reader
	contentType := ""
	switch b := body.(type) {
	case nil:
	case upload:
		content, contentType, patience = bytes.NewReader(b.data), b.contentType, fileTime
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return fmt.Errorf("discord: %s: %w", name, err)
		}
		content, contentType = bytes.NewReader(text), "application/json"
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.limits.hold(ctx, name, resource); err != nil {
		return err
	}
	if err := c.pace.Wait(ctx); err != nil {
		return fmt.Errorf("discord: %s: %w", name, err)
	}
	u := *c.api
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(u.String(), "/")+"/"+path, content)
	if err != nil {
		return fmt.Errorf("discord: %s: %w", name, plain(err))
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("User-Agent", agent)
	if !strings.HasPrefix(route, "webhooks/") && !strings.HasPrefix(route, "interactions/") { // these have a token in their path
		req.Header.Set("Authorization", "Bot "+c.token)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return fmt.Errorf("discord: %s: %w", name, plain(err))
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return fmt.Errorf("discord: %s: %w", name, plain(err))
	}
	c.limits.note(name, resource, res.Header)
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		return c.limits.exceeded(name, resource, res.Header, answer)
	case res.StatusCode < 200 || res.StatusCode > 299:
		f := &failure{route: name, status: res.StatusCode}
		var says struct {
			Code    int
			Message string
		}
		if err := json.Unmarshal(answer, &says); err == nil { // a proxy answers otherwise
			f.code, f.message = says.Code, word(says.Message)
		}
		return f
	case len(answer) > maxBody:
		return fmt.Errorf("discord: %s: the answer is too large", name)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("discord: %s: the answer is not as expected: %w", name, err)
	}
	return nil
}

// word shortens a text of a server.
func word(s string) string { return printable.Line(s, 200) }

// plain returns an error of net/http without the URL.
func plain(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}
