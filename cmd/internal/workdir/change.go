package workdir

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/enrich"
)

// Change is a change of a workspace that is tried and not kept. The zero value changes
// nothing.
type Change struct {
	// File is another configuration; empty keeps the workspace's.
	File string
	// Rules are more rules of visibility, as etui.yaml has them, on one line each.
	Rules []string
	// Limit and Budget are how many tools and tokens a selection has; 0 keeps them.
	Limit, Budget int
	// Texts is the file with texts about tools; empty keeps the workspace's.
	Texts string
}

// Empty reports whether c changes nothing.
func (c Change) Empty() bool {
	return c.File == "" && len(c.Rules) == 0 && c.Limit == 0 && c.Budget == 0 && c.Texts == ""
}

// With returns the workspace with a change. A change that cannot be made is a
// [config.UsageError].
func (w *Workspace) With(c Change) (*Workspace, error) {
	changed := *w
	if c.File != "" {
		other, err := w.As(c.File)
		if err != nil {
			return nil, err
		}
		changed = *other
	}
	if c.Limit < 0 || c.Budget < 0 {
		return nil, config.Usagef("--limit and --budget are numbers of tools and tokens above zero")
	}
	settings := *changed.Config
	if c.Limit > 0 {
		settings.Selection.Limit = c.Limit
	}
	if c.Budget > 0 {
		settings.Selection.Budget = c.Budget
	}
	for _, rule := range c.Rules {
		if strings.ContainsAny(rule, "\r\n") {
			return nil, config.Usagef(`--rule: write a rule on one line: '{deny: [db_*], when: "channel == \"web\""}'`)
		}
		parsed, err := config.Parse("--rule", []byte("visibility:\n  rules:\n    - "+rule+"\n"), nil)
		if err != nil {
			return nil, config.UsageError{Err: err}
		}
		settings.Visibility.Rules = append(slices.Clone(settings.Visibility.Rules), parsed.Visibility.Rules...)
	}
	changed.Config = &settings
	if c.Texts != "" {
		file, err := filepath.Abs(c.Texts)
		if err == nil {
			_, err = os.Stat(file) // a missing file reads like an empty one
		}
		if err == nil {
			_, err = enrich.Open(file).Read()
		}
		if err != nil {
			return nil, config.Usagef("--enriched: %w; etui tools enrich writes such a file", err)
		}
		changed.texts = file
	}
	return &changed, nil
}

// Texts is the file with what models and people wrote about tools.
func (w *Workspace) Texts() string {
	return cmp.Or(w.texts, filepath.Join(w.State, "enriched.jsonl"))
}
