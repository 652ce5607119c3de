// Package toolgen turns Go functions into tools, from their doc comments.
//
// A directive below the doc comment makes a function a tool:
//
//	// readFile reads a text file of the workspace by lines.
//	//
//	//etui:tool groups=file,io risk=read
//	//etui:zh 读取工作区中的文本文件。
//	//etui:alias open file, cat
//	//etui:example what is in notes.md?
//	func (f *Files) readFile(ctx context.Context, in readInput) (chat.Result, error)
//
// [Generate] reads a package and writes one file: a definition with its JSON Schema for
// each tool; an index of the groups; and functions that return and register the tools.
// Package tool/wire runs them. The same package gives the same bytes.
//
// Above the package clause, //etui:tools sets the same keys for all tools of the
// package. docs/tools-in-go.md is the reference.
package toolgen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/etui-run/etui/tool"
)

// File is the name of the generated file in each package.
const File = "tools_gen.go"

// Problem is a mistake in the source that keeps a function from being a tool.
type Problem struct {
	Position token.Position
	// Reason says what is wrong and how to fix it.
	Reason string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s: %s", p.Position, p.Reason) }

// Package is the result for one package.
type Package struct {
	// Path is the file to write, relative if it is below the folder of the call, and
	// Text its content. Text is empty if the package has no tools; an existing file is
	// then to be removed. Path is empty if Generate did not write the existing file.
	Path string
	Text []byte
	// Tools are the definitions, sorted by name.
	Tools []tool.Definition
}

// Update brings the package's file up to date, and reports whether it was not. With
// check it changes nothing. Path must not be empty.
func (p Package) Update(check bool) (stale bool, err error) {
	have, err := os.ReadFile(p.Path)
	switch {
	case err != nil && !os.IsNotExist(err):
		return false, err
	case bytes.Equal(have, p.Text):
		return false, nil
	case check:
		return true, nil
	case len(p.Text) == 0:
		return true, os.Remove(p.Path)
	}
	return true, os.WriteFile(p.Path, p.Text, 0o644)
}

// Generate makes the tools of the packages that match the patterns, which work as in
// `go list`, seen from dir. The error joins a [*Problem] per mistake, in source order.
func Generate(ctx context.Context, dir string, patterns ...string) ([]Package, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	loaded, err := load(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	var made []Package
	var problems []*Problem
	for _, p := range loaded {
		g := &generator{pkg: p, dir: dir}
		pkg, err := g.generate()
		if err != nil {
			return nil, err
		}
		made, problems = append(made, pkg), append(problems, g.problems...)
	}
	return made, join(problems)
}

// join makes one error of problems, in source order and without repetition.
func join(problems []*Problem) error {
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Position.Filename, b.Position.Filename), a.Position.Offset-b.Position.Offset)
	})
	var errs []error
	for i, p := range problems {
		if i == 0 || *p != *problems[i-1] {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}

// load parses and checks packages. Of generated files it reads only the package
// clause, so that a file that no longer fits its package can be generated anew.
func load(ctx context.Context, dir string, patterns []string) ([]*packages.Package, error) {
	// An overlay would say the same, but then every dependency would be type-checked
	// from its source.
	c := &packages.Config{Context: ctx, Dir: dir, Mode: packages.LoadSyntax}
	c.ParseFile = func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
		mode := parser.AllErrors | parser.ParseComments
		if filepath.Base(name) == File && ours(text) {
			mode = parser.PackageClauseOnly
		}
		return parser.ParseFile(fset, name, text, mode)
	}
	loaded, err := packages.Load(c, patterns...)
	if err != nil {
		return nil, fmt.Errorf("reading Go packages: %w", err)
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no Go package matches %s", strings.Join(patterns, " "))
	}
	slices.SortFunc(loaded, func(a, b *packages.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) })
	var errs []error
	for _, p := range loaded {
		for _, e := range p.Errors {
			// The declarations of the generated file are missing for the type checker, and
			// the compiler, whose output begins with #, may fail on an outdated one.
			file, _, _ := strings.Cut(e.Pos, ":")
			if e.Kind != packages.TypeError && !strings.HasPrefix(e.Msg, "# ") &&
				(filepath.Base(file) != File || foreign(file)) {
				errs = append(errs, placed(dir, e))
			}
		}
	}
	return loaded, errors.Join(errs...)
}

// header begins every generated file.
const header = "// Code generated by etui tools gen; DO NOT EDIT.\n"

// foreign reports whether a file exists that Generate did not write.
func foreign(file string) bool {
	text, err := os.ReadFile(file)
	return err == nil && !ours(text)
}

// ours reports whether Generate wrote a text.
func ours(text []byte) bool {
	return bytes.HasPrefix(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte(header))
}

// placed returns an error with its position, if known.
func placed(dir string, e packages.Error) error {
	if e.Pos == "" || e.Pos == "-" {
		return errors.New(e.Msg)
	}
	return fmt.Errorf("%s: %s", seenFrom(dir, e.Pos), e.Msg)
}

// seenFrom returns a path as written in a folder: relative if it is below the folder.
func seenFrom(dir, file string) string {
	return strings.TrimPrefix(file, dir+string(filepath.Separator))
}
