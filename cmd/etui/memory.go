package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/recall"
	"github.com/etui-run/etui/server/api"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func memory() action {
	var look api.MemoryLook
	whose := func(f *pflag.FlagSet) { placeFlags(f, &look.Message) }
	return action{
		use: "memory", short: "Show, search and edit what an agent remembers of somebody",
		long: `Show, search and edit what an agent remembers of a person, a peer or a group between
conversations: see docs/memory.md. Without --as it is what the agent remembers of you at
this terminal.`,
		example: "  etui memory show\n" +
			"  etui memory search \"where did we want to meet\" --as alice\n" +
			"  etui memory edit --as telegram:42",
		actions: []action{
			{
				use: "show", short: "Show what an agent remembers of somebody", needs: records,
				example: "  etui memory show\n  etui memory show --as alice --notes 7",
				flags: func(f *pflag.FlagSet) {
					whose(f)
					f.IntVar(&look.Most, "notes", 0, "show the notes of this many days (default 20)")
				},
				run: send(http.MethodPost, "/api/memory", &look, describeMemory),
			},
			{
				use: "search TEXT", args: cobra.MinimumNArgs(1), short: "Find what was remembered, noted or said",
				needs: records, example: "  etui memory search \"which hotel did I like\" --as alice",
				flags: func(f *pflag.FlagSet) {
					whose(f)
					f.IntVar(&look.Most, "limit", 0, "show at most this many results (default 20)")
				},
				check: func(c *call) error { look.Query = strings.Join(c.args, " "); return nil },
				run:   send(http.MethodPost, "/api/memory", &look, describeRecalled),
			},
			{
				use: "edit", short: "Change what an agent remembers of somebody, in your editor", needs: changes,
				flags: whose,
				long: `Change what an agent remembers of somebody, in the editor that VISUAL or EDITOR names (default: vi).
Lines that the agent adds meanwhile are kept.`,
				example: "  etui memory edit --as alice\n  EDITOR=nano etui memory edit",
				run:     func(ctx context.Context, c *call) error { return editMemory(ctx, c, look.Message) },
			},
		},
	}
}

func describeMemory(lang string, r recall.Remembered) string {
	if r.Owner == "" {
		return phrase.In(lang, "Nothing is remembered here: etui does not know who is writing. Name somebody with --as.\n")
	}
	var b strings.Builder
	of := r.Owner
	if of == "main" {
		of = phrase.Word(lang, "you at this terminal")
	}
	phrase.Fprintf(&b, lang, "%s remembers of %s:\n", r.Agent, of)
	part := func(heading, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("\n" + heading + "\n" + terminal.Indent("  ", text, terminal.Width()))
		}
	}
	part(phrase.Word(lang, "Memory"), r.Text)
	for _, n := range r.Notes {
		part(phrase.In(lang, "Notes of %s", n.Day), n.Text)
	}
	if r.Text == "" && len(r.Notes) == 0 {
		phrase.Fprintf(&b, lang, "\nNothing yet.\n")
	}
	part(phrase.Word(lang, "What everybody's conversations read"), r.Shared)
	return b.String()
}

func describeRecalled(lang string, r api.MemoryMatches) string {
	if len(r.Found) == 0 {
		return phrase.In(lang, "Nothing was found.\n")
	}
	var b strings.Builder
	for _, f := range r.Found {
		b.WriteString(printable.Text(f.From) + "\n" + terminal.Indent("  ", f.Text, terminal.Width()) + "\n")
	}
	return b.String()
}

func editMemory(ctx context.Context, c *call, who api.Message) error {
	var r recall.Remembered
	if err := c.client.Do(ctx, http.MethodPost, "/api/memory", api.MemoryLook{Message: who}, &r); err != nil {
		return err
	}
	if r.Owner == "" {
		return config.Usagef("nothing is remembered here: etui does not know who is writing; name somebody with --as")
	}
	text, err := editText(ctx, c.Console, r.Text)
	if err != nil {
		return err
	}
	if text == r.Text {
		return c.Print(api.MemoryText{Memory: text},
			func() string { return phrase.In(c.Language, "Nothing was changed.\n") })
	}
	var e api.MemoryText
	if err := c.client.Do(ctx, http.MethodPut, "/api/memory", api.MemoryEdit{Message: who, Base: r.Text, New: text},
		&e); err != nil {
		return err
	}
	return c.Print(e, func() string {
		return phrase.In(c.Language, "The memory of %s has %d bytes now.\n", r.Owner, len(e.Memory))
	})
}
