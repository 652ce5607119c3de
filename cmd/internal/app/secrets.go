package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/etui-run/etui/secret"
)

// secretVariable matches names of variables whose values are likely secrets: it is
// their last word that says so. PWD alone is a folder.
var secretVariable = regexp.MustCompile(`(?i)(^|_)(api_?key|key|token|secret|passw(or)?d|passphrase|pass)$|.(_pwd|_pat|_credentials?)$`)

// EnvironmentSecrets returns the values of variables that are likely secrets. The path
// of an existing file is none.
func EnvironmentSecrets(environ []string) (list []secret.Value) {
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if !secretVariable.MatchString(name) {
			continue
		}
		if _, err := os.Stat(value); err != nil || !filepath.IsAbs(value) {
			list = append(list, secret.Value(value))
		}
	}
	return list
}
