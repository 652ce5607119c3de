// Package login has etui's commands log in to MCP servers and out again. A person logs in with a
// browser: on this machine, or on another one, from which the person copies the answer.
package login

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/provider"
	"github.com/etui-run/etui/cmd/internal/state"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/oauth"
)

// OpenFunc reads the workspace that the flags name.
type OpenFunc func(context.Context) (*workdir.Workspace, error)

// outcome is what the commands print as JSON.
type outcome struct {
	Server string `json:"server"`
	// Logins is how many logins there are now, or how many were removed.
	Logins int `json:"logins"`
}

// Command returns etui mcp login.
func Command(console *terminal.Console, open OpenFunc, version string) *cobra.Command {
	var port int
	b := &browser{console: console}
	c := &cobra.Command{
		Use: "login NAME", Short: "Log in to an MCP server, for all who may use it", Args: cobra.ExactArgs(1),
		Long: `Log in to an MCP server by OAuth, for all who may use it. etui prints a link and opens it in a browser. If the
browser is on another machine, its last page fails to load: copy that page's address into the terminal.
etui keeps the login sealed, and refreshes it.`,
		Example: "  etui mcp login tracker\n  etui mcp login tracker --no-browser",
		RunE: func(cmd *cobra.Command, args []string) error {
			at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
			listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", at)
			if err != nil {
				return phrase.Errorf("the browser's answer cannot be received; take another port with --port: %w", err)
			}
			defer listener.Close()
			b.listener = listener
			logins := &mcp.Logins{Redirect: "http://" + listener.Addr().String() + "/callback", Begin: b.begin}
			login := func(ctx context.Context, s *mcp.Server) error { return s.Login(ctx) }
			err = with(cmd.Context(), open, args[0], logins, version, login)
			if err != nil {
				return err
			}
			return console.Print(outcome{args[0], 1},
				func() string { return phrase.In(console.Language, "Logged in to %s.\n", args[0]) })
		},
	}
	c.Flags().BoolVar(&b.elsewhere, "no-browser", false, "print the link only, for a browser on another machine")
	c.Flags().IntVar(&port, "port", 0, "port that receives the browser's answer (default any)")
	return c
}

// OutCommand returns etui mcp logout.
func OutCommand(console *terminal.Console, open OpenFunc, version string) *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "Remove all logins at an MCP server", Args: cobra.ExactArgs(1),
		Example: "  etui mcp logout tracker",
		RunE: func(cmd *cobra.Command, args []string) error {
			n := 0
			logout := func(ctx context.Context, s *mcp.Server) (err error) {
				n, err = s.Logout(ctx)
				return err
			}
			err := with(cmd.Context(), open, args[0], &mcp.Logins{}, version, logout)
			if err != nil {
				return err
			}
			return console.Print(outcome{args[0], n}, func() string {
				return phrase.In(console.Language, "Removed %s at %s.\n", phrase.Count(console.Language, n, "login"),
					args[0])
			})
		},
	}
}

// with calls do with an MCP server of the workspace.
func with(ctx context.Context, open OpenFunc, name string, logins *mcp.Logins, version string,
	do func(context.Context, *mcp.Server) error) (err error) {
	w, err := open(ctx)
	if err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	kept, err := state.Open(ctx, w, state.Config{Log: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	if kept.Warning != nil {
		return kept.Warning
	}
	out, programs, err := provider.Walls(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, programs.Close()) }()
	logins.Vault = kept.Logins()
	s, err := find(ctx, w, name, provider.NewServers(provider.Config{
		Workspace: w, Out: out, Programs: programs, Pins: kept.Pins(), Logins: logins, Version: version, Log: quiet,
	}))
	if err != nil {
		return err
	}
	return do(ctx, s)
}

// find returns an MCP server by the name of its skill.
func find(ctx context.Context, w *workdir.Workspace, name string, servers *mcp.Provider) (*mcp.Server, error) {
	table := skill.NewTable(nil)
	skill.NewLoader(table, skill.LoaderConfig{
		Roots: w.Roots(), Providers: []skill.Provider{servers}, Package: markdown.LocalMachine().Load,
		Variables: skill.Variables{Allowed: w.Config.Skills.Env},
	}).Load(ctx)
	for _, e := range table.Snapshot().All() {
		if e.Skill == nil || e.Skill.Name() != name {
			continue
		}
		if s, ok := e.Skill.(*mcp.Server); ok {
			return s, nil
		}
		return nil, config.Usagef("%s is no MCP server", name)
	}
	var why error
	for _, failed := range table.Snapshot().Failed() {
		if strings.Contains(failed.Error(), name) {
			why = failed
		}
	}
	return nil, cmp.Or(why, config.Usagef("there is no MCP server %s: etui skills lists what there is", name))
}

// browser has the person at the terminal log in.
type browser struct {
	console   *terminal.Console
	listener  net.Listener
	elsewhere bool // the browser is on another machine
}

// patience is how long a person may take.
const patience = 10 * time.Minute

// begin shows a link and waits for its answer: at the address where the browser is sent, or from
// the person, who copies it.
func (b *browser) begin(ctx context.Context, a *oauth.Attempt) error {
	late := phrase.Errorf("nobody logged in within %v: begin again", patience)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, late)
	defer cancel()
	phrase.Fprintf(b.console.Err, b.console.Language, "Open this link to log in to %s at %s:\n\n  %s\n\n", a.Server,
		printable.OneLine(a.Issuer), a.Link)
	if !b.elsewhere {
		Browse(ctx, a.Link)
	}
	answers := make(chan oauth.Answer)
	result := make(chan error, 1) // of the first answer, for the browser's page
	site := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &page{answers, result, a.State}}
	go func() {
		defer panics.Log(nil, "waiting for a login")
		_ = site.Serve(b.listener) // it ends with Close
	}()
	defer func() {
		ending, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer done()
		_ = site.Shutdown(ending) // the last page may be lost
	}()
	if b.elsewhere || terminal.Is(b.console.In) {
		phrase.Fprintf(b.console.Err, b.console.Language,
			"If the browser is on another machine, copy the address of its last page here:\n")
		go func() {
			defer panics.Log(nil, "reading a login")
			b.read(ctx, answers)
		}()
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case answer := <-answers:
		err := a.Finish(ctx, answer)
		result <- err
		return err
	}
}

// read takes answers from lines: addresses with an answer.
func (b *browser) read(ctx context.Context, answers chan<- oauth.Answer) {
	lines := bufio.NewScanner(b.console.In)
	for lines.Scan() {
		u, err := url.Parse(strings.TrimSpace(lines.Text()))
		if err != nil || u.Query().Get("state") == "" {
			phrase.Fprintf(b.console.Err, b.console.Language,
				"That is not the address of the last page. It begins with "+
					"http://127.0.0.1 and has code= in it:\n")
			continue
		}
		select {
		case <-ctx.Done():
			return
		case answers <- oauth.ParseAnswer(u.Query()):
		}
	}
}

// page answers the browser.
type page struct {
	answers chan<- oauth.Answer
	result  <-chan error
	state   string
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := oauth.ParseAnswer(r.URL.Query())
	if r.URL.Path != "/callback" || answer.State != p.state {
		http.NotFound(w, r) // other pages and programs cannot end the login
		return
	}
	select {
	case <-r.Context().Done():
		return
	case p.answers <- answer:
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	select {
	case <-r.Context().Done():
	case err := <-p.result:
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			phrase.Fprintf(w, language(r), "The login failed. The terminal says why.\n")
			return
		}
		phrase.Fprintf(w, language(r), "Logged in. You can close this page.\n")
	}
}

// language is that of the browser.
func language(r *http.Request) string { return phrase.Match(r.Header.Get("Accept-Language")) }

// Browse opens a link in the browser of this machine, if there is one.
func Browse(ctx context.Context, link string) {
	name := map[string]string{"darwin": "open", "windows": "explorer"}[runtime.GOOS]
	if path, err := exec.LookPath(cmp.Or(name, "xdg-open")); err == nil {
		c := exec.CommandContext(context.WithoutCancel(ctx), path, link)
		if c.Start() == nil { // otherwise the link is on the screen, too
			_ = c.Process.Release()
		}
	}
}
