package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
)

// failure is an answer of the API that says no.
type failure struct {
	path    string
	code    int
	message string
}

func (f *failure) Error() string {
	return fmt.Sprintf("feishu: %s: code %d: %s", f.path, f.code, f.message)
}

// Unwrap says what the answer means for replies.
func (f *failure) Unwrap() error {
	switch {
	case slices.Contains(refused, f.code), slices.Contains(expired, f.code):
		return channel.ErrRefused
	case slices.Contains(gone, f.code):
		return channel.ErrGone
	}
	return nil
}

var (
	// expired are codes about the access token, which is fetched again once. 99991663,
	// 99991664, 99991671: core/constants.go of the SDK; 99991668, 99991677: the table of the
	// CLI.
	expired = []int{99991663, 99991664, 99991671, 99991668, 99991677}
	// refused are codes about the app. 10003, 10014: generic-error-code, app_id and app_secret;
	// 99991543, 99991661, 99991662, 99991672, 99991673, 99991676, 99991679 and 230027: the
	// table of the CLI, for a wrong secret, an app that is not in use and rights that are
	// missing; 230006, 232025: the bot is not activated (im-v1/message/create,
	// im-v1/chat/get).
	refused = []int{10003, 10014, 99991543, 99991661, 99991662, 99991672, 99991673, 99991676, 99991679, 230006, 230027, 232025}
	// gone are codes about a chat or a person (im-v1/message/create): the bot is not in the
	// group, it is not available to the person, or the chat does not exist (230045:
	// im-v1/pin/delete).
	gone = []int{230002, 230013, 230045}
	// withdrawn are codes about a message that is answered: it was recalled or deleted.
	withdrawn = []int{230011, 231003}
	// busy are codes that ask to wait: 99991400 (server-docs/api-call-guide/frequency-control)
	// and 230020, of one chat or message (im-v1/message/create).
	busy = []int{99991400, 230020}
)

// badCard is the code of a card that the platform cannot make (im-v1/message/create).
const badCard = 230099

// fails reports whether err is an answer with one of these codes.
func fails(err error, codes ...int) bool {
	var f *failure
	return errors.As(err, &f) && slices.Contains(codes, f.code)
}

// accessToken is the tenant_access_token that calls carry. Whoever holds the lock fetches it.
type accessToken struct {
	lock  chan struct{}
	value string
	until time.Time
}

// access returns a token that is valid for some minutes, other than the one that the
// platform has refused. One caller fetches it, and others wait for it. It lasts two hours
// at most (自建应用获取 tenant_access_token, auth-v3/auth/tenant_access_token_internal).
func (c *Channel) access(ctx context.Context, refused string) (string, error) {
	t := &c.token
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.value != "" && t.value != refused && time.Now().Before(t.until) {
		return t.value, nil
	}
	const path = "auth/v3/tenant_access_token/internal"
	body, err := json.Marshal(map[string]string{"app_id": c.config.AppID, "app_secret": c.config.AppSecret})
	if err != nil {
		return "", fmt.Errorf("feishu: %s: %w", path, err)
	}
	data, err := c.do(ctx, request{method: http.MethodPost, path: path, body: body, contentType: contentJSON}, "")
	if err != nil {
		return "", err
	}
	var got struct {
		Token  string `json:"tenant_access_token"`
		Expire int    `json:"expire"`
	}
	if err := decode(path, data, &got); err != nil {
		return "", err
	}
	if got.Token == "" {
		return "", fmt.Errorf("feishu: %s: the answer has no token", path)
	}
	life := min(time.Duration(max(got.Expire, 0))*time.Second, 2*time.Hour)
	t.value, t.until = got.Token, time.Now().Add(life-min(life/10, 5*time.Minute))
	return t.value, nil
}

const contentJSON = "application/json; charset=utf-8"

// request is a call of the API.
type request struct {
	method      string
	path        string // after /open-apis/; its elements are escaped
	query       url.Values
	body        []byte
	contentType string
	limit       int64 // bytes of the answer; 0 means maxBody
	time        time.Duration
}

// call calls the API and reads the data of its answer. Body and out may be nil.
func (c *Channel) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	r := request{method: method, path: path, query: query}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("feishu: %s: %w", path, err)
		}
		r.body, r.contentType = text, contentJSON
	}
	data, err := c.request(ctx, r)
	if err != nil || out == nil {
		return err
	}
	return decode(path, data, &struct{ Data any }{out})
}

// decode reads an answer.
func decode(path string, data []byte, out any) error {
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("feishu: %s: reading the answer: %w", path, err)
	}
	return nil
}

// request makes a call with a token, and once more with a new one if the platform does not
// know the token any more.
func (c *Channel) request(ctx context.Context, r request) ([]byte, error) {
	old := ""
	for {
		token, err := c.access(ctx, old)
		if err != nil {
			return nil, err
		}
		data, err := c.do(ctx, r, token)
		if old == "" && fails(err, expired...) {
			old = token
			continue
		}
		return data, err
	}
}

// The time to wait if the platform names none, and the longest that is believed.
const (
	defaultWait = 5 * time.Second
	maxWait     = time.Hour
)

// do makes one request and returns the body of its answer. No error of it holds a token, a
// secret or a URL.
func (c *Channel) do(ctx context.Context, r request, token string) ([]byte, error) {
	if r.time == 0 {
		r.time = callTime
	}
	if r.limit == 0 {
		r.limit = maxBody
	}
	ctx, cancel := context.WithTimeout(ctx, r.time)
	defer cancel()
	u := c.api.JoinPath("open-apis", r.path)
	u.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("feishu: %s: the request cannot be made", r.path)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("feishu: %s: %w", r.path, plain(err))
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, r.limit+1))
	if err != nil {
		return nil, fmt.Errorf("feishu: %s: %w", r.path, plain(err))
	}
	if int64(len(data)) > r.limit {
		return nil, fmt.Errorf("feishu: %s: %w", r.path, errTooLarge)
	}
	return data, answered(r.path, res, data)
}

var errTooLarge = errors.New("the answer is too large")

// answered returns the error that an answer says. Errors come with status 400 or 429, and
// older ones with 200; files come without a code.
func answered(path string, res *http.Response, data []byte) error {
	var answer struct {
		Code    *int   `json:"code"`
		Message string `json:"msg"`
	}
	err := json.Unmarshal(data, &answer)
	var said error
	switch {
	case err == nil && answer.Code != nil && *answer.Code != 0:
		said = &failure{path, *answer.Code, printable.Line(answer.Message, 300)}
	case res.StatusCode != http.StatusOK:
		said = fmt.Errorf("feishu: %s: HTTP status %d", path, res.StatusCode)
	}
	if res.StatusCode == http.StatusTooManyRequests || fails(said, busy...) {
		after := defaultWait
		if s, err := strconv.Atoi(res.Header.Get("X-Ogw-Ratelimit-Reset")); err == nil && s >= 0 {
			after = min(time.Duration(s)*time.Second, maxWait)
		}
		return &channel.Limited{After: after, Err: said}
	}
	return said
}

// plain returns an error of net/http without the URL.
func plain(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}
