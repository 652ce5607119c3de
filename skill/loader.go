package skill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
)

// Root is a folder of skills: *.yaml and *.yml files in it, and folders with a
// SKILL.md in it or up to three folders deeper. Names that begin with a dot are
// ignored. The folder may appear later.
type Root struct {
	// Dir is the folder, as messages name it. A relative one is below Within.
	Dir string
	// Scope is the scope of its skills.
	Scope Scope
	// Within is the folder that must contain Dir and the targets of all links in it.
	// Empty means Dir itself.
	Within string
}

// abs returns the folder as an absolute path, links not resolved.
func (r Root) abs() string {
	dir := r.Dir
	if r.Within != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(r.Within, dir)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// LoaderConfig says what a [Loader] loads and how.
type LoaderConfig struct {
	Roots     []Root
	Providers []Provider
	// Package makes the skill of a folder with a SKILL.md, given the folder, which is
	// closed afterwards, its name and the text of its SKILL.md. Nil leaves such folders out.
	Package func(dir *os.Root, name string, text []byte) (Skill, error)
	// Reserved reports the program's own names, which no skill may have. Nil means
	// none.
	Reserved func(name string) bool
	// Variables are the values for ${NAME} in YAML files.
	Variables Variables
	// Steady guards against reading a root while a program may change it: still
	// reports whether the folder was steady since the call of Steady. Otherwise the
	// root stays as it is until the next look. Nil means always steady.
	Steady func(dir string) (still func() bool)
	// Log takes the reasons why Run notices changes late. Nil discards.
	Log *slog.Logger
}

// The bounds of a root. If it exceeds one, its skills stay as they are.
const (
	maxFiles   = 20_000  // YAML files and folders
	maxNames   = 200_000 // names of any kind in it and its folders
	maxFolders = 3       // levels between a root and a package
	maxPackage = 1 << 20 // bytes of a SKILL.md
)

// Loader keeps a table up to date with folders of files. A file that cannot be used
// harms no other: its last good version stays in effect, with the problems beside
// it. Changes that are seen together are made in one step. A Loader is safe for
// concurrent use.
type Loader struct {
	table     *Table
	config    LoaderConfig
	providers map[string]Provider
	log       *slog.Logger

	pollOnly bool // does not watch the folders; for tests

	changing sync.Mutex // guards what follows
	roots    []*root
	enter    func(dir string) // called with every folder before it is read
}

// root is a Root and what is known of it. Problems of the root itself are in files
// under "".
type root struct {
	Root
	path  string           // the folder, as an absolute path
	real  string           // the same with links resolved, as of the last look
	files map[string]*file // by path below the root
}

// source returns the name of a file of the root in messages and in the table.
func (r *root) source(file string) string { return path.Join(filepath.ToSlash(r.Dir), file) }

// file is what a loader knows of a file. It is immutable.
type file struct {
	stamp    filestamp.Stamp
	sum      uint64          // of its text
	fresh    bool            // the file was read so soon after a change that the next one may have the same stamp
	module   string          // a second file that the skill is made of
	beside   filestamp.Stamp // of module
	names    []string
	unmet    bool
	problems Problems
}

// Report says what a loader found.
type Report struct {
	// Loaded are the names of the skills in the files, in order.
	Loaded []string `json:"loaded"`
	// Problems say why files cannot be used, by root and file.
	Problems []Problem `json:"problems"`
	// Changed is how many files were new, changed or gone.
	Changed int `json:"changed"`
}

// NewLoader returns a loader. It has read nothing yet.
func NewLoader(table *Table, c LoaderConfig) *Loader {
	l := &Loader{table: table, config: c, providers: map[string]Provider{}, log: c.Log}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	for _, p := range c.Providers {
		l.providers[p.Type()] = p
	}
	for _, r := range c.Roots {
		l.roots = append(l.roots, &root{Root: r, path: r.abs(), real: r.abs(), files: map[string]*file{}})
	}
	return l
}

// Load reads all files when it is called first, and later the changed ones.
func (l *Loader) Load(ctx context.Context) Report {
	return l.report(l.pass(ctx, l.table.As("loader", "start"), everything(l.roots), false))
}

// Reload reads all files; the log names who asked and why. A file that could not be
// used, or whose requirements were not met, is tried again even if it is unchanged.
func (l *Loader) Reload(ctx context.Context, who, why string) Report {
	return l.report(l.pass(ctx, l.table.As(who, why), everything(l.roots), true))
}

// work lists the roots to look at: as a whole (nil), or some of their files.
type work map[*root]map[string]bool

func everything(roots []*root) work {
	w := work{}
	for _, r := range roots {
		w[r] = nil
	}
	return w
}

// outcome is what a pass found about a file.
type outcome struct {
	root   *root
	path   string
	file   *file // nil if it is gone
	change *Change
}

// pass looks at some files, puts the changes into the table and returns their number.
// If ctx ends before it is done, nothing changes.
func (l *Loader) pass(ctx context.Context, a Actor, w work, again bool) int {
	l.changing.Lock()
	defer l.changing.Unlock()
	var all []outcome
	for _, r := range l.roots {
		files, ok := w[r]
		if !ok {
			continue
		}
		still := l.steady(r)
		if found := l.look(ctx, r, files, again); still() {
			all = append(all, found...)
		} else if again {
			l.log.WarnContext(ctx, "a folder of skills is not read: a running command may change it", "folder", r.Dir)
		}
	}
	if ctx.Err() != nil {
		return 0
	}
	var changes []Change
	for _, o := range all {
		if o.root.files[o.path] = o.file; o.file == nil {
			delete(o.root.files, o.path)
		}
		if o.change != nil {
			changes = append(changes, *o.change)
		}
	}
	if len(changes) > 0 {
		a.Replace(changes...)
	}
	return len(changes)
}

func (l *Loader) steady(r *root) (still func() bool) {
	if l.config.Steady == nil {
		return func() bool { return true }
	}
	return l.config.Steady(r.path)
}

func (l *Loader) report(changed int) Report {
	l.changing.Lock()
	defer l.changing.Unlock()
	r := Report{Loaded: []string{}, Problems: []Problem{}, Changed: changed}
	for _, root := range l.roots {
		for _, name := range slices.Sorted(maps.Keys(root.files)) {
			r.Loaded = append(r.Loaded, root.files[name].names...)
			r.Problems = append(r.Problems, root.files[name].problems...)
		}
	}
	slices.Sort(r.Loaded)
	r.Loaded = slices.Compact(r.Loaded)
	return r
}

// look finds the changes in a root, or in some of its files.
func (l *Loader) look(ctx context.Context, r *root, some map[string]bool, again bool) []outcome {
	dir, err := openTree(r.Root)
	var there []skillFile
	if some == nil && l.enter != nil {
		l.enter(filepath.Dir(r.path)) // where the folder may appear
	}
	if err == nil {
		defer dir.close()
		r.real = dir.dir()
		for _, other := range l.roots {
			real, _ := resolve(other.path) // one that does not exist holds nothing
			dir.skills = append(dir.skills, real)
		}
		if some == nil {
			there, err = dir.list(l.config.Package != nil, l.enter)
		}
	}
	for name := range some {
		if err == nil {
			there = append(there, dir.file(name))
		}
	}
	switch {
	case err == nil && some == nil:
		return append(l.gone(r, there), l.take(ctx, r, dir, there, again)...)
	case err == nil:
		return l.take(ctx, r, dir, there, again)
	case isGone(err):
		return l.gone(r, nil)
	}
	problem := Problem{File: r.source(""), Message: printable.OneLine(err.Error())}
	if known := r.files[""]; known != nil && known.problems[0] == problem {
		return nil
	}
	return []outcome{{r, "", &file{problems: Problems{problem}},
		&Change{Source: problem.File, Scope: r.Scope, Err: problem}}}
}

// gone returns the files of a root that are not there anymore.
func (l *Loader) gone(r *root, there []skillFile) (all []outcome) {
	left := maps.Clone(r.files)
	for _, f := range there {
		delete(left, f.path)
	}
	for name := range left {
		all = append(all, outcome{r, name, nil, &Change{Source: r.source(name), Scope: r.Scope}})
	}
	return all
}

// take reads the changed files. They are read and parsed in parallel; providers are
// called one at a time.
func (l *Loader) take(ctx context.Context, r *root, dir *tree, there []skillFile, again bool) (all []outcome) {
	there = slices.DeleteFunc(there, func(f skillFile) bool {
		known := r.files[f.path]
		return known != nil && !again && !known.fresh && f.err == nil && known.stamp == filestamp.Of(f.info) &&
			known.beside == dir.stamp(known.module)
	})
	texts := make([]reading, len(there))
	parallel(len(there), func(i int) {
		if ctx.Err() == nil {
			texts[i] = l.read(r, dir, there[i], again)
		}
	})
	for i, t := range texts {
		if ctx.Err() != nil {
			return nil
		}
		o := outcome{root: r, path: there[i].path, file: t.file}
		if !t.same {
			o.change = l.load(r, dir, there[i], t)
		}
		all = append(all, o)
	}
	return all
}

// parallel calls f with every number below n.
func parallel(n int, f func(i int)) {
	var wg panics.Group
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// reading is the result of reading a file.
type reading struct {
	file   *file // nil if it is gone
	same   bool  // nothing has changed
	config Config
	text   []byte // of a SKILL.md
	err    error
}

var seed = maphash.MakeSeed()

// soon is the time after a change in which a second one may leave the same stamp.
const soon = 2 * time.Second

// read reads a file and parses YAML.
func (l *Loader) read(r *root, dir *tree, f skillFile, again bool) reading {
	known := r.files[f.path]
	if isGone(f.err) {
		return reading{same: known == nil}
	}
	most := int64(maxYAML)
	if !isYAML(f.path) {
		most = maxPackage
	}
	var text []byte
	next := &file{}
	err := f.err
	if err == nil {
		text, next.stamp, err = dir.read(f, most)
	}
	if isGone(err) {
		return reading{same: known == nil}
	}
	if err != nil {
		next.problems = Problems{{File: r.source(f.path), Message: printable.OneLine(err.Error())}}
		same := !again && known != nil && known.problems.Error() == next.problems.Error()
		if same {
			next.names = known.names
		}
		return reading{file: next, same: same, err: next.problems}
	}
	next.sum = maphash.Bytes(seed, text)
	next.fresh = (known == nil || known.stamp != next.stamp) && time.Since(time.Unix(0, next.stamp.Modified)) < soon
	retry := known != nil && (again && (known.unmet || len(known.problems) > 0) ||
		known.beside != dir.stamp(known.module))
	if known != nil && known.sum == next.sum && !retry {
		next.names, next.unmet, next.problems, next.module, next.beside = known.names, known.unmet, known.problems,
			known.module, known.beside
		return reading{file: next, same: true}
	}
	t := reading{file: next, text: text}
	if isYAML(f.path) {
		t.config, t.err = ParseYAML(r.source(f.path), text, l.config.Variables)
		next.module = t.config.Module
		next.beside = dir.stamp(next.module)
	}
	return t
}

// load makes the skill of a file and the change of the table.
func (l *Loader) load(r *root, dir *tree, f skillFile, t reading) *Change {
	c := &Change{Source: r.source(f.path), Scope: r.Scope}
	if t.file == nil {
		return c
	}
	var s Skill
	if t.err == nil {
		s, t.err = l.skill(dir, f, t)
	}
	if t.err != nil {
		t.file.problems = problemsOf(c.Source, t.config, t.err)
		if known := r.files[f.path]; known != nil {
			t.file.names = known.names // the last good version stays
		}
		c.Err = t.file.problems
		return c
	}
	t.file.names, t.file.unmet = []string{s.Name()}, len(DetailsOf(s).Unmet) > 0
	c.Skills, c.Disabled = []Skill{s}, t.config.Enabled != nil && !*t.config.Enabled
	return c
}

// problemsOf returns the problems of an error. A problem with only a field gets its
// line.
func problemsOf(source string, c Config, err error) Problems {
	var list Problems
	if errors.As(err, &list) && len(list) > 0 {
		list = slices.Clone(list)
		for i := range list {
			list[i].File = source
		}
		return list
	}
	p := Problem{Message: printable.OneLine(err.Error())}
	var told Problem
	if errors.As(err, &told) {
		p.Field, p.Line, p.Column = told.Field, told.Line, told.Column
	}
	if p.File = source; p.Line == 0 {
		p.Line, p.Column = c.lines[p.Field], 1
	}
	return Problems{p}
}

// skill makes the skill of a file. A panic of a provider becomes an error.
func (l *Loader) skill(dir *tree, f skillFile, t reading) (s Skill, err error) {
	defer func() {
		if p := recover(); p != nil {
			_ = panics.Report(l.log, "reading a skill", p) // it is logged
			s, err = nil, fmt.Errorf("reading the skill failed unexpectedly: %v", p)
		}
	}()
	c := t.config
	at, done, err := dir.parent(f)
	if err != nil {
		return nil, err
	}
	defer done()
	if isYAML(f.path) {
		s, err = l.provided(at, c)
	} else {
		s, err = l.config.Package(at, path.Base(path.Dir(f.path)), t.text)
	}
	if err == nil {
		err = checkForm(s)
	}
	if err == nil && !bytes.Equal(s.Parameters(), c.Parameters) { // the parameters of the file are checked
		err = Check(s)
	}
	if err == nil && l.config.Reserved != nil &&
		(l.config.Reserved(s.Name()) || l.config.Reserved(strings.ToLower(s.Name()))) {
		err = Problem{Field: "name", Message: fmt.Sprintf("the name %s is one of etui's own; choose another", s.Name())}
	}
	return s, err
}

// provided makes the skill of a YAML file.
func (l *Loader) provided(at *os.Root, c Config) (Skill, error) {
	c.Folder = at
	if c.Provider == "" {
		return &toolset{c.Describe("")}, nil
	}
	p, ok := l.providers[c.Provider]
	if !ok {
		known := slices.Sorted(maps.Keys(l.providers))
		return nil, Problem{Field: "provider",
			Message: fmt.Sprintf("there is no provider %q%s; there are %s", c.Provider,
				nearest.Hint(c.Provider, slices.Values(known)), strings.Join(known, ", "))}
	}
	s, err := p.Load(c)
	switch {
	case err != nil:
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	case s.Name() != c.Name:
		return nil, fmt.Errorf("provider %s made a skill %q of one named %q", c.Provider, s.Name(), c.Name)
	}
	return s, nil
}
