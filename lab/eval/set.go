// Package eval measures a ranking on questions whose tools are known.
//
// A set is a folder with tools.jsonl and queries.jsonl, each plain or gzipped:
//
//	{"id","name","description","parameters","group","aliases","examples","translations","body"}
//	{"id","text","relevant":[ids],"lang","history":[{"role","text"}]}
//
// Only ids and text are required. A query with an empty relevant is a negative:
// nothing should be offered for it. No ranking finds a relevant tool that is
// missing in the set.
package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Limits of a file: longer lines are left out, and more lines are an error.
const (
	maxLine = 4 << 20 // bytes
	maxRows = 1 << 20
)

// Set is a catalog with questions.
type Set struct {
	// Name is the name of the folder.
	Name    string
	Tools   []Tool
	Queries []Query
	// Problems are the lines that could not be used, or only in part.
	Problems []Problem
}

// Tool is a tool with the id by which queries name it.
type Tool struct {
	ID         string
	Definition tool.Definition
}

// Query is a question with the tools that answer it.
type Query struct {
	ID       string         `json:"id"`
	Text     string         `json:"text"`
	Relevant []string       `json:"relevant"`
	Lang     string         `json:"lang,omitempty"`
	History  []chat.Message `json:"history,omitempty"`
}

// Problem is a line that could not be used.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// Load reads the set in a folder. Unusable lines are left out and become Problems;
// a missing file is an error.
func Load(dir string) (*Set, error) {
	return LoadFiles(filepath.Join(dir, "tools.jsonl"), filepath.Join(dir, "queries.jsonl"))
}

// LoadFiles reads a set from two files. If a file is missing, it reads the one of
// the same name with .gz.
func LoadFiles(tools, queries string) (*Set, error) {
	abs, err := filepath.Abs(tools)
	if err != nil {
		return nil, err
	}
	s := &Set{Name: filepath.Base(filepath.Dir(abs))}
	known := map[string]bool{}
	err = read(s, tools, func(row toolRow) error {
		t, err := row.tool()
		if err != nil {
			return err
		}
		if known[t.ID] {
			return fmt.Errorf("duplicate id %q", t.ID)
		}
		known[t.ID] = true
		s.Tools = append(s.Tools, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	err = read(s, queries, func(q Query) error {
		if q.ID == "" || q.Text == "" {
			return errors.New("a query needs id and text")
		}
		if asked[q.ID] {
			return fmt.Errorf("duplicate id %q", q.ID)
		}
		asked[q.ID] = true
		s.Queries = append(s.Queries, q)
		for _, id := range q.Relevant {
			if !known[id] {
				return fmt.Errorf("there is no tool %q: it counts as not found", id)
			}
		}
		return nil
	})
	return s, err
}

// toolRow is a line of a file of tools.
type toolRow struct {
	ID, Name, Description, Body string
	Parameters                  json.RawMessage
	Group                       string
	Groups, Aliases, Examples   []string
	Translations                map[string]string
}

func (row toolRow) tool() (Tool, error) {
	if row.ID == "" && row.Name == "" {
		return Tool{}, errors.New("a tool needs an id or a name")
	}
	if row.Group != "" {
		row.Groups = append(row.Groups, row.Group)
	}
	if bytes.Equal(row.Parameters, []byte("null")) {
		row.Parameters = nil
	}
	return Tool{ID: cmp.Or(row.ID, row.Name), Definition: tool.Definition{
		Name: cmp.Or(row.Name, row.ID), Description: row.Description, Parameters: row.Parameters, Groups: row.Groups,
		Aliases: row.Aliases, Examples: row.Examples, Translations: row.Translations, Body: row.Body,
	}}, nil
}

// read calls take with each line of a file. A line that is no such row, or that take
// refuses, is a Problem.
func read[T any](s *Set, file string, take func(row T) error) error {
	r, name, err := open(file)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if n > maxRows && len(line) > 0 {
			return fmt.Errorf("%s has more than %d lines", name, maxRows)
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		switch {
		case len(line) > maxLine:
			s.Problems = append(s.Problems, Problem{name, n, fmt.Sprintf("the line is longer than %d MB", maxLine>>20)})
		case len(line) > 0:
			var row T
			err := unmarshal(line, &row)
			if err == nil {
				err = take(row)
			}
			if err != nil {
				s.Problems = append(s.Problems, Problem{name, n, err.Error()})
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			s.Problems = append(s.Problems, Problem{name, n, "the rest cannot be read: " + err.Error()})
		}
		if err != nil {
			return nil
		}
	}
}

// readLine returns the next line. It cuts a line that is too long a little after
// maxLine bytes and skips the rest.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// unmarshal parses a line of JSON. Its errors use the words of the file.
func unmarshal(line []byte, row any) error {
	err := json.Unmarshal(line, row)
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("a line must be an object, this is a JSON %s", wrong.Value)
	default:
		return fmt.Errorf("%q cannot be a JSON %s", strings.ToLower(wrong.Field), wrong.Value)
	}
}

// open opens a file, or the gzipped file of the same name.
func open(file string) (r io.ReadCloser, name string, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		if f, gzErr := os.Open(file + ".gz"); gzErr == nil {
			return unzip(f)
		}
	}
	if err != nil {
		return nil, file, err
	}
	if filepath.Ext(file) == ".gz" {
		return unzip(f)
	}
	return f, file, nil
}

func unzip(f *os.File) (io.ReadCloser, string, error) {
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, f.Name(), errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, f.Name(), nil
}
