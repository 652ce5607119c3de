package java

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/sandbox"
)

//go:embed bench/*.java
var bench embed.FS

// out is the folder on the bench for what a run makes.
const out = ".java"

// maxOut bounds each file that is read from there.
const maxOut = 8 << 20

// What the JVM gets: it lives for a second, and must fit into the sandbox.
var jvm = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=64m", "-Xmx512m", "-Xshare:auto"}

// Check implements [lang.Language].
func (j Java) Check(ctx context.Context, p *lang.Project, tests []string) ([]lang.Problem, error) {
	at, err := placeOfTests(p, tests)
	if err != nil {
		return nil, err
	}
	if at.module != "" {
		r, err := j.maven(ctx, p, at, lang.Run{}, "test-compile")
		if err != nil || r.Exit == 0 && r.Limit == "" {
			return nil, err
		}
		problems := mavenProblems(p, said(r))
		if len(problems) == 0 {
			return nil, fmt.Errorf("Maven cannot compile the project: %s", cut(explained(r), lang.MaxMessage))
		}
		return problems, nil
	}
	report, err := j.run(ctx, p, at, lang.Run{Tests: tests}, nil)
	if err != nil {
		return nil, err
	}
	if report.Note != "" && len(report.Problems) == 0 {
		return nil, errors.New(report.Note)
	}
	return report.Problems, nil
}

// Test implements [lang.Language].
func (j Java) Test(ctx context.Context, p *lang.Project, run lang.Run) (*lang.Report, error) {
	var at place
	var err error
	switch {
	case run.Target != "":
		at, err = placeOf(p, run.Target)
	case len(run.Tests) > 0:
		at, err = placeOfTests(p, run.Tests)
	default:
		return nil, errors.New("name a target or a file of tests")
	}
	if err != nil {
		return nil, err
	}
	if run.Target != "" && len(run.Tests) == 0 {
		if run.Tests, err = j.testsNear(p, at); err != nil {
			return nil, err
		}
	}
	if at.module != "" {
		return j.mavenTest(ctx, p, at, run)
	}
	if len(run.Tests) == 0 {
		return j.run(ctx, p, at, run, nil)
	}
	junit := []string{"--class-path=" + filepath.Join(p.Bench, out, "classes"), "--reports-dir=" + filepath.Join(p.Bench, out, "reports"), "--details=none", "--disable-banner", "--disable-ansi-colors"}
	if run.Case != "" {
		junit = append(junit, "--select-method="+run.Case)
	} else {
		for _, class := range classes(at, run.Tests) {
			junit = append(junit, "--select-class="+class)
		}
	}
	return j.run(ctx, p, at, run, junit)
}

// placeOfTests is where the first of some files of tests lies.
func placeOfTests(p *lang.Project, tests []string) (place, error) {
	if len(tests) == 0 {
		return place{}, errors.New("name a file of tests")
	}
	return placeOf(p, tests[0])
}

// testsNear returns the files of tests of a target's package.
func (j Java) testsNear(p *lang.Project, at place) (list []string, err error) {
	dir := path.Join(at.tests, strings.ReplaceAll(at.pkg, ".", "/"))
	entries, err := os.ReadDir(filepath.Join(p.Root, filepath.FromSlash(dir)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if file := path.Join(dir, e.Name()); e.Type().IsRegular() && j.IsTest(file) && len(list) < 200 {
			list = append(list, file)
		}
	}
	return list, nil
}

// classes are the names of the classes of files of tests.
func classes(at place, tests []string) (list []string) {
	for _, file := range tests {
		name := strings.TrimPrefix(strings.TrimSuffix(file, ".java"), at.tests+"/")
		list = append(list, strings.ReplaceAll(name, "/", "."))
	}
	return list
}

// run compiles files and runs tests by the JDK alone. Without arguments for JUnit it only
// compiles.
func (j Java) run(ctx context.Context, p *lang.Project, at place, run lang.Run, junitArgs []string) (*lang.Report, error) {
	dir, err := j.fresh(p)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	on := func(parts ...string) string { return filepath.Join(append([]string{p.Bench}, parts...)...) }
	classpath := junit
	for _, jar := range at.libs {
		classpath += ":" + on(filepath.FromSlash(jar))
	}
	var settings strings.Builder
	set := func(key, value string) { settings.WriteString(key + "=" + value + "\n") }
	set("out", on(out, "classes"))
	set("sourcepath", on(filepath.FromSlash(at.sources))+":"+on(filepath.FromSlash(at.tests)))
	set("classpath", classpath)
	set("problems", on(out, "problems"))
	options := slices.Clone(jvm)
	if run.Target != "" {
		set("file", on(filepath.FromSlash(run.Target)))
		set("coverage", on(out, "coverage"))
		jar, err := agentJar(p)
		if err != nil {
			return nil, err
		}
		options = append(options, "-javaagent:"+jar+"=output=none,includes="+recorded(at))
	}
	for _, file := range run.Tests {
		set("file", on(filepath.FromSlash(file)))
	}
	for _, arg := range junitArgs {
		set("junit", arg)
	}
	r, err := j.bench(ctx, p, dir, run, options, settings.String())
	if err != nil {
		return nil, err
	}
	report := &lang.Report{Cases: []lang.Case{}, Command: "java " + strings.Join(run.Tests, " ")}
	if r.Exit == 3 {
		report.Problems = problems(p, read(dir, "problems"))
		return report, nil
	}
	report.Cases = cases(dir, "reports", at)
	report.Note = noteOf(r, len(report.Cases), junitArgs != nil)
	if run.Target != "" && r.Limit == "" {
		report.Coverage = coverage(run.Target, at, read(dir, "coverage"))
	}
	return report, nil
}

// noteOf says what is unusual about a run.
func noteOf(r sandbox.Result, ran int, tests bool) string {
	switch {
	case r.Limit != "":
		return fmt.Sprintf("the run was ended by a limit: %s", r.Limit)
	case r.Exit != 0 && (!tests || ran == 0):
		return "nothing ran: " + cut(explained(r), lang.MaxMessage)
	case r.Exit != 0 && r.Exit != 1:
		return fmt.Sprintf("the JVM ended with status %d before all tests had ended", r.Exit)
	}
	return ""
}

func said(r sandbox.Result) string { return r.Stdout.String() + "\n" + r.Stderr.String() }

// explained is the end of what a command said.
func explained(r sandbox.Result) string {
	text := strings.TrimSpace(said(r))
	return cmp.Or(text[max(0, len(text)-lang.MaxMessage):], fmt.Sprintf("status %d", r.Exit))
}

// recorded is the pattern of the classes that the agent records.
func recorded(at place) string {
	if at.pkg == "" {
		return at.class + "*"
	}
	return at.pkg + "." + at.class + "*"
}

// fresh empties the folder for what a run makes.
func (Java) fresh(p *lang.Project) (*os.Root, error) {
	root, err := os.OpenRoot(p.Bench) // tests may have made links there
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := errors.Join(root.RemoveAll(out), root.Mkdir(out, 0o755), root.Mkdir(out+"/classes", 0o755)); err != nil {
		return nil, err
	}
	return root.OpenRoot(out)
}

// bench runs Bench with settings.
func (j Java) bench(ctx context.Context, p *lang.Project, dir *os.Root, run lang.Run, options []string, settings string) (sandbox.Result, error) {
	classes, err := j.compiled(ctx, p)
	if err != nil {
		return sandbox.Result{}, err
	}
	if err := dir.WriteFile("settings", []byte(settings), 0o644); err != nil {
		return sandbox.Result{}, err
	}
	args := append(options, "-cp", strings.Join(append([]string{classes, junit}, jacoco...), ":"), "Bench", filepath.Join(p.Bench, out, "settings"))
	return j.java(ctx, p, "java", run.Timeout, nil, args...)
}

// java runs a program of the JDK, or Maven.
func (j Java) java(ctx context.Context, p *lang.Project, name string, timeout time.Duration, env map[string]string, args ...string) (sandbox.Result, error) {
	program, err := exec.LookPath(name)
	if err != nil {
		return sandbox.Result{}, j.Ready(p)
	}
	if name != "mvn" { // a script that looks for its folder itself
		if program, err = filepath.EvalSymlinks(program); err != nil {
			return sandbox.Result{}, err
		}
	}
	c := sandbox.Command{Args: append([]string{program}, args...), Env: env, Limits: sandbox.Limits{Wall: timeout}}
	if home := filepath.Dir(filepath.Dir(program)); !strings.HasPrefix(home, "/usr") {
		c.ReadOnly = append(c.ReadOnly, home)
	}
	if debian != "/" {
		c.ReadOnly = append(c.ReadOnly, debian)
	}
	return p.Run(ctx, c)
}

// compiled returns the folder with the classes of Bench, which is made once.
func (j Java) compiled(ctx context.Context, p *lang.Project) (string, error) {
	hash := sha256.New()
	var names []string
	entries, _ := bench.ReadDir("bench")
	for _, e := range entries {
		text, _ := bench.ReadFile("bench/" + e.Name())
		hash.Write(text)
		names = append(names, e.Name())
	}
	dir := filepath.Join(p.Cache, fmt.Sprintf("java-%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(filepath.Join(dir, "Bench.class")); err == nil {
		return dir, nil
	}
	// Made apart and renamed: several runs share the cache.
	made, err := os.MkdirTemp(p.Cache, "java-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	args := []string{"-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-proc:none", "-d", made, "-cp", strings.Join(append([]string{junit}, jacoco...), ":")}
	for _, name := range names {
		text, _ := bench.ReadFile("bench/" + name)
		file := filepath.Join(made, name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return "", err
		}
		args = append(args, file)
	}
	r, err := j.java(ctx, p, "javac", 0, nil, args...)
	if err != nil {
		return "", err
	}
	if r.Exit != 0 {
		return "", fmt.Errorf("the JDK cannot compile what runs the tests: %s", cut(explained(r), lang.MaxMessage))
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

// agentJar returns JaCoCo's agent, which Debian has inside of another jar.
func agentJar(p *lang.Project) (string, error) {
	to := filepath.Join(p.Cache, "jacocoagent.jar")
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	outer, err := zip.OpenReader(agent)
	if err != nil {
		return "", err
	}
	defer outer.Close()
	inner, err := outer.Open("jacocoagent.jar")
	if err != nil {
		return "", fmt.Errorf("%s has no jacocoagent.jar: %w", agent, err)
	}
	defer inner.Close()
	made, err := os.CreateTemp(p.Cache, "jar-")
	if err != nil {
		return "", err
	}
	defer os.Remove(made.Name())
	_, err = io.Copy(made, io.LimitReader(inner, maxOut))
	if err = errors.Join(err, made.Chmod(0o644), made.Close()); err != nil {
		return "", err
	}
	return to, os.Rename(made.Name(), to)
}

// read returns a file that a run made, as far as it is not too large; empty without it.
func read(dir *os.Root, name string) string {
	f, err := dir.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(f, maxOut))
	return string(text)
}

// relative is the path of a file of the bench in the project.
func relative(p *lang.Project, file string) string {
	rel, err := filepath.Rel(p.Bench, file)
	if file == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// problems reads what Bench wrote about the compiler.
func problems(p *lang.Project, text string) (list []lang.Problem) {
	for line := range strings.Lines(text) {
		part := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 4)
		if len(part) < 4 || len(list) == lang.MaxProblems {
			continue
		}
		one := lang.Problem{File: relative(p, part[0]), Message: cut(part[3], lang.MaxMessage)}
		one.Line, _ = strconv.Atoi(part[1])
		one.Column, _ = strconv.Atoi(part[2])
		list = append(list, one)
	}
	if len(list) == 0 {
		list = append(list, lang.Problem{Message: "it does not compile"})
	}
	return list
}

// coverage reads what Bench wrote; nil if it wrote nothing about the target.
func coverage(target string, at place, text string) *lang.Coverage {
	c := &lang.Coverage{File: target}
	name := path.Join(strings.ReplaceAll(at.pkg, ".", "/"), at.class+".java")
	for line := range strings.Lines(text) {
		part := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(part) != 5 || part[0] != name {
			continue
		}
		var n [4]int
		for i := range n {
			n[i], _ = strconv.Atoi(part[i+1])
		}
		l := lang.Line{Line: n[0], Hits: n[1], Branches: n[2], Taken: n[3]}
		if open := l.Branches - l.Taken; open > 0 {
			l.Open = []string{fmt.Sprintf("%d of %d branches", open, l.Branches)}
		}
		c.Lines = append(c.Lines, l)
	}
	if len(c.Lines) == 0 {
		return nil
	}
	return c
}

// suite is a file of reports in JUnit's XML, of JUnit itself or of Maven's surefire.
type suite struct {
	Cases []struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Time    string   `xml:"time,attr"`
		Failure *failure `xml:"failure"`
		Error   *failure `xml:"error"`
		Skipped *struct {
			Message string `xml:"message,attr"`
		} `xml:"skipped"`
	} `xml:"testcase"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// cases reads the reports of a run.
func cases(dir *os.Root, folder string, at place) []lang.Case {
	list := []lang.Case{}
	f, err := dir.Open(folder)
	if err != nil {
		return list
	}
	defer f.Close()
	names, _ := f.Readdirnames(1000)
	slices.Sort(names)
	for _, name := range names {
		if path.Ext(name) != ".xml" {
			continue
		}
		var s suite
		if xml.Unmarshal([]byte(read(dir, path.Join(folder, name))), &s) != nil {
			continue // a run that was ended has half a file
		}
		for _, c := range s.Cases {
			if len(list) == lang.MaxCases {
				return list
			}
			one := lang.Case{Name: c.Class + "#" + strings.TrimSuffix(c.Name, "()"), Outcome: lang.Passed}
			one.Seconds, _ = strconv.ParseFloat(strings.ReplaceAll(c.Time, ",", ""), 64)
			switch {
			case c.Skipped != nil:
				one.Outcome, one.Message = lang.Skipped, cut(c.Skipped.Message, lang.MaxMessage)
			case c.Failure != nil:
				one.Outcome = lang.Failed
				one.Message, one.File, one.Line = c.Failure.said(c.Class, at)
			case c.Error != nil:
				one.Outcome = lang.Errored
				one.Message, one.File, one.Line = c.Error.said(c.Class, at)
			}
			if one.Outcome == lang.Failed && !assertion(c.Failure.Type) {
				one.Outcome = lang.Errored
			}
			list = append(list, one)
		}
	}
	return list
}

// assertion reports whether an exception says that an assertion did not hold.
func assertion(name string) bool {
	return strings.HasSuffix(name, "AssertionFailedError") || strings.HasSuffix(name, "AssertionError") || strings.HasSuffix(name, "MultipleFailuresError") || strings.HasSuffix(name, "ComparisonFailure")
}

var frame = regexp.MustCompile(`(?m)^\s*(?:at )?([\w.$]+)\.[\w$<>]+\(([\w$]+\.java):(\d+)\)`)

// said is what failed, and where in the class of the test.
func (f *failure) said(class string, at place) (message, file string, line int) {
	message = f.Message
	if !assertion(f.Type) {
		message = strings.TrimSuffix(f.Type+": "+f.Message, ": ")
	}
	for _, m := range frame.FindAllStringSubmatch(f.Text[:min(len(f.Text), 64<<10)], 200) {
		if m[1] != class && !strings.HasPrefix(m[1], class+"$") {
			continue
		}
		pkg := ""
		if i := strings.LastIndex(class, "."); i >= 0 {
			pkg = strings.ReplaceAll(class[:i], ".", "/")
		}
		file = path.Join(at.tests, pkg, m[2])
		line, _ = strconv.Atoi(m[3])
		break
	}
	return cut(message, lang.MaxMessage), file, line
}
