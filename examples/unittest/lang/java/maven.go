package java

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/sandbox"
)

// maven runs a phase of Maven in the module of a target, offline and in one JVM: surefire
// waits ten seconds for the end of another one.
func (j Java) maven(ctx context.Context, p *lang.Project, at place, run lang.Run, args ...string) (sandbox.Result, error) {
	if err := clean(p, at); err != nil {
		return sandbox.Result{}, err
	}
	options := strings.Join(jvm, " ")
	if run.Target != "" {
		jar, err := agentJar(p)
		if err != nil {
			return sandbox.Result{}, err
		}
		options += " -javaagent:" + jar + "=destfile=" + filepath.Join(p.Bench, out, "exec") + ",append=false,includes=" + recorded(at)
	}
	args = append([]string{"-o", "-B", "-q", "-f", filepath.Join(p.Bench, filepath.FromSlash(at.module), pom), "-Dmaven.repo.local=" + repository, "-Dstyle.color=never", "-DforkCount=0", "-DtrimStackTrace=false"}, args...)
	return j.java(ctx, p, "mvn", run.Timeout, map[string]string{"MAVEN_OPTS": options}, args...)
}

// clean removes what Maven compiled, and the reports of the run before. A mutant is newer than
// the target that takes its place again, and Maven would take its class for that of the target.
func clean(p *lang.Project, at place) error {
	bench, err := os.OpenRoot(p.Bench) // tests may have made links there
	if err != nil {
		return err
	}
	defer bench.Close()
	return bench.RemoveAll(filepath.FromSlash(path.Join(at.module, "target")))
}

var mavenError = regexp.MustCompile(`^\[ERROR\] (/[^\s:]+\.java):\[(\d+),(\d+)\] (.*)$`)

// mavenProblems reads what Maven's compiler plugin says.
func mavenProblems(p *lang.Project, text string) (list []lang.Problem) {
	seen := map[string]bool{}
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		m := mavenError.FindStringSubmatch(line)
		if m == nil {
			if detail, ok := strings.CutPrefix(line, "[ERROR]   "); open && ok || open && strings.HasPrefix(line, "  ") {
				last := &list[len(list)-1]
				last.Message = cut(last.Message+" "+strings.TrimSpace(strings.TrimPrefix(detail, "[ERROR]")), lang.MaxMessage)
			} else {
				open = false
			}
			continue
		}
		if open = !seen[line] && len(list) < lang.MaxProblems; !open {
			continue
		}
		seen[line] = true
		one := lang.Problem{File: relative(p, m[1]), Message: cut(m[4], lang.MaxMessage)}
		one.Line, _ = strconv.Atoi(m[2])
		one.Column, _ = strconv.Atoi(m[3])
		list = append(list, one)
	}
	return list
}

// mavenTest runs tests by Maven, and lets Bench read what the agent recorded.
func (j Java) mavenTest(ctx context.Context, p *lang.Project, at place, run lang.Run) (*lang.Report, error) {
	dir, err := j.fresh(p)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	selected := strings.Join(classes(at, run.Tests), ",")
	if run.Case != "" {
		selected, _, _ = strings.Cut(run.Case, "(")
	}
	bench, err := os.OpenRoot(p.Bench)
	if err != nil {
		return nil, err
	}
	defer bench.Close()
	reports := path.Join(at.module, "target/surefire-reports")
	phase := []string{"-Dtest=" + selected, "-DfailIfNoTests=false", "test"}
	if len(run.Tests) == 0 {
		phase = []string{"compile"}
	}
	r, err := j.maven(ctx, p, at, run, phase...)
	if err != nil {
		return nil, err
	}
	report := &lang.Report{Cases: cases(bench, reports, at), Command: "mvn -o " + strings.Join(phase, " ")}
	if r.Exit != 0 && len(report.Cases) == 0 {
		report.Problems = mavenProblems(p, said(r))
	}
	if len(report.Problems) > 0 {
		return report, nil
	}
	report.Note = noteOf(r, len(report.Cases), len(run.Tests) > 0)
	if run.Target == "" || r.Limit != "" || r.Exit != 0 && len(report.Cases) == 0 {
		return report, nil
	}
	on := func(name string) string { return filepath.Join(p.Bench, filepath.FromSlash(name)) }
	settings := fmt.Sprintf("exec=%s\nout=%s\ncoverage=%s\n", on(out+"/exec"), on(path.Join(at.module, "target/classes")), on(out+"/coverage"))
	if r, err = j.bench(ctx, p, dir, run, jvm[:len(jvm):len(jvm)], settings); err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		report.Note = strings.TrimSpace(report.Note + " The coverage could not be read: " + cut(explained(r), 400))
		return report, nil
	}
	report.Coverage = coverage(run.Target, at, read(dir, "coverage"))
	return report, nil
}
