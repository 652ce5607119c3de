package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
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

// refusal reads an error from the API, in place of an answer or, with status 200, in the
// middle of one.
func refusal(status int, body []byte) *model.Error {
	e := &model.Error{Status: status, Kind: endpoint.KindOf(status), Detail: string(body)}
	var said struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &said) // otherwise the detail is kept
	if said.Error.Message != "" {
		e.Detail = said.Error.Message
	}
	if known, ok := kinds[said.Error.Type]; ok && status < http.StatusMultipleChoices {
		e.Kind = known
	}
	// The API has no types of their own for these.
	if errors.Is(e.Kind, model.ErrRequest) && strings.Contains(e.Detail, "credit balance") {
		e.Kind = model.ErrBilling
	}
	if errors.Is(e.Kind, model.ErrRequest) && endpoint.TooLong(e.Detail) {
		e.Kind = model.ErrTooLong
	}
	return e
}
