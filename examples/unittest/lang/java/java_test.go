package java_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/unittest/lang"
	"example.com/unittest/lang/java"
	"github.com/etui-run/etui/sandbox"
)

const (
	tariff  = "src/parking/Tariff.java"
	version = "src/main/java/com/example/semver/Version.java"
)

// project is a copy of a sample.
func project(t testing.TB, sample string) *lang.Project {
	t.Helper()
	dir := t.TempDir()
	box, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	p := &lang.Project{Root: filepath.Join(dir, "project"), Bench: filepath.Join(dir, "bench"), Cache: filepath.Join(dir, "cache"), Sandbox: box}
	for _, d := range []string{p.Bench, p.Cache} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(p.Root, os.DirFS("../../samples/"+sample)); err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, p *lang.Project, file, text string) {
	t.Helper()
	name := filepath.Join(p.Root, file)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
}

func TestNames(t *testing.T) {
	j := java.New()
	for file, want := range map[string][2]bool{
		"src/main/java/shop/Price.java": {true, false}, "src/test/java/shop/PriceTest.java": {false, true}, "test/PriceTest.java": {false, true},
		"src/main/java/package-info.java": {false, false}, "Price.kt": {false, false}, "src/latest/Price.java": {true, false},
	} {
		if got := [2]bool{j.Takes(file), j.IsTest(file)}; got != want {
			t.Errorf("%s: target, test = %v, want %v", file, got, want)
		}
	}
	for _, c := range []struct{ sample, target, want string }{
		{"java", tariff, "test/parking/TariffTest.java"}, {"maven", version, "src/test/java/com/example/semver/VersionTest.java"},
	} {
		p := project(t, c.sample)
		if got, err := j.TestFile(p, c.target, 0); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.target, got, err, c.want)
		}
	}
	p := project(t, "java")
	write(t, p, "src/shop/Elsewhere.java", "package parking;\nclass Elsewhere {}\n")
	if _, err := j.TestFile(p, "src/shop/Elsewhere.java", 0); err == nil || !strings.Contains(err.Error(), "must end in parking") {
		t.Errorf("a package in the wrong folder: %v", err)
	}
}

func TestAnalyze(t *testing.T) {
	j, p := java.New(), project(t, "java")
	a, err := j.Analyze(p, tariff)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range a.Functions {
		got = append(got, fmt.Sprintf("%s %t %d", f.Name, f.Public, f.Complexity))
	}
	if want := []string{"Tariff.Tariff true 3", "Tariff.fee true 4", "Tariff.factor false 4", "Tariff.display true 3"}; !slices.Equal(got, want) {
		t.Errorf("functions %q, want %q", got, want)
	}
	fee := a.Functions[1]
	if fee.Signature != "public int fee(Ticket ticket)" || fee.Doc != "The fee of a ticket whose vehicle leaves." {
		t.Errorf("fee: %q, %q", fee.Signature, fee.Doc)
	}
	if want := []string{`new IllegalStateException("the vehicle is still inside")`}; !slices.Equal(fee.Failures, want) {
		t.Errorf("failures %q, want %q", fee.Failures, want)
	}
	if b := a.Functions[0].Boundaries; len(b) != 2 || b[0].Condition != "perHour <= 0" || !slices.Equal(b[0].Values, []string{"-1", "0", "1"}) || b[1].Values[0] != "perDay = perHour - 1" {
		t.Errorf("boundaries: %+v", b)
	}
	if a.Package != "parking" || len(a.Types) != 1 || a.Types[0].Kind != "class" || len(a.Types[0].Members) != 5 {
		t.Errorf("package %s, types %+v", a.Package, a.Types)
	}
	if a, err = j.Analyze(p, "src/parking/Ticket.java"); err != nil || len(a.Types) != 2 || a.Types[0].Kind != "record" || a.Types[1].Kind != "enum" || len(a.Functions) != 3 {
		t.Errorf("a record: %+v, %v", a, err)
	}
	s, err := j.Style(p, tariff)
	if err != nil || s.File != "test/parking/TariffTest.java" || !strings.HasPrefix(s.Skeleton, "package parking;") {
		t.Errorf("style: %+v, %v", s, err)
	}
}

func TestMutants(t *testing.T) {
	j, p := java.New(), project(t, "java")
	source, err := p.Read(tariff)
	if err != nil {
		t.Fatal(err)
	}
	list, err := j.Mutants(p, tariff)
	if err != nil || len(list) < 20 {
		t.Fatalf("%d mutants, %v", len(list), err)
	}
	var texts []string
	for i, m := range list {
		if string(m.Source) == string(source) || i > 0 && m.Line < list[i-1].Line {
			t.Errorf("mutant %d, line %d: the same source, or out of order", i, m.Line)
		}
		texts = append(texts, m.Before+" -> "+m.After)
	}
	for _, want := range []string{"perHour <= 0 -> perHour < 0", "minutes <= GRACE -> minutes < GRACE", "minutes / DAY -> minutes * DAY", `return "free"; -> return "";`} {
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.HasSuffix(s, want) }) {
			t.Errorf("there is no mutant %s in %q", want, texts)
		}
	}
	for _, s := range texts {
		if strings.Contains(s, `- "."`) {
			t.Errorf("texts cannot be subtracted: %s", s)
		}
	}
}

// must leaves an error out: then there are no values.
func must[T any](list []T, _ error) []T { return list }

// FuzzAnalyze: no text makes it crash, and what is no Java is an error.
func FuzzAnalyze(f *testing.F) {
	for _, file := range []string{"../../samples/java/" + tariff, "../../samples/maven/" + version} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("class A { int f( { if (x > } }")
	f.Add("package a..b; class \x00")
	f.Add(strings.Repeat("class A { int f() { return ", 30) + strings.Repeat("(1+", 300))
	f.Add("class A { int f() { return 1 < 99999999999999999999999999L ? 0x : 09; } }")
	p := &lang.Project{Root: f.TempDir()}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(p.Root, "A.java"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j := java.New()
		a, err := j.Analyze(p, "A.java")
		if (a == nil) == (err == nil) {
			t.Errorf("%v, %v", a, err)
		}
		for _, m := range must(j.Mutants(p, "A.java")) {
			if string(m.Source) == text {
				t.Errorf("line %d: %s -> %s changes nothing", m.Line, m.Before, m.After)
			}
		}
	})
}

const twoTests = `
import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.Test;
class %[1]s {
    @Test void right() { %[2]s }
    @Test void wrong() { assertEquals(1, 2, "said"); }
    @Test void broken() { throw new IllegalStateException("thrown"); }
}
`

// checks runs the same on a project with and without Maven.
func checks(t *testing.T, p *lang.Project, target, file, header, right string) {
	j := java.New()
	if err := j.Ready(p); err != nil {
		t.Fatal(err)
	}
	before, err := p.Read(target)
	if err != nil {
		t.Fatal(err)
	}
	class := strings.TrimSuffix(filepath.Base(file), ".java")
	write(t, p, file, header+"class "+class+" { int x = \"text\"; }\n")
	problems, err := j.Check(t.Context(), p, []string{file})
	if err != nil || len(problems) != 1 || problems[0].File != file || problems[0].Line != 2 || !strings.Contains(problems[0].Message, "String cannot be converted to int") {
		t.Fatalf("what does not compile: %+v, %v", problems, err)
	}
	write(t, p, file, header+fmt.Sprintf(twoTests, class, right))
	r, err := j.Test(t.Context(), p, lang.Run{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range r.Cases {
		_, name, _ := strings.Cut(c.Name, "#")
		got = append(got, fmt.Sprintf("%s %s %d %s", name, c.Outcome, c.Line, strings.SplitN(c.Message, " ==>", 2)[0]))
		if c.Outcome != lang.Passed && c.File != file {
			t.Errorf("%s failed in %s, want %s", c.Name, c.File, file)
		}
	}
	slices.Sort(got)
	if want := []string{"broken errored 8 java.lang.IllegalStateException: thrown", "right passed 0 ", "wrong failed 7 said"}; !slices.Equal(got, want) {
		t.Errorf("cases %q, want %q (%s)", got, want, r.Note)
	}
	lines, ran, branches, taken := r.Coverage.Counts()
	if lines < 20 || ran == 0 || ran == lines || branches < 15 || taken == 0 || taken == branches {
		t.Errorf("%d of %d lines, %d of %d branches ran", ran, lines, taken, branches)
	}
	name := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(file, "src/test/java/"), "test/"), ".java"), "/", ".")
	one, err := j.Test(t.Context(), p, lang.Run{Tests: []string{file}, Case: name + "#right"})
	if err != nil || len(one.Cases) != 1 || one.Cases[0].Outcome != lang.Passed || one.Coverage != nil {
		t.Errorf("one case: %+v, %v", one, err)
	}
	if after, err := p.Read(target); err != nil || string(after) != string(before) {
		t.Errorf("the target has changed: %v", err)
	}
}

func TestWithoutMaven(t *testing.T) {
	t.Parallel()
	checks(t, project(t, "java"), tariff, "test/parking/TariffTest.java", "package parking;\n", "assertEquals(0, new Tariff(200, 1500).fee(new Ticket(Ticket.Vehicle.CAR, 0, 10, false)));")
}

func TestMaven(t *testing.T) {
	t.Parallel()
	checks(t, project(t, "maven"), version, "src/test/java/com/example/semver/VersionTest.java", "package com.example.semver;\n", `assertEquals("1.2.3", Version.parse("1.2.3").toString());`)
}

// A target without tests has a coverage of nothing, not none.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	p := project(t, "java")
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	r, err := java.New().Test(t.Context(), p, lang.Run{Target: tariff})
	if err != nil || len(r.Cases) != 0 || r.Coverage == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if line, branch := r.Coverage.Percent(); line != 0 || branch != 0 {
		t.Errorf("%v %% of lines, %v %% of branches", line, branch)
	}
}

// A restored target is compiled again: its file is older than the class of the mutant.
func TestMutantsLeaveNothing(t *testing.T) {
	t.Parallel()
	p, j := project(t, "maven"), java.New()
	file := "src/test/java/com/example/semver/VersionTest.java"
	write(t, p, file, "package com.example.semver;\nimport static org.junit.jupiter.api.Assertions.*;\nimport org.junit.jupiter.api.Test;\nclass VersionTest {\n    @Test void same() { assertTrue(Version.parse(\"1.0.0\").compatibleWith(Version.parse(\"1.0.0\"))); }\n}\n")
	source, err := p.Read(version)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Put(version, []byte(strings.Replace(string(source), "compareTo(other) >= 0", "compareTo(other) > 0", 2))); err != nil {
		t.Fatal(err)
	}
	for _, green := range []bool{false, true} {
		r, err := j.Test(t.Context(), p, lang.Run{Tests: []string{file}})
		if err != nil || len(r.Cases) != 1 || r.Green() != green {
			t.Errorf("green is not %t: %+v, %v", green, r, err)
		}
		if err := p.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}
