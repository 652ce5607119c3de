// Package protect protects certain names in a workspace from the programs that may write
// it: files that other programs of the user trust (the hooks of git, the settings of
// editors, .envrc) and files that configure etui (etui.yaml, skills).
//
// Where the sandbox can seal an existing name, as in mode strong, it cannot be changed at
// all. All other names are compared with their earlier state when a program has ended:
// changed files are restored, and new ones are moved to etui-aside-N-NAME at the top of
// the workspace. Nothing is lost, and [Guard.End] reports what was done. Until then
// [Guard.Steady] keeps etui from reading what such a program may just have written.
//
// The guard covers the names at the top of the workspace and the repositories in its
// first folders; see docs/sandbox.md.
package protect

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/etui-run/etui/sandbox"

	"github.com/etui-run/etui/internal/filestamp"
)

// Names are the names that programs outside of etui trust, in a workspace and in the
// folders below: their content is run when the user opens or uses the folder. A slash at
// the end includes everything below.
func Names() []string {
	return append([]string{
		".git", ".git/hooks/", ".git/config", ".git/config.worktree", ".git/modules/", ".git/worktrees/", ".git/info/attributes", ".git/commondir",
	}, settings...)
}

// settings are the names that do not belong to a repository.
var settings = []string{".vscode/", ".idea/", ".cursor/", ".devcontainer/", ".husky/", ".mcp.json", ".envrc"}

// Config says what to protect.
type Config struct {
	// Dir is the workspace, as an absolute path.
	Dir string
	// Names are further files and folders, as absolute paths: etui's configuration.
	// They need not exist. The guard ignores names outside of Dir.
	Names []string
	// Own are files and folders that etui itself writes, such as its state. In Dir they
	// can be sealed but not restored: if they cannot be sealed, no program runs.
	Own []string
	// Mode is the mode of the sandbox.
	Mode sandbox.Mode
	// Log reports everything that was restored or moved aside. Nil discards.
	Log *slog.Logger
}

// Guard protects the names of a workspace. It is safe for concurrent use.
type Guard struct {
	dirs   []string // the workspace: as configured, and without links
	root   *os.Root
	names  []string // below the workspace, with slashes
	own    []string
	mode   sandbox.Mode
	log    *slog.Logger
	search search

	mu      sync.Mutex
	running int         // programs
	begun   uint64      // programs, ever
	made    fs.FileInfo // the repository of the workspace, if a command has made it
	before  *state      // the state to keep; nil if no program runs and all is restored
}

// state is the state of the names of a workspace.
type state struct {
	entries map[string]*entry
	folders map[string]*entry // the parents of names, without their content
	gits    map[string]fs.FileInfo
	bare    bool // the workspace itself is a repository
}

// New returns a guard.
func New(c Config) (*Guard, error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	g := &Guard{dirs: []string{filepath.Clean(c.Dir)}, root: root, mode: c.Mode, log: c.Log}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if plain, err := filepath.EvalSymlinks(c.Dir); err == nil && plain != g.dirs[0] {
		g.dirs = append(g.dirs, plain)
	}
	for _, name := range settings {
		g.names = append(g.names, strings.TrimSuffix(name, "/"))
	}
	g.names, g.own = append(g.names, g.inside(c.Names)...), g.inside(c.Own)
	return g, nil
}

// Close closes the workspace.
func (g *Guard) Close() error { return g.root.Close() }

// inside returns the paths that are in the workspace, as names.
func (g *Guard) inside(paths []string) (names []string) {
	for _, p := range paths {
		if name, ok := g.name(p); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (g *Guard) name(abs string) (string, bool) {
	for _, dir := range g.dirs {
		if below, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(below) {
			return filepath.ToSlash(below), true
		}
	}
	return "", false
}

// Begin must be called before starting a program that may write the workspace. It returns
// the names that the sandbox seals, as absolute paths. The caller calls [Guard.End] when
// the program has ended or could not be started, but not after an error of Begin.
func (g *Guard) Begin() (seal []string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.there(); err != nil {
		return nil, err
	}
	if g.running == 0 && g.before != nil { // not everything could be restored the last time
		if _, err := g.settle(); err != nil {
			return nil, err
		}
	}
	if g.before == nil {
		before, err := g.look()
		if err != nil {
			return nil, err
		}
		g.before = before
	}
	if seal, err = g.toSeal(); err != nil {
		if g.running == 0 {
			g.before = nil
		}
		return nil, err
	}
	g.running++
	g.begun++
	return seal, nil
}

// there checks that the workspace is still the same folder. If it is inside another
// agent's workspace, a command of that agent may have replaced it.
func (g *Guard) there() error {
	was, err := g.root.Stat(".")
	if err != nil {
		return fmt.Errorf("checking the workspace: %w", err)
	}
	if now, err := os.Stat(g.dirs[0]); err != nil || !os.SameFile(was, now) {
		return fmt.Errorf("the workspace %s was replaced since etui started; put it back, or restart etui", g.dirs[0])
	}
	return nil
}

// toSeal returns the names that the sandbox seals for a program.
func (g *Guard) toSeal() (paths []string, err error) {
	for _, name := range append(g.own, g.names...) {
		switch e := g.before.entries[name]; {
		case g.mode == sandbox.Strong && e != nil && e.sealed:
		case name == "." || slices.Contains(g.own, name) && e != nil:
			return nil, fmt.Errorf("%s is in the workspace, and in mode %s of the sandbox commands could change it. Set state (or skills.dir) in etui.yaml to a folder outside of the workspace", g.path(name), g.mode)
		}
	}
	if g.mode == sandbox.Seatbelt { // it can seal missing names, too
		for _, name := range slices.Sorted(maps.Keys(g.before.entries)) {
			paths = append(paths, g.path(name))
		}
		return paths, nil
	}
	for _, name := range slices.Sorted(maps.Keys(g.before.entries)) {
		if e := g.before.entries[name]; e != nil && e.sealed {
			paths = append(paths, g.path(name))
		}
	}
	return paths, nil
}

func (g *Guard) path(name string) string { return filepath.Join(g.dirs[0], filepath.FromSlash(name)) }

// End must be called when a program and its children have ended. It restores the names
// and returns a sentence for each change. It also reverts changes of programs that still
// run.
func (g *Guard) End() (done []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	done, err := g.settle()
	if err != nil {
		g.log.Error("protected names could not be put back; no command runs until they are", "workspace", g.dirs[0], "error", err)
		done = append(done, fmt.Sprintf("Not everything could be restored: %v.", err))
	}
	return done
}

// settle restores the names. If that succeeds and no program runs, the next Begin records
// the state anew.
func (g *Guard) settle() ([]string, error) {
	r := repair{guard: g}
	r.all()
	for _, what := range r.done {
		g.log.Warn("a command touched a protected name", "workspace", g.dirs[0], "done", what)
	}
	err := errors.Join(r.errs...)
	if err == nil && g.running == 0 {
		g.before = nil
	}
	return r.done, err
}

// Steady reports whether etui may read a path: no program that could have written it is
// running. The returned function reports whether none has run since.
func (g *Guard) Steady(abs string) (still func() bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name, ok := g.name(abs)
	if !ok {
		return func() bool { return true }
	}
	steady, begun := g.steady(name), g.begun
	first := g.sealable(name)
	return func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !steady || begun == g.begun {
			return steady
		}
		// Programs that began later found the name there and had it sealed.
		now := g.sealable(name)
		return first != nil && now != nil && filestamp.Of(first) == filestamp.Of(now)
	}
}

func (g *Guard) steady(name string) bool {
	if g.before == nil {
		return true
	}
	was := g.before.entries[name]
	now := g.sealable(name)
	return was != nil && was.sealed && now != nil && os.SameFile(was.info, now)
}

// sealable returns the entry of a name if the sandbox can seal it: a folder, or a file
// without other names, with no link among its parents.
func (g *Guard) sealable(name string) fs.FileInfo {
	if g.mode != sandbox.Strong {
		return nil
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if info, err := g.root.Lstat(folder); err != nil || !info.IsDir() {
			return nil
		}
	}
	info, err := g.root.Lstat(name)
	if err != nil || !info.IsDir() && (!info.Mode().IsRegular() || filestamp.Links(info) > 1) {
		return nil
	}
	return info
}

// look records the state of all names.
func (g *Guard) look() (*state, error) {
	s := &state{entries: map[string]*entry{}, folders: map[string]*entry{}, gits: map[string]fs.FileInfo{}, bare: isBare(g.root)}
	r := reading{root: g.root}
	for _, name := range slices.Concat(g.names, g.own) {
		s.entries[name] = g.enter(&r, name, true)
	}
	s.entries[".git"] = nil
	for _, git := range g.search.repositories(g.root, g.dirs[0]) {
		g.enterGit(s, &r, git)
	}
	for name := range s.entries {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if _, known := s.folders[folder]; !known {
				s.folders[folder] = r.shallow(folder)
			}
		}
	}
	return s, r.err
}

// enterGit records a .git. Only the workspace's own is sealed, unless a command made it:
// commands may set up a new repository.
func (g *Guard) enterGit(s *state, r *reading, git string) {
	info, err := g.root.Lstat(git)
	if err != nil || !info.IsDir() {
		s.entries[git] = g.enter(r, git, git == ".git")
		return
	}
	delete(s.entries, git)
	seal := git == ".git" && (g.made == nil || !os.SameFile(g.made, info))
	for _, f := range gitFolders(g.root, git) {
		if s.gits[f.name], err = g.root.Lstat(f.name); err != nil {
			delete(s.gits, f.name)
			continue
		}
		for _, name := range f.names() {
			s.entries[name] = g.enter(r, name, seal && f.name == git)
		}
	}
}

// enter records the entry of a name. It keeps no content of a sealed folder, which cannot
// change.
func (g *Guard) enter(r *reading, name string, seal bool) *entry {
	if info := g.sealable(name); seal && info != nil {
		e := &entry{info: info, sealed: true}
		if info.Mode().IsRegular() {
			e = r.shallow(name)
			e.sealed = true
		}
		return e
	}
	if slices.Contains(g.own, name) {
		return r.shallow(name)
	}
	return r.deep(name)
}
