package protect

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSaid is how many sentences a repair says. The rest are counted.
const maxSaid = 200

// repair restores the names of a workspace.
type repair struct {
	guard *Guard
	put   string // the folder of what is moved aside, once it exists
	moved int
	found map[string]*entry // the earlier entries of what was moved elsewhere
	done  []string
	more  int // sentences that are not in done
	errs  []error
}

// maxPasses is how often a repair looks for what it moved aside together with a folder. With
// more, the next command is refused until another repair finds nothing.
const maxPasses = 5

// all restores everything. It searches the folders that were moved aside as well: the next
// program could bring back a name inside of one, which the guard would take for the user's.
func (r *repair) all() {
	for pass := 1; ; pass++ {
		moved := r.moved
		if r.pass(); r.moved == moved || len(r.errs) > 0 {
			break
		}
		if pass == maxPasses {
			if r.guard.running == 0 { // otherwise a later repair goes on
				r.errs = append(r.errs, errors.New("too much was moved aside at once"))
			}
			break
		}
	}
	if r.more > 0 {
		r.done = append(r.done, fmt.Sprintf("and %d more changes", r.more))
	}
}

// pass restores everything once: first the parents of names, then the names. Without a
// search, it restores what was there before.
func (r *repair) pass() {
	g, before := r.guard, r.guard.before
	if info, err := g.folder.Stat(); err == nil && info.Mode() != before.Mode {
		if err := g.folder.Chmod(before.Mode); err != nil {
			r.errs = append(r.errs, err)
		} else {
			r.say("the permissions of the workspace were changed; they are as before")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Folders)) {
		r.folder(name, before.Folders[name])
	}
	now, err := g.search.find(g.root, g.held())
	if err != nil {
		r.errs = append(r.errs, err)
	}
	wanted := maps.Clone(before.Entries)
	names := slices.AppendSeq(slices.Clone(now.marks), maps.Keys(now.repos))
	slices.SortFunc(names, func(a, b string) int { // what is inside of another first
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), strings.Compare(a, b))
	})
	for _, name := range slices.Compact(names) {
		if info, ok := now.repos[name]; ok {
			switch was := r.earlierRepo(name, info); {
			case was == "" && !g.config.KeepNew:
				r.defuse(name)
			case was != "" && was != name:
				for i, control := range controls(name) {
					wanted[control] = before.Entries[controls(was)[i]]
				}
			}
		}
		if _, isMark := slices.BinarySearch(now.marks, name); !isMark {
			continue
		}
		if _, known := wanted[name]; known {
			continue
		}
		was := r.found[name]
		if was == nil {
			was = r.earlier(name)
		}
		if was != nil {
			wanted[name], r.found[name] = was, was // once it is restored, it is another file
		} else if !g.config.KeepNew {
			r.aside(name, "is a name that other programs trust")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !r.gone(name) && !slices.Contains(g.own, name) {
			r.entry(name, wanted[name])
		}
	}
}

// earlierRepo returns the earlier name of a repository, which may have been moved; empty
// means that it is new.
func (r *repair) earlierRepo(name string, info fs.FileInfo) string {
	repos := r.guard.before.Repos
	if repos[name] != nil {
		return name
	}
	for was, old := range repos {
		if old.is(info) && path.Base(was) == path.Base(name) && !r.still(was, old) {
			return was
		}
	}
	return ""
}

// earlier returns the earlier entry of a file or folder that was moved.
func (r *repair) earlier(name string) *entry {
	info, err := r.guard.root.Lstat(name)
	if err != nil {
		return nil
	}
	for was, old := range r.guard.before.Entries {
		if old != nil && old.is(info) && path.Base(was) == path.Base(name) && !r.still(was, old) {
			return old
		}
	}
	return nil
}

// still reports whether a name means the same file or folder as before.
func (r *repair) still(name string, was *entry) bool {
	info, err := r.plain(name)
	return err == nil && was.is(info)
}

// defuse makes a new repository none: without its HEAD, git reads nothing in a folder.
func (r *repair) defuse(repo string) {
	f, err := open(r.guard.root, repo)
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	defer f.Close()
	names, err := f.Readdirnames(-1) // find has bounded them
	if err != nil {
		r.errs = append(r.errs, err)
	}
	for _, name := range names {
		if strings.EqualFold(name, "HEAD") {
			r.aside(path.Join(repo, name), "made a repository of its folder")
		}
	}
	if isRepoName(path.Base(repo)) {
		r.aside(repo, "is a new repository")
	}
}

// gone reports whether a name below a folder went with the folder.
func (r *repair) gone(name string) bool {
	folder := path.Dir(name)
	if folder == "." || slices.Contains(r.guard.names, name) {
		return false
	}
	info, err := r.plain(folder)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return true
	}
	if path.Base(folder) == "info" && err != nil { // of a repository, which is there
		_, err = r.plain(path.Dir(folder))
	}
	return errors.Is(err, fs.ErrNotExist)
}

// plain describes a file or folder. A name that leads through a link is missing: the
// search found no such name, so a folder was moved and a link left in its place.
func (r *repair) plain(name string) (fs.FileInfo, error) {
	for _, folder := range parents(name) {
		if info, err := r.guard.root.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fs.ErrNotExist
		}
	}
	return r.guard.root.Lstat(name)
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
		if was.isDir() && was.Sealed {
			for _, child := range slices.Sorted(maps.Keys(was.List)) {
				r.entry(path.Join(name, child), was.List[child])
			}
		}
	case now == nil:
		if r.restore(name, was) {
			r.say("%s was removed; it is there again", told(name))
		}
	case now.isDir() && was.isDir() && !was.Sealed:
		if now.User != was.User {
			r.note(r.own(name, was), "%s belongs to its owner again", told(name))
		}
		r.children(name, was)
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
	names, err := list(r.guard.root, name, len(was.List)+maxNew)
	if err != nil {
		if r.aside(name, "was changed") && r.restore(name, was) {
			r.say("%s is as it was before", told(name))
		}
		return
	}
	for child := range was.List {
		if !slices.Contains(names, child) {
			names = append(names, child)
		}
	}
	slices.Sort(names)
	keep := r.guard.config.KeepNew && r.isSetting(name)
	for _, child := range names {
		if old := was.List[child]; old != nil || !keep {
			r.entry(path.Join(name, child), old)
		}
	}
}

// isSetting reports whether a name is one of other programs, not one of a repository or of
// etui.
func (r *repair) isSetting(name string) bool {
	folder := ""
	for part := range strings.SplitSeq(Fold(name), "/") {
		if isSetting(folder, part) {
			return !slices.ContainsFunc(r.guard.names, func(own string) bool {
				return name == own ||
					strings.HasPrefix(name, own+"/")
			})
		}
		folder = part
	}
	return false
}

// plainName matches names that cannot be mistaken for other text.
var plainName = regexp.MustCompile(`^[\p{L}\p{N}._/@+-]+$`)

// told quotes a name if necessary: programs choose some of them.
func told(name string) string {
	if utf8.RuneCountInString(name) <= 200 && plainName.MatchString(name) { // {1,200} would take 8 MB
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

// aside moves a file or folder to a new folder at the top of the workspace, under a name
// that no program trusts. If it cannot be moved, it is removed.
func (r *repair) aside(name, why string) bool {
	root := r.guard.root
	flat := strings.ReplaceAll(name, "/", "-")
	if len(flat) > 150 {
		flat = strings.ToValidUTF8(flat[len(flat)-150:], "")
	}
	var err error
	if r.put == "" { // a random name: no program can have taken it
		r.put = "etui-aside-" + rand.Text()[:10]
		err = r.try(".", func() error { return root.Mkdir(r.put, 0o700) })
	}
	to := fmt.Sprintf("%s/%d-%s", r.put, r.moved+1, flat)
	if err == nil {
		err = r.try(name, func() error { return root.Rename(name, to) })
	}
	switch {
	case err == nil:
		r.moved++
		r.say("%s %s; it is %s now", told(name), why, told(to))
		return true
	case errors.Is(err, fs.ErrNotExist):
		if _, missing := root.Lstat(name); errors.Is(missing, fs.ErrNotExist) {
			return true
		}
	}
	if err := r.try(name, func() error { return root.RemoveAll(name) }); err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s %s, and cannot be removed: %w", told(name), why, err))
		return false
	}
	r.say("%s %s; it could not be moved aside (%v), and was removed", told(name), why, err)
	return true
}

// restore restores the earlier entry of a name.
func (r *repair) restore(name string, was *entry) bool {
	if was == nil {
		return true
	}
	err := r.try(name, func() error { return r.write(name, was) })
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", told(name), err))
	}
	return err == nil
}

func (r *repair) write(name string, was *entry) error {
	root := r.guard.root
	if folder := path.Dir(name); folder != "." {
		if err := root.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	switch {
	case was.isDir() && (was.Sealed || was.List == nil), was.isFile() && !was.Kept:
		r.say("%s cannot be put back: what was in it is not kept", told(name))
		return nil
	case was.isDir():
		if err := root.Mkdir(name, was.Mode.Perm()|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		for child, e := range was.List {
			if err := r.write(path.Join(name, child), e); err != nil {
				return err
			}
		}
		return r.own(name, was)
	case was.Mode&fs.ModeSymlink != 0:
		return root.Symlink(was.Link, name)
	case !was.isFile():
		return errors.New("it was no regular file, and was removed")
	}
	temporary := ".etui-" + rand.Text() + ".tmp"
	if err := root.WriteFile(temporary, was.Text, 0o600); err != nil {
		return err
	}
	err := r.own(temporary, was)
	if err == nil {
		err = root.Chmod(temporary, was.Mode.Perm())
	}
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

// note says what was done, or that it failed.
func (r *repair) note(err error, format string, args ...any) {
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	r.say(format, args...)
}

// own gives a restored file or folder to its earlier owner. Only root can.
func (r *repair) own(name string, was *entry) error {
	if os.Geteuid() != 0 || was.User < 0 {
		return nil
	}
	return r.guard.root.Lchown(name, was.User, was.Group)
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
	if len(r.done) == maxSaid {
		r.more++
		return
	}
	r.done = append(r.done, fmt.Sprintf(format, args...))
}
