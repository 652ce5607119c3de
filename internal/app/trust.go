package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/printable"
)

// TrustVariable lists folders and files, with : between them, whose configurations need no
// confirmation: for services and containers.
const TrustVariable = config.Prefix + "TRUST"

// Unconfirmed is the error of a configuration that could do more than anybody on this machine has
// confirmed. Nothing of it is in effect.
type Unconfirmed struct {
	File string
	// Powers are the lines that nobody has confirmed, for people.
	Powers    []string
	workspace *Workspace
	powers    []string // all of them
}

// Error says what the configuration could do, and how to confirm it.
func (e *Unconfirmed) Error() string {
	return fmt.Sprintf("%s\nIf you want that, run: etui%s config trust. For a service, set %s=%s", e.Says(), e.at(), TrustVariable, filepath.Dir(e.File))
}

// at are the flags that name the configuration.
func (e *Unconfirmed) at() (flags string) {
	if e.File != filepath.Join(e.workspace.Dir, config.File) {
		flags = " --config " + e.File
	}
	return flags + " --workspace " + e.workspace.Dir
}

// Unwrap makes it a [UsageError].
func (e *Unconfirmed) Unwrap() error { return UsageError{errors.New("not confirmed")} }

// Says says what the configuration could do.
func (e *Unconfirmed) Says() string {
	lines := e.Powers
	if more := len(lines) - maxPowers; more > 0 {
		lines = append(slices.Clone(lines[:maxPowers]), fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s is not in effect: nobody on this machine has confirmed what it would allow:\n  %s", e.File, strings.Join(lines, "\n  "))
}

// maxPowers is how many lines people read.
const maxPowers = 20

// confirmation is what was confirmed of a configuration: a file in the folder of
// confirmations, outside of all workspaces. It holds hashes, since lines may hold secrets.
type confirmation struct {
	File   string   `json:"file"`
	Dir    string   `json:"dir"`
	Powers []string `json:"powers"`
}

// confirmed returns an [Unconfirmed] if the text of a configuration could do more than was confirmed.
//
// A folder without anything to confirm counts as confirmed from then on, also for skills that
// come later: they are the work of its owner, because neither commands nor models can change them
// there. A folder that nobody has confirmed may come from somebody else, so its skills are asked about, too.
func (w *Workspace) confirmed(text []byte) error { return w.check(text, true) }

// check is confirmed, without a look at skills and workflows on request.
func (w *Workspace) check(text []byte, skills bool) error {
	powers, err := config.Powers(w.File, text)
	if err != nil {
		return err
	}
	if ok, err := w.listed(); ok || err != nil {
		return err
	}
	var known confirmation
	found := false
	if file, err := w.confirmation(); err == nil {
		known, found = readConfirmation(file)
	}
	missing := slices.DeleteFunc(slices.Clone(powers), func(line string) bool { return slices.Contains(known.Powers, hashed(line)) })
	if !found && skills {
		missing = append(missing, w.unseen()...)
	}
	if len(missing) > 0 {
		for i, line := range missing {
			missing[i] = config.PowerLine(line)
		}
		return &Unconfirmed{File: w.File, Powers: missing, workspace: w, powers: powers}
	}
	if skills && (!found || len(known.Powers) != len(powers)) {
		_ = w.confirm(powers) // otherwise it is looked at again
	}
	return nil
}

// unseen lists what else a folder brings that could use variables, hosts and programs: the files of
// skills in it, and workflows with variables.
func (w *Workspace) unseen() (list []string) {
	for _, dir := range append(skillFolders(w), filepath.Join(w.Dir, config.FlowFolder)) {
		if !within(w.Dir, dir) {
			continue
		}
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || len(list) > maxPowers {
				return nil //nolint:nilerr // reading it says what is wrong
			}
			if ext := strings.ToLower(filepath.Ext(path)); ext == ".yaml" || ext == ".yml" || e.Type()&fs.ModeSymlink != 0 {
				text, err := config.Read(path)
				if name, ok := strings.CutPrefix(path, w.Dir+string(filepath.Separator)); ok && (err != nil || filepath.Base(dir) != config.FlowFolder || bytes.Contains(text, []byte("${"))) {
					list = append(list, name+": it may name variables, hosts and programs")
				}
			}
			return nil
		})
	}
	return list
}

// listed reports whether [TrustVariable] lists the configuration or a folder that holds it.
func (w *Workspace) listed() (bool, error) {
	for _, variable := range w.environ {
		value, ok := strings.CutPrefix(variable, TrustVariable+"=")
		for _, path := range filepath.SplitList(value) {
			if !ok || path == "" {
				continue
			}
			if !filepath.IsAbs(path) {
				return false, Usagef("%s holds %q; it must hold absolute paths of folders or configurations", TrustVariable, printable.Line(path, 200))
			}
			if within(realFolder(path), realPlace(w.File)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// Confirm confirms what the error lists.
func (e *Unconfirmed) Confirm() error { return e.workspace.confirm(e.powers) }

// Confirm confirms the configuration of a folder, or a file, as it is now. It returns the file, and the
// lines for people that were confirmed. What etui writes for its user needs no question.
func Confirm(dir, file string, environ []string) (name string, powers []string, err error) {
	w, err := find(dir, file, file == "", environ)
	if err != nil {
		return "", nil, err
	}
	powers, err = w.Confirm(w.Text)
	return w.File, powers, err
}

// Confirm confirms a text of the configuration.
func (w *Workspace) Confirm(text []byte) (powers []string, err error) {
	powers, err = config.Powers(w.File, text)
	if err == nil {
		err = w.confirm(powers)
	}
	for i, line := range powers {
		powers[i] = config.PowerLine(line)
	}
	return powers, err
}

func (w *Workspace) confirm(powers []string) error {
	file, err := w.confirmation()
	if err != nil {
		return Usagef("there is no home folder to keep the confirmation in: set %s=%s", TrustVariable, filepath.Dir(w.File))
	}
	c := confirmation{File: realPlace(w.File), Dir: realFolder(w.Dir), Powers: []string{}}
	for _, line := range powers {
		c.Powers = append(c.Powers, hashed(line))
	}
	text, err := json.Marshal(c)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(file, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping what was confirmed: %w", err)
	}
	return nil
}

// confirmation returns the file of the configuration's confirmation.
func (w *Workspace) confirmation() (string, error) {
	folder, err := confirmations()
	return filepath.Join(folder, hashed(realPlace(w.File)+"\n"+realFolder(w.Dir))+".json"), err
}

// realPlace is where a file is, without links among its folders.
func realPlace(file string) string {
	return filepath.Join(realFolder(filepath.Dir(file)), filepath.Base(file))
}

// confirmations is the folder of what was confirmed.
func confirmations() (string, error) {
	home, err := stateHome()
	return filepath.Join(home, "etui", "trust"), err
}

func readConfirmation(file string) (c confirmation, found bool) {
	text, err := os.ReadFile(file)
	return c, err == nil && json.Unmarshal(text, &c) == nil
}

// confirmedIn returns the confirmed configurations and workspaces below a folder. It forgets those that
// are gone, so that a folder that takes their place is asked about.
func confirmedIn(dir string) (list []confirmation) {
	folder, err := confirmations()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.json")) // fails for malformed patterns only
	for _, file := range files {
		c, ok := readConfirmation(file)
		if !ok || !within(realFolder(dir), c.Dir) || c.Dir == realFolder(dir) {
			continue
		}
		if _, err := os.Lstat(c.Dir); errors.Is(err, fs.ErrNotExist) && os.Remove(file) == nil {
			continue
		}
		list = append(list, c)
	}
	return list
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
