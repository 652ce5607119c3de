package skill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// PublishConfig says how skills are published. The zero value is enough.
type PublishConfig struct {
	// Observe stands around every use of a skill; nil means that nobody watches.
	Observe ObserveFunc
	// Idle says not to run servers: their tools are what they know without.
	Idle bool
	// Log takes what operators want to know; nil discards.
	Log *slog.Logger
}

const (
	// retirement is how long a skill that was replaced stays open for the turns that
	// hold it: longer than turns take. Of more than maxRetired at once the next ones
	// are closed as soon as no call of them runs.
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
	ctx      context.Context //nolint:containedctx // ends with Close; it is that of the servers and of what is retired
	cancel   context.CancelFunc
	working  sync.WaitGroup // servers, and skills that are being closed

	mu       sync.Mutex // guards what follows
	snapshot *Snapshot
	shown    map[string]*shown  // by name: what is enabled
	stopped  map[string]*server // by name: a server that may not have ended yet
	open     map[io.Closer]*lease
	retired  int
	told     map[string]bool // what was left out and logged
	closed   bool
}

// Publish puts what is enabled in a table into a catalog, now and after every
// change, until the publisher is closed. The catalog is up to date when the change
// of the table returns.
//
// A callable skill becomes a tool, of the source "skill". A skill with
// instructions, and one that names tools, becomes one that can be taken up. The
// tools of a [Server] become tools, and the server the toolset of them; it runs
// while it is enabled. What is not enabled is known to the catalog with the reason.
// Nothing replaces a tool or toolset that the program has.
//
// What a turn holds goes on as it was when its skill is replaced, and fails with
// ErrDisabled or ErrNotFound when it is disabled or removed. A skill that is an
// [io.Closer] is closed when the table holds it no more: once its running calls
// have ended, and some minutes later, for the turns that still hold it. Closers are
// pointers. The tools of a server that is replaced fail with
// ErrProviderUnavailable once its running calls have ended: two of one server do
// not run side by side.
func Publish(t *Table, r *catalog.Registry, cfg PublishConfig) *Publisher {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	p := &Publisher{table: t, registry: r, config: cfg, shown: map[string]*shown{}, stopped: map[string]*server{}, told: map[string]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	t.Watch(func(s *Snapshot) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.snapshot = s
		p.publish()
	})
	return p
}

// Close takes the skills out of the catalog, ends the servers and closes what is to
// be closed. It waits for running calls: who makes them cancels them first.
func (p *Publisher) Close() error {
	p.mu.Lock()
	p.closed = true
	p.registry.Supply(Source, catalog.Supply{})
	p.cancel()
	for _, s := range p.shown {
		p.stop(s)
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
	p.hold()
	before := p.shown
	p.shown = make(map[string]*shown, len(before))
	var supply, servers catalog.Supply
	for _, e := range p.snapshot.All() {
		switch {
		case e.State == Removed:
			continue
		case e.State != Enabled:
			supply.Unavailable = append(supply.Unavailable, catalog.Unavailable{Name: e.Name(), Reason: reasonOf(e)})
			continue
		case !listable(e.Name()):
			supply.Unavailable = append(supply.Unavailable, catalog.Unavailable{Name: e.Name(), Reason: "its name has characters that are not shown, commas or colons, or is longer than 100 characters"})
			continue
		}
		s := before[e.Name()]
		if s == nil || s.entry != e && !sameValue(s.entry.Skill, e.Skill) {
			if s != nil {
				p.stop(s)
			}
			s = p.show(e)
			if old := p.stopped[e.Name()]; old != nil { // it is no server any more
				old.cancel()
			}
		}
		delete(before, e.Name())
		p.shown[e.Name()] = s
		switch {
		case s.server != nil:
			s.server.supply(&servers)
		case s.tool != nil:
			supply.Tools = append(supply.Tools, s.tool)
		}
		if s.toolset != nil {
			supply.Toolsets = append(supply.Toolsets, *s.toolset)
		}
	}
	for _, s := range before {
		p.stop(s)
	}
	supply.Tools = append(supply.Tools, servers.Tools...)
	supply.Toolsets = append(supply.Toolsets, servers.Toolsets...)
	p.tell(p.registry.Supply(Source, supply))
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

// listable reports whether a name can stand in a list of names as it is.
func listable(name string) bool {
	return len([]rune(name)) <= 100 && listed(name, 100) == name && !strings.ContainsAny(name, ",:")
}

// tell logs what the catalog left out, each thing once while it stays so.
func (p *Publisher) tell(leftOut []error) {
	told := make(map[string]bool, len(leftOut))
	for _, err := range leftOut {
		if told[err.Error()] = true; !p.told[err.Error()] {
			p.config.Log.Warn("skills: " + err.Error())
		}
	}
	p.told = told
}

// shown is what an enabled skill is in the catalog.
type shown struct {
	entry   *Entry
	tool    tool.Tool        // nil when it is not callable
	toolset *catalog.Toolset // nil when it cannot be taken up
	server  *server          // nil when it brings no tools
}

// show makes of a skill what is put into the catalog.
func (p *Publisher) show(e *Entry) *shown {
	s := &shown{entry: e}
	g := gate{p, UseOf(e), p.lease(e.Skill)}
	switch skill := e.Skill.(type) {
	case Server:
		s.server = p.serve(skill, g)
		return s
	case Guide:
		s.toolset = toolsetOf(e)
		s.toolset.Guide = &guide{g, skill}
		return s
	}
	if e.Details.Tools != nil {
		s.toolset = toolsetOf(e)
	}
	if KindOf(e.Skill) != "toolset" {
		s.tool = g.tool(AsTool(e.Skill))
	}
	return s
}

// toolsetOf is what a skill says of itself to those who take it up. It comes from
// outside: the description is brought into one line.
func toolsetOf(e *Entry) *catalog.Toolset {
	d := e.Details
	return &catalog.Toolset{
		Name: e.Name(), Description: listed(e.Skill.Description(), maxListed), Tools: d.Tools, Manual: d.Hidden,
		Aliases: d.Aliases, Examples: d.Examples, Translations: d.Translations, Body: d.Body, Channels: d.Channels,
	}
}

// listed brings a text into one line of at most so many characters, without
// those that are not shown.
func listed(text string, length int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > length {
		text = string(runes[:length-1]) + "…"
	}
	return text
}

// stop ends what a skill does in the background, now that nobody may use it. Of one
// that is replaced the running calls end first: see serve.
func (p *Publisher) stop(s *shown) {
	if s.server == nil {
		return
	}
	p.stopped[s.entry.Name()] = s.server
	if e, ok := p.snapshot.Get(s.entry.Name()); p.closed || !ok || e.State != Enabled {
		s.server.cancel()
	}
}

// hold finds the skills that the table holds and that want to be closed, and closes
// those that it held and holds no more.
func (p *Publisher) hold() {
	held := map[io.Closer]*lease{}
	keep := func(e *Entry) {
		if c, ok := e.Skill.(io.Closer); ok && isPointer(e.Skill) && e.State != Removed {
			if held[c] = p.open[c]; held[c] == nil {
				held[c] = &lease{}
			}
		}
	}
	for _, e := range p.snapshot.All() {
		keep(e)
		for _, other := range e.Shadows {
			keep(other)
		}
	}
	before := p.open
	p.open = held
	for c, l := range before {
		if held[c] == nil {
			p.retire(c, l)
		}
	}
}

// retire closes a skill when no turn holds it any more.
func (p *Publisher) retire(c io.Closer, l *lease) {
	wait := retirement
	if p.retired++; p.retired > maxRetired {
		wait = 0
	}
	p.working.Go(func() {
		select {
		case <-p.ctx.Done():
		case <-time.After(wait):
		}
		l.end()
		if err := c.Close(); err != nil {
			p.config.Log.Warn("closing a skill that was replaced", "error", err)
		}
		p.mu.Lock()
		p.retired--
		p.mu.Unlock()
	})
}

// lease returns who uses a skill, if it is to be closed; a new one when it is not.
func (p *Publisher) lease(s Skill) *lease {
	if c, ok := s.(io.Closer); ok && isPointer(s) {
		return p.open[c]
	}
	return &lease{}
}

// lease knows the running uses of a skill.
type lease struct {
	using sync.RWMutex
	ended bool
}

func (l *lease) use(f func() error) error {
	l.using.RLock()
	defer l.using.RUnlock()
	if l.ended {
		return fmt.Errorf("%w: it has been replaced meanwhile", ErrProviderUnavailable)
	}
	return f()
}

// end waits for the running uses and lets no other one begin.
func (l *lease) end() {
	l.using.Lock()
	defer l.using.Unlock()
	l.ended = true
}

// gate stands before a skill's uses: the skill may still be used, is not closed, and
// who watches is told.
type gate struct {
	*Publisher
	use   Use
	lease *lease
}

// pass runs a use of the skill.
func (g gate) pass(f func() error) error {
	if _, err := g.table.Get(g.use.Skill); err != nil {
		return err
	}
	return g.lease.use(f)
}

func (g gate) tool(t tool.Tool) tool.Tool {
	return Observed(&gated{t, g}, g.use, g.config.Observe)
}

// gated is a tool behind a gate.
type gated struct {
	tool.Tool
	gate gate
}

func (t *gated) Call(ctx context.Context, args json.RawMessage) (result chat.Result, err error) {
	err = t.gate.pass(func() (err error) {
		result, err = t.Tool.Call(ctx, args)
		return err
	})
	return result, err
}

// guide is a skill's instructions behind a gate.
type guide struct {
	gate  gate
	skill Guide
}

// Read implements [catalog.Guide].
func (g *guide) Read(ctx context.Context, file string) (text string, err error) {
	read := func(ctx context.Context) error {
		return g.gate.pass(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("reading the skill %s: %w unexpectedly", g.skill.Name(), ErrExecutionFailed)
				}
			}()
			text, err = g.skill.Read(ctx, file)
			return err
		})
	}
	if g.gate.config.Observe == nil {
		err = read(ctx)
		return text, err
	}
	use := g.gate.use
	if use.Arguments, err = json.Marshal(map[string]string{"file": file}); err != nil {
		return "", err
	}
	err = g.gate.config.Observe(ctx, use, read)
	return text, err
}

// server runs a Server.
type server struct {
	skill  Server
	gate   gate
	ended  chan struct{} // Run has returned
	cancel context.CancelFunc
	tools  map[string]brought // by name: those that are in the catalog
}

// brought is a tool of a server and what it is in the catalog.
type brought struct{ own, shown tool.Tool }

// serve runs a server until it is stopped. One that it replaces has ended before.
func (p *Publisher) serve(s Server, g gate) *server {
	before := p.stopped[s.Name()]
	delete(p.stopped, s.Name())
	ctx, cancel := context.WithCancel(p.ctx)
	v := &server{skill: s, gate: g, cancel: cancel, ended: make(chan struct{})}
	p.working.Go(func() {
		defer close(v.ended)
		defer cancel()
		if before != nil {
			if before.gate.lease != g.lease {
				before.gate.lease.end()
			}
			before.cancel()
			<-before.ended
		}
		defer func() {
			if r := recover(); r != nil {
				p.config.Log.Error("a server failed unexpectedly", "skill", s.Name(), "panic", r)
			}
		}()
		if ctx.Err() == nil && !p.config.Idle {
			s.Run(ctx, func() { p.changed(v) })
		}
	})
	return v
}

// changed publishes the tools of a server that have changed.
func (p *Publisher) changed(v *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.shown[v.skill.Name()]; s != nil && s.server == v {
		p.publish()
	}
}

// supply adds the server's tools, and the server as the toolset of them while it has
// any.
func (v *server) supply(to *catalog.Supply) {
	e := v.gate.snapshot.byName[v.skill.Name()]
	before := v.tools
	v.tools = map[string]brought{}
	set := toolsetOf(e)
	set.Tools = nil
	for _, t := range v.skill.Tools() {
		name := t.Definition().Name
		b := before[name]
		if b.own == nil || !sameValue(b.own, t) {
			b = brought{t, v.gate.tool(t)}
		}
		v.tools[name] = b
		to.Tools, set.Tools = append(to.Tools, b.shown), append(set.Tools, name)
	}
	if len(set.Tools) > 0 {
		to.Toolsets = append(to.Toolsets, *set)
	}
}

func isPointer(v any) bool { return reflect.TypeOf(v).Kind() == reflect.Pointer }

// sameValue reports whether two values are one. Only pointers are told apart.
func sameValue(a, b any) bool { return isPointer(a) && isPointer(b) && a == b }
