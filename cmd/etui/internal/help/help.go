// Package help says how etui is called: it prints the help of commands, and says what is wrong with a call.
package help

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Print prints the help of a command, wrapped to the width of the terminal.
func Print(console *terminal.Console, c *cobra.Command) {
	var b strings.Builder
	wide := terminal.Width()
	if text := c.Long; text != "" {
		for line := range strings.SplitSeq(paragraphs(text), "\n") {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			b.WriteString(terminal.Hanging(indent, line, wide))
		}
	} else {
		b.WriteString(phrase.Word(console.Language, c.Short) + phrase.In(console.Language, ".") + "\n")
	}
	title := func(text string) {
		b.WriteString("\n" + titleStyle(console).Render(phrase.Word(console.Language, text)) + "\n")
	}
	title("Usage")
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", c.CommandPath())
	} else {
		b.WriteString("  " + c.UseLine() + "\n")
	}
	title("Examples")
	for line := range strings.SplitSeq(example(c), "\n") {
		b.WriteString(continued(line, wide))
	}
	if c.HasAvailableSubCommands() {
		title("Commands")
		var rows [][2]string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				rows = append(rows, [2]string{strings.TrimSuffix(sub.Use, " [flags]"), phrase.Word(console.Language, sub.Short)})
			}
		}
		b.WriteString(described(rows, wide))
	}
	general := c.InheritedFlags()
	if !c.HasParent() {
		general = c.PersistentFlags()
	}
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", c.LocalNonPersistentFlags()}, {"Flags of all commands", general}} {
		if part.flags.HasAvailableFlags() {
			title(part.title)
			b.WriteString(strings.ReplaceAll(part.flags.FlagUsagesWrapped(wide), " (default [])", ""))
		}
	}
	fmt.Fprint(console.Out, b.String())
}

// example returns the examples of a command. Those of a group are the first ones of its
// commands, and a command without arguments is an example itself.
func example(c *cobra.Command) string {
	if c.Example != "" {
		return c.Example
	}
	var list []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && len(list) < 3 {
			first, _, _ := strings.Cut(example(sub), "\n")
			list = append(list, first)
		}
	}
	if len(list) == 0 {
		return "  " + c.CommandPath()
	}
	return strings.Join(list, "\n")
}

// continued breaks a line for a shell that is wider than the terminal.
func continued(line string, wide int) string {
	if ansi.StringWidth(line) <= wide {
		return line + "\n"
	}
	return strings.ReplaceAll(strings.TrimSuffix(terminal.Hanging("  ", line, wide-4), "\n"), "\n", " \\\n  ") + "\n"
}

// titleStyle is the style of titles in the help.
func titleStyle(console *terminal.Console) lipgloss.Style {
	return lipgloss.NewStyle().Bold(!terminal.Plain() && terminal.Is(console.Out))
}

// described writes names with their descriptions behind them.
func described(rows [][2]string, wide int) string {
	longest := 0
	for _, row := range rows {
		longest = max(longest, min(len(row[0]), wide/3))
	}
	var b strings.Builder
	for _, row := range rows {
		first := fmt.Sprintf("  %-*s  ", longest, row[0])
		if len(row[0]) > longest {
			b.WriteString("  " + row[0] + "\n")
			first = strings.Repeat(" ", longest+4)
		}
		b.WriteString(terminal.Hanging(first, row[1], wide))
	}
	return b.String()
}

// paragraphs joins the lines of each paragraph. Indented lines stay.
func paragraphs(text string) string {
	lines := strings.Split(text, "\n")
	joined := lines[0]
	for i, line := range lines[1:] {
		before := lines[i]
		if line == "" || before == "" || strings.HasPrefix(line, " ") || strings.HasPrefix(before, " ") {
			joined += "\n" + line
		} else {
			joined += " " + line
		}
	}
	return joined
}
