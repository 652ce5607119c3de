package matrix_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/matrix/matrixtest"
)

// testRefusals: what a homeserver refuses is about a message, a room, the account or the moment.
func testRefusals(t *testing.T, w *world) {
	c := w.new(w.config())
	for want, answers := range map[string][]string{
		"message": {
			"400 M_BAD_JSON", "400 M_NOT_JSON", "400 M_INVALID_PARAM", "400 M_MISSING_PARAM", "400 M_UNKNOWN",
			"413 M_TOO_LARGE", "400 M_UNRECOGNIZED", "403 M_EXCLUSIVE", "409 M_CONFLICT", "400 ORG.EXAMPLE.NEW",
		},
		"chat": {
			"403 M_FORBIDDEN", "404 M_NOT_FOUND", "403 M_GUEST_ACCESS_FORBIDDEN", "403 M_NOT_JOINED",
			"403 M_INSUFFICIENT_POWER", "400 M_UNSUPPORTED_ROOM_VERSION",
		},
		"account": {
			"401 M_UNKNOWN_TOKEN", "401 M_MISSING_TOKEN", "403 M_USER_DEACTIVATED", "401 M_USER_LOCKED",
			"403 M_USER_SUSPENDED", "403 M_CONSENT_NOT_GIVEN", "403 M_RESOURCE_LIMIT_EXCEEDED",
			"403 M_USER_LIMIT_EXCEEDED",
		},
		"moment":        {"500 M_UNKNOWN", "504 M_CONNECTION_TIMEOUT", "502 ", "404 "},
		"account waits": {"429 M_LIMIT_EXCEEDED"},
	} {
		for _, answer := range answers {
			status, code, _ := strings.Cut(answer, " ")
			n, err := strconv.Atoi(status)
			if err != nil {
				t.Fatal(err)
			}
			f := matrixtest.Failure{Method: "PUT", Path: "/send/", Status: n}
			if code != "" { // else it is the page of a proxy
				f.Body = object{"errcode": code, "error": "no", "retry_after_ms": 30_000, "soft_logout": true}
			}
			w.gate.Fail(f)
			_, err = c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: w.direct}, Text: "x"})
			if got := channeltest.Meaning(err); got != want {
				t.Errorf("%s is about the %s, want the %s: %v", answer, got, want, err)
			}
		}
	}
}
