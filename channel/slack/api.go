package slack

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// refusals are the codes of the API.
var refusals = platform.Refusals{
	Refused: []string{
		"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope",
		"not_allowed_token_type", "org_login_required", "team_access_not_granted", "user_removed_from_team",
		"messages_tab_disabled",
	},
	Gone: []string{
		"channel_not_found", "is_archived", "user_not_found", "users_not_found", "user_disabled", "not_in_channel",
		"cannot_dm_bot", "cannot_reply_to_message",
	},
	Busy: []string{"ratelimited", "rate_limited"},
}

// refusal returns the error of an answer.
func refusal(a *platform.Answer) *platform.Failure {
	var says struct {
		OK            bool
		Error, Needed string
	}
	if a.Status != http.StatusOK {
		return &platform.Failure{}
	}
	if err := json.Unmarshal(a.Body, &says); err != nil {
		return &platform.Failure{Message: "the answer is not JSON"}
	}
	if says.OK {
		return nil
	}
	f := &platform.Failure{Code: says.Error}
	if says.Needed != "" {
		f.Message = "add the scope " + says.Needed + " to the app and install it again"
	}
	if strings.HasPrefix(f.Code, "restricted_action") {
		f.Means = channel.ErrGone
	}
	return f
}

// call calls a method of the API and reads its answer.
func (c *Channel) call(ctx context.Context, token, method string, args url.Values, into any) error {
	if args == nil {
		args = url.Values{}
	}
	return c.api.Call(ctx, platform.Request{Call: method, Path: method, Header: platform.Bearer(token), Body: args}, into)
}
