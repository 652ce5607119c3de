package builtin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/etui-run/etui/cmd/internal/textcode"
)

// scanner reads the lines of text files, one file after the other.
type scanner struct{ buffer *bufio.Reader }

func newScanner() scanner { return scanner{bufio.NewReaderSize(nil, 256<<10)} }

// scanResult is what a scanner found in a file.
type scanResult struct {
	code  textcode.Code
	bytes int64
	whole bool // all of it was read
}

// lines calls each for the lines of a text file, numbered from 1 and with their
// endings, until each returns false. A line longer than 256 KiB comes in pieces with
// the same number. Only the first maxScan bytes of a file are read.
func (sc scanner) lines(s spot, each func(n int, piece []byte) (more bool)) (scanResult, error) {
	file, info, err := s.open()
	if err != nil {
		return scanResult{}, err
	}
	defer file.Close()
	head := make([]byte, min(info.Size(), 64<<10))
	if _, err := io.ReadFull(file, head); err != nil && !errors.Is(err, io.EOF) &&
		!errors.Is(err, io.ErrUnexpectedEOF) {
		return scanResult{}, say(s.shown, err)
	}
	code, isText := textcode.Of(head)
	if !isText {
		return scanResult{}, s.isBinary(info.Size())
	}
	found := scanResult{code, min(info.Size(), maxScan), info.Size() <= maxScan}
	sc.buffer.Reset(code.Reader(io.LimitReader(io.MultiReader(bytes.NewReader(head), file), maxScan)))
	for n, begins := 0, true; ; {
		piece, err := sc.buffer.ReadSlice('\n')
		if len(piece) > 0 && begins {
			n++
		}
		switch {
		case bytes.IndexByte(piece, 0) >= 0:
			return scanResult{}, s.isBinary(info.Size())
		case len(piece) > 0 && !each(n, piece), errors.Is(err, io.EOF):
			return found, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return scanResult{}, say(s.shown, err)
		}
		begins = err == nil
	}
}

func (s spot) isBinary(size int64) error {
	return fmt.Errorf("%s is a binary file of %d bytes, or text in an unknown encoding", s.shown, size)
}

// codeNote names the encoding of a text if it is not the usual one.
func codeNote(c textcode.Code) string {
	if c.IsUTF8() {
		return ""
	}
	return fmt.Sprintf("\n(encoded in %s; edits keep the encoding)", c)
}
