package wire_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/server/wire"
)

// TestManyValues: a body that is short enough, and holds millions of values, does not take a
// gigabyte.
func TestManyValues(t *testing.T) {
	type request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		} `json:"messages"`
	}
	read := func(body string) (*httptest.ResponseRecorder, bool) {
		w := httptest.NewRecorder()
		return w, wire.ReadForeign(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), &request{})
	}
	for _, body := range []string{
		`{"messages":[` + strings.Repeat(`{},`, 6<<20) + `{}]}`,
		`{"messages":[` + strings.Repeat(`{"content":[[]]},`, 1<<20) + `{}]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w, ok := read(body)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; ok || n > 100 || w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "values") {
			t.Errorf("%.40s: it took %d MiB: %d %s", body, n, w.Code, w.Body)
		}
	}
	// What is in texts does not count, and neither does a history of some thousand messages.
	for _, body := range []string{
		`{"messages":[{"content":"` + strings.Repeat(`,[{\"\\`, 1<<20) + `"}]}`,
		`{"messages":[` + strings.Repeat(`{"role":"user","content":"hello"},`, 10_000) + `{}]}`,
	} {
		if w, ok := read(body); !ok {
			t.Errorf("%.40s: %d %s", body, w.Code, w.Body)
		}
	}
}
