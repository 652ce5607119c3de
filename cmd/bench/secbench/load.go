package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/skill"
	skillhttp "github.com/etui-run/etui/skill/http"
	"github.com/etui-run/etui/skill/markdown"
	"github.com/etui-run/etui/tool"
)

// benchSkills are the skills of a bench's workspace.
type benchSkills struct {
	table  *skill.Table
	loader *skill.Loader
	seen   *benchProvider
}

// newBenchSkills sets up what loads the skills of a folder. env is looked at
// before the environment, and out says what skills may reach.
func newBenchSkills(workspace, dir string, env map[string]string, out egress.Config) (*benchSkills, error) {
	guard, err := egress.New(out)
	if err != nil {
		return nil, err
	}
	provider, err := skillhttp.New(skillhttp.Config{Transport: guard})
	if err != nil {
		return nil, err
	}
	reserved := nameset.Reserved()
	b := &benchSkills{table: skill.NewTable(nil),
		seen: &benchProvider{Provider: provider, configs: map[string]skill.Config{}}}
	b.loader = skill.NewLoader(b.table, skill.LoaderConfig{
		Roots:     []skill.Root{{Dir: dir, Scope: skill.Workspace, Within: workspace}},
		Providers: []skill.Provider{b.seen},
		Package:   markdown.LocalMachine().Load,
		Reserved:  func(name string) bool { return slices.Contains(reserved, name) },
		Variables: skill.Variables{Lookup: func(name string) (string, bool) {
			if value, ok := env[name]; ok {
				return value, true
			}
			return os.LookupEnv(name)
		}},
	})
	return b, nil
}

// benchProvider remembers the configurations that it receives.
type benchProvider struct {
	skill.Provider
	mu      sync.Mutex
	configs map[string]skill.Config
}

func (p *benchProvider) config(name string) skill.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.configs[name]
}

// Load makes a skill.
func (p *benchProvider) Load(c skill.Config) (skill.Skill, error) {
	s, err := p.Provider.Load(c)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.configs[c.Name] = c
	}
	return s, err
}

type loadRequest struct {
	Workspace string            `json:"workspace"`
	Dir       string            `json:"skills_dir"`
	Env       map[string]string `json:"env"`
}

// benchLoad loads a folder of skills once.
func benchLoad(ctx context.Context, request loadRequest) (map[string]any, error) {
	b, err := newBenchSkills(request.Workspace, request.Dir, request.Env, egress.Config{})
	if err != nil {
		return nil, err
	}
	report := b.loader.Load(ctx)
	errs, details := []map[string]any{}, map[string]any{}
	for _, p := range report.Problems {
		errs = append(errs, map[string]any{"file": filepath.Base(p.File), "line": p.Line, "field": p.Field,
			"error": p.Error()})
	}
	for _, s := range b.table.ListEnabled() {
		details[s.Name()] = b.describe(s)
	}
	return map[string]any{"loaded": report.Loaded, "errors": errs, "details": details}, nil
}

// describe returns the values of a skill that are in effect.
func (b *benchSkills) describe(s skill.Skill) map[string]any {
	d, c := skill.DetailsOf(s), b.seen.config(s.Name())
	return map[string]any{
		"name": s.Name(), "description": s.Description(), "provider": d.Provider, "risk_level": d.Risk,
		"version": d.Version,
		"timeout": c.Timeout.Seconds(), "endpoint": c.Endpoint,
		"replay":     cmp.Or(c.Replay, map[tool.Risk]tool.Replay{tool.Read: tool.Safe}[c.RiskLevel], tool.Never),
		"parameters": s.Parameters(),
	}
}
