package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server/api"
)

func (a *cli) memoryCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "memory", Short: "Show, search and edit what an agent remembers of somebody",
		Long: `Show, search and edit what an agent remembers of a person, a peer or a group between
conversations: see docs/memory.md. Without --as it is what the agent remembers of you at
this terminal.`,
		Example: "  etui memory show\n  etui memory search \"where did we want to meet\" --as alice\n  etui memory edit --as telegram:42",
		Args:    unknownCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.memoryShowCommand(), a.memorySearchCommand(), a.memoryEditCommand())
	return c
}

func (a *cli) memoryShowCommand() *cobra.Command {
	look := api.MemoryLook{}
	c := &cobra.Command{
		Use: "show", Short: "Show what an agent remembers of somebody", Args: cobra.NoArgs,
		Example: "  etui memory show\n  etui memory show --as alice --notes 7",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) error {
				r, err := remembered(cmd.Context(), c, look)
				if err != nil {
					return err
				}
				return a.print(r, func() string { return describeMemory(r) })
			})
		},
	}
	placeFlags(c, &look.Message)
	c.Flags().IntVar(&look.Most, "notes", 0, "show the notes of this many days (default 20)")
	return c
}

func remembered(ctx context.Context, c *client.Client, look api.MemoryLook) (r engine.Remembered, err error) {
	err = c.Do(ctx, http.MethodPost, "/api/memory", look, &r)
	return r, err
}

func describeMemory(r engine.Remembered) string {
	if r.Owner == "" {
		return "Nothing is remembered here: etui does not know who is writing. Name somebody with --as.\n"
	}
	var b strings.Builder
	of := r.Owner
	if of == "main" {
		of = "you at this terminal"
	}
	fmt.Fprintf(&b, "%s remembers of %s:\n", r.Agent, of)
	part := func(heading, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("\n" + heading + "\n" + indented("  ", text, width()))
		}
	}
	part("Memory", r.Text)
	for _, n := range r.Notes {
		part("Notes of "+n.Day, n.Text)
	}
	if r.Text == "" && len(r.Notes) == 0 {
		b.WriteString("\nNothing yet.\n")
	}
	part("What everybody's conversations read", r.Shared)
	return b.String()
}

func (a *cli) memorySearchCommand() *cobra.Command {
	look := api.MemoryLook{}
	c := &cobra.Command{
		Use: "search TEXT", Short: "Find what was remembered, noted or said", Args: cobra.MinimumNArgs(1),
		Example: "  etui memory search \"which hotel did I like\" --as alice",
		RunE: func(cmd *cobra.Command, args []string) error {
			look.Query = strings.Join(args, " ")
			return a.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) error {
				var r api.Recalled
				if err := c.Do(cmd.Context(), http.MethodPost, "/api/memory", look, &r); err != nil {
					return err
				}
				return a.print(r, func() string { return describeRecalled(r) })
			})
		},
	}
	placeFlags(c, &look.Message)
	c.Flags().IntVar(&look.Most, "limit", 0, "show at most this many results (default 20)")
	return c
}

func describeRecalled(r api.Recalled) string {
	if len(r.Found) == 0 {
		return "Nothing was found.\n"
	}
	var b strings.Builder
	for _, f := range r.Found {
		b.WriteString(printable.Text(f.From) + "\n" + indented("  ", f.Text, width()) + "\n")
	}
	return b.String()
}

func (a *cli) memoryEditCommand() *cobra.Command {
	var who api.Message
	c := &cobra.Command{
		Use: "edit", Short: "Change what an agent remembers of somebody, in your editor", Args: cobra.NoArgs,
		Long: `Change what an agent remembers of somebody, in the editor that VISUAL or EDITOR names (default: vi).
Lines that the agent adds meanwhile are kept.`,
		Example: "  etui memory edit --as alice\n  EDITOR=nano etui memory edit",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), true, func(c *client.Client) error { return a.editMemory(cmd.Context(), c, who) })
		},
	}
	placeFlags(c, &who)
	return c
}

func (a *cli) editMemory(ctx context.Context, c *client.Client, who api.Message) error {
	r, err := remembered(ctx, c, api.MemoryLook{Message: who})
	if err != nil {
		return err
	}
	if r.Owner == "" {
		return config.Usagef("nothing is remembered here: etui does not know who is writing; name somebody with --as")
	}
	text, err := a.inEditor(ctx, r.Text)
	if err != nil {
		return err
	}
	if text == r.Text {
		return a.print(api.Edited{Memory: text}, func() string { return "Nothing was changed.\n" })
	}
	var e api.Edited
	if err := c.Do(ctx, http.MethodPut, "/api/memory", api.MemoryEdit{Message: who, Base: r.Text, New: text}, &e); err != nil {
		return err
	}
	return a.print(e, func() string { return fmt.Sprintf("The memory of %s has %d bytes now.\n", r.Owner, len(e.Memory)) })
}
