package help

import (
	"errors"
	"slices"
	"strings"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/phrase"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// IsMistake recognises usage errors of cobra itself.
func IsMistake(err error) bool {
	return slices.ContainsFunc([]string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument",
		"flag needs an argument", "required flag"}, func(s string) bool {
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
		if err != nil && !c.HasSubCommands() && strings.HasPrefix(err.Error(), "unknown command ") {
			return config.Usagef("unknown command %q for %q", args[0], c.CommandPath())
		}
		if err == nil || !strings.HasPrefix(err.Error(), "accepts ") &&
			!strings.HasPrefix(err.Error(), "requires at least") {
			return err
		}
		wrong := phrase.Errorf("an argument is missing")
		if len(args) > 0 && !strings.HasPrefix(err.Error(), "requires at least") {
			wrong = phrase.Errorf("the command does not take %s", phrase.Number{N: len(args), Of: "argument"})
		}
		return config.Usagef("%w: %s; see %q", wrong, strings.TrimSuffix(c.UseLine(), " [flags]"),
			c.CommandPath()+" --help")
	}
}

// NoCommand rejects words that are not a sub-command.
func NoCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return config.Usagef("unknown command %q%s; see %q", args[0], phrase.Near(args[0], func(yield func(string) bool) {
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
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return phrase.Errorf("unknown shorthand flag: %q in -%s", unknown.GetSpecifiedName(),
			unknown.GetSpecifiedShortnames())
	case errors.As(err, &unknown):
		return phrase.Errorf("unknown flag: --%s", unknown.GetSpecifiedName())
	case errors.As(err, &missing):
		return phrase.Errorf("flag needs an argument: --%s", missing.GetFlag().Name)
	case !errors.As(err, &invalid):
		return err
	}
	flag := invalid.GetFlag()
	want, ok := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false",
		"duration": "a time such as 90s or 5m"}[flag.Value.Type()]
	if !ok {
		return err
	}
	return phrase.Errorf("--%s is %q; it must be %s", flag.Name, invalid.GetValue(), phrase.Text(want))
}

// nearestFlag suggests the flag that was meant.
func nearestFlag(c *cobra.Command, err error) phrase.Hint {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	return phrase.Near("--"+name, func(yield func(string) bool) {
		for flag := range strings.FieldsSeq(c.Flags().FlagUsages() + " " + c.InheritedFlags().FlagUsages()) {
			if strings.HasPrefix(flag, "--") && !yield(flag) {
				return
			}
		}
	})
}
