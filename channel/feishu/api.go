package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// Codes of the API.
var (
	// expired are codes about the access token, which is fetched again once. 99991663,
	// 99991664, 99991671: core/constants.go of the SDK; 99991668, 99991677: the table of the
	// CLI.
	expired = []string{"99991663", "99991664", "99991671", "99991668", "99991677"}
	// withdrawn are codes about a message that is answered: it was recalled or deleted.
	withdrawn = []string{"230011", "231003"}
	refusals  = platform.Refusals{
		// About the app. 10003, 10014: generic-error-code, app_id and app_secret;
		// 99991543, 99991661, 99991662, 99991672, 99991673, 99991676, 99991679 and 230027: the
		// table of the CLI, for a wrong secret, an app that is not in use and rights that are
		// missing; 230006, 232025: the bot is not activated (im-v1/message/create,
		// im-v1/chat/get); 230036: the key of the company is gone; 99991401, 99991403: the address of
		// this machine is not allowed, or the calls of the month are used up.
		Refused: append([]string{
			"10003", "10014", "99991543", "99991661", "99991662", "99991672", "99991673", "99991676", "99991679",
			"230006", "230027", "230036", "232025", "99991401", "99991403",
		}, expired...),
		// About a chat or a person (im-v1/message/create, reply): the bot is not in the group, is not
		// available to the person or was stopped by them, is muted by the settings of the group; the
		// chat does not exist, is dissolved (232009) or one of another company; the person has left.
		// 230019, 230071: the topic is gone, or the group has none. 230045: im-v1/pin/delete.
		Gone: []string{
			"230002", "230013", "230018", "230019", "230029", "230034", "230035", "230038", "230045", "230053",
			"230071", "232009",
		},
		// 99991400 (server-docs/api-call-guide/frequency-control), of an API and an app; 230020, of one
		// chat or message; 230049, of a message that is being sent (im-v1/message/create).
		Busy: []string{"99991400", "230020", "230049"}, Limits: channel.OneChat, Kinds: []string{"99991400"},
	}
)

// badCard is the code of a card that the platform cannot make (im-v1/message/create).
const badCard = "230099"

// refusal returns the error of an answer. Errors come with status 400 or 429, and older ones
// with 200; files come without a code.
func refusal(a *platform.Answer) *platform.Failure {
	var says struct {
		Code    int    `json:"code"`
		Message string `json:"msg"`
	}
	f := &platform.Failure{Away: true}
	switch err := json.Unmarshal(a.Body, &says); {
	case err == nil && says.Code != 0:
		f.Code, f.Message, f.Away = strconv.Itoa(says.Code), says.Message, false
	case a.Status == http.StatusOK:
		return nil
	}
	f.After, _ = platform.RetryAfter(a.Header.Get("X-Ogw-Ratelimit-Reset"))
	return f
}

// fetchToken asks for a tenant_access_token. It lasts two hours at most (自建应用获取
// tenant_access_token, auth-v3/auth/tenant_access_token_internal).
func (c *Channel) fetchToken(ctx context.Context) (token string, life time.Duration, err error) {
	var got struct {
		Token  string `json:"tenant_access_token"`
		Expire int    `json:"expire"`
	}
	body := map[string]string{"app_id": c.config.AppID, "app_secret": c.config.AppSecret}
	if err := c.api.Call(ctx, platform.Request{Path: "open-apis/auth/v3/tenant_access_token/internal", Body: body},
		&got); err != nil {
		return "", 0, err
	}
	if got.Token == "" {
		return "", 0, errors.New("feishu: auth/v3/tenant_access_token/internal: the answer has no token")
	}
	return got.Token, min(time.Duration(max(got.Expire, 0))*time.Second, 2*time.Hour), nil
}

// call calls the API and reads the data of its answer. Body and out may be nil.
func (c *Channel) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	if out != nil {
		out = &struct{ Data any }{out}
	}
	_, err := c.request(ctx, platform.Request{Method: method, Path: path, Query: query, Body: body}, out)
	return err
}

// request makes a call with a token, and reads its answer unless into is nil. Its path follows
// /open-apis/.
func (c *Channel) request(ctx context.Context, r platform.Request, into any) (body []byte, err error) {
	r.Call, r.Path = r.Path, "open-apis/"+r.Path
	err = c.tokens.With(ctx, func(token string) error {
		r.Header = platform.Bearer(token)
		if _, form := r.Body.(*platform.Form); r.Body != nil && !form {
			r.Header.Set("Content-Type", "application/json; charset=utf-8") // as its pages say
		}
		answer, err := c.api.Do(ctx, r)
		if err != nil {
			return err
		}
		body = answer.Body
		return c.api.Read(r, answer, into)
	})
	return body, err
}
