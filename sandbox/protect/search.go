package protect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/etui-run/etui/internal/filestamp"
)

// Limits of the search. A workspace that exceeds them cannot be checked after a program,
// so none runs in it.
const (
	maxFolders = 100_000
	maxNames   = 2_000_000 // in the folders that have changed since the last search
)

// Trusted reports whether other programs trust a path, or a part of it, in any folder: they
// run or obey what is there when the user opens or uses the folder. Exists reports whether
// something is at a path, which may decide about another one beside it.
func Trusted(name string, exists func(string) bool) bool {
	parts, folder := strings.Split(name, "/"), ""
	for i, part := range parts {
		part = Fold(part)
		if slices.Contains(repositories, part) || isSetting(folder, part) ||
			besideEnvrc[part] && exists(path.Join(path.Join(parts[:i]...), ".envrc")) {
			return true
		}
		folder = part
	}
	return false
}

// TrustedIn reports whether other programs trust an entry of a folder with a name.
func TrustedIn(folder, entry string) bool { return isSetting(Fold(folder), Fold(entry)) }

// repositories are the names at which version control looks for a repository.
var repositories = []string{".git", ".hg", ".jj", ".sl", ".pijul", ".bzr", "_darcs"}

// Fold maps names to one form if some file system treats them as equal: different
// case, composed letters, invisible characters, and trailing blanks, dots or streams.
func Fold(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, norm.NFKC.String(name))
	parts := strings.Split(name, "/")
	for i, part := range parts {
		part, _, _ = strings.Cut(part, ":")
		if trimmed := strings.TrimRight(part, ". "); trimmed != "" {
			part = trimmed
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// folded is Fold for one element of a path. Most have their form already.
func folded(name string) string {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' || c == ':' || c == ' ' ||
			c == '.' && i == len(name)-1 {
			return Fold(name)
		}
	}
	return name
}

// searchResult is what a search finds.
type searchResult struct {
	// repos are the folders that git takes for a repository's own, wherever they are and
	// whatever they are called: .git, bare repositories, those of submodules and work
	// trees. Those of Mercurial and Jujutsu, too.
	repos map[string]fs.FileInfo
	// marks are files and folders at names that other programs trust.
	marks []string
}

// search finds the repositories and names of a workspace. It does not read unchanged
// folders again.
type search struct {
	folders map[string]folder
}

// folder is the result of reading a folder.
type folder struct {
	stamp filestamp.Stamp
	fresh bool // it was read so soon after a change that the next one may have the same stamp
	repo  bool
	marks []string
	below []string
}

// toSearch is what the owner of a folder needs to read the folders in it.
const toSearch = 0o500

// find searches all folders. It follows no links: git does, but what a link leads to is in
// the workspace itself, or cannot be written by a program in it. It opens folders that are
// closed to their owner, and leaves them open: nothing hides in them until later.
func (s *search) find(root *os.Root, dir string) (searchResult, error) {
	known := s.folders
	s.folders = make(map[string]folder, len(known))
	result := searchResult{repos: map[string]fs.FileInfo{}}
	names := 0
	for waiting := []string{"."}; len(waiting) > 0; {
		name := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		// A link out of the workspace does not matter for its stamp.
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if name == "." { // the workspace may be configured by a link
			info, err = root.Stat(name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrPermission):
			continue // it is gone, or another user's
		case err != nil: // the name may be too long for the system
			return searchResult{}, fmt.Errorf("a folder cannot be checked: %s: %w", quoted(path.Base(name)),
				errors.Unwrap(err))
		case !info.IsDir():
			continue
		}
		f, ok := known[name]
		if mode := info.Mode().Perm(); mode&toSearch != toSearch {
			_ = root.Chmod(name, mode|0o700) // it may be another user's
		}
		if now := filestamp.Of(info); !ok || f.stamp != now || f.fresh {
			f = folder{stamp: now, fresh: !now.Settled()}
			n, err := f.read(root, name)
			if err != nil {
				return searchResult{}, err
			}
			names += n
		}
		s.folders[name] = f
		if f.repo {
			result.repos[name] = info
		}
		result.marks = append(result.marks, f.marks...)
		waiting = append(waiting, f.below...)
		if len(s.folders)+len(waiting) > maxFolders || names > maxNames {
			return searchResult{}, fmt.Errorf("the workspace has more than %d folders or %d names: too many to check after a command. Remove some, or use a smaller workspace", maxFolders, maxNames)
		}
	}
	slices.Sort(result.marks)
	return result, nil
}

// read reads the names of a folder and returns how many there are.
func (f *folder) read(root *os.Root, name string) (names int, err error) {
	d, err := open(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return 0, nil // it is gone, or another user's, whose folder no program could change
	case err != nil:
		return 0, fmt.Errorf("a folder cannot be checked: %w", err)
	}
	defer d.Close()
	has := map[string]bool{}
	var envs []string // marks, if there is an .envrc
	for {
		entries, err := d.ReadDir(1000)
		for _, e := range entries {
			f.take(name, e, has)
			if besideEnvrc[folded(e.Name())] {
				envs = append(envs, path.Join(name, e.Name()))
			}
		}
		names += len(entries)
		if errors.Is(err, io.EOF) || names > maxNames {
			break
		}
		if err != nil {
			return names, fmt.Errorf("a folder cannot be checked: %w", err)
		}
	}
	if has[".envrc"] {
		f.marks = append(f.marks, envs...)
	}
	// git asks for more: see is_git_directory in its setup.c. HEAD must name a branch or
	// a commit, and objects and refs may be in another folder, which commondir names.
	f.repo = has["head"] && (has["objects"] && has["refs"] || has["commondir"])
	// Without them, a folder at the usual name waits for git init, which keeps its hooks.
	f.repo = f.repo || isRepoName(path.Base(name))
	return names, nil
}

// isRepoName reports whether version control looks for a repository at a name.
func isRepoName(name string) bool { return slices.Contains(repositories, folded(name)) }

// take notes an entry of a folder.
func (f *folder) take(name string, e fs.DirEntry, has map[string]bool) {
	below, base := path.Join(name, e.Name()), folded(e.Name())
	switch base {
	case "head", "objects", "refs", "commondir", ".envrc":
		has[base] = true
	}
	isFolder := e.Type() == fs.ModeDir
	if !isFolder && slices.Contains(repositories, base) || isSetting(folded(path.Base(name)), base) {
		f.marks = append(f.marks, below)
	}
	if isFolder {
		f.below = append(f.below, below)
	}
}

// controls returns the names in a folder of a repository that the version control obeys:
// it runs programs for them, or reads other folders.
func controls(repo string) []string {
	names := []string{"hooks", "config", "config.worktree", "info/attributes", "commondir", "gitdir", "remotes",
		"branches", "rebase-merge", "rebase-apply"}
	switch folded(path.Base(repo)) {
	case ".hg", ".sl":
		names = []string{"hgrc", "hgrc-not-shared", "config", "sharedpath"}
	case ".jj":
		names = []string{"config.toml", "repo/config.toml", "workspace-config.toml"}
	case ".pijul", ".bzr", "_darcs":
		names = []string{"config", "hooks", "branch/branch.conf", "prefs"}
	}
	for i, name := range names {
		names[i] = path.Join(repo, name)
	}
	return names
}
