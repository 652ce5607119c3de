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
// paths; root itself is ".". It looks 6 levels deep and into 20,000 folders; the
// error says that there are more, and comes with what was found before. It looks
// neither below a skill, nor into hidden folders, nor where links lead.
func Find(root *os.Root) (folders []string, err error) {
	looked := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return fs.SkipDir // one folder that cannot be read does not hide the others
		case !e.IsDir():
			return nil
		case name != "." && (skipped(e.Name()) || strings.Count(name, "/") >= maxDepthOfFolders):
			return fs.SkipDir
		}
		if looked++; looked > maxFolders {
			return fmt.Errorf("there are more than %d folders; skills in those after %s were not looked for", maxFolders, path.Dir(name))
		}
		if _, err := documentOf(root, name); err == nil {
			folders = append(folders, name)
			return fs.SkipDir
		}
		return nil
	})
	return folders, err
}
