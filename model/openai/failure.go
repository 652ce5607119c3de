package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// refusal reads an error from the server, in place of an answer or, with status 200, in the
// middle of one. A gateway may report its provider's status inside an answer that began well.
func (m *Model) refusal(status int, body []byte) *model.Error {
	message, code := messageOf(body)
	if n, err := strconv.Atoi(code); err == nil && status < http.StatusBadRequest && n >= http.StatusBadRequest && n < 600 {
		status = n
	}
	kind := endpoint.KindOf(status)
	begun := status < http.StatusMultipleChoices
	if known, ok := kinds[code]; ok && (begun || errors.Is(known, model.ErrBilling)) {
		kind = known
	}
	if (tooLongCodes[code] || endpoint.TooLong(message)) && (begun || errors.Is(kind, model.ErrRequest)) {
		kind = model.ErrTooLong
	}
	if errors.Is(kind, model.ErrNoModel) {
		message += m.hint()
	}
	return &model.Error{Status: status, Kind: kind, Detail: message}
}

// ofContent reports whether the server may have refused the pictures of the request.
// Some gateways say that no model takes them, with status 404, and some servers fail with 500.
func ofContent(err error) bool {
	refused := (*model.Error)(nil)
	if !errors.As(err, &refused) {
		return false
	}
	return refused.Status == http.StatusInternalServerError ||
		refused.Status/100 == 4 && (errors.Is(err, model.ErrRequest) || errors.Is(err, model.ErrNoModel))
}

// kinds maps the codes and types of errors in the middle of an answer, where the HTTP
// status says nothing.
var kinds = map[string]error{
	"invalid_api_key":       model.ErrAuth,
	"authentication_error":  model.ErrAuth,
	"insufficient_quota":    model.ErrBilling, // OpenAI sends it with status 429
	"rate_limit_exceeded":   model.ErrRateLimited,
	"rate_limit_error":      model.ErrRateLimited,
	"invalid_request_error": model.ErrRequest,
	"model_not_found":       model.ErrNoModel,
}

// tooLongCodes say that the request does not fit the model's window.
var tooLongCodes = map[string]bool{"context_length_exceeded": true, "exceed_context_size_error": true, "tokens_limit_reached": true}

// messageOf finds the message and the code of an error. Servers put them in an object or a
// string named "error", or at the top level.
func messageOf(body []byte) (message, code string) {
	var said struct {
		Error json.RawMessage `json:"error"`
		words
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 { // Gemini wraps it in a list
		body = list[0]
	}
	if json.Unmarshal(body, &said) != nil {
		return string(body), ""
	}
	if len(said.Error) > 0 && string(said.Error) != "null" {
		said.words = words{}
		if json.Unmarshal(said.Error, &said.words) != nil {
			_ = json.Unmarshal(said.Error, &said.Message) // a string, or unknown
		}
	}
	if len(said.Code) == 0 {
		said.Code = said.Base.Code
	}
	code = strings.Trim(string(said.Code), `"`)
	if code == "" || code == "null" {
		code = said.Type
	}
	for _, message := range []string{said.Message, said.Msg, said.Base.Message, strings.Trim(string(said.Detail), `"`)} {
		if message != "" {
			return message, code
		}
	}
	return string(body), code
}

type words struct {
	Message string          `json:"message"`
	Msg     string          `json:"msg"`
	Detail  json.RawMessage `json:"detail"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
	Base    struct {
		Code    json.RawMessage `json:"status_code"`
		Message string          `json:"status_msg"`
	} `json:"base_resp"`
}
