package app

import (
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/schedule"
)

// heartbeat returns what the configuration says of it.
func (a *App) heartbeat() (schedule.Heartbeat, error) {
	w, c := a.Workspace, a.Workspace.Config.Heartbeat
	if c.Interval == 0 {
		return schedule.Heartbeat{}, nil
	}
	if c.Interval < time.Minute {
		return schedule.Heartbeat{}, w.Mistakef("heartbeat.interval: %v is less than 1m", c.Interval)
	}
	dir, known := w.HeartbeatFolder()
	if !known {
		return schedule.Heartbeat{}, w.Mistakef("heartbeat.agent: there is no agent %q", c.Agent)
	}
	if c.User != "" && !slices.ContainsFunc(w.Config.Users, func(u config.User) bool { return u.Name == c.User }) {
		return schedule.Heartbeat{}, w.Mistakef("heartbeat.user: there is no user %q", c.User)
	}
	return schedule.Heartbeat{Every: c.Interval, Agent: c.Agent, User: c.User, Text: func() (string, error) {
		text, err := memory.Read(dir, workdir.HeartbeatFile)
		if strings.TrimSpace(text) == "" {
			return "", err
		}
		return "This is what " + workdir.HeartbeatFile +
			" says. Do what is due now; if nothing is, say so in one line.\n\n" + text, err
	}}, nil
}
