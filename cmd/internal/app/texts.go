package app

import (
	"context"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/enrich"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/model"
)

// addTexts puts the texts about tools into the registry. A file that cannot be read leaves
// the demo's.
func (a *App) addTexts(ctx context.Context) {
	c := a.Workspace.Config
	given := map[string]catalog.Enriched{}
	if c.Demo {
		for name, texts := range demo.Texts() {
			given[name] = catalog.Enriched{Texts: texts}
		}
	}
	a.tools.texts = enrich.NewKeeper(enrich.KeeperConfig{
		File: enrich.Open(a.Workspace.Texts()), Registry: a.Config.Registry, Given: given, Steady: a.tools.steady, Auto: c.Enrich.Mode == "auto", Budget: c.Enrich.Budget,
		Languages: c.Enrich.Languages, Model: func() (model.Model, error) { return a.EnrichModel("") }, Log: a.settings.Log,
	})
	a.tools.texts.Look(ctx)
}

// EnrichModel returns the model that writes about tools: that of the given name, or the one of the
// configuration.
func (a *App) EnrichModel(name string) (model.Model, error) {
	key := "--model"
	if name == "" {
		name, key = a.Workspace.Config.Enrich.Model, "enrich.model"
	}
	m, err := a.named(a.models.byName, key, name)
	if err == nil && m.Info().Offline {
		err = a.Workspace.Mistakef("%s: the offline model writes no texts; name a language model", key)
	}
	return m, err
}
