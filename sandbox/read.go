package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folder is a folder that programs may read, as it was named and as it is.
type folder struct{ named, real string }

// wholes are folders that hold too much to be given away as a whole.
var wholes = []string{"/", "/home", "/root", "/Users", "/tmp", "/var", "/var/lib", "/var/tmp"}

// closedFolders are the system's, with all that is in them.
var closedFolders = []string{"/etc", "/proc", "/sys", "/dev", "/boot", "/run", "/var/run", "/var/log", "/var/spool", "/private/etc", "/private/var/run"}

// closedAtHome are the places in a home folder where programs keep keys, logins and
// what was typed.
var closedAtHome = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".oci", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass",
	".my.cnf", ".vault-token", ".password-store", ".terraform.d", ".config/gh", ".config/hub", ".config/git", ".config/op", ".config/rclone",
	".config/containers", ".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird", ".local/share/keyrings", ".local/state",
	".cargo/credentials.toml", ".cargo/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".gem/credentials", ".composer/auth.json",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", "Library/Keychains", "Library/Cookies", "Library/Application Support",
}

// readable takes the folders of Config.Read. It is an error when one would give
// away what programs are to be kept from; one that is not there is a warning.
func readable(list, closed []string) (folders []folder, warnings []error, err error) {
	home, _ := os.UserHomeDir() // without one ~/ leads nowhere
	for _, entry := range list {
		path := entry
		if below, found := strings.CutPrefix(entry, "~/"); found && home != "" {
			path = filepath.Join(home, below)
		}
		if !filepath.IsAbs(path) {
			return nil, nil, fmt.Errorf("sandbox.read: %q is no absolute path, and does not begin with ~/", entry)
		}
		f := folder{named: filepath.Clean(path)}
		if f.real, err = filepath.EvalSymlinks(f.named); os.IsNotExist(err) {
			f.real = f.named // what it says is judged all the same
		} else if err != nil {
			return nil, nil, fmt.Errorf("sandbox.read: %w", err)
		}
		if why := givesAway(f, closed); why != "" {
			return nil, nil, fmt.Errorf("sandbox.read: programs cannot be given %q: %s", entry, why)
		}
		info, err := os.Stat(f.real)
		switch {
		case err != nil:
			warnings = append(warnings, fmt.Errorf("sandbox.read: there is no folder %s; programs do without it", entry))
		case !info.IsDir():
			return nil, nil, fmt.Errorf("sandbox.read: %q is no folder", entry)
		default:
			folders = append(folders, f)
		}
	}
	return folders, warnings, nil
}

// givesAway says why programs are not to be given a folder.
func givesAway(f folder, closed []string) string {
	home, _ := os.UserHomeDir() // others' are judged by where they are
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
				return c + " is to be kept from them"
			case within(c, []string{path}):
				return "it holds " + c + "; name a folder in it"
			}
		}
	}
	return ""
}

// isHome reports whether a path is somebody's home folder by where it is.
func isHome(path string) bool {
	dir := filepath.Dir(path)
	return dir == "/home" || dir == "/Users"
}

// closedIn are the closed folders that may have to do with a path.
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

// suggestion is the folder to be named in sandbox.read for a program that is
// outside of what is seen: that of its installation if possible.
func suggestion(program string, closed []string) string {
	dir := filepath.Dir(program)
	for _, path := range []string{filepath.Dir(dir), dir} {
		if (path == dir || filepath.Base(dir) == "bin") && givesAway(folder{path, path}, closed) == "" {
			return path
		}
	}
	return ""
}
