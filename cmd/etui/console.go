package main

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/login"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server"
)

func consoleCommand(g *gateway) *cobra.Command {
	var link server.ConsoleLink
	var stay bool
	c := &cobra.Command{
		Use: "console", Short: "Open the console, a page for operators", Args: cobra.NoArgs,
		Long: `Open the console of the running gateway in a browser: what runs and waits, what a message would get
and why, rules, tools, skills, conversations and the audit. The link signs one browser in, once, within
ten minutes. A viewer reads, an operator also answers and changes, an owner also changes keys and people.`,
		Example: "  etui console\n  etui console --role viewer --name ann --no-browser",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.with(cmd.Context(), false, func(c *client.Client) error {
				if c.Here() {
					return phrase.Errorf("no gateway runs for this workspace; start it with etui serve")
				}
				var made server.MadeLink
				if err := c.Do(cmd.Context(), http.MethodPost, "/admin/console", link, &made); err != nil {
					return err
				}
				made.Path = c.Admin() + made.Path
				if err := g.Print(made, func() string { return made.Path + "\n" }); err != nil || stay || g.JSON {
					return err
				}
				return login.Hand(cmd.Context(), made.Path)
			})
		},
	}
	c.Flags().StringVar(&link.Role, "role", "", "viewer, operator or owner (default owner)")
	c.Flags().StringVar(&link.Name, "name", "", "who signs in, for the audit")
	c.Flags().BoolVar(&stay, "no-browser", false, "print the link only")
	return c
}
