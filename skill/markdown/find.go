package markdown

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// The bounds of the search for skills.
const (
	maxDepthOfFolders = 6
	maxFolders        = 20_000
)

// Find returns the folders below root that hold a SKILL.md, in the order of their
// paths; root itself is ".". It looks 6 levels deep and into 20,000 folders; if there
// are more, it returns an error with the folders found so far. It ignores folders
// below a skill, hidden folders and links.
func Find(root *os.Root) (folders []string, err error) {
	looked := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return fs.SkipDir // an unreadable folder does not hide the others
		case !e.IsDir():
			return nil
		case name != "." && (skipped(e.Name()) || strings.Count(name, "/") >= maxDepthOfFolders):
			return fs.SkipDir
		}
		if looked++; looked > maxFolders {
			return fmt.Errorf("there are more than %d folders; those after %s were not searched for skills", maxFolders,
				path.Dir(name))
		}
		if _, err := documentOf(root, name); err == nil {
			folders = append(folders, name)
			return fs.SkipDir
		}
		return nil
	})
	return folders, err
}
