package servers

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/cmd/internal/clientconfig"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/cmd/internal/provider"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

// importReport is what mcp import prints as JSON.
type importReport struct {
	Servers []importedServer `json:"servers"`
	// Variables are those to set in the environment of etui.
	Variables []string `json:"variables"`
	// Unread are the files that could not be read, and why.
	Unread []string `json:"unread,omitempty"`
}

// importedServer is a server of another client, and what became of it.
type importedServer struct {
	clientconfig.Entry
	// As is the name that it gets.
	As string `json:"as"`
	// Writes is the file that was or would be written, and Text its text before the server's
	// package is installed.
	Writes string `json:"writes,omitempty"`
	Text   string `json:"text,omitempty"`
	Added  bool   `json:"added"`
}

func (x Config) importing() *cobra.Command {
	var dry, yes, force, build bool
	var only []string
	c := &cobra.Command{
		Use: "import [FILE...]", Short: "Add the MCP servers that other clients on this machine have",
		Long: `Add the MCP servers that other clients on this machine have: Claude Code (.mcp.json and its own file),
Claude Desktop, Codex, Cursor, VS Code and OpenCode, in their usual places, or in the files that you name.
etui shows what it would write, and asks before it installs, starts or writes anything. Keys and passwords
become ${NAME}, and the names of the variables to set are printed; no file of etui gets a value. A server
whose variables are not set yet is written, but not tried.`,
		Example: "  etui mcp import --dry-run\n  etui mcp import ~/.cursor/mcp.json --only github,files\n  etui mcp import .mcp.json --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := x.Open(cmd.Context())
			if err != nil {
				return err
			}
			plan, err := read(w, args, only, force)
			if err != nil {
				return err
			}
			ready := slices.DeleteFunc(slices.Clone(plan.Servers),
				func(s importedServer) bool { return s.Problem != "" })
			if dry || !x.JSON {
				if err := x.Print(plan, func() string { return describeImport(x.Language, plan) }); dry || err != nil ||
					len(ready) == 0 {
					return err
				}
			}
			if !yes {
				if err := x.Confirm("Add %s? etui installs what is needed and starts each once.",
					phrase.Count(x.Language, len(ready),
						"server")); err != nil {
					return err
				}
			}
			failed := 0
			for i := range plan.Servers {
				s := &plan.Servers[i]
				if s.Problem != "" {
					continue
				}
				if !x.JSON {
					x.Note("%s: installing and trying it", s.Server.Name)
				}
				how := x.adding(cmd.Context(), force, build)
				how.Later, how.Origin = true, strings.TrimSpace(s.Client+" "+s.File)
				added, err := install.AddServer(cmd.Context(), w, s.Server, how, slog.New(slog.DiscardHandler))
				if err == nil {
					s.Added = true
					if len(added.Unset) == 0 {
						added.Server, err = x.await(cmd.Context(), w, s.Server.Name, added.Server)
					}
				}
				switch {
				case err != nil:
					s.Problem = err.Error()
					failed++
					fmt.Fprintf(x.Err, "%s\n", printable.Text(phrase.Say(x.Language, err)))
				case x.JSON:
				case len(added.Unset) > 0:
					phrase.Fprintf(x.Out, x.Language, "Added %s: %s; it starts once %s is set\n", s.Server.Name,
						terminal.ShortPath(added.File),
						strings.Join(added.Unset, ", "))
				default:
					fmt.Fprint(x.Out, describeAdded(x.Language, added, w.Config.Policy.Default))
				}
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
			}
			if err := x.Reload(cmd.Context(), w); err != nil {
				return err
			}
			if x.JSON {
				if err := x.Print(plan, nil); err != nil {
					return err
				}
			}
			if failed > 0 {
				return phrase.Errorf("%d of %s were not added", failed, phrase.Count(x.Language, len(ready), "server"))
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&dry, "dry-run", false, "show what would be written, and end")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.StringSliceVar(&only, "only", nil, "only these servers, by name")
	f.BoolVar(&force, "force", false, "replace servers of the same name")
	f.BoolVar(&build, "build", false, "let programs of packages run in the sandbox, without a question")
	return c
}

// read reads the files, or those in the usual places, and checks each server as etui would have it.
func read(w *workdir.Workspace, files, only []string, force bool) (plan importReport, err error) {
	plan = importReport{Servers: []importedServer{}, Variables: []string{}}
	folders, err := foldersOf(w)
	if err != nil {
		return plan, err
	}
	named := len(files) > 0
	if !named {
		for _, p := range folders.Find() {
			files = append(files, p.File)
		}
	}
	reader, seen, asked := clientconfig.NewReader(folders), map[string]string{}, map[string]bool{}
	for _, file := range files {
		if file, err = filepath.Abs(file); err != nil {
			return plan, err
		}
		found, err := reader.Read(file)
		if err != nil && named {
			return plan, config.UsageError{Err: err}
		}
		if err != nil {
			plan.Unread = append(plan.Unread, err.Error())
		}
		for _, s := range found {
			if len(only) > 0 && !slices.Contains(only, s.Name) && !slices.Contains(only, s.Server.Name) {
				continue
			}
			asked[s.Name], asked[s.Server.Name] = true, true
			plan.Servers = append(plan.Servers, check(w, s, seen, force))
			if p := plan.Servers[len(plan.Servers)-1]; p.Problem == "" {
				plan.Variables = append(plan.Variables, s.Variables...)
			}
		}
	}
	for _, name := range only {
		if !asked[name] {
			return plan, config.Usagef("no file has a server %s", name)
		}
	}
	slices.Sort(plan.Variables)
	plan.Variables = slices.Compact(plan.Variables)
	return plan, nil
}

// check says what would be written for a server, or why nothing.
func check(w *workdir.Workspace, s clientconfig.Entry, seen map[string]string, force bool) importedServer {
	if slices.Contains(nameset.Reserved(), strings.ToLower(s.Server.Name)) {
		s.Notes = append(s.Notes, s.Server.Name+" is a name of etui's own")
		s.Server.Name += "-server"
	}
	p := importedServer{Entry: s, As: s.Server.Name, Writes: filepath.Join(w.InstallFolder(), s.Server.Name+".yaml")}
	if err := install.CheckServer(w, s.Server, func(string) (string, bool) { return "unset", true }); err != nil &&
		p.Problem == "" {
		p.Problem = err.Error()
	}
	if _, err := os.Stat(p.Writes); err == nil && !force && p.Problem == "" {
		p.Problem = terminal.ShortPath(p.Writes) + " exists already; --force replaces it"
	}
	if other, ok := seen[s.Server.Name]; ok && p.Problem == "" {
		p.Problem = "a server of this name comes from " + terminal.ShortPath(other)
	}
	if p.Problem != "" {
		p.Writes = ""
		return p
	}
	seen[s.Server.Name] = s.File
	text, err := yaml.Dump(s.Server)
	if err != nil {
		p.Problem = err.Error()
	}
	p.Text = string(text)
	return p
}

func describeImport(lang string, plan importReport) string {
	var b strings.Builder
	for _, why := range plan.Unread {
		phrase.Fprintf(&b, lang, "cannot read %s\n", why)
	}
	if len(plan.Servers) == 0 {
		return b.String() + phrase.In(lang,
			"No MCP servers of other clients were found. Name a file: etui mcp import FILE\n")
	}
	file, set := "", map[string][]string{}
	for _, s := range plan.Servers {
		if s.File != file {
			file = s.File
			from := terminal.ShortPath(file)
			if s.Client != "" {
				from += " (" + s.Client + ")"
			}
			b.WriteString(from + "\n")
		}
		if s.Problem != "" {
			b.WriteString(terminal.Hang("  - "+printable.Line(s.Name, 60)+" ",
				phrase.In(lang, "left out: %s", s.Problem), terminal.Width()))
			continue
		}
		fmt.Fprintf(&b, "  + %s: %s\n", s.Server.Name, terminal.ShortPath(s.Writes))
		for line := range strings.Lines(s.Text) {
			b.WriteString("      " + line)
		}
		for _, note := range s.Notes {
			b.WriteString(terminal.Hang("    * ", note, terminal.Width()))
		}
		for _, name := range s.Variables {
			set[name] = append(set[name], s.Server.Name)
		}
	}
	if len(plan.Variables) > 0 {
		phrase.Fprintf(&b, lang, "\nSet these variables in the environment of etui; their values are in the files above or where these name them:\n")
	}
	for _, name := range plan.Variables {
		state := phrase.Word(lang, "not set")
		if os.Getenv(name) != "" {
			state = phrase.Word(lang, "set")
		}
		phrase.Fprintf(&b, lang, "  %s (%s), for %s\n", name, state, strings.Join(set[name], ", "))
	}
	return b.String()
}

// foldersOf returns where clients keep their files, beside those of a workspace.
func foldersOf(w *workdir.Workspace) (clientconfig.Folders, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return clientconfig.Folders{}, err
	}
	settings, err := os.UserConfigDir()
	return clientconfig.Folders{Home: home, Config: settings, Workspace: w.Dir, Closed: provider.ClosedPaths(w)}, err
}
