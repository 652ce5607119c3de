package skill

import (
	"context"
	"errors"
	"fmt"
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

// StateError says that a skill exists and may not be used now. It wraps [ErrDisabled].
type StateError struct {
	Skill string
	State State  // never [Enabled]
	Why   string // for people
}

func (e *StateError) Error() string {
	return fmt.Sprintf("skill %q: %v (%s)", e.Skill, ErrDisabled, e.Why)
}

func (e *StateError) Unwrap() error { return ErrDisabled }

var kinds = []struct {
	kind   error
	name   string
	status int
}{
	{ErrNotFound, "not_found", http.StatusNotFound},
	{ErrDisabled, "disabled", http.StatusForbidden},
	{ErrInvalidParams, "invalid_params", http.StatusBadRequest},
	{ErrProviderTimeout, "timeout", http.StatusGatewayTimeout},
	{context.DeadlineExceeded, "timeout", http.StatusGatewayTimeout},
	{ErrProviderUnavailable, "unavailable", http.StatusBadGateway},
	{ErrExecutionFailed, "failed", http.StatusInternalServerError},
}

// Status returns the HTTP status of a failure. An error that wraps no kind counts as
// ErrExecutionFailed.
func Status(err error) int {
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return k.status
		}
	}
	return http.StatusInternalServerError
}

// Kind names the kind of a failure, for records and counts: not_found, disabled,
// invalid_params, timeout, unavailable or failed. It is empty for nil and for an
// error that wraps no kind.
func Kind(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return k.name
		}
	}
	return ""
}
