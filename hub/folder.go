package hub

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/skill"
)

// Folder is a folder of this machine. It holds skills as folders, or as archives
// NAME.zip, NAME.tar.gz or NAME.tgz.
type Folder struct {
	name, dir string
	file      string // the only package, of any name; empty means all in dir
}

// NewFolder returns the source of a folder.
func NewFolder(name, dir string) *Folder { return &Folder{name: name, dir: dir} }

// IsFile reports whether words name a file here and not a skill of a source.
func IsFile(words string) bool {
	if strings.HasPrefix(words, ".") || strings.HasPrefix(words, "~/") || strings.HasPrefix(words, "file://") ||
		filepath.IsAbs(words) {
		return true
	}
	info, err := os.Stat(words)
	return err == nil && strings.ContainsRune(words, filepath.Separator) && !strings.Contains(words, "@") &&
		(info.IsDir() || info.Mode().IsRegular())
}

// NewFile returns the source of one archive or of one skill's folder, of any
// name. A folder may also hold the skill further down, as a clone of a repository does. The file may be a
// file URL.
func NewFile(file string) (*Folder, error) {
	if u, err := url.Parse(file); err == nil && u.Scheme == "file" {
		file = filepath.FromSlash(u.Path)
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		file = filepath.Join(home, rest)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	return &Folder{fileName, filepath.Dir(file), filepath.Base(file)}, nil
}

const (
	fileName  = "file" // the name of NewFile's sources
	maxListed = 5000   // skills of a folder that a search looks at
)

// Name returns the source's name.
func (f *Folder) Name() string { return f.name }

var archiveEndings = []string{".zip", ".tar.gz", ".tgz"}

// Search reads the manifests in the folder.
func (f *Folder) Search(ctx context.Context, text string, limit int) ([]Match, error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", f.name, ErrUnavailable, err)
	}
	var all []Match
	for _, d := range list[:min(len(list), maxListed)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found := Match{Registry: f.name, Name: d.Name()}
		for _, ending := range archiveEndings {
			found.Name = strings.TrimSuffix(found.Name, ending)
		}
		if checkSlug(found.Name) != nil {
			continue
		}
		if d.IsDir() {
			raw, err := skill.ReadFile(root, d.Name()+"/"+archive.Manifest, maxManifest)
			if err != nil {
				continue
			}
			_, found.Description, _ = readManifest(raw)
		}
		all = append(all, found)
	}
	return Best(all, text, limit), nil
}

func (f *Folder) open() (*os.Root, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", f.name, ErrUnavailable, err)
	}
	return root, nil
}

// Resolve finds a skill's folder or archive.
func (f *Folder) Resolve(_ context.Context, ref Ref) (*Release, error) {
	if f.file != "" {
		info, err := os.Stat(filepath.Join(f.dir, f.file))
		if err != nil {
			return nil, phrase.Errorf("reading the package: %w", err)
		}
		name := f.file
		if info.IsDir() {
			if name, err = f.within(ref.Name); err != nil {
				return nil, err
			}
		}
		return f.release(ref, name, info)
	}
	if err := checkSlug(ref.Name); err != nil {
		return nil, refused("%w", err)
	}
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, ending := range append([]string{""}, archiveEndings...) {
		if info, err := root.Stat(ref.Name + ending); err == nil && info.IsDir() == (ending == "") {
			return f.release(ref, ref.Name+ending, info)
		}
	}
	return nil, notFound(f.name, ref)
}

// The bounds of a search for the skill in a folder.
const (
	maxWithin = 20_000 // files and folders that are looked at
	maxDeep   = 6      // folders in one another
	maxNamed  = 20     // skills that an error names
)

// within finds the skill in the folder of a [NewFile]: at its top, or the only one below it, or the
// one with a name.
func (f *Folder) within(name string) (string, error) {
	root, err := f.open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	if _, err := root.Lstat(f.file + "/" + archive.Manifest); err == nil {
		return f.file, nil
	}
	var found []string
	looked := 0
	err = fs.WalkDir(root.FS(), f.file, func(at string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case err != nil || looked > maxWithin:
			return fs.SkipAll
		case !d.IsDir():
			if d.Name() == archive.Manifest && (name == "" || path.Base(path.Dir(at)) == name) {
				found = append(found, path.Dir(at))
			}
		case at != f.file && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" ||
			strings.Count(at, "/") > maxDeep:
			return fs.SkipDir
		}
		return nil
	})
	where := filepath.Join(f.dir, f.file)
	_, head := root.Lstat(f.file + "/HEAD")
	_, objects := root.Lstat(f.file + "/objects")
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		for i, at := range found {
			found[i] = filepath.Join(f.dir, filepath.FromSlash(at))
		}
		return "", refused("%s holds %d skills; name the folder of one: %s", where, len(found),
			printable.First(found, maxNamed))
	case head == nil && objects == nil:
		return "", refused("%s is a bare Git repository, without the files of a skill; clone it, and name the clone",
			where)
	}
	return "", refused("%s holds no skill: there is no %s in it", where, archive.Manifest)
}

func (f *Folder) release(ref Ref, name string, info fs.FileInfo) (*Release, error) {
	d := download{url: name}
	if info.IsDir() {
		d.path = "."
	} else if !info.Mode().IsRegular() || info.Size() > archive.MaxPacked {
		return nil, refused("%s is not a file of at most %s", name, archive.MB(archive.MaxPacked))
	}
	ref.Owner = ""
	return &Release{Ref: ref, Location: filepath.Join(f.dir, name), Verdict: Unjudged, downloads: []download{d}}, nil
}

// Download copies the skill.
func (f *Folder) Download(ctx context.Context, r *Release, into *os.Root, _ func(done, total int64)) error {
	root, err := f.open()
	if err != nil {
		return err
	}
	defer root.Close()
	d := r.downloads[0]
	if d.path == "" {
		return copyArchive(root, d.url, into)
	}
	folder, err := root.OpenRoot(d.url)
	if err != nil {
		return err
	}
	defer folder.Close()
	a, err := archive.OpenFolder(folder.FS())
	if err != nil {
		return refused("%w", err)
	}
	var paths []string
	for _, e := range a.Entries() {
		paths = append(paths, FilesName+"/"+e.Name)
	}
	if _, err = archive.Copy(ctx, a, paths, into); err != nil {
		return refused("%w", err)
	}
	return nil
}

func copyArchive(from *os.Root, name string, into *os.Root) error {
	f, err := from.Open(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer f.Close()
	_, err = archive.Write(into, ArchiveName, false, io.LimitReader(f, archive.MaxPacked+1))
	return err
}
