package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
)

// Package is an npm package that was installed for a server.
type Package struct {
	// Name and Version are exact.
	Name, Version string
	// Command runs the package in the skill's file.
	Command []string

	folder string
}

// The folders of the installed package and of the one before it, in the folder of a server.
const packageFolder, replacedFolder = "package", ".replaced"

// Keep ends an installation: what it replaced is removed.
func (p *Package) Keep() error { return os.RemoveAll(filepath.Join(p.folder, replacedFolder)) }

// Undo puts back what an installation replaced.
func (p *Package) Undo() error {
	final := filepath.Join(p.folder, packageFolder)
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

// ErrNoPackage says that a command line runs no npm package by npx.
var ErrNoPackage = errors.New("the command does not run an npm package by npx")

// installTime bounds the installation of a package.
const installTime = 5 * time.Minute

// fromEnvironment are variables that npm needs beside the standard ones: its own settings,
// and how to reach the network.
var fromEnvironment = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "NPM_TOKEN"}

// Install installs the npm package that a command line such as "npx -y
// @modelcontextprotocol/server-memory" runs, in the newest version that it allows, and
// returns the command that runs it without a network. state is Config.State. It replaces
// what was installed for the server before, until [Package.Undo]; the caller ends with that
// or with [Package.Keep]. npm runs with the rights of etui's user and
// runs no scripts of packages. The error wraps ErrNoPackage for other commands.
func Install(ctx context.Context, state, server string, command []string) (_ *Package, err error) {
	spec, program, args := npx(command)
	if spec == "" {
		return nil, ErrNoPackage
	}
	if checkName(server) != nil {
		return nil, fmt.Errorf("name: %q may have letters, digits, '_' and '-' only", server)
	}
	if strings.HasPrefix(spec, ".") {
		if spec, err = filepath.Abs(spec); err != nil {
			return nil, err
		}
	}
	folder := filepath.Join(state, server)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	fresh, err := os.MkdirTemp(folder, ".new-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	if err := npmInstall(ctx, fresh, spec); err != nil {
		return nil, fmt.Errorf("installing %s: %w", spec, err)
	}
	p, err := installed(fresh, program, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec, err)
	}
	p.folder = folder
	final, replaced := filepath.Join(folder, packageFolder), filepath.Join(folder, replacedFolder)
	if err := errors.Join(os.RemoveAll(replaced), rename(final, replaced)); err != nil {
		return nil, err
	}
	return p, os.Rename(fresh, final)
}

// npx takes a command line of npx apart: the package, the program if one is named, and
// the program's arguments.
func npx(command []string) (spec, program string, args []string) {
	if filepath.Base(command[0]) != "npx" {
		return "", "", nil
	}
	for i := 1; i < len(command); i++ {
		option, value, given := strings.Cut(command[i], "=")
		switch {
		case option == "-p" || option == "--package":
			if !given && i+1 < len(command) {
				i++
				value = command[i]
			}
			spec = value
		case strings.HasPrefix(option, "-"):
		case spec == "":
			return command[i], "", command[i+1:]
		default:
			return spec, command[i], command[i+1:]
		}
	}
	return spec, "", nil
}

// npmInstall installs a package in a folder.
func npmInstall(ctx context.Context, folder, spec string) error {
	if strings.HasPrefix(spec, "-") {
		return errors.New("this is no package")
	}
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte("{\"private\":true}\n"), 0o600); err != nil {
		return err
	}
	programs, err := sandbox.New(sandbox.Config{Mode: sandbox.Off}) // npm is the user's own, and runs no scripts
	if err != nil {
		return err
	}
	defer func() { _ = programs.Close() }()
	env := map[string]string{}
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(strings.ToLower(name), "npm_config_") || slices.Contains(fromEnvironment, name) {
			env[name] = value
		}
	}
	result, err := programs.Run(ctx, sandbox.Command{
		Args: []string{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--install-links", "--omit=dev", "--", spec}, Dir: folder, Env: env,
		Limits: sandbox.Limits{Wall: installTime},
	})
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return fmt.Errorf("npm is needed, which comes with Node.js: %w", err)
	case err != nil:
		return err
	case result.Exit != 0:
		return fmt.Errorf("npm: %s", printable.Excerpt([]byte(result.Stderr.String()), nil))
	}
	return nil
}

// installed returns the package that npm has installed in a folder.
func installed(folder, program string, args []string) (*Package, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var own struct{ Dependencies map[string]string }
	if err := readJSON(root, "package.json", &own); err != nil {
		return nil, err
	}
	p := &Package{}
	for p.Name = range own.Dependencies { // there is one
	}
	var manifest struct {
		Version string
		Bin     any
	}
	at := path.Join("node_modules", p.Name)
	if err := readJSON(root, at+"/package.json", &manifest); err != nil {
		return nil, err
	}
	file := ""
	switch bin := manifest.Bin.(type) {
	case string:
		file = bin
	case map[string]any:
		for _, name := range []string{program, path.Base(p.Name)} {
			if text, ok := bin[name].(string); ok && file == "" && name != "" {
				file = text
			}
		}
		if len(bin) == 1 && program == "" {
			for _, text := range bin {
				file, _ = text.(string)
			}
		}
	}
	if file == "" || !filepath.IsLocal(file) {
		return nil, fmt.Errorf("the package %s has no program %s to run", p.Name, program)
	}
	p.Version = manifest.Version
	p.Command = append([]string{"node", "{package}/" + path.Join(at, file)}, args...)
	return p, nil
}

func readJSON(root *os.Root, name string, v any) error {
	raw, err := skill.ReadFile(root, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("npm has installed no such package")
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
