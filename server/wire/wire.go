// Package wire holds what the server's protocols have in common: reading a
// request, writing an answer, and refusing in one form with one status for each
// kind of failure.
package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Problem is the body of an answer that refuses a request, in OpenAI's form.
type Problem struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		// Param is the field of the request that is to blame; nil when it is not one.
		Param *string `json:"param"`
		// Code says for programs what went wrong.
		Code string `json:"code"`
	} `json:"error"`
}

// Reply writes an answer.
func Reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	raw, _ := json.Marshal(value) // the types of answers all can be written
	if lang := LanguageOf(w); lang == phrase.Chinese {
		raw = reword(lang, raw)
	}
	_, _ = w.Write(append(raw, '\n')) // the client may have gone
}

// NoRoute is the code of the answer to a path that the server does not have.
const NoRoute = "no_route"

// Refuse answers with a [Problem]. Its code is the usual one of the status.
func Refuse(w http.ResponseWriter, status int, message string) {
	refuse(w, status, codes[status], "", message)
}

// RefuseField answers that a field of the request is to blame, with a code.
func RefuseField(w http.ResponseWriter, status int, code, field, message string) {
	refuse(w, status, code, field, message)
}

func refuse(w http.ResponseWriter, status int, code, field, message string) {
	Reply(w, status, shape(w, status, problem(status, code, field, phrase.Reword(LanguageOf(w), message))))
}

// maxProblem is how long the message of a [Problem] is at most, in bytes, since it repeats what
// a request says. The rest is left out.
const maxProblem = 8 << 10

func problem(status int, code, field, message string) (p Problem) {
	if len(message) > maxProblem {
		message = strings.ToValidUTF8(message[:maxProblem], "") + "…"
	}
	p.Error.Message, p.Error.Type, p.Error.Code = message, "invalid_request_error", cmp.Or(code, "invalid_request")
	if field != "" {
		p.Error.Param = &field
	}
	switch {
	case status == http.StatusUnauthorized:
		p.Error.Type = "authentication_error"
	case status == http.StatusForbidden:
		p.Error.Type = "permission_error"
	case status == http.StatusTooManyRequests:
		p.Error.Type = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		p.Error.Type = "server_error"
	}
	return p
}

// codes are the codes of refusals by status, where nothing more is known.
var codes = map[int]string{
	http.StatusUnauthorized:          "invalid_api_key",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method_not_allowed",
	http.StatusConflict:              "conflict",
	http.StatusRequestTimeout:        "timeout",
	http.StatusRequestEntityTooLarge: "too_long",
	http.StatusMisdirectedRequest:    "wrong_host",
	http.StatusTooManyRequests:       "rate_limit_exceeded",
	http.StatusInternalServerError:   "internal_error",
	http.StatusNotImplemented:        "not_available",
	http.StatusBadGateway:            "unavailable",
	http.StatusServiceUnavailable:    "unavailable",
	http.StatusGatewayTimeout:        "timeout",
}

// Fail answers with the [Problem] of err, under the status of its kind. An operator reads
// the whole error, see [Whole].
func Fail(w http.ResponseWriter, err error) {
	var e *model.Error
	status, p := ProblemFor(w, err)
	switch {
	case errors.As(err, &e) && e.RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	case errors.Is(err, engine.ErrBusy) || status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "2")
	}
	Reply(w, status, shape(w, status, p))
}

// Shaper is implemented by the writers of answers to clients of an API that refuses requests in
// another form.
type Shaper interface {
	Shape(status int, p Problem) any
}

func shape(w http.ResponseWriter, status int, p Problem) any {
	if s, ok := w.(Shaper); ok {
		return s.Shape(status, p)
	}
	return p
}

// Whole is implemented by the writers of answers to operators, who may read where the
// database is and what it said.
type Whole interface{ Whole() bool }

// Speaker is implemented by the writers of answers to clients whose person reads a language, as the
// header Accept-Language says.
type Speaker interface{ Language() string }

// ProblemFor returns the [Problem] of an error for whoever reads what w writes, and its
// status.
func ProblemFor(w http.ResponseWriter, err error) (status int, p Problem) {
	status, p = ProblemOf(err)
	lang := LanguageOf(w)
	says := p.Error.Message
	if to, ok := w.(Whole); !ok || to.Whole() { // without a guard, the program vouches for the client
		says = err.Error()
	}
	if says == err.Error() {
		says = phrase.Say(lang, err)
	}
	p.Error.Message = problem(status, "", "", phrase.Reword(lang, says)).Error.Message
	return status, p
}

// ProblemOf returns the [Problem] of an error, and its status, for anybody: where the
// database, or etui itself, is the cause, the text is always the same.
func ProblemOf(err error) (status int, p Problem) {
	status, code, field := http.StatusInternalServerError, "", ""
	for _, s := range statuses {
		if errors.Is(err, s.kind) {
			status, code = s.status, s.code
			break
		}
	}
	switch {
	case code == "database_unavailable" && errors.Is(err, engine.ErrKept):
		return status, problem(status, code, "",
			"the database is unavailable; the message is kept and will be answered")
	case code == "database_unavailable":
		return status, problem(status, code, "", "the database is unavailable; try again in a moment")
	case code == "":
		return status, problem(status, codes[status], "", "etui failed; its log says why")
	}
	var setting *model.SettingError
	if errors.As(err, &setting) {
		field = setting.Name
	}
	says, _, _ := strings.Cut(err.Error(), model.Advice)
	return status, problem(status, cmp.Or(code, codes[status]), field, says)
}

// Answer replies with a value, or fails when there is an error.
func Answer(w http.ResponseWriter, value any, err error) {
	if err != nil {
		Fail(w, err)
		return
	}
	Reply(w, http.StatusOK, value)
}

// statuses maps each kind of failure to its HTTP status and its code.
var statuses = []struct {
	kind   error
	status int
	code   string
}{
	{engine.ErrTooLong, http.StatusRequestEntityTooLarge, "message_too_long"},
	{engine.ErrEmpty, http.StatusBadRequest, "message_empty"},
	{engine.ErrInvalid, http.StatusBadRequest, "invalid_request"},
	{ErrForbidden, http.StatusForbidden, "forbidden"},
	{message.ErrNoClientTools, http.StatusForbidden, "client_tools_refused"},
	{memory.ErrNobody, http.StatusBadRequest, "invalid_request"},
	{memory.ErrNone, http.StatusNotFound, "no_memory"},
	{memory.ErrFull, http.StatusBadRequest, "invalid_request"},
	{identity.ErrInvalidKey, http.StatusBadRequest, "invalid_request"},
	{identity.ErrNoKey, http.StatusNotFound, "key_not_found"},
	{store.ErrText, http.StatusBadRequest, "invalid_request"},
	{engine.ErrBusy, http.StatusTooManyRequests, "conversation_busy"},
	{engine.ErrStopping, http.StatusServiceUnavailable, "stopping"},
	{engine.ErrStore, http.StatusServiceUnavailable, "database_unavailable"},
	{memory.ErrAway, http.StatusServiceUnavailable, "database_unavailable"},
	{identity.ErrAway, http.StatusServiceUnavailable, "database_unavailable"},
	{message.ErrKeyReused, http.StatusUnprocessableEntity, "idempotency_key_reused"},
	{message.ErrParked, http.StatusInternalServerError, "message_parked"},
	{inbox.ErrNoItem, http.StatusNotFound, "message_not_found"},
	{inbox.ErrNotParked, http.StatusConflict, "message_not_parked"},
	{engine.ErrUnknown, http.StatusNotFound, "not_found"},
	{session.ErrNotFound, http.StatusNotFound, "session_not_found"},
	{message.ErrOpen, http.StatusConflict, "turn_open"},
	{schedule.ErrNoTask, http.StatusNotFound, "task_not_found"},
	{approval.ErrNotYours, http.StatusForbidden, "not_yours"},
	{channel.ErrUnknown, http.StatusNotFound, "channel_not_found"},
	{channel.ErrNotPaired, http.StatusNotFound, "not_paired"},
	{channel.ErrNoCode, http.StatusNotFound, "code_not_found"},
	{approval.ErrNone, http.StatusNotFound, "approval_not_found"},
	{turn.ErrStopped, http.StatusConflict, "turn_stopped"},
	{message.ErrNothingAwaited, http.StatusConflict, "nothing_awaited"},
	{model.ErrUnsupported, http.StatusBadRequest, "unsupported_parameter"},
	{model.ErrTooLong, http.StatusBadRequest, "context_length_exceeded"},
	{model.ErrRateLimited, http.StatusTooManyRequests, "rate_limit_exceeded"},
	{model.ErrAuth, http.StatusBadGateway, "model_refused_key"},
	{model.ErrBilling, http.StatusBadGateway, "model_without_credit"},
	{model.ErrNoModel, http.StatusBadGateway, "model_missing"},
	{model.ErrRequest, http.StatusBadGateway, "model_refused_request"},
	{model.ErrUnavailable, http.StatusBadGateway, "model_unavailable"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "timeout"},
}
