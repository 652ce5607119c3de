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
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/store/sqlite"
)

// finding is a line of the doctor's report.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`
	// Section is empty for what etui needs, else one of the others.
	Section string `json:"section,omitempty"`
	// Do is what changes it.
	Do string `json:"do,omitempty"`
}

// The sections of the report about safety. A line of the second is no failure: it
// says what nobody should rely on.
const (
	protects = "protects"
	gap      = "does not protect"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check that everything is there, and what protects you here", Args: cobra.NoArgs,
		Long: `Check that everything that etui needs is there, and say what protects you here and what does
not. What protects is tried: a sample of attacks on the sandbox, the file tools and the guard of
requests is run against folders, programs and services made for it, which takes about a second.
Nothing is attacked where nothing is isolated.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := a.examine(cmd.Context())
			out := a.secrets.Writer(a.out) // errors of anything may stand in it
			if a.json {
				if err := json.NewEncoder(out).Encode(report); err != nil {
					return err
				}
			} else {
				fmt.Fprint(out, describeReport(report, width()))
			}
			sick := 0
			for _, f := range report {
				if !f.OK {
					sick++
				}
			}
			if sick > 0 {
				return fmt.Errorf("%d of %d checks failed", sick, len(report))
			}
			return nil
		},
	}
}

// describeReport writes a report for people.
func describeReport(report []finding, width int) string {
	var b strings.Builder
	titles := map[string]string{protects: "What protects you here", gap: "What does not, and what changes that"}
	section := ""
	for _, f := range report {
		if f.Section != section {
			section = f.Section
			fmt.Fprintf(&b, "\n%s\n", titles[section])
		}
		mark := "ok  "
		switch {
		case !f.OK:
			mark = "FAIL"
		case f.Section == gap:
			mark = "!   "
		}
		b.WriteString(hanging(fmt.Sprintf("%s  %-13s ", mark, f.Check), f.Says, width))
		if f.Do != "" {
			b.WriteString(hanging(strings.Repeat(" ", 17)+"→  ", f.Do, width))
		}
	}
	return b.String()
}

// hanging writes a text in lines of a width, behind a first word and below each
// other. What has no blanks stands in one line.
func hanging(first, text string, width int) string {
	indent := ansi.StringWidth(first)
	var b strings.Builder
	line := first
	for word := range strings.FieldsSeq(text) {
		if ansi.StringWidth(line)+ansi.StringWidth(word) > width && strings.TrimSpace(line) != strings.TrimSpace(first) && strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", indent)
		}
		line += word + " "
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}

// examine looks at everything, one thing after the other, and goes on when one
// fails.
func (a *app) examine(ctx context.Context) []finding {
	report := []finding{{Check: "etui", OK: true, Says: fmt.Sprintf("%s, %s, %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)}}
	add := func(check string, err error, says string) {
		if err != nil {
			says = err.Error()
		}
		report = append(report, finding{Check: check, OK: err == nil, Says: says})
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
	var misconfigured config.Error
	switch {
	case errors.As(err, &misconfigured):
		add("rules", err, "") // the rest was read by open
		return report
	case err != nil:
		add("start", err, "")
		return report
	}
	add("tools", nil, fmt.Sprintf("%d tools in %d groups", b.gateway.Catalog().Len(), len(b.gateway.Catalog().GroupNames())))
	for _, u := range b.unknown {
		add("skills", fmt.Errorf("the skill %q names the tool %q, which does not exist", u.Skill, u.Target), "")
	}
	now := b.skills.table.Snapshot()
	for _, err := range b.skills.failures() {
		add("skills", err, "")
	}
	add("skills", b.skills.control.Err(), fmt.Sprintf("%d of %d enabled", len(b.skills.table.ListEnabled()), len(now.All())))
	for _, warning := range b.warnings {
		add("configuration", nil, "warning: "+warning.Error())
	}
	add("model", nil, b.describeModels())
	safety := slices.Concat(a.protections(ctx, w, b), b.gaps(ctx, w))
	if err := b.Close(); err != nil {
		add("closing", err, "")
	}
	return append(report, safety...)
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
