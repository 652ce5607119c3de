package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/etui-run/etui/internal/terminal"
	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

// stamp is set by the build: -ldflags "-X main.stamp=v1.2.3".
var stamp string

// version returns the version of this etui: the stamped release, else the module's
// version, else "dev".
func version() string {
	if stamp != "" {
		return stamp
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

func versionCommand(console *terminal.Console) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			platform := runtime.GOOS + "/" + runtime.GOARCH
			return console.Print(map[string]string{"version": version(), "go": runtime.Version(), "platform": platform},
				func() string {
					return fmt.Sprintf("etui %s (%s, %s)\n", version(), runtime.Version(), platform)
				})
		},
	}
}

func manCommand(console *terminal.Console) *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the man page", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := mango.NewManPage(1, c.Root())
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(console.Out, page.Build(roff.NewDocument()))
			return err
		},
	}
}
