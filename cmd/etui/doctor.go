package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/sandbox"
	"github.com/etui-run/etui/internal/store/sqlite"
)

// finding is a line of the doctor's report.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check that everything etui needs is there", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := a.examine(cmd.Context())
			out := a.secrets.Writer(a.out) // errors of anything may stand in it
			if a.json {
				if err := json.NewEncoder(out).Encode(report); err != nil {
					return err
				}
			}
			sick := 0
			for _, f := range report {
				mark := "ok  "
				if !f.OK {
					mark, sick = "FAIL", sick+1
				}
				if !a.json {
					fmt.Fprintf(out, "%s  %-14s %s\n", mark, f.Check, f.Says)
				}
			}
			if sick > 0 {
				return fmt.Errorf("%d of %d checks failed", sick, len(report))
			}
			return nil
		},
	}
}

// examine looks at everything, one thing after the other, and goes on when one
// fails.
func (a *app) examine(ctx context.Context) []finding {
	report := []finding{{"etui", true, fmt.Sprintf("%s, %s, %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)}}
	add := func(check string, err error, says string) {
		if err != nil {
			says = err.Error()
		}
		report = append(report, finding{check, err == nil, says})
	}
	w, err := a.open()
	if err != nil {
		add("configuration", err, "")
		return report
	}
	says := w.file
	if !w.found {
		says = "no " + w.file + "; everything has its default value"
	}
	add("configuration", nil, says)
	if url := running(w.state).URL; url != "" {
		add("gateway", nil, "running at "+url)
		serving := client{url: url, key: string(w.config.API.Key), http: &http.Client{Timeout: 5 * time.Second}, where: url}
		add("in force", serving.inForce(ctx), "the gateway has the rules and skills of the configuration as it is")
	} else {
		add("gateway", nil, "not running")
		if listener, err := listen(ctx, w.config.Listen, "listen"); err != nil {
			add("address", err, "")
		} else {
			add("address", listener.Close(), w.config.Listen+" is free")
		}
	}
	add("state", a.checkState(ctx, w.state), w.state)
	b, err := a.build(ctx, w, false, slog.New(slog.DiscardHandler))
	var misconfigured *config.Error
	switch {
	case errors.As(err, &misconfigured):
		add("rules", err, "") // the rest was read by open
		return report
	case err != nil:
		add("tools", err, "")
		return report
	}
	add("tools", nil, fmt.Sprintf("%d tools in %d groups", b.gateway.Catalog().Len(), len(b.gateway.Catalog().GroupNames())))
	for _, u := range b.unknown {
		add("skills", fmt.Errorf("the skill %q names the tool %q, which does not exist", u.Toolset, u.Target), "")
	}
	now := b.skills.table.Snapshot()
	for _, err := range b.skills.failures() {
		add("skills", err, "")
	}
	add("skills", b.skills.control.Err(), fmt.Sprintf("%d of %d enabled", len(b.skills.table.ListEnabled()), len(now.All())))
	add("visibility", nil, fmt.Sprintf("%d rules", len(w.config.Visibility.Rules)))
	add("policy", nil, fmt.Sprintf("%d rules about calls", len(w.config.Policy.Rules)))
	for _, warning := range b.warnings {
		add("rules", nil, "warning: "+warning.Error())
	}
	add("model", nil, b.describeModels())
	add("files", nil, "the file tools see "+w.dir+" and nothing else; etui.yaml cannot be changed by them")
	addSandbox(add, b.programs.Status())
	exposed := "only programs on this machine can reach the gateway"
	if w.config.API.Key != "" {
		exposed = "HTTP clients need the API key"
	}
	add("access", nil, exposed)
	if err := b.Close(); err != nil {
		add("closing", err, "")
	}
	return report
}

// addSandbox says what programs are kept from, and why from no more.
func addSandbox(add func(check string, err error, says string), s sandbox.Status) {
	add("sandbox", nil, fmt.Sprintf("%s: %s", s.Mode, s.Says))
	for _, why := range s.Missing {
		add("sandbox", nil, "not "+why)
	}
}

// checkState opens the database without leaving one behind.
func (a *app) checkState(ctx context.Context, state string) error {
	path := filepath.Join(state, "etui.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil // it is made at the first start
	}
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	_, err = s.List(ctx, 1)
	return errors.Join(err, s.Close())
}
