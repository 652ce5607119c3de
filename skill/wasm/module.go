package wasm

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/skill"
)

// module is a module that is compiled on its first run. The garbage collector frees its
// memory.
type module struct {
	memory int // MiB of an instance
	once   sync.Once
	ready  chan struct{} // closed when the fields below may be read

	code     []byte // until it is compiled
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	err      error
}

func newModule(code []byte, memory int) *module {
	return &module{code: code, memory: memory, ready: make(chan struct{})}
}

// await compiles the module once. A call that times out stops waiting, and the module
// goes on compiling for the next one.
func (m *module) await(ctx context.Context) error {
	m.once.Do(func() {
		go func() {
			defer close(m.ready)
			m.err = panics.Try(nil, "compiling a module", func() error { return m.compile(context.WithoutCancel(ctx)) })
			m.code = nil
		}()
	})
	select {
	case <-m.ready:
		return m.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *module) compile(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			_ = panics.Report(nil, "compiling a module", p) // it is logged
			err = errors.New("the module cannot be compiled: the compiler gave up")
		}
	}()
	const pagesOfMiB = 16
	// An interpreter: its preparation takes time and memory in proportion to the module's
	// size. A compiler of machine code takes hours for some modules of a few kilobytes.
	m.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithMemoryLimitPages(uint32(m.memory)*pagesOfMiB).
		WithCloseOnContextDone(true).
		WithDebugInfoEnabled(false))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return fmt.Errorf("preparing WASI: %w", err)
	}
	if m.compiled, err = m.runtime.CompileModule(ctx, m.code); err != nil {
		return fmt.Errorf("the module cannot be compiled: %s", firstLine(err))
	}
	if _, ok := m.compiled.ExportedFunctions()["_start"]; !ok {
		return errors.New("the module exports no _start: build it as a WASI preview 1 command")
	}
	return nil
}

// run runs a fresh instance to its end and returns what it has written.
func (m *module) run(ctx context.Context, name string, stdin []byte) ([]byte, error) {
	if err := m.await(ctx); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stdout, stderr := &output{full: stop}, printable.NewKeeper(1<<10, 4<<10)
	config := wazero.NewModuleConfig().WithName("").WithArgs(name).
		WithStdin(bytes.NewReader(stdin)).WithStdout(stdout).WithStderr(stderr).
		WithRandSource(rand.Reader).
		WithWalltime(second, sys.ClockResolution(time.Second/2)) // the runtime refuses a whole second
	instance, err := m.runtime.InstantiateModule(ctx, m.compiled, config)
	if instance != nil {
		_ = instance.Close(ctx) // it has nothing to save
	}
	switch {
	case stdout.over:
		return nil, fmt.Errorf("it wrote more than %d bytes", skill.MaxResult)
	case err != nil:
		return nil, failure(err, printable.Excerpt(stderr.Bytes(), nil))
	}
	return stdout.text.Bytes(), nil
}

// second returns the time in seconds, all that modules see of it.
func second() (sec int64, nsec int32) { return time.Now().Unix(), 0 }

// failure says how an instance ended, with its standard error.
func failure(err error, complaint string) error {
	text := firstLine(err)
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		text = fmt.Sprintf("exit code %d", exit.ExitCode())
	}
	if complaint != "" {
		text += ": " + complaint
	}
	return errors.New(text)
}

// firstLine returns an error of the runtime without its stack trace.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// output keeps the output of an instance, and stops the instance if it writes too much.
type output struct {
	text bytes.Buffer
	over bool
	full func()
}

func (o *output) Write(p []byte) (int, error) {
	if o.over = o.over || o.text.Len()+len(p) > skill.MaxResult; o.over {
		o.full()
		return 0, errors.New("full")
	}
	return o.text.Write(p)
}
