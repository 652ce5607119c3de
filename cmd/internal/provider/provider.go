// Package provider makes what runs the skills of a workspace, behind walls: the providers of
// skills, and the guards between these and the network and the machine.
package provider

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/tracing"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/builtin"
	"github.com/etui-run/etui/skill/command"
	skillhttp "github.com/etui-run/etui/skill/http"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/wasm"
)

// Config is what the providers share.
type Config struct {
	Workspace *workdir.Workspace
	// Out and Programs are its [Walls].
	Out      *egress.Guard
	Programs *sandbox.Sandbox
	// Pins are what may be used of MCP servers.
	Pins *mcp.Pins
	// Logins say how etui logs in to MCP servers.
	Logins *mcp.Logins
	// Traces adds the current trace to requests; nil adds nothing.
	Traces *tracing.Tracing
	// Version is the version of etui that MCP servers are told.
	Version string
	Log     *slog.Logger
}

// Walls makes the guard between skills and the network, and the sandbox between
// programs and the machine.
func Walls(w *workdir.Workspace) (*egress.Guard, *sandbox.Sandbox, error) {
	c := w.Config
	out, err := egress.New(egress.Config{Allow: c.Skills.Local, Own: w.Ports})
	if err != nil {
		return nil, nil, w.Mistakef("skills.local: %w", err)
	}
	programs, err := sandbox.New(sandbox.Config{
		Mode: sandbox.Mode(c.Sandbox.Mode), Require: sandbox.Mode(c.Sandbox.Require),
		Read: c.Sandbox.Read, Closed: w.ClosedPaths(), Dial: out.DialContext,
	})
	if err != nil {
		return nil, nil, w.Mistakef("%w", err)
	}
	if err := sandbox.CheckHosts(c.Sandbox.Network); err != nil {
		return nil, nil, w.Mistakef("sandbox.network: %w", err)
	}
	return out, programs, nil
}

// New makes the providers of skills. This is the one list of them: a new one costs its folder
// and a line here.
func New(c Config) ([]skill.Provider, error) {
	services, err := skillhttp.New(skillhttp.Config{Transport: c.Out, Inject: c.Traces.Inject})
	if err != nil {
		return nil, err
	}
	return []skill.Provider{builtin.New(functions()), services, NewServers(c), command.New(c.Programs), wasm.New()}, nil
}

// NewServers makes the provider of MCP servers.
func NewServers(c Config) *mcp.Provider {
	w := c.Workspace
	return mcp.New(mcp.Config{
		Sandbox: c.Programs, HTTP: &http.Client{Transport: c.Out}, Pins: c.Pins, Logins: c.Logins,
		State: filepath.Join(w.State, workdir.ServersFolder), Closed: ClosedPaths(w), Log: c.Log, Version: c.Version,
	})
}

// ClosedPaths returns what no folder that an MCP server is granted may hold.
func ClosedPaths(w *workdir.Workspace) []string {
	return slices.Concat(w.States(), []string{w.File}, w.SkillFolders())
}
