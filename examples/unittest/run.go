package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"example.com/unittest/lang"
	"example.com/unittest/report"
	"example.com/unittest/work"
	"github.com/etui-run/etui"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// settings are what a run began with. They lie beside it, so that --resume needs no flags.
type settings struct {
	Target     string   `json:"target"` // relative to the project
	Skill      string   `json:"skill,omitempty"`
	Goal       float64  `json:"goal"`
	Mutants    float64  `json:"mutants"`
	MaxMutants int      `json:"max_mutants"`
	Script     string   `json:"script,omitempty"`
	Workspace  string   `json:"workspace,omitempty"`
	Notes      []string `json:"notes,omitempty"`
}

const (
	flowName   = "unittest"
	maxTargets = 200
	// callTimeout is for the slowest tool, which tries some mutants.
	callTimeout = 20 * time.Minute
	// allTools is more tools than there are.
	allTools = 30
)

// agent is what one project needs: its folders, the sandbox and the store.
type agent struct {
	host
	options
	out, errs io.Writer
	project   *lang.Project
	store     *sqlite.Store
	// began notes what the first phase has; the later ones are in the run's path.
	began func(t selection.Tokens, tools int) error
	// many is set when no target was named.
	many bool
}

func (h host) run(ctx context.Context, o options, out, errs io.Writer) (code int, err error) {
	root, target, err := h.locate(o)
	if err != nil {
		return exitUsage, err
	}
	o.Target = target
	a := &agent{host: h, options: o, out: out, errs: errs}
	w, err := openWorkspace(o.Workspace) // also for a resumed run: its own one is read below
	if err != nil {
		return exitUsage, err
	}
	a.state = cmp.Or(o.state, filepath.Join(root, ".unittest"))
	if a.state, err = filepath.Abs(a.state); err != nil {
		return exitFailed, err
	}
	closing, err := a.open(ctx, root, w)
	if err != nil {
		return exitFailed, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	switch {
	case o.resume:
		id, err := a.newest(o.Target)
		if err != nil {
			return exitUsage, err
		}
		return a.run(ctx, id, true)
	case o.Target != "":
		id, err := a.begin()
		if err != nil {
			return exitFailed, err
		}
		return a.run(ctx, id, false)
	}
	return a.all(ctx)
}

// locate finds the folder of the project and the target in it.
func (h host) locate(o options) (root, target string, err error) {
	if o.Target == "" && o.project == "" && !o.resume {
		return "", "", usagef("name the file to test with --target, or a project with --project")
	}
	dir, err := filepath.Abs(cmp.Or(o.project, "."))
	if err != nil {
		return "", "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", usagef("there is no folder %s", o.project)
	}
	if o.Target == "" {
		return dir, "", nil
	}
	// A target is relative to the current folder, as every file on a command line; or to the project.
	file := o.Target
	if o.project != "" && !filepath.IsAbs(file) {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			file = filepath.Join(dir, file)
		}
	}
	if file, err = filepath.Abs(file); err == nil {
		file, err = filepath.EvalSymlinks(file)
	}
	if info, serr := os.Stat(file); err != nil || serr != nil || !info.Mode().IsRegular() {
		return "", "", usagef("there is no file %s", o.Target)
	}
	language, err := h.languageOf(filepath.ToSlash(file))
	if err != nil {
		return "", "", err
	}
	if o.project == "" {
		dir = rootOf(file, language)
	}
	rel, err := filepath.Rel(dir, file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", "", usagef("%s is not in the project %s", o.Target, dir)
	}
	return dir, filepath.ToSlash(rel), nil
}

// rootOf is the nearest folder above a file with a build file; without one, its folder.
func rootOf(file string, l lang.Language) string {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		for _, mark := range l.Marks() {
			if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return filepath.Dir(file)
		}
	}
}

func (h host) languageOf(file string) (lang.Language, error) {
	var names []string
	for _, l := range h.languages {
		if l.Takes(file) {
			return l, nil
		}
		names = append(names, l.Name())
	}
	return nil, usagef("%s is no source file that can have tests; the languages are %s", file, strings.Join(names, ", "))
}

// open prepares the folders, the sandbox and the store.
func (a *agent) open(ctx context.Context, root string, w *workspace) (closing func() error, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	box, err := sandbox.New(sandbox.Config{Mode: cmp.Or(sandbox.Mode(a.sandbox), w.mode), Read: w.read})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, box.Close())
		}
	}()
	// Each mode has folders of its own: programs run as another user in each.
	mode := string(box.Mode())
	a.project = &lang.Project{Root: root, Bench: filepath.Join(a.state, "bench-"+mode), Cache: filepath.Join(cache, "unittest-"+mode), Sandbox: box}
	for _, dir := range []string{a.project.Bench, a.project.Cache, filepath.Join(a.state, "runs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := work.Store(filepath.Join(a.state, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(a.state, "lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("another run works in %s; wait for it, or name another folder with --state", a.state), err)
	}
	a.store, err = sqlite.Open(ctx, filepath.Join(a.state, "etui.db"))
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return func() error { return errors.Join(a.store.Close(), box.Close(), lock.Unlock()) }, nil
}

// begin makes the folder of a new run and returns its name. Names are in the order of time.
func (a *agent) begin() (id string, err error) {
	id = "run-" + time.Now().UTC().Format("20060102-150405.000000") + "-" + strings.ToLower(rand.Text()[:4])
	text, err := json.Marshal(a.settings)
	if err != nil {
		return "", err
	}
	return id, work.Store(filepath.Join(a.state, "runs", id, "settings.json"), text, 0o600)
}

// newest is the newest run, of a target if one is named, with whose settings this one goes on.
func (a *agent) newest(target string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(a.state, "runs"))
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(entries) {
		text, err := os.ReadFile(filepath.Join(a.state, "runs", e.Name(), "settings.json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		a.settings = settings{}
		if err := json.Unmarshal(text, &a.settings); err != nil {
			return "", fmt.Errorf("the settings of %s cannot be read: %w", e.Name(), err)
		}
		if target == "" || target == a.settings.Target {
			return e.Name(), nil
		}
	}
	return "", usagef("there is no run to resume in %s", a.state)
}

// all runs for each source file of the project that has not reached the goal, one after the
// other.
func (a *agent) all(ctx context.Context) (code int, err error) {
	var targets []string
	err = a.project.Walk(func(file string, _ fs.FileInfo) error {
		if l, err := a.languageOf(file); err == nil && len(targets) < maxTargets {
			if found, err := l.Analyze(a.project, file); err == nil && len(found.Functions) > 0 {
				targets = append(targets, file)
			}
		}
		return nil
	})
	if err != nil {
		return exitFailed, err
	}
	if len(targets) == 0 {
		return exitUsage, usagef("the project %s has no source file that can have tests", a.project.Root)
	}
	a.many = true
	for _, target := range targets {
		a.Target = target
		id, err := a.begin()
		if err != nil {
			return exitFailed, err
		}
		one, err := a.run(ctx, id, false)
		if err != nil {
			return one, err
		}
		code = max(code, one)
	}
	return code, nil
}

// run works on one target to the end, and writes the report.
func (a *agent) run(ctx context.Context, id string, resume bool) (code int, err error) {
	dir := filepath.Join(a.state, "runs", id)
	l, err := a.languageOf(a.Target)
	if err != nil {
		return exitUsage, err
	}
	if err := l.Ready(a.project); err != nil {
		return exitFailed, err
	}
	job, err := work.Open(work.Config{
		Project: a.project, Language: l, Target: a.Target, Goal: a.Goal, Mutants: a.Mutants, MaxMutants: a.MaxMutants, Notes: a.Notes, File: filepath.Join(dir, "work.json"),
	})
	if err != nil {
		return exitFailed, err
	}
	g, name, err := a.gateway(job)
	if err != nil {
		if !resume {
			err = errors.Join(err, os.RemoveAll(dir)) // there is nothing to resume
		}
		return exitUsage, err
	}
	if err := a.say("run", map[string]string{"id": id, "target": a.Target, "folder": dir}, "· %s: %s\n", id, a.Target); err != nil {
		return exitFailed, errors.Join(err, g.Close())
	}
	if err := job.Measure(ctx); err != nil {
		return exitFailed, errors.Join(err, g.Close())
	}
	if branch, ok := a.reached(job.State()); ok {
		err := a.say("covered", branch, "■ %s has %.1f %% of its branches covered already\n", a.Target, branch)
		return exitDone, errors.Join(err, g.Close(), os.RemoveAll(dir))
	}
	a.began = func(t selection.Tokens, tools int) error {
		return job.Began(work.Began{Tools: tools, ToolTokens: t.Sent + t.Meta, FullTokens: t.All})
	}
	done, err := a.send(ctx, g, id, name, resume)
	err = errors.Join(err, g.Close())
	if done.Flow == nil {
		if ctx.Err() != nil {
			err = nil // a person has interrupted it
		}
		return exitFailed, errors.Join(err, fmt.Errorf("the run %s has not ended; unittest --resume goes on with it", id))
	}
	r, rerr := a.report(job, done, id)
	if rerr == nil {
		rerr = r.Write(dir)
	}
	if err = errors.Join(err, rerr); err != nil {
		return exitFailed, err
	}
	if !a.json && a.Skill != "" {
		fmt.Fprintln(a.out, strings.TrimSpace(done.Reply))
	}
	if err := a.say("report", r, "%s\nReport: %s\n", r.Summary(), filepath.Join(dir, "report.html")); err != nil {
		return exitFailed, err
	}
	switch done.Flow.Outcome {
	case workflow.Done:
		return exitDone, nil
	case workflow.Limit:
		return exitLimit, nil
	}
	return exitFailed, nil
}

// say tells people something, or programs, as an event with a name.
func (a *agent) say(name string, event any, format string, args ...any) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(map[string]any{name: event})
	}
	_, err := fmt.Fprintf(a.errs, format, args...)
	return err
}

// reached reports whether a file of many has reached the goal by the project's own tests.
func (a *agent) reached(st work.State) (branch float64, ok bool) {
	if !a.many || st.Before == nil || len(st.Tests) > 0 {
		return 0, false
	}
	_, branch = st.Before.Percent()
	return branch, branch >= a.Goal
}

// gateway is the agent with its tools, toolsets and the workflow to run.
func (a *agent) gateway(job *work.Work) (g *etui.Gateway, flow string, err error) {
	w, err := openWorkspace(a.Workspace)
	if err != nil {
		return nil, "", err
	}
	var m model.Model
	var named map[string]model.Model
	if m = a.model; m != nil {
		named = map[string]model.Model{}
	} else if a.Script != "" {
		m, err = script.Read(a.Script)
		named = map[string]model.Model{}
		for _, c := range w.models { // phases may name them
			named[c.Name] = m
		}
	} else {
		m, named, err = w.openModels(os.Getenv)
	}
	if err != nil {
		return nil, "", err
	}
	flows, flow := w.flows, flowName
	if a.Skill != "" {
		one, err := w.only(a.Skill)
		if err != nil {
			return nil, "", err
		}
		flows, flow = []workflow.Workflow{one}, one.Name
	}
	if !slices.ContainsFunc(flows, func(f workflow.Workflow) bool { return f.Name == flow }) {
		return nil, "", usagef("the workspace has no workflow %s", flow)
	}
	g, err = etui.New(m, etui.Config{
		Agents: []engine.Agent{{Name: "unittest", Instructions: instructions, Skill: w.standard}},
		Tools:  work.Tools(job), Skills: w.skills, Workflows: flows, Models: named, Store: a.store,
		Turn:      turn.Config{CallTimeout: callTimeout},
		Selection: selection.Config{Direct: allTools}, // the tools of a phase are all sent
	})
	return g, flow, err
}

const instructions = `You write unit tests. Source files cannot be changed, only new files of tests can be written. Tests state what the code should do, by its names, comments and callers; if the code does something else, say so in your answer instead of writing a test that agrees with it.`

// only is a workflow of one phase: the one with a skill, which ends when the model says so.
func (w *workspace) only(skill string) (workflow.Workflow, error) {
	one := workflow.Phase{Name: skill, Skill: skill, Instructions: "Do what the message says with these tools, and answer with the result."}
	var names []string
	for _, s := range w.skills {
		names = append(names, s.Name)
	}
	if !slices.Contains(append(names, catalog.Full), skill) {
		return workflow.Workflow{}, usagef("there is no skill %q; the workspace has %s", skill, strings.Join(names, ", "))
	}
	for _, f := range w.flows {
		for _, p := range f.Phases {
			if p.Skill == skill {
				one.Instructions, one.Model, one.Limits = p.Instructions, p.Model, p.Limits
			}
		}
	}
	one.Next = []workflow.Next{{When: `finished || reply != ""`, To: workflow.Done}}
	return workflow.Workflow{Name: "only-" + skill, Phases: []workflow.Phase{one}}, nil
}

// send begins the run or goes on with it, and shows its progress until it ends.
func (a *agent) send(ctx context.Context, g *etui.Gateway, id, flow string, resume bool) (done turn.End, err error) {
	// Without an idempotency key the turn stops when this program is interrupted. The run stays.
	first := engine.Message{
		Workflow: flow, Target: a.Target, Session: id,
		Text:   fmt.Sprintf("Write unit tests for %s until they cover %g %% of its branches.", a.Target, a.Goal),
		Params: map[string]string{"goal": number(a.Goal), "mutants": number(a.Mutants)},
	}
	if resume {
		done, err = a.follow(ctx, g, engine.Message{Text: message.Run, Session: id})
		if err != nil || done.Flow != nil {
			return done, err
		}
		// The process ended before the message was accepted.
	}
	return a.follow(ctx, g, first)
}

// number writes a number so that CEL's double() reads it.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (a *agent) follow(ctx context.Context, g *etui.Gateway, m engine.Message) (done turn.End, err error) {
	for e, err := range g.Send(ctx, m) {
		if err != nil {
			return done, err
		}
		if e.Done != nil {
			done = *e.Done
		}
		if e.Selection != nil {
			if err := a.began(e.Selection.Tokens(), e.Selection.Counts().Usable); err != nil {
				return done, err
			}
		}
		if a.json {
			if err := printJSON(a.out, e); err != nil {
				return done, err
			}
		} else {
			show(a.errs, e)
		}
	}
	return done, nil
}

// printJSON prints what a program that follows a run needs, one event a line.
func printJSON(out io.Writer, e turn.Event) error {
	line := map[string]any{}
	switch {
	case e.Phase != nil:
		line["phase"] = e.Phase
	case e.Call != nil:
		line["call"] = map[string]any{"name": e.Call.Name, "arguments": e.Call.Arguments}
	case e.Result != nil:
		result := map[string]any{"name": e.Result.Name, "failed": e.Result.Failed, "text": e.Result.Text}
		if e.Result.View != nil {
			result["data"] = e.Result.View.Data
		}
		line["result"] = result
	case e.Text != "":
		line["text"] = e.Text
	case e.Done != nil:
		line["done"] = e.Done
	default:
		return nil
	}
	return json.NewEncoder(out).Encode(line)
}

// show prints how far a run has come.
func show(out io.Writer, e turn.Event) {
	switch {
	case e.Phase != nil:
		showPhase(out, e.Phase)
	case e.Call != nil:
		fmt.Fprintf(out, "    → %s %s\n", e.Call.Name, oneLine(string(e.Call.Arguments), 100))
	case e.Result != nil && e.Result.Failed:
		fmt.Fprintf(out, "      ! %s\n", oneLine(e.Result.Text, 160))
	case e.Result != nil:
		fmt.Fprintf(out, "      %s\n", oneLine(e.Result.Text, 120))
	}
}

func showPhase(out io.Writer, p *turn.PhaseEvent) {
	cost := ""
	if p.Cost > 0 {
		cost = fmt.Sprintf(", $%.4f", p.Cost)
	}
	switch {
	case p.Outcome != "":
		fmt.Fprintf(out, "■ %s after %d rounds, %d tokens%s\n", p.Outcome, p.Rounds, p.AllTokens, cost)
		return
	case p.Began:
		fmt.Fprintf(out, "▶ %s (visit %d)%s", p.Name, p.Visit, switched(p.Switch))
		if p.Why != "" {
			fmt.Fprintf(out, ", because %s", p.Why)
		}
		fmt.Fprintln(out)
	default:
		if p.Rounds == 0 {
			fmt.Fprintf(out, "▶ %s (visit 1)\n", p.Name) // the first phase has no event of its own
		}
		fmt.Fprintf(out, "  %s, round %d: %d tokens so far%s\n", p.Name, p.Round+1, p.AllTokens, cost)
	}
	if p.Warning != "" && (p.Began || p.Rounds == 0) {
		fmt.Fprintf(out, "  warning: %s\n", p.Warning)
	}
}

func switched(s *session.Switch) string {
	if s == nil || s.FullTokens == 0 {
		return ""
	}
	return fmt.Sprintf(": %d tools, %d tokens of definitions instead of %d", s.Tools, s.ToolTokens, s.FullTokens)
}

// oneLine shows a text on one line, without control characters.
func oneLine(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(text))
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "") + "…"
	}
	return text
}

// report gathers what a run gave.
func (a *agent) report(job *work.Work, done turn.End, id string) (*report.Report, error) {
	source, err := a.project.Read(a.Target)
	if err != nil {
		return nil, err
	}
	return report.New(report.Run{ID: id, State: job.State(), Flow: *done.Flow, Reply: done.Reply, Source: string(source), Scripted: a.Script != ""}), nil
}
