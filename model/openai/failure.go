package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/model"
)

// refusal is an error from the server, in place of an answer or in the middle of one.
type refusal struct {
	// status is the HTTP status; 200 in the middle of an answer.
	status     int
	body       []byte
	retryAfter time.Duration
}

func (r *refusal) Error() string {
	message, _ := r.read()
	return message
}

// read finds the message and the code. Servers put them in an object or a string named
// "error", or at the top level.
func (r *refusal) read() (message, code string) {
	var said struct {
		Error json.RawMessage `json:"error"`
		words
	}
	if json.Unmarshal(r.body, &said) != nil {
		return string(r.body), ""
	}
	if len(said.Error) > 0 && string(said.Error) != "null" {
		said.words = words{}
		if json.Unmarshal(said.Error, &said.words) != nil {
			_ = json.Unmarshal(said.Error, &said.Message) // a string, or unknown
		}
	}
	code = strings.Trim(string(said.Code), `"`)
	if code == "" || code == "null" {
		code = said.Type
	}
	for _, message := range []string{said.Message, strings.Trim(string(said.Detail), `"`)} {
		if message != "" {
			return message, code
		}
	}
	return string(r.body), code
}

type words struct {
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
}

// kind returns the HTTP status and the kind of failure. A gateway may report its
// provider's status inside an answer that began well.
func (r *refusal) kind() (status int, kind error) {
	message, code := r.read()
	status = r.status
	if n, err := strconv.Atoi(code); err == nil && status < http.StatusBadRequest && n >= http.StatusBadRequest && n < 600 {
		status = n
	}
	kind = model.KindOf(status)
	if known, ok := kinds[code]; ok && (status < http.StatusMultipleChoices || errors.Is(known, model.ErrBilling)) {
		kind = known
	}
	if (tooLongCodes[code] || model.TooLong(message)) && (errors.Is(kind, model.ErrRequest) || status < http.StatusMultipleChoices) {
		kind = model.ErrTooLong
	}
	return status, kind
}

// ofContent reports whether the server may have refused the pictures of the request.
// Some gateways say that no model takes them, with status 404.
func (r *refusal) ofContent() bool {
	_, kind := r.kind()
	return r.status/100 == 4 && (errors.Is(kind, model.ErrRequest) || errors.Is(kind, model.ErrNoModel))
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

// failure describes an error in the terms of package model, without secrets.
func (m *Model) failure(ctx context.Context, err error) error {
	e := model.Error{Model: m.config.Name}
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		e.Detail = err.Error()
		e.Status, e.Kind = refused.kind()
		e.RetryAfter = refused.retryAfter
		if errors.Is(e.Kind, model.ErrNoModel) {
			e.Detail += m.hint()
		}
	}
	return model.Failure(ctx, err, e, m.config.APIKey, m.config.Headers)
}

// malformed is an error for an answer that violates the protocol.
func malformed(what string, data []byte) error {
	return fmt.Errorf("the server sent %s: %s", what, data)
}
