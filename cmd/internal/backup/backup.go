// Package backup copies a workspace's state folder into an archive while a gateway may use it, and
// puts an archive back in its place.
package backup

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/store/sqlite"
)

// Archive describes a copy of a state folder: everything that etui keeps and cannot make
// again, but not the workspace with its configuration.
type Archive struct {
	Version string    `json:"version"` // of the etui that made it
	Made    time.Time `json:"made"`
	File    string    `json:"file,omitempty"`
	State   string    `json:"state,omitempty"` // the folder
	Files   int       `json:"files,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"` // of all files in it
	// Before is where Restore moved the state that it replaced; empty means that there was
	// none.
	Before string `json:"before,omitempty"`
}

const (
	// manifest is the name of the first entry of a backup, an [Archive] as JSON.
	manifest = "etui-backup.json"
	// before begins the names of folders with state that was replaced.
	before = "before-"
	// maxManifest bounds the manifest in bytes.
	maxManifest = 1 << 16
)

// Write writes the state folder to a new archive, a tar file with gzip that only this user
// can read. A gateway may use the folder meanwhile: each database is copied as it is at
// one moment. When it fails it leaves no file behind.
func Write(ctx context.Context, w *workdir.Workspace, version, file string) (b Archive, err error) {
	if file, err = filepath.Abs(file); err != nil {
		return b, err
	}
	read, _ := w.ReadFolders() // the start says what is wrong with the others
	for _, entry := range w.Config.Sandbox.Read {
		if list, err := sandbox.Folders([]string{entry}, nil); err == nil {
			read = append(read, list...)
		}
	}
	for _, dir := range slices.Concat(w.Folders(), []string{w.State}, w.SkillFolders(), read) {
		if folder.Within(folder.Real(dir), filepath.Join(folder.Real(filepath.Dir(file)), filepath.Base(file))) {
			return b, config.Usagef("%s is in %s; tools or the next backup could read it there: choose another folder",
				file, dir)
		}
	}
	root, err := os.OpenRoot(w.State)
	if errors.Is(err, fs.ErrNotExist) {
		return b, config.Usagef("there is nothing to back up: the state folder %s does not exist", w.State)
	}
	if err != nil {
		return b, err
	}
	defer root.Close()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return b, config.Usagef("%s exists; choose another name", file)
	}
	if err != nil {
		return b, err
	}
	b = Archive{Version: version, Made: time.Now().UTC().Truncate(time.Second)}
	if err = archive(ctx, w, root, out, &b); err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return b, errors.Join(phrase.Errorf("backing up %s: %w", w.State, err), os.Remove(file))
	}
	b.File, b.State = file, w.State
	return b, nil
}

// archive writes the files below root to out and counts them in b.
func archive(ctx context.Context, w *workdir.Workspace, root *os.Root, out io.Writer, b *Archive) (err error) {
	copies, err := temporary(w, ".etui-backup-") // on the disk that has the databases
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(copies)) }()
	zipped := gzip.NewWriter(out)
	t := tar.NewWriter(zipped)
	text, err := json.Marshal(*b)
	if err == nil {
		err = t.WriteHeader(&tar.Header{Name: manifest, Mode: 0o600, Size: int64(len(text)), ModTime: b.Made})
	}
	if err == nil {
		_, err = t.Write(text)
	}
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return ctx.Err() // it is gone
		case err != nil && ofServer(name):
			return ctx.Err() // a program has closed it
		case err != nil:
			return err
		case name == ".":
			return ctx.Err()
		case transient(name) && e.IsDir():
			return fs.SkipDir
		case transient(name):
			return ctx.Err()
		}
		from := root
		if database(name) {
			if err := sqlite.Copy(ctx, filepath.Join(w.State, name), filepath.Join(copies, name)); err != nil {
				return err
			}
			if from, err = os.OpenRoot(copies); err != nil {
				return err
			}
			defer from.Close()
		}
		n, added, err := add(t, from, name)
		if errors.Is(err, fs.ErrPermission) && ofServer(name) {
			return ctx.Err()
		}
		if err == nil && added && !e.IsDir() {
			b.Files++
			b.Bytes += n
		}
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(t.Close(), zipped.Close())
}

// abandoned is how old a temporary folder is of which no backup and no restore can be at work
// any more.
const abandoned = 24 * time.Hour

// temporary makes a folder in the state folder, and removes those that earlier backups and
// restores left when they were killed: they hold what people have said.
func temporary(w *workdir.Workspace, prefix string) (string, error) {
	entries, err := os.ReadDir(w.State)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".etui-backup-") && !strings.HasPrefix(e.Name(), ".etui-restore-") {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			if err := os.RemoveAll(filepath.Join(w.State, e.Name())); err != nil {
				return "", err
			}
		}
	}
	return os.MkdirTemp(w.State, prefix)
}

// add writes one file, folder or link of root to an archive, and returns its size. It
// leaves out links that lead out of root, sockets, which are of use only to the process
// that made them, and what is gone meanwhile. A file that is replaced meanwhile is as it was
// or as it is.
func add(t *tar.Writer, root *os.Root, name string) (size int64, added bool, err error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	var f *os.File
	if err == nil && info.Mode().IsRegular() {
		if f, err = root.Open(name); errors.Is(err, fs.ErrNotExist) {
			return 0, false, nil
		}
		if err == nil {
			defer f.Close()
			info, err = f.Stat()
		}
	}
	if err != nil {
		return 0, false, err
	}
	link := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if link, err = root.Readlink(name); err != nil {
			return 0, false, err
		}
		if !leadsInside(name, link) {
			return 0, false, nil
		}
	case !info.Mode().IsRegular() && !info.IsDir():
		return 0, false, nil
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return 0, false, err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = name, 0, 0, "", ""
	if err := t.WriteHeader(h); err != nil || f == nil {
		return 0, true, err
	}
	size, err = io.Copy(t, io.LimitReader(f, h.Size)) // what is appended meanwhile is left out
	if err == nil && size < h.Size && ofServer(name) {
		_, err = io.CopyN(t, zeros{}, h.Size-size)
	} else if err == nil && size < h.Size {
		err = phrase.Errorf("%s became shorter while it was read; try again", name)
	}
	return size, true, err
}

// ofServer reports whether an entry is in the private folder of an MCP server, whose program
// does there as it likes, and must not prevent a backup.
func ofServer(name string) bool {
	parts := strings.Split(name, "/")
	return len(parts) >= 3 && parts[0] == workdir.ServersFolder && parts[2] == "state"
}

// zeros stand for what a program has cut off.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// transient reports whether an entry of the state folder belongs to a running process, to an
// earlier restore, or to this machine alone.
func transient(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	switch {
	case first == workdir.LockFile, first == workdir.InstanceFile:
		return true
	case first == workdir.LoginKeyFile: // who finds a backup must not be able to log in
		return true
	case strings.HasPrefix(first, "."), strings.HasPrefix(first, before):
		return true
	}
	return strings.HasSuffix(name, ".db-wal") || strings.HasSuffix(name, ".db-shm") ||
		strings.HasSuffix(name, ".db-journal")
}

// leadsInside reports whether a link stays in the folder that its name is relative to. A ".."
// behind a name is refused: where it leads depends on what is there later.
func leadsInside(name, link string) bool {
	return !path.IsAbs(link) && path.Clean(link) == link && filepath.IsLocal(path.Join(path.Dir(name), link))
}

// database reports whether an entry of the state folder is one of etui's databases.
func database(name string) bool { return path.Ext(name) == ".db" && !strings.Contains(name, "/") }

// Restore replaces the state folder's content with a backup. It moves what was there into a
// folder inside, before-DATE, and deletes nothing. Nothing changes if the archive is
// incomplete, if a database in it is damaged or newer than this program, or while another
// process uses the folder.
func Restore(ctx context.Context, w *workdir.Workspace, file string) (b Archive, err error) {
	in, err := os.Open(file)
	if err != nil {
		return b, config.UsageError{Err: err}
	}
	defer in.Close()
	unlock, err := w.Lock(workdir.Instance{})
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	fresh, err := temporary(w, ".etui-restore-")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	if b, err = unpack(ctx, in, fresh); err != nil {
		return b, phrase.Errorf("%s: %w; nothing was changed", file, err)
	}
	if err := checked(ctx, fresh); err != nil {
		return b, phrase.Errorf("%s: %w; nothing was changed", file, err)
	}
	b.File, b.State = file, w.State
	b.Before, err = replace(w, fresh)
	return b, err
}

// unpack writes an archive's files below dir, which is empty.
func unpack(ctx context.Context, in io.Reader, dir string) (b Archive, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return b, err
	}
	defer root.Close()
	zipped, err := gzip.NewReader(in)
	if err != nil {
		return b, phrase.Errorf("this is not a backup of etui")
	}
	t := tar.NewReader(zipped)
	h, err := t.Next()
	if err != nil || h.Name != manifest {
		return b, phrase.Errorf("this is not a backup of etui")
	}
	if err := json.NewDecoder(io.LimitReader(t, maxManifest)).Decode(&b); err != nil {
		return b, phrase.Errorf("reading %s: %w", manifest, err)
	}
	var links []string
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, zipped) // the checksum stands at the end
			return b, cmp.Or(err, inside(root, links))
		}
		if err = cmp.Or(err, ctx.Err()); err == nil {
			err = extract(root, t, h)
		}
		if err != nil {
			return b, err
		}
		if h.Typeflag == tar.TypeSymlink {
			links = append(links, h.Name)
		}
		if h.Typeflag != tar.TypeDir {
			b.Files++
			b.Bytes += h.Size
		}
	}
}

// inside refuses links that lead out of root by way of others, which only shows when all
// of them are there.
func inside(root *os.Root, links []string) error {
	for _, name := range links {
		// A link that leads in a circle leads nowhere.
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ELOOP) {
			return phrase.Errorf("the link %q leads out of the state: %w", name, err)
		}
	}
	return nil
}

// extract writes one entry of an archive below root.
func extract(root *os.Root, from io.Reader, h *tar.Header) error {
	if transient(path.Clean(h.Name)) {
		return phrase.Errorf("%s is not part of a backup", h.Name)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(h.Name, 0o700)
	case tar.TypeSymlink:
		if !leadsInside(h.Name, h.Linkname) {
			return phrase.Errorf("%s is a link to %s, outside of the state", h.Name, h.Linkname)
		}
		return root.Symlink(h.Linkname, h.Name)
	case tar.TypeReg:
	default:
		return phrase.Errorf("%s is neither a file, a folder nor a link", h.Name)
	}
	f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode)&0o700|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}

// checked reports what is wrong with the databases of an unpacked backup. It brings the
// conversations to this program's version.
func checked(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if database(e.Name()) {
			err = cmp.Or(err, sqlite.Check(ctx, filepath.Join(dir, e.Name())))
		}
	}
	main := filepath.Join(dir, "etui.db")
	if _, missing := os.Stat(main); err != nil || missing != nil {
		return err
	}
	store, err := sqlite.Open(ctx, main)
	if err != nil {
		return err
	}
	return store.Close()
}

// replace moves the state aside and the entries of fresh to its place. It returns where
// the state is now, empty if there was none.
func replace(w *workdir.Workspace, fresh string) (aside string, err error) {
	old, err := os.ReadDir(w.State)
	if err != nil {
		return "", err
	}
	old = slices.DeleteFunc(old, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), before) ||
			e.Name() == workdir.LockFile || e.Name() == workdir.InstanceFile
	})
	if len(old) > 0 {
		aside = filepath.Join(w.State, before+time.Now().UTC().Format("20060102-150405"))
		if err := os.Mkdir(aside, 0o700); err != nil {
			return "", err
		}
	}
	move := func(entries []os.DirEntry, from, to string) error {
		for _, e := range entries {
			if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	err = move(old, w.State, aside)
	if err == nil {
		var restored []os.DirEntry
		if restored, err = os.ReadDir(fresh); err == nil {
			err = move(restored, fresh, w.State)
		}
	}
	if err != nil {
		return aside, phrase.Errorf("the state is half restored: %w; the state before is in %s", err, aside)
	}
	return aside, nil
}
