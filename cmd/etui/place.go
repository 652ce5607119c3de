package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/etui-run/etui/cmd/etui/internal/servers"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/secret"
	"github.com/lmittmann/tint"
)

// place is where the state is: the workspace that the flags name, or that of the demo.
type place struct {
	*terminal.Console
	secrets *secret.Set
	dir     string
	config  string // the configuration file
	demo    bool
	listen  string // of serve and demo
	silent  bool   // ask nothing: the output is for a shell
}

// open reads the workspace that the flags name.
func (at *place) open(ctx context.Context) (*workdir.Workspace, error) {
	environ := os.Environ()
	if at.listen != "" {
		environ = append(environ, config.Prefix+"LISTEN="+at.listen)
	}
	w, err := at.asking(ctx, func() (*workdir.Workspace, error) {
		if at.demo {
			return workdir.OpenDemo(at.config, environ)
		}
		return workdir.Open(at.dir, at.config, environ)
	})
	if w != nil {
		for _, done := range w.Restored {
			fmt.Fprintln(at.Err, "etui:", printable.OneLine(done))
		}
		err = errors.Join(err, w.Export(at.secrets))
	}
	return w, err
}

// openRunning is open for a command that only asks a gateway, if one serves the workspace: it needs none of
// the gateway's secrets.
func (at *place) openRunning(ctx context.Context) (*workdir.Workspace, error) {
	w, err := at.open(ctx)
	if err == nil || at.demo {
		return w, err
	}
	return workdir.OpenRunning(at.dir, at.config, os.Environ(), err)
}

// asking opens a workspace. It asks the person at the terminal if nobody has confirmed it.
func (at *place) asking(ctx context.Context, open func() (*workdir.Workspace, error)) (*workdir.Workspace, error) {
	w, err := open()
	if unconfirmed := (*trust.UnconfirmedError)(nil); errors.As(err, &unconfirmed) && at.confirms(ctx, unconfirmed) {
		if err = unconfirmed.Confirm(); err == nil {
			w, err = open()
		}
	}
	return w, err
}

// read reads a workspace for a check, without a question. If nobody has confirmed its configuration, waits
// says so, and nothing of it may be used.
func (at *place) read(ctx context.Context) (w *workdir.Workspace, waits *trust.UnconfirmedError, err error) {
	silent := *at
	silent.silent = true
	w, err = silent.open(ctx)
	if !at.demo && errors.As(err, &waits) {
		w, err = workdir.Read(at.dir, at.config, os.Environ())
	}
	return w, waits, err
}

// confirms asks the person at the terminal, if there is one, whether a configuration may take effect.
func (at *place) confirms(ctx context.Context, u *trust.UnconfirmedError) bool {
	if at.JSON || at.silent || !terminal.Is(at.In) || !terminal.Is(at.Err) {
		return false
	}
	return at.Questions(false).Agree(ctx,
		printable.Text(u.Says(at.Language))+"\n"+at.Say("Is this yours, and may it do that?"))
}

// servers are the commands about MCP servers of the workspace.
func (at *place) servers() servers.Config {
	return servers.Config{Console: at.Console, Open: at.openRunning, Version: version(), User: userName()}
}

// settings are those of an engine that stores nothing.
func (at *place) settings(log *slog.Logger) app.Config {
	return app.Config{Secrets: at.secrets, Version: version(), Log: log}
}

// logger writes to standard error, in colours on a terminal and without secrets.
func (at *place) logger(c config.Log) *slog.Logger {
	out := at.secrets.Writer(at.Err)
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration allows four words
	if c.JSON {
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(out,
		&tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !terminal.Is(at.Err) ||
			os.Getenv("NO_COLOR") != ""}))
}

// quiet is a logger that leaves out what only a server's operator wants to read.
func (at *place) quiet(c config.Log) *slog.Logger {
	if c.Level == "info" {
		c.Level = "warn"
	}
	return at.logger(c)
}
