// Package lang says what the unit-test agent must know about a programming language. A
// language costs a folder with a [Language] in it, and one line in the list of the program.
//
// What holds for every language:
//
//   - The target's own files are never changed. Commands run in [Project.Bench], a copy of
//     the project that the host keeps equal to it before each command; what they write
//     there is never copied back. The host writes tests, and only where [Language.IsTest]
//     allows it.
//   - Programs run through [Project.Run] alone, which is etui's sandbox: without network,
//     with limits. A JVM needs more than 1 GB of address space; see [Project.Run].
//   - Everything that a language returns is bounded: the Max constants say how far. What is
//     more is left out, and the texts say so.
//   - A target or a test that makes no sense is a [Problem] or an error in plain words, never
//     a panic: a model reads them, and says what to do next.
//   - Languages have no state. They are safe for concurrent use on different benches.
//
// Paths of files are relative to the project with slashes, as in "src/main/java/shop/Price.java".
package lang

import (
	"context"
	"time"
)

// The bounds of what a language returns.
const (
	MaxSource    = 1 << 20 // bytes of a target
	MaxFunctions = 200     // of an analysis
	MaxBranches  = 500
	MaxBounds    = 200
	MaxProblems  = 50
	MaxCases     = 2000
	MaxMessage   = 2 << 10 // bytes of the message of a problem or a case
	MaxMutants   = 200
)

// Language is how the agent reads, tests and mutates the code of a language.
type Language interface {
	// Name is a short word: "go", "java".
	Name() string
	// Marks are names of files that lie at the root of a project, as "go.mod".
	Marks() []string
	// Takes reports whether a file, by its name alone, is a target of this language: source
	// code that can have tests. Files of tests are none.
	Takes(file string) bool
	// IsTest reports whether a file, by its name alone, is a file of tests: the only ones
	// that are written. For Java it is below the test folder, too.
	IsTest(file string) bool
	// TestFile returns where new tests of a target go. With n = 0 it is the usual name; a
	// greater n gives another one each, for when there is such a file already.
	TestFile(p *Project, target string, n int) (string, error)
	// Ready returns nil if tests of the project can run here. Otherwise the error says in a
	// sentence what is missing and how it is installed.
	Ready(p *Project) error
	// Analyze reads a target. It runs no program.
	Analyze(p *Project, target string) (*Analysis, error)
	// Style tells how tests are written in the project, for tests of a target: the
	// framework, naming, assertions, and one short existing test, if there is any. It runs no
	// program.
	Style(p *Project, target string) (*Style, error)
	// Check compiles the project with its tests, and returns what is wrong in the given files
	// of tests (or because of them); none means that they compile. An error means that it
	// could not be found out.
	Check(ctx context.Context, p *Project, tests []string) ([]Problem, error)
	// Test runs tests. Tests that fail or do not compile are no error: the report has them.
	Test(ctx context.Context, p *Project, run Run) (*Report, error)
	// Mutants returns small changes of a target, each of which a good test should notice: an
	// operator, a boundary, a returned value. Lines that cannot matter (logging, comments)
	// have none. Order: by position. It runs no program.
	Mutants(p *Project, target string) ([]Mutant, error)
}

// Analysis is the structure of a target.
type Analysis struct {
	File      string     `json:"file"`
	Language  string     `json:"language"`
	Package   string     `json:"package"`
	Lines     int        `json:"lines"`
	Imports   []string   `json:"imports,omitempty"`
	Types     []Type     `json:"types,omitempty"`
	Functions []Function `json:"functions"`
}

// Type is a type that the target declares.
type Type struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // class, interface, record, enum, struct, ...
	Line int    `json:"line"`
	// Members are its fields, constants of an enum, or methods of an interface, as they are
	// written.
	Members []string `json:"members,omitempty"`
}

// Function is a function, a method or a constructor.
type Function struct {
	// Name is that of the function; for a method with its type before it: "Price.total".
	Name string `json:"name"`
	// Signature is as it is written, without the body.
	Signature string `json:"signature"`
	Doc       string `json:"doc,omitempty"`
	Line      int    `json:"line"`
	End       int    `json:"end"`
	// Public says that tests can call it. Complexity is one more than its branches.
	Public     bool       `json:"public"`
	Complexity int        `json:"complexity"`
	Branches   []Branch   `json:"branches,omitempty"`
	Boundaries []Boundary `json:"boundaries,omitempty"`
	// Failures are the errors or exceptions that it can give, as they are written.
	Failures []string `json:"failures,omitempty"`
}

// Branch is a place where a function goes on in one of several ways.
type Branch struct {
	Line int `json:"line"`
	// Kind is if, else, case, default, loop, and, or, ternary, catch or another short word.
	Kind      string `json:"kind"`
	Condition string `json:"condition,omitempty"`
}

// Boundary is a comparison whose neighbourhood tests should try.
type Boundary struct {
	Line      int    `json:"line"`
	Condition string `json:"condition"`
	// Values are what to try, as expressions: "9", "10", "11"; "null"; `""`.
	Values []string `json:"values"`
}

// Style is how tests are written in a project.
type Style struct {
	Framework string `json:"framework"` // "JUnit 5", "testing"
	// File is where new tests of the target go, and Naming how tests are called.
	File   string `json:"file"`
	Naming string `json:"naming"`
	// Notes are more habits, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// Example is a short existing test of the project, with its file; empty if there is none.
	ExampleFile string `json:"example_file,omitempty"`
	Example     string `json:"example,omitempty"`
	// Skeleton is an empty file of tests that compiles once tests are put into it.
	Skeleton string `json:"skeleton"`
}

// Problem is why something does not compile.
type Problem struct {
	File    string `json:"file"` // relative to the project; empty if unknown
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// Run says which tests to run.
type Run struct {
	// Target is the file whose coverage is measured; empty measures none.
	Target string
	// Tests are the only files of tests to run; empty means those near the target.
	Tests []string
	// Case, when not empty, is the only test to run, by the name of a [Case].
	Case string
	// Timeout is how long the tests may take; 0 means two minutes. A compiler that runs
	// apart has two minutes of its own.
	Timeout time.Duration
}

// Outcome is how a test ended.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"  // an assertion did not hold
	Errored Outcome = "errored" // it panicked, threw, or did not end
	Skipped Outcome = "skipped"
)

// Case is a test that ran.
type Case struct {
	// Name tells it apart, and [Run.Case] takes it: "TestTotal/empty", "shop.PriceTest#plain".
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Message is what the failure says, with the place where it happened.
	Message string  `json:"message,omitempty"`
	File    string  `json:"file,omitempty"`
	Line    int     `json:"line,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Report is what a run of tests gave.
type Report struct {
	// Problems are why the tests do not compile; then there are no cases.
	Problems []Problem `json:"problems,omitempty"`
	Cases    []Case    `json:"cases"`
	// Coverage is that of the target; nil if it was not measured, as after a crash of the
	// test program: that is not the same as 0 %.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Note says in a sentence what is unusual about the run: it was cut off, a limit.
	Note string `json:"note,omitempty"`
	// Cut says that the run ended before all tests had: by a limit, or a crash of the test
	// program. Such a run is not green, whatever its cases say; Note says why.
	Cut bool `json:"cut,omitempty"`
	// Command is what ran, for people.
	Command string `json:"command,omitempty"`
}

// Count returns how many cases ended so.
func (r *Report) Count(o Outcome) (n int) {
	for _, c := range r.Cases {
		if c.Outcome == o {
			n++
		}
	}
	return n
}

// Green reports whether all compiled, something ran to its end and nothing failed.
func (r *Report) Green() bool {
	return !r.Cut && len(r.Problems) == 0 && r.Count(Passed) > 0 && r.Count(Failed)+r.Count(Errored) == 0
}

// Coverage says which lines and branches of a file ran.
type Coverage struct {
	File string `json:"file"`
	// Lines are those with code, ascending.
	Lines []Line `json:"lines"`
}

// Line is a line with code.
type Line struct {
	Line int `json:"line"`
	// Hits is how often it ran; where the language knows only whether, 1.
	Hits int `json:"hits"`
	// Branches are how many ways go on from the line, and Taken how many of them were taken.
	Branches int `json:"branches,omitempty"`
	Taken    int `json:"taken,omitempty"`
	// Open says in words which branches were not taken, where the language knows it.
	Open []string `json:"open,omitempty"`
}

// Counts returns how many lines and branches there are, and how many ran.
func (c *Coverage) Counts() (lines, ran, branches, taken int) {
	if c == nil {
		return
	}
	for _, l := range c.Lines {
		lines++
		if l.Hits > 0 {
			ran++
		}
		branches += l.Branches
		taken += l.Taken
	}
	return lines, ran, branches, taken
}

// Percent returns the shares of lines and branches that ran. Without branches the second one
// is the first one.
func (c *Coverage) Percent() (line, branch float64) {
	lines, ran, branches, taken := c.Counts()
	if lines > 0 {
		line = 100 * float64(ran) / float64(lines)
	}
	if branches == 0 {
		return line, line
	}
	return line, 100 * float64(taken) / float64(branches)
}

// Mutant is a changed target.
type Mutant struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	// Before and After are the changed expression.
	Before string `json:"before"`
	After  string `json:"after"`
	// Source is the whole changed target. It compiles, as far as the language can tell
	// without a compiler; one that does not counts as not tried.
	Source []byte `json:"-"`
}
