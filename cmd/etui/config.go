package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/cmd/etui/internal/help"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/rulebook"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

func configCommand(at *place) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check and show the configuration", Args: help.NoCommand, RunE: group}
	c.AddCommand(&cobra.Command{
		Use: "validate", Short: "Check the configuration and every name in it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return validateConfig(cmd.Context(), at) },
	}, &cobra.Command{
		Use: "show", Short: "Print the configuration in effect, without secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			text, err := yaml.Dump(w.Config)
			if err != nil {
				return err
			}
			if err := at.secrets.Set(w.File, w.Config.Secrets()...); err != nil { // other keys may hold them, too
				return err
			}
			out := at.secrets.Writer(at.Out)
			if at.JSON {
				var fields map[string]any
				if err := yaml.Load(text, &fields); err != nil {
					return err
				}
				return json.NewEncoder(out).Encode(fields)
			}
			_, err = out.Write(text)
			return err
		},
	}, &cobra.Command{
		Use: "path", Short: "Print where the configuration and the state are", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			return at.Print(map[string]any{"config": w.File, "exists": w.Found, "workspace": w.Dir, "state": w.State},
				func() string {
					missing := ""
					if !w.Found {
						missing = phrase.In(at.Language, " (does not exist)")
					}
					return phrase.In(at.Language, "config     %s%s\nworkspace  %s\nstate      %s\n", w.File, missing,
						w.Dir,
						w.State)
				})
		},
	}, configTrust(at), configApply(at), &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of etui.yaml", Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			_, err := at.Out.Write(config.Schema())
			return err
		},
	})
	return c
}

func configTrust(at *place) *cobra.Command {
	return &cobra.Command{
		Use: "trust", Short: "Let the configuration take effect as it is now", Args: cobra.NoArgs,
		Long: `etui asks before it uses a configuration that nobody on this machine has confirmed,
if it switches the sandbox off, names variables, hosts or other folders, or comes
with skills. This confirms it. Later changes are asked about only if they allow
more. A running gateway takes a confirmed change up by itself.`,
		RunE: func(_ *cobra.Command, _ []string) error {
			file, powers, err := workdir.Confirm(at.dir, at.config, os.Environ())
			if err != nil {
				return err
			}
			return at.Print(map[string]any{"config": file, "powers": powers}, func() string {
				return strings.Join(append([]string{phrase.In(at.Language, "Confirmed %s.", terminal.ShortPath(file))},
					powers...), "\n  ") + "\n"
			})
		},
	}
}

func configApply(at *place) *cobra.Command {
	return &cobra.Command{
		Use: "apply [FILE]", Short: "Put a change of etui.yaml in effect while commands run",
		Args: cobra.MaximumNArgs(1),
		Long: `etui reads changes of etui.yaml by itself. While a command of a model runs that could
have made a change, it waits for the end of the command, and then restores the file.

This shows the change and asks whether it is yours. With FILE, which no command can
write, it writes what is in FILE to etui.yaml and does not ask.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			from := strings.Join(args, "")
			e, err := w.Edit(from)
			switch {
			case err != nil:
				return err
			case bytes.Equal(e.Before, e.Now):
				_, err = phrase.Fprintf(at.Out, at.Language, "%s says what is in effect.\n", w.File)
				return err
			case !e.Waits && from == "":
				_, err = phrase.Fprintf(at.Out, at.Language,
					"No command runs that could have made the change: etui reads it by itself.\n")
				return err
			case from == "":
				if err := at.secrets.Set(w.File, w.Config.Secrets()...); err != nil {
					return err
				}
				if _, err := io.WriteString(at.secrets.Writer(at.Err),
					difference(string(e.Before), string(e.Now))); err != nil {
					return err
				}
				if err := at.Confirm("Is this change of %s yours?", w.File); err != nil {
					return err
				}
			}
			if _, err := w.Confirm(e.Now); err != nil {
				return err
			}
			if err := e.Accept(); err != nil {
				return err
			}
			_, err = phrase.Fprintf(at.Out, at.Language, "%s is changed; etui status shows when it is in effect.\n",
				w.File)
			return err
		},
	}
}

// difference returns the lines between the first and the last that differ.
func difference(before, now string) string {
	a, b := strings.Split(before, "\n"), strings.Split(now, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var text strings.Builder
	for _, line := range a {
		fmt.Fprintf(&text, "- %s\n", printable.Text(line))
	}
	for _, line := range b {
		fmt.Fprintf(&text, "+ %s\n", printable.Text(line))
	}
	return text.String()
}

// validateConfig checks the configuration as serve would, and the names in it.
func validateConfig(ctx context.Context, at *place) error {
	w, waits, err := at.read(ctx)
	switch {
	case err != nil:
		return err
	case waits != nil:
		return validateUnconfirmed(at, w, waits)
	}
	b, err := app.New(ctx, w, at.settings(nil))
	if err != nil {
		return err
	}
	var errs []error
	catalog := b.Engine.Catalog()
	errs = append(errs, b.Mistakes.Unknown...)
	for e := range catalog.All() {
		if _, err := e.Schema(); err != nil {
			errs = append(errs, phrase.Errorf("the parameters of tool %s are %w", e.Definition.Name, err))
		}
	}
	if err := errors.Join(append(errs, b.Close())...); err != nil {
		return err
	}
	skills, rules := len(b.Skills().Snapshot().All()), len(w.Config.Visibility.Rules)+len(w.Config.Policy.Rules)
	if at.JSON {
		warnings := []string{}
		for _, warning := range slices.Concat(b.Mistakes.Later, b.Warnings, b.Failures()) {
			warnings = append(warnings, warning.Error())
		}
		return json.NewEncoder(at.Out).Encode(map[string]any{"valid": true, "config": w.File, "tools": catalog.Len(),
			"skills": skills, "rules": rules, "warnings": warnings})
	}
	for _, warning := range slices.Concat(b.Mistakes.Later, b.Warnings, b.Failures()) {
		phrase.Fprintf(at.Err, at.Language, "warning: %v\n", warning)
	}
	what := phrase.In(at.Language, "%s is valid", filepath.Base(w.File))
	if !w.Found {
		what = phrase.In(at.Language, "There is no %s; the defaults are valid", w.File)
	}
	_, err = phrase.Fprintf(at.Out, at.Language, "%s: %s, %s, %s, model %s.\n", what,
		phrase.Count(at.Language, catalog.Len(), "tool"), phrase.Count(at.Language, skills, "skill"),
		phrase.Count(at.Language, rules, "rule"), b.Models(at.Language))
	return err
}

// validateUnconfirmed checks what can be checked without using anything of the configuration.
func validateUnconfirmed(at *place, w *workdir.Workspace, waits *trust.UnconfirmedError) error {
	if _, err := rulebook.Compile(w.Config); err != nil {
		return err
	}
	if at.JSON {
		return json.NewEncoder(at.Out).Encode(map[string]any{"valid": true, "confirmed": false, "config": w.File,
			"powers": waits.Powers})
	}
	phrase.Fprintf(at.Err, at.Language, "warning: %s\n", printable.Text(waits.Error()))
	_, err := phrase.Fprintf(at.Out, at.Language,
		"The keys, values and rules of %s are valid. Names of tools and skills are checked once it is confirmed.\n",
		filepath.Base(w.File))
	return err
}
