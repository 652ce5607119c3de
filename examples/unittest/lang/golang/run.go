package golang

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/sandbox"
)

// profileFile is where go test puts the coverage.
const profileFile = ".cover.out"

// Check implements [lang.Language].
func (g Go) Check(ctx context.Context, p *lang.Project, tests []string) ([]lang.Problem, error) {
	var problems []lang.Problem
	dirs := map[string]bool{}
	for _, file := range tests {
		text, err := p.Read(file)
		if err != nil {
			return nil, err
		}
		dirs[path.Dir(file)] = true
		var list scanner.ErrorList
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.AllErrors|parser.SkipObjectResolution); errors.As(err, &list) {
			for _, e := range list {
				problems = append(problems, lang.Problem{File: file, Line: e.Pos.Line, Column: e.Pos.Column, Message: e.Msg})
			}
		}
	}
	if len(problems) > 0 {
		return first(problems, lang.MaxProblems), nil
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		r, err := g.run(ctx, p, 2*time.Minute, "test", "-c", "-vet=off", "-gcflags=-e", "-o", os.DevNull, "./"+dir)
		if err != nil {
			return nil, err
		}
		if r.Exit != 0 {
			problems = append(problems, compileErrors(r.Stderr.String()+r.Stdout.String(), dir)...)
		}
	}
	return first(problems, lang.MaxProblems), nil
}

// Test implements [lang.Language].
func (g Go) Test(ctx context.Context, p *lang.Project, run lang.Run) (*lang.Report, error) {
	dir := path.Dir(cmp.Or(run.Target, strings.Join(first(run.Tests, 1), "")))
	if dir == "." && run.Target == "" && len(run.Tests) == 0 {
		return nil, errors.New("name a target or a file of tests")
	}
	tests := cmp.Or(run.Timeout, 2*time.Minute)
	args := []string{"test", "-json", "-count=1", "-vet=off", "-gcflags=-e", "-timeout=" + tests.String()}
	profile := ""
	if run.Target != "" {
		profile = filepath.Join(p.Bench, profileFile)
		_ = os.Remove(profile)
		args = append(args, "-covermode=count", "-coverprofile="+profile)
	}
	if chosen := g.chosen(p, run); chosen != "" {
		args = append(args, "-run="+chosen)
	}
	args = append(args, "./"+dir)
	r, err := g.run(ctx, p, tests+compiling, args...)
	if err != nil {
		return nil, err
	}
	report := events(r.Stdout.String(), dir)
	report.Command = "go " + strings.Join(args, " ")
	if strings.Contains(report.Command, p.Bench) {
		report.Command = strings.ReplaceAll(report.Command, p.Bench+string(filepath.Separator), "")
	}
	switch {
	case r.Limit != "":
		report.Cut = true
		report.Note = fmt.Sprintf("the run was ended by a limit: %s", r.Limit)
	case r.Exit != 0 && len(report.Problems) == 0 && report.Count(lang.Failed)+report.Count(lang.Errored) == 0:
		report.Cut = true
		report.Note = "go test failed: " + cut(strings.TrimSpace(r.Stderr.String()+lastOutput(r.Stdout.String())), lang.MaxMessage)
	}
	if profile != "" && len(report.Problems) == 0 {
		if text, err := p.Made(profileFile); err == nil { // none after a crash
			if report.Coverage, err = g.coverage(p, run.Target, text); err != nil {
				return nil, err
			}
		}
	}
	return report, nil
}

// compiling is how long the compiler may take beside the tests.
const compiling = 2 * time.Minute

// chosen is the pattern of the tests to run; empty means all.
func (g Go) chosen(p *lang.Project, run lang.Run) string {
	if run.Case != "" {
		var parts []string
		for part := range strings.SplitSeq(run.Case, "/") {
			parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
		}
		return strings.Join(parts, "/")
	}
	if len(run.Tests) == 0 {
		return ""
	}
	var names []string
	for _, file := range run.Tests {
		f, _, err := read(p, file)
		if err != nil {
			continue // the compiler says what is wrong
		}
		for _, fn := range functions(f) {
			if isTest(fn) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// run runs the go command at the root of the project.
func (g Go) run(ctx context.Context, p *lang.Project, wall time.Duration, args ...string) (sandbox.Result, error) {
	program, err := sandbox.Find(p.Root, "go")
	if err != nil {
		return sandbox.Result{}, g.Ready(p)
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return sandbox.Result{}, err
	}
	c := sandbox.Command{
		Args: append([]string{program}, args...),
		Env: map[string]string{
			"GOCACHE": filepath.Join(p.Cache, "go-build"), "GOPATH": filepath.Join(p.Cache, "go"), "GOPROXY": "off", "GOFLAGS": "-trimpath -buildvcs=false",
			"GOTOOLCHAIN": "local", "GOTELEMETRY": "off", "CGO_ENABLED": "0", "GOENV": "off", "GOWORK": "off", "GOMAXPROCS": strconv.Itoa(min(runtime.NumCPU(), 4)),
		},
		Limits: sandbox.Limits{Wall: wall},
	}
	if root := filepath.Dir(filepath.Dir(program)); !strings.HasPrefix(root, "/usr") {
		c.ReadOnly = append(c.ReadOnly, root)
	}
	if modules := modules(); modules != "" {
		c.Env["GOMODCACHE"] = modules
		c.ReadOnly = append(c.ReadOnly, modules)
	}
	return p.Run(ctx, c)
}

// modules is the user's module cache, which is only read: without network nothing is added.
func modules() string {
	dir := os.Getenv("GOMODCACHE")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(cmp.Or(strings.Split(os.Getenv("GOPATH"), string(filepath.ListSeparator))[0], filepath.Join(home, "go")), "pkg", "mod")
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// event is a line of go test -json.
type event struct {
	Action, Test, Output string
	Elapsed              float64
}

// events makes a report of the events of go test.
func events(out, dir string) *lang.Report {
	r := &lang.Report{Cases: []lang.Case{}}
	said, build, loose := map[string]string{}, "", ""
	last, open := "", []string{} // tests that have not ended
	for line := range strings.Lines(out) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			build += line // not JSON: an error before anything ran
			continue
		}
		switch e.Action {
		case "build-output":
			build += e.Output
		case "run":
			last, open = e.Test, append(open, e.Test)
		case "output":
			if e.Test == "" {
				loose += e.Output
			} else if t := strings.TrimSpace(e.Output); !strings.HasPrefix(t, "=== ") && !strings.HasPrefix(t, "--- ") && len(said[e.Test]) < 2*lang.MaxMessage {
				said[e.Test] += e.Output
			}
		case "pass", "fail", "skip":
			open = slices.DeleteFunc(open, func(name string) bool { return name == e.Test })
			if e.Test == "" || len(r.Cases) >= lang.MaxCases {
				continue
			}
			c := lang.Case{Name: e.Test, Seconds: e.Elapsed, Outcome: map[string]lang.Outcome{"pass": lang.Passed, "fail": lang.Failed, "skip": lang.Skipped}[e.Action]}
			if e.Action != "pass" {
				c.Message = said[e.Test]
				if e.Test == last && strings.Contains(loose, "panic:") {
					c.Message += loose
				}
				if strings.Contains(c.Message, "panic:") || strings.Contains(c.Message, "test timed out") {
					c.Outcome = lang.Errored
				}
				c.File, c.Line = place(c.Message, dir)
				c.Message = cut(strings.TrimSpace(c.Message), lang.MaxMessage)
			}
			r.Cases = append(r.Cases, c)
		}
	}
	for _, name := range first(open, lang.MaxCases-len(r.Cases)) {
		c := lang.Case{Name: name, Outcome: lang.Errored}
		c.File, c.Line = place(said[name], dir)
		if c.Message = cut(strings.TrimSpace(said[name]), lang.MaxMessage); name == last {
			c.Message = cmp.Or(c.Message, "it did not end")
		}
		r.Cases = append(r.Cases, c)
	}
	// A test with sub-tests fails because they do: it says nothing more.
	r.Cases = slices.DeleteFunc(r.Cases, func(c lang.Case) bool {
		return c.Message == "" && slices.ContainsFunc(r.Cases, func(o lang.Case) bool { return strings.HasPrefix(o.Name, c.Name+"/") })
	})
	if build != "" {
		r.Problems = first(compileErrors(build, dir), lang.MaxProblems)
		r.Cases = []lang.Case{}
	}
	return r
}

// lastOutput is what go test said that belongs to no test.
func lastOutput(out string) (text string) {
	for line := range strings.Lines(out) {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil && e.Action == "output" && e.Test == "" {
			text += e.Output
		}
	}
	return text
}

var (
	positioned = regexp.MustCompile(`^(?:\./)?([^\s:]+\.go):(\d+)(?::(\d+))?: (.*)$`)
	inTest     = regexp.MustCompile(`([A-Za-z0-9_.-]+_test\.go):(\d+)`)
)

// place finds where a test failed.
func place(message, dir string) (string, int) {
	m := inTest.FindStringSubmatch(message)
	if m == nil {
		return "", 0
	}
	line, _ := strconv.Atoi(m[2])
	return path.Join(dir, m[1]), line
}

// compileErrors reads what the compiler says.
func compileErrors(out, dir string) (list []lang.Problem) {
	rest := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		m := positioned.FindStringSubmatch(line)
		switch {
		case m != nil:
			one := lang.Problem{File: path.Clean(m[1]), Message: cut(m[4], lang.MaxMessage)}
			if !strings.Contains(one.File, "/") {
				one.File = path.Join(dir, one.File)
			}
			one.Line, _ = strconv.Atoi(m[2])
			one.Column, _ = strconv.Atoi(m[3])
			list = append(list, one)
		case strings.HasPrefix(line, "\t") && len(list) > 0:
			last := &list[len(list)-1]
			last.Message = cut(last.Message+" "+strings.TrimSpace(line), lang.MaxMessage)
		case !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "FAIL"):
			rest += line + "\n"
		}
	}
	if len(list) == 0 {
		list = append(list, lang.Problem{Message: cut(cmp.Or(strings.TrimSpace(rest), "it does not compile"), lang.MaxMessage)})
	}
	slices.SortStableFunc(list, func(a, b lang.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(list)
}
