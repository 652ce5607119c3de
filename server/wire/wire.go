// Package wire holds what the server's protocols have in common: reading a
// request, writing an answer, and refusing in one form with one status for each
// kind of failure.
package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
)

// Problem is the body of an answer that refuses a request, in OpenAI's form.
type Problem struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	} `json:"error"`
}

// Reply writes an answer.
func Reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may have gone.
	_ = json.NewEncoder(w).Encode(value)
}

// Refuse answers with a [Problem].
func Refuse(w http.ResponseWriter, status int, message string) {
	var p Problem
	p.Error.Message, p.Error.Type = message, "invalid_request_error"
	if status >= http.StatusInternalServerError {
		p.Error.Type = "server_error"
	}
	Reply(w, status, p)
}

// Fail answers with the [Problem] that err is, under the status of its kind.
func Fail(w http.ResponseWriter, err error) { Refuse(w, status(err), err.Error()) }

// Answer replies with a value, or fails when there is an error.
func Answer(w http.ResponseWriter, value any, err error) {
	if err != nil {
		Fail(w, err)
		return
	}
	Reply(w, http.StatusOK, value)
}

// Read decodes the body of a request. When it cannot, it answers why and
// returns false.
func Read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		return true
	case errors.As(err, &tooLong):
		Refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is longer than %d bytes", tooLong.Limit))
	default:
		Refuse(w, http.StatusBadRequest, "the request is not the expected JSON: "+err.Error())
	}
	return false
}

// Limit reads how many things a query asks for; 0 means that it does not say.
func Limit(q url.Values, things string) (int, error) {
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), "0"))
	if err != nil || limit < 0 {
		return 0, fmt.Errorf("limit must be a number of %s", things)
	}
	return limit, nil
}

// statuses maps each kind of failure to its HTTP status.
var statuses = []struct {
	kind   error
	status int
}{
	{engine.ErrTooLong, http.StatusRequestEntityTooLarge},
	{engine.ErrEmpty, http.StatusBadRequest},
	{engine.ErrBusy, http.StatusTooManyRequests},
	{engine.ErrUnknown, http.StatusNotFound},
	{model.ErrTooLong, http.StatusRequestEntityTooLarge},
	{model.ErrRateLimited, http.StatusTooManyRequests},
	{model.ErrAuth, http.StatusBadGateway},
	{model.ErrRequest, http.StatusBadGateway},
	{model.ErrUnavailable, http.StatusBadGateway},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
}

func status(err error) int {
	for _, s := range statuses {
		if errors.Is(err, s.kind) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}
