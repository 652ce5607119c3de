// Package servers has the commands that add and remove MCP servers, and says what there is to
// say about these.
package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/clientconfig"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/program"
	"github.com/etui-run/etui/tool"
)

// Config is what the commands need of the program.
type Config struct {
	*terminal.Console
	// Open opens the workspace.
	Open func(context.Context) (*workdir.Workspace, error)
	// Version is that of etui, and User who runs it.
	Version, User string
}

// Commands returns the commands.
func Commands(c Config) []*cobra.Command {
	return []*cobra.Command{c.add(), c.importing(), c.installing(), c.remove()}
}

func (x Config) add() *cobra.Command {
	var s install.Server
	var env, headers []string
	var plain []secret
	var force, build bool
	c := &cobra.Command{
		Use: "add NAME URL|COMMAND [ARG...]", Short: "Make a skill of an MCP server, and try it once",
		Args: cobra.MinimumNArgs(2),
		Long: `Make a skill of an MCP server, and try it once. A command comes after --. If it is npx, uvx or another
program that fetches a package of npm or PyPI and runs it, etui installs the package in its state folder,
in the version that is newest now; from then on the server runs from there and needs no network. Programs
of packages, as native modules have them, run in the sandbox, once you agreed. The server's program sees the
folders and reaches the hosts that you name, and has a private folder that lasts, its home: {state} in the
command and in --env. {env:NAME} in the command is a variable of --env, such as a key.
The command ends when a running gateway has the server's tools.`,
		Example: `  etui mcp add files --write /srv/share -- npx -y @modelcontextprotocol/server-filesystem /srv/share
  etui mcp add fetch --network '*.example.com' -- uvx mcp-server-fetch
  etui mcp add tracker --header 'Authorization: Bearer ${TRACKER_TOKEN}' https://tracker.example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 || strings.HasPrefix(args[0], "-") {
				return config.Usagef("the server's name comes before --, and does not begin with -: etui mcp add NAME -- COMMAND")
			}
			s.Name, s.Env, s.Headers = args[0], map[string]string{}, map[string]string{}
			switch rest := args[1:]; {
			case len(rest) == 1 && strings.Contains(rest[0], "://"):
				s.Endpoint = rest[0]
			default:
				s.Command = rest
			}
			s.Description = cmp.Or(s.Description, "The tools of the MCP server "+s.Name+".")
			for _, pair := range env {
				name, value, ok := strings.Cut(pair, "=")
				if !ok {
					return config.Usagef("--env %q is no NAME=VALUE", pair)
				}
				s.Env[name] = kept(name, name, value, &plain)
			}
			for _, pair := range headers {
				name, value, ok := strings.Cut(pair, ":")
				if !ok {
					return config.Usagef("--header %q is no NAME: VALUE", pair)
				}
				variable := strings.ToUpper(strings.ReplaceAll(s.Name+"_"+name, "-", "_"))
				s.Headers[name] = kept(name, variable, strings.TrimSpace(value), &plain)
			}
			w, err := x.Open(cmd.Context())
			if err != nil {
				return err
			}
			added, err := install.AddServer(cmd.Context(), w, s, x.adding(cmd.Context(), force, build),
				slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			if added.Server, err = x.await(cmd.Context(), w, s.Name, added.Server); err != nil {
				return err
			}
			x.restart(cmd.Context(), w)
			if x.JSON {
				fmt.Fprint(x.Err, inPlain(x.Language, s.Name, plain))
			}
			return x.Print(added, func() string {
				return describeAdded(x.Language, added, w.Config.Policy.Default) + inPlain(x.Language, s.Name, plain)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&s.Description, "description", "", "what the server is for, for the model")
	f.StringArrayVar(&s.Read, "read", nil, "folder that the server's program may read")
	f.StringArrayVar(&s.Write, "write", nil, "folder that it may read and write")
	f.StringArrayVar(&s.Network, "network", nil, "host that it may reach, as name, name:port or *.name")
	f.StringArrayVar(&env, "env", nil, "NAME=VALUE of its environment; ${NAME} stays in the file")
	f.StringArrayVar(&headers, "header", nil, "'NAME: VALUE' that a service gets; ${NAME} stays in the file")
	f.BoolVar(&force, "force", false, "replace the file of that name, and install the package again")
	f.BoolVar(&build, "build", false, "let programs of packages run in the sandbox, without a question")
	return c
}

// secret is a value of the command line that looks like one, and the variable that can hold it.
type secret struct{ name, variable string }

// kept returns a value as the file is to have it: by its variable, if that has the same value. A secret that
// will be in the file in plain is added to a list.
func kept(name, variable, value string, plain *[]secret) string {
	switch {
	case strings.Contains(value, "${") || !clientconfig.Hides(name, value):
		return value
	case os.Getenv(variable) == value:
		return "${" + variable + "}"
	}
	*plain = append(*plain, secret{name, variable})
	return value
}

// inPlain says which secrets are in the file, and where to keep them in its place.
func inPlain(lang, server string, plain []secret) string {
	var b strings.Builder
	for _, s := range plain {
		b.WriteString(terminal.Hang("  "+terminal.Pad(phrase.Word(lang, "in plain"), 10)+" ",
			phrase.In(lang, "%s looks like a secret, and the file holds it as it is. Keep it in "+
				"the environment of etui instead (where etui serve is started: the shell, the unit, the container) as %s, write "+
				"%s in its place in %s.yaml, and change the key if others have seen it.", s.name, s.variable,
				"${"+s.variable+"}", server),
			terminal.Width()))
	}
	return b.String()
}

// adding says how a server is added: a person decides about programs of its packages.
func (x Config) adding(ctx context.Context, force, build bool) install.AddOptions {
	return install.AddOptions{Force: force, Version: x.Version,
		Agree: func(scripts []program.Script, hosts []string) bool {
			if build || x.JSON || !terminal.Is(x.In) || !terminal.Is(x.Err) {
				return build
			}
			var b strings.Builder
			phrase.Fprintf(&b, x.Language, "These packages want to run programs of their own:\n")
			for _, s := range scripts {
				fmt.Fprintf(&b, "  %s: %s\n", s.Package, s.Command)
			}
			phrase.Fprintf(&b, x.Language,
				"They would run in the sandbox, write to the folder of the package alone, and reach %s.\nMay they?",
				strings.Join(hosts, ", "))
			return x.Questions(false).Agree(ctx, printable.Text(b.String()))
		}}
}

// The bounds of the wait for a gateway to have the tools of a server.
const (
	awaitTime = 90 * time.Second
	lookEvery = 100 * time.Millisecond
)

// await returns the state of a server once a running gateway has its tools; that of before if no
// gateway runs.
func (x Config) await(ctx context.Context, w *workdir.Workspace, name string, before mcp.Status) (st mcp.Status,
	err error) {
	i := w.Instance()
	if i.URL == "" {
		return before, nil
	}
	if err := x.Reload(ctx, w); err != nil {
		return before, err
	}
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	gateway := client.New(i.URL, i.Admin, cmp.Or(i.Key, string(w.Config.API.Key)))
	for {
		var all admin.SkillList
		if err := gateway.Do(ctx, http.MethodGet, "/admin/skills", nil, &all); err != nil {
			return before, phrase.Errorf("%s is added, but the gateway did not say whether it has it: %w", name, err)
		}
		i := slices.IndexFunc(all.Skills, func(s admin.SkillStatus) bool { return s.Name == name })
		if i < 0 {
			return before, phrase.Errorf("%s is added, but the gateway cannot load it: %s", name, failure(all, name))
		}
		s, st := all.Skills[i], Of(all.Skills[i])
		switch {
		case s.State != skill.Enabled:
			return st, phrase.Errorf("%s is added, but the gateway does not use it: %s", name,
				cmp.Or(s.Why, string(s.State)))
		case st.Phase == mcp.Connected, st.Login:
			return st, nil
		case st.Phase == mcp.Stopped, st.Restarts > 1:
			return st, phrase.Errorf("%s is added, but the gateway cannot reach it: %s", name, st.Err)
		}
		select {
		case <-ctx.Done():
			return st,
				phrase.Errorf("%s is added, but the gateway does not have its tools yet, it is %s: %s; etui mcp list shows when it has", name, st.Phase, cmp.Or(st.Err, ctx.Err().Error()))
		case <-time.After(lookEvery):
		}
	}
}

// restart names the keys of the configuration that the gateway does not follow, such as sandbox.network,
// without which a server may not work there.
func (x Config) restart(ctx context.Context, w *workdir.Workspace) {
	i := w.Instance()
	if i.URL == "" {
		return
	}
	s, err := client.New(i.URL, i.Admin, cmp.Or(i.Key, string(w.Config.API.Key))).Status(ctx)
	if err == nil && s.Configuration != nil && len(s.Configuration.Restart) > 0 {
		phrase.Fprintf(x.Err, x.Language,
			"etui: %s changed since the gateway started; restart it, so that it uses them\n",
			strings.Join(s.Configuration.Restart, ", "))
	}
}

// failure says why a gateway cannot load the file of a server.
func failure(all admin.SkillList, name string) string {
	for _, f := range all.Failed {
		if filepath.Base(f.Source) == name+".yaml" {
			return f.Error
		}
	}
	return "it does not see the file"
}

// Reload returns when the gateway of a workspace, if one runs, has read the skills again.
func (x Config) Reload(ctx context.Context, w *workdir.Workspace) error {
	i := w.Instance()
	if i.URL == "" {
		return nil
	}
	var report skill.Report
	err := client.New(i.URL, i.Admin, cmp.Or(i.Key, string(w.Config.API.Key))).Do(ctx, http.MethodPost,
		"/admin/skills/reload",
		admin.Change{By: x.User, Reason: "skills were added or removed"}, &report)
	if err != nil {
		return phrase.Errorf("the change is stored, but the gateway did not say that it follows: %w", err)
	}
	return nil
}

func (x Config) remove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove the skill of an MCP server, what was installed for it and what it kept",
		Args:    cobra.ExactArgs(1),
		Example: "  etui mcp remove files",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := x.Open(cmd.Context())
			if err != nil {
				return err
			}
			if err := install.RemoveServer(w, args[0], func() error { return x.Reload(cmd.Context(), w) }); err != nil {
				return err
			}
			return x.Print(map[string]any{"ok": true, "skill": args[0]},
				func() string { return x.Say("Removed %s.\n", args[0]) })
		},
	}
}

func describeAdded(lang string, added install.Addition, policy config.CallDefaults) string {
	var b strings.Builder
	phrase.Fprintf(&b, lang, "Added %s: %s\n", added.Server.Server, terminal.ShortPath(added.File))
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %s %s\n", terminal.Pad(phrase.Word(lang, label), 10), text)
		}
	}
	line("tools", strings.Join(added.Server.Tools, ", "))
	Describe(lang, line, added.Server)
	for _, of := range []struct {
		risk   tool.Risk
		effect string
	}{{tool.Read, policy.Read}, {tool.Write, policy.Write}, {tool.Destructive, policy.Destructive}} {
		if names := added.Risks[of.risk]; len(names) > 0 {
			says := map[string]string{"ask": "need an approval", "deny": "are refused"}[of.effect]
			line("calls", phrase.In(lang, "those of risk %s %s, unless a rule says otherwise: %s", of.risk,
				phrase.Word(lang, cmp.Or(says, "run at once")), strings.Join(names, ", ")))
		}
	}
	for _, path := range added.Unseen {
		line("not seen", phrase.In(lang,
			"%s: the sandbox does not show it to the program; --force with --read or --write grants it",
			terminal.ShortPath(path)))
	}
	for _, s := range added.Unbuilt {
		line("not run", phrase.In(lang, "%s: %s; --force --build runs it in the sandbox", s.Package, s.Command))
	}
	return b.String()
}

// Of returns the status of the MCP server behind a skill; the zero value for other
// skills.
func Of(s admin.SkillStatus) (server mcp.Status) {
	if raw, err := json.Marshal(s.Server); err == nil {
		_ = json.Unmarshal(raw, &server) // a gateway of another version may send less
	}
	return server
}

// Describe says everything about a server, a line at a time.
func Describe(lang string, line func(label, text string), s mcp.Status) {
	line("server", phrase.In(lang, "%s, %s, restarted %s, %s", phrase.Word(lang, string(s.Phase)),
		phrase.Count(lang, len(s.Tools), "tool"),
		phrase.Count(lang, s.Restarts, "time"), s.Identity))
	for _, grant := range []struct {
		label string
		list  []string
	}{{"reads", s.Read}, {"writes", s.Write}, {"reaches", s.Network}} {
		places := make([]string, len(grant.list))
		for i, place := range grant.list {
			places[i] = terminal.ShortPath(place)
		}
		line(grant.label, strings.Join(places, ", "))
	}
	line("error", s.Err)
	line("skipped", s.Noise)
	line("repaired", strings.Join(s.Loose, "; "))
	if s.LeftOut > 0 {
		line("left out",
			phrase.In(lang, "%d further tools of the server: etui takes %d. The keys include and exclude of the skill's file choose", s.LeftOut, len(s.Tools)+len(s.Held)+len(s.Refused)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Originals)) {
		line("renamed", phrase.In(lang, "models call %s: %s", s.Originals[name], name))
	}
	for _, repair := range s.Repaired {
		line("repaired", repair)
	}
	for _, r := range s.Refused {
		line("refused", fmt.Sprintf("%s: %s", r.Tool, r.Why))
	}
	for _, h := range s.Held {
		line("held back", fmt.Sprintf("%s: %s", h.Tool, strings.Join(h.Why, "; ")))
		for text := range strings.Lines(h.Diff()) {
			line("", strings.TrimRight(text, "\n"))
		}
	}
	if len(s.Held) > 0 {
		line("", phrase.In(lang, "to approve them: etui skills approve %s TOOL..., or --all", s.Server))
	}
}
