package model

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
)

// KindOf returns the kind of failure of an HTTP status. A status that is neither a
// failure nor an answer is [ErrUnavailable].
func KindOf(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrAuth
	case http.StatusTooManyRequests:
		return ErrRateLimited
	case http.StatusPaymentRequired:
		return ErrBilling
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return ErrNoModel
	case http.StatusRequestEntityTooLarge:
		return ErrTooLong
	case http.StatusRequestTimeout:
		return ErrUnavailable
	}
	if status >= 300 && status < 500 {
		return ErrRequest
	}
	return ErrUnavailable
}

// Failure describes the error err of a request. An adapter fills e with the model's name
// and, if the provider refused the request, with what it said. The API key and the values
// of the headers are removed from the detail.
func Failure(ctx context.Context, err error, e Error, key string, headers map[string]string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var sending *url.Error
	if e.Kind == nil {
		e.Kind, e.Detail = ErrUnavailable, err.Error()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			e.Detail = "the connection ended before the answer did"
		case errors.As(err, &sending):
			e.Detail = sending.Err.Error() // the URL may contain a password
		}
	}
	if errors.Is(e.Kind, ErrTooLong) {
		e.Window = statedWindow(e.Detail)
	}
	e.Detail = Detail(e.Detail, append(slices.Collect(maps.Values(headers)), key)...)
	return &e
}

// maxDetail limits the provider's words in an error, in bytes.
const maxDetail = 300

// Detail makes a provider's message fit for [Error.Detail]: one line of at most 300
// bytes, with each secret replaced by "(secret)".
func Detail(text string, secrets ...string) string {
	longestFirst := slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, secret := range longestFirst {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "(secret)")
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	return text
}
