package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/etui-run/etui/secret"
)

// Secrets returns all values of the configuration that must stay hidden, among them
// headers with telling names, and passwords and keys in addresses.
func (c *Config) Secrets() []secret.Value { return secretsIn(reflect.ValueOf(c).Elem()) }

func secretsIn(v reflect.Value) (found []secret.Value) {
	if s, ok := v.Interface().(secret.Value); ok {
		return []secret.Value{s}
	}
	switch v.Kind() {
	case reflect.String:
		return secret.InURL(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			found = append(found, secretsIn(v.Field(i))...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, secretsIn(v.Index(i))...)
		}
	case reflect.Map:
		for _, name := range v.MapKeys() {
			if secret.Names(name.String()) {
				found = append(found, secretsIn(v.MapIndex(name))...)
			}
		}
	}
	return found
}

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
