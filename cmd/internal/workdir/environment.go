package workdir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joho/godotenv"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/secret"
)

// EnvFile is the name of the file beside the configuration that has variables for it.
const EnvFile = ".env"

// keyVariable is the one variable of etui's own that the file may have: the key of clients.
const keyVariable = config.Prefix + "API_KEY"

// EnvFile is the file of variables of the workspace, which may not exist.
func (w *Workspace) EnvFile() string { return filepath.Join(filepath.Dir(w.File), EnvFile) }

// addVariables adds the variables of [EnvFile] that the environment lacks. Like the configuration, they take
// effect when somebody on this machine has confirmed them. They override no key: what is said about
// etui stays in one file.
func (w *Workspace) addVariables() error {
	text, err := w.readFile(w.EnvFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	read, err := godotenv.UnmarshalBytes(text)
	if err != nil {
		return config.Usagef("%s cannot be read; write NAME=VALUE in each line, and a value with blanks in quotes",
			w.EnvFile())
	}
	set := map[string]bool{}
	for _, variable := range w.Environ {
		name, _, _ := strings.Cut(variable, "=")
		set[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		switch {
		case strings.HasPrefix(name, config.Prefix) && name != keyVariable:
			return config.Usagef("%s: %s has no effect there: write the key into %s, or set it in the environment",
				w.EnvFile(), name, w.File)
		case !set[name]:
			w.Variables = append(w.Variables, name+"="+read[name])
		}
	}
	w.Environ = append(slices.Clip(w.Environ), w.Variables...)
	return nil
}

// Export gives this process the variables of the file, for skills and models, and hides their secrets.
func (w *Workspace) Export(secrets *secret.Set) error {
	for _, variable := range w.Variables {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("%s: %w", w.EnvFile(), err)
		}
	}
	return secrets.Set(w.EnvFile(), config.EnvironmentSecrets(w.Variables)...)
}

// powersOf are lines for people about variables of the file: a changed value is another line, and none can be
// read from it.
func powersOf(file string, variables []string) (lines []string) {
	for _, variable := range variables {
		name, _, _ := strings.Cut(variable, "=")
		sum := sha256.Sum256([]byte(file + "\n" + variable))
		lines = append(lines, fmt.Sprintf("%s: it sets %s (%x)", EnvFile, name, sum[:4]))
	}
	return lines
}

// OpenRunning is Open for a command that asks the gateway of a workspace, which has variables that this
// process may lack: with a text in place of each. Without a gateway the error is that of Open.
func OpenRunning(dir, file string, environ []string, failed error) (*Workspace, error) {
	w, err := find(dir, file, file == "", environ)
	if err != nil {
		return nil, failed
	}
	known := map[string]bool{}
	for _, variable := range w.Environ {
		name, value, _ := strings.Cut(variable, "=")
		known[name] = known[name] || value != ""
	}
	missing := false
	for _, reference := range form.Variables(string(w.Text)) {
		if name := reference[2 : len(reference)-1]; !known[name] {
			environ, missing = append(slices.Clip(environ), name+"=unknown"), true
		}
	}
	if !missing {
		return nil, failed
	}
	if w, err = Open(dir, file, environ); err != nil || w.Instance().URL == "" {
		return nil, failed
	}
	return w, nil
}
