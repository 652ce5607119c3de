package builtin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/internal/patternsize"
)

type searchInput struct {
	// regular expression
	Pattern string `json:"pattern"`
	// folder or file
	Path string `json:"path,omitempty"`
	// such as *.go
	Files string `json:"files,omitempty"`
	// lines of context
	Around int `json:"around,omitempty" maximum:"10"`
}

// searchText finds lines in files of the workspace.
//
//etui:tool risk=read
//etui:zh 在工作区文件内容中搜索文字。
//etui:alias grep, search in files, where is this word used, 全文搜索文件, 哪个文件里有
//etui:alias find a word in a file, which lines contain, 在文件里找
func (f *Files) searchText(ctx context.Context, in searchInput) (string, error) {
	s, err := f.find(in.Path)
	if err != nil {
		return "", err
	}
	defer s.close()
	var files glob
	if in.Files != "" {
		if files, err = newGlob(in.Files); err != nil {
			return "", err
		}
	}
	if in.Pattern == "" || len(in.Pattern) > 1000 {
		return "", errors.New("the pattern must have 1 to 1000 characters")
	}
	h := hits{around: min(in.Around, 10), scanner: newScanner(), redact: f.redact}
	if h.re, err = regexp.Compile(in.Pattern); err != nil {
		h.re = regexp.MustCompile(regexp.QuoteMeta(in.Pattern)) // then search for it literally
	}
	if size := patternsize.Of(h.re.String()); size > maxInstructions {
		return "", fmt.Errorf("the pattern means %d steps for each character, at most %d are possible: use smaller numbers in {}", size, maxInstructions)
	}
	if err := h.search(ctx, f, s, files); err != nil {
		return "", err
	}
	if h.count == 0 {
		return fmt.Sprintf("No line matches %s.%s", in.Pattern, h.note+h.part), nil
	}
	return h.text.String() + h.note + h.part, nil
}

// maxInstructions bounds the work for each byte of a text.
const maxInstructions = 2000

// hits are the lines that match.
type hits struct {
	scanner
	re     *regexp.Regexp
	around int
	redact func(string) string

	text  strings.Builder
	count int
	bytes int64  // read so far
	note  string // why the search stopped
	part  string // which file was read in part
}

// search finds lines in a file, or in the files below a folder whose names match. In
// folders it skips binary files and files with several names.
func (h *hits) search(ctx context.Context, f *Files, s spot, files glob) error {
	if info, err := s.root.Stat(s.name); err == nil && !info.IsDir() {
		return h.find(ctx, s)
	}
	all, err := f.walk(ctx, s, func(file spot, e fs.DirEntry) error {
		if !e.Type().IsRegular() || files != nil && !files.match(file.within(s)) {
			return nil
		}
		if info, err := e.Info(); err != nil || filestamp.Links(info) > 1 {
			return nil //nolint:nilerr // skipped
		}
		_ = h.find(ctx, file) // unreadable files are skipped
		if h.bytes > maxSearch {
			h.note = "\n(not all files were searched: narrow path or files)"
		}
		if h.note != "" {
			return fs.SkipAll
		}
		return nil
	})
	if !all && h.note == "" {
		h.note = tooMany
	}
	return err
}

// find finds the lines of one file.
func (h *hits) find(ctx context.Context, s spot) error {
	var before []string // possible context before a hit
	shown, last, after := 0, 0, 0
	file, err := h.lines(s, func(n int, piece []byte) bool {
		if ctx.Err() != nil {
			return false
		}
		again := n == last
		last = n
		at := h.re.FindIndex(bytes.TrimRight(piece, "\r\n"))
		switch {
		case at != nil && n > shown:
			if h.count == maxHits {
				h.note = fmt.Sprintf("\n(the first %d; there are more)", maxHits)
				return false
			}
			if h.around > 0 && h.count > 0 && (shown == 0 || n-len(before) > shown+1) {
				h.text.WriteString("\n--")
			}
			for i, line := range before {
				h.add(s.shown, n-len(before)+i, "-", line)
			}
			h.add(s.shown, n, ":", h.excerpt(piece))
			h.count++
			before, shown, after = before[:0], n, h.around
		case again:
		case after > 0:
			h.add(s.shown, n, "-", h.excerpt(piece))
			shown, after = n, after-1
		case h.around > 0:
			if len(before) == h.around {
				before = append(before[:0], before[1:]...)
			}
			before = append(before, h.excerpt(piece))
		}
		return h.note == ""
	})
	h.bytes += file.bytes
	if err == nil && !file.whole {
		h.part = fmt.Sprintf("\n(of %s, only the first 64 MiB were searched)", told(s.shown))
	}
	return cmp.Or(err, ctx.Err())
}

// add adds a line if there is room.
func (h *hits) add(name string, n int, sign, line string) {
	if h.note != "" {
		return
	}
	if h.text.Len()+len(name)+len(line) > maxText-200 {
		h.note = fmt.Sprintf("\n(the first %d; there are more)", h.count)
		return
	}
	if h.text.Len() > 0 {
		h.text.WriteByte('\n')
	}
	fmt.Fprintf(&h.text, "%s%s%d%s %s", told(name), sign, n, sign, line)
}

// excerpt returns a line, or the part of a long line around what is found in it, else its beginning.
func (h *hits) excerpt(piece []byte) string {
	piece = bytes.TrimRight(piece, "\r\n")
	if len(piece) <= maxWidth {
		return strings.ToValidUTF8(string(piece), "\uFFFD")
	}
	line, from := h.redact(string(piece)), 0
	if at := h.re.FindStringIndex(line); at != nil {
		from = max(0, min(at[0]-maxWidth/3, len(line)-maxWidth))
	}
	to := min(len(line), from+maxWidth)
	text := strings.ToValidUTF8(line[from:to], "")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}
