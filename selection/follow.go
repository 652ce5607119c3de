package selection

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// Follow returns a function that returns the selector of the newest catalog, for
// one atomic load. Only the first caller blocks, while the first selector is
// made; a program that never asks for one does not load the dictionaries.
//
// Each change of the registry makes the next selector before it returns, so that
// later callers get it. Only what changed is read: one tool among 10,000 takes
// some 20 ms, skills and rules take less. In the meantime callers get the previous
// selector. A caller that must notice a revocation at once asks [Selector.Admit]
// of the newest selector again before using a tool. A [Tuning] makes the next selector in
// the same way. The registry keeps making selectors for as long as it exists.
func Follow(r *catalog.Registry, cfg Config) func() *Selector {
	made := newMaker(cfg)
	var latest atomic.Pointer[Selector]
	var making sync.Mutex // guards made and newest
	var newest *catalog.Catalog
	r.Watch(func(c *catalog.Catalog) {
		making.Lock()
		defer making.Unlock()
		newest = c
		if latest.Load() != nil {
			latest.Store(made.selector(c))
		}
	})
	cfg.Tuning.watch(func(w weights) {
		making.Lock()
		defer making.Unlock()
		cfg.Weights, cfg.Recommend = w.ranking, w.recommend
		made = newMaker(cfg)
		if latest.Load() != nil {
			latest.Store(made.selector(newest))
		}
	})
	return func() *Selector {
		if s := latest.Load(); s != nil {
			return s
		}
		making.Lock()
		defer making.Unlock()
		if latest.Load() == nil {
			latest.Store(made.selector(newest))
		}
		return latest.Load()
	}
}

// maker makes the selectors of one catalog after the other and reads only what
// changed. It is not safe for concurrent use.
type maker struct {
	config        Config
	tools, skills *rank.Indexer
	last          *Selector // nil before the first
}

func newMaker(cfg Config) *maker {
	cfg = cfg.withDefaults()
	return &maker{config: cfg, tools: rank.NewIndexer(cfg.Weights), skills: rank.NewIndexer(cfg.Weights)}
}

func (m *maker) selector(c *catalog.Catalog) *Selector {
	s := &Selector{catalog: c, config: m.config}
	if m.last != nil && m.last.catalog.SameTools(c) && m.last.catalog.SameTexts(c) {
		s.index = m.last.index
	} else {
		s.index = m.tools.Index(definitions(c), c.ToolTexts())
	}
	s.skills = newSkills(c)
	if m.last != nil && m.last.catalog.SameSkills(c) && m.last.catalog.SameTexts(c) {
		s.skills.index = m.last.skills.index
	} else {
		s.skills.index = m.skills.Index(s.skills.definitions(), c.SkillTexts())
	}
	s.placeTools()
	s.filters, s.tokens = make([]int32, 0, c.Len()), make([]int32, 0, c.Len())
	s.disabled = s.members(slices.Concat(m.config.Disabled, c.Disabled()))
	for e := range c.All() {
		s.filters, s.tokens = append(s.filters, int32(e.Filter())), append(s.tokens, int32(e.Tokens))
		if Meta(e.Definition.Name) {
			if s.disabled == nil {
				s.disabled = make(set, c.Len())
			}
			s.disabled[e.Position()] = true
		}
	}
	s.pinned = s.members(m.config.Pinned)
	m.last = s
	return s
}

func definitions(c *catalog.Catalog) []*tool.Definition {
	list := make([]*tool.Definition, 0, c.Len())
	for e := range c.All() {
		list = append(list, &e.Definition)
	}
	return list
}
