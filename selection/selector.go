package selection

import (
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
)

// Selector selects from one catalog. It is immutable and safe for concurrent
// use.
type Selector struct {
	catalog  *catalog.Catalog
	config   Config
	index    *rank.Index
	votes    *rank.Votes
	disabled set
	pinned   set
	skills   skills
	// By position. Reading them from the entries would take longer than everything
	// else.
	filters, tokens []int32
	places          []int32       // of each tool: which of the lists of channels it has; nil when none has any
	channels        [][]string    // the lists; the first one is empty
	vectors         *rank.Vectors // nil when the selector compares no meanings
}

// New indexes a catalog, in about 10 µs for each tool.
func New(c *catalog.Catalog, cfg Config) *Selector { return newMaker(cfg).selector(c) }

// Of returns a selector of another catalog with the same limits and weights. Pinned are tools of it that
// are always sent.
func (s *Selector) Of(c *catalog.Catalog, pinned ...string) *Selector {
	cfg := s.config
	cfg.Mode, cfg.Pinned, cfg.Disabled = "", pinned, nil
	return New(c, cfg)
}

// WithVotes returns a selector that lets past questions vote; nil means none. It
// shares everything else with s.
func (s *Selector) WithVotes(v *rank.Votes) *Selector {
	with := *s
	with.votes = v
	return &with
}

// WithVectors returns a selector that also compares meanings. The vectors are by
// position in the catalog, see [rank.NewVectors]. They count for requests with a
// [Request.Vector] of as many numbers.
func (s *Selector) WithVectors(vectors [][]float32) *Selector {
	with := *s
	with.vectors = rank.NewVectors(vectors)
	return &with
}

// Catalog returns the catalog that s selects from.
func (s *Selector) Catalog() *catalog.Catalog { return s.catalog }

// set holds some of a catalog's tools by position; nil means none.
type set []bool

func (s set) has(position int) bool { return s != nil && s[position] }

// members returns the set of the tools that the targets name.
func (s *Selector) members(targets []string) set {
	if len(targets) == 0 {
		return nil
	}
	members, _ := s.catalog.Members(catalog.Skill{Tools: targets})
	return s.setOf(members)
}

func (s *Selector) setOf(entries []*catalog.Entry) set {
	m := make(set, s.catalog.Len())
	for _, e := range entries {
		m[e.Position()] = true
	}
	return m
}
