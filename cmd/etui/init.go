package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/secret"
)

func initCommand(at *place) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "init [DIR]", Short: "Make a workspace: a folder with a first etui.yaml", Args: cobra.MaximumNArgs(1),
		Long: `Make a workspace: write a short etui.yaml with comments into a folder, by
default the current one. etui asks up to four things: what the agent does,
which language model answers, what the provider calls that model (not for the
offline one), and whether the agent may change files and run programs. Enter
takes the answer in brackets, and --yes takes all of them. The provider is
asked which models it offers, and nothing else is sent anywhere. A file that is
there is not changed.`,
		Example: "  etui init\n  etui init ~/team --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := at.dir
			if len(args) == 1 {
				dir = args[0]
			}
			return writeStarter(cmd.Context(), at, dir, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing: take the answers in brackets")
	return c
}

func writeStarter(ctx context.Context, at *place, dir string, yes bool) error {
	file, err := filepath.Abs(filepath.Join(dir, config.File))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return config.Usagef("%s is there already; etui config validate checks it", file)
	}
	if _, err := os.Stat(filepath.Dir(file)); err == nil { // it may have skills of somebody else
		if _, err := at.asking(ctx, func() (*workdir.Workspace,
			error) {
			return workdir.Open(filepath.Dir(file), "", os.Environ())
		}); err != nil {
			return err
		}
	}
	s, absent, err := askStarter(ctx, at, at.Questions(yes))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(s.Text())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if _, _, err := workdir.Confirm(filepath.Dir(file), "", os.Environ()); err != nil {
		return err
	}
	if _, err := workdir.Open(filepath.Dir(file), "", os.Environ()); err != nil {
		return phrase.Errorf("%s is written, but cannot be used: %w", file, err)
	}
	return at.Print(map[string]string{"config": file},
		func() string { return begun(at.Language, s, file, dir, absent) })
}

// begun says what was written and what to do next.
func begun(lang string, s config.Starter, file, dir, absent string) string {
	text := phrase.In(lang, "Wrote %s.\n", terminal.ShortPath(file)) + absent
	switch service, named := config.ServiceOf(s.Provider); {
	case s.KeySet || !named || service.Local:
	case service.BaseURL == "":
		text += phrase.In(lang, "%s is not set: set it, and remove the # before api_key in the file.\n", s.Key)
	default:
		text += phrase.In(lang, "%s is not set: set it before you start.\n", s.Key)
	}
	at := ""
	if dir != "" {
		at = " --workspace " + dir
	}
	here := func(name string) bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(file), name))
		return err == nil
	}
	if here("AGENTS.md") {
		text += phrase.In(lang, "AGENTS.md is here: the agent reads it with each message.\n")
	}
	if here(".mcp.json") {
		text += phrase.In(lang, ".mcp.json is here: etui%s mcp import .mcp.json takes its servers over.\n", at)
	}
	return text + phrase.In(lang, "\nNext:\n  etui%s chat      talk to the agent\n  etui%s serve     start the gateway, for other programs\n  etui%s doctor    check the setup\n", at, at, at)
}

// askStarter asks the four questions, or three: the offline model has no name. Absent tells that the
// provider does not offer the model.
func askStarter(ctx context.Context, at *place, q *terminal.Questions) (s config.Starter, absent string, err error) {
	if s.Instructions, err = q.Ask(ctx, at.Say("What does the agent do?"),
		at.Say("You help with the files in this folder."), nil); err != nil {
		return s, "", err
	}
	s.Language = at.Language
	provider, model := app.Provider(os.Getenv)
	s.Provider, err = q.Ask(ctx, at.Say("Which model: offline, openai, anthropic, gemini, ollama, or a URL?"), provider,
		func(answer string) error {
			u, err := url.Parse(answer)
			if _, named := config.ServiceOf(answer); answer != "offline" && !named &&
				(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
				return config.Usagef("%q is not offline, %s or a URL such as http://127.0.0.1:8080/v1", answer,
					config.ServiceNames())
			}
			return nil
		})
	if err != nil {
		return s, "", err
	}
	if s.Provider != provider {
		model = app.UsualModel(s.Provider)
	}
	if s.Provider != "offline" {
		service, named := config.ServiceOf(s.Provider)
		if !named {
			service, _ = config.ServiceOf("openai")
		}
		var key secret.Value
		s.Key, key = service.Key(os.Getenv)
		s.KeySet = key != "" && (named || s.Provider == provider)
		offered, _ := app.Offered(ctx, s.Provider, os.Getenv)
		usual, says := app.Suggest(at.Language, offered, model)
		if s.Model, err = q.Ask(ctx, says+at.Say("What does the provider call the model?"), usual, nil); err != nil {
			return s, "", err
		}
		absent = app.Absent(at.Language, offered, s.Model)
	}
	writes, err := q.Ask(ctx, at.Say("May the agent change files here and run programs, isolated in a sandbox?"),
		at.Say("yes"), func(answer string) error {
			if answer != "yes" && answer != "no" {
				return config.Usagef("%q is not yes or no", answer)
			}
			return nil
		})
	s.ReadOnly = writes == "no" // the usual answer is yes
	return s, absent, err
}
