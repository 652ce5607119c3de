package markdown

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
	"golang.org/x/text/unicode/norm"
)

// The bounds of a skill's other files.
const (
	maxRead  = 64 << 10 // bytes of a file that are shown
	maxFiles = 100      // files that are listed
	maxWalk  = 1000     // files and folders that are looked at for the list
	maxLevel = 4        // folders below each other that are looked at for it
)

// Skill is a folder with a SKILL.md. Executing it returns the instructions, or
// another file of the folder.
type Skill struct {
	document Document
	details  skill.Details
	root     *os.Root
	folder   string // below root
}

var (
	_ skill.Detailed = (*Skill)(nil)
	_ skill.Guide    = (*Skill)(nil)
)

// Load makes a skill of a folder below root; the folder "." is root itself. The
// root must stay open for as long as the skill is used: that is how it reads its
// other files. Requirements that the machine does not meet stand in the skill's
// details. What fails is told with the file and the line.
func Load(root *os.Root, folder string, machine Machine) (*Skill, error) {
	folder = path.Clean(folder)
	file, err := documentOf(root, folder)
	if err != nil {
		return nil, err
	}
	text, err := readBounded(root, path.Join(folder, file), maxFile)
	if errors.Is(err, errBound) {
		err = Problem{Message: tooLong}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(folder, file), err)
	}
	d, warnings, err := Parse(text)
	if err != nil {
		return nil, In(path.Join(folder, file), err)
	}
	name := folderName(root, folder)
	s := &Skill{document: d, root: root, folder: folder}
	s.details = skill.Details{
		Provider: "markdown", Risk: tool.Read, Version: d.Version, Aliases: d.Aliases, Body: d.Body,
		Tools: Tools(d.AllowedTools), Unmet: d.Requires.Unmet(machine), Hidden: d.Hidden,
	}
	switch {
	case d.Name == "":
		s.document.Name = name
	case norm.NFKC.String(d.Name) != norm.NFKC.String(name):
		warnings = append(warnings, Problem{0, "name", fmt.Sprintf("the skill is named %s and its folder %s", d.Name, name)})
	}
	for _, w := range warnings {
		s.details.Warnings = append(s.details.Warnings, w.Error())
	}
	return s, nil
}

// In says in which file a problem is.
func In(file string, err error) error {
	var p Problem
	if errors.As(err, &p) && p.Line > 0 {
		return fmt.Errorf("%s:%d: %s", file, p.Line, p.Message)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// folderName is the name of a skill's folder.
func folderName(root *os.Root, folder string) string {
	if folder == "." {
		return path.Base(strings.ReplaceAll(root.Name(), `\`, "/"))
	}
	return path.Base(folder)
}

// IsDocument says whether a file is a SKILL.md, however its name is spelt.
func IsDocument(file string) bool { return strings.EqualFold(file, "SKILL.md") }

// documentOf finds a folder's SKILL.md. Where there are several, the one that is
// spelt like the standard comes first.
func documentOf(root *os.Root, folder string) (string, error) {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return "", fmt.Errorf("%s: %w", folder, plain(err))
	}
	found := ""
	for _, e := range entries { // in order of names: SKILL.md comes first
		if IsDocument(e.Name()) && found == "" {
			found = e.Name()
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s: there is no SKILL.md", folder)
	}
	return found, nil
}

// Name is the skill's.
func (s *Skill) Name() string { return s.document.Name }

// Description tells a model what the skill is for.
func (s *Skill) Description() string { return s.document.Description }

// Parameters are one file to read, which may be left out.
func (s *Skill) Parameters() skill.ParameterSchema {
	return skill.ParameterSchema(`{"type":"object","properties":{"file":{"type":"string","description":"a file of the skill, by its path; without it, the instructions"}},"additionalProperties":false}`)
}

// Details returns what the SKILL.md says beside the contract.
func (s *Skill) Details() skill.Details { return s.details }

// Document returns what the SKILL.md says.
func (s *Skill) Document() Document { return s.document }

// Execute returns the instructions with a list of the skill's other files, or
// one of those files.
func (s *Skill) Execute(ctx context.Context, args json.RawMessage) (any, error) {
	var in struct {
		File string `json:"file"`
	}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, fmt.Errorf("%w: %w", skill.ErrInvalidParams, err)
		}
	}
	text, err := s.Read(ctx, in.File)
	if err != nil || in.File != "" {
		return text, err
	}
	if text == "" {
		text = "This skill has no instructions but its description: " + s.Description()
	}
	return text + s.list(), nil
}

// list tells of the other files.
func (s *Skill) list() string {
	files, more := s.files()
	if len(files) == 0 {
		return ""
	}
	list := "\n\n---\nOther files of this skill, to be asked for by their path:\n- " + strings.Join(files, "\n- ")
	if more {
		list += "\n- and more"
	}
	return list
}

// files are the skill's other files, by path, and whether there are more.
func (s *Skill) files() (files []string, more bool) {
	looked := 0
	_ = fs.WalkDir(s.root.FS(), s.folder, func(name string, e fs.DirEntry, err error) error {
		if looked++; looked > maxWalk || len(files) > maxFiles {
			more = true
			return fs.SkipAll
		}
		name = below(s.folder, name)
		switch {
		case err != nil, name == ".":
			return nil // what cannot be read is not listed
		case e.IsDir() && (skipped(e.Name()) || strings.Count(name, "/") >= maxLevel):
			return fs.SkipDir
		case e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") && (strings.Contains(name, "/") || !IsDocument(name)):
			files = append(files, name)
		}
		return nil
	})
	if len(files) > maxFiles {
		files, more = files[:maxFiles], true
	}
	return files, more
}

// below is a path relative to a folder that it lies in.
func below(folder, name string) string {
	if folder == "." {
		return name
	}
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(name, folder), "/"), ".")
}

// skipped says which folders hold nothing of a skill.
func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "node_modules" || folder == "__pycache__" || folder == "__MACOSX"
}

// Read returns a text file of the skill, at most 64 KiB of it; the empty path is
// the instructions, as they were when the skill was loaded.
func (s *Skill) Read(_ context.Context, file string) (string, error) {
	if file == "" {
		return s.document.Body, nil
	}
	name := path.Clean(strings.ReplaceAll(file, `\`, "/"))
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("%w: %q is no path below the skill's folder", skill.ErrInvalidParams, file)
	}
	raw, err := readBounded(s.root, path.Join(s.folder, name), maxRead)
	switch {
	case errors.Is(err, errBound):
	case errors.Is(err, fs.ErrNotExist):
		files, _ := s.files()
		return "", fmt.Errorf("%w: the skill has no file %q%s", skill.ErrInvalidParams, file, nearest.Hint(name, slices.Values(files)))
	case err != nil:
		return "", fmt.Errorf("%w: %s: %w", skill.ErrInvalidParams, file, err)
	}
	cut := errors.Is(err, errBound)
	if cut {
		raw = trimRune(raw)
	}
	if bytes.IndexByte(raw, 0) >= 0 || !utf8.Valid(raw) {
		return "", fmt.Errorf("%w: %s is no text (%s) and cannot be shown", skill.ErrInvalidParams, file, http.DetectContentType(raw))
	}
	if cut {
		return string(raw) + "\n\n(cut here: the file is longer than 64 KiB)", nil
	}
	return string(raw), nil
}

// trimRune takes off a rune at the end that was cut in two.
func trimRune(raw []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(raw); i++ {
		if b := raw[len(raw)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(raw[len(raw)-i:]) {
				return raw[:len(raw)-i]
			}
			break
		}
	}
	return raw
}

// errBound says that a file is longer than it may be.
var errBound = errors.New("the file is too long")

// readBounded reads a regular file, and does not wait for pipes. Of one that is
// longer than the bound it returns the beginning, with errBound.
func readBounded(root *os.Root, name string, bound int) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, plain(err)
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	raw, err := io.ReadAll(io.LimitReader(f, int64(bound)+1))
	if err != nil {
		return nil, plain(err)
	}
	if len(raw) > bound {
		return raw[:bound], errBound
	}
	return raw, nil
}

// plain takes the path of this machine out of an error.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
