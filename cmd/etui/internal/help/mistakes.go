package help

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// IsMistake recognises usage errors of cobra itself.
func IsMistake(err error) bool {
	return slices.ContainsFunc([]string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument", "flag needs an argument", "required flag"}, func(s string) bool {
		return strings.HasPrefix(err.Error(), s)
	})
}

// CheckArguments makes all commands say which arguments they take when the number is wrong.
func CheckArguments(c *cobra.Command) {
	for _, sub := range c.Commands() {
		CheckArguments(sub)
	}
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil || !strings.HasPrefix(err.Error(), "accepts ") && !strings.HasPrefix(err.Error(), "requires at least") {
			return err
		}
		wrong := "an argument is missing"
		if len(args) > 0 && !strings.HasPrefix(err.Error(), "requires at least") {
			wrong = fmt.Sprintf("the command does not take %s", printable.Count(len(args), "argument"))
		}
		return config.Usagef("%s: %s; see %q", wrong, strings.TrimSuffix(c.UseLine(), " [flags]"), c.CommandPath()+" --help")
	}
}

// NoCommand rejects words that are not a sub-command.
func NoCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return config.Usagef("unknown command %q%s; see %q", args[0], nearest.Hint(args[0], func(yield func(string) bool) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && !yield(sub.Name()) {
				return
			}
		}
	}), c.CommandPath()+" --help")
}

// FlagMistake says what is wrong with a flag.
func FlagMistake(c *cobra.Command, err error) error {
	return config.Usagef("%w%s; see %q", plainFlag(err), nearestFlag(c, err), c.CommandPath()+" --help")
}

// plainFlag says what the value of a flag must be, without the words of a Go package.
func plainFlag(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	want, ok := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false", "duration": "a time such as 90s or 5m"}[flag.Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s is %q; it must be %s", flag.Name, invalid.GetValue(), want)
}

// nearestFlag suggests the flag that was meant.
func nearestFlag(c *cobra.Command, err error) string {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	var names []string
	for flag := range strings.FieldsSeq(c.Flags().FlagUsages() + " " + c.InheritedFlags().FlagUsages()) {
		if long, ok := strings.CutPrefix(flag, "--"); ok {
			names = append(names, long)
		}
	}
	if near, ok := nearest.Name(name, slices.Values(names)); ok {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}
