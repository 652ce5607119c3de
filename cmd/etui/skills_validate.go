package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
)

func (a *app) skillsValidateCommand() *cobra.Command {
	v := &validation{app: a}
	c := &cobra.Command{
		Use: "validate [PATH]...", Short: "Check files of skills, without loading them",
		Long: `Check files of skills, without loading them. A PATH is a SKILL.md or its folder, a skill's YAML
file, or a folder of those; without one, the workspace's folders of skills are checked.

An error keeps a skill from being loaded; the exit status is then 1. A warning does not: it says what
was repaired, left out or is missing on this machine.`,
		Example: "  etui skills validate\n  etui skills validate --strict skills/my-skill\n  etui skills validate ~/Downloads/skills --json",
		RunE:    func(_ *cobra.Command, args []string) error { return v.run(args) },
	}
	c.Flags().BoolVar(&v.strict, "strict", false, "check each SKILL.md against the Agent Skills standard to the letter, as for publishing it")
	return c
}

// validation checks files of skills and collects what it finds.
type validation struct {
	*app
	strict    bool
	workspace *workspace
	providers []skill.Provider
	began     time.Time
	shown     time.Time // when progress was last shown
	reports   []skillReport
}

// skillReport is the result for one file, as --json prints it.
type skillReport struct {
	Path     string         `json:"path"`
	OK       bool           `json:"ok"`
	Errors   []skillProblem `json:"errors"`
	Warnings []skillProblem `json:"warnings"`
}

// skillProblem is a problem with its line, from 1; 0 means the whole file.
type skillProblem struct {
	Line    int    `json:"line"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (v *validation) run(paths []string) error {
	v.began = time.Now()
	var err error
	if v.workspace, err = v.open(); err != nil {
		return err
	}
	out, programs, err := newWalls(v.workspace)
	if err != nil {
		return err
	}
	if v.providers, err = newProviders(out, programs, nil, nil, nil); err != nil {
		return err
	}
	if len(paths) == 0 {
		err = v.workspaceFolders()
	}
	for _, path := range paths {
		err = cmp.Or(err, v.path(path))
	}
	v.progress("")
	if err != nil {
		return err
	}
	return v.print()
}

// workspaceFolders checks the folders of skills of the workspace.
func (v *validation) workspaceFolders() error {
	for _, r := range roots(v.workspace) {
		dir := r.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(r.Within, dir)
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := v.folder(fromHere(dir)); err != nil {
			return err
		}
	}
	return nil
}

// fromHere returns a path relative to the current folder, if it is below it.
func fromHere(path string) string {
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
			return short
		}
	}
	return path
}

// path checks a file or folder that the user names.
func (v *validation) path(path string) error {
	info, err := os.Stat(path)
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no %s", path)
	case err != nil:
		return usageError{err}
	case info.IsDir():
		before := len(v.reports)
		if err := v.folder(path); err != nil {
			return err
		}
		if len(v.reports) == before {
			return usagef("there is no skill in %s: a skill is a YAML file, or a folder with a SKILL.md", path)
		}
		return nil
	case ext == ".yaml", ext == ".yml", ext == ".md":
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		v.file(root, filepath.Dir(path), filepath.Base(path))
		return nil
	}
	return usagef("%s is no file of a skill; a skill is a SKILL.md or a YAML file", path)
}

// folder checks a skill's folder, or the skills in a folder of them.
func (v *validation) folder(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	folders, err := markdown.Find(root)
	if err != nil {
		v.add(dir, err, nil)
	}
	if !slices.Contains(folders, ".") {
		if err := v.yamlFiles(root, dir); err != nil {
			return err
		}
	}
	for _, folder := range folders {
		at, err := root.OpenRoot(folder)
		if err != nil {
			v.add(filepath.Join(dir, folder), err, nil)
			continue
		}
		v.file(at, filepath.Join(dir, folder), "")
		_ = at.Close()
	}
	return nil
}

// yamlFiles checks the YAML files of a folder.
func (v *validation) yamlFiles(root *os.Root, dir string) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if isYAML(e.Name()) && !strings.HasPrefix(e.Name(), ".") && !e.IsDir() {
			v.file(root, dir, e.Name())
		}
	}
	return nil
}

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// file checks a file of a folder; an empty name means its SKILL.md.
func (v *validation) file(folder *os.Root, dir, name string) {
	v.progress(dir)
	file, text, err := markdown.Read(folder, name)
	path := filepath.Join(dir, cmp.Or(file, "SKILL.md"))
	if err != nil {
		v.add(path, err, nil)
		return
	}
	if isYAML(file) {
		v.add(path, v.yaml(folder, path, text), nil)
		return
	}
	name, err = filepath.Abs(dir)
	if name = filepath.Base(name); err == nil && v.strict {
		err = problems(markdown.Validate(name, file, text))
	}
	var warnings []skill.Problem
	if err == nil {
		var d markdown.Document
		d, warnings, err = markdown.Parse(name, text)
		for _, lacking := range d.Requires.Unmet(markdown.Here()) {
			warnings = append(warnings, skill.Problem{Field: "metadata", Message: lacking + "; the skill is loaded, but not enabled"})
		}
	}
	v.add(path, err, warnings)
}

// yaml checks a skill's YAML file, also with its provider.
func (v *validation) yaml(folder *os.Root, path string, text []byte) error {
	c, err := skill.ParseYAML(path, text, skill.Variables{Allowed: v.workspace.config.Skills.Env})
	if err != nil || c.Provider == "" {
		return err
	}
	c.Folder = folder
	err = v.provided(c)
	var p skill.Problem
	if errors.As(err, &p) && p.Line == 0 {
		p.Line = c.Line(p.Field)
		return p
	}
	return err
}

// provided makes the skill of a file and checks it.
func (v *validation) provided(c skill.Config) error {
	var types []string
	for _, p := range v.providers {
		if types = append(types, p.Type()); p.Type() != c.Provider {
			continue
		}
		s, err := p.Load(c)
		if err != nil {
			return err
		}
		return skill.Check(s)
	}
	return skill.Problem{Field: "provider", Message: fmt.Sprintf("there is no provider %q%s", c.Provider, nearest.Hint(c.Provider, slices.Values(types)))}
}

// problems returns problems as an error, or nil if there are none.
func problems(list []skill.Problem) error {
	if len(list) == 0 {
		return nil
	}
	return skill.Problems(list)
}

// add adds the report on a file.
func (v *validation) add(path string, err error, warnings []skill.Problem) {
	r := skillReport{Path: path, OK: err == nil, Errors: []skillProblem{}, Warnings: []skillProblem{}}
	var list skill.Problems
	var one skill.Problem
	switch {
	case err == nil, errors.As(err, &list):
	case errors.As(err, &one):
		list = skill.Problems{one}
	default:
		list = skill.Problems{{Message: err.Error()}}
	}
	for _, p := range list {
		r.Errors = append(r.Errors, skillProblem{p.Line, p.Field, p.Message})
	}
	for _, p := range warnings {
		r.Warnings = append(r.Warnings, skillProblem{p.Line, p.Field, p.Message})
	}
	v.reports = append(v.reports, r)
}

// progress shows on a terminal which folder is being checked, after a second. An
// empty folder removes the line.
func (v *validation) progress(dir string) {
	if now := time.Now(); isTerminal(v.err) && now.Sub(v.began) > time.Second && (dir == "" || now.Sub(v.shown) > time.Second/10) {
		v.shown = now
		text := ""
		if dir != "" {
			text = fmt.Sprintf("%d checked, now %s", len(v.reports), dir)
		}
		fmt.Fprintf(v.err, "\r\x1b[K%s", text)
	}
}

// print prints the reports.
func (v *validation) print() error {
	failed := 0
	for _, r := range v.reports {
		if !r.OK {
			failed++
		}
	}
	if v.json {
		if err := json.NewEncoder(v.out).Encode(append([]skillReport{}, v.reports...)); err != nil {
			return err
		}
	} else {
		v.printText()
	}
	if failed > 0 {
		return fmt.Errorf("of %d files, %d cannot be used", len(v.reports), failed)
	}
	return nil
}

func (v *validation) printText() {
	warnings := 0
	for _, r := range v.reports {
		for _, p := range r.Errors {
			fmt.Fprintf(v.out, "%s: %s\n", place(r.Path, p.Line), p.Message)
		}
		for _, p := range r.Warnings {
			fmt.Fprintf(v.out, "%s: warning: %s\n", place(r.Path, p.Line), p.Message)
		}
		warnings += len(r.Warnings)
	}
	fmt.Fprintf(v.out, "files checked: %d, warnings: %d\n", len(v.reports), warnings)
}

// place returns the position of a line in a file.
func place(path string, line int) string {
	if line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}
