package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chooser"
	"github.com/etui-run/etui/chore"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/tuner"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/embedding"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

func recommend(c config.Recommend, fitted tune.WeightsFile) selection.Recommend {
	w, _ := Recommends(c, fitted)
	r := w.Selection()
	r.On = c.Mode != "off"
	return r
}

// Recommends says which weights a recommender has, and why they may not be fitted: it is off, or
// etui.yaml sets them. Empty means that they may be.
func Recommends(c config.Recommend, fitted tune.WeightsFile) (now tune.Recommender, fixed string) {
	now = tune.Recommender{Channel: float64(c.Channel), Keyword: float64(c.Keyword), History: float64(c.History),
		Recency: float64(c.Recency)}
	chosen := now != tune.DefaultRecommender() // weights that a person has chosen win
	if fitted.Recommender != nil && !chosen {
		now = *fitted.Recommender
	}
	switch {
	case c.Mode == "off":
		return now, "recommend.mode is off"
	case chosen:
		return now, "etui.yaml sets its weights"
	}
	return now, ""
}

// newTuner makes what fits the weights to past turns. Turns of guests fit nothing: anybody can be
// one.
func (a *App) newTuner(e engine.Config, fitted tune.WeightsFile) *tuner.Tuner {
	c := a.Workspace.Config
	return tuner.New(tuner.Config{
		State: a.Workspace.State, On: c.Usage.Keep && c.Usage.Tune &&
			!c.Usage.Guests, Turns: e.Learning.Log, Votes: c.Usage.Vote,
		Catalog:     func() *catalog.Catalog { return a.Engine.Catalog() },
		Recommender: func(now tune.WeightsFile) (tune.Recommender, string) { return Recommends(c.Recommend, now) },
		Apply:       func(now tune.WeightsFile) { e.Selection.Tuning.Set(now.Weights, recommend(c.Recommend, now)) },
		Audit:       func(d audit.Decision) { a.skills.calls.Decide(d, nil) },
		Log:         a.settings.Log,
	}, fitted)
}

// newChooser makes what the recommender consults when it is unsure; nil when it
// consults nothing.
func (a *App) newChooser(models map[string]model.Model) (*chooser.Chooser, error) {
	c := a.Workspace.Config.Recommend
	if c.Mode != "model" {
		return nil, nil
	}
	m, err := a.named(models, "recommend.model", c.Model)
	if err != nil {
		return nil, err
	}
	return chooser.New(m, c.Timeout, a.settings.Log), nil
}

// named returns the model that a key of the configuration names.
func (a *App) named(models map[string]model.Model, key, name string) (model.Model, error) {
	if m, ok := models[name]; ok {
		return m, nil
	}
	return nil, a.Workspace.Mistakef("%s: there is no model %q%s", key, name,
		nearest.Hint(name, slices.Values(slices.Sorted(maps.Keys(models)))))
}

// newEmbedder makes what compares meanings; nil when nothing does. Without a store it
// only uses the vectors that are already kept: a command that ends at once computes
// none.
func (a *App) newEmbedder(stored bool) (*embedding.Embedder, error) {
	c := encoder(a.Workspace, "embeddings.jsonl", a.settings.Log)
	if c.Model == "" {
		return nil, nil
	}
	c.ReadOnly = !stored
	e, err := embedding.New(c)
	if err != nil {
		return nil, err
	}
	a.close = append(a.close, e.Close)
	return e, nil
}

// encoder is what the embeddings of a workspace say, with a file of its state folder.
func encoder(w *workdir.Workspace, file string, log *slog.Logger) embedding.Config {
	c := w.Config.Embeddings
	return embedding.Config{
		BaseURL: c.BaseURL, Model: c.Model, APIKey: string(c.APIKey), Timeout: c.Timeout,
		QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix, Dimensions: c.Dimensions,
		File: filepath.Join(w.State, file), Log: log,
	}
}

// Measured returns what computes vectors for a measurement, with the embeddings of a workspace; nil
// when it has none.
func Measured(ctx context.Context, w *workdir.Workspace, log *slog.Logger,
	progress func(done, all int)) func([]*tool.Definition, []string) (ofTools, ofQuestions [][]float32, err error) {
	c := encoder(w, "embeddings-measured.jsonl", log)
	if c.Model == "" {
		return nil
	}
	return func(tools []*tool.Definition, questions []string) (ofTools, ofQuestions [][]float32, err error) {
		if ofTools, ofQuestions, err = embedding.Encode(ctx, c, tools, questions, progress); err != nil {
			err = fmt.Errorf("%w; check embeddings.base_url and embeddings.model, and that the server runs", err)
		}
		return ofTools, ofQuestions, err
	}
}

// embeddings returns what tells how far the tools' vectors are; nil when meanings are not compared.
func embeddings(e *embedding.Embedder, model string) func() api.Embeddings {
	if e == nil {
		return nil
	}
	return func() api.Embeddings {
		have, all, err := e.Progress()
		now := api.Embeddings{Model: model, Have: have, Tools: all}
		if err != nil {
			now.Error = err.Error()
		}
		return now
	}
}

// models are those of the configuration.
type models struct {
	byName    map[string]model.Model // the empty name is the first one
	all       []model.Model          // without what watches them, in the order of the configuration
	answering []string               // the model of each agent, in the same order
	source    string                 // why these models, when the configuration names none
}

// newModels makes the models by name. The empty name is the first model.
func (a *App) newModels() (map[string]model.Model, error) {
	configs := a.Workspace.Config.Models
	if len(configs) == 0 {
		configs, a.models.source = modelsOf(os.Getenv)
	}
	models := map[string]model.Model{}
	for _, m := range configs {
		made, err := newModel(a.Workspace.File, m, a.Config.Registry, a.pdfs, a.settings.Log)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", m.Name, err)
		}
		a.models.all = append(a.models.all, made)
		models[m.Name] = model.Watch(model.Trace(model.Log(made, a.settings.Log), m.Provider, a.skills.traces.Tracer()))
	}
	models[""] = models[configs[0].Name]
	return models, nil
}

// modeOf returns how the tools reach a model, if its configuration says so. The empty
// name is the first model.
func modeOf(models []config.Model, name string) string {
	for _, m := range models {
		if name == "" || m.Name == name {
			return m.Mode
		}
	}
	return ""
}

// agents makes the agents.
func (a *App) agents(ctx context.Context, models map[string]model.Model, stored bool) ([]engine.Agent, error) {
	c := a.Workspace.Config
	list := c.Agents
	if len(list) == 0 {
		list = []config.Agent{{Name: "main", Custom: config.Custom{Memory: true, Runtime: true}}}
	}
	agents := make([]engine.Agent, len(list))
	for i, g := range list {
		chain := []model.Model{models[g.Model]}
		for _, name := range g.Fallback {
			chain = append(chain, models[name])
		}
		remembered, err := a.memory(ctx, g, stored)
		if err != nil {
			return nil, err
		}
		strategy, err := prompt.ParseStrategy(g.Strategy)
		if err != nil {
			return nil, err
		}
		disk, err := a.disk(cmp.Or(config.Abs(a.Workspace.File, g.Workspace), a.Workspace.Dir))
		if err != nil {
			return nil, err
		}
		chores, err := choresOf(models, g)
		if err != nil {
			return nil, err
		}
		leads := g.Instructions == config.ClientInstructions
		if leads {
			g.Instructions = ""
		}
		agents[i] = engine.Agent{
			Name: g.Name, Model: model.Fallback(chain[0], chain[1:]...), Instructions: g.Instructions,
			ClientLeads: leads,
			Chores:      chores, Groups: g.Groups,
			Skill: cmp.Or(g.Skill, c.Workflow.DefaultSkill), Skills: g.Skills, Strategy: strategy,
			NoMemory: !g.Custom.Memory, NoRuntime: !g.Custom.Runtime, Memory: remembered,
			HistoryTokens: c.Limits.HistoryTokens,
			Spawn:         agent.Spawn(g.Spawn), Steer: g.Steer, Disk: disk,
			NoClientTools: g.ClientTools == "none", SelectClientTools: g.ClientTools == "selected",
			Mode: selection.Mode(cmp.Or(g.Mode, modeOf(c.Models, g.Model))),
		}
		if name := agents[i].Model.Info().Name; !slices.Contains(a.models.answering, name) {
			a.models.answering = append(a.models.answering, name)
		}
	}
	return agents, nil
}

// choresOf returns how an agent answers what chat clients ask by themselves; nil when it treats that as it
// does the messages of people.
func choresOf(models map[string]model.Model, g config.Agent) (*agent.Chores, error) {
	if g.Chores.Model == "" {
		return nil, nil
	}
	patterns, err := chore.New(g.Chores.Match)
	if err != nil {
		return nil, fmt.Errorf("agent %s: chores.match: %w", g.Name, err)
	}
	return &agent.Chores{Model: models[g.Chores.Model], Match: patterns.Match}, nil
}

// memory returns what an agent remembers: its own part is in the database if several etui may
// share it, else in the state folder. Entries of the folder move to the database.
func (a *App) memory(ctx context.Context, g config.Agent, stored bool) (*memory.Store, error) {
	w := a.Workspace
	folder, of := filepath.Join(w.State, "memory", memory.Owner(g.Name)), memory.Config{
		Workspace: cmp.Or(config.Abs(w.File, g.Workspace), w.Dir), Guides: workdir.Guides(), Steady: a.tools.steady,
		Days: w.Config.Memory.Days,
	}
	switch {
	case w.Config.Store == "":
		of.Own = folder
	case a.state.Shared != nil: // else a command runs that needs no database, which is away
		of.Shared = store.Memories{Records: a.state.Shared, Agent: memory.Owner(g.Name)}
	}
	s := memory.New(of)
	if guide := s.Guide(); guide != "" {
		a.settings.Log.DebugContext(ctx, "the agent's instructions include a file of the workspace", "agent", g.Name,
			"file", guide)
	}
	if of.Shared == nil || !stored {
		return s, nil
	}
	n, err := s.Move(ctx, folder)
	if n > 0 {
		a.settings.Log.InfoContext(ctx, "the memory of an agent is in the database now", "agent", g.Name, "files", n)
	}
	return s, err
}

// Models names the models that answer, and says why they were chosen when the
// configuration names none.
func (a *App) Models(lang string) string {
	text := strings.Join(a.models.answering, ", ")
	if a.models.source != "" {
		text += phrase.In(lang, " (%s)", phrase.Word(lang, a.models.source))
	}
	return text
}
