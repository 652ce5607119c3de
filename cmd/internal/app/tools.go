package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/builtin"
	"github.com/etui-run/etui/cmd/internal/builtin/memories"
	"github.com/etui-run/etui/cmd/internal/builtin/shell"
	"github.com/etui-run/etui/cmd/internal/builtin/web"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/enrich"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/tool"
)

// webTime is how long a page or a search may take.
const webTime = 30 * time.Second

// toolbox is what the tools of the workspace work with.
type toolbox struct {
	programs *sandbox.Sandbox          // runs programs
	readable []string                  // the folders of tools.read
	guards   []*protect.Guard          // protect names in the workspaces that programs may write
	memory   memories.Keeper           // gives the tools the engine's memory
	texts    *enrich.Keeper            // keeps what was written about tools up to date
	channels *channel.Host             // where messages go
	received map[string]*builtin.Files // by folder: what keeps the files that people send
	// demoElsewhere reports that another program has the known address of the demo's service.
	demoElsewhere bool
}

// addTools registers the tools that etui brings and those of the demo.
func (a *App) addTools(ctx context.Context) error {
	if a.Workspace.Config.Tools.Builtin {
		if err := a.addBuiltin(); err != nil {
			return err
		}
	}
	if !a.Workspace.Config.Demo {
		return nil
	}
	tools, stop, err := a.startDemo(ctx)
	if err != nil {
		return err
	}
	a.close = append(a.close, stop)
	return a.Config.Registry.Register(tools...)
}

// DemoAddress is where the skills of the demo's workspace call its service.
const DemoAddress = "127.0.0.1:8081"

// startDemo starts the demo's service. If another program has taken the service's
// address, the demo's skills call that program, and its tools the service.
func (a *App) startDemo(ctx context.Context) (tools []tool.Tool, stop func() error, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", DemoAddress)
	if err != nil {
		a.tools.demoElsewhere = true
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("starting the demo's service: %w", err)
	}
	server := &http.Server{Handler: demo.Lazy(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_ = panics.Try(a.settings.Log, "serving the demo", func() error { return server.Serve(listener) })
	}() // it ends with server.Close
	return demo.Tools("http://"+listener.Addr().String(), &http.Client{Timeout: 30 * time.Second}), server.Close, nil
}

// addBuiltin registers the tools that etui brings. For agents with a workspace of their
// own the same tools work there.
func (a *App) addBuiltin() error {
	w := a.Workspace
	hosts, err := shellHosts(w.Config.Sandbox, a.tools.programs)
	if err != nil {
		a.Warnings = append(a.Warnings, err)
	}
	if err := w.CheckSkillFolders(); err != nil {
		return err
	}
	if a.tools.readable, err = w.ReadFolders(); err != nil {
		return err
	}
	a.tools.received = map[string]*builtin.Files{}
	tools, err := a.toolsIn(w.Dir, hosts)
	if err != nil {
		return err
	}
	own := map[string][]tool.Tool{}
	// Agents that work in the same folder share its tools, so that one guard knows of
	// every command that runs there.
	in := map[string][]tool.Tool{folder.Real(w.Dir): tools}
	for _, agent := range w.Config.Agents {
		if agent.Workspace == "" {
			continue
		}
		dir := config.Abs(w.File, agent.Workspace)
		list, ok := in[folder.Real(dir)]
		if !ok {
			if list, err = a.toolsIn(dir, hosts); err != nil {
				return w.Mistakef("the workspace of the agent %s: %w", agent.Name, err)
			}
			in[folder.Real(dir)] = list
		}
		own[agent.Name] = slices.Clone(list)
	}
	for i, t := range tools {
		if len(own) > 0 {
			tools[i] = byAgent{t, pick(own, i)}
		}
	}
	if err := a.Config.Registry.Register(append(tools, memories.Tools(&a.tools.memory)...)...); err != nil {
		return err
	}
	if err := a.Config.Registry.Register(askUser(),
		schedule.Tool(func() *schedule.Tasks { return schedule.NewTasks(a.Engine) })); err != nil {
		return err
	}
	if err := a.addSpawn(); err != nil {
		return err
	}
	return addWeb(a.Config.Registry, w)
}

// toolsIn returns the tools that work in a folder. Tools that run commands, which reach
// hosts, are among them only if the sandbox runs programs.
func (a *App) toolsIn(dir string, hosts []string) ([]tool.Tool, error) {
	w := a.Workspace
	inner, err := w.InnerFolders(dir)
	if err != nil {
		return nil, err
	}
	disorder, err := w.Disorder(dir)
	if err != nil {
		return nil, err
	}
	files, err := builtin.Open(builtin.FilesConfig{
		Dir: dir, Protected: slices.Concat(w.TrustedPaths(dir), w.SkillFolders(), []string{w.File, w.State}, inner,
			w.States()), Hidden: workdir.Secrets(w),
		ReadOnly: slices.Concat(a.tools.readable, w.SkillFolders()), Told: a.tools.readable,
		Redact: func(text string) string { return a.settings.Secrets.Redactor().Text(text) },
	})
	if err != nil {
		return nil, err
	}
	a.close = append(a.close, files.Close)
	a.tools.received[folder.Real(dir)] = files
	tools := files.Registered(&builtin.Clock{})
	if len(w.Config.Channels) > 0 {
		tools = append(tools, files.SendFile())
	}
	mode := a.tools.programs.Mode()
	if mode == sandbox.None {
		return tools, nil
	}
	guard, err := protect.New(protect.Config{
		Dir: dir, Names: w.TrustedPaths(dir), Own: slices.Concat(inner, w.States(), w.LinksFrom(dir)),
		Hidden: workdir.Secrets(w), Mode: mode,
		KeepNew: w.Config.Sandbox.KeepNew, Disorder: disorder, Journal: folder.Real(filepath.Dir(disorder)),
		Log: a.settings.Log,
	})
	if err != nil {
		return nil, err
	}
	a.tools.guards = append(a.tools.guards, guard)
	outside := slices.DeleteFunc(w.SkillFolders(), func(path string) bool { return folder.Within(dir, path) })
	s := shell.New(shell.Config{Sandbox: a.tools.programs, Dir: dir, ReadOnly: append(outside, a.tools.readable...),
		Told: a.tools.readable, Guard: guard, Network: hosts})
	a.close = append(a.close, guard.Close, s.Close)
	return append(tools, s.Registered()...), nil
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

// Normalize implements [tool.Normalizer].
func (t byAgent) Normalize(ctx context.Context, args json.RawMessage) json.RawMessage {
	to := t.Tool
	if own, ok := t.own[tool.Caller(ctx).Agent]; ok {
		to = own
	}
	if n, ok := to.(tool.Normalizer); ok {
		return n.Normalize(ctx, args)
	}
	return args
}

// pick returns the tool at index i of every list.
func pick(lists map[string][]tool.Tool, i int) map[string]tool.Tool {
	tools := make(map[string]tool.Tool, len(lists))
	for name, list := range lists {
		tools[name] = list[i]
	}
	return tools
}

// steady reports whether the file at a path can be used: see [protect.Guard.Steady] and ours.
func (t *toolbox) steady(path string) (still func() bool) {
	all := make([]func() bool, len(t.guards))
	for i, g := range t.guards {
		all[i] = g.Steady(path)
	}
	return func() bool {
		return workdir.Ours(path) == nil && !slices.ContainsFunc(all, func(still func() bool) bool { return !still() })
	}
}

// before returns what a file keeps when the running programs have ended: see
// [protect.Guard.Before].
func (t *toolbox) before(path string) (text []byte, known bool) {
	for _, g := range t.guards {
		if text, known = g.Before(path); known {
			break
		}
	}
	return text, known
}

// addWeb registers the tools that read the web. web_search exists only if a search
// service is configured.
func addWeb(registry *catalog.Registry, w *workdir.Workspace) error {
	c := w.Config.Tools
	out, err := egress.New(egress.Config{Allow: c.Local, Own: w.Ports, Key: "tools.local"})
	if err != nil {
		return w.Mistakef("tools.local: %w", err)
	}
	own, err := egress.New(egress.Config{Allow: egress.HostOf(c.Search.SearXNG), Own: w.Ports,
		Key: "tools.search.searxng"})
	if err == nil && c.Search.SearXNG != "" {
		_, err = egress.ParseURL(c.Search.SearXNG)
	}
	if err != nil {
		return w.Mistakef("tools.search.searxng: %w", err)
	}
	limits := egress.Limits{Time: webTime}
	search := web.NewSearcher(web.SearchConfig{
		Perplexity: string(c.Search.Perplexity), Brave: string(c.Search.Brave), SearXNG: c.Search.SearXNG,
		DuckDuckGo: c.Search.DuckDuckGo,
		Client:     out.Client(limits), Own: own.Client(limits),
	})
	if err := web.Register(registry, &web.Fetcher{Client: out.Client(limits)}, search); err != nil {
		return fmt.Errorf("web tools: %w", err)
	}
	return nil
}

// disk returns the files of a folder as conditions of workflows read them: as the file
// tools do. A folder that does not exist has none.
func (a *App) disk(dir string) (fs.FS, error) {
	files, err := builtin.Open(builtin.FilesConfig{Dir: dir})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.close = append(a.close, files.Close)
	return files.Disk(), nil
}
