// Package validate checks files of skills and runs none of them.
package validate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/cmd/internal/provider"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
)

// Validation checks files of skills and collects what it finds.
type Validation struct {
	// Strict holds each SKILL.md to the letter of the Agent Skills standard.
	Strict bool
	// Progress, if set, is called before each file with the number of checked ones.
	Progress func(checked int, dir string)
	// Reports are what was found, in order.
	Reports []Report

	workspace *workdir.Workspace
	providers []skill.Provider
	existing  nameset.Names
	toolsets  []toolsetFile
}

// toolsetFile is a toolset whose tools are looked up when all files are known.
type toolsetFile struct {
	report int // its place among the reports
	config skill.Config
}

// Report is what was found about one file, as --json prints it.
type Report struct {
	Path     string    `json:"path"`
	OK       bool      `json:"ok"`
	Errors   []Problem `json:"errors"`
	Warnings []Problem `json:"warnings"`
}

// Problem is a problem with its line, from 1; 0 is the whole file.
type Problem struct {
	Line    int    `json:"line"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Run checks paths: files of skills, and folders of them. Without paths it checks the
// folders that the workspace takes its skills from. Toolsets may name what is known, and the tools of
// the checked files.
func (v *Validation) Run(w *workdir.Workspace, known nameset.Names, paths ...string) (err error) {
	out, programs, err := provider.Walls(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, programs.Close()) }()
	v.workspace, v.existing = w, known
	if v.providers, err = provider.New(provider.Config{Workspace: w, Out: out, Programs: programs}); err != nil {
		return err
	}
	if err := v.files(paths); err != nil {
		return err
	}
	v.checkToolsets()
	return nil
}

// checkToolsets warns of tools that toolsets name and that do not exist.
func (v *Validation) checkToolsets() {
	for _, t := range v.toolsets {
		var missing []skill.Problem
		for _, name := range t.config.Tools {
			if text := v.existing.Missing(config.Name{Kind: config.Member, Text: name,
				Where: fmt.Sprintf("the skill %q", t.config.Name)}); text != "" {
				missing = append(missing, skill.Problem{Line: t.config.Line("tools"), Field: "tools", Message: text})
			}
		}
		report := &v.Reports[t.report]
		report.Warnings = append(report.Warnings, reported(missing)...)
	}
}

func (v *Validation) files(paths []string) error {
	if len(paths) == 0 {
		return v.workspaceFolders()
	}
	for _, path := range paths {
		if err := v.path(path); err != nil {
			return err
		}
	}
	return nil
}

// workspaceFolders checks the folders that the workspace takes its skills from.
func (v *Validation) workspaceFolders() error {
	for _, dir := range v.workspace.SkillFolders() {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := v.folder(fromHere(dir)); err != nil {
			return err
		}
	}
	return nil
}

// fromHere is a path as somebody in the current folder would write it.
func fromHere(path string) string {
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
			return short
		}
	}
	return path
}

// path checks what the user has named.
func (v *Validation) path(path string) error {
	info, err := os.Stat(path)
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case errors.Is(err, fs.ErrNotExist):
		return config.Usagef("there is no %s", path)
	case err != nil:
		return config.UsageError{Err: err}
	case info.IsDir():
		before := len(v.Reports)
		if err := v.folder(path); err != nil {
			return err
		}
		if len(v.Reports) == before {
			return config.Usagef("there is no skill in %s: a skill is a YAML file, or a folder with a SKILL.md", path)
		}
		return nil
	case ext == ".yaml", ext == ".yml", ext == ".md":
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		v.file(root, ".", filepath.Dir(path), filepath.Base(path))
		return nil
	}
	return config.Usagef("%s is no file of a skill; a skill is a SKILL.md or a YAML file", path)
}

// folder checks a skill's folder, or the skills in a folder of them.
func (v *Validation) folder(dir string) error {
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
		v.file(root, folder, filepath.Join(dir, folder), "")
	}
	return nil
}

// yamlFiles checks the YAML files of a folder.
func (v *Validation) yamlFiles(root *os.Root, dir string) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if isYAML(e.Name()) && !strings.HasPrefix(e.Name(), ".") && !e.IsDir() {
			v.file(root, ".", dir, e.Name())
		}
	}
	return nil
}

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// file checks a file of a folder below a root, which people know as dir; without a name, its SKILL.md.
func (v *Validation) file(root *os.Root, folder, dir, name string) {
	if v.Progress != nil {
		v.Progress(len(v.Reports), dir)
	}
	file, text, err := markdown.Read(root, folder, name)
	path := filepath.Join(dir, cmp.Or(file, "SKILL.md"))
	if err != nil {
		v.add(path, err, nil)
		return
	}
	if isYAML(file) {
		v.add(path, v.yaml(root, path, text), nil)
		return
	}
	name, err = filepath.Abs(dir)
	if name = filepath.Base(name); err == nil && v.Strict {
		if list := markdown.Validate(name, file, text); len(list) > 0 {
			err = skill.Problems(list)
		}
	}
	var warnings []skill.Problem
	if err == nil {
		var d markdown.Document
		d, warnings, err = markdown.Parse(name, text)
		for _, lacking := range d.Requires.Unmet(markdown.LocalMachine()) {
			warnings = append(warnings, skill.Problem{Field: "metadata",
				Message: lacking + "; the skill is loaded, but not enabled"})
		}
	}
	v.add(path, err, warnings)
}

// yaml checks a skill's YAML file, and has its provider check it.
func (v *Validation) yaml(folder *os.Root, path string, text []byte) error {
	c, err := skill.ParseYAML(path, text, skill.Variables{Allowed: v.workspace.Config.Skills.Env})
	if err != nil {
		return err
	}
	v.existing.Add(c)
	if c.Provider == "" {
		v.toolsets = append(v.toolsets, toolsetFile{len(v.Reports), c})
		return nil
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

// provided has the skill of a file made, and checks it.
func (v *Validation) provided(c skill.Config) error {
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
	return skill.Problem{Field: "provider",
		Message: fmt.Sprintf("there is no provider %q%s", c.Provider, nearest.Hint(c.Provider, slices.Values(types)))}
}

// add notes what was found about a file.
func (v *Validation) add(path string, err error, warnings []skill.Problem) {
	var list skill.Problems
	var one skill.Problem
	switch {
	case err == nil, errors.As(err, &list):
	case errors.As(err, &one):
		list = skill.Problems{one}
	default:
		list = skill.Problems{{Message: err.Error()}}
	}
	v.Reports = append(v.Reports, Report{path, err == nil, reported(list), reported(warnings)})
}

func reported(list []skill.Problem) []Problem {
	out := make([]Problem, len(list))
	for i, p := range list {
		out[i] = Problem{p.Line, p.Field, p.Message}
	}
	return out
}
