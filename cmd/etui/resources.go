package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/server"
)

// resources are the commands about the kinds of things that a gateway has.
func resources() []action {
	return []action{keys()}
}

func keys() action {
	var n server.NewKey
	return action{
		use: "keys", short: "Make, list and revoke API keys",
		long: `Make, list and revoke API keys. A key belongs to a user of etui.yaml, or to an operator, or lets a
program speak for others with the headers X-Etui-*. etui stores no key, only its hash.`,
		actions: []action{
			{
				use: "list", short: "List the API keys",
				run: get("/admin/keys", table[server.KeyStatus]{none: "There are no API keys.\n", wide: true, head: []string{"KEY", "USER", "MAY", "MADE", "PROBLEM"}, row: keyRow}.text),
			},
			{
				use: "add NAME", short: "Make an API key, and show it once", needs: changes,
				example: `  etui keys add laptop --user alice      messages with it are from alice
  etui keys add helpdesk --for-others    may say whom messages are from
  etui keys add ops --operator           for commands on the gateway's machine
  etui keys add phone                    of the user with the identity key:phone`,
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&n.User, "user", "", "user of etui.yaml to whom the key belongs")
					f.BoolVar(&n.Operator, "operator", false, "give it the powers of an operator, on the gateway's machine")
					f.BoolVar(&n.ForOthers, "for-others", false, "let it say whom a message is from")
				},
				check: func(c *call) error {
					if n.Name = c.args[0]; n.User != "" && n.Operator {
						return app.Usagef("a key belongs to a user or is an operator's: give --user or --operator")
					}
					return nil
				},
				run: func(ctx context.Context, c *call) error {
					return send(http.MethodPost, "/admin/keys", n, func(made server.MadeKey) string {
						if made.Problem != "" {
							fmt.Fprintf(c.Err, "warning: %s is refused for now: %s\n", made.Name, made.Problem)
						}
						if made.Note != "" {
							fmt.Fprintf(c.Err, "warning: %s\n", made.Note)
						}
						return made.Secret + "\n"
					})(ctx, c)
				},
			},
			{
				use: "revoke NAME", short: "Revoke an API key: it is refused from now on", needs: changes, example: "  etui keys revoke phone",
				run: send(http.MethodDelete, "/admin/keys/{}", nil, func(done map[string]string) string {
					return fmt.Sprintf("The key %s is revoked.\n", done["revoked"])
				}),
			},
		},
	}
}

func keyRow(k server.KeyStatus) []string {
	may := "talk"
	switch {
	case k.Operator && k.ForOthers:
		may = "operate, speak for others"
	case k.Operator:
		may = "operate"
	case k.ForOthers:
		may = "speak for others"
	}
	return []string{k.Name, k.User, may, k.Created.Local().Format(time.DateTime), k.Problem}
}
