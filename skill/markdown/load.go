package markdown

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// The bounds of a skill's other files.
const (
	maxRead  = maxFile // bytes of a file that are read
	maxFiles = 100     // files that are listed
	maxWalk  = 1000    // files and folders that are visited for the list
	maxLevel = 4       // levels of folders that are visited for it
)

// Skill is a folder with a SKILL.md. Executing it returns the instructions, or
// another file of the folder.
type Skill struct {
	document Document
	details  skill.Details
	dir      string      // the folder, as an absolute path
	self     fs.FileInfo // the same, to know it again
}

var (
	_ skill.DetailedSkill = (*Skill)(nil)
	_ skill.Guide         = (*Skill)(nil)
)

// Load makes a skill of the folder dir with the given name, whose SKILL.md has the text. The caller may close dir
// afterwards: to read other files the skill opens the folder again, and refuses if
// another one has taken its place. The skill's details list the requirements that the
// machine does not meet. The error is a [skill.Problem].
func (m Machine) Load(dir *os.Root, name string, text []byte) (skill.Skill, error) {
	d, warnings, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	s := &Skill{document: d}
	if s.self, err = dir.Stat("."); err == nil {
		s.dir, err = filepath.Abs(dir.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("the folder: %w", plain(err))
	}
	s.details = skill.Details{
		Provider: "markdown", Risk: tool.Read, Version: d.Version, Aliases: d.Aliases, Body: d.Body,
		Allowed: Tools(d.AllowedTools), Unmet: d.Requires.Unmet(m), Hidden: d.Hidden,
	}
	for _, w := range warnings {
		s.details.Warnings = append(s.details.Warnings, sentence(w))
	}
	return s, nil
}

// sentence returns a problem without the file.
func sentence(p skill.Problem) string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Message)
}

// IsDocument reports whether a file is a SKILL.md, in any spelling.
func IsDocument(file string) bool { return strings.EqualFold(file, "SKILL.md") }

// Read reads a file of a folder below a root; without a name it reads the SKILL.md, in any
// spelling, which may be a link within the root. It returns the name as found. The error is a [skill.Problem]: there is no
// such file, or it has more than 1 MiB.
func Read(root *os.Root, folder, name string) (file string, text []byte, err error) {
	if file = name; name == "" {
		file, err = documentOf(root, folder)
	}
	if err == nil {
		text, err = skill.ReadFile(root, path.Join(folder, file), maxFile)
	}
	switch {
	case errors.Is(err, skill.ErrTooLong):
		return file, nil, skill.Problem{Message: tooLong}
	case err != nil:
		return file, nil, skill.Problem{Message: cmp.Or(file, "SKILL.md") + " cannot be read: " + err.Error()}
	}
	return file, text, nil
}

// documentOf finds a folder's SKILL.md.
func documentOf(root *os.Root, folder string) (string, error) {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return "", plain(err)
	}
	for _, e := range entries { // sorted by name: SKILL.md comes first
		if IsDocument(e.Name()) {
			return e.Name(), nil
		}
	}
	return "", errors.New("there is none")
}

// Name returns the skill's name.
func (s *Skill) Name() string { return s.document.Name }

// Description tells a model what the skill is for.
func (s *Skill) Description() string { return s.document.Description }

// Parameters has one optional argument, the file to read.
func (s *Skill) Parameters() skill.ParameterSchema {
	return skill.ParameterSchema(`{"type":"object","properties":{"file":{"type":"string","description":"a file of the skill, by its path; without it, the instructions"}},"additionalProperties":false}`)
}

// Details returns what the SKILL.md says beyond the contract.
func (s *Skill) Details() skill.Details { return s.details }

// Document returns the content of the SKILL.md.
func (s *Skill) Document() Document { return s.document }

// Execute does the same as Read.
func (s *Skill) Execute(ctx context.Context, args json.RawMessage) (any, error) {
	var in struct {
		File string `json:"file"`
	}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, fmt.Errorf("%w: %w", skill.ErrInvalidParams, err)
		}
	}
	return s.Read(ctx, in.File)
}

// instructions returns the instructions with the skill's folder, which tools and commands may read, and
// a list of its other files.
func (s *Skill) instructions() string {
	text := s.document.Body
	if text == "" {
		text = "This skill has no instructions besides its description: " + s.Description()
	}
	return text + s.list()
}

// list names the folder and the other files.
func (s *Skill) list() string {
	root, err := s.open()
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	list := "\n\n---\nFolder of this skill, in which its relative paths are: " + s.dir
	files, more := others(root)
	if len(files) == 0 {
		return list
	}
	list += "\nOther files of this skill, to be asked for by their path:\n- " + strings.Join(files, "\n- ")
	if more {
		list += "\n- and more"
	}
	return list
}

// open opens the folder if it is still the one that was loaded.
func (s *Skill) open() (*os.Root, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, plain(err)
	}
	if info, err := root.Stat("."); err != nil || !os.SameFile(info, s.self) {
		return nil, errors.Join(errors.New("another folder has taken its place"), root.Close())
	}
	return root, nil
}

// others returns the files of a folder except its SKILL.md, by path, and whether
// there are more.
func others(root *os.Root) (files []string, more bool) {
	looked := 0
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if looked++; looked > maxWalk || len(files) > maxFiles {
			more = true
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return fs.SkipDir // an unreadable folder is not listed
		case name == ".":
		case e.IsDir() && (skipped(e.Name()) || strings.Count(name, "/") >= maxLevel):
			return fs.SkipDir
		case e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") && !IsDocument(name):
			files = append(files, name)
		}
		return nil
	})
	if len(files) > maxFiles {
		files, more = files[:maxFiles], true
	}
	return files, more
}

// skipped reports folders that do not belong to a skill.
func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "node_modules" || folder == "__pycache__" || folder == "__MACOSX"
}

// Read returns at most 1 MiB of a text file of the skill. The empty path means the
// instructions, as they were when the skill was loaded, with a list of the other
// files.
func (s *Skill) Read(_ context.Context, file string) (string, error) {
	if file == "" {
		return s.instructions(), nil
	}
	name := path.Clean(strings.ReplaceAll(file, `\`, "/"))
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("%w: %q is not a path below the skill's folder", skill.ErrInvalidParams, file)
	}
	root, err := s.open()
	if err != nil {
		return "", fmt.Errorf("%w: the skill's folder cannot be read: %w", skill.ErrProviderUnavailable, err)
	}
	defer func() { _ = root.Close() }()
	raw, err := skill.ReadFile(root, name, maxRead)
	cut := errors.Is(err, skill.ErrTooLong)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		files, _ := others(root)
		return "", fmt.Errorf("%w: the skill has no file %q%s", skill.ErrInvalidParams, file,
			nearest.Hint(name, slices.Values(files)))
	case err != nil && !cut:
		return "", fmt.Errorf("%w: %s: %w", skill.ErrInvalidParams, file, err)
	}
	if cut {
		raw = trimRune(raw)
	}
	if bytes.IndexByte(raw, 0) >= 0 || !utf8.Valid(raw) {
		return "", fmt.Errorf("%w: %s is not text (%s) and cannot be shown", skill.ErrInvalidParams, file,
			http.DetectContentType(raw))
	}
	if cut {
		return string(raw) + "\n\n(cut here: the file is longer than 1 MiB)", nil
	}
	return string(raw), nil
}

// trimRune removes an incomplete rune at the end.
func trimRune(raw []byte) []byte {
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRune(raw); r != utf8.RuneError || size != 1 {
			break
		}
		raw = raw[:len(raw)-1]
	}
	return raw
}

// plain removes this machine's path from an error.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
