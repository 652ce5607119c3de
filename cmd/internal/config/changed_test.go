package config_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
)

// TestRestart: what takes effect at once is not named, nor where the file says something, and a list
// or a value that needs a start is, by its key.
func TestRestart(t *testing.T) {
	t.Parallel()
	const base = "listen: 127.0.0.1:4000\nchannels: [{type: telegram, token: x}]\nagents: [{name: main}]\nskills: {toolsets: [{name: a, tools: [time]}]}\n" +
		"policy: {rules: [{deny: [exec]}]}\n"
	for text, want := range map[string][]string{
		base:             nil,
		"\n# a\n" + base: nil,
		base + "users: [{name: ann, identities: ['telegram:1']}]\nvisibility: {rules: [{deny: [time]}]}\n":                                                        nil,
		"listen: 127.0.0.1:4000\nchannels: [{type: telegram, token: x}]\nagents: [{name: main}]\npolicy: {approvals: {rules: [{allow: [exec], when: 'true'}]}}\n": nil,
		"listen: 127.0.0.1:4001\nchannels: [{type: telegram, token: y}]\nagents: [{name: main, mode: direct}]\npolicy: {approvals: {expire: 2h}}\n": {
			"listen", "agents", "policy.approvals.expire", "channels",
		},
		base + "workflow: {default_skill: a}\nsandbox: {network: [example.com]}\nlimits: {turns: 7}\n": {"sandbox.network", "workflow.default_skill", "limits.turns"},
	} {
		var got [2]*config.Config
		for i, t2 := range []string{base, text} {
			c, err := config.Parse("etui.yaml", []byte(t2), nil)
			if err != nil {
				t.Fatalf("%s: %v", t2, err)
			}
			got[i] = c
		}
		if keys := config.Restart(got[0], got[1]); !slices.Equal(keys, want) {
			t.Errorf("%s: %q, want %q", text, keys, want)
		}
	}
}

// TestReferenceSaysWhatNeedsARestart: for every key, the reference and etui agree on whether a change takes
// effect while etui serves.
func TestReferenceSaysWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	followed := map[string]bool{}
	describe(reflect.TypeFor[config.Config](), "", false, followed)
	for _, key := range slices.Sorted(maps.Keys(followed)) {
		var changed config.Config
		at := reflect.ValueOf(&changed).Elem()
		for name := range strings.SplitSeq(key, ".") {
			at = at.FieldByNameFunc(func(field string) bool {
				f, _ := at.Type().FieldByName(field)
				return yamlName(f) == name
			})
		}
		fill(t, at)
		if keys := config.Restart(&config.Config{}, &changed); slices.Contains(keys, key) == followed[key] {
			t.Errorf("%s: the reference says that etui follows it: %t, and these need a restart: %q", key, followed[key], keys)
		}
	}
}

// describe collects which keys change while etui serves, by the help of the key or of what it is in.
func describe(s reflect.Type, path string, followed bool, all map[string]bool) {
	for i := range s.NumField() {
		f := s.Field(i)
		name, now := yamlName(f), followed
		switch help := f.Tag.Get("help"); {
		case name == "-" || name == "":
			continue
		case strings.Contains(help, "next start"):
			now = false
		case strings.Contains(help, "effect while etui serves"):
			now = true
		}
		key := strings.TrimPrefix(path+"."+name, ".")
		if f.Type.Kind() == reflect.Struct {
			describe(f.Type, key, now, all)
		} else {
			all[key] = now
		}
	}
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// fill gives a field another value than it has by default.
func fill(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		t.Fatalf("a key of the kind %s", v.Kind())
	}
}
