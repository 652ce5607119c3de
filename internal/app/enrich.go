package app

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/enrich"
	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/workspace"
	"github.com/etui-run/etui/model"
)

// texts keeps the texts about tools up to date.
type texts struct {
	app  *App
	file *enrich.File
	seen filestamp.Stamp
	says string // what is wrong with the file
	// skipped are the tools about which nothing usable was written today.
	skipped map[string]bool
}

// addTexts puts the texts about tools into the registry. A file that cannot be read leaves
// the demo's.
func (a *App) addTexts(ctx context.Context) {
	a.texts = &texts{app: a, file: enrich.Open(a.Workspace.Texts())}
	a.texts.look(ctx)
}

// look puts the file into effect if it has changed, unless a program runs that could have
// written it.
func (t *texts) look(ctx context.Context) {
	info, _ := os.Stat(t.file.Path())
	stamp := filestamp.Of(info)
	if stamp == t.seen && t.app.registry.Catalog().Enriched() != nil {
		return
	}
	still := t.app.steady(t.file.Path())
	lines, err := t.file.Read()
	if !still() {
		return
	}
	t.seen = stamp
	if err == nil {
		t.says = ""
	} else {
		if t.says != err.Error() {
			t.says = err.Error()
			t.app.log.ErrorContext(ctx, "the texts about tools cannot be used; the previous ones stay in effect", "error", err)
		}
		if t.app.registry.Catalog().Enriched() != nil {
			return
		}
	}
	all := map[string]catalog.Enriched{}
	if t.app.Workspace.Config.Demo {
		for name, texts := range demo.Texts() {
			all[name] = catalog.Enriched{Texts: texts}
		}
	}
	maps.Copy(all, enrich.Texts(lines))
	t.app.registry.Enrich(all)
}

const (
	// enriching is how often a gateway writes about new and changed tools.
	enriching = time.Minute
	// disappointed is how long it waits after a model that answers nothing usable.
	disappointed = time.Hour
)

// run watches the file until ctx ends and, with enrich.mode auto, writes about new and
// changed tools. No question waits for it.
func (t *texts) run(ctx context.Context) {
	look, write := time.NewTicker(poll), time.NewTimer(0)
	defer look.Stop()
	defer write.Stop()
	left, day := 0, time.Time{} // of the day's budget
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			t.look(ctx)
		case <-write.C:
			if t.app.Workspace.Config.Enrich.Mode != "auto" {
				continue
			}
			if time.Since(day) > 24*time.Hour {
				day, left = time.Now(), t.app.Workspace.Config.Enrich.Budget
				t.skipped = map[string]bool{}
			}
			spent, err := t.write(ctx, left)
			left -= spent
			write.Reset(enriching)
			if err != nil && ctx.Err() == nil {
				t.app.log.ErrorContext(ctx, "nothing more is written about new tools for now", "error", err)
				write.Reset(disappointed)
			}
		}
	}
}

// write writes about new and changed tools and returns how many tokens that took.
func (t *texts) write(ctx context.Context, budget int) (tokens int, err error) {
	lines, err := t.file.Read()
	if err != nil || budget <= 0 {
		return 0, err
	}
	list := enrich.Subjects(t.app.registry.Catalog(), lines, t.app.languages(), nil)
	list = slices.DeleteFunc(list, func(s enrich.Subject) bool { return t.skipped[s.Name] })
	if len(list) == 0 {
		return 0, nil
	}
	m, err := t.app.enrichModel("")
	if err != nil {
		return 0, err
	}
	w := enrich.Writer{Model: m, File: t.file, Wrote: func(name string, _ enrich.Cost, err error) {
		if t.skipped[name] = err != nil; err != nil {
			t.app.log.WarnContext(ctx, "nothing was written about a tool", "tool", name, "error", err)
		}
	}}
	spent, err := w.Write(ctx, list, budget)
	if err != nil {
		clear(t.skipped) // the model is to blame
	}
	if spent.Tools > 0 {
		t.app.log.InfoContext(ctx, "wrote about new tools", "tools", spent.Tools, "of", len(list), "tokens", spent.Input+spent.Output)
		t.look(ctx)
	}
	return spent.Input + spent.Output, err
}

// enrichModel returns the model of the given name, or the one of the configuration.
func (a *App) enrichModel(name string) (model.Model, error) {
	key := "--model"
	if name == "" {
		name, key = a.Workspace.Config.Enrich.Model, "enrich.model"
	}
	m, err := a.named(a.byName, key, name)
	if err == nil && m.Info().Offline {
		err = a.Workspace.Mistakef("%s: the offline model writes no texts; name a language model", key)
	}
	return m, err
}

// languages are those that people write in.
func (a *App) languages() []string {
	if list := a.Workspace.Config.Enrich.Languages; len(list) > 0 {
		return list
	}
	return []string{"English", "Chinese"}
}

// Enrichment is what etui tools enrich works with.
type Enrichment struct {
	*App
	File     *enrich.File
	Subjects []enrich.Subject
	Cost     enrich.Cost // estimated
	// Model is nil, and NoModel the reason, if none can write.
	Model   model.Model
	NoModel error
}

// OpenEnrichment opens a workspace to write about its tools: about those with the given
// names, if there are any, and about at most limit of them, if it is not 0. A name of nothing
// is an error.
func OpenEnrichment(ctx context.Context, w *workspace.Workspace, c Config, model string, names []string, limit int) (_ *Enrichment, err error) {
	a, err := New(ctx, w, c)
	if err != nil {
		return nil, err
	}
	e := &Enrichment{App: a, File: a.texts.file}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	lines, err := e.File.Read()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, tool := a.registry.Catalog().Get(name)
		_, skill := a.registry.Catalog().Skill(strings.TrimPrefix(name, "skill:"))
		if !tool && !skill {
			return nil, config.Usagef("there is no tool or skill %q%s; etui tools list shows them", name, nearest.Hint(name, a.registry.Catalog().Names()))
		}
	}
	e.Subjects = enrich.Subjects(a.registry.Catalog(), lines, a.languages(), names)
	if limit > 0 && limit < len(e.Subjects) {
		e.Subjects = e.Subjects[:limit]
	}
	e.Cost = enrich.Estimate(e.Subjects, a.languages())
	e.Model, e.NoModel = a.enrichModel(model)
	return e, nil
}

// Drop removes the texts about what no longer exists, unless a skill that may have it failed.
func (e *Enrichment) Drop() (int, error) {
	if len(e.Failures()) > 0 || len(e.registry.Catalog().Unavailable()) > 0 {
		return 0, nil
	}
	return e.File.Drop(e.registry.Catalog())
}
