package app

import (
	"context"
	"os"

	"github.com/etui-run/etui/internal/doctor"
	"github.com/etui-run/etui/internal/nameset"
	"github.com/etui-run/etui/internal/rulebook"
	"github.com/etui-run/etui/internal/workspace"
)

// Known returns what the configuration can name.
func (a *App) Known() nameset.Known {
	return nameset.New(a.Workspace.Config, a.registry.Catalog(), a.Skills.Snapshot())
}

// Subject returns what makes the engine of a workspace for the doctor.
func Subject(w *workspace.Workspace, c Config) func(context.Context) (*doctor.Subject, error) {
	return func(ctx context.Context) (*doctor.Subject, error) {
		a, err := New(ctx, w, c)
		if err != nil {
			return nil, err
		}
		configured := w.Config.Models
		if len(configured) == 0 {
			configured, _ = modelsOf(os.Getenv)
		}
		hosts, _ := shellHosts(w.Config.Sandbox, a.programs) // a.Warnings has the error
		return &doctor.Subject{
			Workspace: w, Engine: a.Engine, Channels: a.channels, Skills: a.Skills, Programs: a.programs, Keys: a.keys,
			Models: a.adapters, Configured: configured, Answering: a.Models(), Readable: a.readable, Hosts: hosts,
			Decide: rulebook.Decide, Given: a.skills.given.of, Unknown: a.Misnamed.Unknown, Failures: a.Failures(),
			Decisions: a.skills.control.Err(), Warnings: append(a.Misnamed.Later, a.Warnings...), Close: a.Close,
		}, nil
	}
}
