package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/enrich"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/lab/replay"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
)

func toolsEnrichCommand(at *place) *cobra.Command {
	var names []string
	var modelName string
	var limit int
	var dry, yes bool
	c := &cobra.Command{
		Use: "enrich", Short: "Have a model write what people call the tools, so that questions find them",
		Args: cobra.NoArgs,
		Long: `Have a model write, once for each tool and skill, what people call it and how they ask for it, so that
questions find it that share no word with its definition. The model reads definitions, nothing else.
Only the ranking reads the texts. They are kept in enriched.jsonl in the state folder, where you can
edit them: your edits win. The command says first what it will cost, and asks. It can be interrupted: the next
call goes on where it ended, and writes only about new and changed tools. See docs/enrich.md.`,
		Example: "  etui tools enrich --dry-run\n  etui tools enrich --limit 20 --yes\n  etui tools enrich --tools write_file,skill:invoices --model local",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return config.Usagef("--limit must not be below zero")
			}
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			return writeTexts(cmd.Context(), at, w, modelName, names, limit, dry, yes)
		},
	}
	c.Flags().StringSliceVar(&names, "tools", nil, "only these tools, and skills as skill:NAME")
	c.Flags().StringVar(&modelName, "model", "",
		"the model that writes, by its name in etui.yaml (default: enrich.model)")
	c.Flags().IntVar(&limit, "limit", 0, "write about at most so many tools (default: all)")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what it will cost, and write nothing")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask whether it may cost that")
	return c
}

func writeTexts(ctx context.Context, at *place, w *workdir.Workspace, modelName string, names []string, limit int, dry,
	yes bool) (err error) {
	e, err := app.New(ctx, w, at.settings(at.quiet(w.Config.Log)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	plan, err := e.Texts().Plan(names, limit)
	if err != nil {
		return err
	}
	writing, noModel := e.EnrichModel(modelName)
	r := enrich.Report{File: e.Texts().File.Path(), Estimate: plan.Cost, Failed: []string{}}
	unit := ""
	if writing != nil {
		info := writing.Info()
		price := info.Price
		if price == (model.Price{}) {
			unit, price = "$", replay.PriceOf(info.Name)
		}
		r.SetModel(info.Name, price)
	}
	said := r.Forecast(at.Language, unit)
	if dry {
		return at.Print(r, func() string { return said + "\n" })
	}
	if len(plan.Subjects) > 0 {
		if noModel != nil {
			return noModel
		}
		fmt.Fprintln(at.Err, said)
		if !yes {
			if err := at.Confirm("Go on?"); err != nil {
				return err
			}
		}
		done := 0
		writer := enrich.Writer{Model: writing, File: e.Texts().File,
			Wrote: func(name string, so enrich.Cost, err error) {
				done++
				if err != nil {
					r.Failed = append(r.Failed, name)
					phrase.Fprintf(at.Err, at.Language, "%d of %d: %s: skipped: %v\n", done, len(plan.Subjects), name,
						err)
					return
				}
				phrase.Fprintf(at.Err, at.Language, "%d of %d: %s (%d tokens so far)\n", done, len(plan.Subjects), name,
					so.Input+so.Output)
			}}
		if r.Used, err = writer.Write(ctx, plan.Subjects, 0); err != nil {
			return err
		}
	}
	if r.Dropped, err = e.Texts().Drop(len(e.Failures()) > 0); err != nil {
		return err
	}
	return at.Print(r, func() string { return r.Text(at.Language, terminal.ShortPath(r.File)) })
}
