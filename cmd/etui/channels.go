package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server"
)

func (a *cli) channelsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "channels", Short: "See where people talk to the agents, and let people in", Args: unknownCommand, RunE: group,
		Example: "  etui channels list\n  etui channels test telegram\n  etui channels pair K3F9ABCD\n  etui channels send telegram 4711 \"the deployment is done\"",
		Long: `See the channels of the configuration - where people talk to the agents -, try them, and let people in who
were given a code. A channel is closed to everybody whom its keys allow and groups do not name.`,
	}
	list := &cobra.Command{
		Use: "list", Short: "List the channels, and the people with codes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return channels(a, cmd, false, http.MethodGet, "", nil, describeChannels)
		},
	}
	test := &cobra.Command{
		Use: "test NAME", Short: "Ask the platform which account a channel has", Args: cobra.ExactArgs(1), Example: "  etui channels test telegram",
		RunE: func(cmd *cobra.Command, args []string) error {
			return channels(a, cmd, false, http.MethodPost, "/"+url.PathEscape(args[0])+"/test", struct{}{}, func(x server.ChannelAccount) string {
				return fmt.Sprintf("%s works: the account is %s.\n", x.Name, printable.OneLine(x.Account))
			})
		},
	}
	pair := &cobra.Command{
		Use: "pair CODE", Short: "Let in whoever was given a code", Args: cobra.ExactArgs(1), Example: "  etui channels pair K3F9ABCD",
		RunE: func(cmd *cobra.Command, args []string) error {
			return channels(a, cmd, true, http.MethodPost, "/pair", server.Code{Code: args[0]}, func(p channel.Pairing) string {
				return fmt.Sprintf("%s (%s) can write to %s now. Take it back: etui channels unpair %s %s\n", cmp.Or(printable.OneLine(p.Name), "the person"), printable.OneLine(p.User), p.Channel, p.Channel, printable.OneLine(p.User))
			})
		},
	}
	unpair := &cobra.Command{
		Use: "unpair NAME USER", Short: "Take back what a code gave", Args: cobra.ExactArgs(2), Example: "  etui channels unpair telegram 4711",
		RunE: func(cmd *cobra.Command, args []string) error {
			return channels(a, cmd, true, http.MethodDelete, "/"+url.PathEscape(args[0])+"/people/"+url.PathEscape(args[1]), nil, func(p channel.Pairing) string {
				return fmt.Sprintf("%s cannot write to %s any more.\n", p.User, p.Channel)
			})
		},
	}
	var thread string
	send := &cobra.Command{
		Use: "send NAME CHAT TEXT", Short: "Say something in a chat", Args: cobra.ExactArgs(3), Example: "  etui channels send telegram 4711 \"the deployment is done\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			m := server.ChannelMessage{Address: channel.Address{Chat: args[1], Thread: thread}, Text: args[2]}
			return channels(a, cmd, false, http.MethodPost, "/"+url.PathEscape(args[0])+"/send", m, func(server.ChannelMessage) string { return "Sent.\n" })
		},
	}
	send.Flags().StringVar(&thread, "thread", "", "thread or topic of the chat")
	c.AddCommand(list, test, pair, unpair, send)
	return c
}

// channels asks the gateway of the workspace, or this process, and prints the answer.
func channels[T any](a *cli, cmd *cobra.Command, changes bool, method, path string, body any, text func(T) string) error {
	return a.using(cmd.Context(), app.Config{Stored: changes, Records: true}, func(c *client.Client) error {
		var answer T
		if err := c.Do(cmd.Context(), method, "/admin/channels"+path, body, &answer); err != nil {
			return err
		}
		return a.print(answer, func() string { return text(answer) })
	})
}

func describeChannels(x server.ChannelStatus) string {
	if len(x.Channels) == 0 {
		return "There are no channels: list them under channels in etui.yaml, see docs/channels.md.\n"
	}
	var b strings.Builder
	rows := [][]string{{"CHANNEL", "PLATFORM", "STATE", "RECEIVED", "REFUSED", "SENT", "WAITING"}}
	for _, s := range x.Channels {
		state := "connected"
		switch {
		case s.Since.IsZero():
			state = "not running"
		case !s.Connected:
			state = "not connected"
		}
		rows = append(rows, []string{s.Name, s.Platform, state, fmt.Sprint(s.Received), fmt.Sprint(s.Refused), fmt.Sprint(s.Sent), fmt.Sprint(s.Waiting)})
	}
	b.WriteString(columns(rows))
	for _, s := range x.Channels {
		if s.Error != "" {
			until := ""
			if !s.Until.IsZero() {
				until = "; tried again at " + s.Until.Local().Format(time.TimeOnly)
			}
			fmt.Fprintf(&b, "%s: %s%s\n", s.Name, printable.OneLine(s.Error), until)
		}
	}
	if !slices.ContainsFunc(x.Channels, func(s channel.State) bool { return !s.Since.IsZero() }) {
		b.WriteString("\nNo gateway runs them now: etui serve starts it.\n")
	}
	people := func(head string, list []channel.Pairing) {
		if len(list) == 0 {
			return
		}
		rows := [][]string{{head, "CHANNEL", "USER", "NAME", "SINCE"}}
		for _, p := range list {
			rows = append(rows, []string{p.Code, p.Channel, printable.OneLine(p.User), printable.Line(p.Name, 30), p.Time.Local().Format(time.DateTime)})
		}
		b.WriteString("\n" + columns(rows))
	}
	people("CODE", x.Waiting)
	people("LET IN", x.Paired)
	return b.String()
}
