package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/etui-run/etui/model"
)

// kinds maps the API's types of errors in the middle of an answer, where the HTTP
// status says nothing.
var kinds = map[string]error{
	"invalid_request_error": model.ErrRequest,
	"not_found_error":       model.ErrNoModel,
	"authentication_error":  model.ErrAuth,
	"permission_error":      model.ErrAuth,
	"rate_limit_error":      model.ErrRateLimited,
	"billing_error":         model.ErrBilling,
	"request_too_large":     model.ErrTooLong,
}

// refusal is an error from the API, in place of an answer or in the middle of one.
type refusal struct {
	// status is the HTTP status; 200 in the middle of an answer.
	status     int
	body       []byte
	retryAfter time.Duration
}

func (r *refusal) Error() string {
	detail, _ := r.read()
	return detail
}

// failure describes an error in the terms of package model, without secrets.
func (m *Model) failure(ctx context.Context, err error) error {
	e := model.Error{Model: m.config.Name}
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		e.Status, e.RetryAfter = refused.status, refused.retryAfter
		e.Detail, e.Kind = refused.read()
	}
	return model.Failure(ctx, err, e, m.config.APIKey, m.config.Headers)
}

// read returns the API's error message and the kind of failure.
func (r *refusal) read() (detail string, kind error) {
	detail = string(r.body)
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(r.body, &body) // otherwise detail is kept
	if body.Error.Message != "" {
		detail = body.Error.Message
	}
	kind = model.KindOf(r.status)
	if known, ok := kinds[body.Error.Type]; ok && r.status < http.StatusMultipleChoices {
		kind = known
	}
	// The API has no types of their own for these.
	if errors.Is(kind, model.ErrRequest) && strings.Contains(detail, "credit balance") {
		kind = model.ErrBilling
	}
	if errors.Is(kind, model.ErrRequest) && model.TooLong(detail) {
		kind = model.ErrTooLong
	}
	return detail, kind
}
