package slack

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// refusals are the codes of the API, as the pages of chat.postMessage, chat.update and
// files.completeUploadExternal list them. Slack counts messages by chat, and each method apart.
var refusals = platform.Refusals{
	Refused: []string{
		"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope",
		"not_allowed_token_type", "org_login_required", "team_access_not_granted", "user_removed_from_team",
		"accesslimited", "ekm_access_denied", "enterprise_is_restricted", "team_not_found", "two_factor_setup_required",
	},
	Gone: []string{
		"access_denied", "cannot_dm_bot", "cant_post_message", "channel_is_archived", "channel_not_found",
		"channel_type_not_supported", "is_archived", "is_inactive", "messages_tab_disabled",
		"method_not_supported_for_channel_type", "no_permission", "not_in_channel", "user_disabled", "user_is_bot",
		"user_is_restricted", "user_is_ultra_restricted", "user_not_found", "user_not_visible", "users_not_found",
	},
	Busy: []string{"ratelimited", "rate_limited", "message_limit_exceeded"}, Limits: channel.OneChat,
	Away: []string{
		"external_channel_migrating", "fatal_error", "internal_error", "request_timeout", "service_unavailable",
		"team_added_to_org",
	},
}

// refusal returns the error of an answer.
func refusal(a *platform.Answer) *platform.Failure {
	var says struct {
		OK            bool
		Error, Needed string
	}
	if a.Status != http.StatusOK {
		return &platform.Failure{Away: true} // a server before the API
	}
	if err := json.Unmarshal(a.Body, &says); err != nil {
		return &platform.Failure{Message: "the answer is not JSON", Away: true}
	}
	if says.OK {
		return nil
	}
	f := &platform.Failure{Code: says.Error, Away: says.Error == ""} // JSON of somebody else
	if says.Needed != "" {
		f.Message = "add the scope " + says.Needed + " to the app and install it again"
	}
	switch f.Code {
	case "restricted_action", "restricted_action_read_only_channel":
		f.Means = channel.ErrGone
	}
	return f
}

// call calls a method of the API and reads its answer.
func (c *Channel) call(ctx context.Context, token, method string, args url.Values, into any) error {
	if args == nil {
		args = url.Values{}
	}
	for _, name := range []string{"channel", "channel_id"} {
		if args.Has(name) {
			args.Set(name, c.moves.Newest(args.Get(name)))
		}
	}
	return c.api.Call(ctx, platform.Request{Call: method, Path: method, Header: platform.Bearer(token), Body: args},
		into)
}
