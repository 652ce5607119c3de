// Package protect protects a workspace from the programs that may write it: files that
// other programs of the user trust (repositories, the settings of editors, .envrc) and
// files that configure etui (etui.yaml, skills).
//
// One rule decides: what a program leaves at a protected name is what was there before it.
// Where the sandbox can seal an existing name, as in mode strong, it cannot be changed at
// all. All other names are compared with their earlier state when a program has ended:
// changed files are restored, new ones are moved to a folder etui-aside-… at the top of the
// workspace, and a new repository loses its HEAD. [Guard.End] reports what was done. Until
// then [Guard.Steady] keeps etui from reading what such a program may just have written.
//
// The guard searches all folders of the workspace; see docs/sandbox.md.
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
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/etui-run/etui/sandbox"

	"github.com/etui-run/etui/internal/filestamp"
)

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
	// Hidden are those of Own that programs do not see either.
	Hidden []string
	// KeepNew leaves new repositories and new files that other programs trust where a
	// program put them. Files that existed before are restored all the same.
	KeepNew bool
	// Disorder is a file outside of the workspace that exists while something could not be
	// restored, and holds the reason; empty means that none is written.
	Disorder string
	// Journal is a folder outside of the workspace, where the guard keeps what [Recover]
	// needs after a crash: that programs run, and how the names looked before. Empty means
	// that nothing is restored then.
	Journal string
	// Mode is the mode of the sandbox.
	Mode sandbox.Mode
	// Log reports everything that was restored or moved aside. Nil discards.
	Log *slog.Logger `json:"-"`
}

// Guard protects the names of a workspace. It is safe for concurrent use.
type Guard struct {
	config Config
	dirs   []string // the workspace: as configured, and without links
	root   *os.Root
	folder *os.File // the workspace, which a program may close
	names  []string // below the workspace, with slashes
	own    []string
	log    *slog.Logger
	search search

	mu       sync.Mutex
	journal  journal
	running  int    // programs
	begun    uint64 // programs, ever
	before   *state // the state to keep; nil if no program runs and all is restored
	disorder bool   // the file says so
}

// state is the state of the names of a workspace.
type state struct {
	Mode    fs.FileMode        // of the workspace
	Folder  filestamp.Identity // of the workspace
	Entries map[string]*entry
	Folders map[string]*entry // the parents of names, without their content
	Repos   map[string]*entry // the folders of repositories, without their content
}

// New returns a guard.
func New(c Config) (*Guard, error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	folder, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the workspace: %w", err), root.Close())
	}
	g := &Guard{config: c, dirs: []string{filepath.Clean(c.Dir)}, root: root, folder: folder, log: c.Log}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if plain := plainPath(c.Dir); plain != g.dirs[0] {
		g.dirs = append(g.dirs, plain)
	}
	g.names, g.own = g.inside(c.Names), g.inside(c.Own)
	g.journal = journal{under: c.Journal, name: filepath.Base(g.dirs[len(g.dirs)-1])}
	return g, nil
}

// Folder returns the workspace, open until Close, for [sandbox.Command]: a command gets the
// folder that the guard looks after, also if another program puts one in its place.
func (g *Guard) Folder() *os.File { return g.folder }

// Hold returns a file for [sandbox.Command], by which Recover knows that a program of a
// process that has ended still runs. It is nil before Begin, and without a journal.
func (g *Guard) Hold() *os.File {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.journal.held
}

// Kept returns the protected files and folders that exist, as absolute paths, for
// [sandbox.Command]: programs never get them. It is empty while no program runs.
func (g *Guard) Kept() (paths []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.before == nil {
		return nil
	}
	for name, e := range g.before.Entries {
		if e != nil {
			paths = append(paths, g.path(name))
		}
	}
	return paths
}

// Hidden returns the files and folders of Config.Hidden that exist in the workspace, as
// absolute paths, for [sandbox.Command]. It is empty while no program runs.
func (g *Guard) Hidden() (paths []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := g.inside(g.config.Hidden)
	for _, name := range names {
		inner := slices.ContainsFunc(names, func(outer string) bool { return strings.HasPrefix(name, outer+"/") })
		if g.before != nil && g.before.Entries[name] != nil && !inner {
			paths = append(paths, g.path(name))
		}
	}
	return paths
}

// Close closes the workspace. No program may run.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.folder.Close(), g.root.Close(), g.journal.close())
}

// plainPath returns a path without links, or its clean path if they cannot be resolved.
func plainPath(path string) string {
	if plain, err := filepath.EvalSymlinks(path); err == nil {
		return plain
	}
	return filepath.Clean(path)
}

// inside returns the paths that are in the workspace, as names.
func (g *Guard) inside(paths []string) (names []string) {
	for _, p := range paths {
		if name, ok := g.name(p); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (g *Guard) name(abs string) (string, bool) { return nameIn(g.dirs, abs) }

// nameIn returns the name of a path below one of the paths of a folder.
func nameIn(dirs []string, abs string) (string, bool) {
	for _, dir := range dirs {
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
	if g.running == 0 {
		if err := g.record(); err != nil {
			g.before = nil
			return nil, err
		}
	}
	g.running++
	g.begun++
	return seal, nil
}

// record writes into the journal that programs run. Without that, none does.
func (g *Guard) record() error {
	if _, inside := g.name(g.config.Journal); inside && g.config.Journal != "" {
		return fmt.Errorf("what etui keeps for the case of a crash would be in the workspace, in %s. Set the variable ETUI_STATE to a folder outside of the workspace", g.config.Journal)
	}
	if err := g.journal.begin(g.config, g.before); err != nil {
		return fmt.Errorf("keeping how the protected names look, for the case of a crash: %w. If etui cannot write there, set the variable ETUI_STATE to another folder outside of the workspace", err)
	}
	return nil
}

// toSeal returns the names that the sandbox seals for a program.
func (g *Guard) toSeal() (paths []string, err error) {
	for _, name := range append(g.own, g.names...) {
		switch e := g.before.Entries[name]; {
		case g.config.Mode == sandbox.Strong && e != nil && e.Sealed:
		case name == "." || slices.Contains(g.own, name) && e != nil:
			return nil, fmt.Errorf("%s is in the workspace, and in mode %s of the sandbox commands could change it. Set state, skills.dir or the workspace of the other agent in etui.yaml to a folder outside of the workspace", g.path(name), g.config.Mode)
		}
	}
	if g.config.Mode == sandbox.Seatbelt { // it can seal missing names, too
		for _, name := range slices.Sorted(maps.Keys(g.before.Entries)) {
			paths = append(paths, g.path(name))
		}
		return paths, nil
	}
	for _, name := range slices.Sorted(maps.Keys(g.before.Entries)) {
		if e := g.before.Entries[name]; e != nil && e.Sealed {
			paths = append(paths, g.path(name))
		}
	}
	return paths, nil
}

// held returns a path to the workspace that leads to the folder that is open, where the
// system has such paths.
func (g *Guard) held() string {
	if runtime.GOOS == "linux" {
		return fmt.Sprintf("/proc/self/fd/%d", g.folder.Fd())
	}
	return g.dirs[0]
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
		g.log.Error("protected names could not be put back; no command runs until they are", "workspace", g.dirs[0],
			"error", err)
		done = append(done, fmt.Sprintf("Not everything could be restored: %v.", err))
	}
	return done
}

// settle restores the names. If that succeeds and no program runs, the next Begin records
// the state anew. If it fails, the file Disorder says so until it succeeds.
func (g *Guard) settle() ([]string, error) {
	g.accept()
	r := repair{guard: g, found: map[string]*entry{}}
	r.all()
	for _, what := range r.done {
		g.log.Warn("a command touched a protected name", "workspace", g.dirs[0], "done", what)
	}
	err := errors.Join(r.errs...)
	if len(r.done) > 0 && g.config.Journal != "" {
		err = errors.Join(err, syncAll(g.folder)) // before the journal says that all is in order
	}
	if err == nil && g.running == 0 {
		g.before = nil
		err = g.journal.end()
	}
	return r.done, errors.Join(err, g.persist(err))
}

// persist writes or removes the file Disorder.
func (g *Guard) persist(disorder error) error {
	switch {
	case g.config.Disorder == "":
	case disorder != nil:
		g.disorder = true
		if err := os.MkdirAll(filepath.Dir(g.config.Disorder), 0o700); err != nil {
			return err
		}
		return os.WriteFile(g.config.Disorder, []byte(disorder.Error()+"\n"), 0o600)
	case g.disorder:
		g.disorder = false
		return os.Remove(g.config.Disorder)
	}
	return nil
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
	first := g.firm(name)
	return func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !steady || begun == g.begun {
			return steady
		}
		// Programs that began later found the name there and had it sealed.
		now := g.firm(name)
		return first != nil && now != nil && filestamp.Of(first) == filestamp.Of(now)
	}
}

func (g *Guard) steady(name string) bool {
	if g.before == nil {
		return true
	}
	was := g.before.Entries[name]
	now := g.firm(name)
	return was != nil && was.Sealed && now != nil && was.is(now)
}

// firm returns the entry of a name if nothing in it can change while it is sealed.
func (g *Guard) firm(name string) fs.FileInfo {
	info := g.sealable(name)
	if info == nil || !info.IsDir() {
		return info
	}
	if r := (reading{root: g.root}); len(r.linked(name)) > 0 || r.err != nil {
		return nil
	}
	return info
}

// sealable returns the entry of a name if the sandbox can seal it: a folder, or a file
// without other names, with no link among its parents.
func (g *Guard) sealable(name string) fs.FileInfo {
	if g.config.Mode != sandbox.Strong {
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
	found, err := g.search.find(g.root, g.held())
	if err != nil {
		return nil, err
	}
	info, err := g.folder.Stat()
	if err != nil {
		return nil, err
	}
	s := &state{Mode: info.Mode(), Folder: filestamp.IdentityOf(info), Entries: map[string]*entry{},
		Folders: map[string]*entry{}, Repos: map[string]*entry{}}
	r := reading{root: g.root}
	for _, name := range found.marks {
		s.Entries[name] = g.enter(&r, name, path.Dir(name) == ".")
	}
	for repo, info := range found.repos {
		s.Repos[repo] = entryOf(info)
		for _, name := range controls(repo) {
			s.Entries[name] = g.enter(&r, name, repo == ".git")
			s.Folders[path.Dir(name)] = r.shallow(path.Dir(name))
		}
	}
	for _, name := range slices.Concat(g.names, g.own) {
		s.Entries[name] = g.enter(&r, name, true)
		for _, folder := range parents(name) {
			s.Folders[folder] = r.shallow(folder)
		}
	}
	delete(s.Folders, ".")
	return s, r.err
}

// enter records the entry of a name. Of a sealed folder it keeps only what can change.
func (g *Guard) enter(r *reading, name string, seal bool) *entry {
	if info := g.sealable(name); seal && info != nil {
		e := entryOf(info)
		switch {
		case info.Mode().IsRegular():
			e = r.shallow(name)
		case !slices.Contains(g.own, name):
			e.List = r.linked(name)
		}
		if e != nil {
			e.Sealed = true
		}
		return e
	}
	if slices.Contains(g.own, name) {
		return r.shallow(name)
	}
	return r.deep(name)
}
