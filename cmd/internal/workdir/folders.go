package workdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
)

// Names in the state folder.
const (
	PinsFile      = "pins.json" // what may be used of MCP servers
	ServersFolder = "mcp"       // where programs of MCP servers keep their state

	LoginsFile   = "logins.json" // at MCP servers, sealed
	LoginKeyFile = "logins.key"  // which opens them, and stays on this machine
)

// The folders of skills when the configuration names none.
var (
	workspaceFolders = []string{"skills", ".agents/skills", ".claude/skills"}
	globalFolders    = []string{"~/.etui/skills", "~/.agents/skills"}
)

// CheckSkillFolders refuses folders of skills that hold the state or the user's home folder: tools
// and commands read everything in a folder of skills.
func (w *Workspace) CheckSkillFolders() error {
	closed := w.States()
	if home, err := os.UserHomeDir(); err == nil {
		closed = append(closed, home)
	}
	for _, dir := range w.SkillFolders() {
		for _, path := range closed {
			if folder.Within(folder.Real(dir), folder.Real(path)) {
				return w.Mistakef("skills: tools read the folder %s with everything in it, and it holds %s; name a folder that has only skills", dir, path)
			}
		}
	}
	return nil
}

// maxReadable is the number of folders of tools.read: descriptions of tools name them all.
const maxReadable = 10

// ReadFolders returns the folders of tools.read. The error joins a [config.Error] for
// each that is missing or that tools may not read.
func (w *Workspace) ReadFolders() (folders []string, err error) {
	var wrong []error
	for _, n := range w.Config.Names {
		if n.Kind != config.Folder {
			continue
		}
		dir, err := w.readFolder(n.Text)
		if err == nil && len(folders) == maxReadable {
			err = phrase.Errorf("%d folders are the most", maxReadable)
		}
		if err != nil {
			wrong = append(wrong, config.Error{File: n.Place.File, Line: n.Place.Line, Column: n.Place.Column,
				Message: n.Where + ": " + err.Error()})
			continue
		}
		folders = append(folders, dir)
	}
	return folders, errors.Join(wrong...)
}

// readFolder resolves a folder of tools.read, which must exist.
func (w *Workspace) readFolder(dir string) (string, error) {
	if !strings.HasPrefix(dir, "~/") {
		dir = config.Abs(w.File, dir)
	}
	if folder.Within(w.Dir, dir) {
		return "", phrase.Errorf("%s is in the workspace, where tools read anyway", dir)
	}
	resolved, err := sandbox.Folders([]string{dir}, w.ClosedPaths())
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
		return "", phrase.Errorf("there is no folder %s%s", dir,
			nearest.Hint(filepath.Base(dir), slices.Values(beside)))
	case err == nil && !info.IsDir():
		err = phrase.Errorf("%s is no folder", dir)
	}
	return dir, err
}

// InnerFolders returns the folders directly in a workspace that hold the workspaces of
// other agents. Tools of the outer one must not put another folder in their place.
func (w *Workspace) InnerFolders(dir string) (list []string, err error) {
	dir = folder.Real(dir)
	for _, other := range w.Folders() {
		below, err := filepath.Rel(dir, folder.Real(other))
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

// TrustedPaths returns the files and folders that configure etui, and the memory that all
// conversations read: those of the workspace, and those that a folder would have if etui were started in it.
func (w *Workspace) TrustedPaths(dir string) []string {
	list := append(w.SkillFolders(), w.File, w.EnvFile(), filepath.Join(dir, EnvFile), filepath.Join(dir, config.File),
		filepath.Join(dir, "memory"), filepath.Join(dir, config.FlowFolder))
	for _, name := range slices.Concat(workspaceFolders, Guides()) {
		list = append(list, filepath.Join(dir, name))
	}
	for _, c := range trust.In(dir) { // etui reads these without a question
		list = append(list, c.File, filepath.Join(filepath.Dir(c.File), EnvFile),
			filepath.Join(c.Dir, config.FlowFolder))
		for _, name := range workspaceFolders {
			list = append(list, filepath.Join(c.Dir, name))
		}
	}
	if kept, err := trust.Folder(); err == nil {
		list = append(list, kept)
	}
	return folder.WithReal(append(list, w.named()...)) // etui follows links
}

// named returns the files and folders that the configuration names, and that etui trusts as
// it does the configuration: local registries, root certificates, scripts of models and
// workflows, and what a heartbeat says with the rights of a person.
func (w *Workspace) named() (list []string) {
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
	for _, f := range append([]config.Flow{{Script: c.Workflow.Script, FilePlace: c.Workflow.FilePlace}},
		c.Workflows...) {
		if f.Script != "" {
			list = append(list, config.Abs(f.Place.File, f.Script))
		}
	}
	if h := c.Heartbeat; h.Interval != 0 && h.User != "" {
		dir, _ := w.HeartbeatFolder() // the heartbeat says what is wrong
		list = append(list, filepath.Join(dir, HeartbeatFile))
	}
	return list
}

// Roots returns the folders that skills come from, global ones first.
func (w *Workspace) Roots() []skill.Root {
	c := w.Config.Skills
	var list []skill.Root
	for _, dir := range folders(c.Global, globalFolders) {
		if dir, ok := strings.CutPrefix(dir, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				list = append(list, skill.Root{Dir: filepath.Join(home, dir), Scope: skill.Global})
			}
			continue
		}
		list = append(list, skill.Root{Dir: config.Abs(w.File, dir), Scope: skill.Global})
	}
	for _, dir := range folders(c.Dir, workspaceFolders) {
		list = append(list, skill.Root{Dir: dir, Scope: skill.Workspace, Within: w.Dir})
	}
	return list
}

func folders(configured config.Paths, otherwise []string) []string {
	if configured == nil {
		return otherwise
	}
	return configured
}

// SkillFolders returns the folders that skills come from. Tools may read them, but not
// change them.
func (w *Workspace) SkillFolders() (list []string) {
	for _, r := range w.Roots() {
		dir := r.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(r.Within, dir)
		}
		list = append(list, dir)
	}
	return list
}

// Folders returns the folders that tools work in, each once.
func (w *Workspace) Folders() []string {
	list := []string{w.Dir}
	for _, agent := range w.Config.Agents {
		if dir := config.Abs(w.File, agent.Workspace); dir != "" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// InstallFolder is where skills are installed: the first folder of the workspace.
func (w *Workspace) InstallFolder() string {
	dir := folders(w.Config.Skills.Dir, workspaceFolders)
	if len(dir) == 0 {
		dir = workspaceFolders
	}
	if filepath.IsAbs(dir[0]) {
		return dir[0]
	}
	return filepath.Join(w.Dir, dir[0])
}

// HeartbeatFolder returns the workspace of the agent that has the heartbeat, and whether there is
// such an agent.
func (w *Workspace) HeartbeatFolder() (dir string, known bool) {
	name := w.Config.Heartbeat.Agent
	for i, g := range w.Config.Agents {
		if g.Name == name || name == "" && i == 0 {
			return cmp.Or(config.Abs(w.File, g.Workspace), w.Dir), true
		}
	}
	return w.Dir, name == "" || len(w.Config.Agents) == 0 && name == "main"
}

// HeartbeatFile is what a heartbeat says, in the workspace of its agent.
const HeartbeatFile = "HEARTBEAT.md"

// Guides are the files in which people tell agents how to work in a workspace. The first one that
// exists counts; tools and commands cannot change them.
func Guides() []string { return []string{"AGENTS.md", "CLAUDE.md"} }

// HasSkills reports whether the workspace has a folder of skills.
func (w *Workspace) HasSkills() bool {
	return slices.ContainsFunc(folders(w.Config.Skills.Dir, workspaceFolders), func(dir string) bool {
		_, err := os.Stat(config.Abs(w.File, dir))
		return err == nil
	})
}

// States returns the folders of state that tools do not see: that of this workspace, and the
// user's, which has those of other workspaces. A workspace can hold it: the home folder does.
// Each is there as it is named and where it is, which a link on the way makes two.
func (w *Workspace) States() []string {
	list := []string{w.State}
	if home, err := folder.State(); err == nil {
		list = append(list, filepath.Join(home, "etui"))
	}
	return folder.WithReal(list)
}

// Secrets returns the files and folders that tools do not see: the state, and the file of variables.
func Secrets(w *Workspace) []string {
	return append(w.States(), folder.WithReal([]string{w.EnvFile()})...)
}

// LinksFrom returns the links in a folder that lead to the state or to the workspace of an agent.
// A folder that a program puts in the place of one would be taken for the state or the workspace.
func (w *Workspace) LinksFrom(dir string) (links []string) {
	dir = folder.Real(dir)
	for _, path := range append(w.States(), w.Folders()...) {
		for at := filepath.Clean(path); at != filepath.Dir(at); at = filepath.Dir(at) {
			info, err := os.Lstat(at)
			if err == nil && info.Mode()&fs.ModeSymlink != 0 && folder.Within(dir, folder.Real(filepath.Dir(at))) {
				links = append(links, folder.RealFile(at))
			}
		}
	}
	return links
}

// ClosedPaths returns what no folder to read may hold: the workspaces, the configuration and the state,
// as they are named and where they are.
func (w *Workspace) ClosedPaths() []string {
	return append(folder.WithReal(append(w.Folders(), w.File)), w.States()...)
}

// FlowFolder is the folder of workflows.
func (w *Workspace) FlowFolder() string { return filepath.Join(w.Dir, config.FlowFolder) }

// FlowStamps distinguishes versions of the files of workflows, and of their scripts beside them,
// without reading them.
func (w *Workspace) FlowStamps() (string, error) {
	entries, err := os.ReadDir(w.FlowFolder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var stamps strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !e.IsDir() {
			fmt.Fprintf(&stamps, "%s %+v\n", e.Name(), filestamp.Of(info))
		}
	}
	return stamps.String(), nil
}
