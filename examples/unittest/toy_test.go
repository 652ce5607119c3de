package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	"example.com/unittest/lang"
)

// toy is a language whose compiler and tests cost nothing. A target is a .toy file of one
// function; each of its lines "if X" is two branches. A line of a test is a word: "nonsense"
// does not compile, "wrong X" fails, "run X" takes both branches of X, and "check X" notices
// its mutant, too.
type toy struct{}

func (toy) Name() string              { return "toy" }
func (toy) Marks() []string           { return []string{"toy.mod"} }
func (toy) Takes(file string) bool    { return path.Ext(file) == ".toy" }
func (toy) IsTest(file string) bool   { return path.Ext(file) == ".toytest" }
func (toy) Ready(*lang.Project) error { return nil }
func (toy) TestFile(_ *lang.Project, f string, n int) (string, error) {
	return fmt.Sprintf("%s%d.toytest", strings.TrimSuffix(f, ".toy"), n), nil
}

// conditions are the lines with branches.
func (toy) conditions(p *lang.Project, target string) (lines map[string]int, err error) {
	text, err := p.Read(target)
	lines = map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		if x, ok := strings.CutPrefix(line, "if "); ok {
			lines[x] = i + 1
		}
	}
	return lines, err
}

func (t toy) Analyze(p *lang.Project, target string) (*lang.Analysis, error) {
	lines, err := t.conditions(p, target)
	f := lang.Function{Name: "f", Public: true}
	for x, n := range lines {
		f.Branches = append(f.Branches, lang.Branch{Line: n, Kind: "if", Condition: x})
	}
	return &lang.Analysis{File: target, Language: "toy", Functions: []lang.Function{f}}, err
}

func (t toy) Style(*lang.Project, string) (*lang.Style, error) {
	return &lang.Style{Framework: "toy", Skeleton: "\n"}, nil
}

func (t toy) Check(_ context.Context, p *lang.Project, tests []string) (list []lang.Problem, err error) {
	for _, file := range tests {
		text, err := p.Read(file)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "nonsense") {
				list = append(list, lang.Problem{File: file, Line: i + 1, Message: "there is no word nonsense"})
			}
		}
	}
	return list, nil
}

func (t toy) Test(ctx context.Context, p *lang.Project, run lang.Run) (*lang.Report, error) {
	const target = "price.toy"
	lines, err := t.conditions(&lang.Project{Root: p.Bench}, target) // a mutant is on the bench only
	if err != nil {
		return nil, err
	}
	r, words := &lang.Report{Cases: []lang.Case{}}, map[string]bool{}
	for n := range 3 {
		file, _ := t.TestFile(p, target, n)
		text, err := p.Read(file)
		if err != nil {
			continue
		}
		if r.Problems, err = t.Check(ctx, p, []string{file}); err != nil || len(r.Problems) > 0 {
			return r, err
		}
		for line := range strings.Lines(string(text)) {
			what, x, ok := strings.Cut(strings.TrimSpace(line), " ")
			if !ok {
				continue
			}
			c := lang.Case{Name: what + " " + x, Outcome: lang.Passed}
			if what == "wrong" || what == "check" && lines[x] == 0 {
				c.Outcome, c.Message = lang.Failed, "it is not "+x
			}
			words[x] = true
			r.Cases = append(r.Cases, c)
		}
	}
	if run.Target != "" {
		r.Coverage = &lang.Coverage{File: target}
		for x, n := range lines {
			l := lang.Line{Line: n, Branches: 2}
			if words[x] {
				l.Hits, l.Taken = 1, 2
			}
			r.Coverage.Lines = append(r.Coverage.Lines, l)
		}
	}
	return r, nil
}

func (t toy) Mutants(p *lang.Project, target string) (list []lang.Mutant, err error) {
	text, err := p.Read(target)
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "if ") {
			list = append(list, lang.Mutant{Line: i + 1, Before: line, After: "if not", Source: []byte(strings.Replace(string(text), line+"\n", "if not\n", 1))})
		}
	}
	return list, err
}
