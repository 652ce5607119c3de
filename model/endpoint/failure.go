package endpoint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/secret"
)

// KindOf returns the kind of failure of an HTTP status. A status that is neither a
// failure nor an answer is [model.ErrUnavailable].
func KindOf(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.ErrAuth
	case http.StatusTooManyRequests:
		return model.ErrRateLimited
	case http.StatusPaymentRequired:
		return model.ErrBilling
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return model.ErrNoModel
	case http.StatusRequestEntityTooLarge:
		return model.ErrTooLong
	case http.StatusRequestTimeout:
		return model.ErrUnavailable
	}
	if status >= 300 && status < 500 {
		return model.ErrRequest
	}
	return model.ErrUnavailable
}

// Failure describes the error err of a request. An adapter fills e with the model's name
// and, if the provider refused the request, with what it said. The API key and the values
// of the headers are removed from the detail.
func Failure(ctx context.Context, err error, e model.Error, key string, headers map[string]string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var sending *url.Error
	if e.Kind == nil {
		e.Kind, e.Detail = model.ErrUnavailable, err.Error()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			e.Detail = "the connection ended before the answer did"
		case errors.As(err, &sending):
			e.Detail = sending.Err.Error() // the URL may contain a password
		}
	}
	if errors.Is(e.Kind, model.ErrTooLong) {
		e.Window = statedWindow(e.Detail)
	}
	e.Detail = detail(e.Detail, append(slices.Collect(maps.Values(headers)), key)...)
	return &e
}

// maxDetail limits the provider's words in an error, in bytes.
const maxDetail = 300

// detail makes a provider's message fit for [model.Error.Detail]: one line of at most 300
// bytes, with each secret replaced by "(secret)". A key that is an ordinary word is none.
func detail(text string, secrets ...string) string {
	longestFirst := slices.SortedFunc(slices.Values(secrets),
		func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range longestFirst {
		if !secret.Value(s).Ordinary() {
			text = strings.ReplaceAll(text, s, "(secret)")
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	return text
}
