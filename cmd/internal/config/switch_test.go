package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
)

// TestSwitchTool: a tool is added to tools.disabled and taken out of it in every form in which people
// write it, and nothing else changes. A text that cannot be changed like that is left to people.
func TestSwitchTool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ off, on string }{
		{"", "tools:\n  disabled: [exec]\n"},
		{"# mine\nagents: [{name: main}]", "# mine\nagents: [{name: main}]\ntools:\n  disabled: [exec]\n"},
		{"tools:\n  # no shell here\n  local: [localhost:80]\nagents: []\n", "tools:\n  disabled: [exec]\n  # no shell here\n  local: [localhost:80]\nagents: []\n"},
		{"tools: # why\nagents: []\n", "tools: # why\n  disabled: [exec]\nagents: []\n"},
		{"tools: {builtin: true} # why\n", "tools: {disabled: [exec], builtin: true} # why\n"},
		{"tools: {}\n", "tools: {disabled: [exec]}\n"},
		{"tools:\n  disabled: [time, group:file] # why\n", "tools:\n  disabled: [exec, time, group:file] # why\n"},
		{"tools:\n  disabled: [] # none\n", "tools:\n  disabled: [exec] # none\n"},
		{"tools:\n  disabled:\n    # the clock lies\n    - time # really\n  read: []\n", "tools:\n  disabled:\n    - exec\n    # the clock lies\n    - time # really\n  read: []\n"},
		{"tools:\r\n  disabled:\r\n  - time\r\nagents: []\r\n", "tools:\r\n  disabled:\r\n  - exec\r\n  - time\r\nagents: []\r\n"},
		{"{agents: []}\n", "{tools: {disabled: [exec]}, agents: []}\n"},
		{"tools: {read: [/工具/目录], disabled: [time]} # 注释\n", "tools: {read: [/工具/目录], disabled: [exec, time]} # 注释\n"},
	} {
		got, err := config.SwitchTool("etui.yaml", []byte(c.off), nil, "exec", false)
		if err != nil || string(got) != c.on {
			t.Errorf("%q with exec switched off: %q, %v; want %q", c.off, got, err, c.on)
		}
		if again, err := config.SwitchTool("etui.yaml", []byte(c.on), nil, "exec", false); err != nil || string(again) != c.on {
			t.Errorf("%q with exec switched off again: %q, %v", c.on, again, err)
		}
	}
	for _, c := range []struct{ off, on string }{
		{"tools:\n  disabled: [exec]\n", "tools:\n  disabled: []\n"},
		{"tools: {disabled: [time, 'exec', group:file]}\n", "tools: {disabled: [time, group:file]}\n"},
		{"tools: {disabled: [time, exec]} # why\n", "tools: {disabled: [time]} # why\n"},
		{"tools: {disabled: [exec, time, exec]}\n", "tools: {disabled: [time]}\n"},
		{"tools:\n  disabled: [\n    time, # the clock lies\n    exec,\n    group:file,\n  ]\n", "tools:\n  disabled: [\n    time, # the clock lies\n    \n    group:file,\n  ]\n"},
		{"tools:\n  disabled:\n    - exec # it runs programs\n    - time # it lies\n", "tools:\n  disabled:\n    - time # it lies\n"},
		{"tools:\n  disabled: # why\n    - exec\nagents: []\n", "tools:\n  disabled: [] # why\nagents: []\n"},
	} {
		if got, err := config.SwitchTool("etui.yaml", []byte(c.off), nil, "exec", true); err != nil || string(got) != c.on {
			t.Errorf("%q with exec switched on: %q, %v; want %q", c.off, got, err, c.on)
		}
	}
	for _, c := range []struct {
		text, environ string
		on            bool
	}{
		{"tools: {disabled: &off [time]}\nskills: {deny: *off}\n", "", false}, // it would deny the skill, too
		{"tools: {read: []}\n", "ETUI_TOOLS_DISABLED=[time]", false},          // the variable counts
		{"tools:\n  disabled: [\n    time, # a\n    exec ]\n", "", true},      // the comment would swallow the bracket
	} {
		if got, err := config.SwitchTool("etui.yaml", []byte(c.text), strings.Fields(c.environ), "exec", c.on); !errors.Is(err, config.ErrByHand) {
			t.Errorf("%q: %q, %v; want %v", c.text, got, err, config.ErrByHand)
		}
	}
	if _, err := config.SwitchTool("etui.yaml", []byte("agnets: []\n"), nil, "exec", false); err == nil || errors.Is(err, config.ErrByHand) {
		t.Errorf("a text with a mistake: %v", err)
	}
}
