package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/trust"
)

// open is a configuration that has to be confirmed: it switches the sandbox off.
const open = "sandbox: {mode: off}\n"

// TestCheck: a configuration takes effect once what it would allow was confirmed, and again only when
// that grows.
func TestCheck(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	c := at(t)
	var unconfirmed *trust.UnconfirmedError
	if err := c.Check([]byte(open), nil); !errors.As(err, &unconfirmed) {
		t.Fatalf("nobody has confirmed it: %v", err)
	}
	var usage config.UsageError
	if !errors.As(unconfirmed, &usage) || !strings.Contains(unconfirmed.Error(), "etui --workspace "+c.Dir+" config trust") {
		t.Errorf("it says %v", unconfirmed)
	}
	if err := unconfirmed.Confirm(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{open: true, "log: {level: debug}\n": true, open + "skills: {env: [HOME]}\n": false} {
		if err := c.Check([]byte(text), nil); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if list := trust.In(filepath.Dir(c.Dir)); len(list) != 1 || filepath.Base(list[0].Dir) != filepath.Base(c.Dir) {
		t.Errorf("confirmed below it: %+v", list)
	}
}

// TestSkillsOfOthers: skills in a folder that nobody has confirmed are asked about; in one that was
// confirmed, those that come later are not.
func TestSkillsOfOthers(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	c := at(t)
	skills := filepath.Join(c.Dir, "skills")
	if err := os.Mkdir(skills, 0o700); err != nil {
		t.Fatal(err)
	}
	owned, foreign := c, c
	foreign.File += "2"
	if err := owned.Check(nil, []string{skills}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(skills, "a.yaml"), []byte("name: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := owned.Check(nil, []string{skills}); err != nil {
		t.Errorf("a skill that came later: %v", err)
	}
	if err := foreign.Check(nil, []string{skills}); err == nil {
		t.Error("a skill that was there first is not asked about")
	}
}

// TestVariable: a service lists what needs no confirmation, with absolute paths only.
func TestVariable(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	c := at(t)
	for value, want := range map[string]string{c.Dir: "", c.File: "", "/elsewhere": "not in effect", "here": "absolute paths"} {
		c.Environ = []string{trust.Variable + "=" + value}
		if err := c.Check([]byte(open), nil); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s=%s: %v", trust.Variable, value, err)
		}
	}
}

func at(t *testing.T) trust.Configuration {
	t.Helper()
	dir := t.TempDir()
	return trust.Configuration{File: filepath.Join(dir, config.File), Dir: dir}
}
