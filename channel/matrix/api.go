package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// Codes of the API.
const (
	forbidden    = "M_FORBIDDEN"
	notFound     = "M_NOT_FOUND"
	unrecognized = "M_UNRECOGNIZED"
	badParameter = "M_INVALID_PARAM"
	noVersion    = "M_UNSUPPORTED_ROOM_VERSION" // what Dendrite says of a room that is not there
)

// refusals are the codes of the specification (client-server API 1.16, "Standard error response", and
// those of the routes), and of MSC3848 and MSC4335. The docs list them. A homeserver counts what an
// account sends, whatever the room.
var refusals = platform.Refusals{
	// The token has ended, also with soft_logout; the account is deactivated, locked or suspended, has to
	// consent to terms, or the homeserver takes no more of anybody or of this account.
	Refused: []string{
		"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_UNAUTHORIZED", "M_USER_DEACTIVATED", "M_USER_LOCKED",
		"M_USER_SUSPENDED", "M_CONSENT_NOT_GIVEN", "M_RESOURCE_LIMIT_EXCEEDED", "M_USER_LIMIT_EXCEEDED",
	},
	// M_FORBIDDEN and M_NOT_FOUND mean a room only where something is sent into one; post knows them.
	Gone: []string{"M_GUEST_ACCESS_FORBIDDEN", "M_NOT_JOINED", "M_INSUFFICIENT_POWER"},
	Busy: []string{"M_LIMIT_EXCEEDED"},
	Away: []string{"M_CONNECTION_FAILED", "M_CONNECTION_TIMEOUT"},
}

// refusal returns the error of an answer.
func refusal(a *platform.Answer) *platform.Failure {
	if a.Status >= 200 && a.Status < 300 {
		return nil
	}
	var says struct {
		Code  string `json:"errcode"`
		Error string
		After float64 `json:"retry_after_ms"`
	}
	if err := json.Unmarshal(a.Body, &says); err != nil { // a proxy answers otherwise
		return &platform.Failure{Away: true}
	}
	f := &platform.Failure{Code: says.Code, Message: says.Error}
	if _, ok := platform.RetryAfter(a.Header.Get("Retry-After")); !ok { // the older way
		f.After = platform.Seconds(says.After / 1000)
	}
	if f.Code == "M_UNKNOWN_TOKEN" {
		f.Message += "; get a new access token as docs/channels/matrix.md says, and restart etui"
	}
	return f
}

// failed reports whether err is an error that the homeserver itself has answered with, about
// this request: not about the account, and not that it wants less.
func failed(err error) bool {
	var f *platform.Failure
	return errors.As(err, &f) && f.Code != "" && !errors.Is(err, channel.ErrRefused) &&
		!errors.As(err, new(*channel.Limited))
}

// denied is failed without internal errors, after which it may work later.
func denied(err error) bool {
	var f *platform.Failure
	return failed(err) && errors.As(err, &f) && f.Status < 500
}

// For how long a call waits by itself when the homeserver wants less, and how often.
const (
	maxHold  = 5 * time.Second
	maxHolds = 3
)

// route returns a request of a route of /_matrix/client, or of /_matrix if it begins with a
// slash, in which args take the place of {}.
func route(method, route string, args ...string) platform.Request {
	path := "_matrix/client/" + route
	if rest, ok := strings.CutPrefix(route, "/"); ok {
		path = "_matrix/" + rest
	}
	return platform.Request{Call: method + " " + route, Method: method, Path: platform.Route(path, args...)}
}

// call calls a route and reads its answer. Body is sent as JSON.
func (c *Channel) call(ctx context.Context, method, path string, args []string, query url.Values, body,
	into any) error {
	r := route(method, path, args...)
	r.Query, r.Body = query, body
	return c.request(ctx, r, into)
}

// request makes a call. If the homeserver wants less for some seconds, it waits.
func (c *Channel) request(ctx context.Context, r platform.Request, into any) error {
	for hold := 0; ; hold++ {
		err := c.api.Call(ctx, r, into)
		var limited *channel.Limited
		if hold == maxHolds || !errors.As(err, &limited) || limited.After > maxHold {
			return err
		}
		if err := platform.Sleep(ctx, limited.After); err != nil {
			return err
		}
	}
}
