// Package skilltest is the conformance suite of skill providers: it tests what
// package skill promises on the skills that a provider makes.
//
// An adapter's test is a few lines: it calls [Test] with a function that returns a
// [Harness].
package skilltest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/etui-run/etui/skill"
)

// Secret is a text to put where the provider's skills keep theirs, for example into
// a header or a variable named API_TOKEN. The suite checks that it shows up nowhere.
const Secret = "skilltest-S3cret/+\"quoted"

// Harness holds configs of skills that behave in certain ways. A config without a
// name means that the provider's skills cannot do that: the case is skipped. The
// suite may change names, parameters and timeouts.
type Harness struct {
	Provider skill.Provider
	// Start returns the skill to execute for a loaded one. Nil means the loaded one
	// itself. For a [skill.Server] it is one of its tools, started; t.Cleanup stops
	// it.
	Start func(t *testing.T, loaded skill.Skill) skill.Skill

	// Echo returns its arguments as its result. It is required.
	Echo skill.Config
	// Fails says that it failed, for a reason of its own.
	Fails skill.Config
	// Slow runs for a minute or more.
	Slow skill.Config
	// Unavailable runs where nothing answers.
	Unavailable skill.Config
	// Rubbish returns something other than JSON.
	Rubbish skill.Config
	// Large returns more than [skill.MaxResult] bytes.
	Large skill.Config
	// Panics panics, or does what comes nearest to it.
	Panics skill.Config
	// Leaks return or fail with [Secret] in their results and errors.
	Leaks []skill.Config

	// Bad are configs that Load refuses, by the key that the error must name.
	Bad map[string]skill.Config
}

// Test runs the suite, one case after the other. It calls make for each case; make
// closes what it opens with t.Cleanup, after which no goroutine may be left.
func Test(t *testing.T, make func(t *testing.T) Harness) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) }) // runs after the cleanups of make
			c.test(t, make(t))
		})
	}
}

// testCase is one thing that every provider must do.
type testCase struct {
	name string
	test func(*testing.T, Harness)
}

// load makes a skill as etui does, and skips the case without a config.
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
