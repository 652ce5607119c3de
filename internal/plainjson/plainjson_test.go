package plainjson_test

import (
	"testing"

	"github.com/etui-run/etui/internal/plainjson"
)

// TestRoundTrip: a value comes back as it was written.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":12345678901234567890,"b":1.50}`, `"<a & b>"`, `[1e2,null]`} {
		value, err := plainjson.Decode([]byte(text + " more"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := plainjson.Encode(value); err != nil || string(got) != text {
			t.Errorf("%s %v, want %s", got, err, text)
		}
	}
	if _, err := plainjson.Decode([]byte("no")); err == nil {
		t.Error("a text that is not JSON is read")
	}
}
