// Package scan reads texts of strangers for what a person should look at before they are used.
//
// [Definitions] reads what MCP servers say of their tools: texts that instruct the assistant instead of
// describing a tool, or that people do not see. [Files] reads the files of a skill before it is
// installed: text that sends keys away, downloads and runs programs, opens back doors or tells the model
// to ignore its instructions; files that other programs run by themselves; programs and archives that
// cannot be read; invisible characters.
//
// A flag is a reason to ask, not a proof, and the absence of flags proves nothing: the sandbox limits
// what a skill's programs can do. The rules leave everyday skills alone, which name keys, call services
// and install programs.
package scan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Flag is something in a skill that a person should look at.
type Flag struct {
	File string `json:"file"`
	// Line counts from 1; 0 means the whole file.
	Line int    `json:"line,omitempty"`
	Rule string `json:"rule"`
	// Why describes the finding for people.
	Why string `json:"why"`
}

func (f Flag) String() string {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return at + ": " + f.Why
}

const (
	maxFile  = 1 << 20 // bytes of a file that are read
	maxAll   = 4 << 20 // bytes of all files
	maxFlags = 50      // flags of one skill
	maxLine  = 2000    // bytes of a line that are read at once
	overlap  = 400     // bytes that the pieces of a longer line share
)

// Files scans the files of a skill. It returns the flags by file and line.
func Files(fsys fs.FS) ([]Flag, error) {
	var flags []Flag
	var all int
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(flags) >= maxFlags {
			return err
		}
		if all > maxAll {
			flags = append(flags, Flag{File: name, Rule: "long",
				Why: "this file and those after it were not looked at: there is too much text"})
			return fs.SkipAll
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		found, read := file(name, text)
		flags, all = append(flags, found...), all+read
		return nil
	})
	slices.SortStableFunc(flags, func(a, b Flag) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return flags[:min(len(flags), maxFlags)], err
}

// file scans one file and returns how many bytes of it were text.
func file(name string, text []byte) (flags []Flag, read int) {
	if why := startsItself(name, text); why != "" {
		flags = append(flags, Flag{File: name, Rule: "starts-itself", Why: why})
	}
	if why := program(name, text); why != "" {
		return append(flags, Flag{File: name, Rule: "program", Why: why}), 0
	}
	if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		if isText(name, text) {
			flags = append(flags, Flag{File: name, Rule: "program",
				Why: "it holds bytes of zero, so it was not looked at; programs run or read it all the same"})
		}
		return flags, 0 // pictures, fonts and such
	}
	if len(text) > maxFile && !isData(name) {
		flags = append(flags, Flag{File: name, Rule: "long", Why: "only its first MB of text was looked at"})
	}
	p := newPage(name, string(text[:min(len(text), maxFile)]))
	flags = append(flags, p.hidden()...)
	if isData(name) {
		return flags, 0
	}
	for _, r := range rules() {
		if i := r.find(p); i >= 0 {
			flags = append(flags, Flag{File: name, Line: p.lines[i].number, Rule: r.name, Why: r.why})
		}
	}
	return flags, len(text)
}

// page is a text file as the rules read it.
type page struct {
	name  string
	prose bool   // Markdown and plain text: a person's words, with code in between
	lines []line // very long ones in pieces that overlap
	lower string // all of them in lower case
}

// line is a text with its lower case, by which the rules find candidates.
type line struct {
	text, lower string
	number      int // from 1
}

func newLine(text string) line { return line{text: text, lower: strings.ToLower(text)} }

func newPage(name, text string) *page {
	p := &page{name: name}
	number := 0
	add := func(text string) { p.lines = append(p.lines, line{text, strings.ToLower(text), number}) }
	for text := range strings.SplitSeq(text, "\n") {
		number++
		for len(text) > maxLine {
			add(text[:maxLine])
			text = text[maxLine-overlap:]
		}
		add(text)
	}
	p.lower = strings.ToLower(text)
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc", ".html", ".htm":
		p.prose = true
	case "":
		p.prose = !strings.HasPrefix(text, "#!")
	}
	return p
}

// near joins some lines.
func (p *page) near(from, to int) line {
	var text, lower []string
	for _, l := range p.lines[max(0, from):min(to, len(p.lines))] {
		text, lower = append(text, l.text), append(lower, l.lower)
	}
	return line{text: strings.Join(text, " "), lower: strings.Join(lower, " ")}
}
