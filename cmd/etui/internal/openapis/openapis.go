// Package openapis has the command that makes skills of the operations of an OpenAPI document.
package openapis

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/etui/internal/report"
	"github.com/etui-run/etui/cmd/etui/internal/servers"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/skill/openapi"
)

// Command returns the command import with its one format.
func Command(x servers.Config) *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Make skills of a description of a service", Args: cobra.NoArgs}
	c.AddCommand(openAPI(x))
	return c
}

func openAPI(x servers.Config) *cobra.Command {
	var how install.Choice
	c := &cobra.Command{
		Use: "openapi FILE|URL", Short: "Make skills of operations of an OpenAPI document", Args: cobra.ExactArgs(1),
		Long: `Make skills of operations of an OpenAPI 3.x document (or one of Swagger 2.0): a file each in the folder of
skills, which is yours to change. Without a choice the command lists the operations. The method gives the
risk: GET read, DELETE destructive, others write. Keys are never in the files: the command names the
variables of the environment that they come from.`,
		Example: `  etui skills import openapi https://petstore.example.com/openapi.json
  etui skills import openapi petstore.yaml --tag pet --name petstore
  etui skills import openapi petstore.yaml --operation listPets --operation 'GET /pets/{id}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := x.Open(cmd.Context())
			if err != nil {
				return err
			}
			d, err := install.ReadOpenAPI(cmd.Context(), w, args[0])
			if err != nil {
				return err
			}
			if !how.All && len(how.Tags)+len(how.Operations) == 0 {
				if err := x.Print(d.Operations(),
					func() string { return describe(x.Language, d.Operations()) }); err != nil {
					return err
				}
				return config.Usagef("nothing was imported; choose with --tag, --operation or --all")
			}
			done, err := install.ImportOpenAPI(w, d, how)
			if err != nil {
				return err
			}
			if err := x.Reload(cmd.Context(), w); err != nil {
				return err
			}
			return x.Print(done, func() string { return imported(x.Language, done) })
		},
	}
	f := c.Flags()
	f.StringArrayVar(&how.Tags, "tag", nil, "operations with this tag; repeat it for more")
	f.StringArrayVar(
		&how.Operations,
		"operation",
		nil,
		"this operation, by its operationId or as 'GET /path'; repeat it for more",
	)
	f.BoolVar(&how.All, "all", false, "all operations that are not deprecated")
	f.StringVar(&how.Name, "name", "", "first part of the skills' names (default: words of the document's title)")
	f.StringVar(&how.Server, "server", "", "address of the service (default: the first one that the document names)")
	f.StringVar(
		&how.Variable,
		"env",
		"",
		"variable of the environment with the key (default: SKILL_NAME_KEY, _TOKEN or _BASIC)",
	)
	f.BoolVar(&how.Force, "force", false, "replace files that are already there")
	f.BoolVarP(
		&how.Accept,
		"yes",
		"y",
		false,
		"import operations although a person should look at something in them first",
	)
	return c
}

// describe lists operations.
func describe(lang string, list []openapi.Operation) string {
	rows := [][]string{report.Head(lang, "OPERATION", "REQUEST", "TAGS", "SUMMARY")}
	for _, o := range list {
		summary := o.Summary
		if o.Deprecated {
			summary = phrase.In(lang, "(deprecated) ") + summary
		}
		rows = append(
			rows,
			[]string{
				printable.OneLine(o.ID),
				printable.OneLine(o.Method + " " + o.Path),
				printable.OneLine(strings.Join(o.Tags, ",")),
				printable.OneLine(summary),
			},
		)
	}
	return terminal.Table(rows, terminal.Width())
}

// imported says what an import did.
func imported(lang string, done install.Import) string {
	var b strings.Builder
	rows := [][]string{report.Head(lang, "SKILL", "RISK", "REQUEST")}
	var notes []string
	for _, s := range done.Skills {
		rows = append(rows, []string{s.Name, s.Risk, printable.OneLine(s.Method + " " + s.URL)})
		for _, note := range s.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	b.WriteString(terminal.Table(rows, terminal.Width()))
	for _, note := range notes {
		phrase.Fprintf(&b, lang, "note: %s\n", printable.OneLine(note))
	}
	for _, reason := range done.Skipped {
		phrase.Fprintf(&b, lang, "skipped: %s\n", printable.OneLine(reason))
	}
	phrase.Fprintf(&b, lang, "Imported %s.\n", phrase.Count(lang, len(done.Skills), "skill"))
	if len(done.Unset) > 0 {
		phrase.Fprintf(
			&b,
			lang,
			"Set these variables where etui runs; the skills load once they are set: %s.\n",
			phrase.List(lang, done.Unset, 10),
		)
	}
	return b.String()
}
