package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
)

// pythonHosts are what the building of a Python package may reach.
var pythonHosts = []string{"pypi.org", "files.pythonhosted.org"}

var errNoPython = errors.New("this needs Python 3 with the module venv, or uv: apt-get install python3-venv, or see https://docs.astral.sh/uv")

// python installs a package of PyPI and what it needs, in an environment of its own, by uv or,
// without it, by venv and pip. Both take wheels only: to build a package from its source runs
// its programs.
func (i *installation) python(ctx context.Context, l launched) (*Package, error) {
	specs := []string{requirement(l.spec)}
	for _, spec := range l.more {
		specs = append(specs, requirement(spec))
	}
	install, err := i.environment(ctx, l.python)
	if err != nil {
		return nil, err
	}
	read := beyond(filepath.Join(i.folder, "python", "bin", "python"))
	wheels := append(install, "--only-binary", ":all:", "--")
	if failed := i.run(ctx, append(wheels, specs...)...); failed != nil {
		source := []Script{{l.spec, "it has no wheel for this machine: pip builds it from its source"}}
		if !noWheel.MatchString(failed.Error()) {
			return nil, failed
		}
		if !i.agrees(source, pythonHosts) {
			return nil, fmt.Errorf("there is no such package, or one that it needs has no wheel for this machine; to build that runs its own programs, which nobody agreed to; the flag --build runs them in the sandbox: %w", failed)
		}
		if err := i.build(ctx, pythonHosts, read, settings(), append(append(install, "--"), specs...)...); err != nil {
			return nil, fmt.Errorf("building it in the sandbox: %w", err)
		}
	}
	p, err := i.entry(cmp.Or(l.program, packageName(l.spec)))
	if err != nil {
		return nil, err
	}
	p.Command, p.Read = append(p.Command, l.args...), read
	return p, nil
}

// environment makes the environment, and returns how packages are installed into it.
func (i *installation) environment(ctx context.Context, version string) (install []string, err error) {
	in := filepath.Join(i.folder, "python")
	python := filepath.Join(in, "bin", "python")
	made := i.run(ctx, append([]string{"uv", "venv", "--no-project", "--no-config", "--relocatable", in}, given("--python", version)...)...)
	if made == nil {
		return []string{"uv", "pip", "install", "--no-config", "--link-mode", "copy", "--python", python}, nil
	}
	if !errors.Is(made, sandbox.ErrNotFound) {
		return nil, fmt.Errorf("uv: %w", made)
	}
	tried := false
	for _, name := range []string{"python" + version, "python3", "python"} {
		if err = i.run(ctx, name, "-m", "venv", in); err == nil {
			return []string{python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--quiet"}, nil
		}
		tried = tried || !errors.Is(err, sandbox.ErrNotFound)
	}
	if !tried {
		return nil, errNoPython
	}
	return nil, fmt.Errorf("%w (%w)", errNoPython, err)
}

func given(option, value string) []string {
	if value == "" {
		return nil
	}
	return []string{option, value}
}

// entry writes the file that runs a program of a package, and returns its command.
func (i *installation) entry(program string) (*Package, error) {
	root, err := os.OpenRoot(i.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	lists, err := fs.Glob(root.FS(), "python/lib/python*/site-packages/*.dist-info/entry_points.txt")
	if err != nil {
		return nil, err
	}
	var others []string
	for _, list := range lists {
		text, err := skill.ReadFile(root, list, 1<<20)
		if err != nil {
			return nil, err
		}
		for name, target := range consoleScripts(text) {
			if normalized(name) != normalized(program) {
				others = append(others, name)
				continue
			}
			module, function, _ := strings.Cut(target, ":")
			function = strings.TrimSpace(strings.SplitN(function, "[", 2)[0])
			if !dotted.MatchString(module) || !dotted.MatchString(function) {
				return nil, fmt.Errorf("its program %s cannot be run: %q names no function", name, target)
			}
			dist, version, _ := strings.Cut(strings.TrimSuffix(path.Base(path.Dir(list)), ".dist-info"), "-")
			p := &Package{Registry: "PyPI", Name: normalized(dist), Version: version, Command: []string{"{package}/python/bin/python", "{package}/bin/" + normalized(program)}}
			first, _, _ := strings.Cut(function, ".")
			// pip writes a launcher of its own, but with the path of the folder before it was renamed.
			launcher := fmt.Sprintf("import sys\nfrom %s import %s\nsys.argv[0] = %q\nsys.exit(%s())\n", module, first, name, function)
			// A manifest makes the folder a package, whose code the pins of the server cover.
			manifest := fmt.Sprintf("[project]\nname = %q\nversion = %q\n", p.Name, p.Version)
			return p, errors.Join(root.Mkdir("bin", 0o755), root.WriteFile("bin/"+normalized(program), []byte(launcher), 0o644), root.WriteFile("pyproject.toml", []byte(manifest), 0o644))
		}
	}
	if len(others) > 20 {
		others = others[:20]
	}
	return nil, fmt.Errorf("no package has a program %s; there are %s. Name one: uvx --from PACKAGE PROGRAM", program, strings.Join(others, ", "))
}

// consoleScripts reads the programs of a package from the list of its entry points.
func consoleScripts(text []byte) map[string]string {
	found, in := map[string]string{}, false
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if strings.HasPrefix(line, "[") {
			in = line == "[console_scripts]"
			continue
		}
		if name, target, ok := strings.Cut(line, "="); ok && in {
			found[strings.TrimSpace(name)] = strings.ReplaceAll(target, " ", "")
		}
	}
	return found
}

var (
	noWheel  = regexp.MustCompile(`(?i)no matching distribution found|no wheels? (?:with|are|is|were)|has no usable wheels|no solution found`)
	dotted   = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$`)
	packaged = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*`)
	dashes   = regexp.MustCompile(`[-_.]+`)
)

// requirement turns a package as uvx takes it, such as ruff@0.3.0 or ruff@latest, into one as pip
// takes it.
func requirement(spec string) string {
	name, version, ok := strings.Cut(spec, "@")
	switch {
	case !ok || strings.Contains(version, "/") || strings.HasSuffix(name, " "): // name @ https://...
		return spec
	case version == "latest":
		return name
	}
	return name + "==" + version
}

// packageName is the name in a requirement.
func packageName(spec string) string {
	if strings.ContainsAny(spec, "/\\") && !strings.Contains(spec, " @ ") {
		return strings.TrimSuffix(path.Base(strings.SplitN(spec, "@", 2)[0]), ".git")
	}
	return packaged.FindString(spec)
}

// normalized is the one form of the names that mean the same package.
func normalized(name string) string { return dashes.ReplaceAllString(strings.ToLower(name), "-") }
