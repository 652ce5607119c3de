package enrich

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/model"
)

// KeeperConfig says what a [Keeper] works with.
type KeeperConfig struct {
	File     *File
	Registry *catalog.Registry
	// Given are texts that come without a file.
	Given map[string]catalog.Enrichment
	// Steady reports whether a file can be used: no program runs that could have written it.
	Steady func(path string) (still func() bool)
	// Auto writes about new and changed tools, at most with Budget tokens a day.
	Auto   bool
	Budget int
	// Languages are those that people write in; nil is English and Chinese.
	Languages []string
	// Model writes.
	Model func() (model.Model, error)
	Log   *slog.Logger
}

// Keeper keeps the texts about tools up to date in a registry.
type Keeper struct {
	KeeperConfig
	seen filestamp.Stamp
	says string // what is wrong with the file
	// skipped are the tools about which nothing usable was written today.
	skipped map[string]bool
}

// NewKeeper returns a keeper. Nothing is in effect before its first [Keeper.Look].
func NewKeeper(c KeeperConfig) *Keeper {
	if len(c.Languages) == 0 {
		c.Languages = []string{"English", "Chinese"}
	}
	return &Keeper{KeeperConfig: c}
}

// Look puts the file into effect if it has changed, unless a program runs that could have
// written it.
func (k *Keeper) Look(ctx context.Context) {
	info, _ := os.Stat(k.File.Path())
	stamp := filestamp.Of(info)
	if stamp == k.seen && k.Registry.Catalog().Enrichments() != nil {
		return
	}
	still := k.Steady(k.File.Path())
	lines, err := k.File.Read()
	if !still() {
		return
	}
	k.seen = stamp
	if err == nil {
		k.says = ""
	} else {
		if k.says != err.Error() {
			k.says = err.Error()
			k.Log.ErrorContext(ctx, "the texts about tools cannot be used; the previous ones stay in effect", "error",
				err)
		}
		if k.Registry.Catalog().Enrichments() != nil {
			return
		}
	}
	all := map[string]catalog.Enrichment{}
	maps.Copy(all, k.Given)
	maps.Copy(all, Texts(lines))
	k.Registry.Enrich(all)
}

const (
	// looking is how often the file is looked at.
	looking = 2 * time.Second
	// enriching is how often a gateway writes about new and changed tools.
	enriching = time.Minute
	// disappointed is how long it waits after a model that answers nothing usable.
	disappointed = time.Hour
)

// Run watches the file until ctx ends and, with mode auto, writes about new and
// changed tools. No question waits for it.
func (k *Keeper) Run(ctx context.Context) {
	look, write := time.NewTicker(looking), time.NewTimer(0)
	defer look.Stop()
	defer write.Stop()
	left, day := 0, time.Time{} // of the day's budget
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			k.Look(ctx)
		case <-write.C:
			if !k.Auto {
				continue
			}
			if time.Since(day) > 24*time.Hour {
				day, left = time.Now(), k.Budget
				k.skipped = map[string]bool{}
			}
			spent, err := k.write(ctx, left)
			left -= spent
			write.Reset(enriching)
			if err != nil && ctx.Err() == nil {
				k.Log.ErrorContext(ctx, "nothing more is written about new tools for now", "error", err)
				write.Reset(disappointed)
			}
		}
	}
}

// write writes about new and changed tools and returns how many tokens that took.
func (k *Keeper) write(ctx context.Context, budget int) (tokens int, err error) {
	lines, err := k.File.Read()
	if err != nil || budget <= 0 {
		return 0, err
	}
	list := Subjects(k.Registry.Catalog(), lines, k.Languages, nil)
	list = slices.DeleteFunc(list, func(s Subject) bool { return k.skipped[s.Name] })
	if len(list) == 0 {
		return 0, nil
	}
	m, err := k.Model()
	if err != nil {
		return 0, err
	}
	w := Writer{Model: m, File: k.File, Wrote: func(name string, _ Cost, err error) {
		if k.skipped[name] = err != nil; err != nil {
			k.Log.WarnContext(ctx, "nothing was written about a tool", "tool", name, "error", err)
		}
	}}
	spent, err := w.Write(ctx, list, budget)
	if err != nil {
		clear(k.skipped) // the model is to blame
	}
	if spent.Tools > 0 {
		k.Log.InfoContext(ctx, "wrote about new tools", "tools", spent.Tools, "of", len(list), "tokens",
			spent.Input+spent.Output)
		k.Look(ctx)
	}
	return spent.Input + spent.Output, err
}

// Plan is what is to be written: about which tools, and what it costs by estimate.
type Plan struct {
	Subjects []Subject
	Cost     Cost
}

// Plan returns what is missing: about the tools and skills with the given names, if there are any, and
// about at most limit of them, if it is not 0. A name of nothing is an error.
func (k *Keeper) Plan(names []string, limit int) (p Plan, err error) {
	now := k.Registry.Catalog()
	lines, err := k.File.Read()
	if err != nil {
		return p, err
	}
	for _, name := range names {
		_, tool := now.Get(name)
		_, skill := now.Skill(strings.TrimPrefix(name, "skill:"))
		if !tool && !skill {
			return p, config.Usagef("there is no tool or skill %q%s; etui tools list shows them", name,
				nearest.Hint(name, now.Names()))
		}
	}
	p.Subjects = Subjects(now, lines, k.Languages, names)
	if limit > 0 && limit < len(p.Subjects) {
		p.Subjects = p.Subjects[:limit]
	}
	p.Cost = Estimate(p.Subjects, k.Languages)
	return p, nil
}

// Drop removes the texts about what no longer exists, unless a skill that may have it failed, or a server
// is away.
func (k *Keeper) Drop(failed bool) (int, error) {
	now := k.Registry.Catalog()
	if failed || len(now.Unavailable()) > 0 {
		return 0, nil
	}
	return k.File.Drop(now)
}
