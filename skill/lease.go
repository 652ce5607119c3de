package skill

import (
	"context"
	"encoding/json"
	"errors"
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

// run runs a use of the skill, which what describes, where the observer sees it. A panic is
// ErrExecutionFailed.
func (g gate) run(ctx context.Context, what string, f func(context.Context) error) error {
	guarded := func(ctx context.Context) error {
		if _, err := g.table.Get(g.use.Skill); err != nil {
			return err
		}
		return g.lease.use(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					_ = panics.Report(g.config.Log, what, p) // it is logged
					err = fmt.Errorf("%s: %w unexpectedly", what, ErrExecutionFailed)
				}
			}()
			return f(ctx)
		})
	}
	if g.config.Observe == nil {
		return guarded(ctx)
	}
	return g.config.Observe(ctx, g.use, guarded)
}

func (g gate) tool(t tool.Tool) tool.Tool { return &gatedTool{t, g} }

// gatedTool is a tool behind a gate.
type gatedTool struct {
	tool.Tool
	gate gate
}

func (t *gatedTool) Call(ctx context.Context, args json.RawMessage) (result chat.Result, err error) {
	g := t.gate
	g.use.Tool, g.use.Arguments = t.Definition().Name, args
	err = g.run(ctx, "running "+g.use.Tool, func(ctx context.Context) (err error) {
		if result, err = t.Tool.Call(ctx, args); err == nil && result.Failed {
			return errResult
		}
		return err
	})
	if errors.Is(err, errResult) {
		err = nil
	}
	return result, err
}

// guide is a skill's instructions behind a gate.
type guide struct {
	gate  gate
	skill Guide
}

// Read implements [catalog.Guide].
func (g *guide) Read(ctx context.Context, file string) (text string, err error) {
	by := g.gate
	if by.use.Arguments, err = json.Marshal(map[string]string{"file": file}); err != nil {
		return "", err
	}
	err = by.run(ctx, "reading the skill "+g.skill.Name(), func(ctx context.Context) (err error) {
		text, err = g.skill.Read(ctx, file)
		return err
	})
	return text, err
}
