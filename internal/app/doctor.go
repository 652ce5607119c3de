package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/client"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/workspace"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/session"
)

// Finding is a line of the doctor's report.
type Finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`
	// Section is empty for what etui needs, else one of the constants.
	Section string `json:"section,omitempty"`
	// Do is what changes it.
	Do string `json:"do,omitempty"`
}

// The sections of the report about safety. A finding in Gap is no failure: it says
// what nobody should rely on.
const (
	Protects = "protects"
	Gap      = "does not protect"
)

// Examine checks everything that a workspace needs, one thing after the other, and
// tries what protects the user. It goes on when a check fails.
func Examine(ctx context.Context, w *workspace.Workspace, c Config) (report []Finding) {
	add := func(check string, err error, says string) {
		if err != nil {
			says = err.Error()
		}
		report = append(report, Finding{Check: check, OK: err == nil, Says: says})
	}
	says := w.File
	if !w.Found {
		says = "no " + w.File + "; everything has its default value"
	}
	add("configuration", nil, says)
	if url := w.Running().URL; url != "" {
		add("gateway", nil, "running at "+url)
		asking, done := context.WithTimeout(ctx, 5*time.Second)
		gateway := client.New(url, "", string(w.Config.API.Key))
		add("in force", gateway.InForce(asking), "the gateway has the rules and skills of the configuration as it is")
		resting, err := gateway.Resting(asking)
		for _, h := range resting {
			add("model", nil, fmt.Sprintf("the gateway avoids %s until %s: %s", h.Model, h.Rests.Local().Format(time.TimeOnly), h.Error))
		}
		if err != nil {
			add("model", err, "")
		}
		done()
	} else {
		add("gateway", nil, "not running")
		if listener, err := listen(ctx, w.Config.Listen, "listen"); err != nil {
			add("address", err, "")
		} else {
			add("address", listener.Close(), w.Config.Listen+" is free")
		}
	}
	add("state", checkState(ctx, w), w.State)
	if w.Config.Store != "" {
		add("database", nil, w.Database())
	}
	a, err := New(ctx, w, c)
	var misconfigured config.Error
	switch {
	case errors.As(err, &misconfigured):
		add("configuration", err, "") // rules, names or folders: Open has read the rest
		return report
	case err != nil:
		add("start", err, "")
		return report
	}
	add("tools", nil, fmt.Sprintf("%s in %s", printable.Count(a.Engine.Catalog().Len(), "tool"), printable.Count(len(a.Engine.Catalog().GroupNames()), "group")))
	for _, err := range a.Misnamed.Unknown {
		add("names", err, "")
	}
	for _, err := range a.Failures() {
		add("skills", err, "")
	}
	add("skills", a.skills.control.Err(), fmt.Sprintf("%d of %d enabled", len(a.Skills.ListEnabled()), len(a.Skills.Snapshot().All())))
	for _, warning := range append(a.Misnamed.Later, a.Warnings...) {
		add("configuration", nil, "warning: "+warning.Error())
	}
	add("model", nil, a.Models())
	report = append(append(report, a.checkModels(ctx)...), a.checkChannels(ctx)...)
	safety := slices.Concat(a.protections(ctx), a.gaps(ctx))
	if err := a.Close(); err != nil {
		add("closing", err, "")
	}
	return append(report, safety...)
}

// maxCheck is how long a provider or platform may take to answer the doctor.
const maxCheck = 10 * time.Second

// checkModels asks the providers of all models at once whether they answer. That costs
// nothing: no model is asked.
func (a *App) checkModels(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	report := make([]Finding, len(a.adapters))
	var checks panics.Group
	for i, m := range a.adapters {
		checker, ok := m.(interface {
			Check(ctx context.Context) (says string, err error)
		})
		if !ok {
			continue // it is in this process
		}
		checks.Go(func() {
			says, err := checker.Check(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("no answer within %v", maxCheck)
			}
			if err != nil {
				says = err.Error()
			}
			report[i] = Finding{Check: "model", OK: err == nil, Says: m.Info().Name + ": " + strings.TrimPrefix(says, "model "+m.Info().Name+": ")}
		})
	}
	checks.Wait()
	return slices.DeleteFunc(report, func(f Finding) bool { return f.Check == "" })
}

// checkChannels asks the platforms of all channels at once which account they have: the
// gateway does if it runs, because some allow one connection only.
func (a *App) checkChannels(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	probe := a.channels.Probe
	if at := a.Workspace.Running().URL; at != "" {
		gateway := client.New(at, "", string(a.Workspace.Config.API.Key))
		probe = func(ctx context.Context, name string) (string, error) {
			var x server.ChannelAccount
			err := gateway.Do(ctx, http.MethodPost, "/admin/channels/"+url.PathEscape(name)+"/test", struct{}{}, &x)
			return x.Account, err
		}
	}
	list := a.channels.States()
	report := make([]Finding, len(list))
	var checks panics.Group
	for i, c := range list {
		checks.Go(func() {
			says, err := probe(ctx, c.Name)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("no answer within %v", maxCheck)
			}
			if err != nil {
				says = err.Error()
			}
			report[i] = Finding{Check: "channel", OK: err == nil, Says: c.Name + ": " + says}
		})
	}
	checks.Wait()
	return report
}

// checkState opens the database without leaving one behind.
func checkState(ctx context.Context, w *workspace.Workspace) error {
	if !w.HasStore() {
		return nil // the first start makes it
	}
	s, err := w.OpenStore(ctx, nil)
	if err != nil {
		return err
	}
	_, err = s.List(ctx, session.Filter{Limit: 1})
	return errors.Join(err, s.Close())
}
