package hub

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// tarArchive is a tar.gz file. It can only be read from its beginning, so it is
// read twice: once for the headers, once for the contents.
type tarArchive struct {
	f    io.ReaderAt
	size int64
	part part
	list []entry
}

// openTar reads the headers of a tar.gz file, and through the whole of it.
func openTar(f io.ReaderAt, size int64, p part) (*tarArchive, error) {
	a := &tarArchive{f: f, size: size, part: p}
	err := a.walk(func(name string, h *tar.Header, _ io.Reader) error {
		if len(a.list) >= maxEntries {
			return tooMany(maxEntries)
		}
		e := entry{name: strings.TrimSuffix(name, "/"), size: h.Size, executable: h.Mode&0o111 != 0}
		switch h.Typeflag {
		case tar.TypeDir:
			e.folder, e.size = true, 0
		case tar.TypeReg:
			if e.name != name {
				return fmt.Errorf("%s is file and folder at once", shown(name))
			}
		case tar.TypeLink, tar.TypeSymlink:
			return fmt.Errorf("%s is a link; packages hold only files and folders", shown(name))
		default:
			return fmt.Errorf("%s is a special file; packages hold only files and folders", shown(name))
		}
		a.list = append(a.list, e)
		return nil
	})
	return a, err
}

// walk calls f for the entries that are taken.
func (a *tarArchive) walk(f func(string, *tar.Header, io.Reader) error) error {
	z, err := gzip.NewReader(io.NewSectionReader(a.f, 0, a.size))
	if err != nil {
		return fmt.Errorf("the tar.gz archive is damaged: %w", err)
	}
	limit := int64(maxUnpacked + maxEntries*4096)
	if a.part != nil {
		limit = maxRepository
	}
	t := tar.NewReader(&limited{z, limit})
	for range a.part.counts() + 1 {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the tar.gz archive is damaged: %w", err)
		}
		name, ok := a.part.take(h.Name)
		name = strings.TrimPrefix(name, "./")
		if !ok || name == "" || h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := f(name, h, t); err != nil {
			return err
		}
	}
	return tooMany(a.part.counts())
}

func (a *tarArchive) entries() []entry { return a.list }

func (a *tarArchive) each(f func(int, io.Reader) error) error {
	i := -1
	return a.walk(func(_ string, _ *tar.Header, content io.Reader) error {
		if i++; a.list[i].folder {
			return nil
		}
		return f(i, &exact{r: content, left: a.list[i].size, name: a.list[i].name})
	})
}

// limited ends with an error, not with io.EOF, at its limit.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("it unpacks to more than is allowed")
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
