package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/builtin"
	"github.com/etui-run/etui/internal/builtin/shell"
	"github.com/etui-run/etui/internal/builtin/web"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/sandbox"
	"github.com/etui-run/etui/skill/install"
	"github.com/etui-run/etui/tool"
)

// webTime is how long a page or a search may take.
const webTime = 30 * time.Second

// addBuiltin registers the tools that etui brings.
func (b *built) addBuiltin(registry *catalog.Registry, w *workspace) error {
	files, err := builtin.Open(builtin.FilesConfig{Dir: w.dir, Protected: protected(w), ReadOnly: skillFolders(w)})
	if err != nil {
		return err
	}
	b.close = append(b.close, files.Close)
	if err := builtin.Register(registry, &builtin.Clock{}, files); err != nil {
		return err
	}
	if err := b.addShell(registry, w); err != nil {
		return err
	}
	return addWeb(registry, w)
}

// addShell registers the tools that run commands, where the sandbox runs any.
func (b *built) addShell(registry *catalog.Registry, w *workspace) error {
	if mode := b.programs.Mode(); mode == sandbox.None {
		return nil
	}
	s := shell.New(shell.Config{Sandbox: b.programs, Dir: w.dir, ReadOnly: readOnly(w)})
	b.close = append(b.close, s.Close)
	return shell.Register(registry, s)
}

// readOnly is what commands may read but not change: what is protected in the
// workspace, and the folders of skills.
func readOnly(w *workspace) []string {
	list := builtin.Control(w.dir)
	for _, path := range protected(w) {
		if below, err := filepath.Rel(w.dir, path); err == nil && filepath.IsLocal(below) && below != "." {
			list = append(list, path)
		}
	}
	return append(list, skillFolders(w)...)
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
		install.Tools(&install.Finder{}, &install.Installer{}))
}
