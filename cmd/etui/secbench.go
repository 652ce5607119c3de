package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// benchTool answers a request, which it is given as it came.
type benchTool = func(context.Context, json.RawMessage) any

// benchTools are what a security bench may ask for, by the name in its requests.
// Commands run in the mode.
func benchTools(mode string) map[string]benchTool {
	return map[string]benchTool{
		"capabilities": func(context.Context, json.RawMessage) any {
			return map[string]any{"capabilities": benchCapabilities(mode)}
		},
		"exec":          benchExec(mode),
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
	mode := "auto"
	cmd := &cobra.Command{
		Use: "secbench", Short: "Answer a security bench's requests on standard input", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools := benchTools(mode)
			in := bufio.NewScanner(a.in)
			in.Buffer(nil, 64<<20)
			for in.Scan() {
				if err := json.NewEncoder(a.out).Encode(benchAnswer(cmd.Context(), tools, in.Bytes())); err != nil {
					return err
				}
			}
			return in.Err()
		},
	}
	cmd.Flags().StringVar(&mode, "sandbox", mode, "how commands run: auto, strong, landlock, off")
	return cmd
}

func benchAnswer(ctx context.Context, tools map[string]benchTool, line []byte) any {
	var request struct {
		Tool string `json:"tool"`
	}
	if err := json.Unmarshal(line, &request); err != nil {
		return benchFailure(err)
	}
	answer, ok := tools[request.Tool]
	if !ok {
		return benchFailure(fmt.Errorf("there is no tool %q", request.Tool))
	}
	return answer(ctx, line)
}

func benchFailure(err error) any { return map[string]any{"ok": false, "error": err.Error()} }
