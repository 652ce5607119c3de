// Secbench is the adapter of a security bench: it answers the bench's requests on
// standard input with etui's own file tools, sandbox, guard of requests, installer and
// skills, one JSON object a line. See docs/security.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
)

// benchTool answers a request, given as its line of JSON.
type benchTool = func(context.Context, json.RawMessage) any

// answering makes a tool of a function that takes the decoded request. What the
// function returns beside an error is part of the failure.
func answering[Q any](do func(context.Context, Q) (map[string]any, error)) benchTool {
	return func(ctx context.Context, line json.RawMessage) any {
		var request Q
		var answer map[string]any
		err := json.Unmarshal(line, &request)
		if err == nil {
			answer, err = do(ctx, request)
		}
		all := map[string]any{"ok": err == nil}
		if err != nil {
			all["error"] = err.Error()
		}
		maps.Copy(all, answer)
		return all
	}
}

// benchTools returns what a security bench can request, by the name in its requests.
// Commands run in the given mode of the sandbox.
func benchTools(mode string) map[string]benchTool {
	return map[string]benchTool{
		"capabilities": func(context.Context, json.RawMessage) any {
			return map[string]any{"capabilities": benchCapabilities(mode)}
		},
		"exec":          answering(benchExec(mode)),
		"file":          answering(benchFile),
		"load_skills":   answering(benchLoad),
		"run_case":      answering(benchCase),
		"fetch":         answering(benchFetch),
		"install_skill": answering(benchInstall),
		"remove_skill":  answering(benchRemove),
	}
}

func main() {
	mode := flag.String("sandbox", "auto", "how commands run: auto, strong, landlock or off")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./cmd/bench/secbench [flags] < requests.jsonl\n       go run ./cmd/bench/secbench definitions FILE...\n"+
			"It answers each line of JSON on standard input with a line of JSON, or counts the definitions of MCP tools in files that etui holds back.")
		flag.PrintDefaults()
	}
	flag.Parse()
	var err error
	if flag.Arg(0) == "definitions" {
		err = judgeDefinitions(context.Background(), flag.Args()[1:], os.Stdout)
	} else {
		err = serve(context.Background(), *mode, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "secbench: %v\n", err)
		os.Exit(1)
	}
}

// serve answers requests, one JSON object a line.
func serve(ctx context.Context, mode string, in io.Reader, out io.Writer) error {
	tools := benchTools(mode)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := json.NewEncoder(out).Encode(benchAnswer(ctx, tools, lines.Bytes())); err != nil {
			return err
		}
	}
	return lines.Err()
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
