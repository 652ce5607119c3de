package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/internal/builtin"
	"github.com/etui-run/etui/internal/builtin/memories"
	"github.com/etui-run/etui/internal/builtin/shell"
	"github.com/etui-run/etui/internal/builtin/web"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/protect"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/tool"
)

// webTime is how long a page or a search may take.
const webTime = 30 * time.Second

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
	return a.registry.Register(tools...)
}

// DemoAddress is where the skills of the demo's workspace call its service.
const DemoAddress = "127.0.0.1:8081"

// startDemo starts the demo's service. If another program has taken the service's
// address, the demo's skills call that program, and its tools the service.
func (a *App) startDemo(ctx context.Context) (tools []tool.Tool, stop func() error, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", DemoAddress)
	if err != nil {
		a.DemoElsewhere = true
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("starting the demo's service: %w", err)
	}
	server := &http.Server{Handler: demo.Lazy(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = panics.Try(a.log, "serving the demo", func() error { return server.Serve(listener) }) }() // it ends with server.Close
	return demo.Tools("http://"+listener.Addr().String(), &http.Client{Timeout: 30 * time.Second}), server.Close, nil
}

// addBuiltin registers the tools that etui brings. For agents with a workspace of their
// own the same tools work there.
func (a *App) addBuiltin() error {
	w := a.Workspace
	hosts, err := shellHosts(w.Config.Sandbox, a.programs)
	if err != nil {
		a.Warnings = append(a.Warnings, err)
	}
	if err := checkSkillFolders(w); err != nil {
		return err
	}
	if a.readable, err = readFolders(w); err != nil {
		return err
	}
	tools, err := a.toolsIn(w.Dir, hosts)
	if err != nil {
		return err
	}
	own := map[string][]tool.Tool{}
	// Agents that work in the same folder share its tools, so that one guard knows of
	// every command that runs there.
	in := map[string][]tool.Tool{realFolder(w.Dir): tools}
	for _, agent := range w.Config.Agents {
		if agent.Workspace == "" {
			continue
		}
		dir := config.Abs(w.File, agent.Workspace)
		list, ok := in[realFolder(dir)]
		if !ok {
			if list, err = a.toolsIn(dir, hosts); err != nil {
				return w.wrongf("the workspace of the agent %s: %w", agent.Name, err)
			}
			in[realFolder(dir)] = list
		}
		own[agent.Name] = slices.Clone(list)
	}
	for i, t := range tools {
		if len(own) > 0 {
			tools[i] = byAgent{t, pick(own, i)}
		}
	}
	if err := a.registry.Register(append(tools, memories.Tools(&a.keeper)...)...); err != nil {
		return err
	}
	if err := a.registry.Register(askUser(), schedule.Tool(func() *schedule.Tasks { return schedule.NewTasks(a.Engine) })); err != nil {
		return err
	}
	if err := a.addSpawn(); err != nil {
		return err
	}
	return addWeb(a.registry, w)
}

// realFolder returns where a folder is, with links resolved. What is missing at its end stays as
// it is named.
func realFolder(dir string) string {
	for at, below := filepath.Clean(dir), ""; ; {
		if place, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(place, below)
		}
		if at == filepath.Dir(at) {
			return filepath.Clean(dir)
		}
		at, below = filepath.Dir(at), filepath.Join(filepath.Base(at), below)
	}
}

// toolsIn returns the tools that work in a folder. Tools that run commands, which reach
// hosts, are among them only if the sandbox runs programs.
func (a *App) toolsIn(dir string, hosts []string) ([]tool.Tool, error) {
	w := a.Workspace
	inner, err := innerFolders(w, dir)
	if err != nil {
		return nil, err
	}
	disorder, err := w.disorder(dir)
	if err != nil {
		return nil, err
	}
	files, err := builtin.Open(builtin.FilesConfig{
		Dir: dir, Protected: slices.Concat(trusted(w, dir), protected(w), inner, w.states()), Hidden: w.states(),
		ReadOnly: slices.Concat(a.readable, skillFolders(w)), Told: a.readable,
		Redact: func(text string) string { return a.secrets.Redactor().Text(text) },
	})
	if err != nil {
		return nil, err
	}
	a.close = append(a.close, files.Close)
	tools := files.Registered(&builtin.Clock{})
	if len(w.Config.Channels) > 0 {
		tools = append(tools, files.SendFile())
	}
	mode := a.programs.Mode()
	if mode == sandbox.None {
		return tools, nil
	}
	guard, err := protect.New(protect.Config{
		Dir: dir, Names: trusted(w, dir), Own: slices.Concat(inner, w.states(), w.linksFrom(dir)), Hidden: w.states(), Mode: mode,
		KeepNew: w.Config.Sandbox.KeepNew, Disorder: disorder, Journal: realFolder(filepath.Dir(disorder)), Log: a.log,
	})
	if err != nil {
		return nil, err
	}
	a.guards = append(a.guards, guard)
	outside := slices.DeleteFunc(skillFolders(w), func(path string) bool { return within(dir, path) })
	s := shell.New(shell.Config{Sandbox: a.programs, Dir: dir, ReadOnly: append(outside, a.readable...), Told: a.readable, Guard: guard, Network: hosts})
	a.close = append(a.close, guard.Close, s.Close)
	return append(tools, s.Registered()...), nil
}

// checkSkillFolders refuses folders of skills that hold the state or the user's home folder: tools
// and commands read everything in a folder of skills.
func checkSkillFolders(w *Workspace) error {
	closed := w.states()
	if home, err := os.UserHomeDir(); err == nil {
		closed = append(closed, home)
	}
	for _, dir := range skillFolders(w) {
		for _, path := range closed {
			if within(realFolder(dir), realFolder(path)) {
				return w.wrongf("skills: tools read the folder %s with everything in it, and it holds %s; name a folder that has only skills", dir, path)
			}
		}
	}
	return nil
}

// maxReadable is the number of folders of tools.read: descriptions of tools name them all.
const maxReadable = 10

// readFolders returns the folders of tools.read. The error joins a [config.Error] for
// each that is missing or that tools may not read.
func readFolders(w *Workspace) (folders []string, err error) {
	var wrong []error
	for _, n := range w.Config.Names {
		if n.Kind != config.Folder {
			continue
		}
		dir, err := readFolder(w, n.Text)
		if err == nil && len(folders) == maxReadable {
			err = fmt.Errorf("%d folders are the most", maxReadable)
		}
		if err != nil {
			wrong = append(wrong, config.Error{File: n.Place.File, Line: n.Place.Line, Column: n.Place.Column, Message: n.Where + ": " + err.Error()})
			continue
		}
		folders = append(folders, dir)
	}
	return folders, errors.Join(wrong...)
}

// readFolder resolves a folder of tools.read, which must exist.
func readFolder(w *Workspace, dir string) (string, error) {
	if !strings.HasPrefix(dir, "~/") {
		dir = config.Abs(w.File, dir)
	}
	if within(w.Dir, dir) {
		return "", fmt.Errorf("%s is in the workspace, where tools read anyway", dir)
	}
	resolved, err := sandbox.Folders([]string{dir}, w.closed())
	if err != nil {
		return "", err
	}
	dir = resolved[0]
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var beside []string
		entries, _ := os.ReadDir(filepath.Dir(dir)) // without them there is no hint
		for _, e := range entries {
			if e.IsDir() {
				beside = append(beside, e.Name())
			}
		}
		return "", fmt.Errorf("there is no folder %s%s", dir, nearest.Hint(filepath.Base(dir), slices.Values(beside)))
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s is no folder", dir)
	}
	return dir, err
}

// innerFolders returns the folders directly in a workspace that hold the workspaces of
// other agents. Tools of the outer one must not put another folder in their place.
func innerFolders(w *Workspace, dir string) (list []string, err error) {
	dir = realFolder(dir)
	for _, other := range workspaces(w) {
		below, err := filepath.Rel(dir, realFolder(other))
		if err != nil {
			return nil, err
		}
		if below != "." && filepath.IsLocal(below) {
			first, _, _ := strings.Cut(filepath.ToSlash(below), "/")
			list = append(list, filepath.Join(dir, first))
		}
	}
	return list, nil
}

// trusted returns the files and folders that configure etui, and the memory that all
// conversations read: those of the workspace, and those that a folder would have if etui were started in it.
func trusted(w *Workspace, dir string) []string {
	list := append(skillFolders(w), w.File, filepath.Join(dir, config.File), filepath.Join(dir, "memory"), filepath.Join(dir, config.FlowFolder))
	for _, name := range workspaceFolders {
		list = append(list, filepath.Join(dir, name))
	}
	for _, c := range confirmedIn(dir) { // etui reads these without a question
		list = append(list, c.File, filepath.Join(c.Dir, config.FlowFolder))
		for _, name := range workspaceFolders {
			list = append(list, filepath.Join(c.Dir, name))
		}
	}
	if folder, err := confirmations(); err == nil {
		list = append(list, folder)
	}
	list = append(list, named(w)...)
	for _, path := range list { // etui follows links
		if plain := realFolder(path); plain != filepath.Clean(path) {
			list = append(list, plain)
		}
	}
	return list
}

// named returns the files and folders that the configuration names, and that etui trusts as
// it does the configuration: local registries, root certificates, scripts of models and
// workflows, and what a heartbeat says with the rights of a person.
func named(w *Workspace) (list []string) {
	c := w.Config
	for _, r := range c.Skills.Registries {
		if r.Type == "folder" && r.URL != "" {
			list = append(list, config.Abs(w.File, r.URL))
		}
		for _, file := range r.Roots {
			list = append(list, config.Abs(w.File, file))
		}
	}
	for _, m := range c.Models {
		if m.Script != "" {
			list = append(list, config.Abs(w.File, m.Script))
		}
	}
	for _, f := range append([]config.Flow{{Script: c.Workflow.Script, Place: c.Workflow.Place}}, c.Workflows...) {
		if f.Script != "" {
			list = append(list, config.Abs(f.Place.File, f.Script))
		}
	}
	if h := c.Heartbeat; h.Interval != 0 && h.User != "" {
		dir, _ := w.heartbeatFolder() // the heartbeat says what is wrong
		list = append(list, filepath.Join(dir, heartbeatFile))
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
func (a *App) steady(path string) (still func() bool) {
	all := make([]func() bool, len(a.guards))
	for i, g := range a.guards {
		all[i] = g.Steady(path)
	}
	return func() bool {
		return ours(path) == nil && !slices.ContainsFunc(all, func(still func() bool) bool { return !still() })
	}
}

// before returns what a file keeps when the running programs have ended: see
// [protect.Guard.Before].
func (a *App) before(path string) (text []byte, known bool) {
	for _, g := range a.guards {
		if text, known = g.Before(path); known {
			break
		}
	}
	return text, known
}

// addWeb registers the tools that read the web. web_search exists only if a search
// service is configured.
func addWeb(registry *catalog.Registry, w *Workspace) error {
	c := w.Config.Tools
	out, err := egress.New(egress.Config{Allow: c.Local, Own: w.ports, Key: "tools.local"})
	if err != nil {
		return w.wrongf("tools.local: %w", err)
	}
	own, err := egress.New(egress.Config{Allow: hostOf(c.Search.SearXNG), Own: w.ports, Key: "tools.search.searxng"})
	if err == nil && c.Search.SearXNG != "" {
		_, err = egress.ParseURL(c.Search.SearXNG)
	}
	if err != nil {
		return w.wrongf("tools.search.searxng: %w", err)
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

// Builtin returns every tool that etui brings, for its definition: most of them do
// not work.
func Builtin() []tool.Tool {
	return slices.Concat(builtin.Tools(&builtin.Clock{}, &builtin.Files{}), web.Tools(&web.Fetcher{}, &web.Searcher{}), shell.Tools(&shell.Shell{}),
		memories.Tools(&memories.Keeper{}), hub.Tools(&hub.Finder{}, &hub.Installer{}))
}
