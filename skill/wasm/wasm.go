// Package wasm makes skills of WebAssembly modules. A module is a WASI preview 1
// command: it reads the arguments from standard input as a JSON object, writes the
// one JSON value that is its result to standard output, and ends.
//
// A module only computes: it has random numbers and a clock that shows seconds, but no
// files, network, environment or threads. Each call has a fresh instance with a memory
// limit and a time limit, and at most 2,000 calls within each other. After a trap,
// an exit code other than 0 or too little memory the call fails with
// [skill.ErrExecutionFailed]. A module that runs too long is stopped
// ([skill.ErrProviderTimeout]).
package wasm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etui-run/etui/skill"
)

const (
	maxModule     = 32 << 20 // bytes of a module's file
	defaultMemory = 64       // MiB of an instance
	maxMemory     = 1024
	maxInstances  = 8 // of all skills at once; further calls wait
)

// Provider makes skills of modules. It is safe for concurrent use.
type Provider struct{ places chan struct{} }

var _ skill.Provider = (*Provider)(nil)

// New returns a provider. It runs at most 8 instances at once; further calls
// wait, as long as their time allows.
func New() *Provider { return &Provider{make(chan struct{}, maxInstances)} }

// Type is "wasm".
func (*Provider) Type() string { return "wasm" }

// Load makes a skill. It reads the module, 32 MiB at most; the first call prepares it.
func (p *Provider) Load(c skill.Config) (skill.Skill, error) {
	memory := cmp.Or(c.Memory, defaultMemory)
	if memory < 1 || memory > maxMemory {
		return nil, fmt.Errorf("memory: %d is not between 1 and %d (mebibytes)", memory, maxMemory)
	}
	code, err := read(c)
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	return &runner{c.Describe(p.Type()), newModule(code, memory), p.places}, nil
}

// read reads the module's file, which lies below the folder of the skill's file.
func read(c skill.Config) ([]byte, error) {
	switch {
	case c.Module == "":
		return nil, errors.New("it is missing; name the file of the module, as in convert.wasm")
	case c.Folder == nil:
		return nil, errors.New("only a skill that is a file has a folder with modules")
	}
	code, err := skill.ReadFile(c.Folder, c.Module, maxModule)
	switch {
	case errors.Is(err, skill.ErrTooLong):
		return nil, fmt.Errorf("%s is larger than %d MiB", c.Module, maxModule>>20)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", c.Module, err)
	case !bytes.HasPrefix(code, []byte("\x00asm\x01\x00\x00\x00")):
		return nil, fmt.Errorf("%s is not a WebAssembly module (of version 1; components are not taken)", c.Module)
	}
	return bounded(code)
}

// runner is a skill that runs a fresh instance of a module for each call.
type runner struct {
	skill.Described
	module *module
	places chan struct{}
}

var _ skill.DetailedSkill = (*runner)(nil)

// Execute runs the module once.
func (r *runner) Execute(ctx context.Context, args json.RawMessage) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout,
		fmt.Errorf("%w: it was stopped after %s", skill.ErrProviderTimeout, r.Timeout))
	defer cancel()
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-ctx.Done():
		return nil, ended(ctx)
	}
	out, err := r.module.run(ctx, r.Name(), args)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ended(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", skill.ErrExecutionFailed, err)
	}
	return skill.Answer(out, skill.Redactor{})
}

// ended turns the end of a context into a failure of a skill.
func ended(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", skill.ErrProviderTimeout, err)
	}
	return err
}
