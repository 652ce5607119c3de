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

// TestOwnNameNear: what models write around a name reaches the only tool that is called so, and no
// other.
func TestOwnNameNear(t *testing.T) {
	n := model.NewNames(model.Request{Tools: []tool.Definition{{Name: "get_x"}, {Name: "files.read"}, {Name: "a_b"}, {Name: "a-b"}, {Name: "天气"}}})
	for name, want := range map[string]string{
		" get_x ": "get_x", "Get_X": "get_x", "getX": "get_x", "get-x": "get_x", "functions.get_x": "get_x", "functions.get_x:0": "get_x",
		"default_api:get_x": "get_x", "get_x<|channel|>commentary": "get_x", "get_x</tool_call>": "get_x", "get_x()": "get_x",
		"get_x({\"a\":1})": "get_x", "files/read": "files.read", "tools/files_read": "files.read", "AB": "AB", "get_y": "get_y", "-": "-", "": "",
		"function": "function", "files": "files",
	} {
		if got := n.Own(name); got != want {
			t.Errorf("Own(%q) = %q, want %q", name, got, want)
		}
	}
}
