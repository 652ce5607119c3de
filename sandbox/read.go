package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folder is a folder of Config.Read: its path as configured and its real path.
type folder struct{ named, real string }

// wholes are folders that hold too much to be readable as a whole.
var wholes = []string{"/", "/home", "/root", "/Users", "/tmp", "/var", "/var/lib", "/var/tmp"}

// closedFolders belong to the system and are closed with everything below.
var closedFolders = []string{"/etc", "/proc", "/sys", "/dev", "/boot", "/run", "/var/run", "/var/log", "/var/spool",
	"/private/etc", "/private/var/run"}

// closedAtHome are the places in a home folder that hold keys, logins and histories.
var closedAtHome = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".oci", ".netrc", ".npmrc", ".pypirc",
	".git-credentials", ".pgpass",
	".my.cnf", ".vault-token", ".password-store", ".terraform.d", ".config/gh", ".config/hub", ".config/git",
	".config/op", ".config/rclone",
	".config/containers", ".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird",
	".local/share/keyrings", ".local/state",
	".cargo/credentials.toml", ".cargo/credentials", ".m2/settings.xml", ".gradle/gradle.properties",
	".gem/credentials", ".composer/auth.json",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", "Library/Keychains", "Library/Cookies",
	"Library/Application Support",
}

// readable resolves the folders of Config.Read. A folder that holds secrets is an
// error; a missing one is a warning.
func readable(list, closed []string) (folders []folder, warnings []error, err error) {
	for _, entry := range list {
		f, err := resolve(entry, closed)
		if err != nil {
			return nil, nil, fmt.Errorf("sandbox.read: %w", err)
		}
		info, err := os.Stat(f.real)
		switch {
		case err != nil:
			warnings = append(warnings, fmt.Errorf("sandbox.read: there is no folder %s; programs do without it",
				entry))
		case !info.IsDir():
			return nil, nil, fmt.Errorf("sandbox.read: %q is no folder", entry)
		default:
			folders = append(folders, f)
		}
	}
	return folders, warnings, nil
}

// resolve returns a folder that programs may be given. It may be missing.
func resolve(entry string, closed []string) (f folder, err error) {
	path := entry
	home, _ := os.UserHomeDir() // without one, ~/ is no absolute path
	if below, found := strings.CutPrefix(entry, "~/"); found && home != "" {
		path = filepath.Join(home, below)
	}
	if !filepath.IsAbs(path) {
		return f, fmt.Errorf("%q is no absolute path, and does not begin with ~/", entry)
	}
	f.named = filepath.Clean(path)
	if f.real, err = filepath.EvalSymlinks(f.named); os.IsNotExist(err) {
		f.real = f.named // its name is judged all the same
	} else if err != nil {
		return f, err
	}
	if why := givesAway(f, closed); why != "" {
		return f, fmt.Errorf("programs cannot be given %q: %s", entry, why)
	}
	return f, nil
}

// Folders resolves folders for Command.ReadOnly and Command.Write: absolute paths, or
// beginning with ~/. As for Config.Read, folders that hold secrets or whole homes are an
// error, and so are those that hold a path of closed or are below one. A missing folder
// is none.
func Folders(list, closed []string) ([]string, error) {
	var paths []string
	for _, entry := range list {
		f, err := resolve(entry, closed)
		if err != nil {
			return nil, err
		}
		paths = append(paths, f.named)
	}
	return paths, nil
}

// givesAway says why programs may not read a folder; empty if they may.
func givesAway(f folder, closed []string) string {
	home, _ := os.UserHomeDir() // other homes are known by their place
	for _, path := range []string{f.named, f.real} {
		if slices.Contains(wholes, path) {
			return "it holds much more than programs; name a folder in it"
		}
		if isHome(path) || path == home {
			return "it is a home folder; name a folder in it, as in ~/.nvm/versions"
		}
		for _, c := range append(closedIn(home, path), closed...) {
			switch {
			case within(path, []string{c}):
				return c + " is closed to them"
			case within(c, []string{path}):
				return "it holds " + c + "; name a folder in it"
			}
		}
	}
	return ""
}

// isHome reports whether a path is in the usual place of home folders.
func isHome(path string) bool {
	dir := filepath.Dir(path)
	return dir == "/home" || dir == "/Users"
}

// closedIn returns the closed folders that may contain a path or be below it.
func closedIn(home, path string) []string {
	list := slices.Clone(closedFolders)
	homes := []string{home, "/root"}
	for dir := path; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if isHome(dir) {
			homes = append(homes, dir)
		}
	}
	for _, h := range homes {
		for _, name := range closedAtHome {
			if h != "" {
				list = append(list, filepath.Join(h, name))
			}
		}
	}
	return list
}

// suggestion returns the folder to add to sandbox.read for a program that is not
// visible: the root of its installation if possible.
func suggestion(program string, closed []string) string {
	dir := filepath.Dir(program)
	for _, path := range []string{filepath.Dir(dir), dir} {
		if (path == dir || filepath.Base(dir) == "bin") && givesAway(folder{path, path}, closed) == "" {
			return path
		}
	}
	return ""
}
