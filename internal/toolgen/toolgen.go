// Package toolgen makes tools of Go functions from their doc comments.
//
// A function becomes a tool by a directive below its doc comment:
//
//	// readFile reads a text file of the workspace by lines.
//	//
//	//etui:tool groups=file,io risk=read
//	//etui:zh 读取工作区中的文本文件。
//	//etui:alias open file, cat
//	//etui:example what is in notes.md?
//	func (f *Files) readFile(ctx context.Context, in readInput) (chat.Result, error)
//
// [Generate] reads a package and writes one file: a definition and a JSON Schema
// for each tool, code that reads arguments and writes results without reflection,
// the index of the groups, and functions that return and register the tools. The
// same package gives the same bytes.
//
// Above the package clause, //etui:tools sets the same keys for all tools of a
// package. docs/tools-in-go.md is the reference.
package toolgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/etui-run/etui/tool"
)

// File is the name of the file that is written into each package.
const File = "tools_gen.go"

// Problem is something in the source that keeps a function from being a tool.
type Problem struct {
	Position token.Position
	// Reason says what is wrong and what would be right.
	Reason string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s: %s", p.Position, p.Reason) }

// Package is what was made of one package.
type Package struct {
	// Path is the file to write, relative where it lies below the folder of the
	// call, and Text its content; empty when the package has no tools.
	Path string
	Text []byte
	// Tools are the definitions, by name.
	Tools []tool.Definition
}

// Generate makes the tools of the packages that the patterns name, as `go list`
// does, from dir. The error joins a [*Problem] for everything that is wrong, in the
// order of the source.
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
		g := &generator{pkg: p, dir: dir, structs: map[string]types.Type{}}
		pkg, err := g.generate()
		if err != nil {
			return nil, err
		}
		made, problems = append(made, pkg), append(problems, g.problems...)
	}
	return made, join(problems)
}

// join makes one error of problems, in the order of the source and each once.
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

// load parses and checks packages. Generated files are taken as empty, so that
// one that no longer fits its package is no obstacle to making it anew.
func load(ctx context.Context, dir string, patterns []string) ([]*packages.Package, error) {
	c := &packages.Config{Context: ctx, Dir: dir, Mode: packages.NeedName | packages.NeedFiles}
	found, err := packages.Load(c, patterns...)
	if err != nil {
		return nil, fmt.Errorf("reading Go packages: %w", err)
	}
	c.Overlay = map[string][]byte{}
	for _, p := range found {
		for _, file := range p.GoFiles {
			if filepath.Base(file) == File {
				c.Overlay[file] = []byte("package " + p.Name + "\n")
			}
		}
	}
	c.Mode = packages.LoadSyntax
	loaded, err := packages.Load(c, patterns...)
	if err != nil {
		return nil, fmt.Errorf("reading Go packages: %w", err)
	}
	slices.SortFunc(loaded, func(a, b *packages.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) })
	var errs []error
	for _, p := range loaded {
		for _, e := range p.Errors {
			// What the generated file declares is missing, for the type checker and for
			// the compiler, whose output begins with #.
			if e.Kind != packages.TypeError && !strings.HasPrefix(e.Msg, "# ") {
				e.Pos = seenFrom(dir, e.Pos)
				errs = append(errs, e)
			}
		}
	}
	return loaded, errors.Join(errs...)
}

// seenFrom is a path as it is written in a folder: relative when it lies below it.
func seenFrom(dir, file string) string {
	return strings.TrimPrefix(file, dir+string(filepath.Separator))
}
