// Command phases measures what the phases of a workflow cost: with a toolset for each phase,
// declared anew or announced, against all tools at once. It asks no model: the answers are
// scripted, and the requests are billed by the cache rules and list prices of two providers,
// see lab/replay/bill.go.
//
// Without an argument it takes the demo's incident and prints the table of docs/delivery.md;
// with the argument unittest it takes the unit-test agent of examples/unittest and prints the
// tables of docs/benchmarks.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/lab/replay"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

func main() {
	measure := measureIncident
	if len(os.Args) > 1 && os.Args[1] == "unittest" {
		measure = measureTests
	}
	if err := measure(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "phases:", err)
		os.Exit(1)
	}
}

// inHome runs a function with a state of its own.
func inHome(f func() error) error {
	home, err := os.MkdirTemp("", "phases")
	if err != nil {
		return err
	}
	if err = os.Setenv("XDG_STATE_HOME", home); err == nil {
		err = f()
	}
	return errors.Join(err, os.RemoveAll(home))
}

const runsHead = "| run | provider | tools | tokens of definitions, mean | tokens sent | cost | switches |\n|---|---|---|---|---|---|---|"

func measureIncident(out io.Writer) error {
	return inHome(func() (err error) {
		w, err := workdir.OpenDemo("", os.Environ())
		if err != nil {
			return err
		}
		a, err := app.New(context.Background(), w, app.Config{Secrets: &secret.Set{}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close()) }()
		plan, _ := a.Engine.Agents().Workflows().Get("incident")
		played, ok := plan.Offline.(*script.Model)
		if !ok {
			return errors.New("the demo's incident has no script")
		}
		fmt.Fprintln(out, runsHead)
		for _, looks := range []int{0, 12} {
			b := bench{app: a, name: "incident", text: "checkout is failing", script: longer(played.Script(), looks),
				more: looks}
			for _, p := range replay.Providers() {
				p.Deferral = false
				var base measured
				for _, way := range []string{"full", "declare", "announce", "auto"} {
					r, err := b.run(p, way)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", p.Name, way, err)
					}
					if way == "full" {
						base = r
					}
					r.row(out, p.Name, way, base)
				}
			}
		}
		return nil
	})
}

// fixed is a model with other prices than it is billed by, to make the choice for it.
type fixed struct {
	*replay.Biller
	way string
}

func (f fixed) Info() model.Info {
	info := f.Biller.Info()
	if f.way == "announce" {
		info.Price.CacheWrite = 1000 // nothing may be written again
	}
	return info
}

// bench is a workflow of an app, with its scripted answers.
type bench struct {
	app                *app.App
	name, text, target string
	params             map[string]string
	script             script.Script
	// more is how many rounds the script adds to the first phase.
	more int
	// tools are all tools of the work; nil means those of the phases.
	tools []string
	// begin, if not nil, is called before each run.
	begin func()
}

// measured is what a run cost.
type measured struct {
	bill  replay.Bill
	tools int // tokens of definitions, mean of the requests
	path  []session.Switch
}

// row prints a run as a line of the table, compared with base.
func (m measured) row(out io.Writer, provider, way string, base measured) {
	fewer, change, switches := "", "", ""
	if way != "full" {
		fewer = fmt.Sprintf(" (%+.0f %%)", 100*float64(m.tools-base.tools)/float64(base.tools))
		change = fmt.Sprintf(" (%+.0f %%)", 100*(m.bill.Dollars-base.bill.Dollars)/base.bill.Dollars)
	}
	for _, s := range m.path {
		switches += s.Delivery[:1]
	}
	fmt.Fprintf(out, "| %d rounds | %s | %s | %d%s | %d | $%.4f%s | %s |\n", m.bill.Requests, provider, way, m.tools,
		fewer, m.bill.Input, m.bill.Dollars, change, switches)
}

func (b *bench) run(p replay.Provider, way string) (m measured, err error) {
	if b.begin != nil {
		b.begin()
	}
	plan, _ := b.app.Engine.Agents().Workflows().Get(b.name)
	billed := replay.NewBiller(script.New(b.script), p)
	flow := plan.Workflow
	flow.Offline, flow.Phases = nil, slices.Clone(flow.Phases)
	flow.Phases[0].Limits.Rounds += b.more
	tools := slices.Clone(b.tools)
	for i, ph := range flow.Phases {
		skill, _ := b.app.Engine.Catalog().Skill(ph.Skill)
		if b.tools == nil {
			tools = append(tools, skill.Tools...)
		}
		if way == "full" {
			flow.Phases[i].Skill = catalog.Full
		}
	}
	set, err := workflow.Compile(flow)
	if err != nil {
		return m, err
	}
	cfg := b.app.Config
	cfg.Workflows, cfg.Store, cfg.Turn = &workflow.Table{}, &store.Memory{}, turn.Config{}
	cfg.Workflows.Store(set)
	agent := cfg.Agents[0]
	agent.Model = fixed{billed, way}
	if way == "full" || way == "declare" {
		agent.Mode = selection.Direct
	}
	cfg.Agents = []engine.Agent{agent}
	e, err := engine.New(cfg)
	if err != nil {
		return m, err
	}
	slices.Sort(tools)
	for ev, err := range e.Send(context.Background(),
		engine.Message{Workflow: b.name, Text: b.text, Target: b.target, Params: b.params,
			Include: slices.Compact(tools)}) {
		if err != nil {
			return m, err
		}
		if ev.Phase != nil && ev.Phase.Switch != nil {
			m.path = append(m.path, *ev.Phase.Switch)
		}
		if ev.Done != nil && (ev.Done.Flow == nil || ev.Done.Flow.Outcome != workflow.Done) {
			raw, _ := json.Marshal(ev.Done.Flow)
			return m, fmt.Errorf("the run ended otherwise: %s", raw)
		}
	}
	for _, n := range billed.Tools {
		m.tools += n
	}
	m.bill, m.tools = billed.Bill, m.tools/max(len(billed.Tools), 1)
	return m, nil
}

// longer is the script with more rounds of looking.
func longer(s script.Script, looks int) script.Script {
	var more []script.Answer
	for range looks {
		more = append(more, script.Answer{Calls: []script.Call{
			{Name: "query_logs", Arguments: json.RawMessage(`{"query":"error","service":"checkout"}`)},
			{Name: "get_error_rate", Arguments: json.RawMessage(`{"service":"checkout"}`)},
		}})
	}
	s.Answers = slices.Concat(s.Answers[:1], more, s.Answers[1:])
	return s
}
