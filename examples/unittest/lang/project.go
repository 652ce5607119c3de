package lang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/etui-run/etui/sandbox"
)

// The bounds of a project. One that is larger is refused: choose a folder of it as project.
const (
	MaxFiles = 20_000
	MaxBytes = 200 << 20
)

// Project is the code under test. Its folders are absolute.
type Project struct {
	// Root is the project itself. It is read, and written by nobody but the host, tests only.
	Root string
	// Bench is the copy in which commands run.
	Bench string
	// Cache is a folder for what compilers keep between runs. Commands may write it.
	Cache string
	// Sandbox runs commands.
	Sandbox *sandbox.Sandbox
}

// timeout is how long a command may take unless it says otherwise.
const timeout = 2 * time.Minute

// Run runs a program in the sandbox, in Dir, which is the bench or below it, and may write
// the bench and the cache; both are set. The default limits are 2 minutes, 4 GB for a process
// (a JVM reserves more than it uses) and 4 GB for all, 1 MiB of output; it has no network.
func (p *Project) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	c.Dir = cmp.Or(c.Dir, p.Bench)
	c.Workspace = p.Bench
	if p.Cache != "" {
		c.Write = append(c.Write[:len(c.Write):len(c.Write)], p.Cache)
	}
	c.Limits.Wall = cmp.Or(c.Limits.Wall, timeout)
	c.Limits.ProcessMemory = cmp.Or(c.Limits.ProcessMemory, 4<<30)
	c.Limits.Memory = cmp.Or(c.Limits.Memory, 4<<30)
	c.MaxOutput = cmp.Or(c.MaxOutput, 1<<20)
	return p.Sandbox.Run(ctx, c)
}

// Read reads a file of the project itself, at most [MaxSource] bytes. Links that lead out of
// the project are not followed.
func (p *Project) Read(file string) ([]byte, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s in the project", file)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", file, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", file)
	case info.Size() > MaxSource:
		return nil, fmt.Errorf("%s has more than 1 MiB", file)
	}
	return root.ReadFile(filepath.FromSlash(file))
}

// maxMade is the size of a file that a command made: a report, a profile.
const maxMade = 16 << 20

// Made reads a file that a command made in the bench, at most 16 MiB. The command may have put
// anything there: what is no regular file is not read.
func (p *Project) Made(file string) ([]byte, error) {
	root, err := os.OpenRoot(p.Bench)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(filepath.FromSlash(file))
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", file)
	case info.Size() > maxMade:
		return nil, fmt.Errorf("%s has more than 16 MiB", file)
	}
	return root.ReadFile(filepath.FromSlash(file))
}

// Relative returns the path of a file relative to the project, from one that is relative or
// absolute. The error says that it leads out of the project.
func (p *Project) Relative(file string) (string, error) {
	if filepath.IsAbs(file) {
		rel, err := filepath.Rel(p.Root, file)
		if err != nil {
			return "", fmt.Errorf("%s is not in the project %s", file, p.Root)
		}
		file = rel
	}
	file = path.Clean(filepath.ToSlash(file))
	if file == "" || !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", fmt.Errorf("%s is not in the project; give a path relative to it", file)
	}
	return file, nil
}

// skipped reports whether a folder is no part of the code: it is neither copied nor listed.
func (p *Project) skipped(dir string) bool {
	switch name := path.Base(dir); name {
	case ".":
		return false
	case "node_modules":
		return true
	case "target": // what Maven builds
		_, err := os.Stat(filepath.Join(p.Root, filepath.FromSlash(path.Dir(dir)), "pom.xml"))
		return err == nil
	default:
		return strings.HasPrefix(name, ".")
	}
}

// Walk calls f for each regular file of the project, in the order of names, and leaves out
// what is no code. It fails if the project is larger than the bounds.
func (p *Project) Walk(f func(file string, info fs.FileInfo) error) error {
	files, size := 0, int64(0)
	return fs.WalkDir(os.DirFS(p.Root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if p.skipped(file) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if files, size = files+1, size+info.Size(); files > MaxFiles || size > MaxBytes {
			return fmt.Errorf("the project %s has more than %d files or %d MB; name a folder of it with --project", p.Root, MaxFiles, MaxBytes>>20)
		}
		return f(file, info)
	})
}

// Sync makes the bench equal to the project, except for what commands made there in
// addition. The host calls it before each command.
func (p *Project) Sync() error {
	there := map[string]bool{}
	err := p.Walk(func(file string, info fs.FileInfo) error {
		there[file] = true
		to := filepath.Join(p.Bench, filepath.FromSlash(file))
		if was, err := os.Lstat(to); err == nil && was.Mode().IsRegular() && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		return p.put(file, text, info.Mode().Perm(), info.ModTime())
	})
	if err != nil {
		return fmt.Errorf("copying the project to %s, which may be removed: %w", p.Bench, err)
	}
	return p.forget(there)
}

// Put replaces a file in the bench, until the next Sync: for mutants.
func (p *Project) Put(file string, text []byte) error {
	return p.put(file, text, 0o644, time.Now())
}

func (p *Project) put(file string, text []byte, mode fs.FileMode, changed time.Time) error {
	root, err := os.OpenRoot(p.Bench) // a test may have made links there
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.FromSlash(file)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.WriteFile(name, text, mode|0o600); err != nil {
		return err
	}
	return root.Chtimes(name, changed, changed)
}

// listFile names the files that the last Sync copied.
const listFile = ".files"

// forget removes what was copied once and is no longer in the project.
func (p *Project) forget(there map[string]bool) error {
	root, err := os.OpenRoot(p.Bench)
	if err != nil {
		return err
	}
	defer root.Close()
	before, err := root.ReadFile(listFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for file := range strings.SplitSeq(string(before), "\n") {
		if file != "" && !there[file] && filepath.IsLocal(file) {
			if err := root.Remove(filepath.FromSlash(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	var list strings.Builder
	for file := range there {
		list.WriteString(file + "\n")
	}
	_ = root.Remove(listFile)
	return root.WriteFile(listFile, []byte(list.String()), 0o600)
}
