package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/server/api"
)

// caller holds the flags that say who sends the message, where and with what.
type caller struct {
	message api.Message
	roles   []string
	attrs   map[string]string
}

func (c *caller) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.message.Agent, "agent", "", "agent to ask (default: the first one)")
	f.StringVar(&c.message.Channel, "channel", "cli", "channel the message comes from")
	f.StringVar(&c.message.Chat, "chat", "", "chat or group in the channel")
	f.StringVar(&c.message.User, "user", "", "user who sends the message")
	f.StringSliceVar(&c.roles, "role", nil, "role of the user (may be repeated)")
	f.StringToStringVar(&c.attrs, "attr", nil, "attribute of the user as name=value (may be repeated)")
	f.StringVar(&c.message.Session, "session", "", "name of the conversation")
	f.StringVar(&c.message.Skill, "skill", "", "active skill")
	f.StringVar(&c.message.Mode, "mode", "", "how the tools reach the model: auto, direct, preselect, bridge or native")
	f.StringVar(&c.message.Strategy, "strategy", "", "full, lite or custom")
	f.StringSliceVar(&c.message.Include, "include", nil, "use only these tools, by name or group:NAME")
	f.StringSliceVar(&c.message.Exclude, "exclude", nil, "do not use these tools")
	f.StringSliceVar(&c.message.IncludeSkills, "include-skill", nil, "offer the model only these skills")
	f.StringSliceVar(&c.message.ExcludeSkills, "exclude-skill", nil, "do not offer the model these skills")
	f.BoolVar(&c.message.NoMemory, "no-memory", false, "leave the memory out (strategy custom)")
	f.BoolVar(&c.message.NoRuntime, "no-runtime", false, "leave time, channel and user out (strategy custom)")
	f.IntVar(&c.message.Limit, "limit", 0, "send at most this many tools (default: as configured)")
	f.IntVar(&c.message.Budget, "budget", 0, "send tools of at most this many tokens (default: as configured)")
}

// says returns the message with a text.
func (c *caller) says(text string) (api.Message, error) {
	m := c.message
	if m.Limit < 0 || m.Budget < 0 {
		return m, app.Usagef("--limit and --budget must not be negative")
	}
	if strings.TrimSpace(text) == "" {
		return m, app.Usagef("the message is empty")
	}
	m.Text, m.Roles, m.Attrs = text, c.roles, c.attrs
	return m, nil
}
