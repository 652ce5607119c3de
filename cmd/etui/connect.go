package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server/api"
	"github.com/lmittmann/tint"
)

// open reads the workspace that the flags name.
func (a *cli) open() (*workdir.Workspace, error) {
	environ := os.Environ()
	if a.listen != "" {
		environ = append(environ, config.Prefix+"LISTEN="+a.listen)
	}
	w, err := a.asking(func() (*workdir.Workspace, error) {
		if a.demo {
			return workdir.OpenDemo(a.config, environ)
		}
		return workdir.Open(a.workspace, a.config, environ)
	})
	if w != nil {
		for _, done := range w.Restored {
			fmt.Fprintln(a.err, "etui:", printable.OneLine(done))
		}
	}
	return w, err
}

// asking opens a workspace. It asks the person at the terminal if nobody has confirmed it.
func (a *cli) asking(open func() (*workdir.Workspace, error)) (*workdir.Workspace, error) {
	w, err := open()
	if unconfirmed := (*trust.Unconfirmed)(nil); errors.As(err, &unconfirmed) && a.confirms(unconfirmed) {
		if err = unconfirmed.Confirm(); err == nil {
			w, err = open()
		}
	}
	return w, err
}

// confirms asks the person at the terminal, if there is one, whether a configuration may take effect.
func (a *cli) confirms(u *trust.Unconfirmed) bool {
	if a.json || a.silent || !isTerminal(a.in) || !isTerminal(a.err) {
		return false
	}
	fmt.Fprintf(a.err, "%s\nIs this yours, and may it do that? [y/N] ", printable.Text(u.Says()))
	q := &questions{cli: a, ctx: a.ctx, lines: bufio.NewReader(oneByOne{a.in})}
	line, _ := q.read() // the end of the input is no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// oneByOne reads a byte at a time: what follows the answer belongs to the command.
type oneByOne struct{ io.Reader }

func (r oneByOne) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }

// settings are those of an engine that stores nothing.
func (a *cli) settings(log *slog.Logger) app.Config {
	return app.Config{Secrets: a.secrets, Version: version(), Log: log}
}

// logger writes to standard error, in colours on a terminal and without secrets.
func (a *cli) logger(c config.Log) *slog.Logger {
	out := a.secrets.Writer(a.err)
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration allows four words
	if c.JSON {
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(out, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !isTerminal(a.err) || os.Getenv("NO_COLOR") != ""}))
}

// quiet is a logger that leaves out what only a server's operator wants to read.
func (a *cli) quiet(c config.Log) *slog.Logger {
	if c.Level == "info" {
		c.Level = "warn"
	}
	return a.logger(c)
}

// with runs f with the gateway of the command: the one that --url names; else the one
// that serves the workspace, if it runs; else, if no workspace is named and this folder
// is none, the one at the default address; else one in this process. Stored says that
// the command changes the workspace's state.
func (a *cli) with(ctx context.Context, stored bool, f func(*client.Client) error) (err error) {
	return a.using(ctx, app.Config{Stored: stored}, f)
}

// using is with for other settings of an engine in this process.
func (a *cli) using(ctx context.Context, use app.Config, f func(*client.Client) error) (err error) {
	if a.url != "" {
		u, err := url.Parse(a.url)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return config.Usagef("--url %q is no address such as http://127.0.0.1:3884", a.url)
		}
		return f(client.New(strings.TrimSuffix(a.url, "/"), "", os.Getenv("ETUI_API_KEY")))
	}
	w, err := a.open()
	if err != nil {
		return err
	}
	key := string(w.Config.API.Key)
	if i := w.Running(); i.URL != "" {
		c := client.New(i.URL, i.Admin, key)
		c.Workspace = w.Dir
		return f(c)
	}
	if a.workspace == "" && !a.demo && !w.Found && !w.HasSkills() {
		if url := "http://" + w.Config.Listen; client.IsGateway(ctx, url) {
			return f(client.New(url, "", key))
		}
	}
	settings := a.settings(a.quiet(w.Config.Log))
	settings.Stored, settings.Records = use.Stored, use.Records
	e, err := app.New(ctx, w, settings)
	if err != nil {
		return err
	}
	defer func() {
		if closing := e.Close(); err == nil && closing != nil {
			err = fmt.Errorf("closing: %w", closing)
		}
	}()
	c := client.Here(e.HTTP, key)
	c.Workspace = w.Dir
	return f(c)
}

// where says which gateway answers, and for which workspace.
func (a *cli) where(ctx context.Context, c *client.Client) string {
	dir := c.Workspace
	if dir == "" {
		var s api.Status
		if c.Do(ctx, http.MethodGet, "/api/status", nil, &s) == nil && s.Configuration != nil {
			dir = filepath.Dir(s.Configuration.File)
		}
	}
	if dir == "" {
		return c.Where
	}
	return fmt.Sprintf("%s, workspace %s", c.Where, home(dir))
}

// sayWhere prints which gateway answers, and for which workspace.
func (a *cli) sayWhere(ctx context.Context, c *client.Client) {
	if !a.json {
		fmt.Fprintln(a.err, a.faint().Render("· "+a.where(ctx, c)))
	}
}
