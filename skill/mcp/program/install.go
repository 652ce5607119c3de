package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/tool/foreign"
)

// Package is a package that was installed for a server.
type Package struct {
	// Registry is "npm" or "PyPI". Name and Version are exact.
	Registry, Name, Version string
	// Command runs the package in the skill's file.
	Command []string
	// Read are folders that the command needs to read, beyond those that every program
	// sees: an interpreter in a home folder.
	Read []string
	// Unbuilt are the programs of packages that were not run.
	Unbuilt []Script

	folder string
}

// Script is a program of a package that wants to run while the package is installed. Native
// modules are built or fetched by one.
type Script struct {
	Package string `json:"package"`
	Command string `json:"command"`
}

// Folder is the folder of the installed package in that of its server.
const Folder = "package"

// replacedFolder is that of the package before it.
const replacedFolder = ".replaced"

// Keep ends an installation: what it replaced is removed.
func (p *Package) Keep() error { return os.RemoveAll(filepath.Join(p.folder, replacedFolder)) }

// Undo puts back what an installation replaced.
func (p *Package) Undo() error {
	final := filepath.Join(p.folder, Folder)
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	return rename(filepath.Join(p.folder, replacedFolder), final)
}

// rename renames a folder, if it is there.
func rename(from, to string) error {
	if err := os.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ErrNoPackage says that a command line runs no package that [Installer] can install.
var ErrNoPackage = errors.New("the command does not run a package of npm or PyPI")

// The bounds of an installation, and of the programs of packages that it runs.
const (
	installTime = 5 * time.Minute
	buildTime   = 10 * time.Minute
	buildMemory = 4 << 30
)

// fromEnvironment are variables that installers need beside the standard ones: their own
// settings, and how to reach the network.
var (
	fromEnvironment = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "NPM_TOKEN"}
	ownSettings = []string{"npm_config_", "pip_", "uv_"}
)

// Installer installs the packages of servers where their programs can run them without a
// network.
type Installer struct {
	// State has a folder for each server.
	State string
	// Sandbox runs the programs of packages.
	Sandbox *sandbox.Sandbox
	// Agree asks a person whether the programs of packages may run, in the sandbox and with
	// access to the given hosts. Nil answers no.
	Agree func(scripts []Script, hosts []string) bool
}

// installation is one run of an Installer.
type installation struct {
	*Installer
	folder string // of the new package
}

// launchLine is a command line that runs a package of a registry.
type launchLine struct {
	registry string   // npm or PyPI
	spec     string   // the package as the command line names it, perhaps with a version
	more     []string // further packages
	program  string   // empty: the package's own
	python   string   // the version of Python that it asks for
	args     []string // of the program
}

// Install installs the package that a command line such as "npx -y
// @modelcontextprotocol/server-memory" or "uvx mcp-server-fetch" runs, in the newest version
// that it allows, and returns the command that runs it without a network. It replaces what
// was installed for the server before, until [Package.Undo]; the caller ends with that or
// with [Package.Keep]. The installer, npm or pip or uv, has the rights of etui's user and runs
// no program of a package; those run in the sandbox once a person agreed. The error wraps
// ErrNoPackage for other commands.
func (i *Installer) Install(ctx context.Context, server string, command []string) (_ *Package, err error) {
	l, ok := launch(command)
	switch {
	case !ok:
		return nil, ErrNoPackage
	case server == "" || foreign.Name(server, len(server)) != server:
		return nil, fmt.Errorf("name: %q may have letters, digits, '_' and '-' only", server)
	case strings.HasPrefix(l.spec, "-"):
		return nil, fmt.Errorf("%q is no package", l.spec)
	case strings.HasPrefix(l.spec, "."):
		if l.spec, err = filepath.Abs(l.spec); err != nil {
			return nil, err
		}
	}
	folder := filepath.Join(i.State, server)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	fresh, err := os.MkdirTemp(folder, ".new-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	install := (&installation{i, fresh}).npm
	if l.registry == "PyPI" {
		install = (&installation{i, fresh}).python
	}
	p, err := install(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("installing %s: %w", l.spec, err)
	}
	p.folder = folder
	final, replaced := filepath.Join(folder, Folder), filepath.Join(folder, replacedFolder)
	if err := errors.Join(os.RemoveAll(replaced), rename(final, replaced)); err != nil {
		return nil, err
	}
	return p, os.Rename(fresh, final)
}

// launch takes the command line of a launcher apart. It reports false for others.
func launch(command []string) (launchLine, bool) {
	name := filepath.Base(command[0])
	by := fetchers[name]
	if by == nil || len(command) <= len(by) || !slices.Equal(command[1:1+len(by)], by) {
		return launchLine{}, false
	}
	l := launchLine{registry: "npm"}
	switch name {
	case "uvx", "uv", "pipx":
		l.registry = "PyPI"
	case "docker", "podman", "go":
		return launchLine{}, false
	}
	rest := command[1+len(by):]
	for i := 0; i < len(rest); i++ {
		option, value, given := strings.Cut(rest[i], "=")
		takes := slices.Contains([]string{"-p", "--package", "--from", "--spec", "--with", "--python"}, option) ||
			takesOther[option]
		if name == "uvx" || name == "uv" {
			takes = takes || slices.Contains([]string{"-w", "--index", "--index-url", "--extra-index-url",
				"--default-index",
				"--directory"}, option)
		}
		if takes && !given && i+1 < len(rest) {
			i++
			value = rest[i]
		}
		switch {
		case option == "--python" || option == "-p" && strings.HasPrefix(name, "uv"):
			l.python = value
		case option == "--package", option == "-p", option == "--from", option == "--spec":
			l.spec = value
		case option == "--with", option == "-w":
			l.more = append(l.more, strings.Split(value, ",")...)
		case strings.HasPrefix(rest[i], "-"), takes:
		case l.spec == "":
			l.spec, l.args = rest[i], rest[i+1:]
			return l, true
		default:
			l.program, l.args = rest[i], rest[i+1:]
			return l, true
		}
	}
	return l, l.spec != ""
}

// run runs an installer with the rights of etui's user.
func (i *installation) run(ctx context.Context, args ...string) error {
	open, err := sandbox.New(sandbox.Config{Mode: sandbox.Off}) // the installer is the user's own
	if err != nil {
		return err
	}
	defer func() { _ = open.Close() }()
	return i.finish(open.Run(ctx, sandbox.Command{Args: args, Dir: i.folder, Env: settings(),
		Limits: sandbox.Limits{Wall: installTime}}))
}

// build runs an installer that runs programs of packages, in the sandbox. They write the
// folder of the package and nothing else.
func (i *installation) build(ctx context.Context, hosts, read []string, env map[string]string, args ...string) error {
	if i.Sandbox.Network() != nil {
		hosts = nil // what needs no network may still be built
	}
	return i.finish(i.Sandbox.Run(ctx, sandbox.Command{
		Args: args, Dir: i.folder, Workspace: i.folder, ReadOnly: read, Network: hosts, Env: env,
		Limits: sandbox.Limits{Wall: buildTime, CPU: buildTime * 2, ProcessMemory: buildMemory, Memory: buildMemory},
	}))
}

func (i *installation) finish(result sandbox.Result, err error) error {
	if err == nil && result.Exit != 0 {
		says := printable.Excerpt([]byte(result.Stderr.String()+"\n"+result.Stdout.String()), nil)
		err = fmt.Errorf("it ended with exit code %d: %s", result.Exit, strings.TrimSpace(says))
	}
	return err
}

// agrees asks a person once whether programs of packages may run.
func (i *installation) agrees(scripts []Script, hosts []string) bool {
	return i.Agree != nil && i.Sandbox != nil && i.Sandbox.Ready() == nil && i.Agree(scripts, hosts)
}

// beyond returns the folder of an interpreter that is not one of the system's.
func beyond(interpreter string) []string {
	file, err := filepath.EvalSymlinks(interpreter)
	if err != nil || sandbox.System(file) {
		return nil
	}
	return []string{filepath.Dir(filepath.Dir(file))}
}

// settings are the variables of the environment that installers get.
func settings() map[string]string {
	env := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		own := slices.ContainsFunc(ownSettings, func(prefix string) bool {
			return strings.HasPrefix(strings.ToLower(name),
				prefix)
		})
		if own || slices.Contains(fromEnvironment, name) {
			env[name] = value
		}
	}
	return env
}
