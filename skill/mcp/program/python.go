package program

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
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
)

// pythonHosts are what the building of a Python package may reach.
var pythonHosts = []string{"pypi.org", "files.pythonhosted.org"}

var errDisagreed = errors.New("nobody agreed to that; the flag --build runs them in the sandbox")

var errNoPython = errors.New("this needs Python 3 with the module venv, or uv: apt-get install python3-venv, or see https://docs.astral.sh/uv")

// python installs a package of PyPI and what it needs, in an environment of its own, by uv or,
// without it, by venv and pip. Both take wheels only: to build a package from its source runs
// its programs.
func (i *installation) python(ctx context.Context, l launchLine) (*Package, error) {
	specs := []string{requirement(l.spec)}
	for _, spec := range l.more {
		specs = append(specs, requirement(spec))
	}
	build := slices.ContainsFunc(specs, isSource)
	if build && !i.agrees([]Script{{l.spec, "it is built from its source"}}, pythonHosts) {
		return nil, fmt.Errorf("to build it from its source runs its own programs, and %w", errDisagreed)
	}
	install, err := i.environment(ctx, l.python)
	if err != nil {
		return nil, err
	}
	read := beyond(filepath.Join(i.folder, "python", "bin", "python"))
	if !build {
		failed := i.run(ctx, slices.Concat(install, []string{"--only-binary", ":all:", "--"}, specs)...)
		if failed != nil && !noWheel.MatchString(failed.Error()) {
			return nil, failed
		}
		build = failed != nil
		if build && !i.agrees([]Script{{l.spec,
			"it, or a package that it needs, has no wheel for this machine: it is built from its source"}},
			pythonHosts) {
			return nil,
				fmt.Errorf("there is no such package, or one that it needs has no wheel for this machine; to build that runs its own programs, and %w: %w", errDisagreed, failed)
		}
	}
	if build {
		if uv := install[0]; filepath.Base(uv) == "uv" && !sandbox.System(uv) {
			read = append(read, uv)
		}
		sources := filepath.Join(i.folder, "source")
		for n, spec := range specs {
			if info, err := os.Stat(spec); filepath.IsAbs(spec) && err == nil && info.IsDir() { // builds write beside the source
				specs[n] = filepath.Join(sources, strconv.Itoa(n))
				if err := os.CopyFS(specs[n], os.DirFS(spec)); err != nil {
					return nil, err
				}
			} else if filepath.IsAbs(spec) {
				read = append(read, spec)
			}
		}
		if err := i.build(ctx, pythonHosts, read, settings(),
			slices.Concat(install, []string{"--"}, specs)...); err != nil {
			return nil, fmt.Errorf("building it in the sandbox: %w", err)
		}
		if err := os.RemoveAll(sources); err != nil {
			return nil, err
		}
	}
	p, err := i.entry(cmp.Or(l.program, packageName(l.spec)))
	if err != nil {
		return nil, err
	}
	p.Command, p.Read = append(p.Command, l.args...), beyond(filepath.Join(i.folder, "python", "bin", "python"))
	return p, nil
}

// environment makes the environment, and returns how packages are installed into it.
func (i *installation) environment(ctx context.Context, version string) (install []string, err error) {
	in := filepath.Join(i.folder, "python")
	python := filepath.Join(in, "bin", "python")
	if uv, err := sandbox.Find("", "uv"); err == nil {
		if uv, err = filepath.EvalSymlinks(uv); err != nil {
			return nil, err
		}
		if err := i.run(ctx, append([]string{uv, "venv", "--no-project", "--no-config", "--relocatable", in},
			given("--python", version)...)...); err != nil {
			return nil, fmt.Errorf("uv: %w", err)
		}
		return []string{uv, "pip", "install", "--no-config", "--link-mode", "copy", "--python", python}, nil
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
			p := &Package{Registry: "PyPI", Name: normalized(dist), Version: version,
				Command: []string{"{package}/python/bin/python", "{package}/bin/" + normalized(program)}}
			first, _, _ := strings.Cut(function, ".")
			// pip writes a launcher of its own, but with the path of the folder before it was renamed.
			launcher := fmt.Sprintf("import sys\nfrom %s import %s\nsys.argv[0] = %q\nsys.exit(%s())\n", module, first,
				name,
				function)
			// A manifest makes the folder a package, whose code the pins of the server cover.
			manifest := fmt.Sprintf("[project]\nname = %q\nversion = %q\n", p.Name, p.Version)
			return p, errors.Join(root.Mkdir("bin", 0o755), root.WriteFile("bin/"+normalized(program), []byte(launcher),
				0o644), root.WriteFile("pyproject.toml", []byte(manifest), 0o644))
		}
	}
	if len(others) > 20 {
		others = others[:20]
	}
	return nil, fmt.Errorf("no package has a program %s; there are %s. Name one: uvx --from PACKAGE PROGRAM", program,
		strings.Join(others, ", "))
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

// isSource reports whether pip would build a requirement whatever it is told about wheels: a folder,
// a repository, or an archive at an address.
func isSource(spec string) bool {
	return strings.Contains(spec, "/") && !strings.HasSuffix(strings.SplitN(spec, "#", 2)[0], ".whl")
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
