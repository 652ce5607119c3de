package hub

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/hub/internal/archive"
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
	if strings.HasPrefix(words, ".") || filepath.IsAbs(words) {
		return true
	}
	info, err := os.Stat(words)
	return err == nil && strings.ContainsRune(words, filepath.Separator) && !strings.Contains(words, "@") && (info.IsDir() || info.Mode().IsRegular())
}

// NewFile returns the source of one archive or of one skill's folder, of any
// name.
func NewFile(file string) (*Folder, error) {
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
		found := Found{Registry: f.name, Name: d.Name()}
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
			return nil, fmt.Errorf("reading the package: %w", err)
		}
		return f.release(ref, f.file, info)
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
