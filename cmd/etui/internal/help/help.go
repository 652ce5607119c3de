// Package help says how etui is called: it prints the help of commands, and says what is wrong with a call.
package help

import (
	"fmt"
	"strings"
	"unicode/utf8"

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
			b.WriteString(terminal.Hang(indent, line, wide))
		}
	} else {
		b.WriteString(c.Short + phrase.Word(console.Language, ".") + "\n")
	}
	title := func(text string) {
		b.WriteString("\n" + titleStyle(console).Render(phrase.Word(console.Language, text)) + "\n")
	}
	title("Usage")
	if c.HasAvailableSubCommands() {
		phrase.Fprintf(&b, console.Language, "  %s COMMAND [flags]\n", c.CommandPath())
	} else {
		line, _ := strings.CutSuffix(c.UseLine(), " [flags]")
		phrase.Fprintf(&b, console.Language, "  %s [flags]\n", line)
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
				rows = append(rows, [2]string{strings.TrimSuffix(sub.Use, " [flags]"), sub.Short})
			}
		}
		b.WriteString(described(rows, wide, wide/3))
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
			b.WriteString(described(flagRows(console.Language, part.flags), wide, wide/2))
		}
	}
	fmt.Fprint(console.Out, b.String())
}

// Localize says all texts about a command, its flags and the commands below it in a language.
func Localize(lang string, c *cobra.Command) {
	if lang != phrase.Chinese {
		return
	}
	if !c.HasParent() {
		c.InitDefaultHelpCmd()
		c.InitDefaultCompletionCmd()
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	for _, text := range []*string{&c.Short, &c.Long, &c.Example} {
		*text = phrase.Word(lang, *text)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		text, _ := strings.CutSuffix(f.Usage, " for "+c.Name()) // cobra's: "help for NAME"
		f.Usage = phrase.Word(lang, text)
	})
	for _, sub := range c.Commands() {
		Localize(lang, sub)
	}
}

// flagRows returns flags with their descriptions.
func flagRows(lang string, flags *pflag.FlagSet) (rows [][2]string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		name = strings.TrimSpace("--" + f.Name + " " + name)
		if f.Shorthand == "" {
			name = "    " + name
		} else {
			name = "-" + f.Shorthand + ", " + name
		}
		switch value := f.DefValue; f.Value.Type() {
		case "string":
			if value != "" {
				usage += phrase.In(lang, " (default %q)", value)
			}
		case "int", "duration", "float64":
			if value != "0" && value != "0s" {
				usage += phrase.In(lang, " (default %s)", value)
			}
		}
		rows = append(rows, [2]string{name, usage})
	})
	return rows
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
	return strings.ReplaceAll(strings.TrimSuffix(terminal.Hang("  ", line, wide-4), "\n"), "\n", " \\\n  ") + "\n"
}

// titleStyle is the style of titles in the help.
func titleStyle(console *terminal.Console) lipgloss.Style {
	return lipgloss.NewStyle().Bold(!terminal.Plain() && terminal.Is(console.Out))
}

// described writes names with their descriptions behind them, in a column that begins after at most so much.
func described(rows [][2]string, wide, most int) string {
	longest := 0
	for _, row := range rows {
		longest = max(longest, min(ansi.StringWidth(row[0]), most))
	}
	var b strings.Builder
	for _, row := range rows {
		first := "  " + terminal.Pad(row[0], longest) + "  "
		if ansi.StringWidth(row[0]) > longest {
			b.WriteString("  " + row[0] + "\n")
			first = strings.Repeat(" ", longest+4)
		}
		b.WriteString(terminal.Hang(first, row[1], wide))
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
			last, _ := utf8.DecodeLastRuneInString(before)
			if ansi.StringWidth(string(last)) < 2 && last != '”' { // a paragraph in Chinese has no space there
				joined += " "
			}
			joined += line
		}
	}
	return joined
}
