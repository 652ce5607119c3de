package matrix

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
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
)

// failure is an answer of the homeserver that says no.
type failure struct {
	route   string
	status  int
	code    string
	message string
}

func (f *failure) Error() string {
	text := fmt.Sprintf("matrix: %s: status %d", f.route, f.status)
	if f.code != "" {
		text += ": " + f.code
	}
	if f.message != "" {
		text += ": " + f.message
	}
	if f.code == "M_UNKNOWN_TOKEN" {
		text += "; get a new access token as docs/channels/matrix.md says, and restart etui"
	}
	return text
}

// Codes of the API.
const (
	forbidden    = "M_FORBIDDEN"
	notFound     = "M_NOT_FOUND"
	unrecognized = "M_UNRECOGNIZED"
	duplicate    = "M_DUPLICATE_ANNOTATION"
	badParameter = "M_INVALID_PARAM"
	noVersion    = "M_UNSUPPORTED_ROOM_VERSION" // what Dendrite says of a room that is not there
)

// refusals are the codes that say that the account may not do anything.
var refusals = []string{"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED", "M_USER_SUSPENDED", "M_CONSENT_NOT_GIVEN"}

// Unwrap says what the answer means for replies.
func (f *failure) Unwrap() error {
	if slices.Contains(refusals, f.code) {
		return channel.ErrRefused
	}
	return nil
}

// fails reports whether err is an answer with one of these codes.
func fails(err error, codes ...string) bool {
	var f *failure
	return errors.As(err, &f) && slices.Contains(codes, f.code)
}

// failed reports whether err is an error that the homeserver itself has answered with, about
// this request: not about the account, and not that it wants less.
func failed(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.code != "" && !errors.Is(err, channel.ErrRefused) && !errors.As(err, new(*channel.Limited))
}

// denied is failed without internal errors, after which it may work later.
func denied(err error) bool {
	var f *failure
	return failed(err) && errors.As(err, &f) && f.status < 500
}

// The time to wait if the homeserver names none, the longest that is believed, and for how
// long a call waits by itself.
const (
	defaultWait = 5 * time.Second
	maxWait     = time.Hour
	maxHold     = 5 * time.Second
	maxHolds    = 3
)

// upload is a body that is a file.
type upload struct {
	mediaType string
	data      []byte
}

// errTooLarge says that an answer has more bytes than are read.
var errTooLarge = errors.New("the answer is too large")

// call calls a route of /_matrix/client, in which args take the place of {}, and reads its
// answer. Body is sent as JSON, unless it is an upload. If the homeserver wants less for some
// seconds, call waits. No error holds the token.
func (c *Channel) call(ctx context.Context, method, route string, args []string, query url.Values, body, into any) error {
	return c.callFor(ctx, callTime, maxBody, method, route, args, query, body, into)
}

func (c *Channel) callFor(ctx context.Context, patience time.Duration, most int64, method, route string, args []string, query url.Values, body, into any) error {
	name := method + " " + route
	var data []byte
	mediaType := ""
	switch b := body.(type) {
	case nil:
	case upload:
		data, mediaType = b.data, b.mediaType
	default:
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false) // it would make six bytes of one
		if err := e.Encode(b); err != nil {
			return fmt.Errorf("matrix: %s: %w", name, err)
		}
		data, mediaType = text.Bytes(), "application/json"
	}
	for hold := 0; ; hold++ {
		answer, err := c.once(ctx, patience, most, method, address(route, args, query), name, mediaType, data)
		var limited *channel.Limited
		if hold < maxHolds && errors.As(err, &limited) && limited.After <= maxHold {
			if !sleep(ctx, limited.After) {
				return ctx.Err()
			}
			continue
		}
		if err != nil || into == nil {
			return err
		}
		if err := json.Unmarshal(answer, into); err != nil {
			return fmt.Errorf("matrix: %s: the answer is not as expected: %w", name, err)
		}
		return nil
	}
}

// address is the path of a route with its arguments.
func address(route string, args []string, query url.Values) string {
	path := "/_matrix/client/" + route
	if rest, ok := strings.CutPrefix(route, "/"); ok {
		path = "/_matrix/" + rest
	}
	for _, arg := range args {
		path = strings.Replace(path, "{}", url.PathEscape(arg), 1)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// once makes one request, and returns the body of an answer that says yes.
func (c *Channel) once(ctx context.Context, patience time.Duration, most int64, method, path, name, mediaType string, data []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("matrix: %s: %w", name, plain(err))
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	req.Header.Set("Authorization", "Bearer "+c.config.Token)
	req.Header.Set("User-Agent", "etui")
	res, err := c.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("matrix: %s: %w", name, plain(err))
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, c.refused(name, res)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("matrix: %s: %w", name, plain(err))
	}
	if int64(len(answer)) > most {
		return nil, fmt.Errorf("matrix: %s: %w", name, errTooLarge)
	}
	return answer, nil
}

// refused makes an error of an answer that says no.
func (c *Channel) refused(name string, res *http.Response) error {
	f := &failure{route: name, status: res.StatusCode}
	var says struct {
		Code  string `json:"errcode"`
		Error string
		After float64 `json:"retry_after_ms"`
	}
	const long = 64 << 10 // bytes of an error, which is short
	body, err := io.ReadAll(io.LimitReader(res.Body, long))
	if err == nil {
		err = json.Unmarshal(body, &says)
	}
	if err == nil { // a proxy answers otherwise
		f.code, f.message = word(says.Code), word(strings.ReplaceAll(says.Error, c.config.Token, "…"))
	}
	if res.StatusCode == http.StatusTooManyRequests || f.code == "M_LIMIT_EXCEEDED" {
		return &channel.Limited{After: after(res.Header.Get("Retry-After"), says.After), Err: f}
	}
	return f
}

// after is how long the homeserver wants to be left alone: what its header says, or the
// older number of milliseconds.
func after(header string, milliseconds float64) time.Duration {
	if n, err := strconv.Atoi(header); err == nil && n >= 0 {
		return min(time.Duration(min(n, 1<<20))*time.Second, maxWait)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(time.Until(at), 0), maxWait)
	}
	if milliseconds > 0 && !math.IsNaN(milliseconds) {
		return time.Duration(min(milliseconds, float64(maxWait.Milliseconds())) * float64(time.Millisecond))
	}
	return defaultWait
}

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
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
