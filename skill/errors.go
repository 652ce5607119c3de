package skill

import (
	"context"
	"errors"
	"net/http"
)

// The kinds of failure. Errors of this package and of providers wrap one of them.
var (
	ErrNotFound            = errors.New("no such skill")
	ErrDisabled            = errors.New("the skill is disabled")
	ErrInvalidParams       = errors.New("the arguments do not fit")
	ErrProviderTimeout     = errors.New("the provider took too long")
	ErrProviderUnavailable = errors.New("the provider is not available")
	ErrExecutionFailed     = errors.New("the skill failed")
)

var statuses = []struct {
	kind   error
	status int
}{
	{ErrNotFound, http.StatusNotFound},
	{ErrDisabled, http.StatusForbidden},
	{ErrInvalidParams, http.StatusBadRequest},
	{ErrProviderTimeout, http.StatusGatewayTimeout},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
	{ErrProviderUnavailable, http.StatusBadGateway},
	{ErrExecutionFailed, http.StatusInternalServerError},
}

// Status returns the HTTP status of a failure. What wraps no kind is
// ErrExecutionFailed.
func Status(err error) int {
	for _, s := range statuses {
		if errors.Is(err, s.kind) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}
