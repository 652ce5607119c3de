package sandbox_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

func TestCheckHosts(t *testing.T) {
	good := []string{"api.example.org", "api.example.org:8443", "*.example.org", "*.example.org:8080", "localhost:1", "10.0.0.3", "10.0.0.3:8080", "[::1]:80", "::1", "xn--bcher-kva.example", "a_b.example"}
	if err := sandbox.CheckHosts(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "https://example.org", "example.org/path", "*", "*.", "a*.example.org", "*.*.org", "example..org", ".org", "example.org.", "a b", "example.org:", "example.org:0", "example.org:x", "bücher.example", "user@example.org", "a,b"} {
		if err := sandbox.CheckHosts([]string{"api.example.org", bad}); err == nil || !strings.Contains(err.Error(), `"`+bad+`"`) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := sandbox.CheckHosts([]string{"https://example.org"}); !strings.Contains(err.Error(), "write a name alone") {
		t.Error(err)
	}
	if err := sandbox.CheckHosts(make([]string, 101)); err == nil {
		t.Error("any number of hosts is taken")
	}
}
