package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/secret"
)

// TestHelp holds that the help of every command fits a terminal of 80 columns. It does not run in parallel: it sets the width.
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var out lockedBuffer
	root := newRoot(&terminal.Console{In: strings.NewReader(""), Out: &out, Err: &out}, &secret.Set{})
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		before := len(out.String())
		c.HelpFunc()(c, nil)
		for line := range strings.SplitSeq(out.String()[before:], "\n") {
			if n := ansi.StringWidth(line); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				look(sub)
			}
		}
	}
	look(root)
}

// TestHelpIsChinese: with LANG=zh_CN all that the help says of commands and flags is in Chinese.
func TestHelpIsChinese(t *testing.T) {
	t.Parallel()
	var look func(c *cobra.Command)
	seen := 0
	look = func(c *cobra.Command) {
		is := func(what, text string) {
			if seen++; text != "" && !chat.Chinese(text) {
				t.Errorf("%s has no Chinese %s: %q", c.CommandPath(), what, text)
			}
		}
		is("summary", c.Short)
		is("help", c.Long)
		c.Flags().VisitAll(func(f *pflag.Flag) { is("flag "+f.Name, f.Usage) })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { is("flag "+f.Name, f.Usage) })
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(newRoot(&terminal.Console{Language: phrase.Chinese}, &secret.Set{}))
	if seen < 500 {
		t.Errorf("only %d texts were looked at", seen)
	}
}

// TestFlagsHaveTheirDefaults: commands of one kind of thing share variables, and what one of
// them sets as a default must not reach another.
func TestFlagsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if got := f.Value.String(); got != f.DefValue {
				t.Errorf("%s --%s is %q without being given, want %q", c.CommandPath(), f.Name, got, f.DefValue)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(newRoot(&terminal.Console{}, &secret.Set{}))
}
