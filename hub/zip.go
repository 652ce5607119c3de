package hub

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// zipArchive is a zip file. It is read here, and not by archive/zip, because
// that one takes what other programs understand in another way: entries whose
// two headers differ, entries that lie over one another, lies about sizes. Here
// such a file is refused.
type zipArchive struct {
	f     io.ReaderAt
	files []zipEntry
	list  []entry
}

// zipEntry is an entry as the central directory has it.
type zipEntry struct {
	name            string
	flags, method   uint16
	crc             uint32
	packed, size    uint64
	offset          uint64 // of the local header
	attributes      uint32
	data            int64 // where the content begins
	kept            bool
	renamed         string
	end             uint64
	zip64, streamed bool
}

// The signatures of a zip file's records, and the length of their fixed parts.
const (
	localSignature   = 0x04034b50
	centralSignature = 0x02014b50
	endSignature     = 0x06054b50
	end64Signature   = 0x06064b50
	locatorSignature = 0x07064b50

	descriptorSignature = 0x08074b50

	localLen   = 30
	centralLen = 46
	endLen     = 22
	end64Len   = 56
	locatorLen = 20

	maxCentral = 32 << 20 // bytes of the central directory
)

// openZip reads and checks the headers of a zip file.
func openZip(f io.ReaderAt, size int64, p part) (*zipArchive, error) {
	at, length, count, err := findCentral(f, size)
	if err != nil {
		return nil, err
	}
	if count > uint64(p.counts()) {
		return nil, tooMany(p.counts())
	}
	if length > maxCentral {
		return nil, fmt.Errorf("the list of its files takes %s", megabytes(int64(length)))
	}
	a := &zipArchive{f: f}
	if err := a.readCentral(at, length, count, p); err != nil {
		return nil, err
	}
	for i := range a.files {
		if err := a.readLocal(&a.files[i], at); err != nil {
			return nil, err
		}
	}
	if err := a.apart(); err != nil {
		return nil, err
	}
	a.files = slices.DeleteFunc(a.files, func(e zipEntry) bool { return !e.kept })
	for _, e := range a.files {
		listed, err := e.entry()
		if err != nil {
			return nil, err
		}
		a.list = append(a.list, listed)
	}
	return a, nil
}

// findCentral finds the central directory by the record at the very end.
func findCentral(f io.ReaderAt, size int64) (at, length, count uint64, err error) {
	tail := make([]byte, min(size, endLen+1<<16-1))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, 0, err
	}
	le := binary.LittleEndian
	for i := len(tail) - endLen; i >= 0; i-- {
		r := tail[i:]
		if le.Uint32(r) != endSignature || int(le.Uint16(r[20:]))+endLen != len(r) {
			continue
		}
		end := uint64(size) - uint64(len(r))
		disks := le.Uint32(r[4:])
		onThis := uint64(le.Uint16(r[8:]))
		count, length, at = uint64(le.Uint16(r[10:])), uint64(le.Uint32(r[12:])), uint64(le.Uint32(r[16:]))
		if count == 0xffff || length == 0xffffffff || at == 0xffffffff {
			if at, length, count, onThis, end, err = findCentral64(f, end); err != nil {
				return 0, 0, 0, err
			}
		} else if disks != 0 {
			return 0, 0, 0, errors.New("the zip archive is only a part of one")
		}
		if onThis != count || at > end || length != end-at {
			return 0, 0, 0, errors.New("the zip archive is damaged: its list of files is not where it says")
		}
		return at, length, count, nil
	}
	return 0, 0, 0, errors.New("the zip archive is damaged: it has no end, or something comes after it")
}

// findCentral64 reads the records that large archives have before the last one.
func findCentral64(f io.ReaderAt, end uint64) (at, length, count, onThis, start uint64, err error) {
	le := binary.LittleEndian
	damaged := errors.New("the zip64 archive is damaged")
	locator := make([]byte, locatorLen)
	if end < locatorLen+end64Len {
		return 0, 0, 0, 0, 0, damaged
	}
	if _, err := f.ReadAt(locator, int64(end-locatorLen)); err != nil || le.Uint32(locator) != locatorSignature || le.Uint32(locator[4:]) != 0 {
		return 0, 0, 0, 0, 0, damaged
	}
	start = le.Uint64(locator[8:])
	if start > end-locatorLen-end64Len {
		return 0, 0, 0, 0, 0, damaged
	}
	r := make([]byte, end64Len)
	if _, err := f.ReadAt(r, int64(start)); err != nil || le.Uint32(r) != end64Signature || le.Uint64(r[4:]) != end-locatorLen-start-12 || le.Uint64(r[16:]) != 0 {
		return 0, 0, 0, 0, 0, damaged
	}
	return le.Uint64(r[48:]), le.Uint64(r[40:]), le.Uint64(r[32:]), le.Uint64(r[24:]), start, nil
}

// readCentral reads the central directory.
func (a *zipArchive) readCentral(at, length, count uint64, p part) error {
	raw := make([]byte, length)
	if _, err := a.f.ReadAt(raw, int64(at)); err != nil {
		return fmt.Errorf("reading the zip archive: %w", err)
	}
	le := binary.LittleEndian
	for range count {
		if len(raw) < centralLen || le.Uint32(raw) != centralSignature {
			return errors.New("the zip archive is damaged: its list of files is too short")
		}
		names, extras, comments := int(le.Uint16(raw[28:])), int(le.Uint16(raw[30:])), int(le.Uint16(raw[32:]))
		if len(raw) < centralLen+names+extras+comments {
			return errors.New("the zip archive is damaged: its list of files is too short")
		}
		e := zipEntry{
			name:  string(raw[centralLen : centralLen+names]),
			flags: le.Uint16(raw[8:]), method: le.Uint16(raw[10:]), crc: le.Uint32(raw[16:]),
			packed: uint64(le.Uint32(raw[20:])), size: uint64(le.Uint32(raw[24:])), offset: uint64(le.Uint32(raw[42:])),
			attributes: le.Uint32(raw[38:]),
		}
		if err := e.large(raw[centralLen+names:centralLen+names+extras], true); err != nil {
			return err
		}
		e.streamed = e.flags&8 != 0
		e.renamed, e.kept = p.take(e.name)
		a.files = append(a.files, e)
		raw = raw[centralLen+names+extras+comments:]
	}
	if len(raw) > 0 {
		return errors.New("the zip archive is damaged: its list of files is longer than it says")
	}
	return nil
}

// large takes the sizes that did not fit into a header from its extra fields.
func (e *zipEntry) large(extra []byte, central bool) error {
	le := binary.LittleEndian
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if len(extra) < 4+n {
			return nil // padding of some programs
		}
		field := extra[4 : 4+n]
		extra = extra[4+n:]
		if id != 1 {
			continue
		}
		for _, v := range []*uint64{&e.size, &e.packed, &e.offset} {
			if *v != 0xffffffff || v == &e.offset && !central {
				continue
			}
			if len(field) < 8 {
				return fmt.Errorf("the zip64 sizes of %s are missing", shown(e.name))
			}
			*v, field = le.Uint64(field), field[8:]
			e.zip64 = true
		}
		return nil
	}
	return nil
}

// readLocal reads the header before an entry's content and holds it against the
// central one.
func (a *zipArchive) readLocal(e *zipEntry, limit uint64) error {
	differ := fmt.Errorf("%s: its two headers in the zip archive say different things", shown(e.name))
	if e.offset > limit || limit-e.offset < localLen {
		return differ
	}
	head := make([]byte, localLen)
	if _, err := a.f.ReadAt(head, int64(e.offset)); err != nil {
		return fmt.Errorf("reading the zip archive: %w", err)
	}
	le := binary.LittleEndian
	names, extras := le.Uint16(head[26:]), le.Uint16(head[28:])
	start := e.offset + localLen + uint64(names) + uint64(extras)
	if le.Uint32(head) != localSignature || start > limit || e.packed > limit-start {
		return differ
	}
	e.data, e.end = int64(start), start+e.packed
	if !e.kept {
		return nil
	}
	rest := make([]byte, int(names)+int(extras))
	if _, err := a.f.ReadAt(rest, int64(e.offset)+localLen); err != nil {
		return fmt.Errorf("reading the zip archive: %w", err)
	}
	local := zipEntry{name: e.name, size: uint64(le.Uint32(head[22:])), packed: uint64(le.Uint32(head[18:]))}
	if err := local.large(rest[names:], false); err != nil {
		return err
	}
	unsaid := e.streamed && local.size == 0 && local.packed == 0 && le.Uint32(head[14:]) == 0
	switch {
	case string(rest[:names]) != e.name, le.Uint16(head[6:]) != e.flags, le.Uint16(head[8:]) != e.method:
		return differ
	case e.streamed && !a.described(e):
		return differ
	case !unsaid && (local.size != e.size || local.packed != e.packed || le.Uint32(head[14:]) != e.crc):
		return differ
	}
	return nil
}

// described reports that after the content of an entry that was written without
// knowing it before, its checksum follows.
func (a *zipArchive) described(e *zipEntry) bool {
	d := make([]byte, 8)
	if _, err := a.f.ReadAt(d, int64(e.end)); err != nil {
		return false
	}
	sum := binary.LittleEndian.Uint32(d)
	if sum == descriptorSignature {
		sum = binary.LittleEndian.Uint32(d[4:])
	}
	return sum == e.crc
}

// apart reports contents that lie over one another.
func (a *zipArchive) apart() error {
	order := slices.Clone(a.files)
	slices.SortFunc(order, func(a, b zipEntry) int {
		if a.offset < b.offset {
			return -1
		}
		return 1
	})
	for i := 1; i < len(order); i++ {
		if order[i-1].end > order[i].offset {
			return fmt.Errorf("%s and %s share bytes of the zip archive", shown(order[i-1].name), shown(order[i].name))
		}
	}
	return nil
}

// entry is what is listed of a header, or what is wrong with it.
func (e *zipEntry) entry() (entry, error) {
	name, slash := strings.CutSuffix(e.renamed, "/")
	mode := fs.FileMode(e.attributes >> 16) // as Unix has it
	kind := mode & 0o170000
	listed := entry{name: name, folder: slash, executable: mode&0o111 != 0, size: int64(e.size)}
	switch {
	case e.flags&(1|1<<6|1<<13) != 0:
		return listed, fmt.Errorf("%s is encrypted", shown(e.name))
	case e.method != 0 && e.method != 8:
		return listed, fmt.Errorf("%s is compressed by method %d; only deflate is understood", shown(e.name), e.method)
	case kind == 0o120000:
		return listed, fmt.Errorf("%s is a link; packages hold only files and folders", shown(e.name))
	case kind != 0 && kind != 0o100000 && kind != 0o040000:
		return listed, fmt.Errorf("%s is a special file; packages hold only files and folders", shown(e.name))
	case (kind == 0o040000) && !slash, slash && e.size > 0:
		return listed, fmt.Errorf("%s is file and folder at once", shown(e.name))
	case e.size > maxUnpacked:
		return listed, fmt.Errorf("%s has %s, at most %s are allowed", shown(e.name), megabytes(int64(min(e.size, 1<<62))), megabytes(maxFile))
	case e.method == 0 && e.size != e.packed:
		return listed, fmt.Errorf("%s: the sizes of a file that is not compressed differ", shown(e.name))
	}
	return listed, nil
}

func (a *zipArchive) entries() []entry { return a.list }

func (a *zipArchive) each(f func(int, io.Reader) error) error {
	for i, e := range a.files {
		if a.list[i].folder {
			continue
		}
		var content io.Reader = io.NewSectionReader(a.f, e.data, int64(e.packed))
		if e.method == 8 {
			content = flate.NewReader(content)
		}
		sum := &summed{r: &exact{r: content, left: int64(e.size), name: e.name}, hash: crc32.NewIEEE(), want: e.crc, name: e.name}
		if err := f(i, sum); err != nil {
			return err
		}
	}
	return nil
}

// summed holds what is read against its checksum, at the end.
type summed struct {
	r    io.Reader
	hash hash.Hash32
	want uint32
	name string
}

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	_, _ = s.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && s.hash.Sum32() != s.want {
		return n, fmt.Errorf("%s is damaged: its checksum is wrong", shown(s.name))
	}
	return n, err
}

var _ archive = (*zipArchive)(nil)

// isZip reports whether a file begins like a zip archive.
func isZip(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }
