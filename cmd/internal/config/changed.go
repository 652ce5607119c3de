package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/etui-run/etui/secret"
)

// Restart returns the keys in which a changed configuration differs from the one that a gateway serves, and
// which take effect at its next start. Where something is written in the file is no difference.
func Restart(served, changed *Config) (keys []string) {
	differs("", reflect.ValueOf(served).Elem(), reflect.ValueOf(changed).Elem(), &keys)
	shows := func(v secret.Value) bool { return !slices.Contains(changed.Hidden, v) }
	return slices.DeleteFunc(keys, func(key string) bool {
		// Further secrets are hidden at once; those that are listed no more stay hidden until the next start.
		return followed(key) || key == "secrets" && !slices.ContainsFunc(served.Hidden, shows)
	})
}

// followed reports whether a gateway follows a change of a key.
func followed(key string) bool {
	section, rest, _ := strings.Cut(key, ".")
	switch section {
	case "users", "visibility", "workflows":
		return true
	case "tools":
		return rest == "disabled"
	case "policy":
		return rest != "approvals.expire"
	case "workflow":
		return rest != "default_skill"
	case "skills":
		return slices.Contains([]string{"toolsets", "allow", "deny"}, rest)
	}
	return false
}

// differs adds the keys below a path at which two sections differ; a list is one key.
func differs(path string, a, b reflect.Value, keys *[]string) {
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("yaml"), ",")
		if name == "-" {
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		x, y := a.Field(i), b.Field(i)
		if x.Kind() == reflect.Struct && name != "" {
			differs(at, x, y, keys)
		} else if !same(x, y) {
			*keys = append(*keys, at)
		}
	}
}

// same compares what a file says, and not where it says it.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		var keys []string
		differs("", a, b, &keys)
		return len(keys) == 0
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
