package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// Limits of calls. A call that takes longer, or an answer that is larger, is an error.
const (
	fetchTime  = time.Minute // of all files of a message
	pollTime   = 50 * time.Second
	maxAnswer  = 32 << 20 // a hundred updates are far smaller
	maxFile    = 20 << 20 // what getFile gives
	maxUpload  = 50 << 20
	maxText    = 4096     // characters of a message
	maxPicture = 10 << 20 // of sendPhoto
)

// api calls the methods of a Bot API server.
type api struct {
	*platform.Client
	token string
}

// params are the parameters of a method.
type params map[string]any

// refusals say that nobody can be reached in a chat, or that the bot may not write there. Anybody
// who administers a group can take that right away, so it must not stop the account elsewhere. The
// codes are those of HTTP, and the words are Telegram's, or those of the API below the Bot API
// (core.telegram.org/api/errors). What is said of media is about the one file. Telegram counts
// messages by chat, and tells apart what is sent and what is edited.
var refusals = platform.Refusals{
	Refused: []string{"401"}, Busy: []string{"429"}, Gone: []string{"403"}, Limits: channel.OneChat,
	Says: []string{
		"chat not found", "user not found", "group chat was deactivated", "bot was kicked", "bot was blocked",
		"bot is not a member",
		"user is deactivated", "bots can't send messages to bots", "can't initiate conversation",
		"message thread not found",
		"not enough rights to send text", "have no rights to send", "have no write access", "need administrator rights",
		"peer_id_invalid", "chat_id_invalid", "channel_invalid", "channel_private", "chat_write_forbidden",
		"chat_restricted",
		"chat_admin_required", "chat_forbidden", "chat_guest_send_forbidden", "chat_send_plain_forbidden",
		"user_banned_in_channel",
		"user_is_blocked", "you_blocked_user", "user_is_bot", "user_deactivated", "user_is_restricted",
		"input_user_deactivated",
		"user_privacy_restricted", "privacy_premium_required", "allow_payment_required", "topic_closed",
		"topic_deleted",
		"bot_blocked", "business connection not found",
	},
}

// answer is what a method answers.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter float64 `json:"retry_after"`
		Migrate    int64   `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// migrated is the error of a chat that has a new ID.
type migrated struct{ to int64 }

func (m *migrated) Error() string { return "the chat has a new ID" }

// refusal returns the error of an answer. Only one of the Bot API itself says something about
// the account; a proxy's page does not. Its code is the one of HTTP.
func refusal(a *platform.Answer) *platform.Failure {
	var says answer
	if err := json.Unmarshal(a.Body, &says); err != nil || says.OK && says.Result == nil {
		return &platform.Failure{Code: strconv.Itoa(a.Status), Message: "the answer is not one of the Bot API",
			Away: true}
	}
	if says.OK {
		return nil
	}
	f := &platform.Failure{Code: strconv.Itoa(cmp.Or(says.Code, a.Status)), Message: says.Description}
	f.After = platform.Seconds(says.Parameters.RetryAfter)
	switch {
	case says.Parameters.Migrate != 0:
		f.Means = &migrated{says.Parameters.Migrate}
	case platform.Says(f, "chat_send_") && !platform.Says(f, "chat_send_plain"):
		f.Means = channel.ErrRejected // a kind of media
	case f.Code == "404" && !platform.Says(f, "method not found"):
		f.Means = channel.ErrRefused
	}
	return f
}

// call calls a method with JSON and decodes its result, unless that is nil.
func (a *api) call(ctx context.Context, method string, p params, result any) error {
	return a.callFor(ctx, 0, method, p, result)
}

func (a *api) callFor(ctx context.Context, limit time.Duration, method string, body, result any) error {
	r := platform.Request{Call: method, Path: "bot" + a.token + "/" + method, Body: body, Time: limit}
	if result == nil {
		return a.Call(ctx, r, nil)
	}
	return a.Call(ctx, r, &struct{ Result any }{result})
}

// upload calls a method with a file in a field.
func (a *api) upload(ctx context.Context, method string, p params, field string, file chat.File, result any) error {
	var form platform.Form
	for name, value := range p {
		text, ok := value.(string)
		if !ok {
			raw, err := json.Marshal(value)
			if err != nil {
				return err
			}
			text = string(raw)
		}
		form.Field(name, text)
	}
	form.File(field, fileName(file.Name), file.MediaType, file.Data)
	return a.callFor(ctx, 0, method, &form, result)
}

// download returns a file's bytes.
func (a *api) download(ctx context.Context, id string, most int64) ([]byte, error) {
	var file struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if err := a.call(ctx, "getFile", params{"file_id": id}, &file); err != nil {
		return nil, err
	}
	if file.Size > most {
		return nil, platform.ErrTooLarge
	}
	path := (&url.URL{}).JoinPath("file", "bot"+a.token, file.Path).EscapedPath()
	return a.Fetch(ctx, platform.Request{Call: "download", Path: path, Limit: most, Time: fetchTime})
}

// fileName is the last part of a file's name, in one short line.
func fileName(name string) string {
	return printable.Line(name[strings.LastIndexAny(name, `/\`)+1:], 200)
}
