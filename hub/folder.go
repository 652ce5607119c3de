package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Folder is a registry that is a folder of this machine: it holds skills as
// folders, or as archives NAME.zip, NAME.tar.gz or NAME.tgz.
type Folder struct{ name, dir string }

// NewFolder returns the registry of a folder.
func NewFolder(name, dir string) *Folder { return &Folder{name, dir} }

// maxListed bounds how many skills of a folder a search looks at.
const maxListed = 5000

// Name returns the registry's name.
func (f *Folder) Name() string { return f.name }

var archiveEndings = []string{".zip", ".tar.gz", ".tgz"}

// Search looks at the manifests in the folder.
func (f *Folder) Search(ctx context.Context, text string, limit int) ([]Found, error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", f.name, ErrUnavailable, err)
	}
	var all []Found
	for _, d := range list[:min(len(list), maxListed)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := d.Name()
		for _, ending := range archiveEndings {
			name = strings.TrimSuffix(name, ending)
		}
		if checkSlug(name) != nil {
			continue
		}
		found := Found{Registry: f.name, Name: name}
		if d.IsDir() {
			raw, err := readBounded(root, name+"/"+manifestFile, maxManifest)
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
			return f.release(ref, ref.Name+ending, info.IsDir()), nil
		}
	}
	return nil, notFound(f.name, ref)
}

func (f *Folder) release(ref Ref, name string, folder bool) *Release {
	r := &Release{Ref: ref, Source: filepath.Join(f.dir, name), Verdict: Unjudged}
	r.Owner = ""
	r.downloads = []download{{url: name}}
	if folder {
		r.downloads[0].path = "."
	}
	return r
}

// Download copies the skill.
func (f *Folder) Download(ctx context.Context, r *Release, into *os.Root, _ func(done, total int64)) error {
	root, err := f.open()
	if err != nil {
		return err
	}
	defer root.Close()
	from := r.downloads[0]
	if from.path == "" {
		return copyFile(root, from.url, into, ArchiveName, maxArchive)
	}
	sub, err := root.OpenRoot(from.url)
	if err != nil {
		return err
	}
	defer sub.Close()
	a, err := openFolder(sub.FS())
	if err != nil {
		return refused("%w", err)
	}
	var total int64
	for _, e := range a.entries() {
		if total += e.size; total > maxUnpacked {
			return refused("its files have more than %s together", megabytes(maxUnpacked))
		}
	}
	return a.each(func(i int, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := a.entries()[i]
		name := FilesName + "/" + e.name
		if err := into.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		_, err := write(into, name, e.executable, content)
		return err
	})
}

// localName is what a File is called.
const localName = "file"

// File is the registry of one file or folder of this machine, whatever its name.
type File struct {
	Folder
	file string
}

// NewFile returns the registry of one archive, or of one skill's folder.
func NewFile(file string) (*File, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	return &File{Folder{localName, filepath.Dir(file)}, filepath.Base(file)}, nil
}

// Resolve returns the file. Without a name, the skill has the one that its
// manifest says.
func (f *File) Resolve(_ context.Context, ref Ref) (*Release, error) {
	info, err := os.Stat(filepath.Join(f.dir, f.file))
	if err != nil {
		return nil, fmt.Errorf("reading the package: %w", err)
	}
	return f.release(ref, f.file, info.IsDir()), nil
}

func copyFile(from *os.Root, name string, into *os.Root, as string, limit int64) (err error) {
	info, err := from.Stat(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return refused("%s is no file of at most %s", name, megabytes(limit))
	}
	f, err := from.Open(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer f.Close()
	_, err = write(into, as, false, io.LimitReader(f, limit+1))
	return err
}

// readBounded reads a file, or fails when it is longer.
func readBounded(root *os.Root, name string, limit int64) ([]byte, error) {
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errors.New("it is no file"))
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = errors.New("the file is too long")
	}
	return raw, err
}
