package etui_test

import (
	"context"
	"testing"

	"github.com/etui-run/etui"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/tool"
)

// TestConfigGroups: agents without groups of their own have those of the configuration.
func TestConfigGroups(t *testing.T) {
	var tools []tool.Tool
	for _, group := range []string{"file", "shell", "mail"} {
		tools = append(tools, tool.Func(tool.Definition{Name: "use_" + group, Description: "Use " + group, Groups: []string{group}},
			func(context.Context, struct{}) (string, error) { return "", nil }))
	}
	gateway, err := etui.New(offline.New(offline.Config{}), etui.Config{
		Tools: tools, Groups: "file,shell", Agents: []engine.Agent{{Name: "main"}, {Name: "mail", Groups: "mail"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()
	for agent, want := range map[string]string{"main": "file,shell", "mail": "mail"} {
		now, err := gateway.AgentStatus(agent)
		if err != nil {
			t.Fatal(err)
		}
		if now.Groups != want {
			t.Errorf("agent %s has the groups %q, want %q", agent, now.Groups, want)
		}
	}
}
