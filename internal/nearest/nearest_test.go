package nearest_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/internal/nearest"
)

func TestName(t *testing.T) {
	known := []string{"get_pod_logs", "list_pods", "full", "office", "listen"}
	for written, want := range map[string]string{
		"get_pod_log": "get_pod_logs", "list_pod": "list_pods", "LIST_PODS": "list_pods", "fulll": "full", "ofice": "office", "listne": "listen",
		"get_pod": "get_pod_logs", "office": "", "zebra": "", "": "", "x": "",
	} {
		if got, ok := nearest.Name(written, slices.Values(known)); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
	if got := nearest.Hint("ofice", slices.Values(known)); got != `; did you mean "office"?` {
		t.Error(got)
	}
}
