package selection

import (
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// Follow returns a function that gives the selector of the newest catalog, at the
// cost of one atomic load: nobody who asks waits for another, but for who comes
// first. Then the first selector is made; a program that is never asked does
// without the words it takes.
//
// Later ones are made by whoever changes the registry, before the change returns,
// so that who asks afterwards gets what the change made of it. Of what did not
// change nothing is read again: one tool among 10,000 takes some 20 ms, toolsets
// and rules less. Until then the selector before is given: to whom it matters
// that something has just been taken away, ask [Selector.Admit] of the newest one
// once more when it is used. The selectors are made for as long as the registry
// exists.
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

// maker makes the selectors of one catalog after the other. What did not change is
// not read again. It is not safe for concurrent use.
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
	if m.last != nil && m.last.catalog.SameTools(c) {
		s.index = m.last.index
	} else {
		s.index = m.tools.Index(definitions(c))
	}
	s.skills = newSkills(c)
	if m.last != nil && m.last.catalog.SameSkills(c) {
		s.skills.index = m.last.skills.index
	} else {
		s.skills.index = m.skills.Index(s.skills.definitions())
	}
	s.filters, s.tokens = make([]int32, 0, c.Len()), make([]int32, 0, c.Len())
	s.disabled = s.members(m.config.Disabled)
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
