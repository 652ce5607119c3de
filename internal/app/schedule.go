package app

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/schedule"
)

// heartbeatFile is what a heartbeat says, in the workspace of its agent.
const heartbeatFile = "HEARTBEAT.md"

// heartbeat returns what the configuration says of it.
func (a *App) heartbeat() (schedule.Heartbeat, error) {
	w, c := a.Workspace, a.Workspace.Config.Heartbeat
	if c.Interval == 0 {
		return schedule.Heartbeat{}, nil
	}
	if c.Interval < time.Minute {
		return schedule.Heartbeat{}, w.wrongf("heartbeat.interval: %v is less than 1m", c.Interval)
	}
	dir, known := w.heartbeatFolder()
	if !known {
		return schedule.Heartbeat{}, w.wrongf("heartbeat.agent: there is no agent %q", c.Agent)
	}
	if c.User != "" && !slices.ContainsFunc(w.Config.Users, func(u config.User) bool { return u.Name == c.User }) {
		return schedule.Heartbeat{}, w.wrongf("heartbeat.user: there is no user %q", c.User)
	}
	return schedule.Heartbeat{Every: c.Interval, Agent: c.Agent, User: c.User, Text: func() (string, error) {
		text, err := memory.Read(dir, heartbeatFile)
		if strings.TrimSpace(text) == "" {
			return "", err
		}
		return "This is what " + heartbeatFile + " says. Do what is due now; if nothing is, say so in one line.\n\n" + text, err
	}}, nil
}

// heartbeatFolder returns the workspace of the agent that has the heartbeat, and whether there is
// such an agent.
func (w *Workspace) heartbeatFolder() (dir string, known bool) {
	name := w.Config.Heartbeat.Agent
	for i, g := range w.Config.Agents {
		if g.Name == name || name == "" && i == 0 {
			return cmp.Or(config.Abs(w.File, g.Workspace), w.Dir), true
		}
	}
	return w.Dir, name == "" || len(w.Config.Agents) == 0 && name == "main"
}
