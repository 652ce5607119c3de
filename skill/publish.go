package skill

import (
	"context"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/tool"
)

// PublishConfig says how skills are published. The zero value is enough.
type PublishConfig struct {
	// Observe wraps every use of a skill; nil means that nothing does.
	Observe ObserveFunc
	// Idle leaves servers stopped: their tools are those they know without running.
	Idle bool
	// Log takes what operators want to know; nil discards.
	Log *slog.Logger
}

const (
	// retirement is how long a replaced skill stays open for the turns that hold it:
	// longer than a turn takes. Beyond maxRetired of them, a skill is closed as soon
	// as none of its calls runs.
	retirement = 5 * time.Minute
	maxRetired = 64
	// maxListed is how many characters of a description a list of skills has.
	maxListed = 1024
)

// Publisher keeps the enabled skills of a table in a catalog.
type Publisher struct {
	table    *Table
	registry *catalog.Registry
	config   PublishConfig
	ctx      context.Context //nolint:containedctx // of the servers and retired skills; ends with Close
	cancel   context.CancelFunc
	working  sync.WaitGroup // servers, and skills that are being closed

	mu       sync.Mutex // guards what follows
	snapshot *Snapshot
	shown    []*catalogForm     // the snapshot's entries, in its order
	stopped  map[string]*server // servers that may still run, by name
	open     map[io.Closer]*lease
	retired  int
	told     map[string]bool // logged errors of what was left out
	closed   bool
}

// Publish puts the enabled skills of a table into a catalog, now and after every
// change, until the publisher is closed. The catalog is up to date when a change of
// the table returns.
//
// A callable skill becomes a tool with the source "skill". A skill with
// instructions or a toolset can be taken up. The tools of a [Server] become tools,
// and the server becomes their toolset; it runs while it is enabled. The catalog
// knows why other skills are unavailable. No skill replaces a tool or toolset of the
// program.
//
// A turn keeps using a skill that is replaced meanwhile; calls of one that is
// disabled or removed fail with ErrDisabled or ErrNotFound. A skill that is an
// [io.Closer], which must be a pointer, is closed after it leaves the table: when its
// running calls have ended, and some minutes later, for the turns that still hold
// it. Two versions of one server never run side by side: when the running calls have
// ended, the tools of the old one fail with ErrProviderUnavailable.
func Publish(t *Table, r *catalog.Registry, cfg PublishConfig) *Publisher {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	p := &Publisher{table: t, registry: r, config: cfg, stopped: map[string]*server{}, open: map[io.Closer]*lease{},
		told: map[string]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	t.Watch(func(s *Snapshot) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.snapshot = s
		p.publish()
	})
	return p
}

// Close takes the skills out of the catalog, ends the servers and closes the
// skills. It waits for running calls, which the caller cancels first.
func (p *Publisher) Close() error {
	p.mu.Lock()
	p.closed = true
	p.registry.Supply(Source, catalog.Supply{})
	p.cancel()
	for _, s := range p.shown {
		p.stop(s, true)
	}
	for c, l := range p.open {
		p.retire(c, l)
	}
	p.open = nil
	p.mu.Unlock()
	p.working.Wait()
	return nil
}

// publish puts the newest snapshot into the catalog.
func (p *Publisher) publish() {
	if p.closed {
		return
	}
	p.compare()
	var supply, servers catalog.Supply
	supply.Tools = make([]tool.Tool, 0, len(p.shown))
	for _, s := range p.shown {
		switch {
		case s.unavailable != "":
			supply.Unavailable = append(supply.Unavailable,
				catalog.Unavailable{Name: s.entry.Name(), Reason: s.unavailable})
		case s.server != nil:
			s.server.supply(s.entry, &servers)
		}
		if s.tool != nil {
			supply.Tools = append(supply.Tools, s.tool)
		}
		if s.toolset != nil {
			supply.Skills = append(supply.Skills, *s.toolset)
		}
	}
	supply.Tools = append(supply.Tools, servers.Tools...)
	supply.Skills = append(supply.Skills, servers.Skills...)
	supply.Unavailable = append(supply.Unavailable, servers.Unavailable...)
	p.tell(p.registry.Supply(Source, supply))
}

// compare updates p.shown. Both lists are in order of names, so that only changed
// entries are replaced.
func (p *Publisher) compare() {
	before := p.shown
	p.shown = make([]*catalogForm, 0, len(p.snapshot.All()))
	for _, e := range p.snapshot.All() {
		for len(before) > 0 && before[0].entry.Name() < e.Name() {
			p.replace(before[0], nil)
			before = before[1:]
		}
		switch {
		case len(before) == 0 || before[0].entry.Name() > e.Name():
			p.shown = append(p.shown, p.replace(nil, e))
			continue
		case before[0].entry == e:
			p.shown = append(p.shown, before[0])
		default:
			p.shown = append(p.shown, p.replace(before[0], e))
		}
		before = before[1:]
	}
	for _, s := range before {
		p.replace(s, nil)
	}
}

// replace returns the catalog's form of an entry and ends the one before it. Either
// may be nil.
func (p *Publisher) replace(before *catalogForm, e *Entry) (after *catalogForm) {
	p.hold(before, e)
	if e == nil {
		p.stop(before, true)
		return nil
	}
	after = &catalogForm{entry: e}
	switch {
	case e.State == Removed:
	case e.State != Enabled:
		after.unavailable = reasonOf(e)
	case !listable(e.Name()):
		after.unavailable = "its name has invisible characters, commas or colons, or is longer than 100 characters"
	case before != nil && before.enabled && sameValue(before.entry.Skill, e.Skill):
		*after = *before
		after.entry = e
		return after
	default:
		after.enabled = true
	}
	_, server := e.Skill.(Server)
	p.stop(before, !after.enabled || !server)
	if after.enabled {
		p.show(after)
	}
	return after
}

func reasonOf(e *Entry) string {
	switch {
	case len(e.Details.Unmet) > 0 && e.State == Loaded:
		return "unmet: " + strings.Join(e.Details.Unmet, "; ")
	case e.Why != "":
		return e.Why
	}
	return string(e.State)
}

// listable reports whether a name can be part of a list of names as it is.
func listable(name string) bool {
	return len([]rune(name)) <= 100 && printable.Line(name, 100) == name && !strings.ContainsAny(name, ",:")
}

// tell logs what the catalog left out, once for as long as it stays out.
func (p *Publisher) tell(leftOut []error) {
	told := make(map[string]bool, len(leftOut))
	for _, err := range leftOut {
		if told[err.Error()] = true; !p.told[err.Error()] {
			p.config.Log.Warn("left out of the catalog", "error", err)
		}
	}
	p.told = told
}

// catalogForm is the form of a skill in the catalog.
type catalogForm struct {
	entry       *Entry
	enabled     bool
	unavailable string         // why it cannot be used; empty if it can or is removed
	tool        tool.Tool      // nil if it is not callable
	toolset     *catalog.Skill // nil if it cannot be taken up
	server      *server        // nil if it brings no tools
}

// show makes the form of a skill in the catalog.
func (p *Publisher) show(s *catalogForm) {
	g := gate{p, useOf(s.entry), p.lease(s.entry.Skill)}
	switch skill := s.entry.Skill.(type) {
	case Server:
		s.server = p.serve(skill, g)
		return
	case Guide:
		s.toolset = toolsetOf(s.entry)
		s.toolset.Guide = &guide{g, skill}
		return
	}
	if s.entry.Details.Tools != nil {
		s.toolset = toolsetOf(s.entry)
	}
	if KindOf(s.entry.Skill) != "toolset" {
		s.tool = g.tool(AsTool(s.entry.Skill))
	}
}

// toolsetOf describes a skill that can be taken up. Its description may come from
// outside, so it is put on one line.
func toolsetOf(e *Entry) *catalog.Skill {
	d := e.Details
	return &catalog.Skill{
		Name: e.Name(), Description: printable.Line(e.Skill.Description(), maxListed), Tools: d.Tools,
		Allowed: d.Allowed, Manual: d.Hidden,
		Aliases: d.Aliases, Examples: d.Examples, Translations: d.Translations, Body: d.Body, Channels: d.Channels,
	}
}

// hold notes the closers of a new entry and retires those that left the table.
func (p *Publisher) hold(before *catalogForm, e *Entry) {
	after := closers(e)
	for _, c := range after {
		if p.open[c] == nil {
			p.open[c] = &lease{}
		}
	}
	if before == nil {
		return
	}
	for _, c := range closers(before.entry) {
		if !slices.Contains(after, c) {
			p.retire(c, p.open[c])
			delete(p.open, c)
		}
	}
}

// closers returns the skills of an entry that must be closed. Nil has none.
func closers(e *Entry) (list []io.Closer) {
	if e == nil {
		return nil
	}
	if c, ok := e.Skill.(io.Closer); ok && isPointer(e.Skill) && e.State != Removed {
		list = append(list, c)
	}
	for _, other := range e.Shadows {
		list = append(list, closers(other)...)
	}
	return list
}

// retire closes a skill when no turn holds it anymore.
func (p *Publisher) retire(c io.Closer, l *lease) {
	wait := retirement
	if p.retired++; p.retired > maxRetired {
		wait = 0
	}
	p.working.Go(func() {
		defer panics.Log(p.config.Log, "closing a replaced skill")
		sleep.For(p.ctx, wait)
		l.end()
		if err := c.Close(); err != nil {
			p.config.Log.Warn("closing a replaced skill", "error", err)
		}
		p.mu.Lock()
		p.retired--
		p.mu.Unlock()
	})
}

// lease returns the lease of a skill that must be closed; others share none.
func (p *Publisher) lease(s Skill) *lease {
	if c, ok := s.(io.Closer); ok && isPointer(s) {
		return p.open[c]
	}
	return &lease{}
}

func isPointer(v any) bool { return reflect.TypeOf(v).Kind() == reflect.Pointer }

// sameValue reports whether two values are the same pointer.
func sameValue(a, b any) bool { return isPointer(a) && isPointer(b) && a == b }
