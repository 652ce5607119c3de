package app

import (
	"context"
	"os"

	"github.com/etui-run/etui/cmd/internal/doctor"
	"github.com/etui-run/etui/cmd/internal/enrich"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/cmd/internal/rulebook"
	"github.com/etui-run/etui/cmd/internal/workdir"
)

// Names returns what the configuration can name.
func (a *App) Names() nameset.Names {
	return nameset.New(a.Workspace.Config, a.Config.Registry.Catalog(), a.skills.table.Snapshot())
}

// Subject returns what makes the engine of a workspace for the doctor.
func Subject(w *workdir.Workspace, c Config) func(context.Context) (*doctor.Subject, error) {
	return func(ctx context.Context) (*doctor.Subject, error) {
		a, err := New(ctx, w, c)
		if err != nil {
			return nil, err
		}
		configured := w.Config.Models
		if len(configured) == 0 {
			configured, _ = modelsOf(os.Getenv)
		}
		hosts, _ := shellHosts(w.Config.Sandbox, a.tools.programs) // a.Warnings has the error
		return &doctor.Subject{
			Workspace: w, Engine: a.Engine, Channels: a.tools.channels, Skills: a.skills.table,
			Programs: a.tools.programs, Keys: a.state.Keys,
			Models: a.models.all, Configured: configured, Answering: a.Models, Readable: a.tools.readable, Hosts: hosts,
			Decide: rulebook.Decide, Given: a.skills.given.of, Unknown: a.Mistakes.Unknown, Failures: a.Failures(),
			Decisions: a.skills.control.Err(), Warnings: append(a.Mistakes.Later, a.Warnings...), Close: a.Close,
		}, nil
	}
}

// Texts keeps what was written about tools up to date.
func (a *App) Texts() *enrich.Keeper { return a.tools.texts }

// DemoElsewhere reports that another program has the known address of the demo's service.
func (a *App) DemoElsewhere() bool { return a.tools.demoElsewhere }
