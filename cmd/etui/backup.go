package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/backup"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/phrase"
)

func backupCommand(at *place) *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy what etui keeps to an archive", Args: cobra.ExactArgs(1),
		Long: `Copy the state folder to FILE, a new tar archive with gzip: conversations, past turns, records of calls,
keys, decisions about skills, and installed MCP servers. A gateway may run meanwhile. The workspace with
etui.yaml and its skills is not part of it. Keep FILE as safe as the state folder: it holds what people
wrote, also of people whom etui forgets later.`,
		Example: "  etui backup /var/backups/etui.tar.gz\n  etui --workspace ~/agent backup ~/etui-$(date +%F).tar.gz --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			if !at.JSON {
				phrase.Fprintf(at.Err, at.Language, "etui: copying %s\n", w.State)
			}
			b, err := backup.Write(cmd.Context(), w, version(), args[0])
			if err != nil {
				return err
			}
			return at.Print(b, func() string {
				text := phrase.In(at.Language, "%s holds %s, %s.\n", b.File, phrase.Count(at.Language, b.Files, "file"),
					size(at.Language, b.Bytes))
				if w.Config.Store != "" {
					text += phrase.In(at.Language,
						"Conversations are not in it: copy the database of store: with pg_dump.\n")
				}
				return text
			})
		},
	}
}

func restoreCommand(at *place) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "restore FILE", Short: "Replace what etui keeps by a backup", Args: cobra.ExactArgs(1),
		Long: `Replace the content of the state folder by a backup. Stop the gateway first. The old content
moves into a folder inside, before-DATE, which you may delete. Nothing changes if FILE is
incomplete or damaged.
An older etui's backup is brought to this version; a newer one's is refused.`,
		Example: "  etui restore /var/backups/etui.tar.gz\n  etui --workspace ~/agent restore ~/etui.tar.gz --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := at.open(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := os.Stat(args[0]); errors.Is(err, fs.ErrNotExist) { // before it asks
				return config.Usagef("there is no file %s", args[0])
			}
			if !yes {
				if err := at.Confirm("Replace the state in %s by %s?", w.State, args[0]); err != nil {
					return err
				}
			}
			b, err := backup.Restore(cmd.Context(), w, args[0])
			if err != nil {
				return err
			}
			return at.Print(b, func() string { return describeRestored(at.Language, b) })
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func describeRestored(lang string, b backup.Archive) string {
	text := phrase.In(lang, "%s is as it was at %s: %s, %s.\n", b.State, b.Made.Local().Format(time.DateTime),
		phrase.Count(lang, b.Files, "file"), size(lang, b.Bytes))
	if b.Before != "" {
		text += phrase.In(lang, "What was there before is in %s.\n", b.Before)
	}
	return text
}

// size writes a number of bytes for people.
func size(lang string, n int64) string {
	switch {
	case n < 1000:
		return phrase.Count(lang, int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
