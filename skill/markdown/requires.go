package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
)

// Requirements are what a skill needs of its machine, as written in
// metadata.openclaw of a SKILL.md or under an older name of that key.
type Requirements struct {
	Bins    []string // programs, all of them
	AnyBins []string // programs, one of them
	Env     []string // environment variables, all of them
	Config  []string // settings of another client
	OS      []string // operating systems, one of them, as GOOS names them
}

// Machine says what a machine has. A nil function or an empty GOOS turns off that
// check.
type Machine struct {
	// LookPath finds a program or returns an error.
	LookPath func(program string) (string, error)
	// LookupEnv finds an environment variable. Its value is never shown.
	LookupEnv func(name string) (string, bool)
	// GOOS is the operating system, as in runtime.GOOS.
	GOOS string
}

// LocalMachine returns this machine.
func LocalMachine() Machine {
	return Machine{LookPath: lookPath, LookupEnv: os.LookupEnv, GOOS: runtime.GOOS}
}

// lookPath finds a program in the folders of PATH.
func lookPath(program string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, suffix := range []string{"", ".exe", ".cmd", ".bat"} {
			file := filepath.Join(dir, program+suffix)
			info, err := os.Stat(file)
			if err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w", program, os.ErrNotExist)
}

// Unmet returns the requirements that a machine does not meet, as sentences.
func (r Requirements) Unmet(m Machine) (list []string) {
	if m.GOOS != "" && len(r.OS) > 0 && !slices.Contains(r.OS, m.GOOS) {
		list = append(list, fmt.Sprintf("it works only on %s, and this is %s", strings.Join(r.OS, ", "), m.GOOS))
	}
	has := func(program string) bool {
		_, err := m.LookPath(program)
		return err == nil
	}
	if m.LookPath != nil {
		for _, program := range r.Bins {
			if !has(program) {
				list = append(list, fmt.Sprintf("the program %s is not installed", program))
			}
		}
		if len(r.AnyBins) > 0 && !slices.ContainsFunc(r.AnyBins, has) {
			list = append(list, fmt.Sprintf("none of the programs %s is installed", strings.Join(r.AnyBins, ", ")))
		}
	}
	if m.LookupEnv != nil {
		for _, name := range r.Env {
			if value, ok := m.LookupEnv(name); !ok || value == "" {
				list = append(list, fmt.Sprintf("the environment variable %s is not set", name))
			}
		}
	}
	return list
}

// clients are the metadata keys that one family of clients reads.
var clients = []string{"openclaw", "clawdbot", "clawdis", "moltbot"}

// metadata reads the version and the requirements.
func (p *parser) metadata(d *Document, n *yaml.Node) {
	n = p.structure(n)
	if v := form.Get(n, "version"); v != nil && d.Version == "" {
		d.Version = p.line(map[string]*yaml.Node{"version": v}, "version", maxName)
	}
	for _, client := range clients {
		if c := p.structure(form.Get(n, client)); c != nil && !truth(form.Get(c, "always")) {
			d.Requires = p.requires(c)
			return
		}
	}
}

func (p *parser) requires(n *yaml.Node) Requirements {
	words := func(n *yaml.Node) []string { return p.list(n, splitCommas) }
	needs := p.structure(form.Get(n, "requires"))
	r := Requirements{
		Bins: words(form.Get(needs, "bins")), AnyBins: words(form.Get(needs, "anyBins")),
		Env: words(form.Get(needs, "env")), Config: words(form.Get(needs, "config")), OS: words(form.Get(n, "os")),
	}
	for i, name := range r.OS {
		r.OS[i] = goos(name)
	}
	if len(r.Config) > 0 {
		p.warn(n.Line, "metadata", "it needs settings of another client, which etui cannot check: %s",
			strings.Join(r.Config, ", "))
	}
	return r
}

// goos returns Go's name of an operating system.
func goos(name string) string {
	switch name = strings.ToLower(name); name {
	case "macos", "mac", "osx":
		return "darwin"
	case "win32", "win":
		return "windows"
	}
	return name
}

// structure returns a value that may be written as text with JSON in it.
func (p *parser) structure(n *yaml.Node) *yaml.Node {
	if n == nil || n.Kind != yaml.ScalarNode || !strings.HasPrefix(strings.TrimSpace(n.Value), "{") {
		return n
	}
	inner, bad := parseYAML(strings.Split(n.Value, "\n"))
	if bad != nil {
		p.warn(n.Line, "metadata", "metadata holds text that is not JSON; it was left out")
		return nil
	}
	move(inner, n.Line-1)
	return inner
}
