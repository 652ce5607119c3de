package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/etui/internal/openapis"
	"github.com/etui-run/etui/cmd/etui/internal/report"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/scan"
)

// skillsOfFolder are the commands about the folder of skills: they find skills in registries,
// install and check them.
func skillsOfFolder(at *place) []*cobra.Command {
	return []*cobra.Command{
		skillsFindCommand(at), skillsInstallCommand(at), skillsInstalledCommand(at), skillsUpdateCommand(at),
		skillsRemoveCommand(at), skillsValidateCommand(at), openapis.Command(at.servers()),
		skillsPinCommand(at, "pin", "Exclude a skill from updates", "Pinned %s.\n", true),
		skillsPinCommand(at, "unpin", "Include a skill in updates again", "Unpinned %s.\n", false),
	}
}

// installing runs a command with the workspace's installer. The command prints
// what the installer would log.
func installing(at *place, run func(*cobra.Command, *hub.Installer, []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		w, err := at.open(cmd.Context())
		if err != nil {
			return err
		}
		in, err := install.Skills(w, nil)
		if err != nil {
			return err
		}
		return run(cmd, in, args)
	}
}

// changing is installing for a command that changes the folder of skills: it returns when a
// running gateway has followed.
func changing(at *place, run func(*cobra.Command, *hub.Installer, []string) error) func(*cobra.Command,
	[]string) error {
	return installing(at, func(cmd *cobra.Command, in *hub.Installer, args []string) error {
		if err := run(cmd, in, args); err != nil {
			return err
		}
		w, err := at.open(cmd.Context())
		if err != nil {
			return err
		}
		return at.servers().Reload(cmd.Context(), w)
	})
}

func skillsFindCommand(at *place) *cobra.Command {
	var registry string
	var limit int
	c := &cobra.Command{
		Use: "find [WORDS]", Short: "Find skills in the registries",
		Example: "  etui skills find pdf\n  etui skills find anthropics/skills --registry github",
		RunE: installing(at, func(cmd *cobra.Command, in *hub.Installer, args []string) error {
			if limit < 1 || limit > hub.MaxFound {
				return config.Usagef("--limit is 1 to %d", hub.MaxFound)
			}
			found, errs := in.Find(cmd.Context(), registry, strings.Join(args, " "), limit)
			if len(found) == 0 && len(errs) > 0 {
				return errors.Join(errs...)
			}
			for _, err := range errs {
				fmt.Fprintf(at.Err, "etui: %s\n", phrase.Say(at.Language, err))
			}
			return at.Print(append([]hub.Match{}, found...), func() string {
				return report.Table[hub.Match]{
					None: "No skill matches these words.\n",
					Head: []string{"SKILL", "REGISTRY", "VERSION", "DESCRIPTION"},
					Row: func(f hub.Match) []string {
						version := f.Version
						if f.Installed {
							version = strings.TrimSpace(version + " " + phrase.Word(at.Language, "installed"))
						}
						return []string{f.Words(), f.Registry, version, printable.OneLine(f.Description)}
					},
				}.Text(at.Language, found)
			})
		}),
	}
	c.Flags().StringVar(&registry, "registry", "", "only this registry")
	c.Flags().IntVar(&limit, "limit", 10, "skills of each registry")
	return c
}

func skillsInstallCommand(at *place) *cobra.Command {
	var registry, version string
	var o hub.Options
	c := &cobra.Command{
		Use: "install NAME|FILE", Short: "Install a skill from a registry, an archive or a folder",
		Args: func(cmd *cobra.Command, args []string) error {
			words := strings.Join(args, " ")
			if len(args) < 2 || !hub.IsCommand(words) {
				return cobra.ExactArgs(1)(cmd, args)
			}
			if cmd.Flags().NFlag() > 0 { // the -y of npx is no answer to what etui would ask
				return config.Usagef("options beside a command of another program; put it into quotes: %q", words)
			}
			return nil
		},
		Long: `Install a skill into the workspace's folder of skills. NAME is a skill's name, @owner/name, or, for a
Git host, owner/repository, owner/repository@name or the address of a repository or of a folder in it.
FILE is a zip or tar.gz archive or a folder, such as a clone, written with a slash: ./my-skill.zip.

A package that is malicious, damaged or not what its registry describes is refused. If a person should
look at something in it first, the command prints file and line, and installs the skill only with --yes.`,
		Example: "  etui skills install pdf\n  etui skills install @steipete/gifgrep --version 1.2.3\n  etui skills install anthropics/skills@pdf\n" +
			"  etui skills install https://github.com/anthropics/skills/tree/main/skills/pdf\n  etui skills install ./my-skill.zip",
		RunE: changing(at, func(cmd *cobra.Command, in *hub.Installer, args []string) error {
			var s hub.Source
			var err error
			named := strings.Join(args, " ") // the command of another program may be several words
			ref := hub.Ref{Version: version}
			if hub.IsFile(named) {
				s, err = hub.NewFile(named)
			} else {
				s, ref, err = in.Lookup(cmd.Context(), registry, named, version)
			}
			if err != nil {
				return err
			}
			o.Progress = downloadProgress(at.Console)
			done, err := in.Install(cmd.Context(), s, ref, o)
			return printInstalled(at.Console, done, named, err)
		}),
	}
	c.Flags().StringVar(&registry, "registry", "", "only this registry (default: the first one that has the skill)")
	c.Flags().StringVar(&version, "version", "", "version, branch or tag (default: the newest)")
	c.Flags().BoolVar(&o.Force, "force", false, "replace a skill that is already there")
	c.Flags().BoolVarP(&o.Accept, "yes", "y", false,
		"install it although a person should look at something in it first")
	return c
}

// downloadProgress shows the progress of a download on a terminal.
func downloadProgress(console *terminal.Console) func(hub.Progress) {
	if console.JSON || !terminal.Is(console.Err) {
		return nil
	}
	return func(p hub.Progress) {
		line := phrase.Word(console.Language, p.Step) + " " + p.Name
		switch {
		case p.Step == "done":
			line = ""
		case p.Total > 0:
			line += fmt.Sprintf(" %3d%%", 100*p.Done/p.Total)
		case p.Done > 0:
			line += fmt.Sprintf(" %d kB", p.Done>>10)
		}
		fmt.Fprintf(console.Err, "\r\x1b[K%s", line)
	}
}

// installOutcome is what skills install prints as JSON.
type installOutcome struct {
	OK    bool              `json:"ok"`
	Skill *hub.Installation `json:"skill,omitempty"`
	Error string            `json:"error,omitempty"`
	// Flags are what a person has to look at before --yes.
	Flags []scan.Flag `json:"flags,omitempty"`
}

// printInstalled prints the result of an installation.
func printInstalled(console *terminal.Console, done *hub.Installation, words string, err error) error {
	if terminal.Is(console.Err) && !console.JSON {
		fmt.Fprint(console.Err, "\r\x1b[K")
	}
	var ask *hub.NeedsYesError
	if console.JSON {
		out := installOutcome{OK: err == nil, Skill: done}
		if err != nil {
			out.Error = err.Error()
		}
		if errors.As(err, &ask) {
			out.Flags = ask.Flags
		}
		return errors.Join(json.NewEncoder(console.Out).Encode(out), err)
	}
	if errors.As(err, &ask) {
		return phrase.Errorf("%w\nLook at these places; if they are harmless, run: etui skills install %s --yes", err,
			words)
	}
	if err != nil {
		return err
	}
	o := done.Origin
	phrase.Fprintf(console.Out, console.Language, "Installed %s%s from %s: %s, %s.\n", done.Name,
		spaced(shortVersion(o.Version)), o.Registry, phrase.Count(console.Language, len(o.Files), "file"),
		describeSignature(console.Language, o))
	for _, f := range o.Accepted {
		phrase.Fprintf(console.Out, console.Language, "  accepted: %s\n", f)
	}
	return nil
}

func describeSignature(lang string, o *hub.Origin) string {
	if o.Signature == hub.Verified {
		return phrase.In(lang, "signed by %s", printable.OneLine(o.Signer))
	}
	return phrase.Word(lang, string(o.Signature))
}

func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + printable.OneLine(s)
}

// shortVersion shortens the commits of Git.
func shortVersion(v string) string {
	if len(v) == 40 && strings.Trim(v, "0123456789abcdef") == "" {
		return v[:10]
	}
	return v
}

func skillsInstalledCommand(at *place) *cobra.Command {
	return &cobra.Command{
		Use: "installed", Short: "List the installed skills and the files that were changed since", Args: cobra.NoArgs,
		RunE: installing(at, func(cmd *cobra.Command, in *hub.Installer, _ []string) error {
			list, err := in.List(cmd.Context())
			if err != nil {
				return err
			}
			return at.Print(append([]hub.Installation{}, list...), func() string {
				return report.Table[hub.Installation]{
					None: "No skill is installed.\n",
					Head: []string{"SKILL", "REGISTRY", "VERSION", "SIGNATURE", "INSTALLED", "NOTES"},
					Row:  func(s hub.Installation) []string { return installedRow(at.Language, s) },
				}.Text(at.Language, list)
			})
		}),
	}
}

func installedRow(lang string, s hub.Installation) []string {
	if s.Origin == nil {
		return []string{s.Name, "-", "", "", "", phrase.Word(lang, "made here")}
	}
	var notes []string
	if s.Origin.Pinned {
		notes = append(notes, phrase.Word(lang, "pinned"))
	}
	if len(s.Changed) > 0 {
		notes = append(notes, phrase.In(lang, "changed: %s", strings.Join(s.Changed, ", ")))
	}
	return []string{s.Name, s.Origin.Registry, shortVersion(s.Origin.Version),
		phrase.Word(lang, string(s.Origin.Signature)), s.Origin.Installed.Format("2006-01-02"),
		strings.Join(notes, "; ")}
}

func skillsUpdateCommand(at *place) *cobra.Command {
	var o hub.Options
	c := &cobra.Command{
		Use: "update [NAME...]", Short: "Update installed skills; without names, all",
		Example: "  etui skills update\n  etui skills update pdf --force",
		Long: `Bring installed skills to their newest version. Pinned skills stay as they are, and so do skills whose
files were changed here, unless --force. A skill goes back to a lower version only with its name and
--force. A skill that its registry now calls malicious is removed.`,
		RunE: changing(at, func(cmd *cobra.Command, in *hub.Installer, args []string) error {
			o.Progress = downloadProgress(at.Console)
			list, err := in.Update(cmd.Context(), o, args...)
			if err != nil {
				return err
			}
			return printUpdates(at.Console, list)
		}),
	}
	c.Flags().BoolVar(&o.Force, "force", false,
		"replace files that were changed here; with a name, also go back to a lower version")
	c.Flags().BoolVarP(&o.Accept, "yes", "y", false, "update although a person should look at something first")
	return c
}

func printUpdates(console *terminal.Console, list []hub.Outcome) error {
	var failed error
	for _, u := range list {
		if u.Err != nil && u.State != hub.Skipped {
			failed = phrase.Errorf("not every skill could be updated")
		}
	}
	if console.JSON {
		return errors.Join(json.NewEncoder(console.Out).Encode(append([]hub.Outcome{}, list...)), failed)
	}
	if terminal.Is(console.Err) {
		fmt.Fprint(console.Err, "\r\x1b[K")
	}
	for _, u := range list {
		line := fmt.Sprintf("%s: %s%s", u.Name, phrase.Word(console.Language, u.State), spaced(shortVersion(u.From)))
		if u.To != "" && u.To != u.From {
			line += phrase.In(console.Language, " to %s", printable.OneLine(shortVersion(u.To)))
		}
		if u.Why != "" {
			line += ": " + phrase.Reword(console.Language, u.Why)
		}
		fmt.Fprintln(console.Out, line)
	}
	if len(list) == 0 {
		phrase.Fprintf(console.Out, console.Language, "No skill was installed from a registry.\n")
	}
	return failed
}

func skillsRemoveCommand(at *place) *cobra.Command {
	var o hub.Options
	c := &cobra.Command{
		Use: "remove NAME", Short: "Remove an installed skill with its files", Args: cobra.ExactArgs(1),
		Example: "  etui skills remove pdf",
		RunE: changing(at, func(cmd *cobra.Command, in *hub.Installer, args []string) error {
			if err := in.Remove(cmd.Context(), args[0], o); err != nil {
				return err
			}
			return changedSkill(at.Console, "Removed %s.\n", args[0])
		}),
	}
	c.Flags().BoolVar(&o.Force, "force", false, "remove it although its files were changed here")
	return c
}

func skillsPinCommand(at *place, use, short, done string, pinned bool) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1),
		Example: "  etui skills " + use + " pdf",
		RunE: installing(at, func(cmd *cobra.Command, in *hub.Installer, args []string) error {
			if err := in.Pin(cmd.Context(), args[0], pinned); err != nil {
				return err
			}
			return changedSkill(at.Console, done, args[0])
		}),
	}
}

// changedSkill prints what was done to a skill.
func changedSkill(console *terminal.Console, english, name string) error {
	return console.Print(map[string]any{"ok": true, "skill": name},
		func() string { return phrase.In(console.Language, english, name) })
}
