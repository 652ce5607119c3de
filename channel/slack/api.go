package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
)

// failure is an answer of the API that says no.
type failure struct{ method, code, needed string }

func (f *failure) Error() string {
	text := fmt.Sprintf("slack: %s: %s", f.method, f.code)
	if f.needed != "" {
		text += "; add the scope " + f.needed + " to the app and install it again"
	}
	return text
}

// Unwrap says what the answer means for replies.
func (f *failure) Unwrap() error {
	switch {
	case slices.Contains(refused, f.code):
		return channel.ErrRefused
	case slices.Contains(gone, f.code) || strings.HasPrefix(f.code, "restricted_action"):
		return channel.ErrGone
	}
	return nil
}

var (
	refused = []string{"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope", "not_allowed_token_type", "org_login_required", "team_access_not_granted", "user_removed_from_team", "messages_tab_disabled"}
	gone    = []string{"channel_not_found", "is_archived", "user_not_found", "users_not_found", "user_disabled", "not_in_channel", "cannot_dm_bot", "cannot_reply_to_message"}
)

// fails reports whether err is an answer with one of these codes.
func fails(err error, codes ...string) bool {
	var f *failure
	return errors.As(err, &f) && slices.Contains(codes, f.code)
}

// call calls a method of the API and reads its answer. No error holds a token or a URL.
func (c *Channel) call(ctx context.Context, token, method string, args url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.api.JoinPath(method).String(), strings.NewReader(args.Encode()))
	if err != nil {
		return fmt.Errorf("slack: %s: %w", method, plain(err))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+token)
	body, err := c.do(req, maxBody)
	if err != nil {
		return fmt.Errorf("slack: %s: %w", method, err)
	}
	var answer struct {
		OK            bool
		Error, Needed string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("slack: %s: the answer is not JSON", method)
	}
	switch {
	case answer.OK && into != nil:
		if err := json.Unmarshal(body, into); err != nil {
			return fmt.Errorf("slack: %s: reading the answer: %w", method, err)
		}
		return nil
	case answer.OK:
		return nil
	}
	err = &failure{method, word(answer.Error), word(answer.Needed)}
	if fails(err, "ratelimited", "rate_limited") {
		return &channel.Limited{After: defaultWait, Err: err}
	}
	return err
}

// word shortens what a server calls an error.
func word(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 200)], "")
	return strings.Join(strings.Fields(printable.Text(s)), " ")
}

// The time to wait if Slack names none, and the longest that is believed.
const (
	defaultWait = 30 * time.Second
	maxWait     = time.Hour
)

// do makes a request and returns the body of an answer with status 200. An error tells
// nothing of the URL, which may be a secret.
func (c *Channel) do(req *http.Request, limit int64) ([]byte, error) {
	res, err := c.client.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests {
		after := defaultWait
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s >= 0 {
			after = min(time.Duration(s)*time.Second, maxWait)
		}
		return nil, &channel.Limited{After: after, Err: errors.New("too many requests")}
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers with status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(body)) > limit {
		return nil, errTooLarge
	}
	return body, nil
}

var errTooLarge = errors.New("the answer is too large")

// plain returns an error of net/http without the URL.
func plain(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}
