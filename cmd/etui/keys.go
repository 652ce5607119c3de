package main

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/server"
)

func (a *cli) keysCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "keys", Short: "Make, list and revoke API keys", Args: unknownCommand, RunE: group,
		Long: `Make, list and revoke API keys. A key belongs to a user of etui.yaml, or to an operator, or lets a
program speak for others with the headers X-Etui-*. etui stores no key, only its hash.`,
	}
	list := &cobra.Command{
		Use: "list", Short: "List the API keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), a, request{path: "/admin/keys"}, describeKeys)
		},
	}
	revoke := &cobra.Command{
		Use: "revoke NAME", Short: "Revoke an API key: it is refused from now on", Args: cobra.ExactArgs(1),
		Example: "  etui keys revoke phone",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeKeys(cmd, http.MethodDelete, "/admin/keys/"+url.PathEscape(args[0]), nil, new(map[string]string), func() string {
				return fmt.Sprintf("The key %s is revoked.\n", args[0])
			})
		},
	}
	c.AddCommand(a.keysAddCommand(), list, revoke)
	return c
}

func (a *cli) keysAddCommand() *cobra.Command {
	var n server.NewKey
	c := &cobra.Command{
		Use: "add NAME", Short: "Make an API key, and show it once", Args: cobra.ExactArgs(1),
		Example: `  etui keys add laptop --user alice      messages with it are from alice
  etui keys add helpdesk --for-others    may say whom messages are from
  etui keys add ops --operator           for commands on the gateway's machine
  etui keys add phone                    of the user with the identity key:phone`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n.Name = args[0]
			if n.User != "" && n.Operator {
				return config.Usagef("a key belongs to a user or is an operator's: give --user or --operator")
			}
			var made server.MadeKey
			return a.changeKeys(cmd, http.MethodPost, "/admin/keys", n, &made, func() string {
				if made.Problem != "" {
					fmt.Fprintf(a.err, "warning: %s is refused for now: %s\n", made.Name, made.Problem)
				}
				if made.Note != "" {
					fmt.Fprintf(a.err, "warning: %s\n", made.Note)
				}
				return made.Secret + "\n"
			})
		},
	}
	c.Flags().StringVar(&n.User, "user", "", "user of etui.yaml to whom the key belongs")
	c.Flags().BoolVar(&n.Operator, "operator", false, "give it the powers of an operator, on the gateway's machine")
	c.Flags().BoolVar(&n.ForOthers, "for-others", false, "let it say whom a message is from")
	return c
}

// changeKeys sends a change of the keys and prints what it says.
func (a *cli) changeKeys(cmd *cobra.Command, method, path string, body, into any, text func() string) error {
	return a.with(cmd.Context(), true, func(c *client.Client) error {
		if err := c.Do(cmd.Context(), method, path, body, into); err != nil {
			return err
		}
		return a.print(into, text)
	})
}

func describeKeys(keys []server.KeyStatus) string {
	if len(keys) == 0 {
		return "There are no API keys.\n"
	}
	rows := [][]string{{"KEY", "USER", "MAY", "MADE", "PROBLEM"}}
	for _, k := range keys {
		may := "talk"
		switch {
		case k.Operator && k.ForOthers:
			may = "operate, speak for others"
		case k.Operator:
			may = "operate"
		case k.ForOthers:
			may = "speak for others"
		}
		rows = append(rows, []string{k.Name, k.User, may, k.Created.Local().Format(time.DateTime), k.Problem})
	}
	return columns(rows)
}
