package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
)

// benchCapabilities are what a case may need.
func benchCapabilities(mode string) []string {
	list := []string{"run_case"}
	if s, err := sandbox.New(sandbox.Config{Mode: sandbox.Mode(mode)}); err == nil && s.Mode() == sandbox.Strong {
		list = append(list, "private_loopback")
	}
	return list
}

type execRequest struct {
	Cmd, Workspace, Cwd string
	Timeout             float64 `json:"timeout_s"`
}

// benchExec answers exec: it runs a command line in the workspace.
func benchExec(mode string) func(context.Context, execRequest) (map[string]any, error) {
	programs := sync.OnceValues(func() (*sandbox.Sandbox,
		error) {
		return sandbox.New(sandbox.Config{Mode: sandbox.Mode(mode)})
	})
	return func(ctx context.Context, request execRequest) (map[string]any, error) {
		s, err := programs()
		if err != nil {
			return benchRefusal(err)
		}
		dir, err := benchFolder(request.Workspace, request.Cwd)
		if err != nil {
			return benchRefusal(err)
		}
		guard, err := protect.New(protect.Config{Dir: request.Workspace, Names: benchNames(request.Workspace),
			Mode: s.Mode()})
		if err != nil {
			return benchRefusal(err)
		}
		defer func() { _ = guard.Close() }() // the workspace is the bench's
		sealed, err := guard.Begin()
		if err != nil {
			return benchRefusal(err)
		}
		result, err := s.Run(ctx, sandbox.Command{
			Args: []string{"sh", "-c", request.Cmd}, Dir: dir, Workspace: request.Workspace, Folder: guard.Folder(),
			Sealed: sealed,
			Limits: sandbox.Limits{Wall: time.Duration(request.Timeout * float64(time.Second))},
		})
		done := guard.End()
		if errors.Is(err, sandbox.ErrRefused) {
			return benchRefusal(err)
		}
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"ok": result.Exit == 0, "exit": result.Exit,
			"output":  printable.Text(result.Stdout.String()) + printable.Text(result.Stderr.String()),
			"refused": false, "error": string(result.Limit), "mode": string(result.Mode),
			"put_back": done,
		}, nil
	}
}

// benchNames returns what configures etui in the workspace of a bench.
func benchNames(workspace string) []string {
	return []string{filepath.Join(workspace, config.File), filepath.Join(workspace, "skills")}
}

func benchRefusal(err error) (map[string]any, error) {
	return map[string]any{"refused": true, "exit": -1}, err
}

// benchFolder is the folder to run in: one of the workspace.
func benchFolder(workspace, dir string) (string, error) {
	if filepath.IsAbs(dir) {
		var err error
		if dir, err = filepath.Rel(workspace, dir); err != nil {
			return "", err
		}
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(cmp.Or(dir, "."))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", dir)
	}
	return filepath.Join(workspace, dir), err
}
