package main

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/server/api"
)

func (a *cli) whoamiCommand() *cobra.Command {
	var who api.Message
	c := &cobra.Command{
		Use: "whoami", Short: "Show who the sender of a message is to etui", Args: cobra.NoArgs,
		Long: `Show who the sender of a message is to etui: a person of etui.yaml, a peer whom only the channel
knows, or a guest; with the roles, groups and attributes that rules read, and the conversation
that a message would belong to. --as takes an identity, or the name of a user.`,
		Example: `  etui whoami --as telegram:42
  etui whoami --as alice
  ETUI_API_KEY=etui_... etui whoami --url https://agent.example.com`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(c *client.Client) error { return a.whoami(cmd.Context(), c, who) })
		},
	}
	placeFlags(c, &who)
	return c
}

func (a *cli) whoami(ctx context.Context, c *client.Client, who api.Message) error {
	var x api.Whoami
	if err := c.Do(ctx, http.MethodPost, "/api/whoami", who, &x); err != nil {
		return err
	}
	return a.print(x, func() string { return describeWhoami(x) })
}

func describeWhoami(x api.Whoami) string {
	rows := [][]string{{string(x.Kind), cmp.Or(x.Sender, "no name")}}
	add := func(what string, list ...string) {
		if text := strings.Join(list, ", "); text != "" {
			rows = append(rows, []string{what, text})
		}
	}
	add("identities", x.Identities...)
	if x.User != x.Sender {
		add("user.id", x.User)
	}
	add("roles", cmp.Or(strings.Join(x.Roles, ", "), "none"))
	add("groups", x.Groups...)
	add("platform roles", x.PlatformRoles...)
	for _, name := range slices.Sorted(maps.Keys(x.Attrs)) {
		add("attrs."+name, x.Attrs[name])
	}
	add("channel", x.Channel)
	add("session", string(x.Session))
	may := []string{"speaks for itself only"}
	switch {
	case x.Client.Operator && x.Client.ForOthers:
		may = []string{"operator", "may speak for others"}
	case x.Client.Operator:
		may = []string{"operator"}
	case x.Client.ForOthers:
		may = []string{"may speak for others"}
	}
	if x.Client.Key != "" {
		may = append(may, "API key "+x.Client.Key)
	}
	add("this client", may...)
	return columns(rows)
}
