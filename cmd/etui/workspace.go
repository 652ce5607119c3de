package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/secret"
	"github.com/lmittmann/tint"
)

// workspace is where the state is: the folder that the flags name, or that of the demo.
type workspace struct {
	*terminal.Console
	secrets *secret.Known
	dir     string
	config  string // the configuration file
	demo    bool
	listen  string // of serve and demo
	silent  bool   // ask nothing: the output is for a shell
}

// open reads the workspace that the flags name.
func (ws *workspace) open(ctx context.Context) (*app.Workspace, error) {
	environ := os.Environ()
	if ws.listen != "" {
		environ = append(environ, config.Prefix+"LISTEN="+ws.listen)
	}
	w, err := ws.asking(ctx, func() (*app.Workspace, error) {
		if ws.demo {
			return app.OpenDemo(ws.config, environ)
		}
		return app.Open(ws.dir, ws.config, environ)
	})
	if w != nil {
		for _, done := range w.Restored {
			fmt.Fprintln(ws.Err, "etui:", printable.OneLine(done))
		}
	}
	return w, err
}

// asking opens a workspace. It asks the person at the terminal if nobody has confirmed it.
func (ws *workspace) asking(ctx context.Context, open func() (*app.Workspace, error)) (*app.Workspace, error) {
	w, err := open()
	if unconfirmed := (*app.Unconfirmed)(nil); errors.As(err, &unconfirmed) && ws.confirms(ctx, unconfirmed) {
		if err = unconfirmed.Confirm(); err == nil {
			w, err = open()
		}
	}
	return w, err
}

// confirms asks the person at the terminal, if there is one, whether a configuration may take effect.
func (ws *workspace) confirms(ctx context.Context, u *app.Unconfirmed) bool {
	if ws.JSON || ws.silent || !terminal.Is(ws.In) || !terminal.Is(ws.Err) {
		return false
	}
	return ws.Questions(false).Agree(ctx, printable.Text(u.Says())+"\nIs this yours, and may it do that?")
}

// settings are those of an engine that stores nothing.
func (ws *workspace) settings(log *slog.Logger) app.Config {
	return app.Config{Secrets: ws.secrets, Version: version(), Log: log}
}

// logger writes to standard error, in colours on a terminal and without secrets.
func (ws *workspace) logger(c config.Log) *slog.Logger {
	out := ws.secrets.Writer(ws.Err)
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration allows four words
	if c.JSON {
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(out, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !terminal.Is(ws.Err) || os.Getenv("NO_COLOR") != ""}))
}

// quiet is a logger that leaves out what only a server's operator wants to read.
func (ws *workspace) quiet(c config.Log) *slog.Logger {
	if c.Level == "info" {
		c.Level = "warn"
	}
	return ws.logger(c)
}
