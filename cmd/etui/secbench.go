package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// secbenchCommand answers requests of a security bench, one JSON object a line.
func (a *app) secbenchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "secbench", Short: "Answer a security bench's requests on standard input", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in := bufio.NewScanner(a.in)
			in.Buffer(nil, 64<<20)
			for in.Scan() {
				if err := json.NewEncoder(a.out).Encode(benchAnswer(cmd.Context(), in.Bytes())); err != nil {
					return err
				}
			}
			return in.Err()
		},
	}
}

func benchAnswer(ctx context.Context, line []byte) any {
	var request struct {
		Tool string `json:"tool"`
	}
	if err := json.Unmarshal(line, &request); err != nil {
		return map[string]any{"ok": false, "error": err.Error()}
	}
	switch request.Tool {
	case "capabilities":
		return map[string]any{"capabilities": []string{}}
	case "fetch":
		return benchFetch(ctx, line)
	case "install_skill":
		return benchInstall(ctx, line)
	case "remove_skill":
		return benchRemove(ctx, line)
	}
	return map[string]any{"ok": false, "error": fmt.Sprintf("there is no tool %q", request.Tool)}
}
