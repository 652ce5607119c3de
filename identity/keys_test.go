package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/identity"
)

// TestKeysReload: a file that people edit takes effect whole or not at all.
func TestKeysReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := func(k *identity.Keys) string {
		var list []string
		for _, key := range k.List() {
			list = append(list, key.Name)
		}
		return strings.Join(list, " ")
	}
	const created, hash = `"created": "2026-01-01T00:00:00Z"`, `"hash": "578fbd1ac53f8cb1b9c294ad8ed3ed6bed15221935ac1d1494479e64271d7b8b"`
	write(`[{"name": "laptop", "user": "alice", ` + created + `, ` + hash + `}]`)
	keys, err := identity.OpenKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, says, names string }{
		{"broken", `[{"name": "laptop"`, "unexpected EOF", "laptop"},
		{"unknown field", `[{"name": "laptop", "operater": true}]`, `unknown field "operater"`, "laptop"},
		{"something after", `[] []`, "something after the list", "laptop"},
		{"the same name", `[{"name": "laptop"}, {"name": "Laptop"}]`, `two keys "Laptop"`, "laptop"},
		{"a person's and an operator's", `[{"name": "laptop", "user": "alice", "operator": true}]`, "not both", "laptop"},
		{"another", `[{"name": "phone", "user": "alice"}, {"name": "tv", "for_others": true}]`, "", "phone tv"},
	} {
		write(c.text)
		changed, err := keys.Reload(nil)
		if c.says == "" && (err != nil || !changed) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: changed is %v, %v", c.name, changed, err)
		}
		if got := names(keys); got != c.names {
			t.Errorf("%s: the keys are %s, want %s", c.name, got, c.names)
		}
	}
	write(`[]`)
	if changed, err := keys.Reload(func() bool { return false }); changed || err != nil {
		t.Errorf("a file that may not be trusted: changed is %v, %v", changed, err)
	}
	if _, err := keys.Add(identity.Key{Name: "new"}, time.Now()); err == nil || !strings.Contains(err.Error(), "changed by hand") {
		t.Errorf("a key is added to a changed file: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Reload(nil); err == nil || !strings.Contains(err.Error(), "the file is gone") {
		t.Errorf("without the file: %v", err)
	}
	if got := names(keys); got != "phone tv" {
		t.Errorf("without the file, the keys are %s", got)
	}
	if _, err := keys.Add(identity.Key{Name: "new"}, time.Now()); err != nil {
		t.Error(err)
	}
	if changed, err := keys.Reload(nil); changed || err != nil {
		t.Errorf("after a change of its own: changed is %v, %v", changed, err)
	}
}
