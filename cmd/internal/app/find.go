package app

import (
	"context"

	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// maxLoaded bounds how many loaded skills find_skills returns.
const maxLoaded = 5

// addInstallTools gives the model the tools that find and install skills, as far as
// the configuration allows.
func (a *App) addInstallTools() error {
	w := a.Workspace
	if w.Config.Skills.Model == "off" {
		return nil
	}
	in, err := install.Skills(w, a.settings.Log)
	if err != nil {
		return err
	}
	find := &hub.Finder{Installer: in, Loaded: a.loaded}
	if w.Config.Skills.Model == "find" {
		in = nil // hub then leaves out install_skill
	}
	return hub.Register(a.Config.Registry, find, in)
}

// loaded finds loaded skills that the caller may see and the model may use.
func (a *App) loaded(ctx context.Context, text string) []hub.Match {
	seen, err := inspect.New(a.Engine).Visible(tool.Caller(ctx))
	if err != nil {
		return nil // the agent is gone
	}
	var list []hub.Match
	for e := range seen.Catalog().All() {
		if d := e.Definition; d.Source == skill.Source && seen.Visible(e) {
			list = append(list, hub.Match{Name: d.Name, Description: d.Description})
		}
	}
	for name := range seen.OfferedSkills() {
		s, _ := seen.Catalog().Skill(name) // offered ones are in it
		list = append(list, hub.Match{Name: name, Description: s.Description})
	}
	return hub.Best(list, text, maxLoaded)
}
