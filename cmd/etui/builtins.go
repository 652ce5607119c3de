package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/internal/builtin"
	"github.com/etui-run/etui/internal/builtin/shell"
	"github.com/etui-run/etui/internal/builtin/web"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/protect"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/tool"
)

// webTime is how long a page or a search may take.
const webTime = 30 * time.Second

// addBuiltin registers the tools that etui brings. Agents with a workspace of their
// own have the same tools, at work there.
func (b *built) addBuiltin(registry *catalog.Registry, w *workspace, log *slog.Logger) error {
	hosts, err := shellHosts(w.config.Sandbox, b.programs)
	if err != nil {
		b.warnings = append(b.warnings, err)
	}
	tools, err := b.toolsIn(w, w.dir, hosts, log)
	if err != nil {
		return err
	}
	own := map[string][]tool.Tool{}
	// Who works in the same folder has the same tools: one guard is to know of all that
	// runs there.
	in := map[string][]tool.Tool{realFolder(w.dir): tools}
	for _, a := range w.config.Agents {
		if a.Workspace == "" {
			continue
		}
		dir := config.Abs(w.file, a.Workspace)
		list, ok := in[realFolder(dir)]
		if !ok {
			if list, err = b.toolsIn(w, dir, hosts, log); err != nil {
				return usagef("%s: the workspace of the agent %s: %w", w.file, a.Name, err)
			}
			in[realFolder(dir)] = list
		}
		own[a.Name] = slices.Clone(list)
	}
	for i, t := range tools {
		if len(own) > 0 {
			tools[i] = byAgent{t, pick(own, i)}
		}
	}
	if err := registry.Register(tools...); err != nil {
		return err
	}
	return addWeb(registry, w)
}

// realFolder is a folder's path without links, as far as it can be told.
func realFolder(dir string) string {
	if place, err := filepath.EvalSymlinks(dir); err == nil {
		return place
	}
	return filepath.Clean(dir)
}

// toolsIn are the tools that work in a folder, those that run commands where the
// sandbox runs any; these reach hosts.
func (b *built) toolsIn(w *workspace, dir string, hosts []string, log *slog.Logger) ([]tool.Tool, error) {
	files, err := builtin.Open(builtin.FilesConfig{Dir: dir, Protected: append(trusted(w, dir), protected(w)...), ReadOnly: skillFolders(w)})
	if err != nil {
		return nil, err
	}
	b.close = append(b.close, files.Close)
	tools := builtin.Tools(&builtin.Clock{}, files)
	mode := b.programs.Mode()
	if mode == sandbox.None {
		return tools, nil
	}
	guard, err := protect.New(protect.Config{Dir: dir, Names: trusted(w, dir), Own: []string{w.state}, Mode: mode, Log: log})
	if err != nil {
		return nil, err
	}
	b.guards = append(b.guards, guard)
	s := shell.New(shell.Config{Sandbox: b.programs, Dir: dir, ReadOnly: outside(dir, skillFolders(w)), Guard: guard, Network: hosts})
	b.close = append(b.close, guard.Close, s.Close)
	return append(tools, s.Registered()...), nil
}

// trusted are the files and folders that etui is told by: those of the workspace, and
// those that a folder would have if etui were started in it.
func trusted(w *workspace, dir string) []string {
	list := append(skillFolders(w), w.file, filepath.Join(dir, config.File))
	for _, name := range workspaceFolders {
		list = append(list, filepath.Join(dir, name))
	}
	return list
}

// byAgent is a tool that works elsewhere for some agents.
type byAgent struct {
	tool.Tool
	own map[string]tool.Tool
}

// Call implements [tool.Tool].
func (t byAgent) Call(ctx context.Context, args json.RawMessage) (chat.Result, error) {
	if own, ok := t.own[tool.Caller(ctx).Agent]; ok {
		return own.Call(ctx, args)
	}
	return t.Tool.Call(ctx, args)
}

// pick takes from every list the tool at a place.
func pick(lists map[string][]tool.Tool, i int) map[string]tool.Tool {
	tools := make(map[string]tool.Tool, len(lists))
	for name, list := range lists {
		tools[name] = list[i]
	}
	return tools
}

// outside are the paths that do not lie in a folder.
func outside(dir string, paths []string) (list []string) {
	for _, path := range paths {
		if below, err := filepath.Rel(dir, path); err != nil || !filepath.IsLocal(below) {
			list = append(list, path)
		}
	}
	return list
}

// steady says whether what stands at a path can be taken up: see [protect.Guard.Steady].
func (b *built) steady(path string) (still func() bool) {
	all := make([]func() bool, len(b.guards))
	for i, g := range b.guards {
		all[i] = g.Steady(path)
	}
	return func() bool {
		return !slices.ContainsFunc(all, func(still func() bool) bool { return !still() })
	}
}

// addWeb registers the tools that read the web. web_search is there when a service
// can be asked.
func addWeb(registry *catalog.Registry, w *workspace) error {
	c := w.config.Tools
	out, err := egress.New(egress.Config{Allow: c.Local, Own: w.ports, Key: "tools.local"})
	if err != nil {
		return usagef("%s: tools.local: %w", w.file, err)
	}
	own, err := egress.New(egress.Config{Allow: hostOf(c.Search.SearXNG), Own: w.ports, Key: "tools.search.searxng"})
	if err == nil && c.Search.SearXNG != "" {
		_, err = egress.ParseURL(c.Search.SearXNG)
	}
	if err != nil {
		return usagef("%s: tools.search.searxng: %w", w.file, err)
	}
	limits := egress.Limits{Time: webTime}
	search := web.NewSearcher(web.SearchConfig{
		Perplexity: string(c.Search.Perplexity), Brave: string(c.Search.Brave), SearXNG: c.Search.SearXNG, DuckDuckGo: c.Search.DuckDuckGo,
		Client: out.Client(limits), Own: own.Client(limits),
	})
	if err := web.Register(registry, &web.Fetcher{Client: out.Client(limits)}, search); err != nil {
		return fmt.Errorf("web tools: %w", err)
	}
	return nil
}

// allBuiltin are all tools that etui brings, wherever they work or not: for their
// definitions.
func allBuiltin() []tool.Tool {
	return slices.Concat(builtin.Tools(&builtin.Clock{}, &builtin.Files{}), web.Tools(&web.Fetcher{}, &web.Searcher{}), shell.Tools(&shell.Shell{}),
		hub.Tools(&hub.Finder{}, &hub.Installer{}))
}
