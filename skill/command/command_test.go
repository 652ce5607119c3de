//go:build unix

package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/command"
	"github.com/etui-run/etui/skill/skilltest"
)

func provider(t *testing.T, mode sandbox.Mode) *command.Provider {
	t.Helper()
	s, err := sandbox.New(sandbox.Config{Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	return command.New(s)
}

// script is a skill that runs a shell script in a folder of its own.
func script(t *testing.T, name, text string) skill.Config {
	t.Helper()
	return program(t, name, "#!/bin/sh\n"+text+"\n")
}

func program(t *testing.T, name, text string) skill.Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.sh"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return skill.Config{
		Name: name, Provider: "command", Command: []string{"./run.sh"}, Folder: root,
		Env: map[string]skill.Secret{"API_TOKEN": skilltest.Secret},
	}
}

func TestConformance(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Auto} {
		t.Run(string(mode), func(t *testing.T) { conformance(t, mode) })
	}
}

func conformance(t *testing.T, mode sandbox.Mode) {
	skilltest.Test(t, func(t *testing.T) skilltest.Harness {
		bad := func(change func(*skill.Config)) skill.Config {
			c := script(t, "bad", "cat")
			change(&c)
			return c
		}
		return skilltest.Harness{
			Provider:    provider(t, mode),
			Echo:        script(t, "echo", "cat"),
			Fails:       script(t, "fails", `echo "no such city" >&2; exit 3`),
			Slow:        script(t, "slow", `sleep 1000`),
			Unavailable: program(t, "unavailable", "#!/no/such/interpreter\n"),
			Rubbish:     script(t, "rubbish", `echo '{"a":1} and more'`),
			Large:       script(t, "large", `head -c 5000000 /dev/zero | tr '\0' 1`),
			Panics:      script(t, "panics", `kill -SEGV $$`),
			Leaks: []skill.Config{
				script(t, "tells", `printf '{"text":"'; printf %s "$API_TOKEN" | sed 's/"/\\"/g'; printf '"}'`),
				script(t, "complains", `echo "the token is $API_TOKEN" >&2; exit 1`),
			},
			Bad: map[string]skill.Config{
				"command": bad(func(c *skill.Config) { c.Command = nil }),
				"network": bad(func(c *skill.Config) { c.Network = []string{"https://api.example.org"} }),
				"env":     bad(func(c *skill.Config) { c.Env = map[string]skill.Secret{"A=B": "c"} }),
			},
		}
	})
}

func TestLoad(t *testing.T) {
	c := script(t, "count", "echo 1")
	for program, word := range map[string]string{"./gone.sh": "gone.sh", "../run.sh": "escapes", "no-such-program-here": "not found"} {
		bad := c
		bad.Command = []string{program}
		if _, err := provider(t, sandbox.Off).Load(bad); err == nil || !strings.HasPrefix(err.Error(), "command: ") || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", program, err)
		}
	}
	refused, err := provider(t, sandbox.None).Load(c)
	if err != nil {
		t.Fatal(err)
	}
	if unmet := skill.DetailsOf(refused).Unmet; len(unmet) != 1 || !strings.Contains(unmet[0], "mode: none") {
		t.Errorf("unmet: %q", unmet)
	}
	if _, err := refused.Execute(t.Context(), []byte("{}")); !errors.Is(err, skill.ErrProviderUnavailable) || !errors.Is(err, sandbox.ErrRefused) {
		t.Error(err)
	}
}

func TestFailureIsTold(t *testing.T) {
	s, err := provider(t, sandbox.Off).Load(script(t, "fails", `printf 'first\n\033[31mno such city\n' >&2; exit 3`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Execute(t.Context(), []byte("{}")); err == nil || err.Error() != "the skill failed: exit status 3: first\nno such city" {
		t.Error(err)
	}
}
