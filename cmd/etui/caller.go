package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/server/api"
)

// callerFlags adds the flags that say who sends the message, where and with what.
func callerFlags(cmd *cobra.Command, m *api.Message) {
	placeFlags(cmd, m)
	f := cmd.Flags()
	f.StringSliceVar(&m.Roles, "role", nil, "role of the user (may be repeated)")
	f.StringSliceVar(&m.PlatformRoles, "platform-role", nil, "role that the channel's platform knows (may be repeated)")
	f.StringToStringVar(&m.Attrs, "attr", nil, "attribute of the user as name=value (may be repeated)")
	f.StringVar(&m.Skill, "skill", "", "active skill")
	f.StringVar(&m.Mode, "mode", "", "how the tools reach the model: auto, direct, preselect, bridge or native")
	f.StringVar(&m.Strategy, "strategy", "", "full, lite or custom")
	f.StringSliceVar(&m.Include, "include", nil, "use only these tools, by name or group:NAME")
	f.StringSliceVar(&m.Exclude, "exclude", nil, "do not use these tools")
	f.StringSliceVar(&m.IncludeSkills, "include-skill", nil, "offer the model only these skills; none: no skill")
	f.StringSliceVar(&m.ExcludeSkills, "exclude-skill", nil, "do not offer the model these skills")
	f.BoolVar(&m.NoMemory, "no-memory", false, "leave the memory out (strategy custom)")
	f.BoolVar(&m.NoRuntime, "no-runtime", false, "leave time, channel and user out (strategy custom)")
	f.IntVar(&m.Limit, "limit", 0, "send at most this many tools (default: as configured)")
	f.IntVar(&m.Budget, "budget", 0, "send tools of at most this many tokens (default: as configured)")
}

// placeFlags adds the flags that say in which conversation a message is.
func placeFlags(cmd *cobra.Command, m *api.Message) {
	f := cmd.Flags()
	f.StringVar(&m.As, "as", "", "be this identity or user of etui.yaml: telegram:42, alice")
	f.StringVar(&m.Agent, "agent", "", "agent to ask (default: the first one)")
	f.StringVar(&m.Channel, "channel", "cli", "channel the message comes from")
	f.StringVar(&m.Chat, "chat", "", "chat or group in the channel")
	f.StringVar(&m.User, "user", "", "user who sends the message")
	f.StringVar(&m.Session, "session", "", "name of the conversation")
}

// says returns the message with a text.
func says(m api.Message, text string) (api.Message, error) {
	if m.Limit < 0 || m.Budget < 0 {
		return m, config.Usagef("--limit and --budget must not be negative")
	}
	if strings.TrimSpace(text) == "" {
		return m, config.Usagef("the message is empty")
	}
	m.Text = text
	return m, nil
}
