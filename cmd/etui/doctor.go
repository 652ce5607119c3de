package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/doctor"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/spf13/cobra"
)

func doctorCommand(at *place) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check the setup, and show what protects you here", Args: cobra.NoArgs,
		Long: `Check everything that etui needs, and show what protects you here and what does not. The
protection is tried: a sample of attacks on the sandbox, the file tools and the guard of requests
runs against folders, programs and services made for it, which takes about a second.
Nothing is attacked where nothing is isolated.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := examine(cmd.Context(), at)
			if err := cmd.Context().Err(); err != nil { // the checks that it ended say nothing
				return err
			}
			out := at.secrets.Writer(at.Out) // errors of anything may stand in it
			if at.JSON {
				if err := json.NewEncoder(out).Encode(report); err != nil {
					return err
				}
			} else {
				fmt.Fprint(out, describeReport(at.Language, report, terminal.Width()))
			}
			sick := 0
			for _, f := range report {
				if !f.OK {
					sick++
				}
			}
			if sick > 0 {
				return phrase.Errorf("%d of %d checks failed", sick, len(report))
			}
			return nil
		},
	}
}

func examine(ctx context.Context, at *place) []doctor.Finding {
	lang := at.Language
	if at.JSON { // programs read English
		lang = phrase.English
	}
	report := []doctor.Finding{{Check: "etui", OK: true,
		Says: fmt.Sprintf("%s, %s, %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)}}
	w, waits, err := at.read(ctx)
	switch {
	case err != nil:
		if running, failed := workdir.OpenRunning(at.dir, at.config, os.Environ(), err); failed == nil && !at.demo {
			return append(report, doctor.Running(ctx, lang, running, err)...)
		}
		return append(report, doctor.Finding{Check: "configuration", Says: phrase.Say(lang, err)})
	case waits != nil:
		return append(report,
			doctor.Finding{Check: "configuration", OK: true,
				Says: phrase.In(lang, "%s has no mistake in its keys and values; the rest is examined once it is confirmed", w.File)},
			doctor.Finding{Check: "confirmed", Says: waits.Says(lang), Do: waits.Do(lang)})
	}
	waiting := time.AfterFunc(2*time.Second, func() {
		if terminal.Is(at.Err) {
			phrase.Fprintf(at.Err, at.Language, "etui: trying what protects you here; this takes a moment\n")
		}
	})
	defer waiting.Stop()
	return append(report, doctor.Examine(ctx, lang, w, app.Subject(w, at.settings(nil)))...)
}

// describeReport writes a report for people.
func describeReport(lang string, report []doctor.Finding, width int) string {
	var b strings.Builder
	titles := map[string]string{doctor.Protects: "What protects you here",
		doctor.Gap: "What does not, and how to change that"}
	section := ""
	for _, f := range report {
		if f.Section != section {
			section = f.Section
			b.WriteString("\n" + phrase.Word(lang, titles[section]) + "\n")
		}
		mark := "ok  "
		switch {
		case !f.OK:
			mark = "FAIL"
		case f.Section == doctor.Gap:
			mark = "!   "
		}
		b.WriteString(terminal.Hang(mark+"  "+terminal.Pad(phrase.Word(lang, f.Check), 13)+" ", f.Says, width))
		if f.Do != "" {
			b.WriteString(terminal.Hang(strings.Repeat(" ", 17)+"→  ", f.Do, width))
		}
	}
	return b.String()
}
