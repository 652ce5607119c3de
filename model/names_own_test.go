package model_test

import (
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/tool"
)

// TestOwnNameStays: what a tool is really called is no decoration.
func TestOwnNameStays(t *testing.T) {
	n := model.NewNames(model.Request{Tools: []tool.Definition{{Name: "x"}, {Name: "x:1"}, {Name: "tools.x"}}})
	for _, name := range []string{"x", "x:1", "tools.x"} {
		if got := n.Own(name); got != name {
			t.Errorf("Own(%q) = %q", name, got)
		}
	}
}
