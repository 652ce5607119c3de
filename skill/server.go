package skill

import (
	"context"
	"maps"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/tool"
)

// server runs a Server.
type server struct {
	skill  Server
	gate   gate
	ended  chan struct{} // Run has returned
	cancel context.CancelFunc

	// The publisher's lock guards what follows.
	stopped bool               // it is out of the catalog
	tools   map[string]brought // in the catalog, by name
}

// brought is a server's tool and its form in the catalog.
type brought struct{ own, shown tool.Tool }

// serve runs a server until it is stopped, after the one that it replaces has ended.
func (p *Publisher) serve(s Server, g gate) *server {
	before := p.stopped[s.Name()]
	delete(p.stopped, s.Name())
	ctx, cancel := context.WithCancel(p.ctx)
	v := &server{skill: s, gate: g, cancel: cancel, ended: make(chan struct{})}
	p.working.Go(func() {
		defer p.forget(v)
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
				_ = panics.Report(p.config.Log, "running the server of the skill "+s.Name(), r) // it is logged
			}
		}()
		if ctx.Err() == nil && !p.config.Idle {
			s.Run(ctx, func() { p.changed(v) })
		}
	})
	return v
}

// forget drops an ended server.
func (p *Publisher) forget(v *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name := v.skill.Name(); p.stopped[name] == v {
		delete(p.stopped, name)
	}
}

// Settle waits until the servers that left the catalog have ended, or until ctx ends.
func (p *Publisher) Settle(ctx context.Context) {
	p.mu.Lock()
	stopped := slices.Collect(maps.Values(p.stopped))
	p.mu.Unlock()
	for _, v := range stopped {
		select {
		case <-v.ended:
		case <-ctx.Done():
		}
	}
}

// changed publishes the changed tools of a server.
func (p *Publisher) changed(v *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !v.stopped {
		p.publish()
	}
}

// stop ends a skill's server: now, or when its successor has waited for the running
// calls, see serve.
func (p *Publisher) stop(s *catalogForm, now bool) {
	if s == nil || s.server == nil {
		return
	}
	s.server.stopped = true
	p.stopped[s.entry.Name()] = s.server
	if now {
		s.server.cancel()
	}
}

// supply adds the server's tools, and the server as their toolset if there are any.
func (v *server) supply(e *Entry, to *catalog.Supply) {
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
	if len(set.Tools) == 0 {
		to.Unavailable = append(to.Unavailable,
			catalog.Unavailable{Name: set.Name, Reason: "its server offers no tools now"})
		return
	}
	to.Skills = append(to.Skills, *set)
}
