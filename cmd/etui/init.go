package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/panics"
)

func (a *cli) initCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "init [DIR]", Short: "Make a workspace: a folder with a first etui.yaml", Args: cobra.MaximumNArgs(1),
		Long: `Make a workspace: write a short etui.yaml with comments into a folder, by
default the current one. etui asks up to four things: what the agent does,
which language model answers, what the provider calls that model (not for the
offline one), and whether the agent may change files and run programs. Enter
takes the answer in brackets, and --yes takes all of them. Nothing is sent
anywhere, and a file that is there is not changed.`,
		Example: "  etui init\n  etui init ~/team --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := a.workspace
			if len(args) == 1 {
				dir = args[0]
			}
			return a.init(cmd.Context(), dir, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing: take the answers in brackets")
	return c
}

func (a *cli) init(ctx context.Context, dir string, yes bool) error {
	file, err := filepath.Abs(filepath.Join(dir, config.File))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return config.Usagef("%s is there already; etui config validate checks it", file)
	}
	if _, err := os.Stat(filepath.Dir(file)); err == nil { // it may have skills of somebody else
		if _, err := a.asking(func() (*workdir.Workspace, error) { return workdir.Open(filepath.Dir(file), "", os.Environ()) }); err != nil {
			return err
		}
	}
	q := &questions{cli: a, ctx: ctx, lines: bufio.NewReader(a.in), silent: yes}
	s, err := q.starter()
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
		return fmt.Errorf("%s is written, but cannot be used: %w", file, err)
	}
	return a.print(map[string]string{"config": file}, func() string { return a.begun(s, file, dir) })
}

// begun says what was written and what to do next.
func (a *cli) begun(s config.Starter, file, dir string) string {
	text := "Wrote " + home(file) + ".\n"
	if (s.Provider == "openai" || s.Provider == "anthropic") && !s.KeySet {
		text += fmt.Sprintf("%s is not set: set it, and remove the # before api_key in the file.\n", s.Key)
	}
	at := ""
	if dir != "" {
		at = " --workspace " + dir
	}
	return text + fmt.Sprintf("\nNext:\n  etui%s chat      talk to the agent\n  etui%s serve     start the gateway, for other programs\n  etui%s doctor    check the setup\n", at, at, at)
}

// questions are those of init.
type questions struct {
	*cli
	ctx    context.Context //nolint:containedctx // of the one command that asks
	lines  *bufio.Reader
	silent bool
}

// starter asks the four questions, or three: the offline model has no name.
func (q *questions) starter() (s config.Starter, err error) {
	if s.Instructions, err = q.ask("What does the agent do?", "You help with the files in this folder.", nil); err != nil {
		return s, err
	}
	provider, model := app.Provider(os.Getenv)
	s.Provider, err = q.ask("Which model: offline, openai, anthropic, or the URL of a server?", provider, func(answer string) error {
		u, err := url.Parse(answer)
		if answer != "offline" && answer != "openai" && answer != "anthropic" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%q is not offline, openai, anthropic or a URL such as http://127.0.0.1:11434/v1", answer)
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	if s.Provider != provider {
		model = app.UsualModel(s.Provider)
	}
	if s.Provider != "offline" {
		s.Key = "OPENAI_API_KEY"
		if s.Provider == "anthropic" {
			s.Key = "ANTHROPIC_API_KEY"
		}
		s.KeySet = os.Getenv(s.Key) != "" && (s.Provider == "openai" || s.Provider == "anthropic" || s.Provider == provider)
		if s.Model, err = q.ask("What does the provider call the model?", model, nil); err != nil {
			return s, err
		}
	}
	writes, err := q.ask("May the agent change files here and run programs, isolated in a sandbox?", "yes", func(answer string) error {
		if answer != "yes" && answer != "no" {
			return fmt.Errorf("%q is not yes or no", answer)
		}
		return nil
	})
	s.ReadOnly = writes == "no"
	return s, err
}

// read reads a line, unless the user stops the program first.
func (q *questions) read() (line string, err error) {
	done := make(chan struct{})
	go func() { // it ends with the program, at the latest
		defer close(done)
		err = panics.Try(nil, "reading an answer", func() (err error) {
			line, err = q.lines.ReadString('\n')
			return err
		})
	}()
	select {
	case <-done:
		return line, err
	case <-q.ctx.Done():
		return "", q.ctx.Err()
	}
}

// ask asks until an answer is good; a wrong answer that no person gave is an error. The
// end of the input and an empty line take the usual answer.
func (q *questions) ask(question, usual string, check func(string) error) (string, error) {
	for {
		if q.silent {
			return usual, nil
		}
		fmt.Fprintf(q.err, "%s [%s] ", question, usual)
		line, err := q.read()
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrClosed) {
			return "", err
		}
		ended := err != nil
		if ended {
			fmt.Fprintln(q.err)
		}
		answer := strings.TrimSpace(line)
		if short := map[string]string{"y": "yes", "n": "no"}[strings.ToLower(answer)]; short != "" && check != nil {
			answer = short
		}
		if answer == "" {
			return usual, nil
		}
		if check == nil || check(answer) == nil {
			return answer, nil
		}
		if ended || !isTerminal(q.in) {
			return "", config.Usagef("%w", check(answer))
		}
		fmt.Fprintf(q.err, "%v\n", check(answer))
	}
}
