// Package work is what the unit-test agent does: its tools, and what they know of a run.
//
// A [Work] is one target with its tests. All its tools share it. What must outlive the process
// is in [State], which is stored in a file after each call that changes it; so a run goes on
// after kill -9 as it would have.
//
// Nothing but tests is written, and only new ones: files that were there before the run are
// never changed. Programs run in a copy of the project, in the sandbox.
package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/chat"
)

// Config says what to work on.
type Config struct {
	Project  *lang.Project
	Language lang.Language
	// Target is the file to test, relative to the project.
	Target string
	// Goal is the share of branches that tests must reach, in percent, and Mutants the share
	// of tried mutants that they must notice.
	Goal, Mutants float64
	// MaxMutants is how many mutants are tried at most; 0 means 8.
	MaxMutants int
	// Notes are folders with notes for the KnowledgeBase, beside those of the project.
	Notes []string
	// File keeps the State; empty keeps it in memory.
	File string
}

// State is what the tools know of a run.
type State struct {
	Target   string  `json:"target"`
	Language string  `json:"language"`
	Goal     float64 `json:"goal"`
	Mutants  float64 `json:"mutants"`
	// Tests are the files that the run wrote.
	Tests []string `json:"tests"`
	// Changed says that tests were written since they ran last.
	Changed bool `json:"changed"`
	// Before is the coverage that the project's own tests gave; nil if it is unknown.
	Before *lang.Coverage `json:"before,omitempty"`
	// Last is the newest run of all tests.
	Last *lang.Report `json:"last,omitempty"`
	// Runs are short reports of all runs, oldest first, at most 100.
	Runs []Brief `json:"runs,omitempty"`
	// Mutation is the newest check; nil before the first one.
	Mutation *Mutation `json:"mutation,omitempty"`
	// Uncompiled is how often tests were checked that did not compile.
	Uncompiled int `json:"uncompiled,omitempty"`
	// Wrote is the newest writing, so that a call that runs again after a crash writes the
	// same and not twice as much.
	Wrote Wrote `json:"wrote,omitzero"`
	// Began is what the first phase had; zero when unknown.
	Began Began `json:"began,omitzero"`
}

// Wrote is a call that wrote a file: its idempotency key, and what the file is by it.
type Wrote struct {
	Key     string `json:"key"`
	File    string `json:"file"`
	Content string `json:"content"`
}

// Began says which tools a phase began with, and what their definitions cost in tokens.
type Began struct {
	Tools      int `json:"tools"`
	ToolTokens int `json:"tool_tokens"`
	FullTokens int `json:"full_tokens"`
}

// Brief is a short report of a run of tests.
type Brief struct {
	Cases  int     `json:"cases"`
	Failed int     `json:"failed"`
	Line   float64 `json:"line"`
	Branch float64 `json:"branch"`
	// Note is why there are no numbers.
	Note string `json:"note,omitempty"`
}

// Mutation is a mutation check.
type Mutation struct {
	Tried    int           `json:"tried"`
	Killed   int           `json:"killed"`
	Invalid  int           `json:"invalid,omitempty"` // did not compile
	Survived []lang.Mutant `json:"survived,omitempty"`
	// Chosen are the mutants that were tried, by place and change, so that the next check
	// tries the same ones.
	Chosen []string `json:"chosen,omitempty"`
}

// Score is the share of mutants that the tests noticed, in percent; 100 if none could be
// tried.
func (m *Mutation) Score() float64 {
	if m == nil || m.Tried == 0 {
		return 100
	}
	return 100 * float64(m.Killed) / float64(m.Tried)
}

// Work is the work on one target. It is safe for concurrent use.
type Work struct {
	Config

	mu sync.Mutex // held by whoever uses the bench or the state
	st State
}

const maxRuns = 100

// Open begins the work on a target, or goes on with it where cfg.File exists.
func Open(cfg Config) (*Work, error) {
	if cfg.MaxMutants == 0 {
		cfg.MaxMutants = 8
	}
	w := &Work{Config: cfg, st: State{Target: cfg.Target, Language: cfg.Language.Name(), Goal: cfg.Goal, Mutants: cfg.Mutants, Tests: []string{}}}
	if cfg.File == "" {
		return w, nil
	}
	text, err := os.ReadFile(cfg.File)
	if errors.Is(err, fs.ErrNotExist) {
		return w, w.save()
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &w.st); err != nil {
		return nil, fmt.Errorf("%s cannot be read; remove it to begin anew: %w", cfg.File, err)
	}
	if w.st.Target != cfg.Target {
		return nil, fmt.Errorf("%s belongs to the target %s", cfg.File, w.st.Target)
	}
	return w, nil
}

// State returns a copy of what the tools know.
func (w *Work) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := w.st
	st.Tests, st.Runs = slices.Clone(st.Tests), slices.Clone(st.Runs)
	return st
}

// Began notes what the first phase began with, once.
func (w *Work) Began(b Began) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.st.Began != (Began{}) {
		return nil
	}
	w.st.Began = b
	return w.save()
}

// save stores the state: the whole file or nothing. The caller holds mu.
func (w *Work) save() error {
	if w.File == "" {
		return nil
	}
	text, err := json.Marshal(w.st)
	if err != nil {
		return err
	}
	return Store(w.File, text, 0o600)
}

// Store replaces a file: a process that is killed leaves the old or the new one.
func Store(file string, text []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Measure runs the project's own tests, once, for the coverage before the run. Tests that
// fail do not matter: what they cover counts.
func (w *Work) Measure(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.st.Before != nil || len(w.st.Runs) > 0 || len(w.st.Tests) > 0 {
		return nil
	}
	if err := w.Project.Sync(); err != nil {
		return err
	}
	r, err := w.Language.Test(ctx, w.Project, lang.Run{Target: w.Target})
	if err != nil {
		return err
	}
	if r.Coverage == nil && len(r.Problems) > 0 {
		return fmt.Errorf("the project does not compile before anything was written: %s:%d: %s", r.Problems[0].File, r.Problems[0].Line, r.Problems[0].Message)
	}
	w.st.Before = r.Coverage
	return w.save()
}

// result is what a tool says: text for the model, data for conditions and people.
func result(data any, text string) (chat.Result, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return chat.Result{}, err
	}
	if text == "" {
		text = string(raw)
	}
	return chat.Result{Text: text, View: &chat.View{Data: raw}}, nil
}

// file is the file that a tool reads: the one given, or that of the run.
func (w *Work) file(name string) (string, error) {
	if name == "" {
		return w.Target, nil
	}
	return w.Project.Relative(name)
}
