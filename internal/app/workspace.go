package app

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/examples"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/internal/protect"
	"github.com/etui-run/etui/sandbox"
)

// Workspace is a folder with its configuration.
type Workspace struct {
	File   string // the configuration, which may not exist
	Found  bool   // it exists
	Text   []byte // its content
	Dir    string // the folder
	State  string // the state folder
	Config *config.Config
	// Restored says what was restored because etui had ended while commands ran, in any
	// workspace of this user.
	Restored []string

	running []protect.Running // commands of other processes, here and elsewhere
	texts   string            // the file of texts about tools; empty is the one in State
	environ []string          // the variables that override keys
	ports   []uint16          // that this process listens on
	flows   string            // stamps of the files of workflows, before they were read
}

//go:embed demo
var demoFiles embed.FS

// Open finds and reads a workspace: the folder dir with its etui.yaml, or the
// configuration file wherever it is. Both may be empty: that is the current folder. The
// environment's variables override keys, as in ETUI_LISTEN=127.0.0.1:80. A configuration that
// could do more than was confirmed is an [Unconfirmed].
func Open(dir, file string, environ []string) (*Workspace, error) {
	return open(dir, file, file == "", environ, false)
}

// OpenDemo reads the demo's workspace, which it makes where it is missing.
func OpenDemo(file string, environ []string) (*Workspace, error) {
	dir, err := demoWorkspace()
	if err != nil {
		return nil, err
	}
	w, err := open(dir, file, false, environ, file == "")
	if err == nil && w.Config.State == "" {
		w.State = filepath.Dir(w.Dir)
	}
	return w, err
}

// open reads a workspace. Its configuration takes effect only if it was confirmed, or is written, which
// says that it is etui's own.
func open(dir, file string, optional bool, environ []string, written bool) (*Workspace, error) {
	w, err := find(dir, file, optional, environ)
	if err != nil {
		return nil, err
	}
	if w.Config, err = config.Parse(w.File, w.Text, environ); err != nil {
		return nil, err
	}
	if !written {
		if err := w.confirmed(w.Text); err != nil {
			return nil, err
		}
	}
	flows := filepath.Join(w.Dir, config.FlowFolder)
	if err := ours(slices.DeleteFunc(append(skillFolders(w), flows), w.changing)...); err != nil {
		return nil, err
	}
	if !w.changing(flows) { // otherwise the process whose command runs has them
		w.flows, _ = flowStamps(w.Dir) // reading them says what is wrong
		if err := w.Config.AddFlows(w.Dir, environ); err != nil {
			return nil, err
		}
	}
	if w.State = config.Abs(w.File, w.Config.State); w.State == "" {
		w.State, err = stateFolder(w.Dir)
		return w, err
	}
	if realFolder(w.State) == realFolder(w.Dir) {
		return nil, w.wrongf("state: it is the workspace itself, where every user's tools would read what others said. Name a folder of its own, such as state: .state, which tools do not see")
	}
	return w, nil
}

// find finds a workspace and reads the text of its configuration.
func find(dir, file string, optional bool, environ []string) (*Workspace, error) {
	w := &Workspace{environ: environ}
	var err error
	if w.File, err = filepath.Abs(cmp.Or(file, filepath.Join(dir, config.File))); err != nil {
		return nil, err
	}
	w.Dir = filepath.Dir(w.File)
	if dir != "" && file != "" {
		if w.Dir, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
	}
	if info, err := os.Stat(w.Dir); err != nil || !info.IsDir() {
		return nil, Usagef("there is no folder %s", w.Dir)
	}
	if err := w.recover(); err != nil {
		return nil, err
	}
	if _, err := w.disorder(w.Dir); err != nil {
		return nil, err
	}
	if err := w.findRunning(); err != nil {
		return nil, err
	}
	w.Text, err = w.read()
	if w.Found = err == nil; !w.Found && (!optional || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	return w, nil
}

// ours checks that files and folders which configure etui do not belong to the user of
// programs, where etui runs as root: any program of that user could have put them there.
func ours(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // reading it says what is wrong
		}
		if user, _ := filestamp.Owner(info); sandbox.IsProgramUser(user) {
			return Usagef("%s belongs to user %d, as which commands run because etui runs as root, so etui does not read it. If its content is yours, take it back: chown -R root %[1]s. Or run etui as an ordinary user", path, user)
		}
	}
	return nil
}

// UsageError is a mistake in how etui was called or set up.
type UsageError struct{ error }

// Unwrap returns the mistake itself.
func (e UsageError) Unwrap() error { return e.error }

// Usagef returns a [UsageError].
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// wrongf returns a mistake in the configuration.
func (w *Workspace) wrongf(format string, args ...any) error {
	return UsageError{fmt.Errorf("%s: %w", w.File, fmt.Errorf(format, args...))}
}

// keys is the file of the API keys.
func (w *Workspace) keys() string { return filepath.Join(w.State, "keys.json") }

// HasSkills reports whether the workspace has a folder of skills.
func (w *Workspace) HasSkills() bool {
	return slices.ContainsFunc(folders(w.Config.Skills.Dir, workspaceFolders), func(dir string) bool {
		_, err := os.Stat(config.Abs(w.File, dir))
		return err == nil
	})
}

// As returns the workspace with another configuration file.
func (w *Workspace) As(file string) (*Workspace, error) {
	changed := *w
	var err error
	if changed.File, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	if changed.Text, err = config.Read(changed.File); err != nil {
		return nil, err
	}
	if err := changed.check(changed.Text, false); err != nil {
		return nil, err
	}
	changed.Config, err = config.Parse(changed.File, changed.Text, w.environ)
	return &changed, err
}

// stateHome is the user's folder for state, by the XDG base directory
// specification.
func stateHome() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for the state: %w; set state in etui.yaml or ETUI_STATE", err)
	}
	return filepath.Join(home, ".local", "state"), nil
}

// stateFolder returns where a workspace's state is kept: outside of the workspace, so
// that its tools cannot read what other users said.
func stateFolder(dir string) (string, error) {
	home, err := stateHome()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(dir))
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, filepath.Base(dir))
	return filepath.Join(home, "etui", name+"-"+hex.EncodeToString(sum[:4])), nil
}

// states returns the folders of state that tools do not see: that of this workspace, and the
// user's, which has those of other workspaces. A workspace can hold it: the home folder does.
// Each is there as it is named and where it is, which a link on the way makes two.
func (w *Workspace) states() []string {
	list := []string{w.State}
	if home, err := stateHome(); err == nil {
		list = append(list, filepath.Join(home, "etui"))
	}
	for _, path := range list {
		if place := realFolder(path); place != filepath.Clean(path) {
			list = append(list, place)
		}
	}
	return list
}

// linksFrom returns the links in a folder that lead to the state or to the workspace of an agent.
// What a program puts in the place of one would be taken for the state or the workspace.
func (w *Workspace) linksFrom(dir string) (links []string) {
	dir = realFolder(dir)
	for _, path := range append(w.states(), workspaces(w)...) {
		for at := filepath.Clean(path); at != filepath.Dir(at); at = filepath.Dir(at) {
			info, err := os.Lstat(at)
			if err == nil && info.Mode()&fs.ModeSymlink != 0 && within(dir, realFolder(filepath.Dir(at))) {
				links = append(links, realPlace(at))
			}
		}
	}
	return links
}

// closed returns what no folder to read may hold: the workspaces, the configuration and the state,
// as they are named and where they are.
func (w *Workspace) closed() []string {
	list := append(workspaces(w), w.File)
	for _, path := range list {
		if place := realFolder(path); place != filepath.Clean(path) {
			list = append(list, place)
		}
	}
	return append(list, w.states()...)
}

// recover restores what commands changed that ran when their etui ended, before anything is
// read: also in other workspaces, which may hold this one or be named in its configuration.
func (w *Workspace) recover() error {
	for _, file := range w.disorders(w.Dir) {
		done, err := protect.Recover(filepath.Dir(file), nil)
		w.Restored = append(w.Restored, done...)
		if err != nil {
			return err
		}
	}
	return nil
}

// disorder returns the file that says that a command's changes of a workspace could not be
// undone. It fails if the file exists: then nothing is loaded from the workspace.
func (w *Workspace) disorder(dir string) (string, error) {
	files := w.disorders(dir)
	for _, file := range files {
		switch text, err := os.ReadFile(file); {
		case err == nil:
			return "", Usagef("the workspace %s is not in order: a command changed what etui or other programs trust, and etui could not undo it. Look at it:\n%sThen remove %s", realFolder(dir), text, file)
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return files[len(files)-1], nil
}

// disorders returns where the file of [Workspace.disorder] can be, beside the journals of
// commands; the last is where it is made.
//
// It is in the folder that the variable ETUI_STATE names, or beside the user's usual
// state, but never inside the workspace. It does not depend on etui.yaml, which the command
// may have written. Both places are looked at, since an etui without the variable may have
// run before.
func (w *Workspace) disorders(dir string) []string {
	dir = realFolder(dir)
	folder, err := stateFolder(dir)
	if err != nil { // nobody's home: a container
		folder = filepath.Join(os.TempDir(), fmt.Sprintf("etui-%d", os.Geteuid()), strings.ReplaceAll(dir, "/", "-"))
	}
	files := []string{folder + ".disorder"}
	for _, variable := range w.environ {
		state, ok := strings.CutPrefix(variable, config.Prefix+"STATE=")
		if file := realFolder(config.Abs(w.File, state)); ok && state != "" && !within(dir, file) {
			files = append(files, filepath.Join(file, filepath.Base(folder)+".disorder"))
		}
	}
	return files
}

// demoWorkspace makes the demo's workspace where it is missing, and returns its
// folder. The folder of skills is made once: a skill that was deleted stays away.
func demoWorkspace() (string, error) {
	home, err := stateHome()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "etui", "demo", "workspace")
	_, err = os.Lstat(filepath.Join(dir, "skills"))
	withSkills := errors.Is(err, fs.ErrNotExist)
	own, err := fs.Sub(demoFiles, "demo")
	if err == nil {
		err = addFiles(dir, own, func(path string) bool { return withSkills || path != "skills" })
	}
	if err == nil && withSkills {
		err = addFiles(filepath.Join(dir, "skills"), examples.Skills(), inDemo)
	}
	if err != nil {
		return "", fmt.Errorf("making the demo workspace: %w", err)
	}
	return dir, nil
}

// inDemo selects the examples that the demo has: those without further requirements.
func inDemo(path string) bool {
	switch first, _, _ := strings.Cut(path, "/"); first {
	case ".", "check_number.yaml", "check_number.wasm", "hash_text.yaml", "incident-report", "release-notes", "data-cleanup":
		return true
	}
	return false
}

// addFiles writes the files that are wanted and missing into a folder.
func addFiles(dir string, files fs.FS, wanted func(path string) bool) error {
	return fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		target := filepath.Join(dir, filepath.FromSlash(path))
		switch {
		case err != nil:
			return err
		case !wanted(path) && e.IsDir():
			return fs.SkipDir
		case !wanted(path):
			return nil
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		}
		if _, err := os.Lstat(target); err == nil {
			return nil // the user may have changed it
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}
