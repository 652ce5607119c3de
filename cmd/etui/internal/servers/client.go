package servers

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/clientconfig"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

// installing is the command that makes etui an MCP server of another client.
func (x Config) installing() *cobra.Command {
	var agent, toolset, name string
	var yes bool
	c := &cobra.Command{
		Use: "install CLIENT", Short: "Make this gateway an MCP server of a client",
		Args: cobra.ExactArgs(1), ValidArgs: clientconfig.Names(),
		Long: `Make this gateway an MCP server of a client on this machine: the client starts etui mcp serve, and its
model finds and calls the tools of an agent of this workspace. etui shows how the client's settings would
change, asks, and keeps a copy of them. Comments and everything else there stay as they are.
CLIENT is one of claude-code, claude-desktop, codex, cursor, vscode, opencode.`,
		Example: "  etui mcp install claude-code\n  etui mcp install codex --agent support --name support",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := x.Open(cmd.Context())
			if err != nil {
				return err
			}
			folders, err := foldersOf(w)
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			command := []string{self, "mcp", "serve", "--workspace", w.Dir}
			if agent != "" {
				command = append(command, "--agent", agent)
			}
			if toolset != "" {
				command = append(command, "--skill", toolset)
			}
			change, err := folders.Install(args[0], name, command)
			if err != nil {
				return err
			}
			if change.Diff == "" {
				change.Backup = ""
				return x.Print(change, func() string {
					return phrase.In(x.Language, "%s has %s already: %s\n", change.Client, name,
						terminal.ShortPath(change.File))
				})
			}
			if !yes {
				fmt.Fprint(x.Err, printable.Text(change.Diff))
				if err := x.Confirm("Change the settings of %s?", change.Client); err != nil {
					return err
				}
			}
			if err := change.Write(); err != nil {
				return err
			}
			return x.Print(change, func() string {
				text := phrase.In(x.Language, "%s starts etui from now on; restart it if it runs.\n", change.Client)
				if change.Backup != "" {
					text += phrase.In(x.Language, "Its settings of before are in %s.\n",
						terminal.ShortPath(change.Backup))
				}
				return text
			})
		},
	}
	f := c.Flags()
	f.StringVar(&agent, "agent", "", "the `agent` whose tools the client gets; the first one without it")
	f.StringVar(&toolset, "skill", "", "only the tools of this `skill` or toolset")
	f.StringVar(&name, "name", "etui", "what the client calls the server")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}
