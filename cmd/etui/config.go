package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/printable"
)

func (a *cli) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check and show the configuration", Args: unknownCommand, RunE: group}
	c.AddCommand(&cobra.Command{
		Use: "validate", Short: "Check the configuration and every name in it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.validate(cmd.Context()) },
	}, &cobra.Command{
		Use: "show", Short: "Print the configuration in effect, without secrets", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			w, err := a.open()
			if err != nil {
				return err
			}
			text, err := yaml.Dump(w.Config)
			if err != nil {
				return err
			}
			if err := a.secrets.Set(w.File, w.Config.Secrets()...); err != nil { // other keys may hold them, too
				return err
			}
			out := a.secrets.Writer(a.out)
			if a.json {
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
		RunE: func(*cobra.Command, []string) error {
			w, err := a.open()
			if err != nil {
				return err
			}
			return a.print(map[string]any{"config": w.File, "exists": w.Found, "workspace": w.Dir, "state": w.State}, func() string {
				missing := ""
				if !w.Found {
					missing = " (does not exist)"
				}
				return fmt.Sprintf("config     %s%s\nworkspace  %s\nstate      %s\n", w.File, missing, w.Dir, w.State)
			})
		},
	}, &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of etui.yaml", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.out.Write(config.Schema())
			return err
		},
	})
	return c
}

// validate checks the configuration as serve would, and the names in it.
func (a *cli) validate(ctx context.Context) error {
	w, err := a.open()
	if err != nil {
		return err
	}
	b, err := app.New(ctx, w, a.settings(nil))
	if err != nil {
		return err
	}
	var errs []error
	catalog := b.Engine.Catalog()
	errs = append(errs, b.Misnamed.Unknown...)
	for e := range catalog.All() {
		if _, err := e.Schema(); err != nil {
			errs = append(errs, fmt.Errorf("the parameters of tool %s are %w", e.Definition.Name, err))
		}
	}
	if err := errors.Join(append(errs, b.Close())...); err != nil {
		return err
	}
	skills, rules := len(b.Skills.Snapshot().All()), len(w.Config.Visibility.Rules)+len(w.Config.Policy.Rules)
	if a.json {
		warnings := []string{}
		for _, warning := range slices.Concat(b.Misnamed.Later, b.Warnings, b.Failures()) {
			warnings = append(warnings, warning.Error())
		}
		return json.NewEncoder(a.out).Encode(map[string]any{"valid": true, "config": w.File, "tools": catalog.Len(), "skills": skills, "rules": rules, "warnings": warnings})
	}
	for _, warning := range slices.Concat(b.Misnamed.Later, b.Warnings, b.Failures()) {
		fmt.Fprintf(a.err, "warning: %v\n", warning)
	}
	what := filepath.Base(w.File) + " is valid"
	if !w.Found {
		what = "There is no " + w.File + "; the defaults are valid"
	}
	_, err = fmt.Fprintf(a.out, "%s: %s, %s, %s, model %s.\n", what, printable.Count(catalog.Len(), "tool"), printable.Count(skills, "skill"), printable.Count(rules, "rule"), b.Models())
	return err
}
