package protect

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxAside is how many things may lie aside. With more, nothing is moved and no command
// runs until a person has looked at them.
const maxAside = 1000

// repair restores the names of a workspace.
type repair struct {
	guard *Guard
	gits  map[string]bool // the current folders of git
	done  []string
	errs  []error
}

// all restores everything: first the parents of names, then the names.
func (r *repair) all() {
	g, before := r.guard, r.guard.before
	r.gits = map[string]bool{}
	wanted := maps.Clone(before.entries)
	for _, git := range g.search.repositories(g.root, g.dirs[0]) {
		r.enterGit(git, wanted)
	}
	r.bare()
	for _, name := range slices.Sorted(maps.Keys(before.folders)) {
		r.folder(name, before.folders[name])
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !r.gone(name) && !slices.Contains(g.own, name) {
			r.entry(name, wanted[name])
		}
	}
}

// enterGit adds the wanted state of a current .git. If it was moved with its folder, that
// is its earlier state.
func (r *repair) enterGit(git string, wanted map[string]*entry) {
	g, before := r.guard, r.guard.before
	info, err := g.root.Lstat(git)
	if err != nil {
		return
	}
	if !info.IsDir() {
		if _, known := wanted[git]; !known {
			wanted[git] = nil
		}
		return
	}
	if git == ".git" && before.gits[git] == nil && before.entries[git] == nil { // commands may make a repository
		delete(wanted, git)
		g.made = info
	}
	for _, f := range gitFolders(g.root, git) {
		r.gits[f.name] = true
		was := r.before(f.name)
		for _, name := range f.names() {
			if _, known := wanted[name]; !known {
				wanted[name] = before.entries[was+strings.TrimPrefix(name, f.name)]
			}
		}
	}
}

// before returns the earlier name of a folder of git.
func (r *repair) before(name string) string {
	root, gits := r.guard.root, r.guard.before.gits
	info, err := root.Lstat(name)
	if err != nil || gits[name] != nil {
		return name
	}
	for was, old := range gits {
		if _, err := root.Lstat(was); err != nil && os.SameFile(old, info) {
			return was
		}
	}
	return name
}

// gone reports whether a name was in a folder of git that was removed as a whole.
func (r *repair) gone(name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if r.guard.before.gits[folder] == nil {
			continue
		}
		if _, err := r.guard.root.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// bare moves HEAD aside if the workspace itself has become a repository.
func (r *repair) bare() {
	if !r.guard.before.bare && isBare(r.guard.root) {
		r.aside("HEAD", "made a repository of the workspace itself")
	}
}

// isBare reports whether git sees the workspace itself as a repository.
func isBare(root *os.Root) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := root.Lstat(name); err != nil {
			return false
		}
	}
	return true
}

// folder restores a parent of names, which must be a folder or what it was before.
func (r *repair) folder(name string, was *entry) {
	read := reading{root: r.guard.root}
	now := read.shallow(name)
	if now == nil || now.isDir() && (was == nil || was.isDir()) || was.same(now) {
		return
	}
	if r.aside(name, "replaced a folder with protected names") {
		r.restore(name, was)
	}
}

// entry restores a name.
func (r *repair) entry(name string, was *entry) {
	read := reading{root: r.guard.root}
	now := read.shallow(name)
	switch {
	case was.same(now):
	case now == nil:
		if r.restore(name, was) {
			r.say("%s was removed; it is there again", told(name))
		}
	case now.isDir() && was == nil && r.isHooks(name):
		r.children(name, &entry{})
	case now.isDir() && was.isDir() && !was.sealed:
		r.children(name, was)
	case r.harmless(name, was, now):
	case was == nil && r.isConfig(name) && now.kept:
		r.clean(name, now)
	case was == nil:
		r.aside(name, "is a name that other programs trust")
	default:
		if r.aside(name, "was changed") && r.restore(name, was) {
			r.say("%s is as it was before", told(name))
		}
	}
}

// children restores the content of a folder.
func (r *repair) children(name string, was *entry) {
	names, err := list(r.guard.root, name, len(was.list)+maxNew)
	if err != nil {
		if r.aside(name, "was changed") && r.restore(name, was) {
			r.say("%s is as it was before", told(name))
		}
		return
	}
	for child := range was.list {
		if !slices.Contains(names, child) {
			names = append(names, child)
		}
	}
	slices.Sort(names)
	for _, child := range names {
		r.entry(path.Join(name, child), was.list[child])
	}
}

func (r *repair) isHooks(name string) bool {
	return path.Base(name) == "hooks" && r.gits[path.Dir(name)]
}

func (r *repair) isConfig(name string) bool {
	return path.Base(name) == "config" && r.gits[path.Dir(name)]
}

// harmless reports whether a change may stay because nothing runs it.
func (r *repair) harmless(name string, was, now *entry) bool {
	switch {
	case !now.isFile() || !now.kept:
		return false
	case was == nil && path.Ext(name) == ".sample":
		return r.isHooks(path.Dir(name))
	case was == nil && path.Base(name) == ".git":
		return r.leadsToGit(name, string(now.text))
	case path.Base(name) == "commondir":
		return was == nil && strings.TrimSpace(string(now.text)) == "../.." && path.Base(path.Dir(path.Dir(name))) == "worktrees"
	case r.isConfig(name):
		var before []string
		if was.isFile() {
			before, _ = gitRisks(string(was.text))
		}
		after, _ := gitRisks(string(now.text))
		return slices.Equal(before, after)
	}
	return false
}

// leadsToGit reports whether a .git file points to a work tree or a submodule of a
// repository of this workspace, whose own names are protected.
func (r *repair) leadsToGit(name, text string) bool {
	target, ok := strings.CutPrefix(strings.TrimSuffix(text, "\n"), "gitdir: ")
	if !ok || !isPlain(target) {
		return false
	}
	if !filepath.IsAbs(target) {
		target = r.guard.path(path.Join(path.Dir(name), target))
	}
	below, ok := r.guard.name(target)
	return ok && r.gits[below]
}

// clean removes risky lines from the configuration of a new repository.
func (r *repair) clean(name string, now *entry) {
	risks, clean := gitRisks(string(now.text))
	now.text = []byte(clean)
	if r.aside(name, fmt.Sprintf("held settings for which git may run programs (%s)", shown(risks))) && r.restore(name, now) {
		r.say("%s is there without them", told(name))
	}
}

func shown(risks []string) string { return quoted(strings.Join(risks, "; ")) }

// plainName matches names that cannot be mistaken for other text.
var plainName = regexp.MustCompile(`^[\p{L}\p{N}._/@+-]{1,200}$`)

// told quotes a name if necessary: programs choose some of them.
func told(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return quoted(name)
}

func quoted(text string) string {
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return strconv.Quote(text)
}

// aside moves a file or folder to the top of the workspace, under a name that no program
// trusts.
func (r *repair) aside(name, why string) bool {
	root := r.guard.root
	flat := strings.ReplaceAll(name, "/", "-")
	if len(flat) > 150 {
		flat = strings.ToValidUTF8(flat[len(flat)-150:], "")
	}
	for n := 1; n <= maxAside; n++ {
		to := fmt.Sprintf("etui-aside-%d-%s", n, flat)
		if _, err := root.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := r.try(name, func() error { return root.Rename(name, to) })
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if err != nil {
			r.errs = append(r.errs, fmt.Errorf("%s: %w", told(name), err))
			return false
		}
		r.say("%s %s; it is %s now", told(name), why, told(to))
		return true
	}
	r.errs = append(r.errs, fmt.Errorf("there are %d names like etui-aside-1-%s already; look at them and remove them", maxAside, told(flat)))
	return false
}

// restore restores the earlier entry of a name.
func (r *repair) restore(name string, was *entry) bool {
	if was == nil {
		return true
	}
	err := r.try(name, func() error { return r.put(name, was) })
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", told(name), err))
	}
	return err == nil
}

func (r *repair) put(name string, was *entry) error {
	root := r.guard.root
	if folder := path.Dir(name); folder != "." {
		if err := root.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	switch {
	case was.isDir() && was.list == nil, was.isFile() && !was.kept:
		r.say("%s cannot be put back: what was in it is not kept", told(name))
		return nil
	case was.isDir():
		if err := root.Mkdir(name, was.info.Mode().Perm()|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		for child, e := range was.list {
			if err := r.put(path.Join(name, child), e); err != nil {
				return err
			}
		}
		return nil
	case was.info.Mode()&fs.ModeSymlink != 0:
		return root.Symlink(was.link, name)
	case !was.isFile():
		return errors.New("it was no regular file, and was removed")
	}
	temporary := ".etui-" + rand.Text() + ".tmp"
	if err := root.WriteFile(temporary, was.text, 0o600); err != nil {
		return err
	}
	err := root.Chmod(temporary, was.info.Mode().Perm())
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

// try does something with a name. If that is not permitted, it first makes the parents
// accessible: a program may have closed its own folders.
func (r *repair) try(name string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, folder := range append(parents(name), name) {
		info, err := r.guard.root.Lstat(folder)
		if err == nil && info.IsDir() {
			_ = r.guard.root.Chmod(folder, info.Mode().Perm()|0o700) // the next attempt shows
		}
	}
	return do()
}

// parents returns the parents of a name, the workspace first.
func parents(name string) []string {
	if name == "." {
		return nil
	}
	return append(parents(path.Dir(name)), path.Dir(name))
}

func (r *repair) say(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf(format, args...))
}
