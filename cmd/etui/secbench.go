package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// benchTools are what a security bench may ask for, by the name in its requests.
// Each is given the request as it came.
func benchTools() map[string]func(context.Context, json.RawMessage) any {
	return map[string]func(context.Context, json.RawMessage) any{
		"capabilities": func(context.Context, json.RawMessage) any {
			return map[string]any{"capabilities": []string{"run_case"}}
		},
		"file":          benchFile,
		"load_skills":   benchLoad,
		"run_case":      benchCase,
		"fetch":         benchFetch,
		"install_skill": benchInstall,
		"remove_skill":  benchRemove,
	}
}

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
		return benchFailure(err)
	}
	answer, ok := benchTools()[request.Tool]
	if !ok {
		return benchFailure(fmt.Errorf("there is no tool %q", request.Tool))
	}
	return answer(ctx, line)
}

func benchFailure(err error) any { return map[string]any{"ok": false, "error": err.Error()} }
