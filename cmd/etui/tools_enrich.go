package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/enrich"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/lab/replay"
	"github.com/etui-run/etui/model"
)

func (a *cli) toolsEnrichCommand() *cobra.Command {
	var names []string
	var modelName string
	var limit int
	var dry, yes bool
	c := &cobra.Command{
		Use: "enrich", Short: "Have a model write what people call the tools, so that questions find them", Args: cobra.NoArgs,
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
			w, err := a.open()
			if err != nil {
				return err
			}
			return a.enrich(cmd.Context(), w, modelName, names, limit, dry, yes)
		},
	}
	c.Flags().StringSliceVar(&names, "tools", nil, "only these tools, and skills as skill:NAME")
	c.Flags().StringVar(&modelName, "model", "", "the model that writes, by its name in etui.yaml (default: enrich.model)")
	c.Flags().IntVar(&limit, "limit", 0, "write about at most so many tools (default: all)")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what it will cost, and write nothing")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask whether it may cost that")
	return c
}

// enriched is what tools enrich reports.
type enriched struct {
	Model    string      `json:"model,omitempty"`
	File     string      `json:"file"`
	Estimate enrich.Cost `json:"estimate"`
	// Price is estimated: at the model's price in etui.yaml, else in dollars at that of its
	// provider. It is nil if neither is known.
	Price *float64 `json:"estimated_cost"`
	// Used is what it took; Dropped are texts about what no longer exists.
	Used    enrich.Cost `json:"used"`
	Failed  []string    `json:"failed"`
	Dropped int         `json:"dropped"`
}

func (a *cli) enrich(ctx context.Context, w *workdir.Workspace, modelName string, names []string, limit int, dry, yes bool) (err error) {
	e, err := app.New(ctx, w, a.settings(a.quiet(w.Config.Log)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	plan, err := e.Texts().Plan(names, limit)
	if err != nil {
		return err
	}
	writing, noModel := e.EnrichModel(modelName)
	r := enriched{File: e.Texts().File.Path(), Estimate: plan.Cost, Failed: []string{}}
	unit := ""
	if writing != nil {
		info := writing.Info()
		r.Model = info.Name
		price := info.Price
		if price == (model.Price{}) {
			unit, price = "$", replay.PriceOf(info.Name)
		}
		if price != (model.Price{}) {
			costs := (float64(plan.Cost.Input)*price.Input + float64(plan.Cost.Output)*price.Output) / 1e6
			r.Price = &costs
		}
	}
	said := fmt.Sprintf("%s to write about: about %d tokens to read and %d to write", printable.Count(plan.Cost.Tools, "tool"), plan.Cost.Input, plan.Cost.Output)
	switch {
	case r.Price != nil:
		said += fmt.Sprintf(", about %s%.2f with %s", unit, *r.Price, r.Model)
	case r.Model != "":
		said += fmt.Sprintf("; the price of %s is unknown; models[].price sets it", r.Model)
	}
	if dry {
		return a.print(r, func() string { return said + "\n" })
	}
	if len(plan.Subjects) > 0 {
		if noModel != nil {
			return noModel
		}
		fmt.Fprintln(a.err, said)
		if !yes {
			if err := a.confirm("Go on?"); err != nil {
				return err
			}
		}
		done := 0
		writer := enrich.Writer{Model: writing, File: e.Texts().File, Wrote: func(name string, so enrich.Cost, err error) {
			done++
			if err != nil {
				r.Failed = append(r.Failed, name)
				fmt.Fprintf(a.err, "%d of %d: %s: skipped: %v\n", done, len(plan.Subjects), name, err)
				return
			}
			fmt.Fprintf(a.err, "%d of %d: %s (%d tokens so far)\n", done, len(plan.Subjects), name, so.Input+so.Output)
		}}
		if r.Used, err = writer.Write(ctx, plan.Subjects, 0); err != nil {
			return err
		}
	}
	if r.Dropped, err = e.Texts().Drop(len(e.Failures()) > 0); err != nil {
		return err
	}
	return a.print(r, func() string { return describeEnriched(r) })
}

func describeEnriched(r enriched) string {
	var b strings.Builder
	if r.Estimate.Tools == 0 {
		b.WriteString("Nothing to write: there are texts already.\n")
	} else {
		fmt.Fprintf(&b, "Wrote about %s with %d tokens.\n", printable.Count(r.Used.Tools, "tool"), r.Used.Input+r.Used.Output)
	}
	if len(r.Failed) > 0 {
		fmt.Fprintf(&b, "Skipped: %s. Run the command again to retry.\n", printable.List(r.Failed))
	}
	if r.Dropped > 0 {
		fmt.Fprintf(&b, "Dropped the texts about %s that no longer exist.\n", printable.Count(r.Dropped, "tool"))
	}
	fmt.Fprintf(&b, "The texts are in %s. Edit what you like: your edits win.\n", home(r.File))
	return b.String()
}
