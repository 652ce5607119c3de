package egress_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/etui-run/etui/internal/egress"
)

// TestCaused: the documents of a public service lead to public addresses only, whatever the
// operator has opened for others.
func TestCaused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		service, names string
		reached        bool
	}{
		{"http://public.test/mcp", "http://login.test/", true},
		{"http://public.test/mcp", "http://public.test/login", true},
		{"http://public.test/mcp", "http://10.0.0.7/", false},
		{"http://public.test/mcp", "http://inner.test/", false},
		{"http://public.test/mcp", "http://metadata.test/", false},
		{"http://inner.test/mcp", "http://inner.test/login", true},
		{"http://inner.test/mcp", "http://10.0.0.8/", true},
		{"http://inner.test/mcp", "http://login.test/", true},
		{"http://inner.test/mcp", "http://192.168.0.1/", false},
		{"http://10.0.0.7/mcp", "http://inner.test/", true},
		{"http://unknown.test/mcp", "http://10.0.0.7/", false},
	} {
		w := &web{names: map[string][]string{"public.test": {"93.184.216.34"}, "login.test": {"93.184.216.35"},
			"inner.test": {"10.0.0.7"}, "metadata.test": {"169.254.169.254"}}}
		service, err := url.Parse(c.service)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: w.guard(t, hello,
			egress.Config{Allow: []string{"10.0.0.0/8"}}).CausedTransport(service)}
		_, err = get(t, client, c.names)
		client.CloseIdleConnections()
		if refused := (*egress.RefusedError)(nil); errors.As(err, &refused) == c.reached || len(w.dialed) > 0 != c.reached {
			t.Errorf("%s names %s: %v, connected to %v", c.service, c.names, err, w.dialed)
		}
	}
}
