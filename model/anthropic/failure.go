package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"

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

// failure describes an error in the terms of package model, without secrets.
func (m *Model) failure(ctx context.Context, err error) error {
	e := model.Error{Model: m.config.Name}
	if refused := (*anthropic.Error)(nil); errors.As(err, &refused) {
		e.Status, e.Detail, e.Kind = read(refused)
		e.RetryAfter, _ = model.RetryAfter(refused.Response, time.Now())
	}
	return model.Failure(ctx, err, e, m.config.APIKey, m.config.Headers)
}

// read returns the API's error message.
func read(refused *anthropic.Error) (status int, detail string, kind error) {
	status, detail = refused.StatusCode, refused.RawJSON()
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(detail), &body) // otherwise detail is kept
	if body.Error.Message != "" {
		detail = body.Error.Message
	}
	if detail == "" {
		detail = http.StatusText(status)
	}
	kind = model.KindOf(status)
	if known, ok := kinds[body.Error.Type]; ok && status < http.StatusMultipleChoices {
		kind = known
	}
	// The API has no types of their own for these.
	if errors.Is(kind, model.ErrRequest) && strings.Contains(detail, "credit balance") {
		kind = model.ErrBilling
	}
	if errors.Is(kind, model.ErrRequest) && model.TooLong(detail) {
		kind = model.ErrTooLong
	}
	return status, detail, kind
}
