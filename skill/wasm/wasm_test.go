package wasm_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/skilltest"
	"github.com/etui-run/etui/skill/wasm"
)

// config is a skill of a module in a folder of its own.
func config(t *testing.T, name string, code []byte) skill.Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.wasm"), code, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return skill.Config{Name: name, Description: "Does what a test needs.", Module: "run.wasm", Memory: 4, Folder: root}
}

// program is testdata/program, compiled once for all tests.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, ".")
	build.Dir, build.Env = "testdata/program", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	return os.ReadFile(file)
})

func TestConformance(t *testing.T) {
	skilltest.Test(t, func(t *testing.T) skilltest.Harness {
		bad := func(code []byte, change func(*skill.Config)) skill.Config {
			c := config(t, "bad", code)
			change(&c)
			return c
		}
		return skilltest.Harness{
			Provider: wasm.New(),
			Echo:     config(t, "echo", copier()),
			Fails:    config(t, "fails", unknown()),
			Slow:     config(t, "slow", endless()),
			Rubbish:  config(t, "rubbish", assemble(nil, 1)),
			Panics:   config(t, "panics", hungry()),
			Bad: map[string]skill.Config{
				"module: it is missing":       bad(nil, func(c *skill.Config) { c.Module = "" }),
				"module: run.wasm is not a W": bad([]byte("#!/bin/sh"), func(*skill.Config) {}),
				"module: .: it is a folder":   bad(nil, func(c *skill.Config) { c.Module = "." }),
				"gone.wasm":                   bad(nil, func(c *skill.Config) { c.Module = "gone.wasm" }),
				"escapes":                     bad(copier(), func(c *skill.Config) { c.Module = "../run.wasm" }),
				"memory":                      bad(copier(), func(c *skill.Config) { c.Memory = 4096 }),
			},
		}
	})
}

// A real program: what it may do, and what becomes of it when it goes wrong.
func TestProgram(t *testing.T) {
	code, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, "program", code)
	c.Memory = 16
	t.Setenv("ETUI_SECRET", "s3cret")
	s, err := wasm.New().Load(c)
	if err != nil {
		t.Fatal(err)
	}
	for does, want := range map[string]string{
		"echo":     `{"got":{"does":"echo"}}`,
		"escape":   `[]`,
		"fail":     "the skill failed: exit code 3: first\nno such city",
		"panic":    "panic: oh no",
		"nothing":  "the skill failed: the answer is empty, not JSON",
		"text":     "not one JSON value",
		"allocate": "out of memory",
		"flood":    "the skill failed: it wrote more than 1048576 bytes",
	} {
		result, err := skill.Execute(t.Context(), s, []byte(`{"does":"`+does+`"}`))
		if err == nil {
			if got, ok := result.(interface{ MarshalJSON() ([]byte, error) }); !ok {
				t.Errorf("%s: %v", does, result)
			} else if raw, _ := got.MarshalJSON(); string(raw) != want {
				t.Errorf("%s: %s", does, raw)
			}
			continue
		}
		if !errors.Is(err, skill.ErrExecutionFailed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", does, err)
		}
	}
}

func TestUnusable(t *testing.T) {
	greedy := config(t, "greedy", assemble(nil, 17))
	greedy.Memory = 1
	for want, c := range map[string]skill.Config{
		"system":        config(t, "unknown", unknown()),
		"_start":        config(t, "stranger", stranger()),
		"be compiled":   config(t, "odd", huge(3, 1, 7)),
		"over limit":    greedy,
		"unreachable":   config(t, "hungry", hungry()),
		"unreachable, ": config(t, "rampant", rampant()),
	} {
		want = strings.TrimSuffix(want, ", ")
		s, err := wasm.New().Load(c)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		for range 2 {
			if _, err := s.Execute(t.Context(), []byte("{}")); !errors.Is(err, skill.ErrExecutionFailed) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
	}
}

// A few bytes that ask for all memory there is are refused before the runtime
// sees them.
func TestHuge(t *testing.T) {
	many := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	counted := func(id byte, before ...byte) []byte { return huge(id, append(before, many...)...) }
	modules := map[string][]byte{
		"cut": copier()[:60], "section": append(stranger(), append([]byte{1}, many...)...), "locals": huge(10, slices.Concat([]byte{1, 8, 1}, many, []byte{0x7f, 0x0b})...),
		"parameters": counted(1, 1, 0x60), "results": counted(1, 1, 0x60, 0), "import": counted(2, 1), "imported table": huge(2, 1, 0, 0, 1, 0x70, 0, 0),
		"table": huge(4, slices.Concat([]byte{1, 0x70, 0}, many)...), "tables": huge(4, slices.Concat([]byte{3}, slices.Repeat([]byte{0x70, 0, 0x80, 0x80, 0x20}, 3))...),
		"export": counted(7, 1), "elements": counted(9, 1, 0, push, 0, end), "expressions": counted(9, 1, 5, 0x70), "body": counted(10, 1), "data": counted(11, 1, 1),
		"many parameters": huge(1, slices.Concat([]byte{1, 0x60, 101}, make([]byte, 101), []byte{0})...), "many results": huge(1, slices.Concat([]byte{1, 0x60, 0, 9}, make([]byte, 9))...),
		"long function": huge(10, slices.Concat([]byte{1}, number(9<<20), make([]byte, 9<<20))...),
		"tags":          counted(13), "number": huge(3, 0x80, 0x80, 0x80, 0x80, 0x80, 1),
	}
	for id := range byte(12) {
		if id != 0 && id != 8 {
			modules[fmt.Sprint("section ", id)] = counted(id)
		}
	}
	for name, code := range modules {
		if _, err := wasm.New().Load(config(t, "huge", code)); err == nil || !strings.HasPrefix(err.Error(), "module: the module is not well-formed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBombs: some kilobytes of loops and variables, for which compilers of machine code take
// hours and gigabytes, run like any others.
func TestBombs(t *testing.T) {
	const n = 4000
	loops, back := bytes.Repeat([]byte{loop, nothing}, n), bytes.Repeat([]byte{push, 0, 0x0d, 0, end}, n)
	var reads []byte
	for i := range n {
		reads = append(append(append(reads, 0x20), number(i)...), drop)
	}
	for name, body := range map[string][]byte{"loops": slices.Concat(loops, back), "variables in loops": slices.Concat(loops, reads, back)} {
		c := config(t, "bomb", assembleWith(n, body))
		c.Timeout = time.Minute
		s, err := wasm.New().Load(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Execute(t.Context(), []byte("{}")); errors.Is(err, skill.ErrProviderTimeout) || err == nil || !strings.Contains(err.Error(), "JSON") {
			t.Errorf("%s: %v, want that it writes no JSON", name, err)
		}
	}
}

// Whatever a file holds, loading it and running it do no harm.
func FuzzModule(f *testing.F) {
	for _, code := range [][]byte{copier(), hungry(), unknown(), rampant(), endless(), huge(3, 1, 7)} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		c := config(t, "fuzz", code)
		c.Memory, c.Timeout = 1, 100*time.Millisecond
		s, err := wasm.New().Load(c)
		if err != nil {
			return
		}
		_, err = s.Execute(t.Context(), []byte("{}"))
		if err != nil && !errors.Is(err, skill.ErrExecutionFailed) && !errors.Is(err, skill.ErrProviderTimeout) {
			t.Error(err)
		}
	})
}
