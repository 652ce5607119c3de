package main

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"strings"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
)

// gateway answers the commands: one that runs, or one in this process.
type gateway struct {
	*place
	url string // of the one to talk to; empty means that of the workspace
}

// with runs f with the gateway of the command: the one that --url names; else the one
// that serves the workspace, if it runs; else, if no workspace is named and this folder
// is none, the one at the default address; else one in this process. Stored says that
// the command changes the workspace's state.
func (g *gateway) with(ctx context.Context, stored bool, f func(*client.Client) error) (err error) {
	return g.using(ctx, app.Config{Stored: stored}, f)
}

// using is with for other settings of an engine in this process.
func (g *gateway) using(ctx context.Context, use app.Config, ask func(*client.Client) error) (err error) {
	f := func(c *client.Client) error {
		c.Language = g.Language
		return ask(c)
	}
	if g.url != "" {
		u, err := url.Parse(g.url)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return config.Usagef("--url %q is no address such as http://127.0.0.1:3884", g.url)
		}
		return f(client.New(strings.TrimSuffix(g.url, "/"), "", os.Getenv("ETUI_API_KEY")))
	}
	w, err := g.openRunning(ctx)
	if err != nil {
		return err
	}
	key := string(w.Config.API.Key)
	if i := w.Instance(); i.URL != "" {
		c := client.New(i.URL, i.Admin, cmp.Or(i.Key, key))
		c.Workspace = w.Dir
		return f(c)
	}
	if g.dir == "" && !g.demo && !w.Found && !w.HasSkills() {
		if url := "http://" + w.Config.Listen; client.IsGateway(ctx, url) {
			return f(client.New(url, "", key))
		}
	}
	log := g.quiet(w.Config.Log)
	if len(w.Config.Models) < 2 { // of several, another one may answer
		log = terminal.Without(log, "model failed")
	}
	settings := g.settings(log)
	settings.Stored, settings.Records = use.Stored, use.Records
	e, err := app.New(ctx, w, settings)
	if err != nil {
		return err
	}
	defer func() {
		if closing := e.Close(); err == nil && closing != nil {
			err = phrase.Errorf("closing: %w", closing)
		}
	}()
	c := client.Local(e.HTTP, key)
	c.Workspace = w.Dir
	return f(c)
}
