// Package trust keeps what people on this machine have confirmed of configurations: a
// configuration that could do more than that takes no effect.
package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

// Variable lists folders and files, with : between them, whose configurations need no
// confirmation: for services and containers.
const Variable = config.Prefix + "TRUST"

// UnconfirmedError is the error of a configuration that could do more than anybody on this machine has
// confirmed. Nothing of it is in effect.
type UnconfirmedError struct {
	File string
	// Powers are the lines that nobody has confirmed, for people.
	Powers        []string
	configuration Configuration
	powers        []string // all of them
}

// Error says what the configuration could do, and how to confirm it.
func (e *UnconfirmedError) Error() string { return e.In(phrase.English) }

// In returns that in a language.
func (e *UnconfirmedError) In(lang string) string { return e.Says(lang) + "\n" + e.Do(lang) }

// Do says how to confirm the configuration.
func (e *UnconfirmedError) Do(lang string) string {
	return phrase.In(lang, "If you want that, run: etui%s config trust. For a service, set %s=%s", e.at(), Variable,
		filepath.Dir(e.File))
}

// at are the flags that name the configuration.
func (e *UnconfirmedError) at() (flags string) {
	if e.File != filepath.Join(e.configuration.Dir, config.File) {
		flags = " --config " + e.File
	}
	return flags + " --workspace " + e.configuration.Dir
}

// Unwrap makes it a [config.UsageError].
func (e *UnconfirmedError) Unwrap() error {
	return config.UsageError{Err: phrase.Errorf("not confirmed")}
}

// Says says what the configuration could do.
func (e *UnconfirmedError) Says(lang string) string {
	lines := e.Powers
	if more := len(lines) - maxPowers; more > 0 {
		lines = append(slices.Clone(lines[:maxPowers]), phrase.In(lang, "and %d more", more))
	}
	return phrase.In(lang, "%s is not in effect: nobody on this machine has confirmed what it would allow:\n  %s",
		e.File, strings.Join(lines, "\n  "))
}

// maxPowers is how many lines people read.
const maxPowers = 20

// Confirmation is what was confirmed of a configuration: a file in the folder of
// confirmations, outside of all workspaces. It holds hashes, since lines may hold secrets.
type Confirmation struct {
	File   string   `json:"file"`
	Dir    string   `json:"dir"`
	Powers []string `json:"powers"`
}

// Configuration is what a confirmation is about: a file, for a workspace.
type Configuration struct {
	File, Dir string
	Environ   []string // may list it as confirmed, see [Variable]
	Variables []string // lines about the file of variables beside it
}

// Check returns an [UnconfirmedError] if the text of a configuration could do more than was confirmed.
// The folders have skills and workflows that come with it; nil checks the text alone.
//
// A folder without anything to confirm counts as confirmed from then on, also for skills that
// come later: they are the work of its owner, because neither commands nor models can change them
// there. A folder that nobody has confirmed may come from somebody else, so its skills are asked about, too.
func (c Configuration) Check(text []byte, folders []string) error {
	powers, err := c.powers(text)
	if err != nil {
		return err
	}
	if ok, err := c.listed(); ok || err != nil {
		return err
	}
	var known Confirmation
	found := false
	if file, err := c.confirmation(); err == nil {
		known, found = readConfirmation(file)
	}
	missing := slices.DeleteFunc(slices.Clone(powers),
		func(line string) bool { return slices.Contains(known.Powers, hashed(line)) })
	if !found {
		missing = append(missing, c.unseen(folders)...)
	}
	if len(missing) > 0 {
		for i, line := range missing {
			missing[i] = config.PowerLine(line)
		}
		return &UnconfirmedError{File: c.File, Powers: missing, configuration: c, powers: powers}
	}
	if folders != nil && (!found || len(known.Powers) != len(powers)) {
		_ = c.confirm(powers) // otherwise it is looked at again
	}
	return nil
}

// powers lists what a text of the configuration could do, and the variables beside it.
func (c Configuration) powers(text []byte) ([]string, error) {
	powers, err := config.Powers(c.File, text)
	return append(powers, c.Variables...), err
}

// unseen lists what else a folder brings that could use variables, hosts and programs: the files of
// skills in it, and workflows with variables.
func (c Configuration) unseen(folders []string) (list []string) {
	for _, dir := range folders {
		if !folder.Within(c.Dir, dir) {
			continue
		}
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || len(list) > maxPowers {
				return nil //nolint:nilerr // reading it says what is wrong
			}
			if ext := strings.ToLower(filepath.Ext(path)); ext == ".yaml" || ext == ".yml" ||
				e.Type()&fs.ModeSymlink != 0 {
				text, err := config.Read(path)
				if name, ok := strings.CutPrefix(path, c.Dir+string(filepath.Separator)); ok &&
					(err != nil || filepath.Base(dir) != config.FlowFolder || bytes.Contains(text, []byte("${"))) {
					list = append(list, name+": it may name variables, hosts and programs")
				}
			}
			return nil
		})
	}
	return list
}

// listed reports whether [Variable] lists the configuration or a folder that holds it.
func (c Configuration) listed() (bool, error) {
	for _, variable := range c.Environ {
		value, ok := strings.CutPrefix(variable, Variable+"=")
		for _, path := range filepath.SplitList(value) {
			if !ok || path == "" {
				continue
			}
			if !filepath.IsAbs(path) {
				return false, config.Usagef("%s holds %q; it must hold absolute paths of folders or configurations",
					Variable, printable.Line(path, 200))
			}
			if folder.Within(folder.Real(path), folder.RealFile(c.File)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// Confirm confirms what the error lists.
func (e *UnconfirmedError) Confirm() error { return e.configuration.confirm(e.powers) }

// Confirm confirms a text of the configuration, and returns the lines for people that it confirms.
func (c Configuration) Confirm(text []byte) (powers []string, err error) {
	powers, err = c.powers(text)
	if err == nil {
		err = c.confirm(powers)
	}
	for i, line := range powers {
		powers[i] = config.PowerLine(line)
	}
	return powers, err
}

func (c Configuration) confirm(powers []string) error {
	file, err := c.confirmation()
	if err != nil {
		return config.Usagef("there is no home folder to keep the confirmation in: set %s=%s", Variable,
			filepath.Dir(c.File))
	}
	kept := Confirmation{File: folder.RealFile(c.File), Dir: folder.Real(c.Dir), Powers: []string{}}
	for _, line := range powers {
		kept.Powers = append(kept.Powers, hashed(line))
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(file, append(text, '\n'))
	}
	if err != nil {
		return phrase.Errorf("keeping what was confirmed: %w", err)
	}
	return nil
}

// confirmation returns the file of the configuration's confirmation.
func (c Configuration) confirmation() (string, error) {
	dir, err := Folder()
	return filepath.Join(dir, hashed(folder.RealFile(c.File)+"\n"+folder.Real(c.Dir))+".json"), err
}

// Folder is where confirmations are kept.
func Folder() (string, error) {
	home, err := folder.State()
	return filepath.Join(home, "etui", "trust"), err
}

func readConfirmation(file string) (c Confirmation, found bool) {
	text, err := os.ReadFile(file)
	return c, err == nil && json.Unmarshal(text, &c) == nil
}

// In returns the confirmed configurations and workspaces below a folder. It forgets those that
// are gone, so that a folder that takes their place is asked about.
func In(dir string) (list []Confirmation) {
	kept, err := Folder()
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(kept, "*.json")) // fails for malformed patterns only
	for _, file := range files {
		c, ok := readConfirmation(file)
		if !ok || !folder.Within(folder.Real(dir), c.Dir) || c.Dir == folder.Real(dir) {
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
