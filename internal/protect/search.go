package protect

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/internal/filestamp"
)

// Limits of the search for repositories.
const (
	maxFolders = 150  // folders of the workspace that are searched, near ones first
	maxNames   = 4000 // names of a folder that are read
	maxGits    = 64   // folders of git in a repository: its own, and those of submodules and work trees
)

// search finds the repositories of a workspace. It does not read unchanged folders again.
type search struct {
	folders map[string]folder
}

// folder is the result of reading a folder.
type folder struct {
	stamp filestamp.Stamp
	fresh bool // it was read so soon after a change that the next one may have the same stamp
	git   bool
	below []string
}

// repositories returns the names of all .git. It does not search node_modules and folders
// whose names begin with a dot.
func (s *search) repositories(root *os.Root, dir string) (gits []string) {
	known := s.folders
	s.folders = make(map[string]folder, len(known))
	waiting := []string{"."}
	for len(waiting) > 0 && len(s.folders) < maxFolders {
		name := waiting[0]
		waiting = waiting[1:]
		// A link out of the workspace does not matter for its stamp.
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !info.IsDir() {
			continue
		}
		f, ok := known[name]
		if now := filestamp.Of(info); !ok || f.stamp != now || f.fresh {
			f = folder{stamp: now, fresh: !now.Settled()}
			f.read(root, name)
		}
		s.folders[name] = f
		if f.git {
			gits = append(gits, path.Join(name, ".git"))
		}
		waiting = append(waiting, f.below...)
	}
	return gits
}

func (f *folder) read(root *os.Root, name string) {
	_, err := root.Lstat(path.Join(name, ".git"))
	f.git = err == nil
	d, err := open(root, name)
	if err != nil {
		return
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxNames) // unreadable folders are not searched
	for _, e := range entries {
		if e.Type() == fs.ModeDir && e.Name() != "node_modules" && !strings.HasPrefix(e.Name(), ".") && len(f.below) < maxFolders {
			f.below = append(f.below, path.Join(name, e.Name()))
		}
	}
}

// gitFolder is a folder of git: .git, and in it one of a submodule or a work tree.
type gitFolder struct {
	name string
	tree bool // of a work tree
}

// names returns the protected names in it.
func (f gitFolder) names() []string {
	if f.tree {
		return []string{path.Join(f.name, "config.worktree"), path.Join(f.name, "commondir")}
	}
	var names []string
	for _, name := range []string{"hooks", "config", "config.worktree", "info/attributes", "commondir"} {
		names = append(names, path.Join(f.name, name))
	}
	return names
}

// gitFolders returns a folder of git and those of its submodules and work trees.
func gitFolders(root *os.Root, git string) []gitFolder {
	folders := []gitFolder{{name: git}}
	for i := 0; i < len(folders) && len(folders) < maxGits; i++ {
		if folders[i].tree {
			continue
		}
		trees, _ := list(root, path.Join(folders[i].name, "worktrees"), maxGits) // there is usually none
		for _, tree := range trees {
			folders = append(folders, gitFolder{path.Join(folders[i].name, "worktrees", tree), true})
		}
		folders = append(folders, modules(root, path.Join(folders[i].name, "modules"), 3)...)
	}
	return folders
}

// modules returns the folders of git below modules/; a submodule's name may contain
// slashes.
func modules(root *os.Root, dir string, depth int) (folders []gitFolder) {
	names, _ := list(root, dir, maxGits) // there is usually none
	for _, name := range names {
		at := path.Join(dir, name)
		if _, err := root.Lstat(path.Join(at, "HEAD")); err == nil {
			folders = append(folders, gitFolder{name: at})
		} else if depth > 0 {
			folders = append(folders, modules(root, at, depth-1)...)
		}
	}
	return folders
}
