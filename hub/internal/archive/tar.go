package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/etui-run/etui/phrase"
)

// tarArchive is a tar.gz file. It can be read only from its beginning, so it is
// read twice: once for the headers, once for the contents.
type tarArchive struct {
	f    io.ReaderAt
	size int64
	part Part
	list []Entry
}

// openTar reads a tar.gz file to its end and keeps the headers.
func openTar(f io.ReaderAt, size int64, p Part) (Archive, error) {
	a := &tarArchive{f: f, size: size, part: p}
	err := a.walk(func(name string, h *tar.Header, _ io.Reader) error {
		if len(a.list) >= maxEntries {
			return tooMany(maxEntries)
		}
		e := Entry{Name: strings.TrimSuffix(name, "/"), Size: h.Size, Executable: h.Mode&0o111 != 0}
		switch h.Typeflag {
		case tar.TypeDir:
			e.Folder, e.Size = true, 0
		case tar.TypeReg:
			if e.Name != name {
				return phrase.Errorf("%s is file and folder at once", Quote(name))
			}
		case tar.TypeLink, tar.TypeSymlink:
			return notAFile(name, "link")
		default:
			return notAFile(name, "special file")
		}
		a.list = append(a.list, e)
		return nil
	})
	return a, err
}

func notAFile(name, kind string) error {
	return phrase.Errorf("%s is a %s; packages hold only files and folders", Quote(name), kind)
}

// walk calls f for the entries that the part takes.
func (a *tarArchive) walk(f func(string, *tar.Header, io.Reader) error) error {
	z, err := gzip.NewReader(io.NewSectionReader(a.f, 0, a.size))
	if err != nil {
		return phrase.Errorf("the tar.gz archive is damaged: %w", err)
	}
	limit := int64(maxUnpacked + maxEntries*4096)
	if a.part != nil {
		limit = maxRepository
	}
	t := tar.NewReader(&limitedReader{z, limit})
	for range a.part.maxEntries() + 1 {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return phrase.Errorf("the tar.gz archive is damaged: %w", err)
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
	return tooMany(a.part.maxEntries())
}

func (a *tarArchive) Entries() []Entry { return a.list }

func (a *tarArchive) Each(f func(int, io.Reader) error) error {
	i := -1
	return a.walk(func(_ string, _ *tar.Header, r io.Reader) error {
		if i++; a.list[i].Folder {
			return nil
		}
		return f(i, &content{r: r, left: a.list[i].Size, name: a.list[i].Name})
	})
}

// limitedReader fails at its limit instead of ending with io.EOF, which would hide
// that there is more.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, phrase.Errorf("it unpacks to more than is allowed")
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
