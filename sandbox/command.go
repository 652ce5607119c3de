package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Command is a program to run.
type Command struct {
	// Args are the program and its arguments. [Find] says how the program is found;
	// in the modes that isolate, only folders that the program sees are in PATH.
	Args []string
	// Dir is the folder that it runs in, as an absolute path. The program may read it
	// even if no other field names it.
	Dir string
	// Workspace is a folder that it may write, as an absolute path. Empty leaves only
	// TMPDIR, which belongs to this run and is removed after it.
	Workspace string
	// Folder is Workspace, held open by the caller until Run or Start returns: the program
	// gets this folder or does not run, whatever is at the path by now. On macOS, which
	// knows only paths, another folder can be put there between the check and the start.
	// Nil is whatever is at the path when the program is started.
	Folder *os.File
	// Hold is a file that stays open until the program and its children have ended, also if
	// this process ends before: a lock on it says so. Only modes Strong and Landlock do this.
	Hold *os.File
	// Write are further folders that it may write, as absolute paths.
	Write []string
	// ReadOnly are further folders and files that it may read, as absolute paths.
	ReadOnly []string
	// Sealed are files and folders in Workspace that it may not change, as absolute
	// paths without links below Workspace. Only modes Strong and Seatbelt enforce
	// this. In mode Strong they must exist; in mode Seatbelt they cannot be created.
	Sealed []string
	// Hidden are those of Sealed that it does not see: folders that are empty for it. Only
	// modes Strong and Seatbelt enforce this.
	Hidden []string
	// Kept are files and folders in Workspace, as absolute paths, that stay root's where etui
	// runs as root and gives the rest of the workspace to the program's user.
	Kept []string
	// Network are the hosts that it may reach over HTTP and HTTPS, through a proxy in
	// etui: "api.example.org" (ports 80 and 443), "api.example.org:8443", or
	// "*.example.org" for all names below. Empty means none. Modes Strong and
	// Landlock can grant hosts, see [Sandbox.Network]; mode Off restricts nothing.
	Network []string
	// Limits are the limits of its resources.
	Limits Limits
	// Env are further variables of its environment; they override the standard ones.
	Env map[string]string
	// Stdin is its standard input in Run. Start does not use it.
	Stdin []byte
	// Hide removes secrets from the texts of Process.Complaint and Process.Err. Nil
	// removes nothing.
	Hide func(string) string
	// MaxOutput is how many bytes of standard output Run keeps, half from the
	// beginning and half from the end. Zero means 4 MiB.
	MaxOutput int
}

// Limits bound what a program may use. The zero value means the defaults. Modes Off
// and Seatbelt enforce only Wall and Written.
type Limits struct {
	// Wall is how long Run lets it run. Default: 60 s; at most 10 min. Start ignores
	// it.
	Wall time.Duration
	// CPU is the computing time of each of its processes. Default: Wall, and a day
	// for Start.
	CPU time.Duration
	// ProcessMemory and Memory are bytes of one process and of all. Default: 2 GiB and
	// 3 GiB.
	ProcessMemory, Memory int64
	// Processes is how many processes it may have at once; it may have three times as
	// many threads. Default: 256.
	Processes int
	// Disk and Files are how many bytes and files it may add to Workspace and Write. Default:
	// 1 GiB and 200,000.
	Disk  int64
	Files int
	// FileSize is the size of one file in bytes. Default: 256 MiB.
	FileSize int64
	// Written is how many bytes of output it may write. Default: 256 MiB. Start
	// ignores it.
	Written int64
}

const (
	defaultWall = time.Minute
	maxWall     = 10 * time.Minute
	endless     = 24 * time.Hour
)

// filled sets the defaults.
func (l Limits) filled(wall time.Duration) Limits {
	l.Wall = min(cmp.Or(l.Wall, wall), max(wall, maxWall))
	l.CPU = max(cmp.Or(l.CPU, l.Wall), time.Second)
	l.ProcessMemory = cmp.Or(l.ProcessMemory, 2<<30)
	l.Memory = cmp.Or(l.Memory, 3<<30)
	l.Processes = cmp.Or(l.Processes, 256)
	l.Disk = cmp.Or(l.Disk, 1<<30)
	l.Files = cmp.Or(l.Files, 200_000)
	l.FileSize = cmp.Or(l.FileSize, 256<<20)
	l.Written = cmp.Or(l.Written, 256<<20)
	return l
}

// The sizes of a program's own folders in memory.
const (
	scratchSize = 256 << 20 // /tmp
	sharedSize  = 64 << 20  // /dev/shm
)

// Find finds a program: a name without a slash in PATH, a relative path in dir
// without following links out of it. The error wraps [ErrNotFound].
func Find(dir, program string) (string, error) {
	switch {
	case program == "":
		return "", fmt.Errorf("%w: it has no name", ErrNotFound)
	case filepath.IsAbs(program), !strings.ContainsAny(program, `/\`):
		path, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return path, nil
	}
	if err := beneath(dir, program); err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrNotFound, program, err)
	}
	return filepath.Join(dir, program), nil
}

// beneath checks that a path is an executable file in dir.
func beneath(dir, path string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(filepath.Clean(path))
	var perr *fs.PathError
	switch {
	case errors.As(err, &perr):
		return perr.Err
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no file")
	case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		return errors.New("it is not executable; use chmod +x")
	}
	return nil
}

// environment returns a program's environment: some variables of etui's, overridden
// by given, overridden by own.
func environment(given, own map[string]string) []string {
	names := []string{"PATH", "HOME", "LANG", "TMPDIR", "TERM"}
	if runtime.GOOS == "windows" {
		names = append(names, "PATHEXT", "SYSTEMROOT", "COMSPEC", "TEMP", "TMP", "USERPROFILE")
	}
	all := map[string]string{}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			all[name] = value
		}
	}
	maps.Copy(all, given)
	maps.Copy(all, own)
	env := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}

// view is the part of the file system that a program sees, by real names.
type view struct {
	dir                       string
	workspace                 *os.File // writable[0]; nil: the program has none
	writable, readable, links []string // links are pairs of another path and the real one
	sealed, hidden, kept      []string // below writable[0]
}

// systemFolders hold programs and are visible in every mode that isolates.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// standardPath is searched for programs after PATH.
var standardPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// there checks that Folder is at the path of Workspace: the program uses paths, and a person
// should learn that they lead elsewhere. Only macOS relies on it.
func (c Command) there() error {
	if c.Folder == nil {
		return nil
	}
	was, err := c.Folder.Stat()
	if err != nil {
		return fmt.Errorf("checking the workspace: %w", err)
	}
	if now, err := os.Stat(c.Workspace); err != nil || !os.SameFile(was, now) {
		return fmt.Errorf("the workspace %s was replaced since etui opened it; put it back, or restart etui",
			c.Workspace)
	}
	return nil
}

// look resolves the folders of a command. The caller closes the view's workspace, unless it
// is the command's.
func look(c Command) (v view, err error) {
	add := func(list *[]string, what, path string) (string, error) {
		if !filepath.IsAbs(path) {
			return "", fmt.Errorf("%s %q is no absolute path", what, path)
		}
		path = filepath.Clean(path)
		place, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		if place != path {
			v.links = append(v.links, path, place)
		}
		if list != nil && !slices.Contains(*list, place) {
			*list = append(*list, place)
		}
		return place, nil
	}
	write := func(what, path string) error {
		place, err := add(&v.writable, what, path)
		if err != nil {
			return err
		}
		if info, err := os.Stat(place); err != nil || !info.IsDir() {
			return fmt.Errorf("%s %s is no folder", what, place)
		}
		if place == "/" || within(place, append([]string{"/etc", "/proc", "/dev", "/sys", "/boot"}, systemFolders...)) {
			return fmt.Errorf("%s cannot be %s: it belongs to the system", what, place)
		}
		return nil
	}
	if c.Workspace != "" {
		if err := write("the workspace", c.Workspace); err != nil {
			return v, err
		}
		if v.workspace = c.Folder; v.workspace == nil {
			if v.workspace, err = openFolder(v.writable[0]); err != nil {
				return v, fmt.Errorf("the workspace: %w", err)
			}
		}
	}
	for _, path := range c.Write {
		if err := write("a folder to write", path); err != nil {
			return v, err
		}
	}
	inside := func(list *[]string, paths []string, what string) error {
		for _, path := range paths {
			below, err := filepath.Rel(c.Workspace, path)
			if err != nil || !filepath.IsLocal(below) {
				return fmt.Errorf("%s cannot be %s: it is not in the workspace", path, what)
			}
			*list = append(*list, filepath.Join(v.writable[0], below))
		}
		return nil
	}
	if err := errors.Join(inside(&v.sealed, c.Sealed, "sealed"), inside(&v.hidden, c.Hidden, "hidden"),
		inside(&v.kept, c.Kept, "kept")); err != nil {
		return v, err
	}
	for _, path := range c.ReadOnly {
		if _, err := add(&v.readable, "a folder to read", path); err != nil {
			return v, err
		}
	}
	if v.dir, err = add(nil, "the folder to run in", c.Dir); err != nil {
		return v, err
	}
	if c.Workspace != "" && within(filepath.Clean(c.Dir), []string{filepath.Clean(c.Workspace), v.writable[0]}) &&
		!within(v.dir, v.writable) {
		// A program that still runs may have created a link there.
		return v, fmt.Errorf("the folder to run in, %s, leads out of the workspace", c.Dir)
	}
	if !v.sees(v.dir) {
		v.readable = append(v.readable, v.dir)
	}
	if slices.Contains(v.readable, "/") {
		return v, errors.New("programs may not read the root folder as a whole")
	}
	return v, nil
}

// seal mounts sealed files read-only, and mounts the folders above them so that they
// cannot be moved away.
func (v view) seal() view {
	v.writable, v.readable = slices.Clone(v.writable), slices.Clone(v.readable)
	for _, path := range v.sealed {
		v.readable = append(v.readable, path)
		for folder := filepath.Dir(path); len(folder) > len(v.writable[0]); folder = filepath.Dir(folder) {
			if !slices.Contains(v.writable, folder) {
				v.writable = append(v.writable, folder)
			}
		}
	}
	return v
}

// add adds the folders of Config.Read.
func (v *view) add(folders []folder) {
	for _, f := range folders {
		if f.named != f.real {
			v.links = append(v.links, f.named, f.real)
		}
		if !v.sees(f.real) {
			v.readable = append(v.readable, f.real)
		}
	}
}

// sees reports whether the program sees a path.
func (v view) sees(path string) bool {
	return within(path, systemFolders) || within(path, v.writable) || within(path, v.readable)
}

func within(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

// System reports whether a path is in the system's folders, which programs see in every mode.
func System(path string) bool { return within(path, systemFolders) }

// path returns PATH for the program: the folders of etui's PATH that it sees, and the
// system's. Folders that it may write are left out.
func (v view) path() string {
	var list []string
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), standardPath...) {
		if !v.sees(dir) {
			if place, err := filepath.EvalSymlinks(dir); err == nil {
				dir = place // it may be another path of a visible folder
			}
		}
		if (within(dir, systemFolders) || within(dir, v.readable)) && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return strings.Join(list, ":")
}

// find finds a program as Find does, among the visible folders.
func (s *Sandbox) find(v view, program string) (string, error) {
	if program == "" || strings.Contains(program, "/") {
		path, err := Find(v.at(v.dir), program)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(program) {
			path = filepath.Join(v.dir, program)
		}
		return path, s.seen(v, path)
	}
	var unseen error
	for _, dir := range filepath.SplitList(v.path()) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			if unseen = s.seen(v, path); unseen == nil {
				return path, nil
			}
		}
	}
	if path, err := exec.LookPath(program); unseen == nil && err == nil {
		unseen = s.seen(v, path)
	}
	if unseen != nil {
		return "", unseen
	}
	return "", fmt.Errorf("%w: %s is in none of %s", ErrNotFound, program, v.path())
}

// seen returns an error for a program that is not visible or links to such a one. The
// error says what to change.
func (s *Sandbox) seen(v view, path string) error {
	path = filepath.Clean(path)
	place, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if v.sees(place) {
		return nil
	}
	name := path
	if place != path {
		name += ", which is " + place + ","
	}
	if folder := suggestion(place, s.closed); folder != "" {
		return fmt.Errorf("%w: isolated programs do not see %s unless etui.yaml has sandbox: {read: [%s]}", ErrNotFound,
			name, folder)
	}
	return fmt.Errorf("%w: isolated programs do not see %s", ErrNotFound, name)
}
