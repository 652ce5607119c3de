// Package command makes skills of programs on this machine: a program gets the
// arguments on its standard input as a JSON object, and its result is the one JSON value
// that it writes to its standard output.
//
// Exit status 0 means success. With any other status the call fails with
// [skill.ErrExecutionFailed] and an excerpt of the standard error. A program that takes
// longer than its timeout is killed with its children ([skill.ErrProviderTimeout]).
// Secrets of the config are removed from its output.
//
// The sandbox decides how programs are isolated. Where it isolates them, a program can
// read its skill's folder, write only its TMPDIR, and reach the hosts of its config.
// Where it runs no programs, skills load with an unmet requirement and fail with
// [skill.ErrProviderUnavailable].
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
)

// Provider makes skills of programs. It is safe for concurrent use.
type Provider struct{ sandbox *sandbox.Sandbox }

var _ skill.Provider = (*Provider)(nil)

// New returns a provider whose programs run in a sandbox, which the caller closes.
func New(s *sandbox.Sandbox) *Provider { return &Provider{s} }

// Type is "command".
func (*Provider) Type() string { return "command" }

// Load makes a skill. It checks that the program exists and starts nothing. The program
// runs in the folder of the skill's file.
func (p *Provider) Load(c skill.Config) (skill.Skill, error) {
	if len(c.Command) == 0 {
		return nil, errors.New("command: it is missing; write the program and its arguments, as in [sh, report.sh]")
	}
	dir := "."
	if c.Folder != nil {
		dir = c.Folder.Name()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if _, err := sandbox.Find(dir, c.Command[0]); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if err := sandbox.CheckHosts(c.Network); err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	r := &runner{
		Described: c.Describe(p.Type()), sandbox: p.sandbox,
		command: sandbox.Command{Args: c.Command, Dir: dir, Env: map[string]string{}, Network: c.Network,
			MaxOutput: skill.MaxResult + 1},
	}
	for name, value := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(string(value), "\x00") {
			return nil, fmt.Errorf("env: %q cannot be the name or value of a variable", name)
		}
		r.command.Env[name] = string(value)
	}
	if err := p.sandbox.Ready(); err != nil {
		r.More.Unmet = append(r.More.Unmet, err.Error())
	}
	if len(c.Network) > 0 {
		if err := p.sandbox.Network(); err != nil {
			r.More.Unmet = append(r.More.Unmet, "network: "+err.Error())
		}
	}
	r.command.Limits.Wall = r.Timeout + time.Second // the call's own timeout comes first
	return r, nil
}

// runner is a skill that runs a program for each call.
type runner struct {
	skill.Described
	sandbox *sandbox.Sandbox
	command sandbox.Command
}

var _ skill.DetailedSkill = (*runner)(nil)

// Execute runs the program once.
func (r *runner) Execute(ctx context.Context, args json.RawMessage) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout,
		fmt.Errorf("%w: it was stopped after %s", skill.ErrProviderTimeout, r.Timeout))
	defer cancel()
	c := r.command
	c.Stdin = args
	result, err := r.sandbox.Run(ctx, c)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%w: %w", skill.ErrProviderTimeout, err)
	case ctx.Err() != nil && err != nil:
		return nil, err
	case errors.Is(err, sandbox.ErrRefused), errors.Is(err, sandbox.ErrNotFound):
		return nil, fmt.Errorf("%w: %w", skill.ErrProviderUnavailable, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %s", skill.ErrProviderUnavailable, r.Redactor.Text(err.Error()))
	case result.Limit != "":
		return nil, fmt.Errorf("%w: it was ended at its limit of %s", skill.ErrExecutionFailed, result.Limit)
	case result.Exit != 0:
		return nil, r.failure(result)
	case result.Stdout.Dropped > 0:
		return nil, fmt.Errorf("%w: it wrote more than %d bytes", skill.ErrExecutionFailed, skill.MaxResult)
	}
	return skill.Answer(result.Stdout.Bytes(), r.Redactor)
}

// failure is the error of a program that has failed, as models read it.
func (r *runner) failure(result sandbox.Result) error {
	lines := printable.Excerpt(result.Stderr.Bytes(), r.Redactor.Text)
	if len(result.Refused) > 0 {
		lines = strings.TrimPrefix(lines+"\nit was refused "+printable.List(result.Refused)+
			", which its network does not have", "\n")
	}
	if lines == "" {
		return fmt.Errorf("%w: %s without an explanation", skill.ErrExecutionFailed, result.Status)
	}
	return fmt.Errorf("%w: %s: %s", skill.ErrExecutionFailed, result.Status, lines)
}
