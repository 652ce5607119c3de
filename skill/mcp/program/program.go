// Package program knows the programs of MCP servers: which code a command line runs, which
// package of npm or PyPI it fetches, and in which version. [Installer] puts such a package
// where it runs without a network. Only the installers, npm, pip and uv, run with the rights of etui's
// user; the programs of packages run in the sandbox, once a person agreed.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/sandbox"
)

// The bounds of what is read of a package: further files count with their names and
// sizes only.
const (
	maxProgram      = 256 << 20 // bytes
	maxProgramFiles = 5000
)

// Identify identifies the code that a command line runs: the program's file, or the
// script or package that an interpreter runs. It is empty if that cannot be known from
// files, as for npx. Interpreters and what a script imports from elsewhere do not count.
func Identify(command []string, dir string) string {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command[0])), ".exe")
	var path string
	if runs := strings.TrimRight(name, "0123456789."); interpreters[runs] || launchers[runs] {
		path = script(command[1:], dir, launchers[runs])
	} else if found, err := sandbox.Find(dir, command[0]); err == nil {
		path = found
	}
	if path == "" {
		return ""
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	root, inPackage := packageOf(path)
	h := sha256.New()
	if inPackage {
		err = hashPackage(h, root, path)
	} else {
		root, err = path, hashFile(h, path)
	}
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s (sha256:%s)", root, hex.EncodeToString(h.Sum(nil)[:10]))
}

var (
	interpreters = wordSet("node nodejs bun deno python pypy ruby php perl java dotnet sh bash dash zsh lua tsx ts-node rscript")
	launchers    = wordSet("npx npm pnpm yarn bunx uv uvx pipx docker podman go")
	subcommands  = wordSet("run exec dlx tool x start")
	// takesPath are options with the code that runs.
	takesPath = wordSet("-jar --directory --project --cwd --prefix -C")
	// takesOther are options with a value that is no path of code.
	takesOther = wordSet("-r --require --import --loader --max-old-space-size --with --python -p --package --call --registry")
)

// script returns the script or folder that an interpreter or a launcher runs; empty if
// the arguments name none.
func script(args []string, dir string, launcher bool) string {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case takesPath[arg] && i+1 < len(args):
			return existing(args[i+1], dir)
		case takesOther[arg]:
			i++
		case !launcher && slices.Contains([]string{"-m", "-c", "-e", "--eval", "-"}, arg):
			return ""
		case strings.HasPrefix(arg, "-"), subcommands[arg]:
		default:
			return existing(arg, dir)
		}
	}
	return ""
}

func existing(path, dir string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// manifests are the files that make a folder a package.
var manifests = []string{"package.json", "pyproject.toml", "deno.json", "composer.json", "Gemfile"}

// packageOf returns the folder of the package that a file belongs to.
func packageOf(path string) (string, bool) {
	dir := path
	for range 5 {
		for _, name := range manifests {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return dir, true
			}
		}
		if dir = filepath.Dir(dir); dir == "/" || dir == "." || isSystem(dir) {
			break
		}
	}
	return "", false
}

// isSystem reports folders that hold programs of many packages.
func isSystem(dir string) bool {
	return slices.Contains([]string{"/usr", "/usr/bin", "/usr/local", "/usr/local/bin", "/usr/lib", "/opt", "/home",
		"/root", "/tmp"}, dir)
}

// hashPackage hashes the code of a package, and the versions of the packages beside it.
// Data that a server keeps in its own folder does not count.
func hashPackage(h io.Writer, root, main string) error {
	files, left := 0, int64(maxProgram)
	hash := func(path string, size int64) error {
		files++
		fmt.Fprintf(h, "%s\x00%d\x00", strings.TrimPrefix(path, root), size)
		if left -= size; left < 0 || files > maxProgramFiles {
			return nil
		}
		return hashFile(h, path)
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root &&
			(strings.HasPrefix(d.Name(), ".") ||
				slices.Contains([]string{"node_modules", "__pycache__", "venv"}, d.Name())):
			return fs.SkipDir
		case !d.Type().IsRegular() || path != main && !codeEndings[strings.ToLower(filepath.Ext(path))] &&
			!codeFiles[d.Name()]:
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return hash(path, info.Size())
	})
	if err != nil {
		return err
	}
	// npm writes the exact versions of all packages that it installed into this file.
	for _, list := range []string{filepath.Join(root, "node_modules", ".package-lock.json"),
		filepath.Join(installedIn(root), ".package-lock.json")} {
		if info, err := os.Stat(list); err == nil {
			if err := hash(list, info.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}

// installedIn returns the node_modules folder that a package is in.
func installedIn(root string) string {
	for dir := filepath.Dir(root); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "node_modules" {
			return dir
		}
	}
	return root
}

var (
	codeEndings = wordSet(".js .mjs .cjs .ts .mts .py .rb .php .pl .lua .sh .so .node .wasm .jar .class .dll .exe")
	codeFiles   = wordSet("package.json package-lock.json pnpm-lock.yaml yarn.lock pyproject.toml uv.lock requirements.txt deno.json deno.lock composer.json composer.lock Gemfile Gemfile.lock")
)

func hashFile(h io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(h, io.LimitReader(f, maxProgram))
	return err
}

// UnpinnedPackage returns the package that a command line fetches in whatever version is newest
// when it starts; empty if it names a version or fetches nothing.
func UnpinnedPackage(command []string) string {
	name, args := filepath.Base(command[0]), command[1:]
	images := name == "docker" || name == "podman"
	if by := fetchers[name]; by == nil || len(args) < len(by) || !slices.Equal(args[:len(by)], by) {
		return ""
	} else {
		args = args[len(by):]
	}
	pack := ""
	for i := 0; i < len(args) && pack == ""; i++ {
		option, value, given := strings.Cut(args[i], "=")
		switch {
		case slices.Contains([]string{"-p", "--package", "--from"}, option) && !images:
			if pack = value; !given && i+1 < len(args) {
				pack = args[i+1]
			}
		case takesOther[option] && !given, images && takesValue[option] && !given:
			i++
		case !strings.HasPrefix(args[i], "-"):
			pack = args[i]
		}
	}
	if pack == "" || strings.ContainsAny(pack[:1], "./~") || !images && exactly.MatchString(pack) ||
		images && strings.Contains(pack, "@sha256:") {
		return ""
	}
	return pack
}

// exactly matches packages of one version or commit.
var exactly = regexp.MustCompile(`(?:[@#]v?|==)\d+\.\d+(?:\.\d+)?(?:[-+.][\w.+-]*)?$|[@#][0-9a-f]{40}$`)

// fetchers are programs that fetch a package and run it, with the arguments that say so.
var fetchers = map[string][]string{
	"npx": {}, "bunx": {}, "uvx": {}, "npm": {"exec"}, "pnpm": {"dlx"}, "yarn": {"dlx"}, "bun": {"x"}, "pipx": {"run"},
	"uv": {"tool", "run"}, "docker": {"run"}, "podman": {"run"},
	"go": {"run"},
}

// Fetches reports whether a command line fetches its package from the network before it
// runs.
func Fetches(command []string) bool {
	name := filepath.Base(command[0])
	by, ok := fetchers[name]
	if !ok || name == "docker" || name == "podman" || len(command) <= len(by) ||
		!slices.Equal(command[1:1+len(by)], by) {
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(command[1+len(by):]),
		func(arg string) bool { return strings.HasPrefix(arg, "-") })
	return len(rest) > 0 && !strings.ContainsAny(rest[0][:min(1, len(rest[0]))], "./~")
}

// Hosts returns the hosts that a command line fetches its package from, and whether [Installer]
// can install that.
func Hosts(command []string) (hosts []string, installable bool) {
	l, ok := launch(command)
	switch {
	case !ok:
		return nil, false
	case l.registry == "PyPI":
		return pythonHosts, true
	}
	return buildHosts[:1], true
}

// takesValue are options of docker run that have a value of their own.
var takesValue = wordSet("-e --env -v --volume --mount --name -p --publish --network --net -u --user -w --workdir --env-file --entrypoint -l --label --platform --pull -m --memory --cpus --add-host")

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
