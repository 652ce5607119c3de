package model

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// KindOf returns the kind of failure of an HTTP status. A status that is neither a
// failure nor an answer is [ErrUnavailable].
func KindOf(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrAuth
	case http.StatusTooManyRequests, http.StatusPaymentRequired:
		return ErrRateLimited
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
