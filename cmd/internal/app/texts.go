package app

import (
	"context"
	"encoding/json"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/enrich"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/api"
)

// addTexts puts the texts about tools into the registry. A file that cannot be read leaves
// the demo's.
func (a *App) addTexts(ctx context.Context) {
	c := a.Workspace.Config
	given := map[string]catalog.Enrichment{}
	if c.Demo {
		for name, texts := range demo.Texts() {
			given[name] = catalog.Enrichment{Texts: texts}
		}
	}
	a.tools.texts = enrich.NewKeeper(enrich.KeeperConfig{
		File: enrich.Open(a.Workspace.Texts()), Registry: a.Config.Registry, Given: given, Steady: a.tools.steady,
		Auto: c.Enrich.Mode == "auto", Budget: c.Enrich.Budget,
		Languages: c.Enrich.Languages, Model: func() (model.Model, error) { return a.EnrichModel("") },
		Log: a.settings.Log,
	})
	a.tools.texts.Look(ctx)
}

// addExample adds a person's example to the texts about a tool. The keeper notices the file.
func (t *toolbox) addExample(_ context.Context, e api.Example) (api.Texts, error) {
	before, after, err := t.texts.File.AddExample(e.Tool, e.Example, e.Save)
	if err != nil {
		return api.Texts{}, err
	}
	line := func(l enrich.Line) string {
		if l.Tool == "" { // there was none
			return ""
		}
		text, _ := json.Marshal(l) // texts always marshal
		return string(text)
	}
	return api.Texts{File: t.texts.File.Path(), Before: line(before), After: line(after), Saved: e.Save}, nil
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
