// Package skilltest is the conformance suite of skill providers: what package
// skill promises, tried on the skills that a provider makes.
//
// An adapter's test is a few lines: a function that returns a [Harness], which is
// handed to [Test].
package skilltest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/etui-run/etui/skill"
)

// Secret is a text to be put where the provider's skills keep theirs, for example
// into a header or a variable named API_TOKEN. The suite finds it nowhere.
const Secret = "skilltest-S3cret/+\"quoted"

// Harness says how skills of a provider are made that behave in certain ways. A
// config without a name stands for what the provider's skills cannot do: the case
// is skipped. Names, parameters and timeouts are the suite's to change.
type Harness struct {
	Provider skill.Provider
	// Start returns the skill that is to be executed for one that was loaded.
	// Nil means the loaded one itself. For a [skill.Server] it is one of the tools
	// that it brings, started; t.Cleanup stops it.
	Start func(t *testing.T, loaded skill.Skill) skill.Skill

	// Echo returns its arguments as its result. It is required.
	Echo skill.Config
	// Fails says that it failed, for a reason of its own.
	Fails skill.Config
	// Slow does not end by itself, or not within a minute.
	Slow skill.Config
	// Unavailable runs where nothing answers.
	Unavailable skill.Config
	// Rubbish returns what is no JSON.
	Rubbish skill.Config
	// Large returns more than [skill.MaxResult] bytes.
	Large skill.Config
	// Panics panics, or breaks down in the way that comes nearest to it.
	Panics skill.Config
	// Leaks return or fail with [Secret] in their results and errors.
	Leaks []skill.Config

	// Bad are configs that Load refuses, by a word that the error must hold: the
	// key in the file.
	Bad map[string]skill.Config
}

// Test runs the suite. make is called once for each case, so what it opens is to
// be closed with t.Cleanup: no goroutine may be left behind then. The cases run
// one after the other.
func Test(t *testing.T, make func(t *testing.T) Harness) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after all that make asks for
			c.test(t, make(t))
		})
	}
}

// testCase is one thing that every provider does.
type testCase struct {
	name string
	test func(*testing.T, Harness)
}

// load makes a skill as etui does, and skips what the provider cannot do.
func (h Harness) load(t *testing.T, config skill.Config) skill.Skill {
	t.Helper()
	if config.Name == "" {
		t.Skip("the provider's skills cannot do that")
	}
	if config.Description == "" {
		config.Description = "Does what a test needs."
	}
	s, err := h.Provider.Load(config)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	if err := skill.Check(s); err != nil {
		t.Fatalf("the skill is not fit for use: %v", err)
	}
	return s
}

// start makes a skill that can be executed.
func (h Harness) start(t *testing.T, config skill.Config) skill.Skill {
	t.Helper()
	s := h.load(t, config)
	if h.Start != nil {
		s = h.Start(t, s)
	}
	return s
}
