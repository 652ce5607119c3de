package archive

import (
	"cmp"
	"compress/flate"
	"encoding/binary"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/etui-run/etui/phrase"
)

// zipArchive is a zip file. archive/zip does not read it, because it accepts
// files that other programs understand differently: entries whose two headers
// differ, entries that overlap, wrong sizes. This reader refuses such files.
type zipArchive struct {
	f     io.ReaderAt
	files []zipEntry // those that the part takes
	list  []Entry
}

// zipEntry is an entry as the central directory describes it.
type zipEntry struct {
	name          string
	flags, method uint16
	crc           uint32
	packed, size  uint64
	attributes    uint32
	offset        uint64 // of the local header
	data, end     uint64 // of the content
	kept          bool
	renamed       string
}

// The signatures of a zip file's records, and the lengths of their fixed parts.
const (
	localSignature      = "PK\x03\x04"
	centralSignature    = "PK\x01\x02"
	endSignature        = "PK\x05\x06"
	descriptorSignature = "PK\x07\x08"

	localLen   = 30
	centralLen = 46
	endLen     = 22

	maxCentral = 32 << 20 // bytes of the central directory
)

// record is a record of a zip file, or what begins with one.
type record []byte

func (r record) u16(at int) uint16 { return binary.LittleEndian.Uint16(r[at:]) }
func (r record) u32(at int) uint32 { return binary.LittleEndian.Uint32(r[at:]) }
func (r record) u64(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
func (r record) is(signature string) bool {
	return strings.HasPrefix(string(r[:min(4, len(r))]), signature)
}
func damaged(how string) error { return phrase.Errorf("the zip archive is damaged: %s", how) }

// read reads a part of the file.
func read(f io.ReaderAt, at, length uint64) (record, error) {
	r := make(record, length)
	if _, err := io.ReadFull(io.NewSectionReader(f, int64(at), int64(length)), r); err != nil {
		return nil, phrase.Errorf("reading the zip archive: %w", err)
	}
	return r, nil
}

// openZip reads and checks the headers of a zip file.
func openZip(f io.ReaderAt, size int64, p Part) (Archive, error) {
	at, length, count, err := findCentral(f, uint64(size))
	if err != nil {
		return nil, err
	}
	if count > uint64(p.maxEntries()) {
		return nil, tooMany(p.maxEntries())
	}
	if length > maxCentral {
		return nil, phrase.Errorf("the list of its files takes %s", MB(int64(length)))
	}
	files, err := readCentral(f, at, length, count, p)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := files[i].readLocal(f, at); err != nil {
			return nil, err
		}
	}
	if err := checkOverlap(files); err != nil {
		return nil, err
	}
	a := &zipArchive{f: f, files: slices.DeleteFunc(files, func(e zipEntry) bool { return !e.kept })}
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
func findCentral(f io.ReaderAt, size uint64) (at, length, count uint64, err error) {
	tail, err := read(f, size-min(size, endLen+1<<16-1), min(size, endLen+1<<16-1))
	if err != nil {
		return 0, 0, 0, err
	}
	for i := len(tail) - endLen; i >= 0; i-- {
		r := tail[i:]
		if !r.is(endSignature) || int(r.u16(20))+endLen != len(r) {
			continue
		}
		end := size - uint64(len(r))
		count, length, at = uint64(r.u16(10)), uint64(r.u32(12)), uint64(r.u32(16))
		switch {
		case count == 0xffff || length == 0xffffffff || at == 0xffffffff: // the list of files is in the form of zip64
			return 0, 0, 0, phrase.Errorf("the zip archive has 65,535 files or more; pack it as tar.gz")
		case r.u32(4) != 0:
			return 0, 0, 0, phrase.Errorf("the zip archive is only a part of one")
		case uint64(r.u16(8)) != count || at > end || length != end-at:
			return 0, 0, 0, damaged("its list of files is not where it says")
		}
		return at, length, count, nil
	}
	return 0, 0, 0, damaged("it has no end, or something comes after it")
}

// readCentral reads the central directory.
func readCentral(f io.ReaderAt, at, length, count uint64, p Part) ([]zipEntry, error) {
	r, err := read(f, at, length)
	if err != nil {
		return nil, err
	}
	var files []zipEntry
	for range count {
		if len(r) < centralLen || !r.is(centralSignature) {
			return nil, damaged("its list of files is too short")
		}
		extra := centralLen + int(r.u16(28))
		comment := extra + int(r.u16(30))
		end := comment + int(r.u16(32))
		if len(r) < end {
			return nil, damaged("its list of files is too short")
		}
		e := zipEntry{
			name: string(r[centralLen:extra]), flags: r.u16(8), method: r.u16(10), crc: r.u32(16),
			packed: uint64(r.u32(20)), size: uint64(r.u32(24)), attributes: r.u32(38), offset: uint64(r.u32(42)),
		}
		if err := e.large(r[extra:comment], &e.size, &e.packed, &e.offset); err != nil {
			return nil, err
		}
		e.renamed, e.kept = p.take(e.name)
		files, r = append(files, e), r[end:]
	}
	if len(r) > 0 {
		return nil, damaged("its list of files is longer than it says")
	}
	return files, nil
}

// large reads the values that did not fit into a header from its extra fields.
func (e *zipEntry) large(extra record, values ...*uint64) error {
	for len(extra) >= 4 {
		id, n := extra.u16(0), int(extra.u16(2))
		if len(extra) < 4+n {
			return nil // some programs add padding
		}
		field := extra[4 : 4+n]
		extra = extra[4+n:]
		if id != 1 {
			continue
		}
		for _, v := range values {
			if *v != 0xffffffff {
				continue
			}
			if len(field) < 8 {
				return phrase.Errorf("the zip64 sizes of %s are missing", Quote(e.name))
			}
			*v, field = field.u64(0), field[8:]
		}
		return nil
	}
	return nil
}

// readLocal reads the header before an entry's content and compares it with the
// central one. limit is where the central directory begins.
func (e *zipEntry) readLocal(f io.ReaderAt, limit uint64) error {
	differ := phrase.Errorf("%s: its two headers in the zip archive differ", Quote(e.name))
	if e.offset > limit || limit-e.offset < localLen {
		return differ
	}
	h, err := read(f, e.offset, localLen)
	if err != nil {
		return err
	}
	names, extras := uint64(h.u16(26)), uint64(h.u16(28))
	e.data = e.offset + localLen + names + extras
	if !h.is(localSignature) || e.data > limit || e.packed > limit-e.data {
		return differ
	}
	e.end = e.data + e.packed
	if !e.kept {
		return nil
	}
	rest, err := read(f, e.offset+localLen, names+extras)
	if err != nil {
		return err
	}
	packed, size := uint64(h.u32(18)), uint64(h.u32(22))
	if err := e.large(rest[names:], &size, &packed); err != nil {
		return err
	}
	streamed := e.flags&8 != 0
	unknown := streamed && size == 0 && packed == 0 && h.u32(14) == 0
	if string(rest[:names]) != e.name || h.u16(6) != e.flags || h.u16(8) != e.method || streamed && !e.described(f) ||
		!unknown && (size != e.size || packed != e.packed || h.u32(14) != e.crc) {
		return differ
	}
	return nil
}

// described reports that the checksum follows the content of an entry whose
// writer did not know it before.
func (e *zipEntry) described(f io.ReaderAt) bool {
	r, err := read(f, e.end, 8)
	return err == nil && (r.is(descriptorSignature) && r.u32(4) == e.crc ||
		!r.is(descriptorSignature) && r.u32(0) == e.crc)
}

// checkOverlap refuses contents that share bytes.
func checkOverlap(files []zipEntry) error {
	order := slices.SortedFunc(slices.Values(files), func(a, b zipEntry) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(order); i++ {
		if order[i-1].end > order[i].offset {
			return phrase.Errorf("%s and %s share bytes of the zip archive", Quote(order[i-1].name),
				Quote(order[i].name))
		}
	}
	return nil
}

// entry returns what is listed of an entry, or what is wrong with it.
func (e *zipEntry) entry() (Entry, error) {
	name, slash := strings.CutSuffix(e.renamed, "/")
	mode := fs.FileMode(e.attributes >> 16) // as on Unix
	kind := mode & 0o170000
	listed := Entry{Name: name, Folder: slash, Executable: mode&0o111 != 0, Size: int64(e.size)}
	switch {
	case e.flags&(1|1<<6|1<<13) != 0:
		return listed, phrase.Errorf("%s is encrypted", Quote(e.name))
	case e.method != 0 && e.method != 8:
		return listed, phrase.Errorf("%s is compressed by method %d; only deflate is supported", Quote(e.name),
			e.method)
	case kind == 0o120000:
		return listed, notAFile(e.name, "link")
	case kind != 0 && kind != 0o100000 && kind != 0o040000:
		return listed, notAFile(e.name, "special file")
	case kind == 0o040000 && !slash, slash && e.size > 0:
		return listed, phrase.Errorf("%s is file and folder at once", Quote(e.name))
	case e.size > maxUnpacked:
		return listed, phrase.Errorf("%s has %s, at most %s are allowed", Quote(e.name), MB(int64(min(e.size, 1<<62))),
			MB(maxFile))
	case e.method == 0 && e.size != e.packed:
		return listed, phrase.Errorf("%s: the sizes of a file that is not compressed differ", Quote(e.name))
	}
	return listed, nil
}

func (a *zipArchive) Entries() []Entry { return a.list }

func (a *zipArchive) Each(f func(int, io.Reader) error) error {
	for i, e := range a.files {
		if a.list[i].Folder {
			continue
		}
		var r io.Reader = io.NewSectionReader(a.f, int64(e.data), int64(e.packed))
		if e.method == 8 {
			r = flate.NewReader(r)
		}
		if err := f(i, &content{r: r, left: int64(e.size), name: e.name, sum: &e.crc}); err != nil {
			return err
		}
	}
	return nil
}
