package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/etui/internal/help"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/cmd/internal/login"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

func mcpCommand(at *place) *cobra.Command {
	c := &cobra.Command{Use: "mcp", Short: "Add and remove MCP servers, and log in to them", Args: help.NoCommand, RunE: group}
	c.AddCommand(mcpAddCommand(at), mcpRemoveCommand(at), login.Command(at.Console, at.open, version()), login.OutCommand(at.Console, at.open, version()))
	return c
}

// addedServer is what mcp add prints as JSON.
type addedServer struct {
	File   string     `json:"file"`
	Server mcp.Status `json:"server"`
}

func mcpAddCommand(at *place) *cobra.Command {
	var s install.Server
	var env, headers []string
	var force bool
	c := &cobra.Command{
		Use: "add NAME URL|COMMAND [ARG...]", Short: "Make a skill of an MCP server, and try it once", Args: cobra.MinimumNArgs(2),
		Long: `Make a skill of an MCP server, and try it once. A command comes after --. If the command is npx, etui installs the package in its
state folder, in the version that is newest now, without running the package's scripts; from then on the
server runs from there and needs no network. The server's program sees the folders and reaches the hosts
that you name, and has a private folder that lasts, its home: {state} in the command and in --env.`,
		Example: `  etui mcp add files --write /srv/share -- npx -y @modelcontextprotocol/server-filesystem /srv/share
  etui mcp add memory --env MEMORY_FILE_PATH={state}/memory.jsonl -- npx -y @modelcontextprotocol/server-memory
  etui mcp add tracker --header 'Authorization: Bearer ${TRACKER_TOKEN}' https://tracker.example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 || strings.HasPrefix(args[0], "-") {
				return config.Usagef("the server's name comes before --, and does not begin with -: etui mcp add NAME -- COMMAND")
			}
			s.Name, s.Env, s.Headers = args[0], map[string]string{}, map[string]string{}
			switch rest := args[1:]; {
			case len(rest) == 1 && strings.Contains(rest[0], "://"):
				s.Endpoint = rest[0]
			default:
				s.Command = rest
			}
			s.Description = cmp.Or(s.Description, "The tools of the MCP server "+s.Name+".")
			for _, pair := range env {
				name, value, ok := strings.Cut(pair, "=")
				if !ok {
					return config.Usagef("--env %q is no NAME=VALUE", pair)
				}
				s.Env[name] = value
			}
			for _, pair := range headers {
				name, value, ok := strings.Cut(pair, ":")
				if !ok {
					return config.Usagef("--header %q is no NAME: VALUE", pair)
				}
				s.Headers[name] = strings.TrimSpace(value)
			}
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			file, st, err := install.AddServer(cmd.Context(), w, s, force, version(), slog.New(slog.DiscardHandler))
			if err == nil {
				err = reloadSkills(cmd.Context(), w)
			}
			if err != nil {
				return err
			}
			return at.Print(addedServer{file, st}, func() string { return describeAdded(file, st) })
		},
	}
	f := c.Flags()
	f.StringVar(&s.Description, "description", "", "what the server is for, for the model")
	f.StringArrayVar(&s.Read, "read", nil, "folder that the server's program may read")
	f.StringArrayVar(&s.Write, "write", nil, "folder that it may read and write")
	f.StringArrayVar(&s.Network, "network", nil, "host that it may reach, as name, name:port or *.name")
	f.StringArrayVar(&env, "env", nil, "NAME=VALUE of its environment; ${NAME} stays in the file")
	f.StringArrayVar(&headers, "header", nil, "'NAME: VALUE' that a service gets; ${NAME} stays in the file")
	f.BoolVar(&force, "force", false, "replace the file of that name, and install the package again")
	return c
}

func describeAdded(file string, st mcp.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Added %s: %s\n", st.Server, terminal.ShortPath(file))
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", label, text)
		}
	}
	line("tools", strings.Join(st.Tools, ", "))
	printServer(line, st)
	return b.String()
}

func mcpRemoveCommand(at *place) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove the skill of an MCP server, what was installed for it and what it kept", Args: cobra.ExactArgs(1),
		Example: "  etui mcp remove files",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			if err := install.RemoveServer(w, args[0], func() error { return reloadSkills(cmd.Context(), w) }); err != nil {
				return err
			}
			return changedSkill(at.Console, "Removed", args[0])
		},
	}
}

// reloadSkills returns when the gateway of a workspace, if one runs, has read the skills again.
func reloadSkills(ctx context.Context, w *workdir.Workspace) error {
	i := w.Running()
	if i.URL == "" {
		return nil
	}
	var report skill.Report
	err := client.New(i.URL, i.Admin, string(w.Config.API.Key)).Do(ctx, http.MethodPost, "/admin/skills/reload", admin.Change{By: userName(), Reason: "skills were added or removed"}, &report)
	if err != nil {
		return fmt.Errorf("the change is stored, but the gateway did not say that it follows: %w", err)
	}
	return nil
}
