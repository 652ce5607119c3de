package golang_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/unittest/lang"
	"example.com/unittest/lang/golang"
	"github.com/etui-run/etui/sandbox"
)

const target = "rate/rate.go"

// project is a copy of the sample.
func project(t *testing.T) *lang.Project {
	t.Helper()
	dir := t.TempDir()
	box, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	cache, err := os.UserCacheDir() // compiling the standard library takes ten seconds once
	if err != nil {
		t.Fatal(err)
	}
	p := &lang.Project{Root: filepath.Join(dir, "project"), Bench: filepath.Join(dir, "bench"), Cache: filepath.Join(cache, "unittest-"+string(box.Mode())), Sandbox: box}
	for _, d := range []string{p.Bench, p.Cache} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(p.Root, os.DirFS("../../samples/go")); err != nil {
		t.Fatal(err)
	}
	if err := golang.New().Ready(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, p *lang.Project, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.Root, file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	p, g := project(t), golang.New()
	write(t, p, "rate/rate_test.go", `package rate

import "testing"

func TestQuote(t *testing.T) {
	got, err := Quote(Parcel{Grams: 500}, Domestic)
	if err != nil || got != 390 {
		t.Errorf("Quote = %d, %v", got, err)
	}
	t.Run("wrong", func(t *testing.T) {
		if got, _ := Quote(Parcel{Grams: 500}, Europe); got != 1 {
			t.Errorf("Quote = %d, want 1", got)
		}
	})
}

func TestPanics(t *testing.T) {
	defer func() { _ = recover() }()
	var m map[string]int
	m["x"] = 1
}
`)
	r, err := g.Test(t.Context(), p, lang.Run{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	if r.Count(lang.Passed) != 2 || r.Count(lang.Failed) != 1 || r.Green() {
		t.Errorf("cases: %+v", r.Cases)
	}
	for _, c := range r.Cases {
		if c.Outcome == lang.Failed && (c.Name != "TestQuote/wrong" || c.File != "rate/rate_test.go" || c.Line != 12 || !strings.Contains(c.Message, "want 1")) {
			t.Errorf("the failure: %+v", c)
		}
	}
	lines, ran, branches, taken := r.Coverage.Counts()
	if lines != 44 || ran != 16 || branches != 25 || taken != 8 {
		t.Errorf("%d of %d lines, %d of %d branches: %+v", ran, lines, taken, branches, r.Coverage)
	}
}

// TestSource reads the sample without running anything.
func TestSource(t *testing.T) {
	t.Parallel()
	p, g := &lang.Project{Root: "../../samples/go"}, golang.New()
	a, err := g.Analyze(p, target)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]lang.Function{}
	for _, f := range a.Functions {
		by[f.Name] = f
	}
	quote, tier := by["Quote"], by["tier"]
	if a.Package != "rate" || len(a.Types) != 2 || len(a.Functions) != 4 || !quote.Public || tier.Public || quote.Signature != "func Quote(p Parcel, to Zone) (int, error)" || len(quote.Failures) != 2 {
		t.Errorf("the analysis: %+v", a)
	}
	if b := tier.Boundaries[0]; b.Condition != "grams <= 2_000" || !slices.Equal(b.Values, []string{"1999", "2000", "2001"}) {
		t.Errorf("the boundaries of tier: %+v", tier.Boundaries)
	}
	mutants, err := g.Mutants(p, target)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for i, m := range mutants {
		found = found || m.Before == "grams <= 2_000" && m.After == "grams < 2_000" && strings.Contains(string(m.Source), "\tif grams < 2_000 {")
		if i > 0 && m.Line < mutants[i-1].Line {
			t.Errorf("mutants are not in order: %d after %d", m.Line, mutants[i-1].Line)
		}
	}
	if !found || len(mutants) < 20 {
		t.Errorf("%d mutants: %+v", len(mutants), mutants)
	}
	s, err := g.Style(p, target)
	if err != nil || s.File != "rate/rate_test.go" || s.ExampleFile != "rate/zone_test.go" || !strings.HasPrefix(s.Example, "func TestZoneOf(") {
		t.Errorf("the style: %+v, %v", s, err)
	}
}

// TestCheck compiles tests and reads what the compiler says; a test that panics has no coverage.
func TestCheck(t *testing.T) {
	t.Parallel()
	p, g := project(t), golang.New()
	for _, c := range []struct{ text, want string }{
		{"package rate\n\nfunc TestX(t *testing.T) {\n\tx := undefined\n}\n", "rate/x_test.go:3:15: undefined: testing|rate/x_test.go:4:2: declared and not used: x|rate/x_test.go:4:7: undefined: undefined"},
		{"package rate\n\nfunc (\n", "rate/x_test.go:"},
		{"package rate\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { panic(\"no\") }\n", ""},
	} {
		write(t, p, "rate/x_test.go", c.text)
		problems, err := g.Check(t.Context(), p, []string{"rate/x_test.go"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range problems {
			got = append(got, fmt.Sprintf("%s:%d:%d: %s", one.File, one.Line, one.Column, one.Message))
		}
		if said := strings.Join(got, "|"); (c.want == "") != (said == "") || !strings.HasPrefix(said, c.want) {
			t.Errorf("%q: %s, want %s", c.text, said, c.want)
		}
	}
	r, err := g.Test(t.Context(), p, lang.Run{Target: target, Case: "TestX"})
	if err != nil || r.Coverage != nil || len(r.Cases) != 1 || r.Cases[0].Outcome != lang.Errored || !strings.Contains(r.Cases[0].Message, "no") {
		t.Errorf("the panic: %+v, %v", r, err)
	}
}

// TestCut has tests that never end: the run is cut off, and not green.
func TestCut(t *testing.T) {
	t.Parallel()
	p, g := project(t), golang.New()
	write(t, p, "rate/x_test.go", "package rate\n\nimport \"testing\"\n\nfunc TestEnds(t *testing.T) {}\n\nfunc TestForever(t *testing.T) { select {} }\n\nfunc TestExits(t *testing.T) { t.Log(1) }\n")
	r, err := g.Test(t.Context(), p, lang.Run{Target: target, Timeout: 5 * time.Second})
	if err != nil || r.Green() || r.Count(lang.Passed) != 1 || r.Count(lang.Errored) != 1 {
		t.Errorf("the report: %+v, %v", r, err)
	}
	write(t, p, "rate/x_test.go", "package rate\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestEnds(t *testing.T) {}\n\nfunc TestExits(t *testing.T) { os.Exit(0) }\n")
	r, err = g.Test(t.Context(), p, lang.Run{Target: target})
	if err != nil || r.Green() {
		t.Errorf("the report of a test that exits: %+v, %v", r, err)
	}
}
