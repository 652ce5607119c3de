package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/validate"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/spf13/cobra"
)

func skillsValidateCommand(at *place) *cobra.Command {
	v := &validation{place: at}
	c := &cobra.Command{
		Use: "validate [PATH]...", Short: "Check skill files without loading them",
		Long: `Check skill files without loading them. A PATH is a SKILL.md or its folder, a skill's YAML
file, or a folder of those; without one, the workspace's folders of skills are checked.

An error keeps a skill from being loaded, and the exit code is 1. A warning does not: it says what was
repaired or left out, or what is missing on this machine.`,
		Example: "  etui skills validate\n  etui skills validate --strict skills/my-skill\n  etui skills validate ~/Downloads/skills --json",
		RunE:    func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
	}
	c.Flags().BoolVar(&v.check.Strict, "strict", false,
		"check each SKILL.md strictly against the Agent Skills standard, as for publishing it")
	return c
}

// validation prints what the check of skills finds.
type validation struct {
	*place
	check validate.Validation
	began time.Time
	shown time.Time // when progress was last shown
}

func (v *validation) run(ctx context.Context, paths []string) error {
	v.began = time.Now()
	w, err := v.open(ctx)
	if err != nil {
		return err
	}
	v.check.Progress = v.progress
	err = app.Use(ctx, w, v.settings(nil), func(e *app.App) error { return v.check.Run(w, e.Names(), paths...) })
	v.progress(0, "")
	if err != nil {
		return err
	}
	return v.print()
}

// progress shows on a terminal what is being checked, if it takes long. An empty folder
// removes the line.
func (v *validation) progress(checked int, dir string) {
	if now := time.Now(); terminal.Is(v.Err) && now.Sub(v.began) > time.Second &&
		(dir == "" || now.Sub(v.shown) > time.Second/10) {
		v.shown = now
		text := ""
		if dir != "" {
			text = phrase.In(v.Language, "%d checked, now %s", checked, dir)
		}
		fmt.Fprintf(v.Err, "\r\x1b[K%s", text)
	}
}

// print prints what was found.
func (v *validation) print() error {
	failed := 0
	for _, r := range v.check.Reports {
		if !r.OK {
			failed++
		}
	}
	if v.JSON {
		if err := json.NewEncoder(v.Out).Encode(append([]validate.Report{}, v.check.Reports...)); err != nil {
			return err
		}
	} else {
		v.printText()
	}
	if failed > 0 {
		return phrase.Errorf("of %d files, %d cannot be used", len(v.check.Reports), failed)
	}
	return nil
}

func (v *validation) printText() {
	warnings := 0
	for _, r := range v.check.Reports {
		for _, p := range r.Errors {
			fmt.Fprintf(v.Out, "%s: %s\n", position(r.Path, p.Line), p.Message)
		}
		for _, p := range r.Warnings {
			phrase.Fprintf(v.Out, v.Language, "%s: warning: %s\n", position(r.Path, p.Line), p.Message)
		}
		warnings += len(r.Warnings)
	}
	phrase.Fprintf(v.Out, v.Language, "files checked: %d, warnings: %d\n", len(v.check.Reports), warnings)
}

// position returns the position of a line in a file.
func position(path string, line int) string {
	if line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}
