package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
)

// buildHosts are what the programs of npm packages may reach: they fetch the headers of Node.js
// and binaries that were built before.
var buildHosts = []string{"registry.npmjs.org", "nodejs.org", "github.com", "*.githubusercontent.com"}

// maxScripts is how many programs of packages a person is asked about at once.
const maxScripts = 50

// npm installs a package of npm.
func (i *installation) npm(ctx context.Context, l launchLine) (*Package, error) {
	if err := os.WriteFile(filepath.Join(i.folder, "package.json"), []byte("{\"private\":true}\n"), 0o600); err != nil {
		return nil, err
	}
	args := append([]string{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact",
		"--install-links", "--omit=dev", "--", l.spec}, l.more...)
	if err := i.run(ctx, args...); errors.Is(err, sandbox.ErrNotFound) {
		return nil, fmt.Errorf("npm is needed, which comes with Node.js: %w", err)
	} else if err != nil {
		return nil, fmt.Errorf("npm: %w", err)
	}
	root, err := os.OpenRoot(i.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	p, err := installed(root, l.program, l.args)
	if err != nil {
		return nil, err
	}
	node, _ := sandbox.Find("", "node") // npm has run, so it is there
	p.Read = beyond(node)
	if p.Unbuilt, err = scripts(root); err != nil || len(p.Unbuilt) == 0 || !i.agrees(p.Unbuilt, buildHosts) {
		return p, err
	}
	env := map[string]string{"npm_config_ignore_scripts": "false", "npm_config_jobs": "max"}
	if node, err := filepath.EvalSymlinks(node); err == nil {
		// Most packages of Node.js bring the headers that native modules are built with.
		prefix := filepath.Dir(filepath.Dir(node))
		if _, err := os.Stat(filepath.Join(prefix, "include", "node", "node_version.h")); err == nil {
			env["npm_config_nodedir"] = prefix
		}
	}
	if err := i.build(ctx, buildHosts, p.Read, env, "npm", "rebuild", "--foreground-scripts", "--no-audit",
		"--no-fund"); err != nil {
		return nil, fmt.Errorf("running the programs of its packages in the sandbox: %w", err)
	}
	p.Unbuilt = nil
	return p, nil
}

// installed returns the package that npm has installed in a folder.
func installed(root *os.Root, program string, args []string) (*Package, error) {
	var own struct{ Dependencies map[string]string }
	if err := readJSON(root, "package.json", &own); err != nil {
		return nil, err
	}
	p := &Package{Registry: "npm"}
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

// scripts returns the programs that packages want to run, which npm was told not to run.
func scripts(root *os.Root) (list []Script, err error) {
	var lock struct {
		Packages map[string]struct{ HasInstallScript bool }
	}
	if err := readJSON(root, "node_modules/.package-lock.json", &lock); err != nil {
		return nil, err
	}
	for _, at := range slices.Sorted(maps.Keys(lock.Packages)) {
		if !lock.Packages[at].HasInstallScript || len(list) == maxScripts {
			continue
		}
		var manifest struct {
			Name, Version string
			Scripts       map[string]string
		}
		if err := readJSON(root, at+"/package.json", &manifest); err != nil {
			return nil, err
		}
		var commands []string
		for _, name := range []string{"preinstall", "install", "postinstall"} {
			if text := manifest.Scripts[name]; text != "" {
				commands = append(commands, text)
			}
		}
		if len(commands) == 0 {
			commands = []string{"node-gyp rebuild"} // npm's own, for a package with native code
		}
		list = append(list, Script{printable.Line(manifest.Name+" "+manifest.Version, 100),
			printable.Line(strings.Join(commands, "; "), 200)})
	}
	return list, nil
}

func readJSON(root *os.Root, name string, v any) error {
	raw, err := skill.ReadFile(root, name, 8<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("npm has installed no such package: %s is missing", name)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
