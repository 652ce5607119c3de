package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/toolgen"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

// generatedPackage is what tools gen says of a package.
type generatedPackage struct {
	File    string   `json:"file"`
	Changed bool     `json:"changed"`
	Tools   []string `json:"tools"`
}

func toolsGenCommand(console *terminal.Console) *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use: "gen [PACKAGE…]", Short: "Make tools of Go functions with a doc comment and //etui:tool",
		Long: `Make tools of the functions that say //etui:tool below their doc comment, and write them into tools_gen.go of
each package. Packages are named as for go build; without any it is that of the current folder. See
docs/tools-in-go.md.`,
		Example: "  //go:generate go tool etui tools gen\n  etui tools gen ./...\n  etui tools gen --check ./...",
		RunE: func(cmd *cobra.Command, patterns []string) error {
			made, err := toolgen.Generate(cmd.Context(), ".", patterns...)
			if err != nil {
				return printProblems(console, err)
			}
			return putAll(console, made, check)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "write nothing, and fail when a file is not up to date")
	return c
}

// printProblems prints what keeps functions from being tools, a line each, as
// editors read them. Another error is returned as it is.
func printProblems(console *terminal.Console, err error) error {
	type problem struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Problem string `json:"problem"`
	}
	list := []problem{}
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil {
		return err
	}
	for _, one := range joined.Unwrap() {
		var p *toolgen.Problem
		if !errors.As(one, &p) {
			return err
		}
		list = append(list, problem{p.Position.Filename, p.Position.Line, p.Position.Column, p.Reason})
		if !console.JSON {
			fmt.Fprintln(console.Err, p)
		}
	}
	if console.JSON {
		if err := json.NewEncoder(console.Out).Encode(list); err != nil {
			return err
		}
	}
	return phrase.Errorf("nothing was written; mistakes: %d", len(list))
}

// putAll brings the files of packages up to date, or only looks whether they are.
func putAll(console *terminal.Console, made []toolgen.Package, check bool) error {
	list := []generatedPackage{}
	stale := 0
	for _, p := range made {
		if p.Path == "" {
			continue
		}
		g := generatedPackage{File: p.Path, Tools: []string{}}
		for _, d := range p.Tools {
			g.Tools = append(g.Tools, d.Name)
		}
		var err error
		if g.Changed, err = p.Update(check); err != nil {
			return err
		}
		if g.Changed {
			stale++
		}
		if g.Changed || len(g.Tools) > 0 {
			list = append(list, g)
		}
	}
	if err := printGenerated(console, list, check); err != nil {
		return err
	}
	switch {
	case !check || stale == 0:
		return nil
	case stale == 1:
		return phrase.Errorf("1 file is not up to date; run etui tools gen")
	}
	return phrase.Errorf("%d files are not up to date; run etui tools gen", stale)
}

func printGenerated(console *terminal.Console, list []generatedPackage, check bool) error {
	if console.JSON {
		return json.NewEncoder(console.Out).Encode(list)
	}
	for _, g := range list {
		did := "up to date"
		switch {
		case g.Changed && check:
			did = "not up to date"
		case g.Changed && len(g.Tools) == 0:
			did = "removed"
		case g.Changed:
			did = "written"
		}
		fmt.Fprintf(console.Out, "%s: %s, %s\n", g.File, phrase.Word(console.Language, did),
			phrase.Count(console.Language, len(g.Tools), "tool"))
	}
	if len(list) == 0 {
		phrase.Fprintf(console.Out, console.Language, "No function says //etui:tool.\n")
	}
	return nil
}
