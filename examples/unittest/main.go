// Unittest is a program of its own that writes unit tests: an agent that works in phases, each
// with its own tools, built on etui's public packages. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"example.com/unittest/lang"
	"github.com/etui-run/etui/model"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := host{languages: languages()}.program(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The exit codes, which are those of etui run.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitLimit  = 3
)

// options are the command line. What a run needs again after a crash is in settings.
type options struct {
	settings
	project, state, sandbox string
	json, resume            bool
}

// host is what the program is made of.
type host struct {
	languages []lang.Language
	// model answers instead of the configured ones, if not nil.
	model model.Model
}

// usage is an error of the command line.
type usage struct{ says string }

func (u usage) Error() string { return u.says }

func usagef(format string, args ...any) error { return usage{fmt.Sprintf(format, args...)} }

// program runs the command line and returns the exit code.
func (h host) program(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	code := exitFailed
	if err == nil {
		code, err = h.run(ctx, o, out, errs)
	}
	var u usage
	if errors.As(err, &u) {
		code = exitUsage
	}
	if err != nil {
		fmt.Fprintln(errs, "unittest:", err)
	}
	return code
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("unittest", flag.ContinueOnError)
	f.SetOutput(errs)
	f.Usage = func() {
		fmt.Fprint(errs, "unittest --target FILE writes tests for a source file until they cover it.\n"+
			"unittest --project DIR does so for each source file of a project.\n\n")
		f.PrintDefaults()
		fmt.Fprint(errs, "\nExit status: 0 the goal is reached, 1 it failed, 2 called wrongly, 3 a limit was reached.\n")
	}
	f.StringVar(&o.Target, "target", "", "source file to test")
	f.StringVar(&o.project, "project", "", "folder of the project (default: the nearest one above the target that has a build file)")
	f.StringVar(&o.Skill, "skill", "", "run one phase only, with this toolset: analysis, generation, verification, repair, full")
	f.Float64Var(&o.Goal, "goal", 80, "share of branches to cover, in percent")
	f.Float64Var(&o.Mutants, "mutants", 60, "share of small changes of the target that tests must notice, in percent")
	f.IntVar(&o.MaxMutants, "max-mutants", 8, "how many such changes are tried")
	f.StringVar(&o.Script, "script", "", "file with scripted answers, played instead of a model")
	f.StringVar(&o.Workspace, "workspace", "", "folder with etui.yaml and workflows (default: built in)")
	f.Func("notes", "folder with notes for the KnowledgeBase (may be repeated; those of the project are always read)", func(dir string) error {
		dir, err := filepath.Abs(dir)
		o.Notes = append(o.Notes, dir)
		return err
	})
	f.StringVar(&o.state, "state", "", "folder for runs, reports and the copy of the project (default: .unittest in the project)")
	f.StringVar(&o.sandbox, "sandbox", "", "mode of the sandbox, instead of the one in etui.yaml: auto, strong, landlock, seatbelt, off")
	f.BoolVar(&o.json, "json", false, "print events as JSON, one a line")
	f.BoolVar(&o.resume, "resume", false, "go on with the newest run of the project, as after a crash")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, usage{err.Error()}
	}
	switch {
	case f.NArg() > 0:
		return o, usagef("there is an argument too much: %s; name the file with --target", strings.Join(f.Args(), " "))
	case o.Goal < 0 || o.Goal > 100 || o.Mutants < 0 || o.Mutants > 100:
		return o, usagef("--goal and --mutants are percentages, from 0 to 100")
	case o.MaxMutants < 1 || o.MaxMutants > 50:
		return o, usagef("--max-mutants is a number from 1 to 50")
	}
	for _, path := range []*string{&o.Workspace, &o.Script} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, err
		}
		*path = absolute
	}
	return o, nil
}
