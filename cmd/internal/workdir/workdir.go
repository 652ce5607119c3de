// Package workdir finds a folder with its configuration, says which folders belong to it, and
// holds its state folder: nothing is read that a command could have written meanwhile, and nothing
// takes effect that nobody has confirmed.
package workdir

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
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

	// Environ are the variables that override keys, with those of [EnvFile], which are Variables.
	Environ, Variables []string
	// Ports are those that this process listens on.
	Ports []uint16
	// Flows are the [Workspace.FlowStamps] of the workspace before its workflows were read.
	Flows string

	running []protect.Workspace // commands of other processes, here and elsewhere
	texts   string              // the file of texts about tools; empty is the one in State
}

// Open finds and reads a workspace: the folder dir with its etui.yaml, or the
// configuration file wherever it is. Both may be empty: that is the current folder. The
// environment's variables override keys, as in ETUI_LISTEN=127.0.0.1:80. A configuration that
// could do more than was confirmed is a [trust.UnconfirmedError].
func Open(dir, file string, environ []string) (*Workspace, error) {
	return open(dir, file, file == "", environ, false)
}

// Read finds and reads a workspace whose configuration nobody may have confirmed: what is wrong in it can be
// said, and nothing of it may be used.
func Read(dir, file string, environ []string) (*Workspace, error) {
	return open(dir, file, file == "", environ, true)
}

// open reads a workspace. Its configuration takes effect only if it was confirmed, or is written, which
// says that it is etui's own.
func open(dir, file string, optional bool, environ []string, written bool) (*Workspace, error) {
	w, err := find(dir, file, optional, environ)
	if err != nil {
		return nil, err
	}
	environ = w.Environ
	if w.Config, err = config.Parse(w.File, w.Text, environ); err != nil {
		return nil, err
	}
	if !written {
		if err := w.CheckTrust(w.Text); err != nil {
			return nil, err
		}
	}
	flows := w.FlowFolder()
	if err := Ours(slices.DeleteFunc(append(w.SkillFolders(), flows), w.changing)...); err != nil {
		return nil, err
	}
	if !w.changing(flows) { // otherwise the process whose command runs has them
		w.Flows, _ = w.FlowStamps() // reading them says what is wrong
		if err := w.Config.AddFlows(w.Dir, environ); err != nil {
			return nil, err
		}
	}
	if w.State = config.Abs(w.File, w.Config.State); w.State == "" {
		w.State, err = stateFolder(w.Dir)
		return w, err
	}
	if folder.Real(w.State) == folder.Real(w.Dir) {
		return nil, w.Mistakef("state: it is the workspace itself, where every user's tools would read what others said. Name a folder of its own, such as state: .state, which tools do not see")
	}
	return w, nil
}

// find finds a workspace and reads the text of its configuration.
func find(dir, file string, optional bool, environ []string) (*Workspace, error) {
	w := &Workspace{Environ: environ}
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
		return nil, config.Usagef("there is no folder %s", w.Dir)
	}
	if err := w.recover(); err != nil {
		return nil, err
	}
	if _, err := w.Disorder(w.Dir); err != nil {
		return nil, err
	}
	if err := w.findRunning(); err != nil {
		return nil, err
	}
	w.Text, err = w.read()
	if w.Found = err == nil; !w.Found && (!optional || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	if err := w.addVariables(); err != nil {
		return nil, err
	}
	if !w.Found {
		return w, w.misnamed()
	}
	return w, nil
}

// otherNames are those of configurations like etui's in other programs.
var otherNames = []string{"agent.yml", "agent.yaml", "config.yml", "config.yaml"}

// misnamed reports a configuration under another name, which would have no effect.
func (w *Workspace) misnamed() error {
	for _, name := range otherNames {
		file := filepath.Join(w.Dir, name)
		text, err := config.Read(file)
		if err != nil {
			continue
		}
		root, bad := form.Parse(string(text), 100)
		if bad != nil || root == nil {
			continue
		}
		if key := ownKey(root); key != "" {
			return config.Usagef("there is no %s, and %s has %s: etui reads it once it has that name, or with --config %s", w.File, file, key, file)
		}
	}
	return nil
}

// usualKeys are keys of etui that configurations of many programs have.
const usualKeys = " listen state store secrets log api users limits "

// ownKey returns a key that says that a configuration is etui's: skills, agents, or one that is not usual
// elsewhere where etui knows all keys. It is empty for a configuration of another program.
func ownKey(root *yaml.Node) (own string) {
	known := maps.Collect(form.Fields(reflect.TypeFor[config.Config]()))
	strange := false
	for key := range form.Pairs(root) {
		if key.Value == "skills" || key.Value == "agents" {
			return key.Value
		}
		if _, ok := known[key.Value]; !ok {
			strange = true
		} else if own == "" && !strings.Contains(usualKeys, " "+key.Value+" ") {
			own = key.Value
		}
	}
	if strange {
		return ""
	}
	return own
}

// Mistakef returns a mistake in the configuration.
func (w *Workspace) Mistakef(format string, args ...any) error {
	return config.Usagef("%s: %w", w.File, fmt.Errorf(format, args...))
}

// KeysFile is the file of the API keys.
func (w *Workspace) KeysFile() string { return filepath.Join(w.State, "keys.json") }

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
	if err := changed.trusts().Check(changed.Text, nil); err != nil {
		return nil, err
	}
	changed.Config, err = config.Parse(changed.File, changed.Text, w.Environ)
	return &changed, err
}

// stateFolder returns where a workspace's state is kept: outside of the workspace, so
// that its tools cannot read what other users said.
func stateFolder(dir string) (string, error) {
	home, err := folder.State()
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

// Disorder returns the file that says that a command's changes of a workspace could not be
// undone. It fails if the file exists: then nothing is loaded from the workspace.
func (w *Workspace) Disorder(dir string) (string, error) {
	files := w.disorders(dir)
	for _, file := range files {
		switch text, err := os.ReadFile(file); {
		case err == nil:
			return "", config.Usagef("the workspace %s is not in order: a command changed what etui or other programs trust, and etui could not undo it. Look at it:\n%sThen remove %s", folder.Real(dir), text, file)
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return files[len(files)-1], nil
}

// disorders returns where the file of [Workspace.Disorder] can be, beside the journals of
// commands; the last is where it is made.
//
// It is in the folder that the variable ETUI_STATE names, or beside the user's usual
// state, but never inside the workspace. It does not depend on etui.yaml, which the command
// may have written. Both places are looked at, since an etui without the variable may have
// run before.
func (w *Workspace) disorders(dir string) []string {
	dir = folder.Real(dir)
	place, err := stateFolder(dir)
	if err != nil { // nobody's home: a container
		place = filepath.Join(os.TempDir(), fmt.Sprintf("etui-%d", os.Geteuid()), strings.ReplaceAll(dir, "/", "-"))
	}
	files := []string{place + ".disorder"}
	for _, variable := range w.Environ {
		state, ok := strings.CutPrefix(variable, config.Prefix+"STATE=")
		if file := folder.Real(config.Abs(w.File, state)); ok && state != "" && !folder.Within(dir, file) {
			files = append(files, filepath.Join(file, filepath.Base(place)+".disorder"))
		}
	}
	return files
}

// Ours checks that files and folders which configure etui do not belong to the user of
// programs, where etui runs as root: any program of that user could have put them there.
func Ours(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // reading it says what is wrong
		}
		if user, _ := filestamp.Owner(info); sandbox.IsProgramUser(user) {
			return config.Usagef("%s belongs to user %d, as which commands run because etui runs as root, so etui does not read it. If its content is yours, take it back: chown -R root %[1]s. Or run etui as an ordinary user", path, user)
		}
	}
	return nil
}

// Confirm confirms the configuration of a folder, or a file, as it is now. It returns the file, and the
// lines for people that were confirmed. A file that etui writes for its user needs no question.
func Confirm(dir, file string, environ []string) (name string, powers []string, err error) {
	w, err := find(dir, file, file == "", environ)
	if err != nil {
		return "", nil, err
	}
	powers, err = w.Confirm(w.Text)
	return w.File, powers, err
}

// Confirm confirms a text of the configuration, and returns the lines for people that it confirms.
func (w *Workspace) Confirm(text []byte) (powers []string, err error) {
	return w.trusts().Confirm(text)
}

// CheckTrust returns a [trust.UnconfirmedError] if a text of the configuration could do more than was confirmed.
func (w *Workspace) CheckTrust(text []byte) error {
	return w.trusts().Check(text, append(w.SkillFolders(), w.FlowFolder()))
}

func (w *Workspace) trusts() trust.Configuration {
	return trust.Configuration{File: w.File, Dir: w.Dir, Environ: w.Environ, Variables: powersOf(w.File, w.Variables)}
}
