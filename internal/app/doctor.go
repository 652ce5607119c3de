package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/etui-run/etui/internal/client"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/store/sqlite"
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
func Examine(ctx context.Context, w *Workspace, c Config) (report []Finding) {
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
		add("in force", client.New(url, "", string(w.Config.API.Key)).InForce(asking), "the gateway has the rules and skills of the configuration as it is")
		done()
	} else {
		add("gateway", nil, "not running")
		if listener, err := listen(ctx, w.Config.Listen, "listen"); err != nil {
			add("address", err, "")
		} else {
			add("address", listener.Close(), w.Config.Listen+" is free")
		}
	}
	add("state", w.checkState(ctx), w.State)
	a, err := New(ctx, w, c)
	var misconfigured config.Error
	switch {
	case errors.As(err, &misconfigured):
		add("rules", err, "") // Open has read the rest
		return report
	case err != nil:
		add("start", err, "")
		return report
	}
	add("tools", nil, fmt.Sprintf("%d tools in %d groups", a.Engine.Catalog().Len(), len(a.Engine.Catalog().GroupNames())))
	for _, u := range a.Unknown {
		add("skills", fmt.Errorf("the skill %q names the tool %q, which does not exist", u.Skill, u.Target), "")
	}
	for _, err := range a.Failures() {
		add("skills", err, "")
	}
	add("skills", a.skills.control.Err(), fmt.Sprintf("%d of %d enabled", len(a.Skills.ListEnabled()), len(a.Skills.Snapshot().All())))
	for _, warning := range a.Warnings {
		add("configuration", nil, "warning: "+warning.Error())
	}
	add("model", nil, a.Models())
	safety := slices.Concat(a.protections(ctx), a.gaps(ctx))
	if err := a.Close(); err != nil {
		add("closing", err, "")
	}
	return append(report, safety...)
}

// checkState opens the database without leaving one behind.
func (w *Workspace) checkState(ctx context.Context) error {
	if _, err := os.Stat(w.Database()); errors.Is(err, fs.ErrNotExist) {
		return nil // the first start makes it
	}
	s, err := sqlite.Open(ctx, w.Database())
	if err != nil {
		return err
	}
	_, err = s.List(ctx, 1)
	return errors.Join(err, s.Close())
}
