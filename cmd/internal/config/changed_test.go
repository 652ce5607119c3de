package config_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
)

// TestRestart: what takes effect at once is not named, nor where the file says something, and a list
// or a value that needs a start is, by its key.
func TestRestart(t *testing.T) {
	t.Parallel()
	const base = "listen: 127.0.0.1:4000\nchannels: [{type: telegram, token: x}]\nagents: [{name: main}]\nskills: {toolsets: [{name: a, tools: [time]}]}\n" +
		"policy: {rules: [{deny: [exec]}]}\n"
	for text, want := range map[string][]string{
		base:             nil,
		"\n# a\n" + base: nil,
		base + "users: [{name: ann, identities: ['telegram:1']}]\nvisibility: {rules: [{deny: [time]}]}\n":                                                        nil,
		"listen: 127.0.0.1:4000\nchannels: [{type: telegram, token: x}]\nagents: [{name: main}]\npolicy: {approvals: {rules: [{allow: [exec], when: 'true'}]}}\n": nil,
		"listen: 127.0.0.1:4001\nchannels: [{type: telegram, token: y}]\nagents: [{name: main, mode: direct}]\npolicy: {approvals: {expire: 2h}}\n": {
			"listen", "agents", "policy.approvals.expire", "channels",
		},
		base + "workflow: {default_skill: a}\nsandbox: {network: [example.com]}\nlimits: {turns: 7}\n": {"sandbox.network", "workflow.default_skill", "limits.turns"},
	} {
		var got [2]*config.Config
		for i, t2 := range []string{base, text} {
			c, err := config.Parse("etui.yaml", []byte(t2), nil)
			if err != nil {
				t.Fatalf("%s: %v", t2, err)
			}
			got[i] = c
		}
		if keys := config.Restart(got[0], got[1]); !slices.Equal(keys, want) {
			t.Errorf("%s: %q, want %q", text, keys, want)
		}
	}
}
