package golang_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/unittest/lang"
	"example.com/unittest/lang/golang"
	"github.com/etui-run/etui/sandbox"
)

const target = "rate/rate.go"

// project is a copy of the sample.
func project(t *testing.T) *lang.Project {
	t.Helper()
	dir := t.TempDir()
	box, err := sandbox.New(sandbox.Config{Mode: sandbox.Mode(os.Getenv("UNITTEST_SANDBOX"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	cache, err := os.UserCacheDir() // compiling the standard library takes ten seconds once
	if err != nil {
		t.Fatal(err)
	}
	p := &lang.Project{Root: filepath.Join(dir, "project"), Bench: filepath.Join(dir, "bench"), Cache: filepath.Join(cache, "unittest"), Sandbox: box}
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
	t.Logf("%+v", r)
	if r.Count(lang.Passed) != 2 || r.Count(lang.Failed) != 1 || r.Green() {
		t.Errorf("cases: %+v", r.Cases)
	}
	for _, c := range r.Cases {
		if c.Outcome == lang.Failed && (c.Name != "TestQuote/wrong" || c.File != "rate/rate_test.go" || c.Line != 12 || !strings.Contains(c.Message, "want 1")) {
			t.Errorf("the failure: %+v", c)
		}
	}
	lines, ran, branches, taken := r.Coverage.Counts()
	if lines != 39 || ran != 15 || branches != 31 || taken != 9 {
		t.Errorf("%d of %d lines, %d of %d branches: %+v", ran, lines, taken, branches, r.Coverage)
	}
}
