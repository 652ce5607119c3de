package skill

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/tool"
)

// lease counts the running uses of a skill.
type lease struct {
	mu      sync.Mutex
	running int
	ended   chan struct{} // closed after the last use; nil while uses may begin
}

func (l *lease) use(f func() error) error {
	l.mu.Lock()
	if l.ended != nil {
		l.mu.Unlock()
		return fmt.Errorf("%w: it has been replaced", ErrProviderUnavailable)
	}
	l.running++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running--; l.running == 0 && l.ended != nil {
			close(l.ended)
		}
	}()
	return f()
}

// end lets no more uses begin and waits for the running ones.
func (l *lease) end() {
	l.mu.Lock()
	if l.ended == nil {
		if l.ended = make(chan struct{}); l.running == 0 {
			close(l.ended)
		}
	}
	l.mu.Unlock()
	<-l.ended
}

// gate guards the uses of a skill: the skill must be enabled and open, and the
// observer sees each use.
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
	return withObserver(&gated{t, g}, g.use, g.config)
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
					_ = panics.Report(g.gate.config.Log, "reading the skill "+g.skill.Name(), p) // it is logged
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
